//! The clumps of a chunk: for each, its size, whether it is anchored, and its cells on the six
//! sides of the chunk, so that searches step between chunks without reading cells. Most chunks have
//! one clump and need no labels; chunks of one material need no record at all.

use super::Anchors;
use super::labels::Labels;
use crate::voxel::{AIR, ChunkPos, Kind, Region, Snapshot};
use rustc_hash::FxHashMap;

/// A bit per cell of a side of a chunk: along X bit z of word y, along Y bit x of word z, along Z
/// bit x of word y. So opposite sides line up.
pub(super) type SideBits = [u32; 32];

/// The direction of each side: −x, +x, −y, +y, −z, +z.
pub(super) const SIDE_DIRECTIONS: [[i32; 3]; 6] =
    [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];

/// A side of solid cells only.
pub(super) const FULL_SIDE: SideBits = [u32::MAX; 32];

/// Stands for a cell that is not solid.
const NONE: u16 = u16::MAX;

/// Cells connected within a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clump {
    /// Number of cells.
    pub cells: u32,
    /// One of its cells, x + 32 z + 1024 y, which identifies it when edits renumber clumps.
    pub cell: u16,
    pub anchored: bool,
    /// A bit for every side of the chunk that it touches.
    pub sides: u8,
}

impl Clump {
    /// Returns the clump of a chunk of solid cells only.
    pub fn full(anchored: bool) -> Clump {
        Clump { cells: 32 * 32 * 32, cell: 0, anchored, sides: 63 }
    }
}

/// The clumps of a chunk with solid and other cells.
pub(super) struct Clumps {
    all: Box<[Clump]>,
    /// By side: its solid cells.
    sides: Box<[SideBits; 6]>,
    /// By side, then bit + 32 × word: the clump of each cell; `None` if there is only one clump.
    labels: Option<Box<[[u16; 1024]; 6]>>,
}

/// What the search knows of a chunk.
#[derive(Clone, Copy)]
pub(super) enum ChunkClumps<'a> {
    /// No solid cell.
    Empty,
    /// Solid cells of one material; `anchored` if one of them is.
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

    /// Returns the solid cells of a side.
    pub fn side(&self, side: usize) -> &SideBits {
        &self.sides[side]
    }

    /// Returns the cells of one clump on a side.
    pub fn side_of(&self, side: usize, clump: u16) -> SideBits {
        let Some(labels) = &self.labels else { return self.sides[side] };
        let mut bits = [0; 32];
        for (word, labels) in bits.iter_mut().zip(labels[side].chunks_exact(32)) {
            for (bit, &label) in labels.iter().enumerate() {
                *word |= u32::from(label == clump) << bit;
            }
        }
        bits
    }

    /// Returns the clump of a solid cell of a side.
    pub fn at(&self, side: usize, word: usize, bit: usize) -> u16 {
        self.labels.as_ref().map_or(0, |labels| labels[side][bit + 32 * word])
    }

    fn bytes(&self) -> usize {
        let labels = if self.labels.is_some() { size_of::<[[u16; 1024]; 6]>() } else { 0 };
        size_of::<(ChunkPos, Clumps)>()
            + size_of_val(&*self.all)
            + size_of::<[SideBits; 6]>()
            + labels
    }
}

fn sides_of(rows: &[u32; 1024]) -> [SideBits; 6] {
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

/// Caches the clumps of chunks.
#[derive(Default)]
pub(super) struct ClumpCache {
    chunks: FxHashMap<ChunkPos, Clumps>,
    bytes: usize,
    pub labels: Labels,
    /// Chunks labelled since the count was last taken.
    pub labelled: u32,
}

impl ClumpCache {
    /// Removes the records of chunks that a write touched.
    pub fn invalidate(&mut self, region: Region) {
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

    /// Removes all records.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.bytes = 0;
    }

    /// Returns the bytes of all records.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Labels a chunk that needs a record and has none.
    pub fn ensure(&mut self, grid: &Snapshot, chunk: ChunkPos, anchors: &Anchors) {
        if !self.chunks.contains_key(&chunk) {
            self.label(grid, chunk, anchors);
        }
    }

    /// Labels a chunk again if it has solid and other cells. Returns whether it has.
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

    /// Returns what is known of a chunk after [`ClumpCache::ensure`].
    pub fn clumps_of(
        &self,
        grid: &Snapshot,
        chunk: ChunkPos,
        anchors: &Anchors,
    ) -> ChunkClumps<'_> {
        if let Some(clumps) = self.chunks.get(&chunk) {
            return ChunkClumps::Mixed(clumps);
        }
        let Ok(view) = grid.chunk(chunk) else { return ChunkClumps::Unknown };
        let material = view.uniform_material().unwrap_or(AIR);
        match grid.materials().kind(material) {
            Kind::Solid => {
                ChunkClumps::Full { anchored: anchors.parts(chunk.region()).next().is_some() }
            }
            _ => ChunkClumps::Empty,
        }
    }
}
