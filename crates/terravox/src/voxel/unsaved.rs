//! What a grid has not saved: which chunks were written since they were last saved, each with
//! the version of its last write.
//!
//! Every write to the grid is recorded here, so no view and no update is involved in a save. What
//! is unsaved is taken as plain data, written by any thread, and marked as saved by version: a
//! chunk that was written again meanwhile stays unsaved, and so does everything if the write
//! failed.

use super::position::{ChunkPos, Region};
use super::snapshot::Snapshot;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The write log of a grid: per chunk, the version of its last unsaved write.
#[derive(Default)]
pub(super) struct WriteLog {
    /// Identifies the grid, and counts the states taken of it.
    pub(super) grid: Arc<AtomicU64>,
    /// Grows with every write and every save.
    pub(super) version: u64,
    /// The version at which a chunk last became saved.
    pub(super) last_saved: u64,
    /// The last write of each chunk that is not saved.
    pub(super) unsaved: FxHashMap<ChunkPos, u64>,
    /// The version at which each chunk that was ever unsaved last became saved. Takes 30 to 60
    /// bytes per chunk and is kept as long as the grid, since a late fill may have been read from
    /// the store at any version.
    pub(super) saved: FxHashMap<ChunkPos, u64>,
    /// The last write of the material table, if it is not saved.
    pub(super) materials: Option<u64>,
}

impl WriteLog {
    /// Notes that the cells of all chunks that touch `region`, in voxels, were written.
    pub fn mark(&mut self, region: Region) {
        self.version += 1;
        let version = self.version;
        self.unsaved.extend(region.blocks::<5>().map(|chunk| (chunk, version)));
    }

    pub fn mark_materials(&mut self) {
        self.version += 1;
        self.materials = Some(self.version);
    }

    /// Notes a write of cells that are stored, or can be generated again.
    pub fn mark_clean(&mut self) {
        self.version += 1;
    }

    pub fn is_unsaved(&self, chunk: ChunkPos) -> bool {
        self.unsaved.contains_key(&chunk)
    }

    /// The unsaved chunks that touch `region`, in voxels.
    pub fn unsaved_in(&self, region: Region) -> Vec<ChunkPos> {
        let chunks = region.coarser(5);
        if (self.unsaved.len() as u64) < chunks.volume() {
            let inside = |chunk: &ChunkPos| !chunk.region().intersect(region).is_empty();
            return self.unsaved.keys().copied().filter(inside).collect();
        }
        region.blocks::<5>().filter(|chunk| self.is_unsaved(*chunk)).collect()
    }
}

/// Identifies a grid and the order in which its unsaved changes were taken.
#[derive(Clone, Debug)]
pub struct SaveStamp {
    pub(super) grid: Arc<AtomicU64>,
    pub(super) order: u64,
}

impl SaveStamp {
    /// Whether this was taken from the same grid before `other`, which then has all that is
    /// still unsaved of it, or newer.
    pub fn is_before(&self, other: &SaveStamp) -> bool {
        Arc::ptr_eq(&self.grid, &other.grid) && self.order < other.order
    }
}

/// The unsaved chunks of a grid at one moment: plain data, to be written by any thread.
#[derive(Clone)]
pub struct UnsavedChunks {
    pub(super) stamp: SaveStamp,
    pub(super) snapshot: Snapshot,
    /// Chunks and the versions of their last writes, unsorted.
    pub(super) chunks: Vec<(ChunkPos, u64)>,
    pub(super) materials: Option<u64>,
}

impl UnsavedChunks {
    /// The cells at that moment.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The unsaved chunks, unsorted. Those that the snapshot does not list were cleared to
    /// air ([`VoxelGrid::forget`](super::VoxelGrid::forget)).
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = ChunkPos> {
        self.chunks.iter().map(|entry| entry.0)
    }

    /// Number of unsaved chunks.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Whether nothing is unsaved, neither chunks nor the material table.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.materials.is_none()
    }

    /// When it was taken.
    pub fn stamp(&self) -> &SaveStamp {
        &self.stamp
    }
}

impl std::fmt::Debug for UnsavedChunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("UnsavedChunks");
        debug.field("chunks", &self.chunks.len()).field("materials", &self.materials.is_some());
        debug.finish_non_exhaustive()
    }
}
