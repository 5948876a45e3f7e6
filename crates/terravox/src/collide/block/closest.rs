//! The point of a surface that is closest to a point: boxes by their distance, nearest first.

use glam::Vec3;

use crate::geometry::closest_on_triangle;

use super::leaf::{FLAT, LEAF, Leaves, MAX_POSITION, MIDDLE, QuadLeaf, STEPS, cells_of};
use super::mesh::{BlockTriangle, CompactMesh};
use super::node::{BYTE, Node, UNUSED, WIDTH};
use super::walk::{QueuedChild, nearest_first, queued};

/// The point of a surface that is closest to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalPoint {
    /// Distance, cells.
    pub distance: f32,
    /// The point, cells from the block's min corner.
    pub point: [f32; 3],
    /// The triangle that contains the point.
    pub triangle: BlockTriangle,
}

/// The point of the surface that is closest to `point`, within `max_distance`, cells.
pub(super) fn closest_point(
    nodes: &[Node],
    mesh: &CompactMesh,
    point: [f32; 3],
    max_distance: f32,
) -> Option<LocalPoint> {
    if !point.iter().all(|v| v.is_finite()) || max_distance.is_nan() || max_distance < 0.0 {
        return None;
    }
    let point = Vec3::from(point);
    match &mesh.leaves {
        Leaves::Narrow(leaves) => walk(nodes, mesh, leaves, point, max_distance),
        Leaves::Wide(leaves) => walk(nodes, mesh, leaves, point, max_distance),
    }
}

fn walk<V: Copy + Into<usize> + Into<u16>>(
    nodes: &[Node],
    mesh: &CompactMesh,
    leaves: &[QuadLeaf<V>],
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
            let found = closest_on_triangle(point, &if second { [a, c, d] } else { [a, b, c] });
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
fn near_boxes(node: &Node, point: Vec3, limit: f32) -> ([QueuedChild; WIDTH], u32) {
    let end = f32::from(MAX_POSITION);
    let mut squared = [0.0; WIDTH];
    for axis in 0..3 {
        let at = point[axis] - MIDDLE;
        for (lane, squared) in squared.iter_mut().enumerate() {
            let [low, high] = [0, 1]
                .map(|side| (f32::from(node.sides[side][axis][lane]) * BYTE - end) * (1.0 / STEPS));
            // Slightly too near, so that rounding never excludes the closest.
            let off = (low - at).max(at + high).max(0.0) * (1.0 - 1e-6);
            *squared += off * off;
        }
    }
    let (mut children, mut mask) = ([0; WIDTH], 0);
    for lane in 0..WIDTH {
        if node.sides[0][0][lane] != UNUSED && squared[lane] <= limit {
            children[lane] = queued(squared[lane], node.children[lane]);
            mask |= 1 << lane;
        }
    }
    (children, mask)
}
