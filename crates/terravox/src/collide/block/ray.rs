//! Rays through a block.
//!
//! Triangles are tested as Woop, Benthin and Wald do, "Watertight Ray/Triangle
//! Intersection" (2013): seen along the ray, the ray is the origin, and a triangle is met
//! if the three cross products of its corners agree in sign. An edge gives the same
//! product to both triangles at it, so nothing gets through between them. A quad's two
//! triangles need five products. Seen from a neighbouring block the same edge has other
//! roundings, so a triangle reaches beyond its edges by a 65,536th of its height.
//! Boxes are tested by slabs, grown by what rounding can be off (compare Ize, "Robust BVH
//! Ray Traversal", 2013).

use glam::Vec4;

use super::machine;
use super::mesh::{FARTHEST, LEAF, Leaf, Leaves, MIDDLE, Mesh, STEPS};
use super::node::BYTE;
use super::walk::nearest_first;
use super::{Node, QuadTree};

/// Directions of a length beyond this or below its inverse are no directions.
const LONGEST: f32 = 1e15;

/// Origins of which the coordinates sum to more, cells, are too far to tell places in a block apart.
const FARTHEST_ORIGIN: f32 = (1 << 20) as f32;

/// By the set of a direction's longest shares: the first such axis, and those that follow
/// it.
const AXES: [[usize; 3]; 8] = {
    let (x, y, z) = ([0, 1, 2], [1, 2, 0], [2, 0, 1]);
    [x, x, y, x, z, x, y, x]
};

/// A direction's share along an axis counts as this at least, either way: with it the
/// products with any origin stay finite, and over the longest way, 2²⁰ cells, a direction of
/// length 10⁻¹⁵ gets nowhere along the axis.
const LEAST: f32 = 1e-30;

/// How much farther than itself a triangle reaches, as a share of its height.
pub(super) const EDGE_SLACK: f32 = 1.0 / 65536.0;

/// How far off a distance to a side of a box may be, as a share of the way to the far end
/// of the block.
const SIDE_SLACK: f32 = 1.0 / (1 << 21) as f32;

/// A ray in a block's space, with what the tests of boxes need of it. Written as whole
/// vectors: parts would have to wait for each other in the processor's store queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalRay {
    /// Where it starts, steps from the block's middle.
    origin: Vec4,
    /// The direction; the signs say which sides of boxes are near.
    pub(super) direction: Vec4,
    /// 1 / direction, steps.
    inverse: Vec4,
    /// Ray parameter a byte's step, by axis.
    pub(super) byte: Vec4,
    /// Ray parameters of the near and the far end of the block, by axis, rounded outward.
    pub(super) ends: [Vec4; 2],
    valid: bool,
}

/// What the tests of triangles need of a ray. Made when its first box is met: most rays
/// through a block meet none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// What turns a position into where it is seen along the ray: factors, and a sum.
    pub views: [Vec4; 2],
    /// The axis that the ray runs along most.
    depth_axis: usize,
    /// Where the ray starts along that axis, steps.
    start: f32,
    /// 1 / direction along that axis, steps.
    inverse: f32,
}

/// Where a ray meets a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalHit {
    /// How far along the ray, in lengths of its direction.
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
    /// The ray from `origin`, cells from the block's lowest corner, along `direction`, of
    /// any length from 10⁻¹⁵ to 10¹⁵ cells, the origin's coordinates summing to at most 2²⁰.
    /// Any other ray hits nothing.
    #[inline]
    pub fn new(origin: [f32; 3], direction: [f32; 3]) -> LocalRay {
        let [x, y, z] = direction;
        let along = Vec4::new(x, y, z, 0.0);
        let size = along.abs();
        let longest = larger(larger(size.x, size.y), size.z);
        // A NaN is in no range.
        let valid = longest >= 1.0 / LONGEST && (size.x + size.y) + size.z <= LONGEST;
        let inverse = (1.0 / STEPS) / size.max(Vec4::splat(LEAST)).copysign(along);
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
    /// lowest corner.
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
        self.valid &= far <= FARTHEST_ORIGIN;
        let origin = (Vec4::new(x, y, z, MIDDLE) - MIDDLE) * STEPS;
        let size = self.inverse.abs();
        let middle = origin * self.inverse;
        let end = f32::from(FARTHEST);
        let half = ((origin.abs() + end) * SIDE_SLACK + end) * size;
        self.ends = [-middle - half, half - middle];
        self.origin = origin;
    }
}

impl Aim {
    /// Of a ray with a direction.
    #[inline]
    pub fn new(ray: &LocalRay) -> Aim {
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
        Aim { views: [view(u), view(v)], depth_axis, start, inverse }
    }

