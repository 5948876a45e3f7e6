//! The triangles whose own boxes meet a box.
//!
//! Positions are integers, so a box is rounded inward to integers once and all further
//! compares are exact: bytes against bytes in nodes, 16 bits against 16 bits in leaves.

use super::box_query::BoxQuery;
use super::leaf::{LEAF, Leaves, QuadLeaf};
use super::machine;
use super::mesh::{BlockTriangle, CompactMesh};
use super::node::{Child, Node};
use super::walk::STACK;

/// Calls `visit` for every triangle whose box meets a box.
pub(super) fn triangles_in(
    nodes: &[Node],
    mesh: &CompactMesh,
    query: &BoxQuery,
    visit: impl FnMut(BlockTriangle),
) {
    match &mesh.leaves {
        Leaves::Narrow(leaves) => walk(nodes, mesh, leaves, query, visit),
        Leaves::Wide(leaves) => walk(nodes, mesh, leaves, query, visit),
    }
}

fn walk<V: Copy + Into<usize> + Into<u16>>(
    nodes: &[Node],
    mesh: &CompactMesh,
    leaves: &[QuadLeaf<V>],
    query: &BoxQuery,
    mut visit: impl FnMut(BlockTriangle),
) {
    let mut stack = [0u16; STACK];
    let mut count = 1;
    while count > 0 {
        count -= 1;
        let node = &nodes[usize::from(stack[count])];
        let mut mask = machine::boxes_in(node, query);
        while mask != 0 {
            let lane = mask.trailing_zeros() as usize & 3;
            mask &= mask - 1;
            match node.child(lane) {
                Child::Node(_) => {
                    stack[count] = node.children[lane];
                    count += 1;
                }
                Child::Leaf(leaf) => visit_leaf(mesh, &leaves[leaf], leaf, query, &mut visit),
            }
        }
    }
}

/// Visits the triangles of a leaf that are in the box.
#[inline(always)]
fn visit_leaf<V: Copy + Into<usize> + Into<u16>>(
    mesh: &CompactMesh,
    leaf: &QuadLeaf<V>,
    number: usize,
    query: &BoxQuery,
    visit: &mut impl FnMut(BlockTriangle),
) {
    let mut mask = machine::triangles_in(leaf, &mesh.positions, query);
    while mask != 0 {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        let (lane, second) = (bit / 2, bit & 1 == 1);
        visit(mesh.triangle_of(leaf, (LEAF * number + lane) as u16, second));
    }
}
