//! Work on a thread of its own, whose result a system takes.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use bevy::platform::cell::SyncCell;

/// Work that was begun. Dropping it does not end the work.
pub struct Background<T>(SyncCell<Receiver<Result<T, String>>>);

impl<T: Send + 'static> Background<T> {
    /// Begins it.
    pub fn begin(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Background<T> {
        let (send, receive) = channel();
        // Who no longer waits has no receiver any more.
        std::thread::spawn(move || drop(send.send(work())));
        Background(SyncCell::new(receive))
    }

    /// Returns the result, once, when it is there; an error if the work panicked.
    pub fn poll(&mut self) -> Option<Result<T, String>> {
        match self.0.get().try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Err("an error in the studio ended it; the terminal says which".to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_not_waited_for_forever() {
        let result = |mut work: Background<u32>| {
            loop {
                if let Some(result) = work.poll() {
                    break result;
                }
                std::thread::yield_now();
            }
        };
        assert_eq!(result(Background::begin(|| Ok(7))), Ok(7));
        assert_eq!(result(Background::begin(|| Err("no".to_owned()))), Err("no".to_owned()));
        assert!(result(Background::begin(|| panic!("a test"))).is_err());
    }
}
