//! Rays through a block: the walk over its tree, nearest first. See `local_ray` for the tests.

use super::leaf::{LEAF, Leaves, QuadLeaf};
use super::local_ray::{LocalHit, LocalRay, TriangleRay};
use super::machine;
use super::mesh::CompactMesh;
use super::node::Node;
use super::walk::nearest_first;

/// Calls `visit` for triangles that the ray hits, at `t_min` or later and up to a limit: at
/// first `t_max`, then what `visit` returned last. `visit` gets the hit and the limit.
#[inline(always)]
pub(super) fn hits(
    nodes: &[Node],
    mesh: &CompactMesh,
    ray: &LocalRay,
    [t_min, t_max]: [f32; 2],
    visit: impl FnMut(LocalHit, f32) -> f32,
) {
    if !ray.valid || t_min.is_nan() || t_max.is_nan() || t_min > t_max {
        return;
    }
    match &mesh.leaves {
        Leaves::Narrow(leaves) => walk(nodes, mesh, leaves, ray, [t_min, t_max], visit),
        Leaves::Wide(leaves) => walk(nodes, mesh, leaves, ray, [t_min, t_max], visit),
    }
}

#[inline(always)]
fn walk<V: Copy + Into<usize> + Into<u16>>(
    nodes: &[Node],
    mesh: &CompactMesh,
    leaves: &[QuadLeaf<V>],
    ray: &LocalRay,
    [t_min, t_max]: [f32; 2],
    mut visit: impl FnMut(LocalHit, f32) -> f32,
) {
    let near = |node: &Node, limit: f32| machine::near_boxes(node, ray, t_min, limit);
    let first = near(&nodes[0], t_max);
    if first.1 == 0 {
        return;
    }
    let triangle_ray = TriangleRay::new(ray);
    nearest_first(nodes, leaves, first, t_max, near, |number, leaf, mut limit| {
        let mut mask = machine::hit_triangles(leaf, &mesh.positions, &triangle_ray);
        while mask != 0 {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            let quad = (LEAF * number + bit % LEAF) as u16;
            let second = bit >= LEAF;
            let corner =
                |k: usize| mesh.positions[Into::<usize>::into(leaf.corners[k][bit % LEAF])];
            let middle = 1 + usize::from(second);
            let (t, u, v) = triangle_ray.hit_plane([corner(0), corner(middle), corner(middle + 1)]);
            if t_min <= t && t <= limit {
                limit = visit(LocalHit { t, quad, second, u, v }, limit);
            }
        }
        limit
    });
}
