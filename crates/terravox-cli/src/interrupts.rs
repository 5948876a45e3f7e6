//! Ctrl-C and SIGTERM: removes incomplete files, then ends the program as the signal does by
//! default.
//!
//! Copies of worlds stay, since a later run resumes them. Servers handle the signals themselves.

#[cfg(unix)]
use crate::output;
#[cfg(unix)]
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};

/// Removes incomplete files when the program is stopped. If no thread or signal handler can be
/// made, they stay.
#[cfg(unix)]
pub fn remove_partial_files() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for signal in signals.forever() {
            // Held to the end, so that no thread makes another one.
            let _held = (output::remove_temporaries(), terravox_store::remove_partial_files());
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
}

/// There are no such signals.
#[cfg(not(unix))]
pub fn remove_partial_files() {}
