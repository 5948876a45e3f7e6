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

use super::machine;
use super::mesh::{FARTHEST, LEAF, Leaf, Leaves, MIDDLE, Mesh, STEPS};
use super::node::BYTE;
use super::walk::nearest_first;
use super::{Node, QuadTree};

/// Directions of a length beyond this or below its inverse are no directions.
const LONGEST: f32 = 1e15;

/// A direction's share along an axis is at least this, either way.
const LEAST_SHARE: f32 = 1e-15;

/// How much farther than itself a triangle reaches, as a share of its height.
pub(super) const EDGE_SLACK: f32 = 1.0 / 65536.0;

/// How far off a distance to a side of a box may be, as a share of the way to the far end
/// of the block.
const SIDE_SLACK: f32 = 1.0 / (1 << 21) as f32;

/// A ray in a block's space, with what the tests need of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalRay {
    /// Where it starts, steps from the block's middle.
    origin: [f32; 3],
    /// 1 / direction, steps.
    inverse: [f32; 3],
    /// What turns a position into where it is seen along the ray: factors, and a sum.
    pub(super) views: [[f32; 4]; 2],
    /// The axis that the ray runs along most.
    depth_axis: usize,
    /// Ray parameter a byte's step, by axis.
    pub(super) byte: [f32; 3],
    /// Ray parameters of the near and the far end of the block, by axis, rounded outward.
    pub(super) ends: [[f32; 3]; 2],
    /// By axis: 1 where the high side of a box is the near one.
    pub(super) near_side: [usize; 3],
    valid: bool,
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
    /// any length from 10⁻¹⁵ to 10¹⁵ cells. Any other ray hits nothing.
    pub fn new(origin: [f32; 3], direction: [f32; 3]) -> LocalRay {
        let size = direction.map(f32::abs);
        let longest = size[0].max(size[1]).max(size[2]);
        let depth_axis = (0..3).find(|&axis| size[axis] == longest).unwrap_or(0);
        let finite = origin.iter().chain(&direction).all(|v| v.is_finite());
        let valid = finite && (1.0 / LONGEST..=LONGEST).contains(&longest);
        let least = longest * LEAST_SHARE;
        let inverse = direction.map(|d| {
            let d = if d.abs() < least { least.copysign(d) } else { d };
            1.0 / (d * STEPS)
        });
        let [u, v] = [(depth_axis + 1) % 3, (depth_axis + 2) % 3];
        let mut views = [[0.0; 4]; 2];
        for (view, axis) in views.iter_mut().zip([u, v]) {
            view[axis] = 1.0;
            view[depth_axis] = -direction[axis] / direction[depth_axis];
        }
        let ray = LocalRay {
            origin: [0.0; 3],
            inverse,
            views,
            depth_axis,
            byte: inverse.map(|inverse| inverse.abs() * BYTE),
            ends: [[0.0; 3]; 2],
            near_side: direction.map(|d| usize::from(d.is_sign_negative())),
            valid,
        };
        ray.moved_to(origin)
    }

    /// The same ray as seen from another block: `origin` is in cells from that block's
    /// lowest corner.
    pub fn moved_to(mut self, origin: [f32; 3]) -> LocalRay {
        self.move_to(origin);
        self
    }

    /// As [`LocalRay::moved_to`], in place.
    pub fn move_to(&mut self, origin: [f32; 3]) {
        self.valid &= origin.iter().all(|v| v.is_finite());
        self.origin = origin.map(|o| (o - MIDDLE) * STEPS);
        let end = f32::from(FARTHEST);
        for axis in 0..3 {
            let (o, inverse) = (self.origin[axis], self.inverse[axis]);
            let slack = (o.abs() + end) * inverse.abs() * SIDE_SLACK;
            let middle = -o * inverse;
            let half = end * inverse.abs();
            self.ends[0][axis] = (middle - half) - slack;
            self.ends[1][axis] = (middle + half) + slack;
        }
        for view in &mut self.views {
            let [x, y, z] = self.origin;
            view[3] = -((x * view[0] + y * view[1]) + z * view[2]);
        }
    }

    /// Where along the two views a position is seen.
    #[inline]
    pub(super) fn seen(&self, p: [f32; 3]) -> [f32; 2] {
        self.views.map(|view| ((p[0] * view[0] + p[1] * view[1]) + p[2] * view[2]) + view[3])
    }

    /// Where the ray meets the plane of a triangle of positions that it is known to meet.
    #[inline]
    pub(super) fn meet(&self, corners: [[i16; 3]; 3]) -> (f32, f32, f32) {
        let corners = corners.map(|corner| corner.map(f32::from));
        let [a, b, c] = corners.map(|corner| self.seen(corner));
        let [wa, wb, wc] = [cross(b, c), cross(c, a), cross(a, b)];
        let inverse = 1.0 / ((wa + wb) + wc);
        let [za, zb, zc] =
            corners.map(|corner| corner[self.depth_axis] - self.origin[self.depth_axis]);
        let depth = ((wa * za + wb * zb) + wc * zc) * inverse;
        (depth * self.inverse[self.depth_axis], wb * inverse, wc * inverse)
    }
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
    /// starts as `t_max` and is what `visit` answered last. `visit` gets the hit and the
    /// limit.
    #[inline(always)]
    fn walk(
        &self,
        ray: &LocalRay,
        t_min: f32,
        t_max: f32,
        visit: impl FnMut(LocalHit, f32) -> f32,
    ) {
        if !ray.valid || !(t_min <= t_max) {
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
    nearest_first(nodes, leaves, t_max, near, |number, leaf, mut limit| {
        let mut met = machine::met_triangles(leaf, &mesh.positions, ray);
        while met != 0 {
            let bit = met.trailing_zeros() as usize;
            met &= met - 1;
            let quad = (LEAF * number + bit % LEAF) as u16;
            let second = bit >= LEAF;
            let [a, b, c, d] =
                leaf.corners.map(|corner| mesh.positions[Into::<usize>::into(corner[bit % LEAF])]);
            let (t, u, v) = ray.meet(if second { [a, c, d] } else { [a, b, c] });
            if t_min <= t && t <= limit {
                limit = visit(LocalHit { t, quad, second, u, v }, limit);
            }
        }
        limit
    });
}
