//! Reading a box of values at any mip: coarse values are made from all voxels under a cell, when
//! they are read.
//!
//! Cost is proportional to the chunks under the box in which the channel holds something: chunks of
//! one value count as one voxel, and what holds nothing is passed over by pages.

use super::chunk::ChannelChunk;
use super::declaration::{ChannelKind, MipRule};
use super::snapshot::{ChannelPage, ChannelSnapshot, index_in_chunk};
use crate::voxel::{ChunkPos, LIMIT, MAX_MIP, PagePos, Region, VoxelPos};
use rustc_hash::FxHashMap;

/// Mip at which a chunk is one cell.
const CHUNK_MIP: u32 = 5;

/// Mip at which a page is one cell.
const PAGE_MIP: u32 = 8;

impl ChannelSnapshot {
    /// Most cells of one read: 2²⁴, 64 MiB.
    pub const MAX_READ_CELLS: u64 = 1 << 24;

    /// Reads the values of a box, in cells of mip `mip`, x fastest, then z, then y. Coarse values
    /// follow from the voxels by the [rule](MipRule) of the channel.
    ///
    /// # Panics
    /// If there is no such channel or it holds bytes, `mip` is above [`MAX_MIP`], or the region has
    /// more than [`ChannelSnapshot::MAX_READ_CELLS`] cells.
    pub fn read(&self, channel: u8, region: Region, mip: u8, out: &mut Vec<u32>) {
        let table = self.table(channel);
        let ChannelKind::Values { mips: rule, .. } = table.channel.kind else {
            panic!("channel {channel}, \"{}\", holds bytes, not numbers", table.channel.name);
        };
        assert!(mip <= MAX_MIP, "mip {mip}; the coarsest is {MAX_MIP}");
        let cells = region.volume();
        assert!(cells <= Self::MAX_READ_CELLS, "a read of {region} has too many cells");
        out.clear();
        out.resize(cells as usize, 0);
        let mip = u32::from(mip);
        // Beyond the limits there is nothing, and positions would overflow.
        let inside = Region::new([-LIMIT; 3], [LIMIT; 3]).coarser(mip).intersect(region);
        let (values, cell) = (Vec::new(), Vec::new());
        let mut read = BoxRead { rule, mip, region, out, values, cell };
        let pages = inside.finer(mip).coarser(PAGE_MIP);
        if (table.pages.len() as u64) < pages.volume() {
            for (&page, held) in table.pages.iter() {
                read.page(page, held, inside);
            }
        } else {
            for page in pages.voxels().map(|p| PagePos::new(p.x, p.y, p.z)) {
                if let Some(held) = table.pages.get(&page) {
                    read.page(page, held, inside);
                }
            }
        }
    }
}

/// A read of a box.
struct BoxRead<'a> {
    rule: MipRule,
    mip: u32,
    /// In cells of the mip.
    region: Region,
    out: &'a mut [u32],
    /// Of one chunk.
    values: Vec<u32>,
    /// Of one cell.
    cell: Vec<u32>,
}

