//! Which blocks a box can touch.
//!
//! The box grows by [`REACH`] and becomes a range of cells. Ranges turn into bits by
//! table, a vertical and a horizontal strip to each slice: of the chunks of a page, the
//! blocks of a chunk, and the cells of a block. So what is empty is passed over by the
//! word, and a slice of 64 cells is one AND.
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017), "Bit broadphase: queries".

use crate::bits::{BLOCK_LOG2, Block, BlockMask, for_bits};
use crate::collide::Surfaces;
use crate::math::Aabb;
use crate::voxel::{ChunkPos, PagePos, page_of};

#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
use super::plain as fast;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
use super::simd as fast;
use super::{Broadphase, ChunkBlocks, PageBlocks, Touch, block_of_bit, chunk_of_bit};

/// Cells from `min` to `max`, both inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cells {
    pub min: [i32; 3],
    pub max: [i32; 3],
}

/// Bits x + 8 z with x from the first to the second index.
static COLUMNS: [[u64; 8]; 8] = strips(1);
/// Bits x + 8 z with z from the first to the second index.
static ROWS: [[u64; 8]; 8] = strips(8);

const fn strips(step: usize) -> [[u64; 8]; 8] {
    let mut table = [[0; 8]; 8];
    let mut from = 0;
    while from < 8 {
        let mut to = from;
        while to < 8 {
            let mut bit = 0;
            while bit < 64 {
                let at = bit / step % 8;
                if from <= at && at <= to {
                    table[from][to] |= 1 << bit;
                }
                bit += 1;
            }
            to += 1;
        }
        from += 1;
    }
    table
}

/// Slices from the first to the second index: all bits, the others none.
static SLICES: [[BlockMask; 8]; 8] = {
    let mut table = [[[0; 8]; 8]; 8];
    let mut at = 0;
    while at < 512 {
        let (from, to, y) = (at >> 6, at >> 3 & 7, at & 7);
        if from <= y && y <= to {
            table[from][to][y] = u64::MAX;
        }
        at += 1;
    }
    table
};

/// Bits x + 4 z + 16 y of the blocks of a chunk, by axis, from the first to the second
/// index.
static BLOCKS: [[[u64; 4]; 4]; 3] = [block_strips(1), block_strips(16), block_strips(4)];

const fn block_strips(step: usize) -> [[u64; 4]; 4] {
    let mut table = [[0; 4]; 4];
    let mut at = 0;
    while at < 1024 {
        let (from, to, bit) = (at >> 8, at >> 6 & 3, at & 63);
        let v = bit / step % 4;
        if from <= v && v <= to {
            table[from][to] |= 1 << bit;
        }
        at += 1;
    }
    table
}

/// Bits x + 4 z + 16 y of blocks from `min` to `max`, each 0 to 3.
#[inline(always)]
fn blocks_between(min: [usize; 3], max: [usize; 3]) -> u64 {
    let strip = |axis: usize| BLOCKS[axis][min[axis] & 3][max[axis] & 3];
    strip(0) & strip(1) & strip(2)
}

/// Whether a mask has any bit in a slice of columns, from some slices on.
#[inline(always)]
fn any(mask: &BlockMask, columns: u64, slices: &BlockMask) -> bool {
    let mut any = 0;
    for y in 0..8 {
        any |= mask[y] & slices[y];
    }
    any & columns != 0
}

impl Cells {
    /// The cells whose faces may touch a box; none if it is no box, or lies where no
    /// cells are.
    #[inline(always)]
    pub fn reached(aabb: &Aabb) -> Option<Cells> {
        let (min, max) = fast::reached(aabb)?;
        Some(Cells { min, max })
    }

    /// The part in the cube of `1 << LOG2` cells at `at`, in cells of `1 << shift` from
    /// its lowest; none if it is empty.
    #[inline(always)]
    fn within(&self, at: [i32; 3], log2: u32, shift: u32) -> [[usize; 3]; 2] {
        let last = (1 << log2) - 1;
        let clip = |v: i32, axis: usize| {
            let low = at[axis] << log2;
            ((v.clamp(low, low + last) - low) >> shift) as usize
        };
        [[0, 1, 2].map(|a| clip(self.min[a], a)), [0, 1, 2].map(|a| clip(self.max[a], a))]
    }
}

