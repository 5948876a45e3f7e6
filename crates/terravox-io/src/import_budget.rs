//! What an import may cost, and the budget that every importer spends from.

use std::fmt;

/// Memory that any file may take.
const BASE_MEMORY_BYTES: u64 = 96 << 20;
/// Memory for each byte of a file.
const MEMORY_PER_BYTE: u64 = 12;
/// Work that any file may take.
const BASE_WORK: u64 = 1 << 30;
/// Work for each byte of a file.
const WORK_PER_BYTE: u64 = 192;
/// Real places nest a few dozen deep.
const DEPTH: u32 = 1024;

/// Limits on one import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportLimits {
    /// Maximum number of bytes of memory, without those of the file itself.
    pub memory_bytes: u64,
    /// Maximum number of units of work; [`ImportBudget`] says what is one.
    pub work: u64,
    /// Maximum nesting of elements.
    pub depth: u32,
}

impl ImportLimits {
    /// Returns the limits for a file of `bytes` bytes that is not trusted: 96 MiB and 12 bytes of
    /// memory per byte, 2^30 units of work and 192 per byte, 1,024 elements deep. A file of 10 MB
    /// may take 221 MB and about three seconds. They grow with the file because real files do: in
    /// the places that we know, a byte of terrain takes 4 to 7 bytes of the grid's memory and 40 to
    /// 140 units of work.
    pub const fn for_input(bytes: usize) -> ImportLimits {
        let bytes = bytes as u64;
        ImportLimits {
            memory_bytes: BASE_MEMORY_BYTES.saturating_add(bytes.saturating_mul(MEMORY_PER_BYTE)),
            work: BASE_WORK.saturating_add(bytes.saturating_mul(WORK_PER_BYTE)),
            depth: DEPTH,
        }
    }

    /// Returns `factor` times the memory and the work. The depth stays.
    #[must_use]
    pub const fn times(self, factor: u32) -> ImportLimits {
        ImportLimits {
            memory_bytes: self.memory_bytes.saturating_mul(factor as u64),
            work: self.work.saturating_mul(factor as u64),
            depth: self.depth,
        }
    }
}

/// What an import has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportCost {
    /// Bytes of memory, an upper bound.
    pub memory_bytes: u64,
    /// Units of work.
    pub work: u64,
    /// The deepest nesting of elements.
    pub depth: u32,
}

/// What one import may still cost. An importer spends before it allocates or computes, so that a
/// small file that claims much is refused before it costs much.
///
/// Three things are counted. *Memory* is what an importer holds: unpacked bytes, decoded samples
/// and the rows of the grid that it fills. An importer never gives it back, so it bounds the peak from
/// above. *Work* is counted in units of about a nanosecond on a desktop: a byte unpacked by LZ4, a
/// cell decoded. *Depth* is that of nested elements.
///
/// ```
/// use terravox_io::{ImportBudget, ImportLimits};
///
/// let file = vec![0; 10_000];
/// let mut budget = ImportBudget::for_input(file.len());
/// assert!(budget.spend_memory("a table", 1 << 20).is_ok());
/// let error = budget.spend_memory("a table", 1 << 40).unwrap_err();
/// assert!(error.to_string().starts_with("a table: 1.1 TB of memory"), "{error}");
/// // A trusted file may cost ten times as much.
/// let mut budget = ImportBudget::new(ImportLimits::for_input(file.len()).times(10));
/// assert!(budget.spend_memory("a table", 1 << 29).is_ok());
/// assert_eq!(budget.spent().memory_bytes, 1 << 29);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportBudget {
    limits: ImportLimits,
    spent: ImportCost,
}

impl ImportBudget {
    /// Starts a budget.
    pub const fn new(limits: ImportLimits) -> ImportBudget {
        ImportBudget { limits, spent: ImportCost { memory_bytes: 0, work: 0, depth: 0 } }
    }

    /// Starts a budget of [`ImportLimits::for_input`].
    pub const fn for_input(bytes: usize) -> ImportBudget {
        ImportBudget::new(ImportLimits::for_input(bytes))
    }

    /// Returns the limits.
    pub fn limits(&self) -> ImportLimits {
        self.limits
    }

    /// Returns what has been spent, also by an import that failed.
    pub fn spent(&self) -> ImportCost {
        self.spent
    }

    /// Returns the memory that is left, bytes.
    pub fn memory_left(&self) -> u64 {
        self.limits.memory_bytes - self.spent.memory_bytes
    }

    /// Gives back all memory, once nothing is held any more: so the files of a folder are imported one
    /// after the other within one limit. Work stays spent.
    pub fn release_memory(&mut self) {
        self.spent.memory_bytes = 0;
    }

