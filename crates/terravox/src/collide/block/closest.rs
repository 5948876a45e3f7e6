//! The point of a surface that is closest to a point.
//!
//! Boxes by their distance, nearest first.

use glam::Vec3;

use crate::geometry::on_triangle;

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
            let found = on_triangle(point, &if second { [a, c, d] } else { [a, b, c] });
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
