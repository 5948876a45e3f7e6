//! The code of cells that refine coarser ones: what the cells of the mip above do not tell.
//!
//! Eight cells at a time, those below one coarse cell, in the order of coarse cells (x fastest,
//! then z, then y), and in each in the same order. A decision at a time is coded by
//! [models](super::bit_models) of what is known already: the coarse cell and those around it, the
//! cells before, and how much occupancy is left of the eight. Where the coarse cell is air or full,
//! one decision says that all eight are so. An occupancy is coded as the difference to that of a
//! plane through the coarse cell.
//!
//! The coarser cells help, whatever they are; they do not have to be those of the mip. Those around
//! the box are used, too, where they are given.

use super::bit_models::{DecisionReader, DecisionWriter, Decisions, Models};
use super::refinement_start::{BOXES, ground};
use crate::voxel::{AIR, Cell, DenseBox, Kind, Region, VoxelPos};
use std::sync::LazyLock;

/// The coder of boxes whose coarser cells both sides have: about half of [`BitRle`](super::BitRle),
/// for some ten times the work. It needs to know which materials are solid: only these hold water.
///
/// ```
/// use terravox::codec::Refinement;
/// use terravox::voxel::{DenseBox, MaterialTable, Region};
///
/// let materials = MaterialTable::default();
/// let coder = Refinement { kinds: materials.kinds() };
/// let mut cells = DenseBox::new(Region::new([0, 0, 0], [32, 32, 32]));
/// cells.fill(8);
/// let mut coarser = DenseBox::new(cells.region().coarser(1));
/// coarser.fill(8);
/// let mut bytes = Vec::new();
/// coder.encode_box(&cells, &coarser, &mut bytes);
/// assert!(bytes.len() < 16);
///
/// let mut decoded = DenseBox::new(cells.region());
/// coder.decode_box(&bytes, &coarser, &mut decoded);
/// assert!(decoded == cells);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Refinement<'a> {
    /// Kinds of all material ids, as [`crate::voxel::MaterialTable::kinds`] gives them.
    pub kinds: &'a [Kind; 256],
}

/// What is decided: the kinds of models.
const IS_PLAIN: u32 = 0;
const IS_AIR: u32 = 1;
const IS_FULL: u32 = 2;
const IS_AS_COARSE: u32 = 3;
const IS_AS_NEIGHBOUR: u32 = 4;
const MATERIAL: u32 = 5;
const IS_LARGER: u32 = 6;
const IS_LESS: u32 = 7;
const SIZE: u32 = 8;
const HOLDS_WATER: u32 = 9;
const IS_WET: u32 = 10;
const IS_SAME_WATER: u32 = 11;
const WATER: u32 = 12;

/// Classes of sizes: 0, 1, 2 to 3, 4 to 7 and so on to 255.
const LARGEST: u32 = 8;

/// What the models of each box begin with.
static START: LazyLock<Models> = LazyLock::new(|| {
    let (mut models, mut out) = (Models::new(), Vec::new());
    for [cells, coarser] in (0..BOXES).map(ground) {
        let mut writer = DecisionWriter::new(&mut out);
        let mut walk = Walk::new(&mut writer, models, cells.region(), &coarser);
        walk.take_cells(&cells);
        walk.code_cells();
        models = walk.models;
    }
    models.settle();
    models
});

