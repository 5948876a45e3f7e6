//! Options of a grid, and what it holds at a position.

use super::material::MaterialTable;

/// What chunks that were never written count as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum UnlistedChunks {
    /// Air: the whole world is known.
    #[default]
    Air,
    /// Unknown: the world is streamed in.
    Unknown,
}

/// What a chunk position holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ChunkState {
    /// Not listed, in a world where that means air.
    Air,
    /// Held at this mip and all coarser ones; at mip 0 it can be edited.
    Mip(u8),
    /// Not listed, in a world where that means unknown.
    Unknown,
}

/// Options of a new [`VoxelGrid`](super::VoxelGrid).
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct GridOptions {
    /// What unlisted chunks count as.
    pub unlisted: UnlistedChunks,
    /// What material ids mean.
    pub materials: MaterialTable,
}
