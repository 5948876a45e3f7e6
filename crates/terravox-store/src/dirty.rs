//! What was written to a grid since it was last saved.

use crate::error::StoreError;
use crate::store::Store;
use crate::write::WriteStats;
use std::collections::BTreeSet;
use terravox::voxel::{ChangeCursor, Changes, ChunkPos, Snapshot, VoxelGrid};

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
        dirty.update(grid);
        if dirty.is_empty() {
            return Ok(WriteStats::default());
        }
        let stats = self.write(grid, &dirty.chunks(grid, self)?)?;
        dirty.clear();
        Ok(stats)
    }
}
