//! What a grid has not saved, and what it saved meanwhile.

use super::grid::VoxelGrid;
use super::options::ChunkState;
use super::position::{ChunkPos, Region};
use super::unsaved::{SaveStamp, UnsavedChunks};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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

    /// Marks `saved` as on disk. What was written since it was taken stays unsaved. Do not call
    /// this if writing failed. Marking twice, late, out of order or for another grid is harmless.
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

    /// Forgets what is unsaved and what was saved: for a copy of a world that is saved elsewhere.
    pub(crate) fn forget_unsaved(&mut self) {
        self.writes.unsaved.clear();
        self.writes.saved.clear();
        self.writes.materials = None;
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
