//! What an export may take in memory, and how a refusal reads on the command line.

use crate::failure::Failure;
use std::path::Path;
use terravox_io::{ExportLimit, ExportTooLarge};

/// A limit, and what the user multiplied it by.
#[derive(Clone, Copy, Debug)]
pub struct ExportAllowance {
    factor: u32,
}

impl ExportAllowance {
    /// Allows `factor` times the default.
    pub fn times(factor: u32) -> ExportAllowance {
        ExportAllowance { factor }
    }

    /// Returns the limit.
    pub fn limit(self) -> ExportLimit {
        ExportLimit::default().times(self.factor)
    }

    /// Returns a refusal with the option that helps.
    pub fn refused(self, world: &Path, error: &ExportTooLarge) -> Failure {
        let factor = error.factor().saturating_mul(self.factor.into());
        let part = "with --from and --to";
        Failure::of(world, format!("{error} {part}, or allow it --limit-factor {factor}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_need_the_limit_and_a_factor_that_would_do() {
        let allowed = ExportAllowance::times(2);
        let error = allowed.limit().check("the surface", 1200 << 20, [1, 2]).expect_err("too much");
        let line = allowed.refused(Path::new("w.tvx"), &error).to_string();
        assert!(line.starts_with("w.tvx: the surface would take some 2.5 GB of memory"), "{line}");
        assert!(line.contains("at most 1.1 GB; export a smaller part of the world with"), "{line}");
        assert!(line.ends_with("--from and --to, or allow it --limit-factor 6"), "{line}");
        let enough = ExportAllowance::times(6).limit();
        assert_eq!(enough.check("the surface", error.wanted, [2, 2]), Ok(()));
    }
}
