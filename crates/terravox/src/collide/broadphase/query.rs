//! Which blocks a box can touch.
//!
//! The box grows by [`REACH`](crate::collide::REACH) and becomes a range of cells. Tables turn
//! ranges into bits, a vertical and a horizontal strip for each slice: of the chunks of a page,
//! the blocks of a chunk, and the cells of a block. So empty space is skipped by the word, and a
//! slice of 64 cells is one AND.
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017), "Bit broadphase: queries".

use crate::bits::{BLOCK_LOG2, BlockMask, CollisionBlock, for_bits};
use crate::collide::query::Surfaces;
use crate::math::Aabb;
use crate::voxel::{ChunkPos, PagePos, page_of};

#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
use super::scalar as fast;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
use super::simd as fast;

use super::chunk::{ChunkBlocks, block_bit, block_of_bit};
use super::page::{PageBlocks, chunk_of_bit};
use super::pages::Pages;

/// Which surfaces of a block a box may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockOverlap {
    /// The ground: solid faces.
    pub solid: bool,
    /// Water: liquid cells, solid cells that hold water, and their surface.
    pub liquid: bool,
}

/// Cells from `min` to `max`, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CellRange {
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

/// All bits of the slices from the first to the second index, none of the others.
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

impl CellRange {
    /// The cells whose faces may touch a box; `None` if the box is invalid or lies outside of
    /// the limits of the world.
    #[inline(always)]
    pub fn reached(aabb: &Aabb) -> Option<CellRange> {
        let (min, max) = fast::reached(aabb)?;
        Some(CellRange { min, max })
    }

