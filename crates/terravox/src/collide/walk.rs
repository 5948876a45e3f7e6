//! The blocks along a ray, near ones first.
//!
//! A block's surface may reach [`REACH`] beyond it, so a ray visits every block whose grown
//! cube it passes. Pages are visited layer by layer along the axis on which the ray is
//! fastest; inside them groups of 4³ chunks, chunks and blocks in the order of their
//! coordinates along the ray, from words with a bit for each that has a surface. A page that
//! does not exist costs one look-up, a chunk one bit, the empty blocks of a chunk one word.

use super::broadphase::{Broadphase, ChunkBlocks, PageBlocks, block_of_bit};
use super::query::{REACH, Surfaces};
use crate::bits::{BLOCK_LOG2, CollisionBlock};
use crate::math::normalized_ray;
use crate::voxel::{ChunkPos, PagePos, Region, Snapshot, UnlistedChunks};
use glam::{DVec3, IVec3};
use std::cell::Cell;

/// How much cubes grow, voxels: the reach, and a margin for rounding.
const GROWTH: f64 = REACH as f64 + 1e-4;

/// Replaces 1/0 for a component of 0 of the direction. Multiplied by any other distance it is beyond
/// every ray; multiplied by 0 it is 0, not NaN.
const STEEPEST: f64 = 1e280;

/// Maximum number of layers of pages that a ray looks up one by one; a ray through more sorts the
/// pages that exist.
const MAX_PAGE_LAYERS: i32 = 4096;

/// Shorter gaps between pages are rounding, voxels.
const MIN_GAP: f64 = 1e-3;

const CHUNK_LOG2: u32 = 5;
const CHUNK_GROUP_LOG2: u32 = 7;
const PAGE_LOG2: u32 = 8;

/// A valid ray, prepared for walking.
#[derive(Clone, Copy, Debug)]
pub(super) struct RayPath {
    pub origin: DVec3,
    /// Unit.
    pub direction: DVec3,
    inverse: DVec3,
    /// By axis: 1 where its coordinate decreases, else 0.
    down: [u32; 3],
    /// The axis on which it is fastest.
    main: usize,
    /// Length in voxels; may be infinite.
    pub length: f64,
}

/// An interval of a ray, voxels from its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RaySpan {
    pub enter: f64,
    pub leave: f64,
}

impl RayPath {
    /// The ray from `origin` along `direction` (of any length) over `length` voxels; `None` if
    /// it is invalid (NaN, infinite, too far away, zero direction).
    pub fn new(origin: [f64; 3], direction: [f64; 3], length: f64) -> Option<RayPath> {
        let [origin, direction] = normalized_ray(origin, direction).filter(|_| length > 0.0)?;
        let steep = |v: f64| if v.abs() < 1.0 / STEEPEST { STEEPEST } else { 1.0 / v };
        let inverse = DVec3::new(steep(direction.x), steep(direction.y), steep(direction.z));
        let size = direction.abs();
        let main = (0..3).fold(0, |most, axis| if size[axis] > size[most] { axis } else { most });
        let down = inverse.to_array().map(|v| u32::from(v < 0.0));
        Some(RayPath { origin, direction, inverse, down, main, length })
    }

    /// The point at distance `t`, voxels.
    pub fn at(&self, t: f64) -> DVec3 {
        self.origin + self.direction * t
    }

    /// The part of `span` inside the box from `low` to `high` (voxels), grown.
    #[inline]
    pub fn clip(&self, low: DVec3, high: DVec3, span: RaySpan) -> Option<RaySpan> {
        self.clip_exact(low - GROWTH, high + GROWTH, span)
    }

    /// The part of `span` inside the box from `low` to `high`, voxels (slab test: Kay and Kajiya, "Ray
    /// Tracing Complex Scenes", 1986).
    #[inline]
    fn clip_exact(&self, low: DVec3, high: DVec3, span: RaySpan) -> Option<RaySpan> {
        let a = (low - self.origin) * self.inverse;
        let b = (high - self.origin) * self.inverse;
        let mut span = span;
        for axis in 0..3 {
            span.enter = larger(span.enter, smaller(a[axis], b[axis]));
            span.leave = smaller(span.leave, larger(a[axis], b[axis]));
        }
        (span.enter <= span.leave).then_some(span)
    }

