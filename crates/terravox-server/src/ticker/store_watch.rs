//! Whether the database or disk of a world responds, for the log: while it does not, nothing else
//! says so until the store gives a request up.

use std::time::{Duration, Instant};

/// After this time without an answer the log says so.
const SILENCE: Duration = Duration::from_secs(5);

/// What the log is told of a store, with how long it lasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreNews {
    /// A request is not answered.
    Silent(Duration),
    /// All is answered again, and saves succeed.
    Works(Duration),
}

/// Since when a store has not worked, if the log says that.
#[derive(Default)]
pub(super) struct StoreWatch {
    broken_since: Option<Instant>,
}

impl StoreWatch {
    /// Returns what is new. `silent_since`: when the oldest request began that is not answered.
    /// `fails`: whether the last save failed, which the log says already.
    pub fn look(
        &mut self,
        silent_since: Option<Instant>,
        fails: bool,
        now: Instant,
    ) -> Option<StoreNews> {
        let is_late = |since: &Instant| now.saturating_duration_since(*since) >= SILENCE;
        let late_since = silent_since.filter(is_late);
        match self.broken_since {
            None if fails => {
                self.broken_since = Some(silent_since.unwrap_or(now));
                None
            }
            None => {
                self.broken_since = late_since;
                late_since.map(|since| StoreNews::Silent(now.saturating_duration_since(since)))
            }
            Some(since) if late_since.is_none() && !fails => {
                self.broken_since = None;
                Some(StoreNews::Works(now.saturating_duration_since(since)))
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_silent_or_fails_is_said_once_and_so_is_that_it_works_again() {
        let (mut watch, start) = (StoreWatch::default(), Instant::now());
        let second = Duration::from_secs;
        let mut look = |since: Option<u64>, fails, now| {
            watch.look(since.map(|since| start + second(since)), fails, start + second(now))
        };
        // Requests that are answered in time, one after the other.
        assert_eq!(
            [look(None, false, 0), look(Some(1), false, 3), look(Some(3), false, 7)],
            [None; 3]
        );
        // Silence, in which a save fails at last, and is repeated.
        assert_eq!(look(Some(10), false, 15), Some(StoreNews::Silent(second(5))));
        assert_eq!([look(Some(10), false, 29), look(Some(30), true, 30)], [None; 2]);
        assert_eq!([look(None, true, 31), look(Some(31), true, 40)], [None; 2]);
        assert_eq!(look(Some(41), false, 42), Some(StoreNews::Works(second(32))));
        assert_eq!([look(None, false, 43), look(Some(43), false, 44)], [None; 2]);
        // A save that fails at once, which the log has already.
        assert_eq!([look(Some(50), true, 50), look(Some(50), true, 60)], [None; 2]);
        assert_eq!(look(None, false, 61), Some(StoreNews::Works(second(11))));
        assert_eq!(look(None, false, 62), None);
    }
}