    /// The range clamped to the cube of `1 << log2` cells at `at`, in cells of `1 << shift` from
    /// its lowest.
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

/// Calls `visit` for every block that can have a triangle that meets `aabb`, with its surfaces
/// that can.
#[inline]
pub(super) fn blocks_in(
    pages: &Pages,
    aabb: &Aabb,
    surfaces: Surfaces,
    mut visit: impl FnMut(CollisionBlock, BlockOverlap),
) {
    let Some(cells) = CellRange::reached(aabb) else { return };
    let [first, last] = [cells.min, cells.max].map(|corner| corner.map(|v| v >> BLOCK_LOG2));
    let wide = [0, 1, 2].map(|axis| (last[axis] - first[axis]) >> 1);
    if wide[0] | wide[1] | wide[2] == 0 {
        let pairs = BlockPairs::new(&cells, first, last);
        let apart = [0, 1, 2].map(|axis| (first[axis] ^ last[axis]) >> 2);
        return match apart[0] | apart[1] | apart[2] {
            0 => few_blocks_of_one(pages, &pairs, surfaces, visit),
            _ => few_blocks(pages, &pairs, surfaces, visit),
        };
    }
    each_chunk(pages, &cells, surfaces, |chunk, record| match record {
        Some(record) => blocks_of_chunk(record, chunk, &cells, surfaces, &mut visit),
        None => {
            let [min, max] = cells.within([chunk.x, chunk.y, chunk.z], 5, BLOCK_LOG2);
            let overlap = BlockOverlap { solid: false, liquid: true };
            for_bits(blocks_between(min, max), |bit| visit(block_of_bit(chunk, bit), overlap));
        }
    });
}

/// Whether a box may touch any face of `surfaces`. After the first no masks are compared.
pub(super) fn meets(pages: &Pages, aabb: &Aabb, surfaces: Surfaces) -> bool {
    let Some(cells) = CellRange::reached(aabb) else { return false };
    let mut meets = false;
    each_chunk(pages, &cells, surfaces, |chunk, record| {
        let Some(record) = record.filter(|_| !meets) else { return };
        blocks_of_chunk(record, chunk, &cells, surfaces, &mut |block, overlap| {
            let shows = |surfaces| record.shows(block_bit(block), surfaces);
            meets |= (overlap.solid && shows(Surfaces::Solid))
                || (overlap.liquid && shows(Surfaces::Liquid));
        });
    });
    meets
}

/// As [`blocks_in`], for at most two blocks along each axis, all of one chunk: three of four
/// small boxes.
#[inline(always)]
fn few_blocks_of_one(
    pages: &Pages,
    pairs: &BlockPairs,
    surfaces: Surfaces,
    mut visit: impl FnMut(CollisionBlock, BlockOverlap),
) {
    let [x, y, z] = pairs.first.map(|v| v >> 2);
    let chunk = ChunkPos::new(x, y, z);
    if let Some(page) = pages.get(page_of(chunk)) {
        let [from, to] = [pairs.first, pairs.last].map(|at| at.map(|v| (v & 3) as usize));
        few_blocks_of_chunk(page, chunk, pairs, blocks_between(from, to), surfaces, &mut visit);
    }
}

/// As [`blocks_in`], for at most two blocks along each axis.
#[cold]
fn few_blocks(
    pages: &Pages,
    pairs: &BlockPairs,
    surfaces: Surfaces,
    mut visit: impl FnMut(CollisionBlock, BlockOverlap),
) {
    let [first, last] = [pairs.first, pairs.last].map(|block| block.map(|v| v >> 2));
    for y in first[1]..=last[1] {
        for z in first[2]..=last[2] {
            for x in first[0]..=last[0] {
                let chunk = ChunkPos::new(x, y, z);
                if let Some(page) = pages.get(page_of(chunk)) {
                    let at = [x << 2, y << 2, z << 2];
                    let from = [0, 1, 2].map(|a| (pairs.first[a] - at[a]).max(0) as usize);
                    let to = [0, 1, 2].map(|a| (pairs.last[a] - at[a]).min(3) as usize);
                    let between = blocks_between(from, to);
                    few_blocks_of_chunk(page, chunk, pairs, between, surfaces, &mut visit);
                }
            }
        }
    }
}

/// Calls `visit` for every chunk among `cells` that has a record and, if `surfaces` has
/// liquids, for those that are all liquid, with `None`.
#[inline(always)]
pub(super) fn each_chunk<'a>(
    pages: &'a Pages,
    cells: &CellRange,
    surfaces: Surfaces,
    mut visit: impl FnMut(ChunkPos, Option<&'a ChunkBlocks>),
) {
    let [from, to] = [cells.min, cells.max].map(|corner| corner.map(|v| v >> 8));
    if from == to {
        let [x, y, z] = from;
        let position = PagePos::new(x, y, z);
        if let Some(page) = pages.get(position) {
            chunks_of_page(page, position, cells, surfaces, &mut visit);
        }
        return;
    }
    each_page(pages, from, to, |position, page| {
        chunks_of_page(page, position, cells, surfaces, &mut visit);
    });
}

/// Calls `visit` for every page from `from` to `to`: looked up one by one, or all pages
/// filtered if those are fewer.
fn each_page<'a>(
    pages: &'a Pages,
    from: [i32; 3],
    to: [i32; 3],
    mut visit: impl FnMut(PagePos, &'a PageBlocks),
) {
    let edges = [0, 1, 2].map(|axis| (to[axis] - from[axis]) as u64 + 1);
    let count = edges[0].saturating_mul(edges[1]).saturating_mul(edges[2]);
    if count > pages.len() as u64 {
        for (at, page) in pages.iter() {
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
            if let Some(page) = pages.get(position) {
                visit(position, page);
            }
        }
    }
}

/// Cells of at most two blocks along each axis, with the strips of both.
struct BlockPairs {
    /// Block coordinates.
    first: [i32; 3],
    last: [i32; 3],
    /// Bits x + 8 z: the columns in the first and second block along X; along Z.
    columns: [[u64; 2]; 2],
    /// The slices in the first and second block along Y.
    slices: [&'static BlockMask; 2],
}

impl BlockPairs {
    #[inline(always)]
    fn new(cells: &CellRange, first: [i32; 3], last: [i32; 3]) -> BlockPairs {
        let ends = |axis: usize| {
            let [from, to] = [cells.min, cells.max].map(|corner| (corner[axis] & 7) as usize);
            [from, if first[axis] == last[axis] { to } else { 7 }, to]
        };
        let two = |table: &'static [[u64; 8]; 8], [from, to, end]: [usize; 3]| {
            [table[from][to], table[0][end]]
        };
        let [from, to, end] = ends(1);
        BlockPairs {
            first,
            last,
            columns: [two(&COLUMNS, ends(0)), two(&ROWS, ends(2))],
            slices: [&SLICES[from][to], &SLICES[0][end]],
        }
    }
}

/// Visits the touched blocks of one chunk among a few blocks.
#[inline(always)]
fn few_blocks_of_chunk(
    page: &PageBlocks,
    chunk: ChunkPos,
    pairs: &BlockPairs,
    between: u64,
    surfaces: Surfaces,
    visit: &mut impl FnMut(CollisionBlock, BlockOverlap),
) {
    let Some(record) = page.chunk(chunk) else {
        if surfaces.liquid() && page.words(chunk).all_liquid != 0 {
            let overlap = BlockOverlap { solid: false, liquid: true };
            for_bits(between, |bit| visit(block_of_bit(chunk, bit), overlap));
        }
        return;
    };
    each_test(record, surfaces, between, |bit, test| {
        // The first or the second along each axis: they differ in the last bit.
        let second = |bit: u32, axis: usize| ((bit ^ pairs.first[axis] as u32) & 1) as usize;
        let columns = pairs.columns[0][second(bit, 0)] & pairs.columns[1][second(bit >> 2, 2)];
        let overlap = test.run(columns, pairs.slices[second(bit >> 4, 1)]);
        if overlap.solid || overlap.liquid {
            visit(block_of_bit(chunk, bit), overlap);
        }
    });
}

/// Calls `visit` for the chunks of a page among `cells`, as [`each_chunk`].
#[inline(always)]
fn chunks_of_page<'a>(
    page: &'a PageBlocks,
    position: PagePos,
    cells: &CellRange,
    surfaces: Surfaces,
    visit: &mut impl FnMut(ChunkPos, Option<&'a ChunkBlocks>),
) {
    let [min, max] = cells.within([position.x, position.y, position.z], 8, 5);
    let slice = COLUMNS[min[0]][max[0]] & ROWS[min[2]][max[2]];
    for y in min[1]..=max[1] {
        let liquid = if surfaces.liquid() { page.all_liquid[y] } else { 0 };
        for_bits((page.stored[y] | liquid) & slice, |bit| {
            visit(chunk_of_bit(position, y, bit), page.record(y, bit));
        });
    }
}

/// The masks of a block to compare with a box.
struct BlockTest<'a> {
    solid: Option<&'a BlockMask>,
    wet: Option<&'a BlockMask>,
    all_liquid: bool,
}

