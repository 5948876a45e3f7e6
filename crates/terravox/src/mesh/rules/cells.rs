//! The cells of a padded box for one of the two surfaces: which are inside, which outside, how
//! full they are, and the stencil around them.

use crate::voxel::{DenseBox, Kind, MaterialTable, WATER};

use super::plane::stencil_value;

/// The cells of a padded box, addressed by index, for one surface.
pub(crate) trait SurfaceCells {
    /// Returns the edge lengths of the padded box.
    fn size(&self) -> [usize; 3];
    /// Whether the surface encloses this cell.
    fn inside(&self, i: usize) -> bool;
    /// Whether a face lies between this cell and an inside neighbour.
    fn outside(&self, i: usize) -> bool;
    /// Returns the stored occupancy of an inside cell.
    fn stored(&self, i: usize) -> u8;
    /// Returns the material of an inside cell.
    fn material(&self, i: usize) -> u8;

    /// Returns the index steps to the next cell along x, y, z.
    fn steps(&self) -> [usize; 3];

    /// Whether the inside cell `i` may count as thin: its content reaches both of its sides.
    fn may_be_thin(&self, _i: usize) -> bool {
        true
    }

    /// Whether the inside cell `i` lies on liquid, with air above it.
    fn floats(&self, _i: usize) -> bool {
        false
    }

    /// Returns the ground in which the surface ends, if it ends in any.
    fn ground(&self) -> Option<SolidCells<'_>> {
        None
    }

    /// Returns the stencil value, for the inside cell `i`, of the cell `d` (x, y, z) away.
    ///
    /// A cell that is neither inside nor outside (ground beside water) has the value of the cell
    /// in `i`'s column at its height, so that a surface continues level into the ground; below
    /// `i`, ground in the column counts as full.
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

    /// Returns the negative gradient at the inside cell `i`: Sobel sums, 4080 for a full step.
    fn gradient(&self, i: usize) -> [i32; 3] {
        let mut g = [0; 3];
        for dy in -1..=1isize {
            for dz in -1..=1isize {
                for dx in -1..=1isize {
                    let value = self.stencil(i, [dx, dy, dz]);
                    let [x, y, z] = [dx, dy, dz].map(|d| d as i32);
                    let [wx, wy, wz] = [2 - x.abs(), 2 - y.abs(), 2 - z.abs()];
                    g[0] -= x * wy * wz * value;
                    g[1] -= y * wz * wx * value;
                    g[2] -= z * wx * wy * value;
                }
            }
        }
        g
    }
}

/// The solid surface: solid cells are inside, all others outside.
pub(crate) struct SolidCells<'a> {
    cells: &'a DenseBox,
    kinds: &'a [Kind; 256],
    size: [usize; 3],
    steps: [usize; 3],
}

impl<'a> SolidCells<'a> {
    /// The solid surface of a padded box.
    pub(crate) fn new(cells: &'a DenseBox, table: &'a MaterialTable) -> SolidCells<'a> {
        let size = cells.region().size();
        SolidCells { cells, kinds: table.kinds(), size, steps: steps_of(size) }
    }
}

/// Returns the index steps to the next cell along x, y, z.
fn steps_of([sx, _, sz]: [usize; 3]) -> [usize; 3] {
    [1, sx * sz, sx]
}

impl SurfaceCells for SolidCells<'_> {
    /// Row by row: every cell is inside or outside, so a value depends on its cell alone.
    fn gradient(&self, i: usize) -> [i32; 3] {
        let mut g = [0; 3];
        for (y, wy) in [(-1, 1), (0, 2), (1, 1)] {
            for (z, wz) in [(-1, 1), (0, 2), (1, 1)] {
                let steps = self.steps.map(|step| step as isize);
                let from = i.wrapping_add_signed(y * steps[1] + z * steps[2]) - 1;
                let materials = &self.cells.materials()[from..from + 3];
                let stored = &self.cells.occupancies()[from..from + 3];
                let value = |x: usize| match self.kinds[usize::from(materials[x])] {
                    Kind::Solid => stencil_value(stored[x]),
                    _ => 0,
                };
                let [low, middle, high] = [value(0), value(1), value(2)];
                let sum = low + 2 * middle + high;
                g[0] += wy * wz * (low - high);
                g[1] -= y as i32 * wz * sum;
                g[2] -= z as i32 * wy * sum;
            }
        }
        g
    }
    #[inline]
    fn size(&self) -> [usize; 3] {
        self.size
    }
    #[inline]
    fn steps(&self) -> [usize; 3] {
        self.steps
    }
    #[inline]
    fn inside(&self, i: usize) -> bool {
        self.kinds[usize::from(self.cells.materials()[i])] == Kind::Solid
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
    fn floats(&self, i: usize) -> bool {
        let kind = |i: usize| self.kinds[usize::from(self.cells.materials()[i])];
        kind(i - self.steps[1]) == Kind::Liquid && kind(i + self.steps[1]) == Kind::Air
    }
}

