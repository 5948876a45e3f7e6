//! The decoder of refinements as `docs/format.md` has it, one cell and one decision at a time: what
//! the fast one is tested against.

use crate::codec::bit_models::LOGISTIC;
use crate::codec::refinement_start::{BOXES, ground};
use crate::voxel::{AIR, Cell, DenseBox, Kind, Region, VoxelPos};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const X: VoxelPos = VoxelPos::new(1, 0, 0);
const Y: VoxelPos = VoxelPos::new(0, 1, 0);
const Z: VoxelPos = VoxelPos::new(0, 0, 1);

fn probability(odds: i64) -> i64 {
    match odds {
        ..=-2047 => 1,
        2047.. => 4094,
        _ => {
            let at = (odds + 2048) / 128;
            let part = (odds + 2048) % 128;
            let value = |at: i64| i64::from(LOGISTIC[at as usize]);
            (value(at) * (128 - part) + value(at + 1) * part + 64) / 128
        }
    }
}

/// The odds of each share / 16.
static ODDS: LazyLock<Vec<i64>> = LazyLock::new(|| {
    let smallest = |share: i64| (-2047..=2047).find(|&odds| probability(odds) >= share);
    (0..4096).map(|share| smallest(share).unwrap_or(2047)).collect()
});

/// All that was learned.
#[derive(Clone)]
struct Learned {
    /// The share of yes, and how many decisions were seen.
    models: Vec<(i64, i64)>,
    /// By set and place, less what they are at first.
    weights: BTreeMap<(u32, u64), i64>,
}

static START: LazyLock<Learned> = LazyLock::new(|| {
    let (models, weights) = (vec![(1 << 15, 0); 1 << 17], BTreeMap::new());
    let mut learned = Learned { models, weights };
    for [cells, coarser] in (0..BOXES).map(ground) {
        let mut decoder = Decoder::new(Source::Known(&cells), learned, &coarser, cells.region());
        decoder.cells();
        learned = decoder.learned;
    }
    for (share, seen) in &mut learned.models {
        (*share, *seen) = if *seen < 30 { (1 << 15, 0) } else { (*share, 4) };
    }
    learned
});

/// Where decisions come from.
enum Source<'a> {
    Bytes { bytes: &'a [u8], read: usize, low: u64, high: u64 },
    Known(&'a DenseBox),
}

/// The byte at a place of the code, 0 behind its end.
fn code_at(bytes: &[u8], read: usize) -> u64 {
    let byte = |at: usize| u64::from(bytes.get(read + at).copied().unwrap_or(0));
    (0..4).fold(0, |code, at| code << 8 | byte(at))
}

struct Decoder<'a> {
    source: Source<'a>,
    learned: Learned,
    coarser: &'a DenseBox,
    done: DenseBox,
    /// Units less what was expected, of partial cells.
    surplus: BTreeMap<[i32; 3], i64>,
    /// Groups whose cells are all as the coarse one.
    plain: BTreeSet<[i32; 3]>,
}

fn class(cell: Cell) -> u32 {
    match cell {
        Cell { material: AIR, .. } => 0,
        Cell { occupancy: 255, .. } => 2,
        _ => 1,
    }
}

fn digits(cells: &[Cell]) -> u32 {
    cells.iter().fold(0, |all, cell| 3 * all + class(*cell))
}

fn flags(list: &[bool]) -> u32 {
    list.iter().fold(0, |all, flag| 2 * all + u32::from(*flag))
}

fn units(cell: Cell) -> i64 {
    match cell.material {
        AIR => 0,
        _ => i64::from(cell.occupancy) + 1,
    }
}

fn bits(value: i64) -> u32 {
    (0..).find(|&bits| value.abs() < 1 << bits).expect("some number of bits is enough")
}

fn signed(value: i64) -> u32 {
    2 * bits(value) + u32::from(value < 0)
}

/// A cell that is decoded, and what is known around it.
struct Here {
    pos: VoxelPos,
    /// Its number in its group.
    place: u32,
    coarse: Cell,
    around: [Cell; 6],
    left: i64,
    before: [Cell; 3],
    diagonal: [Cell; 3],
    expected: i64,
    surplus: u32,
    surpluses: u32,
}

impl Here {
    fn share(&self) -> i64 {
        self.left / (8 - i64::from(self.place))
    }

    fn level(&self, levels: i64) -> u32 {
        match self.share() {
            ..=0 => 0,
            share => 1 + (share * levels / 257).min(levels - 1) as u32,
        }
    }

    fn sides(&self) -> [Cell; 3] {
        let [_, right, _, above, _, ahead] = self.around;
        [(1, right), (2, ahead), (4, above)].map(|(bit, side)| match self.place & bit {
            0 => self.coarse,
            _ => side,
        })
    }
}