impl BlockTest<'_> {
    #[inline(always)]
    fn run(&self, columns: u64, slices: &BlockMask) -> BlockOverlap {
        let meets = |mask: Option<&BlockMask>| mask.is_some_and(|mask| any(mask, columns, slices));
        BlockOverlap { solid: meets(self.solid), liquid: self.all_liquid || meets(self.wet) }
    }
}

/// Calls `visit` for each of the blocks `between` that has masks of `surfaces`.
#[inline(always)]
fn each_test(
    record: &ChunkBlocks,
    surfaces: Surfaces,
    between: u64,
    mut visit: impl FnMut(u32, BlockTest<'_>),
) {
    let words = &record.words;
    let solid = if surfaces.solid() { words.solid } else { 0 };
    let [wet, all_liquid] = if surfaces.liquid() { [words.wet, words.all_liquid] } else { [0; 2] };
    for_bits((solid | wet | all_liquid) & between, |bit| {
        let has = |word: u64| word >> bit & 1 != 0;
        let test = BlockTest {
            solid: has(solid).then(|| record.solid_mask(bit)),
            wet: has(wet).then(|| record.wet_mask(bit)),
            all_liquid: has(all_liquid),
        };
        visit(bit, test);
    });
}

/// Visits the touched blocks of a chunk.
#[inline(always)]
fn blocks_of_chunk(
    record: &ChunkBlocks,
    chunk: ChunkPos,
    cells: &CellRange,
    surfaces: Surfaces,
    visit: &mut impl FnMut(CollisionBlock, BlockOverlap),
) {
    let [min, max] = cells.within([chunk.x, chunk.y, chunk.z], 5, BLOCK_LOG2);
    each_test(record, surfaces, blocks_between(min, max), |bit, test| {
        let block = block_of_bit(chunk, bit);
        let [min, max] = cells.within([block.x, block.y, block.z], BLOCK_LOG2, 0);
        let columns = COLUMNS[min[0]][max[0]] & ROWS[min[2]][max[2]];
        let overlap = test.run(columns, &SLICES[min[1]][max[1]]);
        if overlap.solid || overlap.liquid {
            visit(block, overlap);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::scalar;
    use super::*;
    use crate::voxel::LIMIT;

    #[test]
    fn cells_that_are_reached_are_closed_and_exact() {
        let reached = |min: f64, max: f64| {
            let cells = CellRange::reached(&Aabb::new([min; 3], [max; 3]));
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
                assert_eq!(fast::reached(&aabb), scalar::reached(&aabb), "{aabb:?}");
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