/// The liquid surface: liquid cells and solid ones that hold water are inside, air is
/// outside, other solids are neither.
pub(crate) struct LiquidCells<'a> {
    cells: &'a DenseBox,
    kinds: &'a [Kind; 256],
    size: [usize; 3],
    steps: [usize; 3],
}

impl<'a> LiquidCells<'a> {
    /// The liquid surface of a padded box.
    pub(crate) fn new(cells: &'a DenseBox, table: &'a MaterialTable) -> LiquidCells<'a> {
        let size = cells.region().size();
        LiquidCells { cells, kinds: table.kinds(), size, steps: steps_of(size) }
    }

    fn kind(&self, i: usize) -> Kind {
        self.kinds[usize::from(self.cells.materials()[i])]
    }

    /// Returns the level of the water that cell `i` holds if it is solid.
    fn held(&self, i: usize) -> Option<u8> {
        if self.kind(i) != Kind::Solid {
            return None;
        }
        let water = self.cells.water();
        let at = water.binary_search_by_key(&(i as u32), |entry| entry.0).ok()?;
        Some(water[at].1)
    }
}

impl SurfaceCells for LiquidCells<'_> {
    #[inline]
    fn size(&self) -> [usize; 3] {
        self.size
    }
    #[inline]
    fn steps(&self) -> [usize; 3] {
        self.steps
    }
    fn ground(&self) -> Option<SolidCells<'_>> {
        let LiquidCells { cells, kinds, size, steps } = *self;
        Some(SolidCells { cells, kinds, size, steps })
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
    /// Water that a solid cell holds lies on its ground: never thin.
    fn may_be_thin(&self, i: usize) -> bool {
        self.kind(i) != Kind::Solid
    }
}

/// As [`LiquidCells`], of arrays in which solid cells that hold water are water already, which
/// saves searching for the water that they hold.
pub(crate) struct SoakedCells<'a> {
    /// By cell: its class, by which it is inside or outside. Mostly its material.
    pub classes: &'a [u8],
    /// By class: liquid is inside, air outside.
    pub class_kinds: &'a [Kind; 256],
    /// By cell: its material.
    pub materials: &'a [u8],
    /// By cell: its stored occupancy.
    pub occupancies: &'a [u8],
    /// By material.
    pub kinds: &'a [Kind; 256],
    /// Edges of the padded box.
    pub size: [usize; 3],
    /// The original cells.
    pub cells: &'a DenseBox,
}

impl SurfaceCells for SoakedCells<'_> {
    #[inline]
    fn size(&self) -> [usize; 3] {
        self.size
    }
    #[inline]
    fn steps(&self) -> [usize; 3] {
        steps_of(self.size)
    }
    fn ground(&self) -> Option<SolidCells<'_>> {
        let SoakedCells { cells, kinds, size, .. } = *self;
        Some(SolidCells { cells, kinds, size, steps: steps_of(size) })
    }
    #[inline]
    fn inside(&self, i: usize) -> bool {
        self.class_kinds[usize::from(self.classes[i])] == Kind::Liquid
    }
    #[inline]
    fn outside(&self, i: usize) -> bool {
        self.class_kinds[usize::from(self.classes[i])] == Kind::Air
    }
    #[inline]
    fn stored(&self, i: usize) -> u8 {
        self.occupancies[i]
    }
    #[inline]
    fn material(&self, i: usize) -> u8 {
        self.materials[i]
    }
    fn may_be_thin(&self, i: usize) -> bool {
        self.kinds[usize::from(self.cells.materials()[i])] != Kind::Solid
    }
}
