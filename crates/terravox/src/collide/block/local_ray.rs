//! A ray in the space of a block, prepared for boxes and for triangles.
//!
//! Triangles are tested as Woop, Benthin and Wald do, "Watertight Ray/Triangle
//! Intersection" (2013): seen along the ray, the ray is the origin, and a triangle is hit if
//! the three cross products of its corners agree in sign. An edge gives the same product to
//! both triangles at it, so no ray passes between them. A quad's two triangles need five
//! products. Seen from a neighbouring block the same edge is rounded differently, so a triangle
//! reaches beyond its edges by a 65,536th of its height.
//! Boxes are tested by slabs, grown by the rounding error (compare Ize, "Robust BVH Ray
//! Traversal", 2013).

use glam::Vec4;

use super::leaf::{MAX_POSITION, MIDDLE, STEPS};
use super::node::BYTE;

/// Directions longer than this or shorter than its inverse are invalid.
const MAX_LENGTH: f32 = 1e15;

/// Origins whose coordinates sum to more, cells, are too far away to resolve positions in a
/// block.
const MAX_ORIGIN: f32 = (1 << 20) as f32;

/// By the set of axes with the largest component: the first such axis, and the two after it.
const AXES: [[usize; 3]; 8] = {
    let (x, y, z) = ([0, 1, 2], [1, 2, 0], [2, 0, 1]);
    [x, x, y, x, z, x, y, x]
};

/// Components of a direction are clamped to at least this size: products with any origin stay
/// finite, and over the largest distance, 2²⁰ cells, a direction of length 10⁻¹⁵ does not move
/// along the axis.
const MIN_COMPONENT: f32 = 1e-30;

/// How far a triangle reaches beyond its edges, as a share of its height.
pub(super) const EDGE_SLACK: f32 = 1.0 / 65536.0;

/// Error bound of a distance to a side of a box, as a share of the distance to the far end of
/// the block.
const SIDE_SLACK: f32 = 1.0 / (1 << 21) as f32;

/// A ray in a block's space, prepared for tests of boxes. Written as whole vectors: single
/// components would stall on store forwarding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalRay {
    /// Start, steps from the block's middle.
    origin: Vec4,
    /// Direction; its signs say which sides of boxes are near.
    pub(super) direction: Vec4,
    /// 1 / direction, steps.
    inverse: Vec4,
    /// Ray parameter per step of a byte, by axis.
    pub(super) byte: Vec4,
    /// Ray parameters of the near and the far end of the block, by axis, rounded outward.
    pub(super) ends: [Vec4; 2],
    pub(super) valid: bool,
}

/// A ray prepared for tests of triangles. Made when the ray hits its first box: most rays
/// through a block hit none.
#[derive(Clone, Copy, Debug)]
pub(super) struct TriangleRay {
    /// Two planes: factors and a constant that project a position along the ray.
    pub views: [Vec4; 2],
    /// The axis that the ray runs along most.
    depth_axis: usize,
    /// Start of the ray along that axis, steps.
    start: f32,
    /// 1 / direction along that axis, steps.
    inverse: f32,
}

/// Where a ray hits a triangle of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalHit {
    /// Ray parameter, in lengths of its direction.
    pub t: f32,
    /// Number of the quad.
    pub quad: u16,
    /// Whether it is the quad's second triangle.
    pub second: bool,
    /// Weight of the triangle's second corner.
    pub u: f32,
    /// Weight of the triangle's third corner; the first has the rest.
    pub v: f32,
}

