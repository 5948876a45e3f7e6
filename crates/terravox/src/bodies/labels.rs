//! Connected-component labelling of the solid cells of a chunk, by runs along X.
//!
//! Rows are bit masks. A run takes the label of a run that it touches in the previous row in Z or
//! in the slice below; if it touches several, their labels are merged. Source: He, Chao and Suzuki,
//! "A run-based two-scan labeling algorithm" (2008), extended to three dimensions. Memory is
//! allocated once, for the most runs that a chunk can have.

use crate::bits::solid_rows;
use crate::voxel::{ChunkView, Kind, Region, VoxelPos};

/// Stands for no label.
const NONE: u16 = u16::MAX;

/// The most runs of a chunk: every other cell of a row.
const MAX_RUNS: usize = 16 * 1024;

/// The clumps of one chunk, by cell.
pub(super) struct Labels {
    /// By row z + 32 y: solid cells, bit x.
    rows: Box<[u32; 1024]>,
    /// By row: index of its first run.
    first: Box<[u16; 1025]>,
    /// By run: its clump.
    clumps: Vec<u16>,
    /// By label: one that it was merged with, never a larger one.
    parents: Vec<u16>,
    /// By clump: number of cells.
    cells: Vec<u32>,
    /// By clump: its first cell, x + 32 z + 1024 y.
    firsts: Vec<u16>,
}

impl Default for Labels {
    fn default() -> Labels {
        Labels {
            rows: Box::new([0; 1024]),
            first: Box::new([0; 1025]),
            clumps: Vec::with_capacity(MAX_RUNS),
            parents: Vec::with_capacity(MAX_RUNS),
            cells: Vec::with_capacity(MAX_RUNS),
            firsts: Vec::with_capacity(MAX_RUNS),
        }
    }
}

impl Labels {
    /// Labels the solid cells of a chunk. Clumps are numbered by their first run, z before y.
    pub fn read(&mut self, chunk: ChunkView<'_>, kinds: &[Kind; 256]) {
        solid_rows(chunk, kinds, &mut self.rows);
        self.clumps.clear();
        self.parents.clear();
        self.cells.clear();
        self.firsts.clear();
        for row in 0..1024 {
            self.first[row] = self.clumps.len() as u16;
            for run in runs(self.rows[row]) {
                let mut label = NONE;
                if row % 32 != 0 {
                    label = self.merge_touching(row - 1, run, label);
                }
                if row >= 32 {
                    label = self.merge_touching(row - 32, run, label);
                }
                if label == NONE {
                    label = self.parents.len() as u16;
                    self.parents.push(label);
                    self.cells.push(0);
                    self.firsts.push((32 * row) as u16 + run.trailing_zeros() as u16);
                }
                self.cells[usize::from(label)] += run.count_ones();
                self.clumps.push(label);
            }
        }
        self.first[1024] = self.clumps.len() as u16;
        self.renumber();
    }

    /// Returns the label of a run with `label` so far, after merging it with the runs that it
    /// touches in another row.
    #[inline(always)]
    fn merge_touching(&mut self, row: usize, run: u32, mut label: u16) -> u16 {
        let there = self.rows[row];
        let mut both = there & run;
        // Fast path: most rows have one run.
        if both != 0 && self.first[row + 1] == self.first[row] + 1 {
            let other = self.clumps[usize::from(self.first[row])];
            return match label {
                NONE => other,
                label if label == other => label,
                label => self.join(label, other),
            };
        }
        while both != 0 {
            let low = both & both.wrapping_neg();
            let other = self.clumps[self.run_at(row, low)];
            label = match label {
                NONE => other,
                label if label == other => label,
                label => self.join(label, other),
            };
            both &= !run_from(there, low);
        }
        label
    }

    /// Returns the index of the run that contains the cell of a bit of a row.
    #[inline(always)]
    fn run_at(&self, row: usize, bit: u32) -> usize {
        let bits = self.rows[row];
        let starts = bits & !(bits << 1);
        let before = (starts & (bit | (bit - 1))).count_ones() as usize;
        usize::from(self.first[row]) + before - 1
    }