/// The slopes along x, z and y.
fn slopes(around: [Cell; 6]) -> [i64; 3] {
    let [left, right, below, above, behind, ahead] = around.map(units);
    [right - left, ahead - behind, above - below]
}

fn expected(around: [Cell; 6], place: u32, left: i64) -> i64 {
    let slope = slopes(around);
    let steepness: i64 = slope.iter().map(|v| v.abs()).sum();
    if steepness == 0 {
        return (left / (8 - i64::from(place))).clamp(0, 256);
    }
    let fill = |cell: u32, offset: i64| {
        let along = |axis: usize| match cell >> axis & 1 {
            0 => -slope[axis],
            _ => slope[axis],
        };
        (128 + 160 * (along(0) + along(1) + along(2)) / steepness + offset).clamp(0, 256)
    };
    let fits = |offset: &i64| (place..8).map(|cell| fill(cell, *offset)).sum::<i64>() <= left;
    fill(place, (-700..700).rev().find(fits).unwrap_or(-700))
}

impl<'a> Decoder<'a> {
    fn new(
        source: Source<'a>,
        learned: Learned,
        coarser: &'a DenseBox,
        region: Region,
    ) -> Decoder<'a> {
        let (done, surplus) = (DenseBox::new(region), BTreeMap::new());
        Decoder { source, learned, coarser, done, surplus, plain: BTreeSet::new() }
    }

    /// Makes a decision; where the cells are known, `known` tells it of them.
    fn decide(
        &mut self,
        (kind, set): (u32, u32),
        contexts: &[u32],
        known: impl Fn(&DenseBox) -> bool,
    ) -> bool {
        let number = |place: u64, context: u32| {
            let key = (u64::from(kind) << 40) + (place << 36) + u64::from(context);
            (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 47) as usize
        };
        let first =
            if contexts.len() == 1 { 65_536 } else { 786_432 / (10 * contexts.len() as i64) };
        let (mut sum, mut inputs) = (0, Vec::new());
        for (place, &context) in (0..).zip(contexts) {
            let (share, seen) = self.learned.models[number(place, context)];
            let input = (ODDS[(share / 16) as usize] * (512 * seen / (2 * seen + 3))) >> 8;
            let weight = self.learned.weights.get(&(set, place)).copied().unwrap_or(0) + first;
            sum += input * weight;
            inputs.push(input);
        }
        let p = probability((sum >> 16).clamp(-2047, 2047));
        let is_yes = match &mut self.source {
            Source::Known(cells) => known(cells),
            Source::Bytes { bytes, read, low, high } => {
                let middle = *low + (*high - *low) * p as u64 / 4096;
                let is_yes = code_at(bytes, *read) <= middle;
                if is_yes {
                    *high = middle
                } else {
                    *low = middle + 1
                }
                while *low >> 24 == *high >> 24 {
                    (*low, *high) = ((*low << 8) & 0xFFFF_FFFF, ((*high << 8) & 0xFFFF_FFFF) + 255);
                    *read += 1;
                }
                is_yes
            }
        };
        let error = if is_yes { 4096 - p } else { -p };
        for ((place, &context), input) in (0..).zip(contexts).zip(inputs) {
            let weight = self.learned.weights.entry((set, place)).or_default();
            *weight = (*weight + ((input * error * 5) >> 12)).clamp(-524_288, 524_288);
            let (share, seen) = &mut self.learned.models[number(place, context)];
            let rate = 655_360 / (10 * *seen + 16);
            match is_yes {
                true => *share += ((65_536 - *share) * rate) >> 16,
                false => *share -= (*share * rate) >> 16,
            }
            *share = (*share).clamp(20, 65_516);
            *seen = (*seen + 1).min(60);
        }
        is_yes
    }

    fn coarse_at(&self, pos: VoxelPos) -> Option<Cell> {
        self.coarser.region().contains(pos).then(|| self.coarser.cell(pos))
    }

    fn cells(&mut self) {
        for group in self.done.region().coarser(1).voxels() {
            let coarse = self.coarser.cell(group);
            let low = [X, Y, Z].map(|off| self.coarse_at(group - off));
            let high = [X, Y, Z].map(|off| self.coarse_at(group + off));
            let around = [low[0], high[0], low[1], high[1], low[2], high[2]];
            let around = around.map(|cell| cell.unwrap_or(coarse));
            if class(coarse) != 1 && self.is_plain(group, coarse, around) {
                self.plain.insert(group.to_array());
                Region::one(group).finer(1).voxels().for_each(|pos| self.done.set(pos, coarse));
                continue;
            }
            let mut left = 8 * units(coarse) - if class(coarse) == 1 { 4 } else { 0 };
            for (place, pos) in (0..).zip(Region::one(group).finer(1).voxels()) {
                let here = self.look(pos, place, coarse, around, left);
                let cell = self.cell(&here);
                self.done.set(pos, cell);
                if class(cell) == 1 {
                    self.surplus.insert(pos.to_array(), units(cell) - here.expected);
                }
                left -= units(cell);
            }
        }
    }

    fn is_plain(&mut self, group: VoxelPos, coarse: Cell, around: [Cell; 6]) -> bool {
        let is_air = coarse.material == AIR;
        let before = [X, Z, Y].map(|off| self.plain.contains(&(group - off).to_array()));
        let plain = flags(&[before[0], before[1], before[2], is_air]);
        let alike = around.iter().filter(|cell| cell.material == coarse.material).count() as u32;
        let contexts = [plain, 2 * digits(&around) + u32::from(is_air), alike + 8 * plain];
        self.decide((0, u32::from(is_air)), &contexts, |known| {
            Region::one(group).finer(1).voxels().all(|pos| known.cell(pos) == coarse)
        })
    }

    fn look(&self, pos: VoxelPos, place: u32, coarse: Cell, around: [Cell; 6], left: i64) -> Here {
        let at = |pos: VoxelPos| match self.done.region().contains(pos) {
            true => self.done.cell(pos),
            false => coarse,
        };
        let own = [X, Z, Y].map(|off| self.surplus.get(&(pos - off).to_array()).copied());
        let known = Vec::from_iter(own.into_iter().flatten());
        let mean = known.iter().sum::<i64>() / known.len().max(1) as i64;
        Here {
            pos,
            place,
            coarse,
            around,
            left,
            before: [X, Z, Y].map(|off| at(pos - off)),
            diagonal: [X + Z, X + Y, Z + Y].map(|off| at(pos - off)),
            expected: expected(around, place, left),
            surplus: if known.is_empty() { 99 } else { signed(mean) },
            surpluses: known.len() as u32,
        }
    }

    fn cell(&mut self, here: &Here) -> Cell {
        let (place, before, pos) = (here.place, digits(&here.before), here.pos);
        let e = (here.expected / 16) as u32;
        let contexts = [
            before + 27 * (here.level(7) + 8 * u32::from(place >= 4)),
            before + 27 * digits(&here.sides()),
            here.level(15) + 16 * place,
            before + 27 * digits(&here.diagonal),
            digits(&here.around),
            e + 17 * place,
            e + 17 * before,
        ];
        if self.decide((1, 8 + place), &contexts, |known| known.cell(pos).material == AIR) {
            return Cell::AIR;
        }
        let material = self.material(here);
        if self.decide((2, 16 + place), &contexts, |known| known.cell(pos).occupancy == 255) {
            return Cell::full(material);
        }
        let occupancy = (self.units(here) - 1) as u8;
        Cell { material, occupancy }
    }

    fn material(&mut self, here: &Here) -> u8 {
        let Here { pos, before, diagonal, around, coarse, .. } = *here;
        let own = coarse.material;
        if own != AIR {
            let is_own = |cell: &Cell| cell.material == own;
            let six = [before, diagonal].concat();
            let (six, air) = (six.iter().map(is_own), before.map(|cell| cell.material == AIR));
            let or_air = around.map(|cell| cell.material == own || cell.material == AIR);
            let [x, z, y] = before.map(|cell| u32::from(cell.material));
            let contexts = [
                before.iter().filter(|cell| is_own(cell)).count() as u32
                    + if class(coarse) == 2 { 4 } else { 0 },
                flags(&Vec::from_iter(six)) + 64 * flags(&air),
                flags(&or_air) + 64 * here.place,
                u32::from(own) * 256 + x,
                u32::from(own) * 65_536 + y * 256 + z,
            ];
            if self.decide((3, 24), &contexts, |known| known.cell(pos).material == own) {
                return own;
            }
        }
        let mut tried = BTreeSet::from([AIR, own]);
        for (at, cell) in (0..).zip(before.into_iter().chain(around)) {
            let material = cell.material;
            if tried.insert(material) {
                let pair = u32::from(material) * 256 + u32::from(own);
                let contexts = [at, u32::from(material), pair];
                if self.decide((4, 32), &contexts, |known| known.cell(pos).material == material) {
                    return material;
                }
            }
        }
        self.byte(5, 0, |known| known.cell(pos).material).max(1)
    }

    /// The occupancy of a partial cell in 256ths.
    fn units(&mut self, here: &Here) -> i64 {
        let Here { pos, place, before, surplus, surpluses, expected: e, .. } = *here;
        let of = |known: &DenseBox| units(known.cell(pos)) - e.clamp(1, 255);
        let [at_x, at_z] =
            [before[0], before[1]].map(|cell| (class(cell) == 1).then(|| units(cell)));
        let flat = match (at_x, at_z) {
            (Some(x), Some(z)) if class(here.diagonal[0]) == 1 => {
                Some(x + z - units(here.diagonal[0]))
            }
            (Some(x), _) => Some(x),
            (None, z) => z,
        };
        let flat = flat.map(|flat| flat.clamp(1, 255));
        let beside = flat.map_or(0, |flat| signed(flat - e));
        let spread = flat.map_or(9, |flat| bits(flat - here.share().clamp(1, 255)));
        let room = here.left.min(256 * (8 - i64::from(place)) - here.left);
        let room = if room < 0 { 0 } else { bits(room / 2) };
        let steepness: i64 = slopes(here.around).iter().map(|v| v.abs()).sum();
        let partial = before.iter().filter(|cell| class(**cell) == 1).count() as u32;
        let level = (e / 16) as u32;
        let mut size = 0;
        while size < 8 {
            let contexts = [
                place,
                partial + 4 * spread,
                room + 16 * place,
                digits(&before),
                level + if e == 0 || e == 256 { 17 } else { 0 },
                bits(steepness / 2) + 12 * place,
                beside + 32 * surpluses,
                surplus,
            ];
            let contexts = contexts.map(|context| size + 9 * context);
            if !self.decide((6, 48 + size.min(7)), &contexts, |known| bits(of(known)) > size) {
                break;
            }
            size += 1;
        }
        if size == 0 {
            return e.clamp(1, 255);
        }
        let contexts = [
            place,
            (e.clamp(1, 255) / 16) as u32,
            digits(&before),
            digits(&here.sides()),
            level + 17 * place,
            beside,
            surplus,
        ];
        let is_less = self.decide((7, 56), &contexts, |known| of(known) < 0);
        let mut above = 1;
        for bit in (0..size - 1).rev() {
            let step = 8 * size + bit;
            let node = 256 * size + above;
            let contexts = [
                step,
                node,
                40 * step + surplus.min(39),
                40 * step + beside,
                8 * node + place,
                34 * step + 2 * level + u32::from(is_less),
            ];
            let is_set = self.decide((8, 64), &contexts, |known| of(known).abs() >> bit & 1 == 1);
            above = 2 * above + u32::from(is_set);
        }
        let difference = if is_less { -i64::from(above) } else { i64::from(above) };
        (e.clamp(1, 255) + difference).clamp(1, 255)
    }

    fn byte(&mut self, kind: u32, context: u32, known: impl Fn(&DenseBox) -> u8) -> u8 {
        let mut node = 1;
        for bit in (0..8).rev() {
            let contexts = [node, context * 256 + node];
            let is_set =
                self.decide((kind, 8 * kind), &contexts, |cells| known(cells) >> bit & 1 == 1);
            node = 2 * node + u32::from(is_set);
        }
        (node - 256) as u8
    }

    /// The water of all cells; they are all known here.
    fn water(&mut self, kinds: &[Kind; 256]) {
        if !self.decide((9, 72), &[0], |_| false) {
            return;
        }
        let region = self.done.region();
        let [width, _, depth] = region.size();
        let list = Vec::from_iter(region.voxels());
        let kind = |cells: &DenseBox, at: usize| {
            list.get(at).map(|&pos| kinds[usize::from(cells.cell(pos).material)])
        };
        let mut last = 255;
        for (at, &pos) in list.iter().enumerate() {
            if kind(&self.done, at) != Some(Kind::Solid) {
                continue;
            }
            let steps = [1, width, width * depth];
            let is_wet = |step: usize| {
                at.checked_sub(step).is_some_and(|at| self.done.water_at(list[at]).is_some())
            };
            let wet = flags(&steps.map(is_wet));
            let beside = |step: usize| {
                let is_liquid = |at: usize| kind(&self.done, at) == Some(Kind::Liquid);
                at.checked_sub(step).is_some_and(is_liquid) || is_liquid(at + step)
            };
            let is_partial = self.done.cell(pos).occupancy != 255;
            let shore = flags(&[
                kind(&self.done, at + steps[2]) != Some(Kind::Solid),
                steps.into_iter().any(beside),
                is_partial,
            ]);
            if !self.decide((10, 80), &[wet, wet + 8 * shore], |_| false) {
                continue;
            }
            if !self.decide((11, 88), &[0, u32::from(is_partial)], |_| false) {
                last = self.byte(12, u32::from(self.done.cell(pos).occupancy), |_| 0);
            }
            self.done.set_water(pos, Some(last));
        }
    }
}

/// Decodes a box.
pub(super) fn decode(
    kinds: &[Kind; 256],
    bytes: &[u8],
    coarser: &DenseBox,
    region: Region,
) -> DenseBox {
    let source = Source::Bytes { bytes, read: 0, low: 0, high: 0xFFFF_FFFF };
    let mut decoder = Decoder::new(source, START.clone(), coarser, region);
    decoder.cells();
    decoder.water(kinds);
    decoder.done
}
