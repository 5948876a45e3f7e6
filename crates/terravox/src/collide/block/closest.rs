//! The point of a surface that is closest to a point.
//!
//! Boxes by their distance, triangles by the region of their plane that the point is
//! over: Ericson, "Real-Time Collision Detection" (2005), §5.1.5.

use glam::Vec3;

use super::mesh::{FARTHEST, FLAT, LEAF, Leaf, Leaves, MIDDLE, Mesh, STEPS, cells_of};
use super::node::{BYTE, Node, UNUSED, WIDTH};
use super::walk::{Waiting, nearest_first, waiting};
use super::{QuadTree, Triangle};

/// The point of a surface that is closest to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalPoint {
    /// How far, cells.
    pub distance: f32,
    /// The point, cells from the block's lowest corner.
    pub point: [f32; 3],
    /// The triangle that it is on.
    pub triangle: Triangle,
}

impl QuadTree {
    /// The point of the surface that is closest to `point`, if one is as close as
    /// `max_distance`, cells (infinity is allowed).
    pub fn closest_point(&self, point: [f32; 3], max_distance: f32) -> Option<LocalPoint> {
        if !point.iter().all(|v| v.is_finite()) || max_distance.is_nan() || max_distance < 0.0 {
            return None;
        }
        let point = Vec3::from(point);
        match &self.mesh.leaves {
            Leaves::Narrow(leaves) => walk(&self.nodes, &self.mesh, leaves, point, max_distance),
            Leaves::Wide(leaves) => walk(&self.nodes, &self.mesh, leaves, point, max_distance),
        }
    }
}

fn walk<V: Copy + Into<usize> + Into<u16>>(
    nodes: &[Node],
    mesh: &Mesh,
    leaves: &[Leaf<V>],
    point: Vec3,
    max_distance: f32,
) -> Option<LocalPoint> {
    let near = |node: &Node, limit: f32| near_boxes(node, point, limit);
    let mut nearest: Option<(Vec3, usize, bool)> = None;
    let limit = max_distance * max_distance;
    let mut squared = limit;
    nearest_first(nodes, leaves, near(&nodes[0], limit), limit, near, |number, leaf, mut limit| {
        for bit in 0..2 * LEAF {
            let (quad, second) = (bit / 2, bit & 1 == 1);
            if leaf.words[quad] >> (FLAT + bit as u32 % 2) & 1 == 1 {
                continue;
            }
            let [a, b, c, d] = leaf.corners.map(|corner| {
                Vec3::from(cells_of(mesh.positions[Into::<usize>::into(corner[quad])]))
            });
            let found = closest_on(point, if second { [a, c, d] } else { [a, b, c] });
            let distance = found.distance_squared(point);
            if distance < limit || distance == limit && nearest.is_none() {
                (limit, squared) = (distance, distance);
                nearest = Some((found, LEAF * number + quad, second));
            }
        }
        limit
    });
    nearest.map(|(found, quad, second)| LocalPoint {
        distance: squared.sqrt(),
        point: found.to_array(),
        triangle: mesh.triangle(quad as u16, second),
    })
}

/// A node's boxes within `limit` by their squared distances, and a mask of them.
fn near_boxes(node: &Node, point: Vec3, limit: f32) -> ([Waiting; WIDTH], u32) {
    let end = f32::from(FARTHEST);
    let mut squared = [0.0; WIDTH];
    for axis in 0..3 {
        let at = point[axis] - MIDDLE;
        for (lane, squared) in squared.iter_mut().enumerate() {
            let [low, high] = [0, 1]
                .map(|side| (f32::from(node.sides[side][axis][lane]) * BYTE - end) * (1.0 / STEPS));
            // A little nearer than it is, lest rounding leave out the closest.
            let off = (low - at).max(at + high).max(0.0) * (1.0 - 1e-6);
            *squared += off * off;
        }
    }
    let (mut met, mut mask) = ([0; WIDTH], 0);
    for lane in 0..WIDTH {
        if node.sides[0][0][lane] != UNUSED && squared[lane] <= limit {
            met[lane] = waiting(squared[lane], node.children[lane]);
            mask |= 1 << lane;
        }
    }
    (met, mask)
}

/// The point of a triangle that is closest to `p`.
fn closest_on(p: Vec3, [a, b, c]: [Vec3; 3]) -> Vec3 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return a + ab * (d1 / (d1 - d3));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return a + ac * (d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        return b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    let whole = 1.0 / (va + vb + vc);
    a + ab * (vb * whole) + ac * (vc * whole)
}