    /// Where along the two views a position is seen.
    #[inline]
    pub(super) fn seen(&self, p: [f32; 3]) -> [f32; 2] {
        self.views.map(|view| ((p[0] * view.x + p[1] * view.y) + p[2] * view.z) + view.w)
    }

    /// Where the ray meets the plane of a triangle of positions that it is known to meet.
    #[inline]
    pub(super) fn meet(&self, corners: [[i16; 3]; 3]) -> (f32, f32, f32) {
        let [p, q, r] = corners.map(|[x, y, z]| [f32::from(x), f32::from(y), f32::from(z)]);
        let depth = self.depth_axis;
        let [a, b, c] = [self.seen(p), self.seen(q), self.seen(r)];
        let [wa, wb, wc] = [cross(b, c), cross(c, a), cross(a, b)];
        let inverse = 1.0 / ((wa + wb) + wc);
        let [za, zb, zc] = [p, q, r].map(|corner| corner[depth] - self.start);
        let along = ((wa * za + wb * zb) + wc * zc) * inverse;
        (along * self.inverse, wb * inverse, wc * inverse)
    }
}

/// The larger; if the first is a NaN, the second.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Twice the signed area that the origin, `a` and `b` span.
#[inline]
pub(super) fn cross(a: [f32; 2], b: [f32; 2]) -> f32 {
    a[0] * b[1] - a[1] * b[0]
}

impl QuadTree {
    /// The nearest triangle that the ray meets at `t_min..=t_max`, if any.
    pub fn closest(&self, ray: &LocalRay, t_min: f32, t_max: f32) -> Option<LocalHit> {
        let mut nearest = None;
        self.walk(ray, t_min, t_max, |hit, _| {
            nearest = Some(hit);
            hit.t
        });
        nearest
    }

    /// Whether the ray meets a triangle at `t_min..=t_max`.
    pub fn any(&self, ray: &LocalRay, t_min: f32, t_max: f32) -> bool {
        let mut met = false;
        self.walk(ray, t_min, t_max, |_, _| {
            met = true;
            f32::NEG_INFINITY
        });
        met
    }

    /// Hands out every triangle that the ray meets at `t_min..=t_max`, in no order.
    pub fn each(&self, ray: &LocalRay, t_min: f32, t_max: f32, mut visit: impl FnMut(LocalHit)) {
        self.walk(ray, t_min, t_max, |hit, limit| {
            visit(hit);
            limit
        });
    }

    /// Hands out triangles that the ray meets, at `t_min` or later and up to a limit that
    /// starts as `t_max` and is what `visit` returned last. `visit` gets the hit and the
    /// limit.
    #[inline(always)]
    fn walk(
        &self,
        ray: &LocalRay,
        t_min: f32,
        t_max: f32,
        visit: impl FnMut(LocalHit, f32) -> f32,
    ) {
        if !ray.valid || t_min.is_nan() || t_max.is_nan() || t_min > t_max {
            return;
        }
        match &self.mesh.leaves {
            Leaves::Narrow(leaves) => {
                walk(&self.nodes, &self.mesh, leaves, ray, [t_min, t_max], visit)
            }
            Leaves::Wide(leaves) => {
                walk(&self.nodes, &self.mesh, leaves, ray, [t_min, t_max], visit)
            }
        }
    }
}

#[inline(always)]
fn walk<V: Copy + Into<usize> + Into<u16>>(
    nodes: &[Node],
    mesh: &Mesh,
    leaves: &[Leaf<V>],
    ray: &LocalRay,
    [t_min, t_max]: [f32; 2],
    mut visit: impl FnMut(LocalHit, f32) -> f32,
) {
    let near = |node: &Node, limit: f32| machine::near_boxes(node, ray, t_min, limit);
    let first = near(&nodes[0], t_max);
    if first.1 == 0 {
        return;
    }
    let aim = Aim::new(ray);
    nearest_first(nodes, leaves, first, t_max, near, |number, leaf, mut limit| {
        let mut met = machine::met_triangles(leaf, &mesh.positions, &aim);
        while met != 0 {
            let bit = met.trailing_zeros() as usize;
            met &= met - 1;
            let quad = (LEAF * number + bit % LEAF) as u16;
            let second = bit >= LEAF;
            let corner =
                |k: usize| mesh.positions[Into::<usize>::into(leaf.corners[k][bit % LEAF])];
            let middle = 1 + usize::from(second);
            let (t, u, v) = aim.meet([corner(0), corner(middle), corner(middle + 1)]);
            if t_min <= t && t <= limit {
                limit = visit(LocalHit { t, quad, second, u, v }, limit);
            }
        }
        limit
    });
}