impl Refinement<'_> {
    /// Appends the code of a box, over the cells of the mip above. Occupancy of air, and water of
    /// cells that are not solid, are left out.
    ///
    /// # Panics
    /// If the box does not consist of whole coarser cells, or `coarser` does not have them all.
    pub fn encode_box(self, cells: &DenseBox, coarser: &DenseBox, out: &mut Vec<u8>) {
        let mut water = vec![0; cells.materials().len()];
        for &(at, stored) in cells.water() {
            if self.is_solid(cells.materials()[at as usize]) {
                water[at as usize] = u16::from(stored) + 1;
            }
        }
        let mut writer = DecisionWriter::new(out);
        let mut walk = Walk::new(&mut writer, START.clone(), cells.region(), coarser);
        walk.take_cells(cells);
        walk.code_cells();
        walk.code_water(self.kinds, &mut water);
        writer.finish();
    }

    /// Fills all cells of a box from their code and the cells of the mip above. Safe for untrusted
    /// input: any bytes are the code of some cells. The time depends on the cells alone: up to some
    /// ten milliseconds for 32³ cells, none of which is like another.
    ///
    /// # Panics
    /// As [`Refinement::encode_box`].
    pub fn decode_box(self, bytes: &[u8], coarser: &DenseBox, cells: &mut DenseBox) {
        let count = cells.materials().len();
        let mut water = vec![0; count];
        let mut reader = DecisionReader::new(bytes);
        let mut walk = Walk::new(&mut reader, START.clone(), cells.region(), coarser);
        walk.cells.resize(count, Cell::AIR);
        walk.code_cells();
        walk.code_water(self.kinds, &mut water);
        let (materials, occupancies) = cells.arrays_mut();
        for (at, cell) in walk.cells.iter().enumerate() {
            (materials[at], occupancies[at]) = (cell.material, cell.occupancy);
        }
        let wet = (0..).zip(water).filter(|entry| entry.1 > 0);
        cells.set_all_water(wet.map(|(at, water)| (at, (water - 1) as u8)).collect());
    }

    fn is_solid(self, material: u8) -> bool {
        self.kinds[usize::from(material)] == Kind::Solid
    }
}

/// A walk over a box that codes its cells: those that it is given, or those that it finds.
struct Walk<'a, D> {
    coder: &'a mut D,
    models: Models,
    /// Coarse cells along x, z and y.
    groups: [usize; 3],
    /// From a group, a coarse cell, or a cell, to the next along x, z and y.
    group_steps: [usize; 3],
    coarse_steps: [usize; 3],
    steps: [usize; 3],
    /// From the first cell of a group to each.
    offsets: [usize; 8],
    /// The coarse cells, and those around them: where these are not known, the nearest that is.
    coarse: Vec<Cell>,
    cells: Vec<Cell>,
    /// What each partial cell that was coded has more than was expected.
    surplus: Vec<Option<i16>>,
    /// Whether the cells below each coarse cell are all as that is.
    is_plain: Vec<bool>,
}

/// The eight cells below a coarse one, of which some are coded.
struct Group {
    coarse: Cell,
    /// Its number, and that of its first cell, in the order of their boxes.
    number: usize,
    first: usize,
    /// Whether there are groups before it along x, z and y.
    is_inside: [bool; 3],
    /// The coarse cells around it, low and high along x, y and z.
    around: [Cell; 6],
    /// What the occupancy changes along x, z and y from one of these to the other, in 256ths.
    slope: [i32; 3],
    /// The next cell, 0 to 7.
    next: u32,
    /// Occupancy of that and all after it, in 256ths.
    units_left: i32,
}

/// Air, partial or full.
fn class(cell: Cell) -> u32 {
    match (cell.material, cell.occupancy) {
        (AIR, _) => 0,
        (_, 255) => 2,
        _ => 1,
    }
}

fn classes(cells: &[Cell]) -> u32 {
    cells.iter().fold(0, |all, &cell| 3 * all + class(cell))
}

fn units(cell: Cell) -> i32 {
    cell.units() as i32
}

/// Bits of a number: 0 for 0.
fn size_class(value: i32) -> u32 {
    32 - value.unsigned_abs().leading_zeros()
}

fn mask(cells: impl Iterator<Item = bool>) -> u32 {
    cells.fold(0, |all, bit| 2 * all + u32::from(bit))
}

impl Group {
    /// What the next cell has, if all that are left have the same.
    fn share(&self) -> i32 {
        self.units_left / (8 - self.next as i32)
    }

    /// What each cell has below a plane across the slope through the middle, in 256ths, not clamped;
    /// `None` where there is no slope.
    fn heights(&self) -> Option<[i32; 8]> {
        let steepness: i32 = self.slope.iter().map(|v| v.abs()).sum();
        let along = |cell: u32| {
            let sides = [0, 1, 2].map(|axis| if cell >> axis & 1 == 1 { 1 } else { -1 });
            let sum: i32 = sides.iter().zip(self.slope).map(|(side, slope)| side * slope).sum();
            128 + 160 * sum / steepness
        };
        (steepness > 0).then(|| [0, 1, 2, 3, 4, 5, 6, 7].map(along))
    }

