//! What a grid has not saved: which chunks were written since they were last saved, each with
//! the version of its last write.
//!
//! Every write to the grid is recorded here, so no view and no update is involved in a save. What is
//! unsaved is taken as plain data, written by any thread, and marked as saved by version: a chunk
//! that was written again meanwhile stays unsaved, and so does everything if the write failed.

use super::grid::{ChunkState, VoxelGrid};
use super::position::{ChunkPos, Region};
use super::snapshot::Snapshot;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Versions of what is not saved.
#[derive(Default)]
pub(super) struct WriteLog {
    /// Identifies the grid, and counts the states taken of it.
    grid: Arc<AtomicU64>,
    /// Grows with every write and every save.
    version: u64,
    /// The version at which a chunk last became saved.
    last_saved: u64,
    /// The last write of each chunk that is not saved.
    unsaved: FxHashMap<ChunkPos, u64>,
    /// The version at which each chunk that was ever unsaved last became saved. Takes 24 bytes per
    /// chunk and is kept as long as the grid, since a late fill may have been read from the store
    /// at any version.
    saved: FxHashMap<ChunkPos, u64>,
    /// The last write of the material table, if it is not saved.
    materials: Option<u64>,
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
    grid: Arc<AtomicU64>,
    order: u64,
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
    stamp: SaveStamp,
    snapshot: Snapshot,
    /// Chunks and the versions of their last writes, unsorted.
    chunks: Vec<(ChunkPos, u64)>,
    materials: Option<u64>,
}

impl UnsavedChunks {
    /// The cells at that moment.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The unsaved chunks, unsorted. Those that the snapshot does not list were cleared to
    /// air ([`VoxelGrid::forget`]).
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

impl VoxelGrid {
    /// Returns what was written since it was last saved: chunks of cells, and the material table if
    /// it was set. Any thread can write it; then pass it to [`VoxelGrid::mark_saved`]. Costs a
    /// snapshot and 24 bytes per unsaved chunk.
    ///
    /// Cells that were [loaded](VoxelGrid::load) are not unsaved; all else that was written is,
    /// by an edit, an undo or a tool, and so is all of a grid that was imported.
    ///
    /// ```
    /// use terravox::voxel::{ChunkPos, DenseBox, GridOptions, Region, VoxelGrid};
    ///
    /// let mut grid = VoxelGrid::new(GridOptions::default());
    /// grid.write(&DenseBox::new(Region::new([30, 0, 0], [40, 4, 4])))?;
    /// let unsaved = grid.unsaved();
    /// assert_eq!(unsaved.len(), 2);
    /// grid.write(&DenseBox::new(Region::new([0, 0, 0], [4, 4, 4])))?; // while it is saved
    /// grid.mark_saved(&unsaved);
    /// assert_eq!(grid.unsaved_chunks(), [ChunkPos::new(0, 0, 0)]);
    /// # Ok::<(), terravox::voxel::NotHeld>(())
    /// ```
    pub fn unsaved(&self) -> UnsavedChunks {
        let order = self.writes.grid.fetch_add(1, Ordering::Relaxed);
        UnsavedChunks {
            stamp: SaveStamp { grid: self.writes.grid.clone(), order },
            snapshot: self.snapshot(),
            chunks: self.writes.unsaved.iter().map(|(&chunk, &version)| (chunk, version)).collect(),
            materials: self.writes.materials,
        }
    }

    /// Marks `saved` as on disk. What was written since it was taken stays unsaved. Do not call this
    /// if writing failed. Marking twice, late, out of order or for another grid is harmless.
    pub fn mark_saved(&mut self, saved: &UnsavedChunks) {
        let writes = &mut self.writes;
        if !Arc::ptr_eq(&writes.grid, &saved.stamp.grid) {
            return;
        }
        writes.version += 1;
        for &(chunk, version) in &saved.chunks {
            if writes.unsaved.get(&chunk) == Some(&version) {
                writes.unsaved.remove(&chunk);
                writes.saved.insert(chunk, writes.version);
                writes.last_saved = writes.version;
            }
        }
        if writes.materials == saved.materials {
            writes.materials = None;
        }
    }

    /// Whether nothing is unsaved, neither chunks nor the material table.
    pub fn is_saved(&self) -> bool {
        self.writes.unsaved.is_empty() && self.writes.materials.is_none()
    }

    /// Whether a chunk has unsaved changes.
    pub fn is_unsaved(&self, chunk: ChunkPos) -> bool {
        self.writes.is_unsaved(chunk)
    }

    /// Number of chunks with unsaved changes.
    pub fn unsaved_count(&self) -> usize {
        self.writes.unsaved.len()
    }

    /// The chunks with unsaved changes, sorted by x, y, z.
    pub fn unsaved_chunks(&self) -> Vec<ChunkPos> {
        let mut chunks: Vec<_> = self.writes.unsaved.keys().copied().collect();
        chunks.sort_unstable();
        chunks
    }

    /// A number that grows with every write of chunks and every [`VoxelGrid::mark_saved`]; it
    /// may grow without a change.
    pub fn version(&self) -> u64 {
        self.writes.version
    }

    /// Whether a chunk in `region`, in voxels, became saved after `version`. Cells that were
    /// read from a store at that version may then lack what was edited.
    pub fn saved_since(&self, region: Region, version: u64) -> bool {
        self.any_saved_since(region, version, |_| true)
    }

    /// Whether a chunk in `region`, in voxels, became saved after `version` and left memory
    /// since: only the store has what was edited there.
    pub(crate) fn left_since(&self, region: Region, version: u64) -> bool {
        self.any_saved_since(region, version, |chunk| self.held(chunk) != ChunkState::Mip(0))
    }

    fn any_saved_since(
        &self,
        region: Region,
        version: u64,
        matters: impl Fn(ChunkPos) -> bool,
    ) -> bool {
        let saved = &self.writes.saved;
        if self.writes.last_saved <= version {
            return false;
        }
        let chunks = region.coarser(5);
        if (saved.len() as u64) < chunks.volume() {
            let inside = |chunk: ChunkPos| !chunk.region().intersect(region).is_empty();
            let found =
                |(&chunk, &at): (&ChunkPos, &u64)| at > version && inside(chunk) && matters(chunk);
            return saved.iter().any(found);
        }
        let is_late = |chunk: &ChunkPos| saved.get(chunk).is_some_and(|&at| at > version);
        region.blocks::<5>().any(|chunk| is_late(&chunk) && matters(chunk))
    }
}

#[cfg(test)]
mod tests;