impl Broadphase {
    /// Calls `visit` for every block that can have a triangle that meets `aabb` (voxels),
    /// with what of it: those that own a cell with a solid face, or with water, within
    /// [`REACH`](crate::collide::REACH) of the box on each axis. In no order; each block
    /// once. No block is left out that has such a triangle in its mesh. A box that has NaN
    /// or infinity, or is inside out, meets nothing.
    #[inline]
    pub fn blocks_in(&self, aabb: &Aabb, surfaces: Surfaces, mut visit: impl FnMut(Block, Touch)) {
        let Some(cells) = Cells::reached(aabb) else { return };
        let [first, last] = [cells.min, cells.max].map(|corner| corner.map(|v| v >> BLOCK_LOG2));
        let wide = [0, 1, 2].map(|axis| (last[axis] - first[axis]) >> 1);
        if wide[0] | wide[1] | wide[2] == 0 {
            let corner = Corner::new(&cells, first, last);
            let apart = [0, 1, 2].map(|axis| (first[axis] ^ last[axis]) >> 2);
            return match apart[0] | apart[1] | apart[2] {
                0 => self.few_blocks_of_one(&corner, surfaces, visit),
                _ => self.few_blocks(&corner, surfaces, visit),
            };
        }
        self.each_chunk(&cells, surfaces, |chunk, record| match record {
            Some(record) => record.blocks_in(chunk, &cells, surfaces, &mut visit),
            None => {
                let [min, max] = cells.within([chunk.x, chunk.y, chunk.z], 5, BLOCK_LOG2);
                let touch = Touch { solid: false, liquid: true };
                for_bits(blocks_between(min, max), |bit| visit(block_of_bit(chunk, bit), touch));
            }
        });
    }

    /// As [`Broadphase::blocks_in`], for the blocks that own faces of `surfaces` only, with
    /// their chunks' records.
    #[inline]
    pub(crate) fn records_in<'a>(
        &'a self,
        aabb: &Aabb,
        surfaces: Surfaces,
        mut visit: impl FnMut(Block, &'a ChunkBlocks),
    ) {
        self.blocks_in(aabb, surfaces, |block, touch| {
            if let Some((record, bit)) = self.record(block)
                && ((touch.solid && record.shows(bit, Surfaces::Solid))
                    || (touch.liquid && record.shows(bit, Surfaces::Liquid)))
            {
                visit(block, record);
            }
        });
    }

    /// Whether a box may touch any face of `surfaces`.
    pub(crate) fn meets(&self, aabb: &Aabb, surfaces: Surfaces) -> bool {
        let mut any = false;
        self.records_in(aabb, surfaces, |_, _| any = true);
        any
    }

    /// As [`Broadphase::blocks_in`], for at most two blocks along each axis, all of one
    /// chunk: three of four small boxes.
    #[inline(always)]
    fn few_blocks_of_one(
        &self,
        corner: &Corner,
        surfaces: Surfaces,
        mut visit: impl FnMut(Block, Touch),
    ) {
        let [x, y, z] = corner.first.map(|v| v >> 2);
        let chunk = ChunkPos::new(x, y, z);
        if let Some(page) = self.page(page_of(chunk)) {
            let [from, to] = [corner.first, corner.last].map(|at| at.map(|v| (v & 3) as usize));
            page.few_blocks(chunk, corner, blocks_between(from, to), surfaces, &mut visit);
        }
    }

    /// As [`Broadphase::blocks_in`], for at most two blocks along each axis.
    #[cold]
    fn few_blocks(&self, corner: &Corner, surfaces: Surfaces, mut visit: impl FnMut(Block, Touch)) {
        let [first, last] = [corner.first, corner.last].map(|block| block.map(|v| v >> 2));
        for y in first[1]..=last[1] {
            for z in first[2]..=last[2] {
                for x in first[0]..=last[0] {
                    let chunk = ChunkPos::new(x, y, z);
                    if let Some(page) = self.page(page_of(chunk)) {
                        let at = [x << 2, y << 2, z << 2];
                        let from = [0, 1, 2].map(|a| (corner.first[a] - at[a]).max(0) as usize);
                        let to = [0, 1, 2].map(|a| (corner.last[a] - at[a]).min(3) as usize);
                        let between = blocks_between(from, to);
                        page.few_blocks(chunk, corner, between, surfaces, &mut visit);
                    }
                }
            }
        }
    }

    /// Calls for every chunk among `cells` that has a record, and for those that are all
    /// liquid where liquids are asked for.
    #[inline(always)]
    pub(super) fn each_chunk<'a>(
        &'a self,
        cells: &Cells,
        surfaces: Surfaces,
        mut visit: impl FnMut(ChunkPos, Option<&'a ChunkBlocks>),
    ) {
        let [from, to] = [cells.min, cells.max].map(|corner| corner.map(|v| v >> 8));
        if from == to {
            let [x, y, z] = from;
            let position = PagePos::new(x, y, z);
            if let Some(page) = self.page(position) {
                page.each_chunk(position, cells, surfaces, &mut visit);
            }
            return;
        }
        self.each_page(from, to, |position, page| {
            page.each_chunk(position, cells, surfaces, &mut visit);
        });
    }