    /// What the next cell has, if a plane across the slope bounds the cells that are left.
    fn expected(&self, heights: Option<&[i32; 8]>) -> i32 {
        let Some(heights) = heights else { return self.share().clamp(0, 256) };
        let left = &heights[self.next as usize..];
        if self.units_left <= 0 || self.units_left >= 256 * left.len() as i32 {
            return if self.units_left <= 0 { 0 } else { 256 };
        }
        let fill = |height: i32, offset: i32| (height + offset).clamp(0, 256);
        // The plane below which just so much is left: heights are -32 to 288.
        let (mut low, mut high) = (-288, 288);
        while high - low > 1 {
            let middle = i32::midpoint(low, high);
            let sum: i32 = left.iter().map(|&height| fill(height, middle)).sum();
            if sum <= self.units_left { low = middle } else { high = middle }
        }
        fill(left[0], low)
    }
}

/// What is known of a cell before it is coded.
struct Surroundings {
    /// The cells before it along x, z and y.
    before: [Cell; 3],
    /// Those before it along two axes: x and z, x and y, z and y.
    diagonal: [Cell; 3],
    /// Surpluses of the cells before it, and how many have one.
    surplus: i32,
    surpluses: u32,
    /// What its group lets expect.
    expected: i32,
}

impl<'a, D: Decisions> Walk<'a, D> {
    fn new(coder: &'a mut D, models: Models, region: Region, coarser: &DenseBox) -> Self {
        let over = region.coarser(1);
        assert_eq!(over.finer(1), region, "a box of whole coarser cells");
        assert!(coarser.region().contains_region(over), "no coarser cells over {region}");
        let nearest = |pos: VoxelPos| match coarser.region().contains(pos) {
            true => coarser.cell(pos),
            false => coarser.cell(pos.max(over.min).min(over.max - VoxelPos::new(1, 1, 1))),
        };
        let known = if over.is_empty() { over } else { over.grow(1) };
        let coarse = Vec::from_iter(known.voxels().map(nearest));
        let [x, y, z] = over.size();
        let (group_steps, steps) = ([1, x, x * z], [1, 2 * x, 4 * x * z]);
        let coarse_steps = [1, x + 2, (x + 2) * (z + 2)];
        let offset = |at: usize| (at & 1) + (at >> 1 & 1) * steps[1] + (at >> 2) * steps[2];
        let (groups, count) = (x * y * z, 8 * x * y * z);
        Walk {
            coder,
            models,
            groups: [x, z, y],
            group_steps,
            coarse_steps,
            steps,
            offsets: [0, 1, 2, 3, 4, 5, 6, 7].map(offset),
            is_plain: vec![false; groups],
            coarse,
            cells: Vec::with_capacity(count),
            surplus: vec![None; count],
        }
    }

    /// Takes the cells that are to be coded.
    fn take_cells(&mut self, cells: &DenseBox) {
        let known = cells.materials().iter().zip(cells.occupancies());
        self.cells.extend(known.map(|(&material, &occupancy)| Cell::new(material, occupancy)));
    }

    fn code_cells(&mut self) {
        let [width, depth, height] = self.groups;
        for y in 0..height {
            for z in 0..depth {
                for x in 0..width {
                    let group = self.group([x, z, y]);
                    if class(group.coarse) == 1 || !self.code_plain(&group) {
                        self.code_group(group);
                    }
                }
            }
        }
    }

    /// A group by its place along x, z and y, before it is coded.
    fn group(&self, at: [usize; 3]) -> Group {
        let [x, z, y] = at;
        let number = x + self.group_steps[1] * z + self.group_steps[2] * y;
        let [step_x, step_z, step_y] = self.coarse_steps;
        let here = (x + 1) * step_x + (z + 1) * step_z + (y + 1) * step_y;
        let coarse = self.coarse[here];
        let [left, right] = [here - step_x, here + step_x];
        let [below, above] = [here - step_y, here + step_y];
        let around = [left, right, below, above, here - step_z, here + step_z];
        let around = around.map(|at| self.coarse[at]);
        let [left, right, below, above, behind, ahead] = around.map(units);
        let slope = [right - left, ahead - behind, above - below];
        let units_left = 8 * units(coarse) - 4 * i32::from(class(coarse) == 1);
        let first = 2 * x + 2 * self.steps[1] * z + 2 * self.steps[2] * y;
        let is_inside = [x > 0, z > 0, y > 0];
        Group { coarse, number, first, is_inside, around, slope, next: 0, units_left }
    }

