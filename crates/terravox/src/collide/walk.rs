//! The blocks that a ray can meet something in, near ones first.
//!
//! A block's surface may reach [`REACH`] beyond it, so a ray meets every block whose
//! grown cube it passes. Pages are taken layer by layer along the axis on which the ray is
//! fastest; inside them parts of 4³ chunks, chunks and blocks in the order of their
//! coordinates along the ray, from words that say which of them there are. A page that is
//! not there costs one look-up, a chunk one bit, the empty blocks of a chunk one word.

use super::broadphase::{Broadphase, ChunkBlocks, PageBlocks, block_of_bit};
use super::{BLOCK_LOG2, Block, REACH, Surfaces};
use crate::voxel::{ChunkPos, PagePos, Region, Snapshot, Unlisted};
use glam::{DVec3, IVec3};
use std::cell::Cell;

/// By how much cubes are grown: the reach, and a hair for rounding.
const GROWTH: f64 = REACH as f64 + 1e-4;

/// Stands for one over a direction of 0: times any distance it is beyond every ray, and
/// times none it is none.
const STEEPEST: f64 = 1e280;

/// Layers of pages up to which a ray looks each up; one that passes more asks the pages
/// that there are.
const MOST_PAGE_LAYERS: i32 = 4096;

const CHUNK_LOG2: u32 = 5;
const PART_LOG2: u32 = 7;
const PAGE_LOG2: u32 = 8;

/// A ray, prepared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub origin: DVec3,
    /// Unit.
    pub direction: DVec3,
    inverse: DVec3,
    /// By axis: 1 where it runs down.
    down: [u32; 3],
    /// The axis on which it is fastest.
    main: usize,
    /// Voxels to its end.
    pub length: f64,
}

/// A stretch of a ray, voxels from its origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub enter: f64,
    pub leave: f64,
}

/// A cube of `1 << log2` voxels, in cubes of that size.
type Cube = IVec3;

impl Path {
    /// The ray from `origin` along `direction` (of any length) over `length` voxels;
    /// `None` if that is no ray.
    pub fn new(origin: [f64; 3], direction: [f64; 3], length: f64) -> Option<Path> {
        let (origin, direction) = (DVec3::from(origin), DVec3::from(direction));
        // A direction may be very short or long; its largest part is brought to 1 first.
        let largest = direction.abs().max_element();
        let valid = origin.is_finite() && direction.is_finite() && largest > 0.0 && length > 0.0;
        if !valid {
            return None;
        }
        let direction = (direction / largest).normalize();
        let steep = |v: f64| if v.abs() < 1.0 / STEEPEST { STEEPEST } else { 1.0 / v };
        let inverse = DVec3::new(steep(direction.x), steep(direction.y), steep(direction.z));
        let size = direction.abs();
        let main = (0..3).fold(0, |most, axis| if size[axis] > size[most] { axis } else { most });
        let down = inverse.to_array().map(|v| u32::from(v < 0.0));
        Some(Path { origin, direction, inverse, down, main, length })
    }

    pub fn at(&self, t: f64) -> DVec3 {
        self.origin + self.direction * t
    }

    /// The part of `span` inside the box from `low` to `high`, voxels, grown.
    #[inline]
    fn clip(&self, low: DVec3, high: DVec3, span: Span) -> Option<Span> {
        let a = (low - GROWTH - self.origin) * self.inverse;
        let b = (high + GROWTH - self.origin) * self.inverse;
        let mut span = span;
        for axis in 0..3 {
            span.enter = larger(span.enter, smaller(a[axis], b[axis]));
            span.leave = smaller(span.leave, larger(a[axis], b[axis]));
        }
        (span.enter <= span.leave).then_some(span)
    }

    #[inline]
    fn clip_cube(&self, cube: Cube, log2: u32, span: Span) -> Option<Span> {
        let edge = f64::from(1 << log2);
        let low = cube.as_dvec3() * edge;
        self.clip(low, low + edge, span)
    }

