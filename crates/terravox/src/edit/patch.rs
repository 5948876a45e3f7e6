//! Patches, the unit of undo: which cells a write changed, and what they were.
//!
//! A patch keeps the cells that changed, run-length coded ("Voxel Terrain: Storage", Roblox, 2017,
//! which packs the box before each operation this way), and which cells of the box they are. That
//! makes patches smaller than boxes, and leaves other changes in the same box alone.
//!
//! Which cells: a byte a row where the row has one run of changed cells that begins and
//! ends within 7 cells of where the last such row's does (brushes are round, so it nearly
//! always does); else a list. `docs/format.md` has every byte.

use super::volume::Tally;
use crate::codec::{Dialect, Rle};
use crate::voxel::{AIR, Cell, DenseBox, Kind, Region, VoxelPos, WATER};
use std::sync::Arc;

/// The coder of patches. It takes every cell with water as solid; writing to the grid clears water
/// where it must not be.
const RLE: Rle<'static> = Rle { kinds: &[Kind::Solid; 256], dialect: Dialect::Wide };

/// A row without a changed cell.
const EMPTY_ROW: u8 = 0xfe;
/// A row whose runs are listed.
const LISTED_ROW: u8 = 0xff;

/// Changed cells that lie side by side in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChangedRun {
    /// Index of the first in its box.
    pub at: usize,
    pub cells: usize,
}

/// Cells to swap with those of the grid. The bytes are shared with copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Patch {
    pub region: Region,
    /// Which cells of the region.
    pub rows: Arc<[u8]>,
    /// Their runs, one after the other; empty if they were
    /// [forgotten](super::JournalEntry::is_forgotten).
    pub cells: Arc<[u8]>,
}

/// Finds the runs of cells that differ between two boxes of one region, in the part
/// `within` of it.
pub(super) fn changed_runs(
    old: &DenseBox,
    new: &DenseBox,
    within: Region,
    runs: &mut Vec<ChangedRun>,
) {
    runs.clear();
    let [width, _, depth] = old.region().size();
    let from = within.min - old.region().min;
    let [count, high, deep] = within.size();
    let wet = !old.water().is_empty() || !new.water().is_empty();
    for y in 0..high {
        for z in 0..deep {
            let row = from.z as usize + z + depth * (from.y as usize + y);
            let first = from.x as usize + width * row;
            let cells = first..first + count;
            let [om, nm] = [old, new].map(|b| &b.materials()[cells.clone()]);
            let [oo, no] = [old, new].map(|b| &b.occupancies()[cells.clone()]);
            let mut at = 0;
            while let Some(start) = next(om, oo, nm, no, at, true) {
                let end = next(om, oo, nm, no, start, false).unwrap_or(count);
                runs.push(ChangedRun { at: first + start, cells: end - start });
                at = end;
            }
            if wet {
                add_wet_cells(old, new, cells, runs);
            }
        }
    }
}

