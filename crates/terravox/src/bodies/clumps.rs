//! What is kept of the clumps of a chunk, to go from chunk to chunk without a look at
//! cells: how many cells each has, whether it is anchored, and its cells on the six sides
//! of the chunk. Where a chunk has one clump, as most have, that needs no labels; a chunk of
//! full cells of one material needs no record.

use super::Anchors;
use super::labels::Labels;
use crate::voxel::{AIR, ChunkPos, Kind, Region, Snapshot};
use rustc_hash::FxHashMap;

/// A bit for every cell of a side of a chunk: for the sides along X bit z of word y, along
/// Y bit x of word z, along Z bit x of word y. So opposite sides fit.
pub(super) type Side = [u32; 32];

/// The way out of each side, −x, +x, −y, +y, −z, +z.
pub(super) const WAYS: [[i32; 3]; 6] =
    [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];

/// A side all of solid cells.
pub(super) const FULL_SIDE: Side = [u32::MAX; 32];

/// Where a side has no solid cell.
const NONE: u16 = u16::MAX;

/// One clump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clump {
    /// How many cells it has.
    pub cells: u32,
    /// One of them, x + 32 z + 1024 y: what it is known by, as numbers change with edits.
    pub cell: u16,
    pub anchored: bool,
    /// A bit for every side of the chunk on which it has a cell.
    pub sides: u8,
}

impl Clump {
    /// All cells of a chunk.
    pub fn full(anchored: bool) -> Clump {
        Clump { cells: 32 * 32 * 32, cell: 0, anchored, sides: 63 }
    }
}

/// The clumps of a chunk that has solid cells and others.
pub(super) struct Clumps {
    all: Box<[Clump]>,
    /// Solid cells of the sides.
    sides: Box<[Side; 6]>,
    /// Their clumps, by bit + 32 × word; none if there is one clump.
    labels: Option<Box<[[u16; 1024]; 6]>>,
}

/// A chunk as the search sees it.
#[derive(Clone, Copy)]
pub(super) enum Found<'a> {
    /// Without a solid cell.
    Empty,
    /// Full of solid cells of one material, and whether one of them is anchored.
    Full {
        anchored: bool,
    },
    /// Not held at mip 0.
    Unknown,
    Mixed(&'a Clumps),
}

impl Clumps {
    fn new(labels: &Labels, chunk: ChunkPos, anchors: &Anchors) -> Clumps {
        let clump = |(&cells, &cell)| Clump { cells, cell, anchored: false, sides: 0 };
        let mut all: Box<[Clump]> = labels.cells().iter().zip(labels.firsts()).map(clump).collect();
        for part in anchors.parts(chunk.region()) {
            labels.runs_in(part, chunk.min_voxel(), |_, _, clump| {
                all[usize::from(clump)].anchored = true;
            });
        }
        let sides = Box::new(sides_of(labels.rows()));
        let labels = (labels.count() > 1).then(|| labels_of(labels));
        for side in 0..6 {
            let bit = 1 << side;
            match (&labels, &mut *all) {
                (Some(labels), all) => {
                    let known = labels[side].iter().filter(|&&label| label != NONE);
                    known.for_each(|&label| all[usize::from(label)].sides |= bit);
                }
                (None, [one]) if sides[side] != [0; 32] => one.sides |= bit,
                _ => {}
            }
        }
        Clumps { all, sides, labels }
    }

    pub fn all(&self) -> &[Clump] {
        &self.all
    }

    /// Solid cells of a side.
    pub fn side(&self, side: usize) -> &Side {
        &self.sides[side]
    }

    /// The cells of a side that are of one clump.
    pub fn side_of(&self, side: usize, clump: u16) -> Side {
        let Some(labels) = &self.labels else { return self.sides[side] };
        let mut bits = [0; 32];
        for (word, labels) in bits.iter_mut().zip(labels[side].chunks_exact(32)) {
            for (bit, &label) in labels.iter().enumerate() {
                *word |= u32::from(label == clump) << bit;
            }
        }
        bits
    }

    /// The clump of a solid cell of a side.
    pub fn at(&self, side: usize, word: usize, bit: usize) -> u16 {
        self.labels.as_ref().map_or(0, |labels| labels[side][bit + 32 * word])
    }

