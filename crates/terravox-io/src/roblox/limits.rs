//! Limits of Roblox files, and limits on importing them.

/// Largest chunk coordinate of a Roblox place on each axis, and the negative of the smallest.
pub const MAX_CHUNK_COORDINATE: i32 = 262_144;

/// Limits on importing an untrusted file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportLimits {
    /// Most chunks. A chunk takes at least 268 bytes of a file, and up to 2 kB of memory if it is
    /// far from all others.
    pub chunks: u64,
    /// Most rows of 32 cells that are not uniform (full cells of one material); each takes 64 bytes
    /// of memory.
    pub mixed_rows: u64,
    /// Most decompressed bytes of one part of a file, and of all its terrain.
    pub unpacked_bytes: u64,
}

impl Default for ImportLimits {
    /// 262,144 chunks, 16,777,216 rows (1 GiB) and 256 MiB: many times the largest real place that
    /// we know of, which has 13,000 chunks in 15 MB.
    fn default() -> ImportLimits {
        ImportLimits { chunks: 1 << 18, mixed_rows: 1 << 24, unpacked_bytes: 1 << 28 }
    }
}
