//! Pauses before a request is tried again.

use crate::random::random_number;
use std::time::Duration;

const FIRST_MEAN_MS: u64 = 20;
const LONGEST_MEAN_MS: u64 = 1000;

/// How long to wait before attempt `attempt + 1`: twice as long each time, and at random between
/// half and once and a half of that, so that many clients of a server that restarts do not come at
/// once.
pub(crate) fn pause(attempt: u32) -> Duration {
    let mean = LONGEST_MEAN_MS.min(FIRST_MEAN_MS << attempt.min(16));
    Duration::from_millis(mean / 2 + random_number() % mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_differ() {
        for attempt in 0..40 {
            let mean = LONGEST_MEAN_MS.min(FIRST_MEAN_MS << attempt.min(16));
            let pauses: Vec<u128> = (0..20).map(|_| pause(attempt).as_millis()).collect();
            assert!(
                pauses
                    .iter()
                    .all(|ms| (u128::from(mean) / 2..u128::from(mean) * 3 / 2).contains(ms))
            );
            assert!(pauses.iter().any(|&ms| ms != pauses[0]), "attempt {attempt}: {pauses:?}");
        }
    }
}
