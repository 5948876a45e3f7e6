//! The corners that have a vertex, for views that are built on vertices and not on faces.

use crate::voxel::DenseBox;

use super::bits::{CornerRow, CornerRows, RowGrid, pair, row};
use super::scratch::FastScratch;

/// A corner between solid cells and others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveCorner {
    /// Corner in the block, x, y, z.
    pub at: [u8; 3],
    /// Number of its first vertex.
    pub vertex: u32,
    /// Solid octants.
    pub inside: u8,
    /// Materials of the octants.
    pub materials: [u8; 8],
}

/// Calls `each` for every corner of the last box, in the order of their vertices.
pub(super) fn each(s: &FastScratch, cells: &DenseBox, mut each: impl FnMut(ActiveCorner)) {
    if s.corners.rows.is_empty() {
        return;
    }
    let grid = RowGrid::new(cells.region().size());
    match grid.words() {
        1 => each_of::<1>(s, &grid, cells.materials(), &mut each),
        _ => each_of::<2>(s, &grid, cells.materials(), &mut each),
    }
}

fn each_of<const W: usize>(
    s: &FastScratch,
    grid: &RowGrid,
    materials: &[u8],
    each: &mut impl FnMut(ActiveCorner),
) {
    let [sx, _, sz] = grid.size;
    let mut vertex = 0;
    for CornerRow { row: corner_row, y, z } in CornerRows::new(grid) {
        let first = (y + 1) * sz + z + 1;
        let rows = [first, first + 1, first + sz, first + sz + 1];
        for k in 0..W {
            let mut left = s.corners.rows[W * corner_row + k];
            while left != 0 {
                let b = left.trailing_zeros() as usize;
                left &= left - 1;
                let bit = 64 * k + b;
                let (mut inside, mut octants) = (0, [0; 8]);
                for j in 0..4 {
                    inside |= pair(&row::<W>(&s.inside, rows[j]), k, b) << (2 * j);
                    let i = rows[j] * sx + bit;
                    octants[2 * j..2 * j + 2].copy_from_slice(&materials[i..i + 2]);
                }
                let at = [bit as u8 - 1, y as u8, z as u8];
                each(ActiveCorner { at, vertex, inside: inside as u8, materials: octants });
                vertex += 1;
            }
        }
    }
}
