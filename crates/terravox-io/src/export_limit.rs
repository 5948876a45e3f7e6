//! What an export may take in memory.

use crate::import_budget::decimal_bytes;

/// The most memory that an export may take, besides the world and the written file.
///
/// ```
/// use terravox_io::ExportLimit;
///
/// assert_eq!(ExportLimit::default().memory_bytes, 512 << 20);
/// assert_eq!(ExportLimit::default().times(4).memory_bytes, 2 << 30);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportLimit {
    /// Bytes of memory.
    pub memory_bytes: u64,
}

impl Default for ExportLimit {
    /// 512 MiB.
    fn default() -> ExportLimit {
        ExportLimit { memory_bytes: 512 << 20 }
    }
}

impl ExportLimit {
    /// Returns `factor` times the memory.
    #[must_use]
    pub const fn times(self, factor: u32) -> ExportLimit {
        ExportLimit { memory_bytes: self.memory_bytes.saturating_mul(factor as u64) }
    }

    /// Checks that `held` bytes are allowed, of an export that is `done` of `all` steps far. The error
    /// says what all steps would take if the rest is alike.
    ///
    /// # Errors
    /// If they are not.
    pub fn check(
        self,
        what: &'static str,
        held: u64,
        [done, all]: [usize; 2],
    ) -> Result<(), ExportTooLarge> {
        let allowed = self.memory_bytes;
        if held <= allowed {
            return Ok(());
        }
        let wanted = u128::from(held) * all.max(1) as u128 / done.clamp(1, all.max(1)) as u128;
        let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
        Err(ExportTooLarge { what, wanted, allowed })
    }
}

/// An export would take more memory than its [`ExportLimit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} would take some {} of memory, at most {}; export a smaller part of the world",
    decimal_bytes(*.wanted), decimal_bytes(*.allowed)
)]
pub struct ExportTooLarge {
    /// What would take it.
    pub what: &'static str,
    /// Bytes that the whole export would take, about.
    pub wanted: u64,
    /// The limit, bytes.
    pub allowed: u64,
}

impl ExportTooLarge {
    /// Returns a factor for [`ExportLimit::times`] that should let it pass.
    pub fn factor(&self) -> u64 {
        self.wanted.div_ceil(self.allowed.max(1)).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_the_whole_export_would_take() {
        let limit = ExportLimit { memory_bytes: 1_000_000 };
        assert_eq!(limit.check("the surface", 1_000_000, [1, 9]), Ok(()));
        let error = limit.check("the surface", 1_000_001, [1, 4]).unwrap_err();
        assert_eq!((error.wanted, error.factor()), (4_000_004, 5));
        let line = error.to_string();
        assert!(line.starts_with("the surface would take some 4.0 MB of memory, at most 1.0 MB;"));
        assert_eq!(limit.check("x", u64::MAX, [0, 0]).unwrap_err().wanted, u64::MAX);
    }
}
