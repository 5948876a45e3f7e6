//! The file formats that contain terrain.

use super::binary;
use super::error::RobloxError;

/// A file format that contains terrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Container {
    /// `.rbxm`, `.rbxl`.
    Binary,
    /// `.rbxmx`, `.rbxlx`.
    Xml,
    /// The bare value, `.smoothgrid`.
    SmoothGrid,
}

/// Detects the container of a file from its first bytes; `None` if it is unknown.
pub fn detect(bytes: &[u8]) -> Option<Container> {
    if bytes.starts_with(&binary::MAGIC[..8]) {
        return Some(Container::Binary);
    }
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    if text.starts_with(b"<roblox") || text.starts_with(b"<?xml") || text.starts_with(b"<!--") {
        return Some(Container::Xml);
    }
    // Version and chunk edge; other likely files do not start with these bytes.
    matches!(bytes, [1, 0..=8, ..]).then_some(Container::SmoothGrid)
}

/// Detects the container of a file.
///
/// # Errors
/// If the file is empty or of another format.
pub(super) fn detect_known(bytes: &[u8]) -> Result<Container, RobloxError> {
    if bytes.is_empty() {
        return Err(RobloxError::Empty);
    }
    detect(bytes).ok_or_else(|| {
        let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        RobloxError::Unknown { start: start.join(" ") }
    })
}
