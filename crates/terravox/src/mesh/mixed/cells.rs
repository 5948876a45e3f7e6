//! The cells that a block's border reads: its own with padding, coarser ones over the
//! same space where such blocks touch it, and the layer of finer ones that touches it.

use crate::mesh::rules::block::PAD;
use crate::mesh::rules::boundary::{BoundaryFeatures, INSIDE, sides};
use crate::mesh::rules::cells::SurfaceCells;
use crate::mesh::rules::corner::SIDE;
use crate::mesh::rules::face::Direction;
use crate::voxel::{Cell, DenseBox, Region, VoxelPos};

use super::lattice::{LocalLattice, MipSpan};
use super::neighbours::{BoundaryMips, MAX_MIP_STEPS, NeighbourMips, SIDE_AXES};

/// Maximum number of mips by which cells that are read are coarser than the block: one more than
/// touch it, to morph to.
pub(super) const MAX_COARSER_STEPS: usize = MAX_MIP_STEPS as usize + 1;

/// [`ShownCell::source`] of the first layer of finer cells.
const FIRST_LAYER: u8 = 1 + MAX_COARSER_STEPS as u8;

/// Slot of a layer of finer cells that was not read.
const NO_SLOT: u8 = 255;

/// The boxes that a border reads. Reusable.
#[derive(Debug)]
pub(super) struct BorderBoxes {
    /// The block's cells, padded.
    pub own: DenseBox,
    /// Cells 1, 2, 3, 4 mips coarser over the block, padded; unspecified where no such mip
    /// touches it or is morphed to.
    coarse: [DenseBox; MAX_COARSER_STEPS],
    /// Layers of finer cells, as far as they face cells of the block that are not air.
    fine: Vec<DenseBox>,
    /// The min corner of each layer, in its cells from the block's min corner; 0 on the axes
    /// along which it lies beyond the block.
    low: Vec<[i32; 3]>,
    /// By feature and by mips finer less 1: index in `fine`.
    slots: [[u8; MAX_MIP_STEPS as usize]; 27],
}

/// Cells coarser than the block's.
pub(super) struct CoarseBox<'a> {
    /// Features at whose corners vertices are placed by them.
    pub features: BoundaryFeatures,
    /// Min corner of the block, in these cells.
    pub origin: VoxelPos,
    /// Padded.
    pub cells: &'a DenseBox,
}

impl Default for BorderBoxes {
    fn default() -> BorderBoxes {
        let slots = [[NO_SLOT; MAX_MIP_STEPS as usize]; 27];
        BorderBoxes {
            own: DenseBox::default(),
            coarse: Default::default(),
            fine: Vec::new(),
            low: Vec::new(),
            slots,
        }
    }
}

/// Makes a box a region, in cells of a mip, and fills it.
pub(super) type CellSource<'a> = dyn FnMut(u8, Region, &mut DenseBox) + 'a;

impl BorderBoxes {
    /// Reads the block's own cells, with padding.
    pub(super) fn read_own(
        &mut self,
        lattice: &LocalLattice<'_>,
        own: Region,
        cells: &mut CellSource<'_>,
    ) {
        read_padded(lattice, lattice.mip, own, cells, &mut self.own);
    }

    /// Reads cells `step` mips coarser than the block's, with padding.
    pub(super) fn read_coarse(
        &mut self,
        lattice: &LocalLattice<'_>,
        step: u8,
        own: Region,
        cells: &mut CellSource<'_>,
    ) {
        let out = &mut self.coarse[usize::from(step) - 1];
        read_padded(lattice, lattice.mip + step, own.coarser(step.into()), cells, out);
    }

