//! The cells that a block's border reads: its own with padding, coarser ones over the
//! same place where such blocks touch it, and the layer of finer ones that touches it.

use crate::mesh::PAD;
use crate::mesh::cells::Cells;
use crate::mesh::corner::SIDE;
use crate::voxel::{Cell, DenseBox, Region, VoxelPos};

use super::around::{Around, INNER, MOST_STEPS, Neighbours, sides};
use super::frame::Frame;

/// Mips coarser than the block's whose cells may be needed.
pub(super) const COARSER: usize = MOST_STEPS as usize + 1;

/// Number of the first layer of finer cells as a source.
const FIRST_LAYER: u8 = 1 + COARSER as u8;

/// Slot of a box of finer cells that there is not.
const NO_SLOT: u8 = 255;

/// Boxes of cells. Reusable.
#[derive(Debug)]
pub(super) struct Boxes {
    /// The block's cells, padded.
    pub own: DenseBox,
    /// Cells 1, 2, 3, 4 mips coarser over the block, padded; unspecified where no such mip
    /// touches it, nor is to be morphed to.
    pub coarse: [DenseBox; COARSER],
    /// Layers of finer cells, or what of them cells of the block face.
    pub fine: Vec<DenseBox>,
    /// Where each begins, counted in its cells from the block's min corner; 0 on the axes
    /// along which it lies beyond the block.
    low: Vec<[i32; 3]>,
    /// By feature and by how many mips finer less 1: number in `fine`.
    slots: [[u8; MOST_STEPS as usize]; 27],
}

impl Default for Boxes {
    fn default() -> Boxes {
        let slots = [[NO_SLOT; MOST_STEPS as usize]; 27];
        Boxes {
            own: DenseBox::default(),
            coarse: Default::default(),
            fine: Vec::new(),
            low: Vec::new(),
            slots,
        }
    }
}

/// Asks for cells of a mip in a region of cells of that mip.
pub(super) type Ask<'a> = dyn FnMut(u8, Region, &mut DenseBox) + 'a;

impl Boxes {
    /// Reads the block's own cells, with padding.
    pub(super) fn read_own(&mut self, frame: &Frame<'_>, own: Region, cells: &mut Ask<'_>) {
        read_padded(frame, frame.mip, own, cells, &mut self.own);
    }

    /// Reads cells `step` mips coarser than the block's, with padding.
    pub(super) fn read_coarse(
        &mut self,
        frame: &Frame<'_>,
        step: u8,
        own: Region,
        cells: &mut Ask<'_>,
    ) {
        let out = &mut self.coarse[usize::from(step) - 1];
        read_padded(frame, frame.mip + step, own.coarser(step.into()), cells, out);
    }

    /// The block's own cells, or those `step` mips coarser.
    pub(super) fn padded(&self, step: u8) -> &DenseBox {
        if step == 0 { &self.own } else { &self.coarse[usize::from(step) - 1] }
    }

    /// Reads what the border needs of finer cells. `own` is the block, in its cells.
    pub(super) fn read_finer(
        &mut self,
        frame: &Frame<'_>,
        neighbours: &Neighbours,
        own: Region,
        cells: &mut Ask<'_>,
    ) {
        self.slots = [[NO_SLOT; MOST_STEPS as usize]; 27];
        self.low.clear();
        for feature in (0..27).filter(|&feature| feature != INNER) {
            let steps = 1..=(frame.mip - frame.unit);
            if !steps.clone().any(|step| neighbours.has(feature, -i32::from(step))) {
                continue;
            }
            let Some(facing) = self.facing(own, sides(feature)) else { continue };
            for step in steps.filter(|&step| neighbours.has(feature, -i32::from(step))) {
                let used = self.low.len();
                if self.fine.len() == used {
                    self.fine.push(DenseBox::default());
                }
                let block = own.finer(step.into());
                let facing = facing.finer(step.into()).grow(1).intersect(block);
                let region = layer(block, sides(feature)).intersect(layer(facing, sides(feature)));
                cells(frame.mip - step, region, &mut self.fine[used]);
                self.slots[feature][usize::from(step) - 1] = used as u8;
                let low = (region.min - block.min).to_array();
                let beyond = sides(feature).map(|side| side != 0);
                self.low.push([0, 1, 2].map(|a| if beyond[a] { 0 } else { low[a] }));
            }
        }
    }