    /// Codes whether all cells of a group are as the coarse one, and makes them so.
    fn code_plain(&mut self, group: &Group) -> bool {
        let Group { number, first, coarse, .. } = *group;
        let before =
            |axis: usize| group.is_inside[axis] && self.is_plain[number - self.group_steps[axis]];
        let plain = mask([before(0), before(1), before(2), coarse.is_air()].into_iter());
        let alike = group.around.iter().filter(|cell| cell.material == coarse.material);
        let around = 2 * classes(&group.around) + u32::from(coarse.is_air());
        let contexts = [plain, around, alike.count() as u32 + 8 * plain];
        let is_plain = self.offsets.iter().all(|offset| self.cells[first + offset] == coarse);
        let set = usize::from(coarse.is_air());
        let is_plain = self.models.code(self.coder, (IS_PLAIN, set), contexts, is_plain);
        self.is_plain[number] = is_plain;
        if is_plain {
            self.offsets.iter().for_each(|offset| self.cells[first + offset] = coarse);
        }
        is_plain
    }

    fn code_group(&mut self, mut group: Group) {
        let heights = group.heights();
        for offset in self.offsets {
            let at = group.first + offset;
            let seen = self.surroundings(at, &group, group.expected(heights.as_ref()));
            let cell = self.code_cell(&group, self.cells[at], &seen);
            self.cells[at] = cell;
            if class(cell) == 1 {
                self.surplus[at] = Some((units(cell) - seen.expected) as i16);
            }
            group.units_left -= units(cell);
            group.next += 1;
        }
    }

    /// What is known of the next cell of a group, which is the cell `at`.
    fn surroundings(&self, at: usize, group: &Group, expected: i32) -> Surroundings {
        let is_inside = [0, 1, 2].map(|axis| group.is_inside[axis] || group.next >> axis & 1 == 1);
        let one = |axis: usize| match is_inside[axis] {
            true => self.cells[at - self.steps[axis]],
            false => group.coarse,
        };
        let two = |a: usize, b: usize| match is_inside[a] && is_inside[b] {
            true => self.cells[at - self.steps[a] - self.steps[b]],
            false => group.coarse,
        };
        let (mut surplus, mut surpluses) = (0, 0);
        for axis in 0..3 {
            if is_inside[axis]
                && let Some(own) = self.surplus[at - self.steps[axis]]
            {
                surplus += i32::from(own);
                surpluses += 1;
            }
        }
        Surroundings {
            before: [one(0), one(1), one(2)],
            diagonal: [two(0, 1), two(0, 2), two(1, 2)],
            surplus: surplus / surpluses.max(1),
            surpluses: surpluses as u32,
            expected,
        }
    }

    fn code_cell(&mut self, group: &Group, known: Cell, seen: &Surroundings) -> Cell {
        let share = group.share();
        let level = |levels: i32| match share {
            ..=0 => 0,
            _ => 1 + (share * levels / 257).min(levels - 1) as u32,
        };
        let place = group.next;
        let before = classes(&seen.before);
        let expected = (seen.expected / 16) as u32;
        let contexts = [
            before + 27 * (level(7) + 8 * u32::from(place >= 4)),
            before + 27 * classes(&self.ahead(group)),
            level(15) + 16 * place,
            before + 27 * classes(&seen.diagonal),
            classes(&group.around),
            expected + 17 * place,
            expected + 17 * before,
        ];
        let set = |kind: u32| (kind, (8 * kind + place) as usize);
        if self.models.code(self.coder, set(IS_AIR), contexts, known.is_air()) {
            return Cell::AIR;
        }
        let material = self.code_material(group, known.material, seen);
        let is_full = known.occupancy == 255;
        if self.models.code(self.coder, set(IS_FULL), contexts, is_full) {
            return Cell::full(material);
        }
        let units = self.code_units(group, units(known), seen);
        Cell { material, occupancy: (units - 1) as u8 }
    }

