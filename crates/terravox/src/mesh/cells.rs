//! A padded box as one of the two surfaces sees it: which cells are inside, which
//! outside, how full they are, and the stencil around them.

use crate::voxel::{DenseBox, Kind, MaterialTable, WATER};

use super::plane::stencil_value;

/// The cells of a padded box, addressed by index, for one surface.
pub(crate) trait Cells {
    /// Edge lengths of the padded box.
    fn size(&self) -> [usize; 3];
    /// Whether the surface bounds this cell.
    fn inside(&self, i: usize) -> bool;
    /// Whether a face lies between this cell and an inside neighbour.
    fn outside(&self, i: usize) -> bool;
    /// Stored occupancy of an inside cell.
    fn stored(&self, i: usize) -> u8;
    /// Material of an inside cell.
    fn material(&self, i: usize) -> u8;

    /// Index steps to the next cell along x, y, z.
    fn steps(&self) -> [usize; 3] {
        let [sx, _, sz] = self.size();
        [1, sx * sz, sx]
    }

    /// What the cell `[dx, dy, dz]` from the inside cell `i` is worth in its stencil.
    ///
    /// A cell that is neither inside nor outside (ground beside water) counts as full
    /// as the cell of `i`'s column at its height, so that a surface goes on level into
    /// the ground; under `i`, ground in the column counts as full.
    fn stencil(&self, i: usize, d: [isize; 3]) -> i32 {
        let steps = self.steps().map(|s| s as isize);
        let column = i.wrapping_add_signed(d[1] * steps[1]);
        let at = column.wrapping_add_signed(d[0] * steps[0] + d[2] * steps[2]);
        let value = |i| if self.inside(i) { stencil_value(self.stored(i)) } else { 0 };
        if self.inside(at) || self.outside(at) {
            value(at)
        } else if self.inside(column) || self.outside(column) || d[1] >= 0 {
            value(column)
        } else {
            255
        }
    }

    /// Falling gradient of the inside cell `i`: Sobel sums, 4080 for a full step.
    fn gradient(&self, i: usize) -> [i32; 3] {
        let mut g = [0; 3];
        for dy in -1..=1isize {
            for dz in -1..=1isize {
                for dx in -1..=1isize {
                    let d = [dx, dy, dz];
                    let value = self.stencil(i, d);
                    for axis in 0..3 {
                        let across = (0..3).filter(|&a| a != axis).map(|a| 2 - d[a].abs() as i32);
                        g[axis] -= d[axis] as i32 * across.product::<i32>() * value;
                    }
                }
            }
        }
        g
    }
}

/// The solid surface: solid cells are inside, all others outside.
pub(crate) struct SolidCells<'a> {
    /// The padded box.
    pub cells: &'a DenseBox,
    /// Kinds and shapes.
    pub table: &'a MaterialTable,
}

impl Cells for SolidCells<'_> {
    fn size(&self) -> [usize; 3] {
        self.cells.region().size()
    }
    #[inline]
    fn inside(&self, i: usize) -> bool {
        self.table.kind(self.cells.materials()[i]) == Kind::Solid
    }
    #[inline]
    fn outside(&self, i: usize) -> bool {
        !self.inside(i)
    }
    #[inline]
    fn stored(&self, i: usize) -> u8 {
        self.cells.occupancies()[i]
    }
    #[inline]
    fn material(&self, i: usize) -> u8 {
        self.cells.materials()[i]
    }
}

/// The liquid surface: liquid cells and solid ones that hold water are inside, air is
/// outside, other solids are neither.
pub(crate) struct LiquidCells<'a> {
    /// The padded box.
    pub cells: &'a DenseBox,
    /// Kinds and shapes.
    pub table: &'a MaterialTable,
}

impl LiquidCells<'_> {
    fn kind(&self, i: usize) -> Kind {
        self.table.kind(self.cells.materials()[i])
    }

    /// Water that the solid cell `i` holds.
    fn held(&self, i: usize) -> Option<u8> {
        if self.kind(i) != Kind::Solid {
            return None;
        }
        let water = self.cells.water();
        let at = water.binary_search_by_key(&(i as u32), |entry| entry.0).ok()?;
        Some(water[at].1)
    }
}

impl Cells for LiquidCells<'_> {
    fn size(&self) -> [usize; 3] {
        self.cells.region().size()
    }
    fn inside(&self, i: usize) -> bool {
        self.kind(i) == Kind::Liquid || self.held(i).is_some()
    }
    fn outside(&self, i: usize) -> bool {
        self.kind(i) == Kind::Air
    }
    fn stored(&self, i: usize) -> u8 {
        self.held(i).unwrap_or(self.cells.occupancies()[i])
    }
    fn material(&self, i: usize) -> u8 {
        if self.kind(i) == Kind::Solid { WATER } else { self.cells.materials()[i] }
    }
}