    /// The slices of the block `own` in which cells that are not air touch a feature,
    /// from the first to the last. Faces and corners there are of no other cells.
    fn facing(&self, own: Region, feature: [i32; 3]) -> Option<Region> {
        let (mut min, mut max) = (own.min.to_array(), own.max.to_array());
        let mut touching = (min, max);
        for axis in (0..3).filter(|&axis| feature[axis] != 0) {
            let outer = if feature[axis] < 0 { min[axis] } else { max[axis] - 1 };
            (touching.0[axis], touching.1[axis]) = (outer, outer + 1);
        }
        // Slices of rows along x where there are such.
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

/// The cells that touch a block across a feature.
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

/// Reads a block with padding; where nothing is known, cells are copies of known ones.
fn read_padded(frame: &Frame<'_>, mip: u8, block: Region, cells: &mut Ask<'_>, out: &mut DenseBox) {
    cells(mip, block.grow(PAD), out);
    if frame.around.has_unknown() {
        let shift = frame.shift(mip);
        fill_unknown(out, block, |pos| {
            let at = (pos - block.min).to_array().map(|a| a << shift);
            frame.mip_at(at) != Around::NONE
        });
    }
}

/// Where a known cell is looked for, in this order: up to [`PAD`] away along x, y, z, then along
/// two axes, then all; near ones first.
static TRIES: [[i32; 3]; 124] = {
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
    let (mut tries, mut used, mut set) = ([[0; 3]; 124], 0, 0);
    while set < AXES.len() {
        let axes = AXES[set];
        let count = axes[0] as u32 + axes[1] as u32 + axes[2] as u32;
        let mut number = 0;
        while number < 4usize.pow(count) {
            let (mut rest, mut axis) = (number, 0);
            while axis < 3 {
                if axes[axis] {
                    tries[used][axis] = ORDER[rest % 4];
                    rest /= 4;
                }
                axis += 1;
            }
            used += 1;
            number += 1;
        }
        set += 1;
    }
    tries
};

/// Makes every cell that is not known a copy of a known one near it: the nearest along x,
/// else along y, z, then along several axes. What is too far from any is air. All of `block`, which
/// may be empty, is known.
pub(super) fn fill_unknown(cells: &mut DenseBox, block: Region, known: impl Fn(VoxelPos) -> bool) {
    let region = cells.region();
    let mut is_known = vec![true; cells.len()];
    let mut unknown = Vec::new();
    for pos in around(region, block).filter(|&pos| !known(pos)) {
        is_known[cells.index(pos)] = false;
        unknown.push(pos);
    }
    for pos in unknown {
        let from = TRIES.iter().map(|&step| pos + VoxelPos::from(step));
        let mut fits = from.filter(|&from| region.contains(from) && is_known[cells.index(from)]);
        let (cell, water) = match fits.next() {
            Some(from) => (cells.cell(from), cells.water_at(from)),
            None => (Cell::AIR, None),
        };
        cells.set(pos, cell);
        cells.set_water(pos, water);
    }
}

/// The cells of `region` beyond a block in it, x fastest, then z, then y.
fn around(region: Region, block: Region) -> impl Iterator<Item = VoxelPos> {
    let Region { min, max } = region;
    let rows = Region { max: VoxelPos { x: min.x + 1, ..max }, ..region };
    rows.voxels().flat_map(move |row| {
        let is_beside = block.contains(VoxelPos { x: block.min.x, ..row });
        let (low, high) = if is_beside { (block.min.x, block.max.x) } else { (max.x, max.x) };
        (min.x..low).chain(high..max.x).map(move |x| VoxelPos { x, ..row })
    })
}

/// The boxes as one of the two surfaces sees them.
pub(super) struct View<'a, C> {
    pub frame: Frame<'a>,
    pub own: C,
    pub coarse: [C; COARSER],
    fine: Vec<C>,
    low: &'a [[i32; 3]],
    slots: &'a [[u8; MOST_STEPS as usize]; 27],
}

/// A cell that is shown at a corner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Octant {
    /// Its mip; [`Around::NONE`] if nothing is known there.
    pub mip: u8,
    /// Which box holds it: 0 the block's own, then coarser ones, then layers.
    source: u8,
    index: u32,
}

impl<'a, C: Cells> View<'a, C> {
    pub(super) fn new(
        frame: Frame<'a>,
        boxes: &'a Boxes,
        make: impl Fn(&'a DenseBox) -> C,
    ) -> View<'a, C> {
        View {
            frame,
            own: make(&boxes.own),
            coarse: boxes.coarse.each_ref().map(&make),
            fine: boxes.fine[..boxes.low.len()].iter().map(&make).collect(),
            low: &boxes.low,
            slots: &boxes.slots,
        }
    }

    /// The cell that is shown in the unit at `at`, in or beside the block.
    #[inline]
    pub(super) fn octant(&self, at: [i32; 3]) -> Octant {
        self.cell_of(self.frame.mip_at(at), at)
    }

    /// As [`View::octant`] where the mip is known.
    #[inline]
    fn cell_of(&self, mip: u8, at: [i32; 3]) -> Octant {
        if mip == Around::NONE {
            return Octant { mip, source: 0, index: 0 };
        }
        let (source, cells, cell) = if mip >= self.frame.mip {
            let source = mip - self.frame.mip;
            let shift = self.frame.shift(mip);
            (source, self.padded(source), at.map(|a| (a >> shift) + PAD))
        } else {
            let slot = self.slot(at, mip);
            let cell = self.in_layer(slot, mip, at);
            (FIRST_LAYER + slot, &self.fine[usize::from(slot)], cell)
        };
        let steps = cells.steps();
        let index = cell[0] as usize + cell[1] as usize * steps[1] + cell[2] as usize * steps[2];
        Octant { mip, source, index: index as u32 }
    }

