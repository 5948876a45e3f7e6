//! Limits of Roblox files.

/// Largest chunk coordinate of a Roblox place on each axis, and the negative of the smallest.
pub const MAX_CHUNK_COORDINATE: i32 = 262_144;

/// Longest value of a model. Its lengths are signed 32-bit integers, and compression may lengthen a
/// value a little.
pub(super) const MAX_VALUE_BYTES: usize = 2_000_000_000;
