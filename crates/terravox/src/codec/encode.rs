//! Runs from cells: the canonical, greedy coder.
//!
//! Most runs are long, so the end of a run is searched eight cells a step: a word of
//! materials and one of occupancies are compared with the first cell, and the lowest
//! byte that differs ends the run. Runs are gathered in a small buffer, eight bytes a
//! store, so that no run costs a call.
//!
//! Source: Roblox's "Voxel Terrain: Storage" (2017), "Disk format"; greedy runs and the
//! rules of what is left out are those of real terrain files.

use super::rle::{ESCAPE, HAS_COUNT, HAS_OCCUPANCY, Rle};
use crate::voxel::{AIR, DenseBox, Kind};

/// Cells compared in one step.
const STEP: usize = 8;

impl Rle<'_> {
    /// Appends the runs of `material` and `occupancy`, with the `water` held by solid
    /// cells as (cell index, stored water) by ascending index, to `out`.
    ///
    /// The bytes are canonical: of all that decode to these cells they are the ones that a
    /// greedy coder writes, so equal cells give equal bytes. Occupancy of air, and
    /// water listed for a cell that is not solid, are ignored. At most 3
    /// bytes a cell and 2 more for a cell with water are appended.
    ///
    /// # Panics
    /// If the two slices differ in length, `water` is not strictly ascending or names a
    /// cell outside, or a material is above
    /// [`Dialect::max_material`](super::Dialect::max_material).
    pub fn encode(self, material: &[u8], occupancy: &[u8], water: &[(u32, u8)], out: &mut Vec<u8>) {
        encode(self, material, occupancy, water, out);
    }

    /// Appends the runs of a box; [`Rle::encode`] with its arrays.
    pub fn encode_box(self, cells: &DenseBox, out: &mut Vec<u8>) {
        self.encode(cells.materials(), cells.occupancies(), cells.water(), out);
    }
}

fn encode(rle: Rle<'_>, material: &[u8], occupancy: &[u8], water: &[(u32, u8)], out: &mut Vec<u8>) {
    assert_eq!(material.len(), occupancy.len(), "one occupancy a material");
    assert!(water.is_sorted_by(|a, b| a.0 < b.0), "water is strictly ascending by cell");
    assert!(
        water.last().is_none_or(|&(cell, _)| (cell as usize) < material.len()),
        "water names a cell outside the array"
    );
    let max = rle.dialect.max_material();
    if max < 255 {
        let top = material.iter().fold(0, |top, &m| top.max(m));
        assert!(top <= max, "material {top} cannot be written, the dialect ends at {max}");
    }
    let escape_from = if max < 255 { 255 } else { ESCAPE };

    let mut runs = RunWriter { out, buffer: [0; BUFFER], used: 0, escape_from };
    let wet =
        water.iter().filter(|&&(i, _)| rle.kinds[usize::from(material[i as usize])] == Kind::Solid);
    let mut at = 0;
    for &(index, stored) in wet {
        let index = index as usize;
        encode_dry(&material[..index], &occupancy[..index], at, &mut runs);
        runs.put(material[index], occupancy[index], 1, Some(stored));
        at = index + 1;
    }
    encode_dry(material, occupancy, at, &mut runs);
    runs.flush();
}

/// Maximum number of cells of a run: counts are a byte.
const MAX_RUN: usize = 256;

/// Writes the cells from `at` on, none of which holds water.
fn encode_dry(material: &[u8], occupancy: &[u8], mut at: usize, runs: &mut RunWriter<'_>) {
    while at < material.len() {
        let end = material.len().min(at + MAX_RUN);
        let m = material[at];
        let run = run_length(&material[at..end], &occupancy[at..end]);
        runs.put(m, occupancy[at], run, None);
        at += run;
    }
}

/// Number of dry cells at the start that equal the first; air has no occupancy.
#[inline]
pub(super) fn run_length(material: &[u8], occupancy: &[u8]) -> usize {
    match material[0] {
        AIR => equal_bytes(material),
        _ => equal_cells(material, occupancy),
    }
}

/// Number of bytes at the start that equal the first.
#[inline]
fn equal_bytes(bytes: &[u8]) -> usize {
    let first = word_of(bytes[0]);
    let mut n = 0;
    for word in bytes.chunks_exact(STEP) {
        let differs = load(word) ^ first;
        if differs != 0 {
            return n + lowest_byte(differs);
        }
        n += STEP;
    }
    n + bytes[n..].iter().take_while(|&&b| b == bytes[0]).count()
}

/// Number of cells at the start that equal the first in both arrays, of equal length.
#[inline]
fn equal_cells(material: &[u8], occupancy: &[u8]) -> usize {
    let (m0, o0) = (word_of(material[0]), word_of(occupancy[0]));
    let mut n = 0;
    for (m, o) in material.chunks_exact(STEP).zip(occupancy.chunks_exact(STEP)) {
        let differs = (load(m) ^ m0) | (load(o) ^ o0);
        if differs != 0 {
            return n + lowest_byte(differs);
        }
        n += STEP;
    }
    let rest = material[n..].iter().zip(&occupancy[n..]);
    n + rest.take_while(|&(&m, &o)| m == material[0] && o == occupancy[0]).count()
}

#[inline]
fn word_of(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; STEP])
}

/// Eight bytes, the first in the lowest bits.
#[inline]
fn load(bytes: &[u8]) -> u64 {
    let mut word = [0; STEP];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[inline]
fn lowest_byte(word: u64) -> usize {
    (word.trailing_zeros() / 8) as usize
}

const BUFFER: usize = 1024;

/// Gathers the bytes of runs.
struct RunWriter<'a> {
    out: &'a mut Vec<u8>,
    buffer: [u8; BUFFER],
    used: usize,
    /// Materials from here on get their own byte.
    escape_from: u8,
}

impl RunWriter<'_> {
    /// Adds one run; with water it is one cell.
    #[inline]
    fn put(&mut self, material: u8, occupancy: u8, run: usize, water: Option<u8>) {
        let mut word = 0u64;
        let mut bits = 8;
        let mut push = |byte: u8| {
            word |= u64::from(byte) << bits;
            bits += 8;
        };
        let mut lead = material;
        if material >= self.escape_from {
            lead = ESCAPE;
            push(material);
        }
        if material != AIR && occupancy != 255 {
            lead |= HAS_OCCUPANCY;
            push(occupancy);
        }
        if let Some(water) = water {
            lead |= HAS_COUNT;
            push(0);
            push(water);
        } else if run > 1 {
            lead |= HAS_COUNT;
            push((run - 1) as u8);
        }
        word |= u64::from(lead);
        if self.used + 8 > BUFFER {
            self.flush();
        }
        self.buffer[self.used..self.used + 8].copy_from_slice(&word.to_le_bytes());
        self.used += bits / 8;
    }

    #[cold]
    fn flush(&mut self) {
        self.out.extend_from_slice(&self.buffer[..self.used]);
        self.used = 0;
    }
}
