//! Errors of point clouds.

use super::super::error::HeightmapError;
use std::io;

/// An error for `what`.
pub(super) fn refuse<T>(what: impl Into<String>) -> Result<T, HeightmapError> {
    Err(HeightmapError::Points(what.into()))
}

/// A file that ends too early, most often.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn unreadable(error: io::Error) -> HeightmapError {
    HeightmapError::Points(match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is cut short; get another copy".to_owned(),
        _ => error.to_string(),
    })
}