/// The first cell from `from` on that differs, or the first that is equal.
#[inline]
fn next(om: &[u8], oo: &[u8], nm: &[u8], no: &[u8], from: usize, differs: bool) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let word = |bytes: &[u8], at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    let mut at = from;
    while at + 8 <= om.len() {
        let xor = (word(om, at) ^ word(nm, at)) | (word(oo, at) ^ word(no, at));
        // The lowest byte that is not zero, or the lowest zero byte.
        let found = if differs { xor } else { xor.wrapping_sub(LOW) & !xor & (LOW << 7) };
        if found != 0 {
            return Some(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    (at..om.len()).find(|&i| (om[i] != nm[i] || oo[i] != no[i]) == differs)
}

/// Adds the cells of a row that differ in their water only, and sorts the row's runs.
fn add_wet_cells(
    old: &DenseBox,
    new: &DenseBox,
    cells: std::ops::Range<usize>,
    runs: &mut Vec<ChangedRun>,
) {
    let row_start = runs.partition_point(|run| run.at < cells.start);
    let [a, b] = [old, new].map(|b| water_between(b, cells.clone()));
    if a == b {
        return;
    }
    let mut changed = vec![false; cells.len()];
    for run in &runs[row_start..] {
        changed[run.at - cells.start..][..run.cells].fill(true);
    }
    let held = |water: &[(u32, u8)], i: u32| {
        water.binary_search_by_key(&i, |entry| entry.0).ok().map(|at| water[at].1)
    };
    for &(i, _) in a.iter().chain(b) {
        changed[i as usize - cells.start] |= held(a, i) != held(b, i);
    }
    runs.truncate(row_start);
    let mut at = 0;
    for part in changed.chunk_by(|p, q| p == q) {
        if part[0] {
            runs.push(ChangedRun { at: cells.start + at, cells: part.len() });
        }
        at += part.len();
    }
}

pub(super) fn water_between(cells: &DenseBox, range: std::ops::Range<usize>) -> &[(u32, u8)] {
    let water = cells.water();
    let from = water.partition_point(|entry| (entry.0 as usize) < range.start);
    let to = water.partition_point(|entry| (entry.0 as usize) < range.end);
    &water[from..to]
}

/// The smallest region that holds all runs of a box over `whole`.
pub(super) fn bounds_of(runs: &[ChangedRun], whole: Region) -> Region {
    let [width, _, depth] = whole.size();
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Region::default() };
    let row = |run: &ChangedRun| run.at / width;
    let (mut x0, mut x1, mut z0, mut z1) = (width, 0, depth, 0);
    for run in runs {
        let (x, z) = (run.at % width, row(run) % depth);
        (x0, x1) = (x0.min(x), x1.max(x + run.cells));
        (z0, z1) = (z0.min(z), z1.max(z + 1));
    }
    let corner =
        |x: usize, y: usize, z: usize| whole.min + VoxelPos::new(x as i32, y as i32, z as i32);
    Region { min: corner(x0, row(first) / depth, z0), max: corner(x1, row(last) / depth + 1, z1) }
}

/// Cells side by side, and their water by index, ascending.
#[derive(Clone, Copy)]
pub(super) struct CellArrays<'a> {
    pub material: &'a [u8],
    pub occupancy: &'a [u8],
    pub water: &'a [(u32, u8)],
}

impl<'a> From<&'a DenseBox> for CellArrays<'a> {
    fn from(cells: &'a DenseBox) -> CellArrays<'a> {
        let (material, occupancy) = (cells.materials(), cells.occupancies());
        CellArrays { material, occupancy, water: cells.water() }
    }
}

/// Adds the volumes that the runs change to `tally`.
pub(super) fn tally(
    old: CellArrays<'_>,
    new: CellArrays<'_>,
    runs: &[ChangedRun],
    tally: &mut Tally,
) {
    let mut water = [old.water, new.water];
    for run in runs {
        let end = run.at + run.cells;
        let mut from = run.at;
        water.iter_mut().for_each(|list| skip(list, run.at));
        while let Some(cell) = first_held(water).filter(|&cell| cell < end) {
            tally_cells(old, new, from..cell, tally);
            let [old, new] = [(old, water[0]), (new, water[1])].map(|(cells, water)| {
                let held = water.first().filter(|w| w.0 as usize == cell).map(|w| w.1);
                let (m, o) = (cells.material[cell], cells.occupancy[cell]);
                (Cell { material: m, occupancy: o }, held)
            });
            wet_cell(old, new, tally);
            from = cell + 1;
            water.iter_mut().for_each(|list| skip(list, from));
        }
        tally_cells(old, new, from..end, tally);
    }
}

/// Skips the entries of the cells before `cell`.
fn skip(water: &mut &[(u32, u8)], cell: usize) {
    while water.first().is_some_and(|entry| (entry.0 as usize) < cell) {
        *water = &water[1..];
    }
}