    /// The part of `span` inside a grown cube of `1 << log2` voxels; `cube` counts such cubes.
    #[inline]
    fn clip_cube(&self, cube: IVec3, log2: u32, span: RaySpan) -> Option<RaySpan> {
        let edge = f64::from(1 << log2);
        let low = cube.as_dvec3() * edge;
        self.clip(low, low + edge, span)
    }

    /// Calls `visit` for the cubes of `1 << log2` voxels from `first` to `last` that the ray may
    /// pass in `span`, layer by layer, until one starts beyond `limit`.
    #[inline]
    fn layers(
        &self,
        log2: u32,
        [first, last]: [IVec3; 2],
        span: RaySpan,
        limit: &Cell<f64>,
        mut visit: impl FnMut(IVec3),
    ) {
        let (main, scale) = (self.main, 1.0 / f64::from(1 << log2));
        let [u, v] = [(main + 1) % 3, (main + 2) % 3];
        let ends = [self.at(span.enter), self.at(span.leave)];
        let range = |axis: usize, a: f64, b: f64| {
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            let from = floor((low - GROWTH) * scale).max(first[axis]);
            let to = floor((high + GROWTH) * scale).min(last[axis]);
            (from, to)
        };
        let (from, to) = range(main, ends[0][main], ends[1][main]);
        let forward = self.direction[main] > 0.0;
        for step in 0..=to.saturating_sub(from) {
            let layer = if forward { from + step } else { to - step };
            let low = f64::from(layer) * f64::from(1 << log2) - GROWTH;
            let high = low + f64::from(1 << log2) + 2.0 * GROWTH;
            let (near, far) = if forward { (low, high) } else { (high, low) };
            let t = |side: f64| (side - self.origin[main]) * self.inverse[main];
            let (enter, leave) = (t(near).max(span.enter), t(far).min(span.leave));
            if enter > limit.get() {
                return;
            }
            let ends = [self.at(enter), self.at(leave)];
            let (u_range, v_range) =
                (range(u, ends[0][u], ends[1][u]), range(v, ends[0][v], ends[1][v]));
            for j in v_range.0..=v_range.1 {
                for i in u_range.0..=u_range.1 {
                    let mut cube = IVec3::ZERO;
                    (cube[main], cube[u], cube[v]) = (layer, i, j);
                    visit(cube);
                }
            }
        }
    }
}

/// The cubes of `1 << log2` voxels of a group of N³, and when a ray is in each layer of them.
struct CubeGroup<'p, const N: u32> {
    path: &'p RayPath,
    /// By axis: when the ray enters its first layer.
    near: [f64; 3],
    /// By axis: between the entries of two layers.
    step: DVec3,
    /// By axis: how long the ray is in a grown layer.
    width: DVec3,
}

