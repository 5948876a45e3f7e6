//! Ctrl-C and SIGTERM: what is not complete is removed, then the program ends as it would without this.
//!
//! Copies of worlds stay: they are resumed. Servers end in their own way and are not part of it.

#[cfg(unix)]
use crate::output;
#[cfg(unix)]
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};

/// Removes files that are not complete when the program is stopped. Where threads or signals are not to
/// be had, they stay.
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
