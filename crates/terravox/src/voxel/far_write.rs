//! Writing far blocks, and updating them from finer data.
//!
//! A cell of a far block stands for 2×2×2 of the mip below, by the rule of `mips.rs`. Up to
//! mip 5 it lies within one chunk: if that is held at the block's mip or finer, its mips
//! have the cell. Else it follows from the far block of the mip below, if there is one. Else it
//! is what was written. A change is propagated to coarser mips until no cell differs.

use super::changes::{ChangeCursor, FarChanges};
use super::dense::DenseBox;
use super::far::{FarCells, MAX_FAR_MIP};
use super::grid::VoxelGrid;
use super::mip_block::MipBlock;
use super::position::{ChunkPos, Region};
use super::snapshot::Snapshot;

/// The coarsest mip of which every cell lies within one chunk.
const CHUNK_MIP: u8 = 5;

impl VoxelGrid {
    /// Sets the cells of a far block, of mip 1 or coarser, from a generator's estimate or from a
    /// store. Parts for which finer chunks or far blocks are held keep what follows from those;
    /// coarser far blocks above are updated.
    ///
    /// # Panics
    /// If the mip is not 1 to [`MAX_FAR_MIP`], `cells` are not those of the block, or it
    /// reaches beyond [`LIMIT`](super::LIMIT).
    pub fn write_far(&mut self, block: MipBlock, cells: &DenseBox) {
        let mip = block.mip;
        assert!((1..=MAX_FAR_MIP).contains(&mip), "far blocks have mips 1 to {MAX_FAR_MIP}");
        assert_eq!(cells.region(), block.cells(), "a far block is written as a whole");
        assert!(block.within_limits(), "{block} is beyond the limits of the grid");
        let kinds = *self.state.materials().kinds();
        let mut known = DenseBox::default();
        let cells = match self.state.knows_finer(block) {
            true => {
                known.clone_from(cells);
                self.state.take_over_finer(block, &mut known);
                &known
            }
            false => cells,
        };
        let cells = FarCells::new(cells, &kinds, &mut self.updates);
        self.state.tables.far_mut().set(block, cells);
        self.far_log.push(block);
        self.raise(block.voxels(), mip + 1, false);
    }

    /// Drops a far block. Coarser ones keep the cells that follow from it.
    pub fn forget_far(&mut self, block: MipBlock) {
        if self.state.has_far(block) {
            self.state.tables.far_mut().remove(block);
            self.far_log.push(block);
        }
    }

    /// The far blocks that were written, changed by finer cells or forgotten since `cursor`
    /// was last used, and moves it to now. Chunks have a log of their own.
    pub fn far_changes_since(&self, cursor: &mut ChangeCursor) -> FarChanges {
        self.far_log.blocks_since(cursor)
    }

    /// Updates the far blocks over `region`, in voxels, after chunks there were written, which are
    /// held at mip `mip` or finer.
    pub(super) fn raise_chunks(&mut self, region: Region, mip: u8) {
        if !self.state.far().is_empty() {
            self.raise(region, mip.max(1), true);
        }
    }

    /// Updates the far blocks over a chunk that became unlisted and was held at mip `held`.
    pub(super) fn raise_forgotten(&mut self, chunk: ChunkPos, held: u8) {
        // The chunk hid finer far blocks.
        if held > 1 && !self.state.far().is_empty() {
            self.raise(chunk.region(), held, false);
        }
    }

    /// Updates the far blocks of mip `first` and coarser over `region`, in voxels. `of_chunks`:
    /// every chunk there is held at that mip.
    fn raise(&mut self, region: Region, first: u8, of_chunks: bool) {
        let kinds = *self.state.materials().kinds();
        let mut part = DenseBox::default();
        for mip in first..=MAX_FAR_MIP {
            let from_chunks = of_chunks && mip <= CHUNK_MIP;
            let cells = region.coarser(mip.into());
            let mut changed = false;
            for pos in cells.coarser(5).voxels() {
                let block = MipBlock { mip, pos };
                let Some(far) = self.state.far().get(block) else { continue };
                let inside = cells.intersect(block.cells());
                if from_chunks {
                    let read = self.state.read(inside, mip, &mut part);
                    assert!(read.is_ok(), "the chunks were written at this mip or finer");
                } else {
                    far.read(block.cells().min, inside, &mut part);
                    self.state.take_over_finer(block, &mut part);
                }
                let far = self.state.far().changed(block, &part, &kinds, &mut self.updates);
                if let Some(far) = far {
                    self.state.tables.far_mut().set(block, far);
                    self.far_log.push(block);
                    changed = true;
                }
            }
            // Up to mip 5 chunks reach every mip; from there on only a change goes further.
            if !changed && (!of_chunks || mip >= CHUNK_MIP) {
                return;
            }
        }
    }
}

impl Snapshot {
    /// Whether finer chunks or far blocks are held beneath a far block.
    fn knows_finer(&self, block: MipBlock) -> bool {
        let children = block.mip > 1 && block.children().iter().any(|&child| self.has_far(child));
        children || (block.mip <= CHUNK_MIP && self.listed_in(block.voxels()).next().is_some())
    }

    /// Replaces the cells of `out`, which lies in the block, by those that follow from finer data.
    fn take_over_finer(&self, block: MipBlock, out: &mut DenseBox) {
        let region = out.region();
        let mut part = DenseBox::default();
        if block.mip > 1 {
            for child in block.children() {
                let octant = child.cells().coarser(1);
                let common = octant.intersect(region);
                if let Some(far) = self.far().get(child)
                    && !common.is_empty()
                {
                    far.coarsen(octant.min, common, self.materials().kinds(), &mut part);
                    out.copy_from(&part);
                }
            }
        }
        if block.mip <= CHUNK_MIP {
            let mip = u32::from(block.mip);
            for (chunk, held) in self.listed_in(region.finer(mip)) {
                let common = chunk.region().coarser(mip).intersect(region);
                if held <= block.mip && self.read(common, block.mip, &mut part).is_ok() {
                    out.copy_from(&part);
                }
            }
        }
    }
}