    fn bytes(&self) -> usize {
        let labels = if self.labels.is_some() { size_of::<[[u16; 1024]; 6]>() } else { 0 };
        size_of::<(ChunkPos, Clumps)>() + size_of_val(&*self.all) + size_of::<[Side; 6]>() + labels
    }
}

fn sides_of(rows: &[u32; 1024]) -> [Side; 6] {
    let mut sides = [[0; 32]; 6];
    for y in 0..32 {
        let slice = &rows[32 * y..32 * y + 32];
        for (z, row) in slice.iter().enumerate() {
            sides[0][y] |= (row & 1) << z;
            sides[1][y] |= (row >> 31) << z;
        }
        sides[4][y] = slice[0];
        sides[5][y] = slice[31];
    }
    sides[2].copy_from_slice(&rows[..32]);
    sides[3].copy_from_slice(&rows[992..]);
    sides
}

fn labels_of(labels: &Labels) -> Box<[[u16; 1024]; 6]> {
    let mut sides = Box::new([[NONE; 1024]; 6]);
    for row in 0..1024 {
        let (y, z) = (row / 32, row % 32);
        for (run, clump) in labels.runs(row) {
            let (first, last) = (run.trailing_zeros() as usize, 31 - run.leading_zeros() as usize);
            if first == 0 {
                sides[0][z + 32 * y] = clump;
            }
            if last == 31 {
                sides[1][z + 32 * y] = clump;
            }
            let mut along = |side: usize, word: usize| {
                sides[side][32 * word + first..=32 * word + last].fill(clump);
            };
            match y {
                0 => along(2, z),
                31 => along(3, z),
                _ => {}
            }
            match z {
                0 => along(4, y),
                31 => along(5, y),
                _ => {}
            }
        }
    }
    sides
}

/// The clumps of the chunks that were looked at, by what the cells were then.
#[derive(Default)]
pub(super) struct ClumpCache {
    chunks: FxHashMap<ChunkPos, Clumps>,
    bytes: usize,
    pub labels: Labels,
    /// Chunks labelled since the count was last taken.
    pub labelled: u32,
}

impl ClumpCache {
    /// Forgets what it knows of the chunks that a write touched.
    pub fn forget(&mut self, region: Region) {
        let chunks = region.coarser(5);
        if chunks.volume() > self.chunks.len() as u64 {
            let bytes = &mut self.bytes;
            self.chunks.retain(|chunk, clumps| {
                let keep = region.intersect(chunk.region()).is_empty();
                *bytes -= if keep { 0 } else { clumps.bytes() };
                keep
            });
            return;
        }
        for chunk in region.blocks::<5>() {
            if let Some(clumps) = self.chunks.remove(&chunk) {
                self.bytes -= clumps.bytes();
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.bytes = 0;
    }

    /// Bytes of all records.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Chunks that have a record.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Makes the record of a chunk that needs one, unless it is there.
    pub fn look(&mut self, grid: &Snapshot, chunk: ChunkPos, anchors: &Anchors) {
        if !self.chunks.contains_key(&chunk) {
            self.label(grid, chunk, anchors);
        }
    }

    /// Labels the cells of a chunk anew, if it has solid ones and others; returns whether.
    pub fn label(&mut self, grid: &Snapshot, chunk: ChunkPos, anchors: &Anchors) -> bool {
        let Ok(view) = grid.chunk(chunk) else { return false };
        if view.uniform_material().is_some() {
            return false;
        }
        self.labels.read(view, grid.materials().kinds());
        self.labelled += 1;
        let clumps = Clumps::new(&self.labels, chunk, anchors);
        self.bytes += clumps.bytes();
        if let Some(old) = self.chunks.insert(chunk, clumps) {
            self.bytes -= old.bytes();
        }
        true
    }

    /// A chunk that was [looked](ClumpCache::look) at.
    pub fn found(&self, grid: &Snapshot, chunk: ChunkPos, anchors: &Anchors) -> Found<'_> {
        if let Some(clumps) = self.chunks.get(&chunk) {
            return Found::Mixed(clumps);
        }
        let Ok(view) = grid.chunk(chunk) else { return Found::Unknown };
        let material = view.uniform_material().unwrap_or(AIR);
        match grid.materials().kind(material) {
            Kind::Solid => Found::Full { anchored: anchors.parts(chunk.region()).next().is_some() },
            _ => Found::Empty,
        }
    }
}