    fn root(&mut self, mut label: u16) -> u16 {
        while self.parents[usize::from(label)] != label {
            let next = self.parents[usize::from(label)];
            self.parents[usize::from(label)] = self.parents[usize::from(next)];
            label = next;
        }
        label
    }

    fn join(&mut self, a: u16, b: u16) -> u16 {
        let [a, b] = [self.root(a), self.root(b)];
        let (low, high) = (a.min(b), a.max(b));
        self.parents[usize::from(high)] = low;
        low
    }

    /// Renumbers clumps without gaps.
    fn renumber(&mut self) {
        let mut count = 0;
        for label in 0..self.parents.len() {
            let parent = usize::from(self.parents[label]);
            let cells = self.cells[label];
            if parent == label {
                self.parents[label] = count;
                self.cells[usize::from(count)] = cells;
                self.firsts[usize::from(count)] = self.firsts[label];
                count += 1;
            } else {
                // A smaller label, so it is renumbered already.
                self.parents[label] = self.parents[parent];
                self.cells[usize::from(self.parents[label])] += cells;
            }
        }
        self.cells.truncate(usize::from(count));
        self.firsts.truncate(usize::from(count));
        if count > 1 {
            let number = |clump: &mut u16| *clump = self.parents[usize::from(*clump)];
            self.clumps.iter_mut().for_each(number);
        } else {
            self.clumps.fill(0);
        }
    }

    /// Returns the number of clumps.
    pub fn count(&self) -> usize {
        self.cells.len()
    }

    /// Returns the number of cells by clump.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// Returns the first cell by clump, x + 32 z + 1024 y.
    pub fn firsts(&self) -> &[u16] {
        &self.firsts
    }

    /// Returns the clump of a solid cell, x + 32 z + 1024 y.
    pub fn clump_at(&self, cell: u16) -> u16 {
        self.clumps[self.run_at(usize::from(cell / 32), 1 << (cell % 32))]
    }

    /// Returns the solid cells by row z + 32 y, bit x.
    pub fn rows(&self) -> &[u32; 1024] {
        &self.rows
    }

    /// Returns the runs of a row (z + 32 y) and their clumps.
    pub fn runs(&self, row: usize) -> impl Iterator<Item = (u32, u16)> + '_ {
        let first = usize::from(self.first[row]);
        runs(self.rows[row]).zip(self.clumps[first..].iter().copied())
    }

    /// Calls `each` with the runs of `region` of the chunk at `origin`, clipped to it, and their
    /// clumps.
    pub fn runs_in(
        &self,
        region: Region,
        origin: VoxelPos,
        mut each: impl FnMut([usize; 2], u32, u16),
    ) {
        let local = Region { min: region.min - origin, max: region.max - origin };
        let local = local.intersect(Region::new([0; 3], [32; 3]));
        if local.is_empty() {
            return;
        }
        let mask = (u32::MAX >> (32 - (local.max.x - local.min.x))) << local.min.x;
        for y in local.min.y as usize..local.max.y as usize {
            for z in local.min.z as usize..local.max.z as usize {
                for (run, clump) in self.runs(z + 32 * y) {
                    if run & mask != 0 {
                        each([y, z], run & mask, clump);
                    }
                }
            }
        }
    }
}

/// Returns the runs of a word, lowest first.
pub(super) fn runs(mut bits: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let run = run_from(bits, bits & bits.wrapping_neg());
        bits &= !run;
        (run != 0).then_some(run)
    })
}