    /// Returns the cells 1, 2, 3, 4 mips coarser. `own` is the block, in its cells; `features` by
    /// mips coarser less 1.
    pub(super) fn coarse(
        &self,
        own: Region,
        features: [BoundaryFeatures; MAX_COARSER_STEPS],
    ) -> impl Iterator<Item = CoarseBox<'_>> {
        (1..).zip(features).zip(&self.coarse).map(move |((step, features), cells)| CoarseBox {
            features,
            origin: own.min.coarser(step),
            cells,
        })
    }

    /// Reads the finer cells that the border needs. `own` is the block, in its cells.
    pub(super) fn read_finer(
        &mut self,
        lattice: &LocalLattice<'_>,
        mips: &BoundaryMips,
        own: Region,
        cells: &mut CellSource<'_>,
    ) {
        self.slots = [[NO_SLOT; MAX_MIP_STEPS as usize]; 27];
        self.low.clear();
        for feature in (0..27).filter(|&feature| feature != INSIDE) {
            let steps = 1..=(lattice.mip - lattice.unit);
            if !steps.clone().any(|step| mips.has(feature, -i32::from(step))) {
                continue;
            }
            let Some(facing) = self.facing(own, sides(feature)) else { continue };
            for step in steps.filter(|&step| mips.has(feature, -i32::from(step))) {
                let used = self.low.len();
                if self.fine.len() == used {
                    self.fine.push(DenseBox::default());
                }
                let block = own.finer(step.into());
                let facing = facing.finer(step.into()).grow(1).intersect(block);
                let region = layer(block, sides(feature)).intersect(layer(facing, sides(feature)));
                cells(lattice.mip - step, region, &mut self.fine[used]);
                self.slots[feature][usize::from(step) - 1] = used as u8;
                let low = (region.min - block.min).to_array();
                let beyond = sides(feature).map(|side| side != 0);
                self.low.push([0, 1, 2].map(|a| if beyond[a] { 0 } else { low[a] }));
            }
        }
    }

    /// Returns the slices of the block `own` in which cells that are not air touch a feature,
    /// from the first to the last. No other cells have faces or corners there.
    fn facing(&self, own: Region, feature: [i32; 3]) -> Option<Region> {
        let (mut min, mut max) = (own.min.to_array(), own.max.to_array());
        let mut touching = (min, max);
        for axis in (0..3).filter(|&axis| feature[axis] != 0) {
            let outer = if feature[axis] < 0 { min[axis] } else { max[axis] - 1 };
            (touching.0[axis], touching.1[axis]) = (outer, outer + 1);
        }
        // Across y where possible, so that slices are made of rows along x.
        let across = if feature[1] == 0 { 1 } else { 2 };
        let is_air = |at: &i32| {
            let (mut low, mut high) = touching;
            (low[across], high[across]) = (*at, *at + 1);
            Region::new(low, high).voxels().all(|pos| self.own.cell(pos).is_air())
        };
        let slices = touching.0[across]..touching.1[across];
        let first = slices.clone().find(|at| !is_air(at))?;
        let last = slices.rev().find(|at| !is_air(at))?;
        if feature[across] == 0 {
            (min[across], max[across]) = (first, last + 1);
        }
        Some(Region::new(min, max))
    }
}

/// Returns the cells that touch a block across a feature.
fn layer(block: Region, feature: [i32; 3]) -> Region {
    let (mut min, mut max) = (block.min.to_array(), block.max.to_array());
    for axis in 0..3 {
        match feature[axis] {
            -1 => (min[axis], max[axis]) = (min[axis] - 1, min[axis]),
            1 => (min[axis], max[axis]) = (max[axis], max[axis] + 1),
            _ => {}
        }
    }
    Region::new(min, max)
}

/// Reads a block with padding; unknown cells become copies of known ones.
fn read_padded(
    lattice: &LocalLattice<'_>,
    mip: u8,
    block: Region,
    cells: &mut CellSource<'_>,
    out: &mut DenseBox,
) {
    cells(mip, block.grow(PAD), out);
    if lattice.around.has_unknown() {
        let shift = lattice.cell_log2(mip);
        fill_unknown(out, block, |pos| {
            let at = (pos - block.min).to_array().map(|a| a << shift);
            lattice.mip_at(at) != NeighbourMips::UNKNOWN
        });
    }
}

