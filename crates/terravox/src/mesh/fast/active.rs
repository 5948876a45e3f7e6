//! The corners that have a vertex, for views that are built on vertices and not on faces.

use crate::voxel::DenseBox;

use super::Scratch;
use super::rows::{Grid, pair, row};

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

/// Calls for every corner of the last box, in the order of their vertices.
pub(super) fn each(s: &Scratch, cells: &DenseBox, mut each: impl FnMut(ActiveCorner)) {
    if s.corners.rows.is_empty() {
        return;
    }
    let grid = Grid::new(cells.region().size());
    if grid.size[0] <= 64 {
        each_of::<1>(s, &grid, cells.materials(), &mut each);
    } else {
        each_of::<2>(s, &grid, cells.materials(), &mut each);
    }
}

fn each_of<const W: usize>(
    s: &Scratch,
    grid: &Grid,
    materials: &[u8],
    each: &mut impl FnMut(ActiveCorner),
) {
    let [_, ny, nz] = grid.own;
    let [sx, _, sz] = grid.size;
    let mut vertex = 0;
    for (y, z) in (0..=ny).flat_map(|y| (0..=nz).map(move |z| (y, z))) {
        let c = y * (nz + 1) + z;
        let first = (y + 1) * sz + z + 1;
        let rows = [first, first + 1, first + sz, first + sz + 1];
        for k in 0..W {
            let mut left = s.corners.rows[W * c + k];
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
