//! Limits of Roblox files, and what reading their terrain costs.

/// Largest chunk coordinate of a Roblox place on each axis, and the negative of the smallest.
pub const MAX_CHUNK_COORDINATE: i32 = 262_144;

/// Memory of a chunk: its entries in the lists of chunks.
pub(super) const LISTED_CHUNK_BYTES: u64 = 128;
/// Memory of a grid's page of 8³ chunks, with its mips.
pub(super) const PAGE_BYTES: u64 = 2048;

/// Longest value of a model. Its lengths are signed 32-bit integers, and compression may lengthen a
/// value a little.
pub(super) const MAX_VALUE_BYTES: usize = 2_000_000_000;