impl LocalRay {
    /// The ray from `origin`, cells from the block's min corner, along `direction`, of
    /// any length from 10⁻¹⁵ to 10¹⁵ cells, the origin's coordinates summing to at most 2²⁰.
    /// Other rays are invalid and hit nothing.
    #[inline]
    pub fn new(origin: [f32; 3], direction: [f32; 3]) -> LocalRay {
        let [x, y, z] = direction;
        let along = Vec4::new(x, y, z, 0.0);
        let size = along.abs();
        let longest = larger(larger(size.x, size.y), size.z);
        // False for NaN.
        let valid = longest >= 1.0 / MAX_LENGTH && (size.x + size.y) + size.z <= MAX_LENGTH;
        let inverse = (1.0 / STEPS) / size.max(Vec4::splat(MIN_COMPONENT)).copysign(along);
        let mut ray = LocalRay {
            origin: Vec4::ZERO,
            direction: along,
            inverse,
            byte: inverse.abs() * BYTE,
            ends: [Vec4::ZERO; 2],
            valid,
        };
        ray.move_to(origin);
        ray
    }

    /// The same ray as seen from another block: `origin` is in cells from that block's
    /// min corner.
    #[inline]
    pub fn moved_to(mut self, origin: [f32; 3]) -> LocalRay {
        self.move_to(origin);
        self
    }

    /// As [`LocalRay::moved_to`], in place.
    #[inline]
    pub fn move_to(&mut self, origin: [f32; 3]) {
        let [x, y, z] = origin;
        let far = (x.abs() + y.abs()) + z.abs();
        self.valid &= far <= MAX_ORIGIN;
        let origin = (Vec4::new(x, y, z, MIDDLE) - MIDDLE) * STEPS;
        let size = self.inverse.abs();
        let middle = origin * self.inverse;
        let end = f32::from(MAX_POSITION);
        let half = ((origin.abs() + end) * SIDE_SLACK + end) * size;
        self.ends = [-middle - half, half - middle];
        self.origin = origin;
    }
}

impl TriangleRay {
    /// Prepares a valid ray.
    #[inline]
    pub fn new(ray: &LocalRay) -> TriangleRay {
        let size = ray.direction.abs();
        let longest = larger(larger(size.x, size.y), size.z);
        let is_longest = size.cmpge(Vec4::splat(longest)).bitmask() & 7;
        let [depth_axis, u, v] = AXES[is_longest as usize];
        let [origin, direction] = [ray.origin.to_array(), ray.direction.to_array()];
        let (start, inverse) = (origin[depth_axis], ray.inverse.to_array()[depth_axis]);
        let view = |axis: usize| {
            let slope = direction[axis] * (-STEPS * inverse);
            let sum = -(origin[axis] + slope * start);
            Vec4::AXES[axis] + Vec4::AXES[depth_axis] * slope + Vec4::W * sum
        };
        TriangleRay { views: [view(u), view(v)], depth_axis, start, inverse }
    }

    /// Projects a position along the ray.
    #[inline]
    pub(super) fn project(&self, p: [f32; 3]) -> [f32; 2] {
        self.views.map(|view| ((p[0] * view.x + p[1] * view.y) + p[2] * view.z) + view.w)
    }

    /// Ray parameter and weights of the second and third corner where the ray hits the plane of a
    /// triangle that it is known to hit.
    #[inline]
    pub(super) fn hit_plane(&self, corners: [[i16; 3]; 3]) -> (f32, f32, f32) {
        let [p, q, r] = corners.map(|[x, y, z]| [f32::from(x), f32::from(y), f32::from(z)]);
        let depth = self.depth_axis;
        let [a, b, c] = [self.project(p), self.project(q), self.project(r)];
        let [wa, wb, wc] = [cross(b, c), cross(c, a), cross(a, b)];
        let inverse = 1.0 / ((wa + wb) + wc);
        let [za, zb, zc] = [p, q, r].map(|corner| corner[depth] - self.start);
        let along = ((wa * za + wb * zb) + wc * zc) * inverse;
        (along * self.inverse, wb * inverse, wc * inverse)
    }
}

/// The larger one; if the first is NaN, the second.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Twice the signed area of the triangle of the origin, `a` and `b`.
#[inline]
pub(super) fn cross(a: [f32; 2], b: [f32; 2]) -> f32 {
    a[0] * b[1] - a[1] * b[0]
}
