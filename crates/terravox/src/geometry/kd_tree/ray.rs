//! Rays through a loose k-d tree, after "Voxel Terrain: Physics" (Roblox, 2017): the ray is
//! a segment that every plane shortens, the nearer part is visited first, and parts that begin
//! behind the best hit are skipped.
//!
//! Lengths are steps of the lattice along the axis on which the ray moves fastest; there
//! the direction is ±1 and no length can overflow. The segment starts where the ray enters
//! the box of the tree, found in f64, so that f32 suffices from there on. Segments are
//! widened by a quarter of a step at each plane, more than rounding can move anything.
//!
//! Triangles are tested in the frame of the ray ("Watertight Ray/Triangle Intersection",
//! Woop, Benthin, Wald 2013): side tests of an edge that two triangles share differ in
//! sign only, so that no ray passes between them.

use super::grid::PositionGrid;
use super::nodes::{LEAF, MAX_DEPTH, NodeKind, decode};
use super::view::{KdTriangle, TreeView, has_half};

/// How far a segment reaches beyond a plane, steps.
const WIDEN: f32 = 0.25;

/// Inverse slope along an axis on which a ray does not move: finite, so that no product is NaN,
/// and so large that any distance from a plane is far beyond every end. Before clipping ends
/// are up to 10⁹⁰ steps away, after it 10⁵.
const PARALLEL: f64 = 1e200;
const PARALLEL_INSIDE: f64 = 1e18;

/// Levels for which the small stack suffices: trees of up to a few hundred primitives.
const SHALLOW: usize = 20;

/// Where a ray hits a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KdHit {
    /// Distance from the origin, in lengths of the direction.
    pub t: f32,
    /// The triangle.
    pub triangle: KdTriangle,
    /// Whether the ray hit the side from which the corners are counter-clockwise.
    pub front: bool,
}

impl KdHit {
    /// The triangle's unit normal, on the side from which its corners are
    /// counter-clockwise.
    pub fn normal(&self) -> [f32; 3] {
        let normal = area_vector(self.triangle.corners);
        let length = normal.iter().map(|v| v * v).sum::<f64>().sqrt();
        normal.map(|v| (v / length) as f32)
    }
}

/// Twice a triangle's area along its normal.
fn area_vector([a, b, c]: [[f32; 3]; 3]) -> [f64; 3] {
    let from_a = |p: [f32; 3]| [0, 1, 2].map(|i| f64::from(p[i]) - f64::from(a[i]));
    let ([ux, uy, uz], [vx, vy, vz]) = (from_a(b), from_a(c));
    [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx]
}

/// A ray inside the box of a tree, in steps.
pub(super) struct Segment {
    /// Start. The fourth lane lets the compiler drop bounds checks: indices are below four.
    origin: [f32; 4],
    /// Inverse of the slopes.
    inverse: [f32; 4],
    /// Change along each axis for a step along the major one.
    slope: [f32; 3],
    /// Axis along which it moves fastest; the slope there is ±1.
    major: usize,
    /// Its length, along the major axis.
    pub end: f32,
    /// Length between the ray's origin and the start.
    before: f64,
    /// What a length of one step is in lengths of the caller's direction.
    t_a_step: f64,
}

/// A ray in units of the positions.
#[derive(Clone, Copy)]
pub(super) struct KdRay {
    pub origin: [f32; 3],
    pub direction: [f32; 3],
    /// End, in lengths of `direction`.
    pub t_max: f32,
}

/// A triangle that a segment hits: half of a quad, and the length at which.
#[derive(Clone, Copy)]
pub(super) struct SegmentHit {
    quad: usize,
    half: u8,
    pub length: f32,
}

impl Segment {
    /// The part of a ray inside `bounds`; `None` if it misses them or is invalid.
    pub fn new(grid: &PositionGrid, bounds: &[[u16; 3]; 2], ray: &KdRay) -> Option<Segment> {
        let KdRay { origin, direction, t_max } = *ray;
        let finite = |v: [f32; 3]| v.iter().all(|v| v.is_finite());
        let is_ray = finite(origin) && finite(direction) && t_max >= 0.0;
        if !is_ray {
            return None;
        }
        let direction = direction.map(f64::from);
        let steps_a_unit = 1.0 / f64::from(grid.step);
        let major = major_axis(direction);
        let fastest = direction[major].abs();
        if fastest == 0.0 {
            return None;
        }
        let origin: [f64; 3] = std::array::from_fn(|i| {
            (f64::from(origin[i]) - f64::from(grid.origin[i])) * steps_a_unit
        });
        let slope = direction.map(|v| v / fastest);
        let inverse = slope.map(|v| if v.abs() > 1.0 / PARALLEL { 1.0 / v } else { PARALLEL });
        // Grown by a step, so that triangles on the sides of the box are not at the very start.
        let (mut enter, mut leave) = (0f64, f64::from(t_max) * fastest * steps_a_unit);
        for i in 0..3 {
            let low = (f64::from(bounds[0][i]) - 1.0 - origin[i]) * inverse[i];
            let high = (f64::from(bounds[1][i]) + 1.0 - origin[i]) * inverse[i];
            enter = enter.max(low.min(high));
            leave = leave.min(low.max(high));
        }
        if enter > leave {
            return None;
        }
        let bounded = |v: f64| v.clamp(-PARALLEL_INSIDE, PARALLEL_INSIDE) as f32;
        let start = [0, 1, 2].map(|i| (origin[i] + slope[i] * enter) as f32);
        Some(Segment {
            origin: [start[0], start[1], start[2], 0.0],
            inverse: [bounded(inverse[0]), bounded(inverse[1]), bounded(inverse[2]), 0.0],
            slope: slope.map(|v| v as f32),
            major,
            end: (leave - enter) as f32,
            before: enter,
            t_a_step: 1.0 / (fastest * steps_a_unit),
        })
    }