/// Offsets at which a known cell is searched, in this order: up to [`PAD`] away along x, y, z, then
/// along two axes, then along all; near ones first.
static SEARCH_OFFSETS: [[i32; 3]; 124] = {
    const AXES: [[bool; 3]; 7] = [
        [true, false, false],
        [false, true, false],
        [false, false, true],
        [true, true, false],
        [true, false, true],
        [false, true, true],
        [true, true, true],
    ];
    const ORDER: [i32; 4] = [-1, 1, -2, 2];
    let (mut offsets, mut used, mut set) = ([[0; 3]; 124], 0, 0);
    while set < AXES.len() {
        let axes = AXES[set];
        let count = axes[0] as u32 + axes[1] as u32 + axes[2] as u32;
        let mut number = 0;
        while number < 4usize.pow(count) {
            let (mut rest, mut axis) = (number, 0);
            while axis < 3 {
                if axes[axis] {
                    offsets[used][axis] = ORDER[rest % 4];
                    rest /= 4;
                }
                axis += 1;
            }
            used += 1;
            number += 1;
        }
        set += 1;
    }
    offsets
};

/// Makes every unknown cell a copy of a known one near it: the nearest along x, else along y, z,
/// then along several axes. Cells too far from any become air. All of `block`, which may be
/// empty, is known.
pub(super) fn fill_unknown(cells: &mut DenseBox, block: Region, known: impl Fn(VoxelPos) -> bool) {
    let region = cells.region();
    let mut is_known = vec![true; cells.len()];
    let mut unknown = Vec::new();
    for pos in cells_beyond(region, block).filter(|&pos| !known(pos)) {
        is_known[cells.index(pos)] = false;
        unknown.push(pos);
    }
    for pos in unknown {
        let from = SEARCH_OFFSETS.iter().map(|&step| pos + VoxelPos::from(step));
        let mut fits = from.filter(|&from| region.contains(from) && is_known[cells.index(from)]);
        let (cell, water) = match fits.next() {
            Some(from) => (cells.cell(from), cells.water_at(from)),
            None => (Cell::AIR, None),
        };
        cells.set(pos, cell);
        cells.set_water(pos, water);
    }
}

/// Returns the cells of `region` beyond a block in it, x fastest, then z, then y.
fn cells_beyond(region: Region, block: Region) -> impl Iterator<Item = VoxelPos> {
    let Region { min, max } = region;
    let rows = Region { max: VoxelPos { x: min.x + 1, ..max }, ..region };
    rows.voxels().flat_map(move |row| {
        let is_beside = block.contains(VoxelPos { x: block.min.x, ..row });
        let (low, high) = if is_beside { (block.min.x, block.max.x) } else { (max.x, max.x) };
        (min.x..low).chain(high..max.x).map(move |x| VoxelPos { x, ..row })
    })
}

/// The cells of [`BorderBoxes`], as one of the two surfaces reads them.
pub(super) struct BorderCells<'a, C> {
    pub lattice: LocalLattice<'a>,
    pub own: C,
    coarse: [C; MAX_COARSER_STEPS],
    fine: Vec<C>,
    low: &'a [[i32; 3]],
    slots: &'a [[u8; MAX_MIP_STEPS as usize]; 27],
}

/// A cell that is shown at a corner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShownCell {
    /// Its mip; [`NeighbourMips::UNKNOWN`] if it is unknown.
    mip: u8,
    /// The box that holds it: 0 the block's own, then coarser ones, then layers.
    source: u8,
    index: u32,
}

/// A layer of finer cells.
pub(super) struct FineLayer<'a, C> {
    pub cells: &'a C,
    /// Its min corner, in its cells from the block's min corner.
    pub low: [i32; 3],
}