/// The first cell that has an entry.
fn first_held(water: [&[(u32, u8)]; 2]) -> Option<usize> {
    water.into_iter().filter_map(|list| list.first()).map(|entry| entry.0 as usize).min()
}

/// Counts cells without water.
fn tally_cells(
    old: CellArrays<'_>,
    new: CellArrays<'_>,
    cells: std::ops::Range<usize>,
    tally: &mut Tally,
) {
    let [old, new] =
        [old, new].map(|of| [&of.material[cells.clone()], &of.occupancy[cells.clone()]]);
    tally.row(old, new);
}

/// Counts a cell that holds water before or after. Water that only moves between a solid cell
/// and a liquid one is not counted.
fn wet_cell(old: (Cell, Option<u8>), new: (Cell, Option<u8>), tally: &mut Tally) {
    let water = |(cell, held): (Cell, Option<u8>)| match held {
        Some(held) => u64::from(held) + 1,
        None if cell.material == WATER => u64::from(cell.units()),
        None => 0,
    };
    let ground =
        |(cell, _): (Cell, Option<u8>)| if cell.material == WATER { Cell::AIR } else { cell };
    tally.cell(ground(old), ground(new));
    tally.removed.add(WATER, water(old).saturating_sub(water(new)));
    tally.added.add(WATER, water(new).saturating_sub(water(old)));
}

/// Reusable buffers.
#[derive(Default)]
pub(super) struct PatchScratch {
    pub material: Vec<u8>,
    pub occupancy: Vec<u8>,
    pub water: Vec<(u32, u8)>,
    pub partial: Vec<u8>,
    pub bytes: Vec<u8>,
    pub runs: Vec<ChangedRun>,
    pub cells: DenseBox,
}

impl Patch {
    /// What the runs of `cells` are, in a region that holds them all.
    pub fn of(
        cells: &DenseBox,
        runs: &[ChangedRun],
        region: Region,
        s: &mut PatchScratch,
    ) -> Patch {
        s.bytes.clear();
        encode_rows(cells.region(), runs, region, &mut s.bytes);
        let rows = s.bytes.as_slice().into();
        Patch { region, rows, cells: gather(cells, runs, s) }
    }

    /// Size of the patch in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Patch>() + self.rows.len() + self.cells.len()
    }

    /// Calls `each` with the runs of a box over the patch's region, in order.
    pub fn runs(&self, each: impl FnMut(ChangedRun)) {
        // Rows were checked when they were encoded or read.
        let _ = decode_rows(&self.rows, self.region, each);
    }

    /// How many cells it has.
    pub fn cell_count(&self) -> u64 {
        let mut count = 0;
        self.runs(|run| count += run.cells as u64);
        count
    }

    /// Decodes its cells, as many as `count`, into `material`, `occupancy` and `water` of `s`.
    pub fn decode(&self, count: usize, s: &mut PatchScratch) {
        s.material.resize(count, 0);
        s.occupancy.resize(count, 0);
        // Cells were checked when they were encoded or read.
        let _ = decode_cells(&self.cells, &mut s.material, &mut s.occupancy, &mut s.water);
    }

    /// Writes the patch's cells over those of `cells`.
    pub fn scatter(&self, cells: &mut DenseBox, runs: &[ChangedRun], s: &mut PatchScratch) {
        self.decode(runs.iter().map(|run| run.cells).sum(), s);
        let (material, occupancy) = cells.arrays_mut();
        let mut from = 0;
        for run in runs {
            let (to, here) = (run.at..run.at + run.cells, from..from + run.cells);
            material[to.clone()].copy_from_slice(&s.material[here.clone()]);
            occupancy[to].copy_from_slice(&s.occupancy[here]);
            from += run.cells;
        }
        if cells.water().is_empty() && s.water.is_empty() {
            return;
        }
        let in_runs = |i: u32| {
            let run = runs.partition_point(|run| run.at + run.cells <= i as usize);
            runs.get(run).is_some_and(|run| run.at <= i as usize)
        };
        let mut water: Vec<_> = cells.water().iter().filter(|w| !in_runs(w.0)).copied().collect();
        let (mut from, mut next) = (0, s.water.iter().peekable());
        for run in runs {
            while let Some(&(i, held)) = next.next_if(|w| (w.0 as usize) < from + run.cells) {
                water.push(((run.at + i as usize - from) as u32, held));
            }
            from += run.cells;
        }
        cells.set_all_water(water);
    }
}

