//! Coarse blocks that are kept apart from a grid and follow its edits.
//!
//! A far block of a grid takes over all finer cells that are in memory, so what it is depends on
//! what was loaded. A block of a pyramid is what was put there, with the cells over an edit instead
//! of its own: two sides that see the same blocks and the same edits have the same pyramid,
//! whatever else they load.

use super::dense::DenseBox;
use super::far::{FarCells, FarTable};
use super::material::Kind;
use super::mip_block::MipBlock;
use super::packed_rows::RowUpdates;
use super::position::Region;
use super::snapshot::Snapshot;

/// Blocks of mips 1 and coarser.
#[derive(Default)]
pub(crate) struct FarPyramid {
    table: FarTable,
    updates: RowUpdates,
}

impl FarPyramid {
    pub fn has(&self, block: MipBlock) -> bool {
        self.table.get(block).is_some()
    }

    pub fn insert(&mut self, block: MipBlock, cells: &DenseBox, kinds: &[Kind; 256]) {
        debug_assert_eq!(cells.region(), block.cells());
        self.table.set(block, FarCells::new(cells, kinds, &mut self.updates));
    }

    pub fn remove(&mut self, block: MipBlock) {
        self.table.remove(block);
    }

    /// Writes a part of a block that is there.
    pub fn patch(&mut self, block: MipBlock, part: &DenseBox, kinds: &[Kind; 256]) {
        if let Some(cells) = self.table.changed(block, part, kinds, &mut self.updates) {
            self.table.set(block, cells);
        }
    }

    /// Fills `out` with the cells of `region`, which lies in the block; false if that is not there.
    pub fn read(&self, block: MipBlock, region: Region, out: &mut DenseBox) -> bool {
        let Some(cells) = self.table.get(block) else { return false };
        out.water_mut().clear();
        cells.read(block.cells().min, region, out);
        true
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let [_, bytes, water] = self.table.memory();
        bytes + water
    }

    /// Computes the cells over `region`, in voxels, of these mips, each from the mip below: mip 1
    /// from `grid`. Blocks that are not there are made by `make`, or left out if it returns false.
    pub fn raise(
        &mut self,
        grid: &Snapshot,
        region: Region,
        mips: std::ops::RangeInclusive<u8>,
        mut make: impl FnMut(MipBlock, &mut DenseBox) -> bool,
    ) {
        let kinds = *grid.materials().kinds();
        let mut part = DenseBox::default();
        for mip in mips {
            let cells = region.coarser(mip.into());
            for pos in cells.coarser(5).voxels() {
                let block = MipBlock { mip, pos };
                if !block.within_limits() {
                    continue;
                }
                if !self.has(block) {
                    if !make(block, &mut part) {
                        continue;
                    }
                    self.insert(block, &part, &kinds);
                }
                let inside = cells.intersect(block.cells());
                if mip == 1 {
                    if grid.read(inside, 1, &mut part).is_ok() {
                        self.patch(block, &part, &kinds);
                    }
                    continue;
                }
                for child in block.children() {
                    let octant = child.cells().coarser(1);
                    let common = octant.intersect(inside);
                    if let Some(finer) = self.table.get(child)
                        && !common.is_empty()
                    {
                        finer.coarsen(octant.min, common, &kinds, &mut part);
                        self.patch(block, &part, &kinds);
                    }
                }
            }
        }
    }
}
