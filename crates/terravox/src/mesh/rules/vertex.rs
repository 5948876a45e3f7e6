//! The vertex of a sheet at a corner of a block, by all the rules together.

use std::array;

use crate::voxel::{MaterialTable, VoxelPos};

use super::blend::dominant;
use super::block::PAD;
use super::cells::{SolidCells, SurfaceCells};
use super::corner::{CORNERS, CornerSheets, SIDE, toward};
use super::place::{PlacedVertex, place};
use super::plane::{CellPlane, smaller};
use super::thin::thin_planes;

/// The padded cells of a block, and where the block lies.
pub(crate) struct BlockCells<'a, C> {
    /// The padded cells.
    pub cells: &'a C,
    /// Gives materials their shapes.
    pub table: &'a MaterialTable,
    /// The block's min corner, absolute, in cells.
    pub origin: VoxelPos,
}

impl<C> Clone for BlockCells<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for BlockCells<'_, C> {}

/// Material ids of up to eight cells.
#[derive(Default)]
pub(crate) struct MaterialIds {
    ids: [u8; 8],
    count: usize,
}

impl MaterialIds {
    fn push(&mut self, id: u8) {
        self.ids[self.count] = id;
        self.count += 1;
    }

    /// Returns the ids.
    #[inline]
    pub(crate) fn get(&self) -> &[u8] {
        &self.ids[..self.count]
    }
}

/// A vertex, and the materials of the cells that it is placed by.
pub(crate) struct SheetVertex {
    /// Relative to its corner.
    pub placed: PlacedVertex,
    /// One for each cell.
    pub materials: MaterialIds,
}

impl<C: SurfaceCells> BlockCells<'_, C> {
    /// Returns the index in the padded box of a cell in block coordinates.
    pub(crate) fn index(&self, cell: [i32; 3]) -> usize {
        let steps = self.cells.steps();
        (0..3).map(|axis| (cell[axis] + PAD) as usize * steps[axis]).sum()
    }

    /// Returns the indices of the eight cells around a corner.
    pub(crate) fn octants(&self, corner: [i32; 3]) -> [usize; 8] {
        let steps = self.cells.steps();
        let low = self.index(corner.map(|c| c - 1));
        array::from_fn(|o| {
            low + (0..3).filter(|&a| o as u8 & SIDE[a] != 0).map(|a| steps[a]).sum::<usize>()
        })
    }

    /// Returns how the faces at a corner connect.
    pub(crate) fn corner(&self, corner: [i32; 3]) -> CornerSheets {
        let (mut inside, mut outside) = (0, 0);
        for (octant, i) in self.octants(corner).into_iter().enumerate() {
            inside |= u8::from(self.cells.inside(i)) << octant;
            outside |= u8::from(self.cells.outside(i)) << octant;
        }
        if inside | outside == 255 {
            CORNERS[usize::from(inside)]
        } else {
            CornerSheets::new(inside, outside)
        }
    }

    /// Places the vertex of one sheet at the corner `at`.
    pub(crate) fn vertex(&self, at: [i32; 3], corner: &CornerSheets, sheet: u8) -> SheetVertex {
        self.vertex_by(at, corner, sheet, |i, octant, plane| self.plane(i, octant, plane))
    }

    /// As [`BlockCells::vertex`], with planes from a cache: `plane` does what
    /// [`BlockCells::plane`] does.
    pub(crate) fn vertex_by(
        &self,
        at: [i32; 3],
        corner: &CornerSheets,
        sheet: u8,
        mut plane: impl FnMut(usize, usize, &mut CellPlane) -> bool,
    ) -> SheetVertex {
        let sheet = corner.sheet(sheet);
        let mut planes = [CellPlane::default(); 8];
        let mut is_thin = false;
        let (mut all, mut used) = (MaterialIds::default(), MaterialIds::default());
        for (octant, i) in self.octants(at).into_iter().enumerate() {
            if !self.cells.inside(i) {
                continue;
            }
            all.push(self.cells.material(i));
            if sheet.planes >> octant & 1 == 1 {
                used.push(self.cells.material(i));
                is_thin |= plane(i, octant, &mut planes[octant]);
            }
        }
        let shape = self.table.shape(dominant(all.get()));
        let absolute = (self.origin + VoxelPos::from(at)).to_array();
        let mut placed = place(&planes, &sheet, shape, is_thin, absolute);
        if sheet.is_open
            && let Some(ground) = self.cells.ground()
        {
            self.lower_to_ground(at, corner, ground, &mut placed);
        }
        SheetVertex { placed, materials: used }
    }

    /// Moves the end of a liquid surface to where the ground around has risen to the liquid's
    /// level; onto the ground's surface where it has not.
    fn lower_to_ground(
        &self,
        at: [i32; 3],
        corner: &CornerSheets,
        ground: SolidCells<'_>,
        placed: &mut PlacedVertex,
    ) {
        const LOWER: u8 = 0b0000_1111;
        if corner.outside & !LOWER != !LOWER {
            return;
        }
        let octants = self.octants(at);
        let stored = |octant: u8| self.cells.stored(octants[usize::from(octant)]);
        let is_in = |set: u8| (0..4u8).filter(move |octant| set >> octant & 1 == 1);
        let level = is_in(corner.inside).map(stored).max().unwrap_or(0);
        let has_risen = |octant: &u8| {
            let i = octants[usize::from(*octant)];
            ground.inside(i) && ground.stored(i) >= level
        };
        let risen = is_in(LOWER).filter(has_risen).fold(0, |set, octant| set | 1 << octant);
        let dry = LOWER & !(corner.inside | corner.outside);
        if dry & !risen == 0 {
            return;
        }
        if risen != 0 {
            // Two that lie diagonally cancel out: take the first.
            let [x, _, z] = match toward(risen) {
                [0.0, _, 0.0] => toward(risen & risen.wrapping_neg()),
                between => between,
            };
            placed.offset = [x, placed.offset[1], z];
            return;
        }
        let ground = BlockCells { cells: &ground, table: self.table, origin: self.origin };
        let corner = ground.corner(at);
        let up = |sheet: &u8| corner.sheet(*sheet).direction[1];
        // `max_by` returns the last of equals: reversed, the first.
        let Some(sheet) = (0..corner.count).rev().max_by(|a, b| up(a).total_cmp(&up(b))) else {
            return;
        };
        let [x, y, z] = ground.vertex(at, &corner, sheet).placed.offset;
        placed.offset = [x.clamp(-1.5, 1.5), smaller(y, placed.offset[1]), z.clamp(-1.5, 1.5)];
    }

    /// Sets the plane of the inside cell `i` for a corner of which it is the octant `octant`.
    /// Returns whether the cell is thin.
    pub(crate) fn plane(&self, i: usize, octant: usize, plane: &mut CellPlane) -> bool {
        let thin = thin_planes(self.cells, i);
        *plane = match thin {
            Some(planes) => planes[7 ^ octant],
            None => CellPlane::new(self.cells.gradient(i), self.cells.stored(i)),
        };
        thin.is_some()
    }

    /// Appends the plane of the inside cell `i`, or those of its eight corners if it is
    /// thin. Returns whether it is.
    pub(crate) fn push_planes(&self, i: usize, out: &mut Vec<CellPlane>) -> bool {
        let thin = thin_planes(self.cells, i);
        match &thin {
            Some(planes) => out.extend(planes),
            None => out.push(CellPlane::new(self.cells.gradient(i), self.cells.stored(i))),
        }
        thin.is_some()
    }
}