/// Returns the rest of the run of `bits` that contains `low`, from `low` on.
#[inline(always)]
fn run_from(bits: u32, low: u32) -> u32 {
    // The sum carries to the end of the run.
    bits & !bits.wrapping_add(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::{Cell, ChunkPos, DenseBox, VoxelGrid};
    use proptest::prelude::*;

    #[test]
    fn runs_of_a_word() {
        let all = |bits| runs(bits).collect::<Vec<_>>();
        assert!(all(0).is_empty());
        assert_eq!(all(u32::MAX), [u32::MAX]);
        assert_eq!(all(0b1011_0001), [1, 0b11_0000, 0b1000_0000]);
        assert_eq!(all(1 << 31 | 1), [1, 1 << 31]);
    }

    /// The slow twin: a flood from each cell, numbered like the fast path.
    fn flooded(solid: &[bool]) -> Vec<Option<u16>> {
        let mut clumps = vec![None; solid.len()];
        let mut count = 0;
        for start in 0..solid.len() {
            if !solid[start] || clumps[start].is_some() {
                continue;
            }
            let mut queue = vec![start];
            clumps[start] = Some(count);
            while let Some(at) = queue.pop() {
                for (step, place) in [(1, at % 32), (32, at / 32 % 32), (1024, at / 1024)] {
                    let near = [(place > 0).then(|| at - step), (place < 31).then(|| at + step)];
                    for next in near.into_iter().flatten() {
                        if solid[next] && clumps[next].is_none() {
                            clumps[next] = Some(count);
                            queue.push(next);
                        }
                    }
                }
            }
            count += 1;
        }
        clumps
    }

    fn check(solid: &[bool]) {
        let chunk = ChunkPos::new(-1, 0, -3);
        let mut cells = DenseBox::new(chunk.region());
        for (i, pos) in chunk.region().voxels().enumerate() {
            cells.set(pos, if solid[i] { Cell::full(8) } else { Cell::AIR });
        }
        let mut grid = VoxelGrid::default();
        grid.write(&cells).unwrap();
        let mut labels = Labels::default();
        labels.read(grid.chunk(chunk).unwrap(), grid.materials().kinds());
        let expected = flooded(solid);
        let mut seen = vec![None; solid.len()];
        labels.runs_in(chunk.region(), chunk.min_voxel(), |[y, z], run, clump| {
            (0..32).filter(|x| run >> x & 1 != 0).for_each(|x| {
                seen[x + 32 * (z + 32 * y)] = Some(clump);
            });
        });
        assert!(seen == expected);
        let count = expected.iter().flatten().max().map_or(0, |most| usize::from(*most) + 1);
        let cells = |clump: usize| expected.iter().filter(|c| **c == Some(clump as u16)).count();
        let cells: Vec<_> = (0..count).map(|clump| cells(clump) as u32).collect();
        assert_eq!(labels.cells(), cells);
        for (clump, &cell) in labels.firsts().iter().enumerate() {
            let first = expected.iter().position(|c| *c == Some(clump as u16));
            assert_eq!(first, Some(usize::from(cell)));
            assert_eq!(usize::from(labels.clump_at(cell)), clump);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn clumps_equal_those_of_a_flood(
            share in 0u32..16, seed: u64,
            boxes in proptest::collection::vec(
                (proptest::array::uniform3(0usize..32), proptest::array::uniform3(1usize..20),
                    any::<bool>()), 0..8),
        ) {
            let mut state = seed | 1;
            let mut solid = vec![false; 32_768];
            for cell in &mut solid {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                *cell = state as u32 >> 8 & 31 < share;
            }
            for (min, size, fill) in boxes {
                let end = |i: usize| (min[i] + size[i]).min(32);
                for y in min[1]..end(1) {
                    for z in min[2]..end(2) {
                        (min[0]..end(0)).for_each(|x| solid[x + 32 * (z + 32 * y)] = fill);
                    }
                }
            }
            check(&solid);
        }
    }

    #[test]
    fn a_checkerboard_has_the_most_clumps() {
        let solid = |i: usize| (i % 32 + i / 32 % 32 + i / 1024).is_multiple_of(2);
        check(&(0..32_768).map(solid).collect::<Vec<_>>());
        let comb = |i: usize| i.is_multiple_of(2) || i / 32 == 1023;
        check(&(0..32_768).map(comb).collect::<Vec<_>>());
    }
}