impl<'p, const N: u32> CubeGroup<'p, N> {
    /// The group at `group`, in groups.
    #[inline(always)]
    fn new(path: &'p RayPath, group: IVec3, log2: u32) -> CubeGroup<'p, N> {
        let edge = f64::from(1 << log2);
        let low = group.as_dvec3() * (edge * f64::from(N));
        let high = low + edge * f64::from(N);
        let near = |axis: usize| {
            let is_down = path.down[axis] != 0;
            let side = if is_down { high[axis] + GROWTH } else { low[axis] - GROWTH };
            (side - path.origin[axis]) * path.inverse[axis]
        };
        CubeGroup {
            path,
            near: [near(0), near(1), near(2)],
            step: (path.inverse * edge).abs(),
            width: (path.inverse * (edge + 2.0 * GROWTH)).abs(),
        }
    }

    /// The coordinate of the `i`-th layer along the ray.
    #[inline(always)]
    fn coordinate(&self, axis: usize, i: u32) -> u32 {
        i ^ (self.path.down[axis] * (N - 1))
    }

    /// The part of `span` in which the ray is in the `i`-th layer.
    #[inline(always)]
    fn inside(&self, axis: usize, i: u32, span: RaySpan) -> RaySpan {
        let enter = self.near[axis] + f64::from(i) * self.step[axis];
        let leave = enter + self.width[axis];
        RaySpan { enter: larger(enter, span.enter), leave: smaller(leave, span.leave) }
    }

    /// Calls `visit` for the cubes that `word` has a bit for (x + N z + N² y) and whose grown
    /// cubes the ray is in during `span`, until one starts beyond `limit`. They are visited in the
    /// order of their coordinates along the ray, so a cube comes after all cubes that can hide it.
    #[inline(always)]
    fn walk(
        &self,
        word: u64,
        span: RaySpan,
        limit: &Cell<f64>,
        mut visit: impl FnMut(u32, RaySpan),
    ) {
        let is_reached = |span: RaySpan| span.enter <= smaller(span.leave, limit.get());
        for i in 0..N {
            let y = self.coordinate(1, i);
            let layer = word >> (N * N * y) & ((1 << (N * N)) - 1);
            if layer == 0 {
                continue;
            }
            let span = self.inside(1, i, span);
            if !is_reached(span) {
                continue;
            }
            for i in 0..N {
                let z = self.coordinate(2, i);
                let row = layer >> (N * z) & ((1 << N) - 1);
                if row == 0 {
                    continue;
                }
                let span = self.inside(2, i, span);
                if !is_reached(span) {
                    continue;
                }
                for i in 0..N {
                    let x = self.coordinate(0, i);
                    if row >> x & 1 == 0 {
                        continue;
                    }
                    let span = self.inside(0, i, span);
                    if is_reached(span) {
                        visit(x + N * (z + N * y), span);
                    }
                }
            }
        }
    }
}

impl RayPath {
    /// As [`CubeGroup::walk`], for the group at `group`, in groups.
    #[inline]
    fn cubes<const N: u32>(
        &self,
        word: u64,
        group: IVec3,
        log2: u32,
        span: RaySpan,
        limit: &Cell<f64>,
        visit: impl FnMut(u32, RaySpan),
    ) {
        if word != 0 {
            CubeGroup::<N>::new(self, group, log2).walk(word, span, limit, visit);
        }
    }
}

/// The cube of a bit in its group of N³: x + N z + N² y.
#[inline]
fn cube_of_bit<const N: u32>(bit: u32) -> IVec3 {
    IVec3::new((bit % N) as i32, (bit / (N * N)) as i32, (bit / N % N) as i32)
}

/// Visits what a ray passes.
pub(super) trait RayVisitor<'a> {
    /// Visits a block with a surface, whose grown cube the ray is in during `span`. Returns the
    /// distance at which the walk may end: blocks that start beyond are not visited.
    fn block(&mut self, block: CollisionBlock, chunk: &'a ChunkBlocks, span: RaySpan) -> f64;
    /// Visits a chunk that is not held at mip 0, entered at `t`.
    fn unknown(&mut self, chunk: ChunkPos, t: f64);
}

/// Walks a ray through the blocks that have faces of `surfaces`.
pub(super) fn walk<'a>(
    path: &RayPath,
    broadphase: &'a Broadphase,
    snapshot: &Snapshot,
    surfaces: Surfaces,
    visit: &mut impl RayVisitor<'a>,
) {
    let whole = RaySpan { enter: 0.0, leave: path.length };
    let unlisted_unknown = snapshot.unlisted() == UnlistedChunks::Unknown;
    let Region { min, max } = broadphase.page_bounds();
    let [first, last] = [min, max].map(|p| IVec3::from(p.to_array()));
    let edge = f64::from(1 << PAGE_LOG2);
    let listed = match min.x < max.x {
        true => path.clip(first.as_dvec3() * edge, last.as_dvec3() * edge, whole),
        false => None,
    };
    let outside = |t: f64| chunk_of(path.at(t));
    let Some(span) = listed else {
        if unlisted_unknown {
            visit.unknown(outside(0.0), 0.0);
        }
        return;
    };
    if unlisted_unknown && span.enter > 0.0 {
        visit.unknown(outside(0.0), 0.0);
    }
    let limit = Cell::new(path.length);
    let mut walk = RayWalk { path, broadphase, surfaces, unlisted_unknown, limit: &limit, visit };
    let bounds = [first, last - 1];
    let layers = f64::abs(path.direction[path.main]) * (span.leave - span.enter) / edge;
    match layers > f64::from(MAX_PAGE_LAYERS) {
        true => walk.existing_pages(span),
        false => path.layers(PAGE_LOG2, bounds, span, &limit, |page| walk.page(page, span)),
    }
    if unlisted_unknown && span.leave < limit.get() {
        visit.unknown(outside(span.leave), span.leave);
    }
}