/// The cells of all runs, coded.
fn gather(cells: &DenseBox, runs: &[ChangedRun], s: &mut PatchScratch) -> Arc<[u8]> {
    s.material.clear();
    s.occupancy.clear();
    s.water.clear();
    for run in runs {
        let part = run.at..run.at + run.cells;
        if !cells.water().is_empty() {
            let first = s.material.len() as u32;
            let water = water_between(cells, part.clone()).iter();
            s.water.extend(water.map(|&(i, held)| (first + i - run.at as u32, held)));
        }
        s.material.extend_from_slice(&cells.materials()[part.clone()]);
        s.occupancy.extend_from_slice(&cells.occupancies()[part]);
    }
    s.bytes.clear();
    encode_cells(&s.material, &mut s.occupancy, &s.water, &mut s.partial, &mut s.bytes);
    s.bytes.as_slice().into()
}

/// In the runs, stands for any occupancy below 255.
const PARTIAL: u8 = 0;

/// Writes cells: the occupancies of partial ones in sequence, and runs in which one value stands
/// for all of those. At a surface nearly every cell has an occupancy of its own, which would
/// otherwise be a run of its own. `partial` is a buffer.
pub(super) fn encode_cells(
    material: &[u8],
    occupancy: &mut [u8],
    water: &[(u32, u8)],
    partial: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    partial.clear();
    partial.resize(material.len(), 0);
    let mut count = 0;
    for (m, o) in material.chunks(8).zip(occupancy.chunks_mut(8)) {
        if all_are(m, AIR) || all_are(o, 255) {
            continue;
        }
        for (&m, o) in m.iter().zip(o) {
            let is_partial = m != AIR && *o != 255;
            partial[count] = *o;
            count += usize::from(is_partial);
            *o = if is_partial { PARTIAL } else { *o };
        }
    }
    put_varint(count as u64, out);
    out.extend_from_slice(&partial[..count]);
    RLE.encode(material, occupancy, water, out);
}

/// Whether eight bytes, or fewer at the end, all equal `value`.
#[inline(always)]
fn all_are(bytes: &[u8], value: u8) -> bool {
    match bytes.try_into() {
        Ok(word) => u64::from_le_bytes(word) == u64::from_le_bytes([value; 8]),
        Err(_) => bytes.iter().all(|&byte| byte == value),
    }
}

/// Reads what [`encode_cells`] wrote, all of `bytes`.
pub(super) fn decode_cells(
    bytes: &[u8],
    material: &mut [u8],
    occupancy: &mut [u8],
    water: &mut Vec<(u32, u8)>,
) -> Result<(), usize> {
    let mut offset = 0;
    let count = get_varint(bytes, &mut offset).ok_or(0usize)?;
    let rest = &bytes[offset..];
    let count = usize::try_from(count).ok().filter(|&count| count <= rest.len()).ok_or(0usize)?;
    let (partial, runs) = rest.split_at(count);
    let start = offset + count;
    let read =
        RLE.decode(runs, material, occupancy, water).map_err(|error| start + error.offset)?;
    let mut next = 0;
    for (m, o) in material.chunks(8).zip(occupancy.chunks_mut(8)) {
        if all_are(m, AIR) || all_are(o, 255) {
            continue;
        }
        for (&m, o) in m.iter().zip(o) {
            if m != AIR && *o != 255 {
                *o = *partial.get(next).ok_or(0usize)?;
                next += 1;
            }
        }
    }
    let all = read == runs.len() && next == partial.len();
    if all { Ok(()) } else { Err(start + read) }
}

