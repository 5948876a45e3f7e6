//! Ctrl-C and SIGTERM: removes incomplete files, then ends the program as the signal does by
//! default.
//!
//! Copies of worlds stay, since a later run resumes them. A server ends in its own way once it
//! runs, and so do guests.

#[cfg(unix)]
use crate::output;
#[cfg(unix)]
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};
#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

/// What the program does instead at a signal.
#[cfg(unix)]
static END: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// Removes incomplete files when the program is stopped. If no thread or signal handler can be
/// made, they stay.
#[cfg(unix)]
pub fn remove_partial_files() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for signal in signals.forever() {
            let end = END.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(end) = &*end {
                end();
                continue;
            }
            // Held to the end, so that no thread makes another one.
            let _held = (output::remove_temporaries(), terravox_store::remove_partial_files());
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
}

/// Calls `end` instead at every signal from now on.
#[cfg(all(unix, feature = "server"))]
pub fn hand_over(end: impl Fn() + Send + 'static) {
    *END.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(end));
}

/// There are no such signals.
#[cfg(not(unix))]
pub fn remove_partial_files() {}

/// There are no such signals.
#[cfg(all(not(unix), feature = "server"))]
pub fn hand_over(_end: impl Fn() + Send + 'static) {}
