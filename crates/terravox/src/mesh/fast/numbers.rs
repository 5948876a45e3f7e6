//! The number of the vertex of each sheet at each corner.

use rustc_hash::FxHashMap;

use super::bits::{RankedRows, RowGrid};

/// How the sheets of a special corner are numbered.
#[derive(Debug)]
pub(super) struct SpecialCorner {
    /// The lowest used sheet, which has the corner's own number.
    pub first: u8,
    /// By sheet: the vertices of the other used sheets.
    pub others: [u32; 4],
}

/// By corner of the block.
pub(super) type SpecialCorners = FxHashMap<[i32; 3], SpecialCorner>;

/// Returns the vertex of a sheet at a corner that own faces touch; [`u32::MAX`] if the sheet has
/// none.
pub(super) fn vertex_number<const W: usize>(
    corners: &RankedRows,
    special: &SpecialCorners,
    grid: &RowGrid,
    at: [i32; 3],
    sheet: u8,
) -> u32 {
    match special.get(&at) {
        Some(corner) if corner.first != sheet => corner.others[usize::from(sheet)],
        _ => {
            let (row, bit) = grid.corner_bit(at);
            corners.rank::<W>(row, bit / 64, bit % 64)
        }
    }
}