    /// The layer of cells of `mip` across a side, of those that cells of the block face, if
    /// any do; and where it begins, counted in its cells from the block's min corner.
    pub(super) fn layer(&self, feature: usize, mip: u8) -> Option<(&C, [i32; 3])> {
        let slot = self.slots[feature][usize::from(self.frame.mip - mip) - 1];
        (slot != NO_SLOT).then(|| (&self.fine[usize::from(slot)], self.low[usize::from(slot)]))
    }

    /// Where in a layer of cells of `mip` the one at `at` is.
    #[inline]
    fn in_layer(&self, slot: u8, mip: u8, at: [i32; 3]) -> [i32; 3] {
        let (edge, shift) = (self.frame.edge(), self.frame.shift(mip));
        let low = self.low[usize::from(slot)];
        [0, 1, 2].map(|a| if (0..edge).contains(&at[a]) { (at[a] >> shift) - low[a] } else { 0 })
    }

    /// The layer that holds the cell of `mip` at `at`.
    fn slot(&self, at: [i32; 3], mip: u8) -> u8 {
        let edge = self.frame.edge();
        let side = |a: i32| if a < 0 { 0 } else { 1 + usize::from(a >= edge) };
        let feature = side(at[0]) + 3 * side(at[2]) + 9 * side(at[1]);
        self.slots[feature][usize::from(self.frame.mip - mip) - 1]
    }

    /// The block's own cells, or those `step` mips coarser.
    #[inline]
    pub(super) fn padded(&self, step: u8) -> &C {
        if step == 0 { &self.own } else { &self.coarse[usize::from(step) - 1] }
    }

    fn cells(&self, octant: Octant) -> &C {
        match octant.source.checked_sub(FIRST_LAYER) {
            None => self.padded(octant.source),
            Some(slot) => &self.fine[usize::from(slot)],
        }
    }

    /// Whether a shown cell is inside, and whether it is outside.
    #[inline]
    pub(super) fn state(&self, octant: Octant) -> (bool, bool) {
        if octant.mip == Around::NONE {
            return (false, false);
        }
        let (cells, i) = (self.cells(octant), octant.index as usize);
        (cells.inside(i), cells.outside(i))
    }

    /// What is shown around a corner of the hull.
    pub(super) fn seen(&self, corner: [i32; 3]) -> Seen {
        let low = corner.map(|a| a - 1);
        let shift = self.frame.place_shift();
        let [low_place, high_place] = [low, corner].map(|at| at.map(|a| a >> shift));
        let mut seen = Seen::NOTHING;
        for number in 0..8u8 {
            let (mut at, mut place) = (low, low_place);
            for axis in 0..3 {
                if number & SIDE[axis] != 0 {
                    (at[axis], place[axis]) = (corner[axis], high_place[axis]);
                }
            }
            let octant = self.cell_of(self.frame.around.beside(place), at);
            if octant.mip != Around::NONE {
                seen.add(number, octant.mip, self.cells(octant), octant.index as usize);
            }
        }
        seen
    }

    /// As [`View::seen`] for a corner inside a side, across all of which `mip` is shown.
    #[inline]
    pub(super) fn seen_on_side(
        &self,
        corner: [i32; 3],
        (axis, high): (usize, bool),
        mip: u8,
    ) -> Seen {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut seen = Seen::NOTHING;
        for beyond in [false, true] {
            let mip = if beyond { mip } else { self.frame.mip };
            let mut low = corner.map(|a| a - 1);
            low[axis] += i32::from(beyond == high);
            let first = self.cell_of(mip, low);
            let cells = self.cells(first);
            let (steps, shift) = (cells.steps(), self.frame.shift(mip));
            let apart = |a: usize| ((corner[a] >> shift) - (low[a] >> shift)) as usize * steps[a];
            let (apart_u, apart_v) = (apart(u), apart(v));
            let number = if beyond == high { SIDE[axis] } else { 0 };
            for (on_u, on_v) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let number = number + on_u * SIDE[u] + on_v * SIDE[v];
                let i = first.index as usize
                    + usize::from(on_u) * apart_u
                    + usize::from(on_v) * apart_v;
                seen.add(number, mip, cells, i);
            }
        }
        seen
    }
}

/// What is shown around a corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Octants that are inside, and outside.
    pub inside: u8,
    pub outside: u8,
    /// The finest and the coarsest mip.
    pub mips: [u8; 2],
    /// Materials of the octants that are inside, a byte each.
    pub materials: u64,
}

impl Seen {
    const NOTHING: Seen = Seen { inside: 0, outside: 0, mips: [u8::MAX, 0], materials: 0 };

    /// Adds cell `i` of a mip as an octant.
    #[inline(always)]
    fn add(&mut self, octant: u8, mip: u8, cells: &impl Cells, i: usize) {
        self.mips = [self.mips[0].min(mip), self.mips[1].max(mip)];
        if cells.inside(i) {
            self.inside |= 1 << octant;
            self.materials |= u64::from(cells.material(i)) << (8 * octant);
        }
        self.outside |= u8::from(cells.outside(i)) << octant;
    }
}