    /// Spends memory for `what`, before it is allocated.
    ///
    /// # Errors
    /// If less is left; nothing is spent then.
    pub fn spend_memory(&mut self, what: &'static str, bytes: u64) -> Result<(), BudgetError> {
        let wanted = self.spent.memory_bytes.saturating_add(bytes);
        let allowed = self.limits.memory_bytes;
        if wanted > allowed {
            return Err(BudgetError { what, resource: ImportResource::Memory, wanted, allowed });
        }
        self.spent.memory_bytes = wanted;
        Ok(())
    }

    /// Spends work for `what`, before it is done.
    ///
    /// # Errors
    /// If less is left; nothing is spent then.
    pub fn spend_work(&mut self, what: &'static str, units: u64) -> Result<(), BudgetError> {
        let wanted = self.spent.work.saturating_add(units);
        let allowed = self.limits.work;
        if wanted > allowed {
            return Err(BudgetError { what, resource: ImportResource::Work, wanted, allowed });
        }
        self.spent.work = wanted;
        Ok(())
    }

    /// Notes that elements nest `depth` deep.
    ///
    /// # Errors
    /// If that is too deep.
    pub fn reach_depth(&mut self, what: &'static str, depth: usize) -> Result<(), BudgetError> {
        let (wanted, allowed) = (depth as u64, u64::from(self.limits.depth));
        if wanted > allowed {
            return Err(BudgetError { what, resource: ImportResource::Depth, wanted, allowed });
        }
        self.spent.depth = self.spent.depth.max(wanted as u32);
        Ok(())
    }
}

/// What a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportResource {
    /// Bytes of memory.
    Memory,
    /// Units of work.
    Work,
    /// Nested elements.
    Depth,
}

/// A file would cost more than its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetError {
    /// What the rest would be spent for.
    pub what: &'static str,
    /// What there is too little of.
    pub resource: ImportResource,
    /// What the import would have cost up to here.
    pub wanted: u64,
    /// The limit.
    pub allowed: u64,
}

impl BudgetError {
    /// Returns the least factor for [`ImportLimits::times`] that would have let this step pass;
    /// `None` if no factor does.
    pub fn factor(&self) -> Option<u64> {
        let scales = self.resource != ImportResource::Depth && self.allowed > 0;
        scales.then(|| self.wanted.div_ceil(self.allowed))
    }
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BudgetError { what, resource, wanted, allowed } = self;
        match resource {
            ImportResource::Memory => {
                let [wanted, allowed] = [*wanted, *allowed].map(decimal_bytes);
                write!(f, "{what}: {wanted} of memory in all, at most {allowed}")?;
            }
            ImportResource::Work => {
                let [wanted, allowed] = [*wanted, *allowed].map(|work| work.div_ceil(1_000_000));
                write!(f, "{what}: {wanted} million units of work in all, at most {allowed}")?;
            }
            ImportResource::Depth => {
                return write!(f, "{what}: nested {wanted} deep, at most {allowed}");
            }
        }
        f.write_str(" for a file of this length")
    }
}

impl std::error::Error for BudgetError {}

/// Formats a number of bytes with one decimal.
pub(crate) fn decimal_bytes(bytes: u64) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_spends_nothing_and_names_what_is_claimed_and_allowed() {
        let mut budget =
            ImportBudget::new(ImportLimits { memory_bytes: 1000, work: 5_000_000, depth: 2 });
        assert_eq!(budget.spend_memory("rows", 600), Ok(()));
        let error = budget.spend_memory("rows", 401).unwrap_err();
        let line = "rows: 1.0 kB of memory in all, at most 1.0 kB for a file of this length";
        assert_eq!(error.to_string(), line);
        assert_eq!((error.factor(), budget.spent().memory_bytes), (Some(2), 600));
        let error = budget.spend_work("chunks", u64::MAX).unwrap_err();
        assert!(error.to_string().contains("at most 5 for a file"), "{error}");
        assert_eq!(budget.reach_depth("items", 2), Ok(()));
        let error = budget.reach_depth("items", 3).unwrap_err();
        assert_eq!(error.to_string(), "items: nested 3 deep, at most 2");
        assert_eq!((error.factor(), budget.spent().depth), (None, 2));
    }

    #[test]
    fn memory_that_is_released_can_be_spent_again_and_work_cannot() {
        let mut budget = ImportBudget::new(ImportLimits { memory_bytes: 9, work: 9, depth: 9 });
        for is_first in [true, false] {
            assert_eq!(budget.spend_memory("a region", 9), Ok(()));
            assert_eq!(budget.spend_work("a region", 9).is_ok(), is_first);
            budget.release_memory();
        }
    }

    #[test]
    fn limits_grow_with_the_file_and_never_overflow() {
        let (small, large) = (ImportLimits::for_input(0), ImportLimits::for_input(10_000_000));
        assert!(small.memory_bytes < large.memory_bytes && large.memory_bytes < 230_000_000);
        assert_eq!(ImportLimits::for_input(usize::MAX).times(u32::MAX).work, u64::MAX);
    }
}
