//! What the cells of a chunk cost once they are in a grid.

use crate::budget::{BudgetError, ImportBudget};
use terravox::voxel::DenseBox;

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

/// Returns the number of rows that are not uniform, which take memory in the grid.
fn mixed_rows(cells: &DenseBox) -> u64 {
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