    /// Calls `visit` for cubes of `1 << log2` voxels of the group of N³ that lies at `group`,
    /// in groups: those that `word` has a bit for (x + N z + N² y) and whose grown cubes the
    /// ray is in during `span`, until one starts beyond `limit`. Their order is that of their
    /// coordinates along the ray, so none comes before one that hides it.
    #[inline]
    fn cubes<const N: u32>(
        &self,
        word: u64,
        group: Cube,
        log2: u32,
        span: Span,
        limit: &Cell<f64>,
        mut visit: impl FnMut(u32, Span),
    ) {
        if word == 0 {
            return;
        }
        let edge = f64::from(1 << log2);
        let low = group.as_dvec3() * (edge * f64::from(N));
        let high = low + edge * f64::from(N);
        let down = |axis: usize| self.down[axis] != 0;
        let near = |axis: usize| {
            let side = if down(axis) { high[axis] + GROWTH } else { low[axis] - GROWTH };
            (side - self.origin[axis]) * self.inverse[axis]
        };
        let near = [near(0), near(1), near(2)];
        let step = (self.inverse * edge).abs();
        let width = (self.inverse * (edge + 2.0 * GROWTH)).abs();
        // Cube i along the ray's way on an axis, by its coordinate, and when the ray is in it.
        let inside = |axis: usize, i: u32, span: Span| {
            let enter = near[axis] + f64::from(i) * step[axis];
            let leave = enter + width[axis];
            Span { enter: larger(enter, span.enter), leave: smaller(leave, span.leave) }
        };
        let place = |axis: usize, i: u32| i ^ (self.down[axis] * (N - 1));
        let meets = |span: Span| span.enter <= smaller(span.leave, limit.get());
        for i in 0..N {
            let y = place(1, i);
            let layer = word >> (N * N * y) & ((1 << (N * N)) - 1);
            if layer == 0 {
                continue;
            }
            let span = inside(1, i, span);
            if !meets(span) {
                continue;
            }
            for i in 0..N {
                let z = place(2, i);
                let row = layer >> (N * z) & ((1 << N) - 1);
                if row == 0 {
                    continue;
                }
                let span = inside(2, i, span);
                if !meets(span) {
                    continue;
                }
                for i in 0..N {
                    let x = place(0, i);
                    if row >> x & 1 == 0 {
                        continue;
                    }
                    let span = inside(0, i, span);
                    if meets(span) {
                        visit(x + N * (z + N * y), span);
                    }
                }
            }
        }
    }

    /// Calls `visit` for the cubes of `1 << log2` voxels from `first` to `last` that the
    /// ray may meet in `span`, layer by layer, until one starts beyond `limit`.
    #[inline]
    fn layers(
        &self,
        log2: u32,
        [first, last]: [Cube; 2],
        span: Span,
        limit: &Cell<f64>,
        mut visit: impl FnMut(Cube),
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
            if from > to {
                return;
            }
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
                    let mut cube = Cube::ZERO;
                    (cube[main], cube[u], cube[v]) = (layer, i, j);
                    visit(cube);
                }
            }
        }
    }
}

/// Where a cube of a group of N³ lies in it, by its bit: x + N z + N² y.
#[inline]
fn cube_of_bit<const N: u32>(bit: u32) -> Cube {
    IVec3::new((bit % N) as i32, (bit / (N * N)) as i32, (bit / N % N) as i32)
}

/// What a walk meets.
pub(super) trait Visit<'a> {
    /// A block with a surface whose grown cube the ray is in during `span`. Returns up to
    /// where the walk should go on: it ends with the blocks that start beyond.
    fn block(&mut self, block: Block, chunk: &'a ChunkBlocks, span: Span) -> f64;
    /// A chunk that is not held at mip 0, from `t` on.
    fn unknown(&mut self, chunk: ChunkPos, t: f64);
}

/// Walks a ray through the blocks with some surfaces.
pub(super) fn walk<'a>(
    path: &Path,
    broadphase: &'a Broadphase,
    snapshot: &Snapshot,
    surfaces: Surfaces,
    visit: &mut impl Visit<'a>,
) {
    let whole = Span { enter: 0.0, leave: path.length };
    let unlisted_unknown = snapshot.unlisted() == Unlisted::Unknown;
    let Region { min, max } = broadphase.page_bounds();
    let [first, last] = [min, max].map(|p| IVec3::from(p.to_array()));
    let edge = f64::from(1 << PAGE_LOG2);
    let known = match min.x < max.x {
        true => path.clip(first.as_dvec3() * edge, last.as_dvec3() * edge, whole),
        false => None,
    };
    let outside = |t: f64| chunk_of(path.at(t));
    let Some(span) = known else {
        if unlisted_unknown {
            visit.unknown(outside(0.0), 0.0);
        }
        return;
    };
    if unlisted_unknown && span.enter > 0.0 {
        visit.unknown(outside(0.0), 0.0);
    }
    let limit = Cell::new(path.length);
    let mut walk = Walk { path, broadphase, surfaces, unlisted_unknown, limit: &limit, visit };
    let bounds = [first, last - 1];
    let layers = f64::abs(path.direction[path.main]) * (span.leave - span.enter) / edge;
    match layers > f64::from(MOST_PAGE_LAYERS) {
        true => walk.far(span),
        false => path.layers(PAGE_LOG2, bounds, span, &limit, |page| walk.page(page, span)),
    }
    if unlisted_unknown && span.leave < limit.get() {
        visit.unknown(outside(span.leave), span.leave);
    }
}

