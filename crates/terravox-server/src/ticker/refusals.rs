//! Warnings of tokens that are refused: one line for many, since strangers must not fill the log.

use std::time::{Duration, Instant};

/// Between two warnings.
const INTERVAL: Duration = Duration::from_secs(60);

/// What was warned of.
#[derive(Default)]
pub(super) struct RefusalWarnings {
    warned: Option<Instant>,
    /// Tokens that were refused until then.
    refused: u64,
}

impl RefusalWarnings {
    /// Returns how many tokens were refused since the last warning, if it is time for one.
    /// `refused`: until now.
    pub fn due(&mut self, refused: u64, now: Instant) -> Option<u64> {
        let new = refused - self.refused;
        if new == 0 || self.warned.is_some_and(|warned| now - warned < INTERVAL) {
            return None;
        }
        (self.warned, self.refused) = (Some(now), refused);
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_tokens_are_told_at_once_and_then_once_a_minute() {
        let (mut warnings, start) = (RefusalWarnings::default(), Instant::now());
        let mut due =
            |refused, seconds| warnings.due(refused, start + Duration::from_secs(seconds));
        assert_eq!([due(0, 0), due(1, 1), due(1, 2), due(700, 3)], [None, Some(1), None, None]);
        assert_eq!([due(900, 60), due(900, 61), due(900, 200)], [None, Some(899), None]);
        assert_eq!(due(901, 201), Some(1));
    }
}
