//! The cells that one edit changed, as a value: what a journal keeps of an edit.

use super::patch::Patch;
use crate::voxel::{ChunkPos, Region};
use std::fmt;
use std::sync::Arc;

/// The cells that one edit changed, as they were before it. Copies share memory.
///
/// [`History::take_last_change`](super::History::take_last_change) returns them, and
/// [`Rollback::step`](super::Rollback::step).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChangedCells {
    /// In the order in which they were made, at least one cell in each. Where two share a cell, the
    /// first has what was there before both.
    pub(super) patches: Arc<Vec<Patch>>,
}

impl ChangedCells {
    /// Returns the smallest region that contains the cells, in voxels; empty if nothing changed.
    pub fn region(&self) -> Region {
        self.regions().fold(Region::default(), Region::union)
    }

    /// Returns regions, in voxels, that together contain the cells more closely.
    pub fn regions(&self) -> impl Iterator<Item = Region> {
        self.patches.iter().map(|patch| patch.region)
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// How many cells there are. Takes time proportional to the rows of their region.
    pub fn count(&self) -> u64 {
        self.patches.iter().map(Patch::cell_count).sum()
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.patches.iter().map(Patch::bytes).sum()
    }

    /// Whether it is known which cells changed, but not what they were.
    pub(super) fn is_forgotten(&self) -> bool {
        self.patches.iter().any(|patch| patch.cells.is_empty())
    }

    /// Bytes that [`ChangedCells::forget`] frees.
    pub(super) fn forgettable_bytes(&self) -> usize {
        self.patches.iter().map(|patch| patch.cells.len()).sum()
    }

    /// Forgets what the cells were, but not which.
    pub(super) fn forget(&mut self) {
        for patch in Arc::make_mut(&mut self.patches) {
            patch.cells = Arc::default();
        }
    }

    /// Adds cells that were changed later.
    pub fn append(&mut self, later: ChangedCells) {
        match self.is_empty() {
            true => *self = later,
            false => Arc::make_mut(&mut self.patches).extend(later.patches.iter().cloned()),
        }
    }

    /// The chunks of each patch, by the number of the patch.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (usize, ChunkPos)> {
        let patches = self.patches.iter().enumerate();
        patches.flat_map(|(at, patch)| patch.region.blocks::<5>().map(move |chunk| (at, chunk)))
    }

    /// How many pairs [`ChangedCells::chunks`] returns.
    pub(super) fn chunk_count(&self) -> u64 {
        self.patches.iter().map(|patch| patch.region.coarser(5).volume()).sum()
    }
}

impl fmt::Debug for ChangedCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ChangedCells");
        debug.field("region", &self.region()).field("bytes", &self.bytes()).finish()
    }
}
