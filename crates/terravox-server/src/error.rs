//! Why a server did not start or end well.

use std::fmt;

/// Why a server did not start, or not everything was saved, for a person to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError(String);

impl ServerError {
    pub(crate) fn new(what: impl Into<String>) -> ServerError {
        ServerError(what.into())
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}