impl<'a, C: SurfaceCells> BorderCells<'a, C> {
    pub(super) fn new(
        lattice: LocalLattice<'a>,
        boxes: &'a BorderBoxes,
        make: impl Fn(&'a DenseBox) -> C,
    ) -> BorderCells<'a, C> {
        BorderCells {
            lattice,
            own: make(&boxes.own),
            coarse: boxes.coarse.each_ref().map(&make),
            fine: boxes.fine[..boxes.low.len()].iter().map(&make).collect(),
            low: &boxes.low,
            slots: &boxes.slots,
        }
    }

    /// Returns the block's inside cells in a row of a sub-block on a side across `axis`, from
    /// `cell` on, with their indices.
    pub(super) fn inside_own_cells(
        &self,
        mut cell: [i32; 3],
        axis: usize,
    ) -> impl Iterator<Item = ([i32; 3], usize)> {
        let (own, u) = (&self.own, SIDE_AXES[axis][0]);
        let steps = own.steps();
        let mut i = (0..3).map(|a| (cell[a] + PAD) as usize * steps[a]).sum::<usize>();
        (0..self.lattice.cells / 8).filter_map(move |_| {
            let current = (cell, i);
            (cell[u], i) = (cell[u] + 1, i + steps[u]);
            own.inside(current.1).then_some(current)
        })
    }

    /// Returns the cell that is shown in the unit at `at`, in or beside the block.
    #[inline]
    pub(super) fn shown_cell(&self, at: [i32; 3]) -> ShownCell {
        self.cell_of(self.lattice.mip_at(at), at)
    }

    /// As [`BorderCells::shown_cell`] where the mip is known.
    #[inline]
    fn cell_of(&self, mip: u8, at: [i32; 3]) -> ShownCell {
        if mip == NeighbourMips::UNKNOWN {
            return ShownCell { mip, source: 0, index: 0 };
        }
        let (source, cells, cell) = if mip >= self.lattice.mip {
            let source = mip - self.lattice.mip;
            let shift = self.lattice.cell_log2(mip);
            (source, self.padded(source), at.map(|a| (a >> shift) + PAD))
        } else {
            let slot = self.slot(at, mip);
            let cell = self.in_layer(slot, mip, at);
            (FIRST_LAYER + slot, &self.fine[usize::from(slot)], cell)
        };
        let steps = cells.steps();
        let index = cell[0] as usize + cell[1] as usize * steps[1] + cell[2] as usize * steps[2];
        ShownCell { mip, source, index: index as u32 }
    }