    /// The coarse cells around a group on the sides where the next cell is.
    fn ahead(&self, group: &Group) -> [Cell; 3] {
        let [_, right, _, above, _, ahead] = group.around;
        let sides = [right, ahead, above];
        [0, 1, 2].map(|axis| if group.next >> axis & 1 == 1 { sides[axis] } else { group.coarse })
    }

    fn code_material(&mut self, group: &Group, known: u8, seen: &Surroundings) -> u8 {
        let coarse = group.coarse.material;
        let Surroundings { before, diagonal, .. } = seen;
        if coarse != AIR {
            let is_alike = |cell: &Cell| cell.material == coarse;
            let is_air = |cell: &Cell| cell.is_air();
            let alike = mask(before.iter().chain(diagonal).map(is_alike));
            let around = mask(group.around.iter().map(|cell| is_alike(cell) || is_air(cell)));
            let [x, z, y] = before.map(|cell| u32::from(cell.material));
            let own = u32::from(coarse);
            let contexts = [
                before.iter().filter(|cell| is_alike(cell)).count() as u32
                    + 4 * u32::from(class(group.coarse) == 2),
                alike + 64 * mask(before.iter().map(is_air)),
                around + 64 * group.next,
                own << 8 | x,
                own << 16 | y << 8 | z,
            ];
            let set = (IS_AS_COARSE, 8 * IS_AS_COARSE as usize);
            if self.models.code(self.coder, set, contexts, known == coarse) {
                return coarse;
            }
        }
        let mut tried = [AIR; 10];
        tried[0] = coarse;
        for (at, cell) in before.iter().chain(&group.around).enumerate() {
            let material = cell.material;
            if tried.contains(&material) {
                continue;
            }
            tried[at + 1] = material;
            let pair = u32::from(material) << 8 | u32::from(coarse);
            let contexts = [at as u32, u32::from(material), pair];
            let set = (IS_AS_NEIGHBOUR, 8 * IS_AS_NEIGHBOUR as usize);
            if self.models.code(self.coder, set, contexts, known == material) {
                return material;
            }
        }
        // Whatever the bytes are, what is not air has a material.
        self.code_byte(MATERIAL, 0, known).max(1)
    }

    /// Codes an occupancy of 1 to 255 by what it is more or less than expected.
    fn code_units(&mut self, group: &Group, known: i32, seen: &Surroundings) -> i32 {
        let Surroundings { before, diagonal, surplus, surpluses, .. } = *seen;
        let expected = seen.expected.clamp(1, 255);
        // What cells before would let expect.
        let flat = match (class(before[0]) == 1, class(before[1]) == 1) {
            (true, true) if class(diagonal[0]) == 1 => {
                Some(units(before[0]) + units(before[1]) - units(diagonal[0]))
            }
            (true, _) => Some(units(before[0])),
            (_, true) => Some(units(before[1])),
            _ => None,
        };
        let flat = flat.map(|flat| flat.clamp(1, 255));
        let signed = |value: i32| 2 * size_class(value) + u32::from(value < 0);
        let beside = flat.map_or(0, |flat| signed(flat - seen.expected));
        let spread = flat.map_or(9, |flat| size_class(flat - group.share().clamp(1, 255)));
        let surplus = if surpluses == 0 { 99 } else { signed(surplus) };
        let left = 256 * (8 - group.next as i32) - group.units_left;
        let room = size_class(group.units_left.min(left).max(0) / 2);
        let steepness = group.slope.iter().map(|v| v.abs()).sum::<i32>();
        let is_clipped = u32::from(seen.expected <= 0 || seen.expected >= 256);
        let partial = before.iter().filter(|&&cell| class(cell) == 1).count() as u32;
        let (place, near, level) = (group.next, classes(&before), (seen.expected / 16) as u32);

        let contexts = [
            place,
            partial + 4 * spread,
            room + 16 * place,
            near,
            level + 17 * is_clipped,
            size_class(steepness / 2) + 12 * place,
            beside + 32 * surpluses,
            surplus,
        ];
        let signs = [
            place,
            expected as u32 / 16,
            near,
            classes(&self.ahead(group)),
            level + 17 * place,
            beside,
            surplus,
        ];
        let hints = [surplus, beside, place, level];
        (expected + self.code_difference(contexts, signs, hints, known - expected)).clamp(1, 255)
    }