struct RayWalk<'w, 'a, V> {
    path: &'w RayPath,
    broadphase: &'a Broadphase,
    surfaces: Surfaces,
    unlisted_unknown: bool,
    limit: &'w Cell<f64>,
    visit: &'w mut V,
}

impl<'a, V: RayVisitor<'a>> RayWalk<'_, 'a, V> {
    fn page(&mut self, cube: IVec3, span: RaySpan) {
        let Some(page) = self.broadphase.page(PagePos::new(cube.x, cube.y, cube.z)) else {
            if self.unlisted_unknown
                && let Some(span) = self.path.clip_cube(cube, PAGE_LOG2, span)
            {
                // The ray may pass beside the page, within reach of its surfaces.
                let ChunkPos { x, y, z } = chunk_of(self.path.at(span.enter));
                let at = IVec3::new(x, y, z).clamp(8 * cube, 8 * cube + 7);
                self.visit.unknown(ChunkPos::new(at.x, at.y, at.z), span.enter);
            }
            return;
        };
        let (path, limit) = (self.path, self.limit);
        path.cubes::<2>(page.chunk_groups(), cube, CHUNK_GROUP_LOG2, span, limit, |group, span| {
            let cube = 2 * cube + cube_of_bit::<2>(group);
            path.cubes::<4>(
                page.chunk_group(group),
                cube,
                CHUNK_LOG2,
                span,
                limit,
                |chunk, span| {
                    self.chunk(page, 4 * cube + cube_of_bit::<4>(chunk), span);
                },
            );
        });
    }

    // Not inlined into the loops above: they need the registers.
    #[inline(never)]
    fn chunk(&mut self, page: &'a PageBlocks, cube: IVec3, span: RaySpan) {
        let position = ChunkPos::new(cube.x, cube.y, cube.z);
        let Some(chunk) = page.chunk(position) else {
            if page.is_unknown(position) {
                self.visit.unknown(position, span.enter);
            }
            return;
        };
        let (path, limit) = (self.path, self.limit);
        let blocks = chunk.showing(self.surfaces);
        path.cubes::<4>(blocks, cube, BLOCK_LOG2, span, limit, |bit, span| {
            let block = block_of_bit(position, bit);
            limit.set(self.visit.block(block, chunk, span).min(limit.get()));
        });
    }

    /// Visits the pages that exist, in the order in which the ray enters them: for rays that
    /// pass more empty space than there are pages.
    fn existing_pages(&mut self, span: RaySpan) {
        if self.unlisted_unknown {
            self.first_gap(span);
        }
        let (path, broadphase) = (self.path, self.broadphase);
        let entered = broadphase.page_positions().filter_map(|page| {
            let cube = [page.x, page.y, page.z];
            Some((path.clip_cube(cube.into(), PAGE_LOG2, span)?.enter, cube))
        });
        let mut pages: Vec<(f64, [i32; 3])> = entered.collect();
        pages.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        for (enter, cube) in pages {
            if enter > self.limit.get() {
                return;
            }
            self.page(cube.into(), span);
        }
    }