    /// The hit in units of the positions, of the ray along `direction`.
    pub fn world_hit(&self, view: &TreeView<'_>, direction: [f32; 3], hit: SegmentHit) -> KdHit {
        let triangle = view.triangle(hit.quad, view.corners(hit.quad), hit.half);
        let normal = area_vector(triangle.corners);
        let along: f64 = (0..3).map(|i| normal[i] * f64::from(direction[i])).sum();
        let t = (self.before + f64::from(hit.length)) * self.t_a_step;
        KdHit { t: t as f32, triangle, front: along < 0.0 }
    }
}

/// Calls `visit` with triangles that the segment hits; it returns the new end of the segment.
/// `depth` is that of the tree.
pub(super) fn hits(
    view: &TreeView<'_>,
    depth: usize,
    segment: &Segment,
    visit: impl FnMut(SegmentHit) -> f32,
) {
    if depth <= SHALLOW {
        walk::<SHALLOW>(view, segment, visit);
    } else {
        walk::<MAX_DEPTH>(view, segment, visit);
    }
}

fn major_axis(direction: [f64; 3]) -> usize {
    let [x, y, z] = direction.map(f64::abs);
    if x >= y && x >= z {
        0
    } else if y >= z {
        1
    } else {
        2
    }
}

/// A node to visit later, and the part of the segment in it.
#[derive(Clone, Copy, Default)]
struct DeferredNode {
    node: u32,
    from: f32,
    to: f32,
}

fn walk<const STACK: usize>(
    view: &TreeView<'_>,
    segment: &Segment,
    mut visit: impl FnMut(SegmentHit) -> f32,
) {
    let mut stack = [DeferredNode::default(); STACK];
    let (mut top, mut at) = (0, 0);
    let (mut from, mut to, mut end) = (0f32, segment.end, segment.end);
    loop {
        match decode(view.nodes, at) {
            NodeKind::Leaf { first, count } => {
                for quad in first..first + count.min(LEAF) {
                    end = test_quad(view, segment, quad, end, &mut visit);
                }
            }
            NodeKind::Branch { ends, begins, axis, left, right } => {
                let (origin, inverse) = (segment.origin[axis], segment.inverse[axis]);
                let ends = (f32::from(ends) + WIDEN - origin) * inverse;
                let begins = (f32::from(begins) - WIDEN - origin) * inverse;
                let (near, far, leaves, enters) = if inverse >= 0.0 {
                    (left, right, ends, begins)
                } else {
                    (right, left, begins, ends)
                };
                let (in_near, in_far) = (leaves >= from, enters <= to);
                if in_near && in_far {
                    stack[top] = DeferredNode { node: far as u32, from: enters.max(from), to };
                    top += 1;
                }
                if in_near {
                    (at, to) = (near, leaves.min(to));
                    continue;
                }
                if in_far {
                    (at, from) = (far, enters.max(from));
                    continue;
                }
            }
        }
        loop {
            if top == 0 {
                return;
            }
            top -= 1;
            let deferred = stack[top];
            if deferred.from <= end {
                (at, from, to) = (deferred.node as usize, deferred.from, deferred.to.min(end));
                break;
            }
        }
    }
}

/// Tests both halves of a quad; returns the new end of the segment.
#[inline]
fn test_quad(
    view: &TreeView<'_>,
    segment: &Segment,
    quad: usize,
    mut end: f32,
    visit: &mut impl FnMut(SegmentHit) -> f32,
) -> f32 {
    let corners = view.corners(quad);
    let points = corners.map(|corner| view.vertices[corner as usize]);
    let (axis, other, third) = (segment.major, (segment.major + 1) % 3, (segment.major + 2) % 3);
    let from = |i: usize, axis: usize| f32::from(points[i][axis]) - segment.origin[axis];
    // Along the ray, and across it.
    let s: [f32; 4] = std::array::from_fn(|i| from(i, axis) * segment.slope[axis]);
    let x: [f32; 4] = std::array::from_fn(|i| from(i, other) - segment.slope[other] * s[i]);
    let y: [f32; 4] = std::array::from_fn(|i| from(i, third) - segment.slope[third] * s[i]);
    let side = |a: usize, b: usize| x[a] * y[b] - y[a] * x[b];
    let diagonal = side(0, 2);
    // Weights of the corners of (a, b, c) and of (a, c, d).
    for (half, weights, corner) in [
        (0, [side(1, 2), -diagonal, side(0, 1)], [0, 1, 2]),
        (1, [side(2, 3), side(3, 0), diagonal], [0, 2, 3]),
    ] {
        let [u, v, w] = weights;
        let inside = (u >= 0.0) & (v >= 0.0) & (w >= 0.0) | (u <= 0.0) & (v <= 0.0) & (w <= 0.0);
        let sum = u + v + w;
        if !inside || sum == 0.0 || !has_half(corners, half) {
            continue;
        }
        let [a, b, c] = corner.map(|i| s[i]);
        let length = (u * a + v * b + w * c) / sum;
        if length >= 0.0 && length <= end {
            end = visit(SegmentHit { quad, half, length });
        }
    }
    end
}
