//! What was written to a grid since it was last saved.

use crate::error::StoreError;
use crate::store::Store;
use crate::write::WriteStats;
use std::collections::BTreeSet;
use terravox::voxel::{
    ChangeCursor, Changes, ChunkPos, DenseBox, MipBlock, Snapshot, Unlisted, VoxelGrid,
};

/// Chunks of a grid that differ from what is stored: a view of its change log.
///
/// ```
/// use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};
/// use terravox_store::Dirty;
///
/// let mut grid = VoxelGrid::new(GridOptions::default());
/// let mut dirty = Dirty::saved(&grid);
/// grid.write(&DenseBox::new(Region::new([30, 0, 0], [40, 4, 4])))?;
/// dirty.update(&grid);
/// assert_eq!(dirty.len(), Some(2));
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Dirty {
    cursor: ChangeCursor,
    /// All chunks, listed now or stored: the log does not say which.
    everything: bool,
    chunks: BTreeSet<ChunkPos>,
}

impl Dirty {
    /// For a grid that is stored as it is now, just loaded or just saved whole.
    pub fn saved(grid: &VoxelGrid) -> Dirty {
        let mut dirty = Dirty::default();
        let _ = grid.changes_since(&mut dirty.cursor);
        dirty
    }

    /// Adds what was written since the last call. A value made by `Dirty::default()` has
    /// seen nothing, so the first call makes everything dirty.
    pub fn update(&mut self, grid: &VoxelGrid) {
        match grid.changes_since(&mut self.cursor) {
            Changes::Everything => {
                self.everything = true;
                self.chunks.clear();
            }
            Changes::Regions(_) if self.everything => {}
            Changes::Regions(regions) => {
                self.chunks.extend(regions.into_iter().flat_map(|region| region.blocks::<5>()));
            }
        }
    }

    /// Writes whole chunks that came from the store, or from the generator of a world that
    /// grows: they are no edits, and what was edited before stays dirty.
    ///
    /// # Panics
    /// If the box does not consist of whole chunks, or one of them is dirty.
    pub fn load(&mut self, grid: &mut VoxelGrid, cells: &DenseBox) {
        let region = cells.region();
        assert_eq!(region, region.coarser(5).finer(5), "whole chunks are loaded");
        self.update(grid);
        let dirty = region.blocks::<5>().find(|chunk| self.chunks.contains(chunk));
        assert_eq!(dirty, None, "an edited chunk must not be loaded again before it is saved");
        let written = grid.write(cells);
        assert!(written.is_ok(), "chunks are written as wholes");
        let _ = grid.changes_since(&mut self.cursor);
    }

    /// Lets a chunk leave the memory of a world whose unlisted chunks are unknown, if it is
    /// clean; far blocks keep what they show of it. Answers whether it left.
    ///
    /// # Panics
    /// If unlisted chunks are air: forgetting one would be an edit.
    pub fn unload(&mut self, grid: &mut VoxelGrid, chunk: ChunkPos) -> bool {
        assert_eq!(grid.unlisted(), Unlisted::Unknown, "chunks leave a world of unknown ones");
        self.update(grid);
        let clean = !self.everything && !self.chunks.contains(&chunk);
        if clean {
            grid.forget(chunk);
            let _ = grid.changes_since(&mut self.cursor);
        }
        clean
    }

    /// How many chunks are dirty; `None` if all are, or may be.
    pub fn len(&self) -> Option<usize> {
        (!self.everything).then_some(self.chunks.len())
    }

    /// Whether nothing is dirty.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The dirty chunks, sorted, to be written from a `snapshot` taken after the last
    /// [`Dirty::update`]. If everything is dirty these are all chunks that the snapshot
    /// lists and all that `store` has.
    ///
    /// # Errors
    /// If the chunks of the store must be known and cannot be read.
    pub fn chunks(&self, snapshot: &Snapshot, store: &Store) -> Result<Vec<ChunkPos>, StoreError> {
        if !self.everything {
            return Ok(self.chunks.iter().copied().collect());
        }
        let mut all = snapshot.chunks();
        all.extend(store.chunks()?);
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Forgets all chunks, once they are written.
    pub fn clear(&mut self) {
        self.everything = false;
        self.chunks.clear();
    }
}

impl Store {
    /// Writes what changed in a grid since `dirty` was last clean, in one transaction, and
    /// makes `dirty` clean. If it fails, all stays dirty and the file as it was.
    ///
    /// To save on another thread, update `dirty`, take a snapshot, and give
    /// [`Dirty::chunks`] to [`Store::write`] there.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn save(&self, grid: &VoxelGrid, dirty: &mut Dirty) -> Result<WriteStats, StoreError> {
        self.save_by(grid, dirty, |chunks| self.write(grid, chunks))
    }

    /// [`Store::save`], with extra data that belongs to the cells, such as what can be
    /// undone: both are written, in one transaction, or neither. Without a change nothing is.
    ///
    /// # Errors
    /// As [`Store::write_with_extra`].
    pub fn save_with_extra(
        &self,
        grid: &VoxelGrid,
        dirty: &mut Dirty,
        name: &str,
        bytes: &[u8],
    ) -> Result<WriteStats, StoreError> {
        self.save_by(grid, dirty, |chunks| self.write_with_extra(grid, chunks, Some((name, bytes))))
    }

    /// [`Store::save`] for a world that grows, as [`Store::write_grown`].
    ///
    /// # Errors
    /// As [`Store::write_grown`].
    pub fn save_grown(
        &self,
        grid: &VoxelGrid,
        dirty: &mut Dirty,
        generate: &dyn Fn(MipBlock, &mut DenseBox),
    ) -> Result<WriteStats, StoreError> {
        self.save_by(grid, dirty, |chunks| self.write_grown(grid, chunks, generate))
    }

    fn save_by(
        &self,
        grid: &VoxelGrid,
        dirty: &mut Dirty,
        write: impl FnOnce(&[ChunkPos]) -> Result<WriteStats, StoreError>,
    ) -> Result<WriteStats, StoreError> {
        dirty.update(grid);
        if dirty.is_empty() {
            return Ok(WriteStats::default());
        }
        let stats = write(&dirty.chunks(grid, self)?)?;
        dirty.clear();
        Ok(stats)
    }
}