    /// Calls for every page between two, by position or, where fewer, all there are.
    fn each_page<'a>(
        &'a self,
        from: [i32; 3],
        to: [i32; 3],
        mut visit: impl FnMut(PagePos, &'a PageBlocks),
    ) {
        let edges = [0, 1, 2].map(|axis| (to[axis] - from[axis]) as u64 + 1);
        let count = edges[0].saturating_mul(edges[1]).saturating_mul(edges[2]);
        if count > self.pages.len() as u64 {
            for (at, page) in self.pages.iter() {
                let position = [at.x, at.y, at.z];
                if (0..3).all(|axis| from[axis] <= position[axis] && position[axis] <= to[axis]) {
                    visit(at, page);
                }
            }
            return;
        }
        for y in from[1]..=to[1] {
            for (x, z) in (from[2]..=to[2]).flat_map(|z| (from[0]..=to[0]).map(move |x| (x, z))) {
                let position = PagePos::new(x, y, z);
                if let Some(page) = self.page(position) {
                    visit(position, page);
                }
            }
        }
    }
}

/// Cells of at most two blocks along each axis, around the corner between those.
struct Corner {
    /// Block coordinates.
    first: [i32; 3],
    last: [i32; 3],
    /// Bits x + 8 z: the columns in the first and second block along X; along Z.
    columns: [[u64; 2]; 2],
    /// The slices in the first and second block along Y.
    slices: [&'static BlockMask; 2],
}

impl Corner {
    #[inline(always)]
    fn new(cells: &Cells, first: [i32; 3], last: [i32; 3]) -> Corner {
        let ends = |axis: usize| {
            let [from, to] = [cells.min, cells.max].map(|corner| (corner[axis] & 7) as usize);
            [from, if first[axis] == last[axis] { to } else { 7 }, to]
        };
        let two = |table: &'static [[u64; 8]; 8], [from, to, end]: [usize; 3]| {
            [table[from][to], table[0][end]]
        };
        let [from, to, end] = ends(1);
        Corner {
            first,
            last,
            columns: [two(&COLUMNS, ends(0)), two(&ROWS, ends(2))],
            slices: [&SLICES[from][to], &SLICES[0][end]],
        }
    }
}

impl PageBlocks {
    /// The blocks of one chunk among a few.
    #[inline(always)]
    fn few_blocks(
        &self,
        chunk: ChunkPos,
        corner: &Corner,
        between: u64,
        surfaces: Surfaces,
        visit: &mut impl FnMut(Block, Touch),
    ) {
        let Some(record) = self.chunk(chunk) else {
            if surfaces.liquid() && self.words(chunk).all_liquid != 0 {
                let touch = Touch { solid: false, liquid: true };
                for_bits(between, |bit| visit(block_of_bit(chunk, bit), touch));
            }
            return;
        };
        record.asked(surfaces, between, |bit, tests| {
            // The first or the second along each axis: they differ in the last bit.
            let second = |bit: u32, axis: usize| ((bit ^ corner.first[axis] as u32) & 1) as usize;
            let columns =
                corner.columns[0][second(bit, 0)] & corner.columns[1][second(bit >> 2, 2)];
            let touch = tests.run(columns, corner.slices[second(bit >> 4, 1)]);
            if touch.solid || touch.liquid {
                visit(block_of_bit(chunk, bit), touch);
            }
        });
    }

    #[inline(always)]
    fn each_chunk<'a>(
        &'a self,
        page: PagePos,
        cells: &Cells,
        surfaces: Surfaces,
        visit: &mut impl FnMut(ChunkPos, Option<&'a ChunkBlocks>),
    ) {
        let [min, max] = cells.within([page.x, page.y, page.z], 8, 5);
        let slice = COLUMNS[min[0]][max[0]] & ROWS[min[2]][max[2]];
        for y in min[1]..=max[1] {
            let liquid = if surfaces.liquid() { self.all_liquid[y] } else { 0 };
            for_bits((self.stored[y] | liquid) & slice, |bit| {
                visit(chunk_of_bit(page, y, bit), self.record(y, bit));
            });
        }
    }
}

/// What of a block is to be compared with a box.
struct Tests<'a> {
    solid: Option<&'a BlockMask>,
    wet: Option<&'a BlockMask>,
    all_liquid: bool,
}

impl Tests<'_> {
    #[inline(always)]
    fn run(&self, columns: u64, slices: &BlockMask) -> Touch {
        let meets = |mask: Option<&BlockMask>| mask.is_some_and(|mask| any(mask, columns, slices));
        Touch { solid: meets(self.solid), liquid: self.all_liquid || meets(self.wet) }
    }
}

