//! Turns panics of the database into errors.
//!
//! The database trusts a file that was closed properly, and may panic on one that was altered
//! since. World files are untrusted, so no panic may leave this crate.

use crate::error::StoreError;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether a panic on this thread, now, would be caught and become a [`StoreError`].
///
/// For programs that set a panic hook: it can stay silent then, so that a damaged file prints one
/// line of error and no trace.
pub fn panics_are_caught() -> bool {
    DEPTH.get() > 0
}

/// Runs `call`; turns an error or a panic of the database into a [`Fault`].
pub(crate) fn guarded<T, E: Into<redb::Error>>(
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, Fault> {
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(call));
    DEPTH.set(DEPTH.get() - 1);
    match result {
        Ok(result) => result.map_err(|error| Fault::Database(error.into())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it gave up");
            Err(Fault::Panic(one_line(text)))
        }
    }
}

/// An object of the database whose drop may panic. Each is dropped in a guard of its own, since
/// two panics at once would abort the process.
pub(crate) struct GuardedDrop<T>(Option<T>);

impl<T> GuardedDrop<T> {
    pub fn new(thing: T) -> GuardedDrop<T> {
        GuardedDrop(Some(thing))
    }

    /// The object without its guard.
    pub fn release(mut self) -> T {
        let Some(thing) = self.0.take() else { unreachable!("it is there until the drop") };
        thing
    }
}

impl<T> Deref for GuardedDrop<T> {
    type Target = T;
    fn deref(&self) -> &T {
        let Some(thing) = &self.0 else { unreachable!("it is there until the drop") };
        thing
    }
}

impl<T> DerefMut for GuardedDrop<T> {
    fn deref_mut(&mut self) -> &mut T {
        let Some(thing) = &mut self.0 else { unreachable!("it is there until the drop") };
        thing
    }
}

impl<T> Drop for GuardedDrop<T> {
    fn drop(&mut self) {
        let thing = self.0.take();
        let _ = guarded(|| {
            drop(thing);
            Ok::<(), redb::StorageError>(())
        });
    }
}

/// Why the database failed.
#[derive(Debug)]
pub(crate) enum Fault {
    Database(redb::Error),
    Panic(String),
}

impl Fault {
    pub fn text(&self) -> String {
        match self {
            Fault::Database(error) => one_line(&error.to_string()),
            Fault::Panic(text) => format!("its structure is damaged ({text})"),
        }
    }

    /// The error for `path` while `doing` something.
    pub fn at(self, path: &Path, doing: &'static str) -> StoreError {
        let path = path.to_owned();
        match self {
            Fault::Database(redb::Error::Io(source)) => StoreError::Io { path, doing, source },
            Fault::Database(redb::Error::DatabaseAlreadyOpen) => StoreError::InUse { path },
            Fault::Database(redb::Error::PreviousIo) => {
                let what = "an earlier write failed; close the world and open it again".to_owned();
                StoreError::Database { path, doing, what }
            }
            fault => StoreError::Database { path, doing, what: fault.text() },
        }
    }
}

/// The first line of a text, truncated.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_becomes_a_message() {
        assert!(!panics_are_caught());
        let fault = guarded(|| -> Result<(), redb::Error> {
            assert!(panics_are_caught());
            let numbers: Vec<u8> = Vec::new();
            let at = std::hint::black_box(3);
            assert_eq!(numbers[at], 0);
            Ok(())
        });
        assert!(fault.is_err_and(|fault| fault.text().contains("out of bounds")));
        assert!(!panics_are_caught());
    }

    #[test]
    fn a_drop_that_panics_is_caught() {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                assert!(!panics_are_caught(), "always");
            }
        }
        drop((GuardedDrop::new(Bad), GuardedDrop::new(Bad)));
        assert_eq!(*GuardedDrop::new(5), 5);
        assert_eq!(GuardedDrop::new(5).release(), 5);
    }
}
