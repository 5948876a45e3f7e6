//! Cells and their storage: the grid, chunks with mips, snapshots and the change log.
//!
//! - [`VoxelGrid`] is the data of a world: it reads and writes boxes of cells ([`DenseBox`]), in
//!   chunks of 32³ that it keeps packed, with mips.
//! - [`Snapshot`] is an immutable copy, made in microseconds, for any thread.
//! - [`ChangeCursor`] is a position in the change log; each view has a cursor, and reads the
//!   regions that changed since its last update. [`VoxelGrid::unsaved`] returns the chunks to save.
//! - [`Material`]s define the ids of cells; [`VoxelPos`], [`Region`], [`ChunkPos`] and
//!   [`MipBlock`] are positions.
//! - [`ChannelGrid`] holds what a game keeps for each voxel and each chunk, beside the cells.
//!
//! Most games use it through [`Terrain`](crate::Terrain).

mod cell;
mod changes;
mod channels;
mod chunk;
mod dense;
mod far;
#[cfg(test)]
mod far_tests;
mod far_write;
mod gather;
mod grid;
mod known;
mod material;
mod mip_block;
mod mips;
#[cfg(test)]
mod model_tests;
mod options;
mod packed_rows;
mod page;
mod position;
mod pyramid;
mod read;
mod saving;
mod snapshot;
mod tables;
#[cfg(test)]
mod uniform_tests;
mod unsaved;

pub use cell::{AIR, Cell, Row, WATER};
pub(crate) use changes::ChangeLog;
pub use changes::{CHANGE_LOG_LENGTH, ChangeCursor, Changes, FarChanges};
pub(crate) use channels::{CHUNK_VOXELS, ValueRun, index_in_chunk};
pub use channels::{
    Channel, ChannelChunk, ChannelError, ChannelGrid, ChannelKind, ChannelSnapshot, ChannelWidth,
    MipRule, UnsavedChannels,
};
pub use chunk::ChunkView;
pub use dense::DenseBox;
pub use far::MAX_FAR_MIP;
pub use grid::VoxelGrid;
pub use known::Knowledge;
pub use material::{Kind, Material, MaterialTable, MaterialTableError, SurfaceShape};
pub use mip_block::MipBlock;
pub use options::{ChunkState, GridOptions, UnlistedChunks};
pub use page::MAX_MIP;
pub use position::{BlockPos, ChunkPos, LIMIT, PagePos, Region, VoxelPos};
pub use snapshot::{GridMemory, NotHeld, Snapshot};
pub use unsaved::{SaveStamp, UnsavedChunks};

pub(crate) use known::append_repeated;
pub(crate) use packed_rows::RowGroup;
pub(crate) use page::{PAGE_EDGE, page_of};
pub(crate) use pyramid::FarPyramid;
