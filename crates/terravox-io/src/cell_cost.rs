//! What chunks cost once they are in a grid, and in the world file that is made of it.

use crate::import_budget::{BudgetError, ImportBudget};
use std::collections::HashSet;
use terravox::voxel::{ChunkPos, DenseBox, MAX_MIP, Region, VoxelPos};

/// Units of work to decode and write a chunk of full cells of one material.
pub(crate) const CHUNK_WORK: u64 = 3 << 14;
/// Memory of a row that is not uniform, with its share of the mips.
pub(crate) const MIXED_ROW_BYTES: u64 = 80;
/// Units of work to write such a row.
const MIXED_ROW_WORK: u64 = 192;
/// Memory of a cell's water.
const WATER_BYTES: u64 = 8;
/// Units of work of an encoded byte, decoded and encoded again.
const ENCODED_WORK: u64 = 16;

/// Units of work of a coarse block in a world file: made of finer cells, and encoded. A chunk far
/// from others has one of each mip.
pub(crate) const COARSE_BLOCK_WORK: u64 = 1 << 14;
/// Memory of one, in a world file that is in memory.
pub(crate) const COARSE_BLOCK_BYTES: u64 = 128;

/// Mip of the coarse block that is a page of 8³ chunks.
const PAGE_MIP: u64 = 3;

/// The coarse blocks over the chunks of a file. Positions come from the file, so the hashes are
/// keyed.
#[derive(Default)]
pub(crate) struct CoarseBlocks {
    /// Of mip 1 and so on.
    mips: [HashSet<VoxelPos>; MAX_MIP as usize],
}

impl CoarseBlocks {
    /// Adds those over a chunk; returns how many are new.
    pub fn add(&mut self, chunk: ChunkPos) -> u64 {
        let pos = VoxelPos::new(chunk.x, chunk.y, chunk.z);
        // Over a block that is known, all are.
        let new = (1..).zip(&mut self.mips).map(|(mip, blocks)| blocks.insert(pos.coarser(mip)));
        new.take_while(|is_new| *is_new).count() as u64
    }

    /// Whether a page is among the new ones.
    pub fn has_page(new: u64) -> bool {
        new >= PAGE_MIP
    }
}

/// Spends what coarse blocks cost in a world file.
pub(crate) fn spend_coarse_blocks(
    blocks: u64,
    budget: &mut ImportBudget,
) -> Result<(), BudgetError> {
    budget.spend_memory("its coarse blocks", blocks.saturating_mul(COARSE_BLOCK_BYTES))?;
    budget.spend_work("its coarse blocks", blocks.saturating_mul(COARSE_BLOCK_WORK))
}

/// Coarse blocks over a region of chunks.
pub(crate) fn coarse_blocks_over(chunks: Region) -> u64 {
    (1..=u32::from(MAX_MIP)).map(|mip| chunks.coarser(mip).volume()).sum()
}

/// Spends what the cells of a chunk cost that took `encoded_bytes` of a file, besides
/// [`CHUNK_WORK`].
pub(crate) fn spend_cells(
    cells: &DenseBox,
    encoded_bytes: usize,
    budget: &mut ImportBudget,
) -> Result<(), BudgetError> {
    let (rows, water) = (mixed_rows(cells), cells.water().len() as u64);
    let work = MIXED_ROW_WORK * rows + ENCODED_WORK * (encoded_bytes as u64 + water);
    budget.spend_work("its cells", work)?;
    budget.spend_memory("its cells", MIXED_ROW_BYTES * rows + WATER_BYTES * water)
}

/// Spends what rows cost that are not uniform, when their chunk is written: the work of all, and
/// the memory of those that are new.
pub(crate) fn spend_rows(
    rows: u64,
    new_rows: u64,
    budget: &mut ImportBudget,
) -> Result<(), BudgetError> {
    budget.spend_work("its cells", MIXED_ROW_WORK * rows)?;
    budget.spend_memory("its cells", MIXED_ROW_BYTES * new_rows)
}

/// Returns the number of rows that are not uniform, which take memory in the grid.
pub(crate) fn mixed_rows(cells: &DenseBox) -> u64 {
    let rows = cells.materials().chunks_exact(32).zip(cells.occupancies().chunks_exact(32));
    let mixed = rows.filter(|(material, occupancy)| {
        let m = material[0];
        let full = if m == 0 { 0 } else { 255 };
        let differs =
            material.iter().zip(*occupancy).fold(0, |d, (&a, &b)| d | (a ^ m) | (b ^ full));
        differs != 0
    });
    mixed.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_blocks_are_counted_once_and_a_far_chunk_has_one_of_each_mip() {
        let mut far = CoarseBlocks::default();
        for i in -3..3 {
            // The coarsest blocks are 256 chunks wide.
            assert_eq!(far.add(ChunkPos::new(i * 256, 0, -i * 256)), 8);
        }
        let (mut dense, region) = (CoarseBlocks::default(), Region::new([-5, -2, 3], [7, 9, 12]));
        let chunk = |p: VoxelPos| ChunkPos::new(p.x, p.y, p.z);
        let added: Vec<u64> = region.voxels().map(|p| dense.add(chunk(p))).collect();
        assert_eq!(added.iter().sum::<u64>(), coarse_blocks_over(region));
        let pages = added.iter().filter(|new| CoarseBlocks::has_page(**new)).count();
        assert_eq!(pages as u64, region.coarser(3).volume());
        assert!(region.voxels().all(|p| dense.add(chunk(p)) == 0));
    }
}