/// Writes which cells of `region` are in runs; runs are of a box over `whole`.
fn encode_rows(whole: Region, runs: &[ChangedRun], region: Region, out: &mut Vec<u8>) {
    let [width, _, depth] = whole.size();
    let [_, high, deep] = region.size();
    let off = region.min - whole.min;
    let (mut rest, mut last) = (runs, (0usize, 0usize));
    for y in 0..high {
        for z in 0..deep {
            let row = off.z as usize + z + depth * (off.y as usize + y);
            let first = off.x as usize + width * row;
            let count = rest.iter().take_while(|run| run.at < width * (row + 1)).count();
            let (here, after) = rest.split_at(count);
            rest = after;
            let (Some(start), Some(end)) = (here.first(), here.last()) else {
                out.push(EMPTY_ROW);
                continue;
            };
            let ends = (start.at - first, end.at + end.cells - first);
            let nibble = |now: usize, then: usize| {
                let moved = now as i64 - then as i64 + 7;
                u8::try_from(moved).ok().filter(|&moved| moved < 15)
            };
            match (nibble(ends.0, last.0), nibble(ends.1, last.1)) {
                (Some(a), Some(b)) if count == 1 => out.push(a << 4 | b),
                _ => list_row(here, first, out),
            }
            last = ends;
        }
    }
}

fn list_row(runs: &[ChangedRun], first: usize, out: &mut Vec<u8>) {
    out.push(LISTED_ROW);
    put_varint(runs.len() as u64, out);
    let mut at = first;
    for run in runs {
        put_varint((run.at - at) as u64, out);
        put_varint(run.cells as u64, out);
        at = run.at + run.cells;
    }
}

/// Calls `each` with the runs of a box over `region`, in order. Returns how many bytes it
/// read, or the offset of the first invalid byte.
pub(super) fn decode_rows(
    bytes: &[u8],
    region: Region,
    mut each: impl FnMut(ChangedRun),
) -> Result<usize, usize> {
    let [width, high, deep] = region.size();
    let (mut offset, mut last) = (0, (0usize, 0usize));
    for row in 0..high * deep {
        let start = offset;
        let token = *bytes.get(offset).ok_or(start)?;
        offset += 1;
        match token {
            EMPTY_ROW => {}
            LISTED_ROW => {
                let count = get_varint(bytes, &mut offset).ok_or(start)?;
                let (mut at, mut first) = (0, None);
                for i in 0..count {
                    let mut number = || usize::try_from(get_varint(bytes, &mut offset)?).ok();
                    let gap = number().ok_or(start)?;
                    let cells = number().ok_or(start)?;
                    // Runs that touch would be one run.
                    let fits = gap <= width && cells <= width && at + gap + cells <= width;
                    if !fits || cells == 0 || (i > 0 && gap == 0) {
                        return Err(start);
                    }
                    each(ChangedRun { at: row * width + at + gap, cells });
                    first.get_or_insert(at + gap);
                    at += gap + cells;
                }
                last = (first.ok_or(start)?, at);
            }
            _ => {
                let moved = |from: usize, nibble: u8| {
                    (from + usize::from(nibble)).checked_sub(7).filter(|_| nibble < 15)
                };
                let from = moved(last.0, token >> 4).ok_or(start)?;
                let to = moved(last.1, token & 15).ok_or(start)?;
                if from >= to || to > width {
                    return Err(start);
                }
                each(ChangedRun { at: row * width + from, cells: to - from });
                last = (from, to);
            }
        }
    }
    Ok(offset)
}

/// Appends a number, seven bits a byte, lowest first.
pub(super) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number of up to 63 bits.
pub(super) fn get_varint(bytes: &[u8], offset: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.get(*offset)?;
        *offset += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
