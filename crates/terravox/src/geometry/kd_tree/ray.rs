//! Rays through a loose kD tree, after "Voxel Terrain: Physics" (Roblox, 2017): the ray is
//! a segment that every plane shortens, the nearer part is visited first, and what begins
//! behind the best hit is dropped.
//!
//! Lengths are steps of the lattice along the axis on which the ray moves fastest; there
//! the direction is ±1 and no length can overflow. The segment starts where the ray meets
//! the box of the tree, found in f64, so that f32 suffices from there on. Segments are
//! widened by a quarter of a step at each plane, more than rounding can move anything.
//!
//! Triangles are tested in the frame of the ray ("Watertight Ray/Triangle Intersection",
//! Woop, Benthin, Wald 2013): side tests of an edge that two triangles share differ in
//! sign only, so that no ray passes between them.

use super::{KdTree, KdTriangle, LEAF, MAX_DEPTH, Parts, Step, has_half, step};

/// How much a segment reaches beyond a plane, steps.
const WIDEN: f32 = 0.25;

/// Inverse slope along an axis on which a ray does not move: finite, so that nothing is
/// NaN, and so large that any way off a plane is far beyond every end. Before clipping
/// ends are up to 10⁹⁰ steps away, after it 10⁵.
const PARALLEL: f64 = 1e200;
const PARALLEL_INSIDE: f64 = 1e18;

/// Levels for which the small stack suffices: trees of up to a few hundred primitives.
const SHALLOW: usize = 20;

/// Where a ray meets a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KdHit {
    /// Distance from the origin, in lengths of the direction.
    pub t: f32,
    /// What was hit.
    pub triangle: KdTriangle,
    /// Whether the ray met the side from which the corners are counter-clockwise.
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

impl KdTree {
    /// The nearest triangle that the ray from `origin` along `direction` meets, from
    /// either side, at most `t_max` lengths of `direction` away; `t_max` may be infinite.
    /// Triangles that the ray lies in are not met. None if an argument is NaN, the origin
    /// or direction is not finite, the direction is zero or `t_max` negative.
    pub fn closest(
        &self,
        origin: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        t_max: f32,
    ) -> Option<KdHit> {
        let (origin, direction) = (origin.into(), direction.into());
        let segment = self.segment(origin, direction, t_max)?;
        let parts = self.parts();
        let mut best = None;
        self.walk(&parts, &segment, |quad, half, length| {
            best = Some((quad, half, length));
            length
        });
        let (quad, half, length) = best?;
        Some(self.hit(&parts, &segment, direction, quad, half, length))
    }

    /// Whether the ray meets any triangle; see [`KdTree::closest`].
    pub fn any(
        &self,
        origin: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        t_max: f32,
    ) -> bool {
        let Some(segment) = self.segment(origin.into(), direction.into(), t_max) else {
            return false;
        };
        let mut found = false;
        self.walk(&self.parts(), &segment, |_, _, _| {
            found = true;
            f32::NEG_INFINITY
        });
        found
    }

    /// Calls `visit` with every triangle that the ray meets, in no order; one that passes
    /// through an edge meets both sides of it. See [`KdTree::closest`].
    pub fn each(
        &self,
        origin: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        t_max: f32,
        mut visit: impl FnMut(KdHit),
    ) {
        let (origin, direction) = (origin.into(), direction.into());
        let Some(segment) = self.segment(origin, direction, t_max) else { return };
        let parts = self.parts();
        self.walk(&parts, &segment, |quad, half, length| {
            visit(self.hit(&parts, &segment, direction, quad, half, length));
            segment.end
        });
    }

    /// A hit in the units of the caller.
    fn hit(
        &self,
        parts: &Parts,
        segment: &Segment,
        direction: [f32; 3],
        quad: usize,
        half: u8,
        length: f32,
    ) -> KdHit {
        let triangle = self.triangle(parts, quad, parts.corners(quad), half);
        let normal = area_vector(triangle.corners);
        let along: f64 = (0..3).map(|i| normal[i] * f64::from(direction[i])).sum();
        let t = (segment.before + f64::from(length)) * segment.t_a_step;
        KdHit { t: t as f32, triangle, front: along < 0.0 }
    }

