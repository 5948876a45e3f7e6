//! Log lines that cannot stop a world: a subscriber may panic, as that of `tracing-subscriber` does
//! when it can write neither a line nor that it cannot. Such a line is lost.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Logs a line.
pub(crate) fn attempt(line: impl FnOnce()) {
    // The panic was reported when it happened.
    let _ = catch_unwind(AssertUnwindSafe(line));
}

macro_rules! error_line {
    ($($line:tt)*) => { $crate::log::attempt(|| tracing::error!($($line)*)) };
}

macro_rules! warn_line {
    ($($line:tt)*) => { $crate::log::attempt(|| tracing::warn!($($line)*)) };
}

macro_rules! info_line {
    ($($line:tt)*) => { $crate::log::attempt(|| tracing::info!($($line)*)) };
}

macro_rules! debug_line {
    ($($line:tt)*) => { $crate::log::attempt(|| tracing::debug!($($line)*)) };
}

// `warn` is the name of an attribute, too: a macro of that name could not be used elsewhere.
pub(crate) use {debug_line as debug, error_line as error, info_line as info, warn_line as warn};

#[cfg(test)]
mod tests {
    use super::{debug, error, info, warn};
    use tracing::{Event, Metadata, Subscriber, span};

    /// Cannot write.
    struct Broken;

    impl Subscriber for Broken {
        fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _attributes: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

        fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

        fn event(&self, _event: &Event<'_>) {
            panic!("failed printing to stderr: Broken pipe");
        }

        fn enter(&self, _span: &span::Id) {}

        fn exit(&self, _span: &span::Id) {}
    }

    #[test]
    fn a_subscriber_that_panics_costs_the_line_only() {
        tracing::subscriber::with_default(Broken, || {
            error!("an error");
            warn!("a warning");
            info!(guest = 1, "joined");
            debug!("a stranger");
        });
    }
}