    /// Visits the first chunk on the ray that lies in no page. Pages beside the ray, within reach of
    /// their surfaces, are not looked for.
    fn first_gap(&mut self, span: RaySpan) {
        let path = self.path;
        let passed = self.broadphase.page_positions().filter_map(|page| {
            let low = IVec3::new(page.x, page.y, page.z).as_dvec3() * f64::from(1 << PAGE_LOG2);
            path.clip_exact(low, low + f64::from(1 << PAGE_LOG2), span)
        });
        let mut passed: Vec<RaySpan> = passed.collect();
        passed.sort_unstable_by(|a, b| a.enter.total_cmp(&b.enter));
        let mut reached = span.enter;
        for page in passed {
            if page.enter > reached + MIN_GAP {
                break;
            }
            reached = larger(reached, page.leave);
        }
        if reached + MIN_GAP < span.leave {
            self.visit.unknown(chunk_of(path.at(reached + 0.5 * MIN_GAP)), reached);
        }
    }
}

/// The larger of two numbers, in one instruction: `f64::max` takes more, for NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Rounds down, clamped to i32. A conversion and a compare: without SSE 4.1 `f64::floor` is a
/// call.
#[inline]
fn floor(v: f64) -> i32 {
    let near = v as i32;
    near.saturating_sub(i32::from(v < f64::from(near)))
}

/// The chunk that holds a point.
fn chunk_of(point: DVec3) -> ChunkPos {
    let [x, y, z] = point.to_array().map(|v| floor(v) >> CHUNK_LOG2);
    ChunkPos::new(x, y, z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The cubes of a group that `word` names and the path passes, each tested alone.
    fn naive<const N: u32>(
        path: &RayPath,
        word: u64,
        group: IVec3,
        log2: u32,
        span: RaySpan,
    ) -> u64 {
        let meets = |bit: u32| {
            let cube = group * N as i32 + cube_of_bit::<N>(bit);
            path.clip_cube(cube, log2, span).is_some()
        };
        (0..N * N * N).filter(|&bit| word >> bit & 1 != 0 && meets(bit)).fold(0, |a, b| a | 1 << b)
    }

    fn agree<const N: u32>(path: &RayPath, word: u64, group: IVec3, log2: u32) {
        let span = RaySpan { enter: 0.0, leave: path.length };
        let (mut met, mut order) = (0_u64, Vec::new());
        path.cubes::<N>(word, group, log2, span, &Cell::new(path.length), |bit, span| {
            assert!(met >> bit & 1 == 0 && span.enter <= span.leave);
            met |= 1 << bit;
            order.push(cube_of_bit::<N>(bit));
        });
        assert_eq!(met, naive::<N>(path, word, group, log2, span));
        // Of two cubes, the one that lies before the other on every axis comes first.
        for (i, &late) in order.iter().enumerate() {
            for &early in &order[..i] {
                let way = late - early;
                let back = |axis: usize| match path.down[axis] {
                    0 => way[axis] < 0,
                    _ => way[axis] > 0,
                };
                assert!(!(0..3).all(|axis| way[axis] == 0 || back(axis)), "{early} {late}");
            }
        }
    }

    fn direction() -> impl Strategy<Value = f64> {
        prop_oneof![3 => -1.0..1.0f64, 1 => Just(0.0), 1 => Just(1.0), 1 => Just(-1e-9)]
    }

    proptest! {
        #[test]
        fn cubes_of_a_word_are_those_that_pass_alone(
            origin in proptest::array::uniform3(-90.0..90.0f64),
            direction in proptest::array::uniform3(direction()),
            on_borders in any::<bool>(),
            length in prop_oneof![1.0..300.0f64, Just(f64::INFINITY)],
            word in any::<u64>(),
            group in proptest::array::uniform3(-2..2i32),
        ) {
            let origin = if on_borders { origin.map(|v| (v / 8.0).round() * 8.0) } else { origin };
            if let Some(path) = RayPath::new(origin, direction, length) {
                agree::<4>(&path, word, IVec3::from(group), BLOCK_LOG2);
                agree::<2>(&path, word & 255, IVec3::from(group), BLOCK_LOG2);
            }
        }
    }
}
