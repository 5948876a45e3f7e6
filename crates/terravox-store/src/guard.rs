//! A border around the database: what it panics about becomes an error.
//!
//! The database trusts a file that was closed in order, and may panic on one that was
//! altered since. A world file comes from outside, so no panic may leave this crate.

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
/// For programs that set a panic hook: it can stay silent then, so that a damaged file
/// costs one line of error and no trace.
pub fn panics_are_caught() -> bool {
    DEPTH.get() > 0
}

/// Runs `call`; an error or a panic of the database becomes its message.
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

/// A thing of the database whose drop may panic too, each on its own: two panics at once
/// would end the process.
pub(crate) struct Kept<T>(Option<T>);

impl<T> Kept<T> {
    pub fn new(thing: T) -> Kept<T> {
        Kept(Some(thing))
    }

    /// The thing without its guard.
    pub fn release(mut self) -> T {
        let Some(thing) = self.0.take() else { unreachable!("it is there until the drop") };
        thing
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;
    fn deref(&self) -> &T {
        let Some(thing) = &self.0 else { unreachable!("it is there until the drop") };
        thing
    }
}

impl<T> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        let Some(thing) = &mut self.0 else { unreachable!("it is there until the drop") };
        thing
    }
}

impl<T> Drop for Kept<T> {
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

/// The first line of a text, cut to a length that fits on a line.
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
        drop((Kept::new(Bad), Kept::new(Bad)));
        assert_eq!(*Kept::new(5), 5);
        assert_eq!(Kept::new(5).release(), 5);
    }
}