    /// Codes a difference: the class of its size by some contexts, its sign by others, and the bits
    /// of the size below the highest one by surplus, beside, place and level.
    fn code_difference(
        &mut self,
        contexts: [u32; 8],
        signs: [u32; 7],
        [surplus, beside, place, level]: [u32; 4],
        difference: i32,
    ) -> i32 {
        let wanted = size_class(difference);
        let mut size = 0;
        while size < LARGEST {
            let contexts = contexts.map(|context| size + 9 * context);
            let set = (IS_LARGER, (8 * IS_LARGER + size.min(7)) as usize);
            if !self.models.code(self.coder, set, contexts, wanted > size) {
                break;
            }
            size += 1;
        }
        if size == 0 {
            return 0;
        }
        let set = (IS_LESS, 8 * IS_LESS as usize);
        let is_less = self.models.code(self.coder, set, signs, difference < 0);
        let mut found = 1;
        for bit in (0..size - 1).rev() {
            let (step, above) = (8 * size + bit, 256 * size + found);
            let contexts = [
                step,
                above,
                40 * step + surplus.min(39),
                40 * step + beside,
                8 * above + place,
                34 * step + 2 * level + u32::from(is_less),
            ];
            let is_set = difference.unsigned_abs() >> bit & 1 == 1;
            let set = (SIZE, 8 * SIZE as usize);
            found = 2 * found + u32::from(self.models.code(self.coder, set, contexts, is_set));
        }
        if is_less { -(found as i32) } else { found as i32 }
    }

    /// Codes the water of solid cells: stored water and 1, 0 for none.
    fn code_water(&mut self, kinds: &[Kind; 256], water: &mut [u16]) {
        let is_any = water.iter().any(|&water| water > 0);
        let set = (HOLDS_WATER, 8 * HOLDS_WATER as usize);
        if !self.models.code(self.coder, set, [0], is_any) {
            return;
        }
        let steps = self.steps;
        let mut last = 255;
        for at in 0..water.len() {
            let kind = |at: usize| kinds[usize::from(self.cells[at].material)];
            if kind(at) != Kind::Solid {
                continue;
            }
            let is_liquid = |at: Option<usize>| {
                at.is_some_and(|at| at < water.len() && kind(at) == Kind::Liquid)
            };
            let is_shore = steps
                .iter()
                .any(|&step| is_liquid(at.checked_sub(step)) || is_liquid(Some(at + step)));
            let is_below_liquid =
                at + steps[2] >= water.len() || kind(at + steps[2]) != Kind::Solid;
            let wet = mask(steps.iter().map(|&step| at >= step && water[at - step] > 0));
            let occupancy = self.cells[at].occupancy;
            let shore = mask([is_below_liquid, is_shore, occupancy != 255].into_iter());
            let set = (IS_WET, 8 * IS_WET as usize);
            let contexts = [wet, 8 * shore + wet];
            if !self.models.code(self.coder, set, contexts, water[at] > 0) {
                continue;
            }
            let stored = water[at].saturating_sub(1) as u8;
            let set = (IS_SAME_WATER, 8 * IS_SAME_WATER as usize);
            let contexts = [0, u32::from(occupancy != 255)];
            if !self.models.code(self.coder, set, contexts, stored == last) {
                last = self.code_byte(WATER, u32::from(occupancy), stored);
            }
            water[at] = u16::from(last) + 1;
        }
    }

    /// Codes a byte, highest bit first, each bit by those before it, with and without a context.
    fn code_byte(&mut self, kind: u32, context: u32, known: u8) -> u8 {
        let mut node = 1;
        for bit in (0..8).rev() {
            let contexts = [node, context << 8 | node];
            let set = (kind, 8 * kind as usize);
            let is_set = self.models.code(self.coder, set, contexts, known >> bit & 1 == 1);
            node = 2 * node + u32::from(is_set);
        }
        (node - 256) as u8
    }
}

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;
