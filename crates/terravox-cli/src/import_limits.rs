//! What an imported file may cost, and how a refusal reads on the command line.

use crate::args::HeightmapArgs;
use terravox_io::{BudgetError, ImportBudget, ImportLimits};

/// Returns the budget for a file of `bytes` bytes.
pub fn budget(bytes: usize, options: &HeightmapArgs) -> ImportBudget {
    ImportBudget::new(ImportLimits::for_input(bytes).times(factor(options)))
}

/// Returns the budget for files of these lengths that are imported one after the other: memory for the
/// longest, work for all of them.
pub fn folder_budget(lengths: &[u64], options: &HeightmapArgs) -> ImportBudget {
    let of = |bytes: u64| ImportLimits::for_input(usize::try_from(bytes).unwrap_or(usize::MAX));
    let longest = lengths.iter().max().copied().unwrap_or(0);
    let all = lengths.iter().fold(0, |sum: u64, length| sum.saturating_add(*length));
    let limits = ImportLimits { work: of(all).work, ..of(longest) };
    ImportBudget::new(limits.times(factor(options)))
}

/// Returns the factor of all limits.
pub fn factor(options: &HeightmapArgs) -> u32 {
    options.limit_factor.unwrap_or(1)
}

/// Formats a refusal with the option that helps. `so_far` is the factor that it was met with.
pub fn explained(error: &BudgetError, so_far: u32) -> String {
    match error.factor() {
        Some(times) => {
            let factor = times.max(2).saturating_mul(so_far.into()).next_power_of_two();
            format!("{error}; if you trust the file, allow it --limit-factor {factor} or more")
        }
        None => format!(
            "{error}; no option raises this limit, so flatten the file, or get another copy if it is damaged"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_work_of_any_file_once_and_the_memory_of_its_longest() {
        let options = HeightmapArgs { limit_factor: Some(2), ..HeightmapArgs::default() };
        let [one, all] = [5000, 5200].map(ImportLimits::for_input);
        assert_eq!(folder_budget(&[5000], &options).limits(), one.times(2));
        let limits = folder_budget(&[100, 5000, 100], &options).limits();
        assert_eq!(limits.memory_bytes, one.times(2).memory_bytes);
        assert_eq!(limits.work, all.times(2).work);
    }

    #[test]
    fn a_refusal_names_the_option_and_a_factor_that_would_do() {
        let options = HeightmapArgs { limit_factor: Some(3), ..HeightmapArgs::default() };
        let mut budget = budget(1000, &options);
        let wanted = 5 * budget.limits().memory_bytes;
        let error = budget.spend_memory("its samples", wanted).expect_err("too much");
        let line = explained(&error, factor(&options));
        assert!(
            line.starts_with("its samples: 1.5 GB of memory in all, at most 302.0 MB"),
            "{line}"
        );
        assert!(line.ends_with("allow it --limit-factor 16 or more"), "{line}");
        let depth = budget.reach_depth("elements", 9999).expect_err("too deep");
        assert!(explained(&depth, 1).ends_with("get another copy if it is damaged"));
    }
}
