//! Warnings about refused tokens: one line for many, since strangers must not fill the log.

use std::time::{Duration, Instant};

/// Between two warnings.
const INTERVAL: Duration = Duration::from_secs(60);

/// When the log was last warned, and of how many tokens.
#[derive(Default)]
pub(super) struct TokenWarnings {
    warned: Option<Instant>,
    /// Tokens that were refused from the start until then.
    warned_total: u64,
}

impl TokenWarnings {
    /// Returns how many tokens were refused since the last warning, if a warning is due.
    /// `refused_total`: tokens refused since the start.
    pub fn due(&mut self, refused_total: u64, now: Instant) -> Option<u64> {
        let new = refused_total - self.warned_total;
        if new == 0 || self.warned.is_some_and(|warned| now - warned < INTERVAL) {
            return None;
        }
        (self.warned, self.warned_total) = (Some(now), refused_total);
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_tokens_are_told_at_once_and_then_once_a_minute() {
        let (mut warnings, start) = (TokenWarnings::default(), Instant::now());
        let mut due =
            |refused, seconds| warnings.due(refused, start + Duration::from_secs(seconds));
        assert_eq!([due(0, 0), due(1, 1), due(1, 2), due(700, 3)], [None, Some(1), None, None]);
        assert_eq!([due(900, 60), due(900, 61), due(900, 200)], [None, Some(899), None]);
        assert_eq!(due(901, 201), Some(1));
    }
}