impl ChunkBlocks {
    /// Calls for each of the blocks `between` that has something that is asked for.
    #[inline(always)]
    fn asked(&self, surfaces: Surfaces, between: u64, mut each: impl FnMut(u32, Tests<'_>)) {
        let words = &self.words;
        let solid = if surfaces.solid() { words.solid } else { 0 };
        let [wet, all_liquid] =
            if surfaces.liquid() { [words.wet, words.all_liquid] } else { [0; 2] };
        for_bits((solid | wet | all_liquid) & between, |bit| {
            let has = |word: u64| word >> bit & 1 != 0;
            let tests = Tests {
                solid: has(solid).then(|| self.solid_mask(bit)),
                wet: has(wet).then(|| self.wet_mask(bit)),
                all_liquid: has(all_liquid),
            };
            each(bit, tests);
        });
    }

    #[inline(always)]
    fn blocks_in(
        &self,
        chunk: ChunkPos,
        cells: &Cells,
        surfaces: Surfaces,
        visit: &mut impl FnMut(Block, Touch),
    ) {
        let [min, max] = cells.within([chunk.x, chunk.y, chunk.z], 5, BLOCK_LOG2);
        self.asked(surfaces, blocks_between(min, max), |bit, tests| {
            let block = block_of_bit(chunk, bit);
            let [min, max] = cells.within([block.x, block.y, block.z], BLOCK_LOG2, 0);
            let columns = COLUMNS[min[0]][max[0]] & ROWS[min[2]][max[2]];
            let touch = tests.run(columns, &SLICES[min[1]][max[1]]);
            if touch.solid || touch.liquid {
                visit(block, touch);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::plain;
    use super::*;
    use crate::voxel::LIMIT;

    #[test]
    fn cells_that_are_reached_are_closed_and_exact() {
        let reached = |min: f64, max: f64| {
            let cells = Cells::reached(&Aabb::new([min; 3], [max; 3]));
            cells.map(|cells| (cells.min[0], cells.max[0]))
        };
        // Cell −1 ends at 0 and may reach to ¾; cell 2 may reach down to 1¼.
        assert_eq!(reached(0.75, 1.25), Some((-1, 2)));
        assert_eq!(reached(0.76, 1.24), Some((0, 1)));
        assert_eq!(reached(-0.25, -0.25), Some((-2, 0)));
        assert_eq!(reached(-8.0, -7.5), Some((-9, -7)));
        assert_eq!(reached(0.5, f64::INFINITY), None);
        assert_eq!(reached(f64::NAN, 1.0), None);
        assert_eq!(reached(1.0, f64::NAN), None);
        assert_eq!(reached(1.0, 0.5), None);
        assert_eq!(reached(1e12, 1e12), None);
        let limit = f64::from(LIMIT);
        assert_eq!(reached(limit - 0.5, 1e300).map(|c| c.0), Some(LIMIT - 2));
        assert_eq!(reached(-1e300, -limit).map(|c| c.1), Some(-LIMIT));
    }

    #[test]
    fn vector_code_reaches_the_same_cells() {
        let limit = f64::from(LIMIT);
        let values = [
            0.0,
            -0.0,
            0.25,
            -0.25,
            0.75,
            -0.75,
            7.9999,
            8.0,
            -8.0,
            1e-300,
            -1e-300,
            31.25,
            1e6,
            -1e6 - 0.3,
            limit - 0.5,
            -limit,
            limit + 0.5,
            limit + 2.0,
            -limit - 2.0,
            1e300,
            -1e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for (min, max) in values.iter().flat_map(|&a| values.map(|b| (a, b))) {
            for axis in 0..3 {
                let mut aabb = Aabb::new([-1.5, 2.0, 3.3], [0.5, 9.25, 3.3]);
                (aabb.min[axis], aabb.max[axis]) = (min, max);
                assert_eq!(fast::reached(&aabb), plain::reached(&aabb), "{aabb:?}");
            }
        }
    }

    #[test]
    fn strips_are_ranges_of_bits() {
        for (from, to) in (0..8).flat_map(|from| (from..8).map(move |to| (from, to))) {
            for (x, z) in (0..8).flat_map(|z| (0..8).map(move |x| (x, z))) {
                let bit = 1u64 << (x + 8 * z);
                assert_eq!(COLUMNS[from][to] & bit != 0, (from..=to).contains(&x));
                assert_eq!(ROWS[from][to] & bit != 0, (from..=to).contains(&z));
            }
        }
        let all = |from: usize| (from..4).map(move |to| (from, to));
        for (x, y, z) in
            (0..4).flat_map(all).flat_map(|x| (0..4).flat_map(all).map(move |y| (x, y, (y.0, 3))))
        {
            for bit in 0..64usize {
                let at = [bit & 3, bit >> 4, bit >> 2 & 3];
                let inside = [x, y, z].iter().zip(at).all(|(r, v)| r.0 <= v && v <= r.1);
                let word = blocks_between([x.0, y.0, z.0], [x.1, y.1, z.1]);
                assert_eq!(word >> bit & 1 != 0, inside);
            }
        }
    }
}
