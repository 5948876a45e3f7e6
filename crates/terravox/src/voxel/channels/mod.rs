//! Channels: numbers of a game's own for each voxel, and bytes for each chunk.
//!
//! Cells stream; channels do not: all values of a world are in memory, beside its grid, so that a
//! value is there whether the ground is or not. What is not there costs nothing, chunks of one value
//! cost an entry. Coarse values are made when they are read and stored nowhere.

mod chunk;
mod declaration;
mod grid;
mod mips;
#[cfg(test)]
mod naive;
mod saving;
mod snapshot;
#[cfg(test)]
mod tests;
mod unsaved;

pub use chunk::ChannelChunk;
pub(crate) use chunk::{CHUNK_VOXELS, ValueRun};
pub use declaration::{Channel, ChannelError, ChannelKind, ChannelWidth, MipRule};
pub use grid::ChannelGrid;
pub use snapshot::ChannelSnapshot;
pub(crate) use snapshot::index_in_chunk;
pub use unsaved::UnsavedChannels;