    /// The part of a ray that lies in the tree's box.
    fn segment(&self, origin: [f32; 3], direction: [f32; 3], t_max: f32) -> Option<Segment> {
        let finite = |v: [f32; 3]| v.iter().all(|v| v.is_finite());
        let is_ray = finite(origin) && finite(direction) && t_max >= 0.0;
        if self.is_empty() || !is_ray {
            return None;
        }
        let direction = direction.map(f64::from);
        let steps_a_unit = 1.0 / f64::from(self.grid.step);
        let major = major_axis(direction);
        let fastest = direction[major].abs();
        if fastest == 0.0 {
            return None;
        }
        let origin: [f64; 3] = std::array::from_fn(|i| {
            (f64::from(origin[i]) - f64::from(self.grid.origin[i])) * steps_a_unit
        });
        let slope = direction.map(|v| v / fastest);
        let inverse = slope.map(|v| if v.abs() > 1.0 / PARALLEL { 1.0 / v } else { PARALLEL });
        // A step around the box, so that what lies on its sides is not met at once.
        let (mut enter, mut leave) = (0f64, f64::from(t_max) * fastest * steps_a_unit);
        for i in 0..3 {
            let low = (f64::from(self.bounds[0][i]) - 1.0 - origin[i]) * inverse[i];
            let high = (f64::from(self.bounds[1][i]) + 1.0 - origin[i]) * inverse[i];
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

    /// Calls `met(quad, half, length)` with triangles that the segment meets; it answers
    /// where the segment ends from now on.
    fn walk(&self, parts: &Parts, segment: &Segment, met: impl FnMut(usize, u8, f32) -> f32) {
        if self.depth() <= SHALLOW {
            walk::<SHALLOW>(parts, segment, met);
        } else {
            walk::<MAX_DEPTH>(parts, segment, met);
        }
    }
}

/// A ray inside the box of a tree, in steps.
struct Segment {
    /// Where it starts. The fourth lane is for the compiler: indices below four.
    origin: [f32; 4],
    /// Inverse of the slopes.
    inverse: [f32; 4],
    /// Change along each axis for a step along the major one.
    slope: [f32; 3],
    /// Axis along which it moves fastest; the slope there is ±1.
    major: usize,
    /// Its length, along the major axis.
    end: f32,
    /// Length between the ray's origin and the start.
    before: f64,
    /// What a length of one step is in lengths of the caller's direction.
    t_a_step: f64,
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

/// A part of the tree to be visited later, and the part of the segment in it.
#[derive(Clone, Copy, Default)]
struct Later {
    node: u32,
    from: f32,
    to: f32,
}

fn walk<const STACK: usize>(
    parts: &Parts,
    segment: &Segment,
    mut met: impl FnMut(usize, u8, f32) -> f32,
) {
    let mut stack = [Later::default(); STACK];
    let (mut top, mut at) = (0, 0);
    let (mut from, mut to, mut end) = (0f32, segment.end, segment.end);
    loop {
        match step(parts.nodes, at) {
            Step::Leaf { first, count } => {
                for quad in first..first + count.min(LEAF) {
                    end = meet(parts, segment, quad, end, &mut met);
                }
            }
            Step::Branch { ends, begins, axis, left, right } => {
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
                    stack[top] = Later { node: far as u32, from: enters.max(from), to };
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
            let later = stack[top];
            if later.from <= end {
                (at, from, to) = (later.node as usize, later.from, later.to.min(end));
                break;
            }
        }
    }
}

/// Tests both halves of a quad, and returns where the segment ends then.
#[inline]
fn meet(
    parts: &Parts,
    segment: &Segment,
    quad: usize,
    mut end: f32,
    met: &mut impl FnMut(usize, u8, f32) -> f32,
) -> f32 {
    let corners = parts.corners(quad);
    let points = corners.map(|corner| parts.vertices[corner as usize]);
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
            end = met(quad, half, length);
        }
    }
    end
}
