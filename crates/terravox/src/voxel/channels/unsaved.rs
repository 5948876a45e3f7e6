//! What a grid of channels has not saved: by version, as the chunks of cells.

use super::snapshot::ChannelSnapshot;
use crate::voxel::ChunkPos;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// A channel and a chunk.
pub(super) type ChannelKey = (u8, ChunkPos);

/// The writes of a grid of channels that are not saved.
#[derive(Default)]
pub(super) struct ChannelWrites {
    /// Identifies the grid.
    pub grid: Arc<()>,
    /// Grows with every write.
    version: u64,
    /// The last write of each chunk that is not saved.
    pub chunks: FxHashMap<ChannelKey, u64>,
    /// When a channel was last declared, if that is not saved.
    pub declared: Option<u64>,
}

impl ChannelWrites {
    pub fn mark(&mut self, channel: u8, chunk: ChunkPos) {
        self.version += 1;
        self.chunks.insert((channel, chunk), self.version);
    }

    pub fn mark_declared(&mut self) {
        self.version += 1;
        self.declared = Some(self.version);
    }

    pub fn is_unsaved(&self, channel: u8, chunk: ChunkPos) -> bool {
        self.chunks.contains_key(&(channel, chunk))
    }
}

/// The unsaved changes of channels at one moment: plain data, to be written by any thread.
#[derive(Clone)]
pub struct UnsavedChannels {
    pub(super) grid: Arc<()>,
    pub(super) snapshot: ChannelSnapshot,
    pub(super) chunks: Vec<(ChannelKey, u64)>,
    pub(super) declared: Option<u64>,
}

impl UnsavedChannels {
    /// The channels at that moment, also those that are saved.
    pub fn snapshot(&self) -> &ChannelSnapshot {
        &self.snapshot
    }

    /// Channels with chunks in which they changed, unsorted. Where the snapshot has nothing, all
    /// was removed.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = (u8, ChunkPos)> {
        self.chunks.iter().map(|entry| entry.0)
    }

    /// Whether nothing is unsaved, neither values nor declarations.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.declared.is_none()
    }
}

impl fmt::Debug for UnsavedChannels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("UnsavedChannels");
        debug.field("chunks", &self.chunks.len()).field("declared", &self.declared.is_some());
        debug.finish_non_exhaustive()
    }
}