    /// Returns the layer of cells of `mip` across a side, as far as it faces cells of the block;
    /// `None` if it faces none.
    pub(super) fn layer(&self, feature: usize, mip: u8) -> Option<FineLayer<'_, C>> {
        let slot = self.slots[feature][usize::from(self.lattice.mip - mip) - 1];
        let slot = usize::from(slot);
        (slot != usize::from(NO_SLOT))
            .then(|| FineLayer { cells: &self.fine[slot], low: self.low[slot] })
    }

    /// Returns the position in a layer of cells of `mip` of the one at `at`.
    #[inline]
    fn in_layer(&self, slot: u8, mip: u8, at: [i32; 3]) -> [i32; 3] {
        let (edge, shift) = (self.lattice.edge(), self.lattice.cell_log2(mip));
        let low = self.low[usize::from(slot)];
        [0, 1, 2].map(|a| if (0..edge).contains(&at[a]) { (at[a] >> shift) - low[a] } else { 0 })
    }

    /// Returns the slot of the layer that holds the cell of `mip` at `at`.
    fn slot(&self, at: [i32; 3], mip: u8) -> u8 {
        let edge = self.lattice.edge();
        let side = |a: i32| if a < 0 { 0 } else { 1 + usize::from(a >= edge) };
        let feature = side(at[0]) + 3 * side(at[2]) + 9 * side(at[1]);
        self.slots[feature][usize::from(self.lattice.mip - mip) - 1]
    }

    /// Returns the block's own cells, or those `step` mips coarser.
    #[inline]
    pub(super) fn padded(&self, step: u8) -> &C {
        if step == 0 { &self.own } else { &self.coarse[usize::from(step) - 1] }
    }

    fn cells(&self, cell: ShownCell) -> &C {
        match cell.source.checked_sub(FIRST_LAYER) {
            None => self.padded(cell.source),
            Some(slot) => &self.fine[usize::from(slot)],
        }
    }

    /// Whether a shown cell is outside.
    #[inline]
    pub(super) fn is_outside(&self, cell: ShownCell) -> bool {
        cell.mip != NeighbourMips::UNKNOWN && self.cells(cell).outside(cell.index as usize)
    }

    /// Returns the cells that are shown around a corner of the boundary.
    pub(super) fn corner_cells(&self, corner: [i32; 3]) -> CornerCells {
        let low = corner.map(|a| a - 1);
        let shift = self.lattice.sub_block_log2();
        let [low_sub_block, high_sub_block] = [low, corner].map(|at| at.map(|a| a >> shift));
        let mut cells_here = CornerCells::NONE;
        for number in 0..8u8 {
            let (mut at, mut sub_block) = (low, low_sub_block);
            for axis in 0..3 {
                if number & SIDE[axis] != 0 {
                    (at[axis], sub_block[axis]) = (corner[axis], high_sub_block[axis]);
                }
            }
            let octant = self.cell_of(self.lattice.around.beside(sub_block), at);
            if octant.mip != NeighbourMips::UNKNOWN {
                cells_here.add(number, octant.mip, self.cells(octant), octant.index as usize);
            }
        }
        cells_here
    }

    /// As [`BorderCells::corner_cells`] for a corner inside a side across all of which `mip` is
    /// shown.
    #[inline]
    pub(super) fn corner_cells_on_side(
        &self,
        corner: [i32; 3],
        side: Direction,
        mip: u8,
    ) -> CornerCells {
        let Direction { axis, is_high } = side;
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut cells_here = CornerCells::NONE;
        for beyond in [false, true] {
            let mip = if beyond { mip } else { self.lattice.mip };
            let mut low = corner.map(|a| a - 1);
            low[axis] += i32::from(beyond == is_high);
            let first = self.cell_of(mip, low);
            let cells = self.cells(first);
            let (steps, shift) = (cells.steps(), self.lattice.cell_log2(mip));
            let apart = |a: usize| ((corner[a] >> shift) - (low[a] >> shift)) as usize * steps[a];
            let (apart_u, apart_v) = (apart(u), apart(v));
            let number = if beyond == is_high { SIDE[axis] } else { 0 };
            for (on_u, on_v) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let number = number + on_u * SIDE[u] + on_v * SIDE[v];
                let i = first.index as usize
                    + usize::from(on_u) * apart_u
                    + usize::from(on_v) * apart_v;
                cells_here.add(number, mip, cells, i);
            }
        }
        cells_here
    }
}

/// The cells that are shown around a corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct CornerCells {
    /// Octants that are inside.
    pub inside: u8,
    /// Octants that are outside.
    pub outside: u8,
    pub mips: MipSpan,
    /// Materials of the inside octants, a byte each.
    pub materials: u64,
}

impl CornerCells {
    const NONE: CornerCells = CornerCells {
        inside: 0,
        outside: 0,
        mips: MipSpan { finest: u8::MAX, coarsest: 0 },
        materials: 0,
    };

    /// Adds cell `i` of a mip as an octant.
    #[inline(always)]
    fn add(&mut self, octant: u8, mip: u8, cells: &impl SurfaceCells, i: usize) {
        let MipSpan { finest, coarsest } = self.mips;
        self.mips = MipSpan { finest: finest.min(mip), coarsest: coarsest.max(mip) };
        if cells.inside(i) {
            self.inside |= 1 << octant;
            self.materials |= u64::from(cells.material(i)) << (8 * octant);
        }
        self.outside |= u8::from(cells.outside(i)) << octant;
    }
}