struct Walk<'w, 'a, V> {
    path: &'w Path,
    broadphase: &'a Broadphase,
    surfaces: Surfaces,
    unlisted_unknown: bool,
    limit: &'w Cell<f64>,
    visit: &'w mut V,
}

impl<'a, V: Visit<'a>> Walk<'_, 'a, V> {
    fn page(&mut self, cube: Cube, span: Span) {
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
        path.cubes::<2>(page.parts(), cube, PART_LOG2, span, limit, |part, span| {
            let cube = 2 * cube + cube_of_bit::<2>(part);
            path.cubes::<4>(page.part(part), cube, CHUNK_LOG2, span, limit, |chunk, span| {
                self.chunk(page, 4 * cube + cube_of_bit::<4>(chunk), span);
            });
        });
    }

    // Apart from the loops above it: they need the registers.
    #[inline(never)]
    fn chunk(&mut self, page: &'a PageBlocks, cube: Cube, span: Span) {
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

    /// Visits the pages that there are, in the order in which the ray enters them: for
    /// rays that pass more empty space than there are pages.
    fn far(&mut self, span: Span) {
        let mut last = (f64::NEG_INFINITY, Cube::MIN);
        let key = |(t, cube): (f64, Cube)| (t, cube.to_array());
        loop {
            let entered = self.broadphase.pages().filter_map(|page| {
                let cube = Cube::new(page.x, page.y, page.z);
                let inside = self.path.clip_cube(cube, PAGE_LOG2, span)?;
                Some((inside.enter, cube)).filter(|&next| key(next) > key(last))
            });
            let next = entered.min_by(|&a, &b| {
                a.0.total_cmp(&b.0).then_with(|| a.1.to_array().cmp(&b.1.to_array()))
            });
            match next {
                Some((enter, cube)) if enter <= self.limit.get() => {
                    self.page(cube, span);
                    last = (enter, cube);
                }
                _ => return,
            }
        }
    }
}

/// The larger of two numbers in one instruction, which `f64::max` is not: it has to mind
/// NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Rounded down. A conversion and a compare: without SSE 4.1 `f64::floor` is a call. What
/// an i32 cannot hold is the nearest that it can.
#[inline]
pub(super) fn floor(v: f64) -> i32 {
    let near = v as i32;
    near.saturating_sub(i32::from(v < f64::from(near)))
}

/// The chunk that holds a point.
pub(super) fn chunk_of(point: DVec3) -> ChunkPos {
    let [x, y, z] = point.to_array().map(|v| floor(v) >> CHUNK_LOG2);
    ChunkPos::new(x, y, z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The cubes of a group that `word` names and the path meets, each asked alone.
    fn naive<const N: u32>(path: &Path, word: u64, group: Cube, log2: u32, span: Span) -> u64 {
        let meets = |bit: u32| {
            let cube = group * N as i32 + cube_of_bit::<N>(bit);
            path.clip_cube(cube, log2, span).is_some()
        };
        (0..N * N * N).filter(|&bit| word >> bit & 1 != 0 && meets(bit)).fold(0, |a, b| a | 1 << b)
    }

    fn agree<const N: u32>(path: &Path, word: u64, group: Cube, log2: u32) {
        let span = Span { enter: 0.0, leave: path.length };
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
        fn words_name_the_cubes_that_each_alone_is_met(
            origin in proptest::array::uniform3(-90.0..90.0f64),
            direction in proptest::array::uniform3(direction()),
            on_borders in any::<bool>(),
            length in prop_oneof![1.0..300.0f64, Just(f64::INFINITY)],
            word in any::<u64>(),
            group in proptest::array::uniform3(-2..2i32),
        ) {
            let origin = if on_borders { origin.map(|v| (v / 8.0).round() * 8.0) } else { origin };
            if let Some(path) = Path::new(origin, direction, length) {
                agree::<4>(&path, word, Cube::from(group), BLOCK_LOG2);
                agree::<2>(&path, word & 255, Cube::from(group), BLOCK_LOG2);
            }
        }
    }
}