impl BoxRead<'_> {
    /// Reads the cells of `inside` that lie in a page. No cell is larger than a page.
    fn page(&mut self, page: PagePos, held: &ChannelPage, inside: Region) {
        let part = page.region().coarser(self.mip).intersect(inside);
        if part.is_empty() {
            return;
        }
        if self.mip >= CHUNK_MIP {
            return self.chunks_in_cells(held, part);
        }
        for (&chunk, held) in held {
            let cells = chunk.region().coarser(self.mip).intersect(part);
            if !cells.is_empty() {
                self.cells_in_chunk(chunk, held, cells);
            }
        }
    }

    /// Cells of one chunk or of several.
    fn chunks_in_cells(&mut self, held: &ChannelPage, part: Region) {
        let mut tallies: FxHashMap<VoxelPos, ValueTally> = FxHashMap::default();
        for (&chunk, held) in held {
            let cell = VoxelPos::new(chunk.x, chunk.y, chunk.z).coarser(self.mip - CHUNK_MIP);
            if part.contains(cell) {
                let tally = tallies.entry(cell).or_insert_with(|| ValueTally::new(self.rule));
                held.each_run(|value, voxels| tally.add(value, voxels as u64));
            }
        }
        for (cell, tally) in tallies {
            self.put(cell, tally.value(self.mip));
        }
    }

    /// Cells of which a chunk has several.
    fn cells_in_chunk(&mut self, chunk: ChunkPos, held: &ChannelChunk, cells: Region) {
        if let Some(value) = held.uniform_value() {
            // Any rule makes a value of equal ones.
            cells.voxels().for_each(|cell| self.put(cell, value));
            return;
        }
        let mut values = std::mem::take(&mut self.values);
        held.unpack(&mut values);
        match self.mip {
            0 => self.voxels_in_chunk(&values, cells),
            _ => cells.voxels().for_each(|cell| {
                let value = self.value_of(&values, cell.finer(self.mip) - chunk.min_voxel());
                self.put(cell, value);
            }),
        }
        self.values = values;
    }

    /// Copies the voxels of a region in one chunk.
    fn voxels_in_chunk(&mut self, values: &[u32], voxels: Region) {
        let Region { min, max } = voxels;
        let long = voxels.size()[0];
        for y in min.y..max.y {
            for z in min.z..max.z {
                let first = VoxelPos::new(min.x, y, z);
                let (from, to) = (index_in_chunk(first), self.index(first));
                self.out[to..to + long].copy_from_slice(&values[from..from + long]);
            }
        }
    }

    /// The value of a cell by its first voxel in the chunk.
    fn value_of(&mut self, values: &[u32], first: VoxelPos) -> u32 {
        let (edge, start) = (1usize << self.mip, index_in_chunk(first));
        let rows = (0..edge * edge).map(|row| start + 32 * (row % edge) + 1024 * (row / edge));
        let rows = rows.map(|at| &values[at..at + edge]);
        if self.rule == MipRule::MostFrequent {
            self.cell.clear();
            rows.for_each(|row| self.cell.extend(row.iter().filter(|&&value| value != 0)));
            return most_frequent(&mut self.cell);
        }
        let mut tally = ValueTally::new(self.rule);
        rows.flatten().for_each(|&value| tally.add(value, 1));
        tally.value(self.mip)
    }

    fn put(&mut self, cell: VoxelPos, value: u32) {
        let index = self.index(cell);
        self.out[index] = value;
    }

    fn index(&self, cell: VoxelPos) -> usize {
        let ([width, _, depth], off) = (self.region.size(), cell - self.region.min);
        off.x as usize + width * (off.z as usize + depth * off.y as usize)
    }
}

/// The most frequent of some values, the smallest of several, which get sorted; 0 if there are no
/// values.
fn most_frequent(values: &mut [u32]) -> u32 {
    values.sort_unstable();
    let (mut best, mut count) = (0, 0);
    for same in values.chunk_by(|a, b| a == b) {
        if same.len() > count {
            (best, count) = (same[0], same.len());
        }
    }
    best
}

/// The values of the voxels of a cell, added up.
struct ValueTally {
    rule: MipRule,
    min: u32,
    max: u32,
    /// Voxels that are not 0, and their sum.
    present: u64,
    sum: u64,
    /// Voxels by value; for one rule only.
    counts: FxHashMap<u32, u64>,
}

impl ValueTally {
    fn new(rule: MipRule) -> ValueTally {
        ValueTally { rule, min: u32::MAX, max: 0, present: 0, sum: 0, counts: FxHashMap::default() }
    }

    fn add(&mut self, value: u32, voxels: u64) {
        if value == 0 {
            return;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.present += voxels;
        // At most 2²⁴ voxels below 2³².
        self.sum += u64::from(value) * voxels;
        if self.rule == MipRule::MostFrequent {
            *self.counts.entry(value).or_default() += voxels;
        }
    }

    /// The value of a cell of this mip. Results do not depend on the order of the voxels.
    fn value(&self, mip: u32) -> u32 {
        if self.present == 0 {
            return 0;
        }
        // Half up.
        let mean = |voxels: u64| ((self.sum + voxels / 2) / voxels) as u32;
        match self.rule {
            MipRule::Max => self.max,
            MipRule::Min => self.min,
            MipRule::Mean => mean(1 << (3 * mip)),
            MipRule::MeanPresent => mean(self.present),
            MipRule::MostFrequent => {
                let most = self
                    .counts
                    .iter()
                    .max_by_key(|&(&value, &voxels)| (voxels, std::cmp::Reverse(value)));
                most.map_or(0, |(&value, _)| value)
            }
        }
    }
}
