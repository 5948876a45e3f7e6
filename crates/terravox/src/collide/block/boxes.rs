//! The triangles whose own boxes meet a box.
//!
//! Positions are integers, so a box is rounded inward to integers once and all further
//! compares are exact: bytes against bytes in nodes, 16 bits against 16 bits in leaves.

use super::mesh::{FARTHEST, LEAF, Leaf, Leaves, MIDDLE, Mesh, STEPS};
use super::node::{Child, Node, WIDTH, byte_of};
use super::walk::STACK;
use super::{QuadTree, Triangle, machine};

/// A box on the grid of positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoxQuery {
    /// What the low corner of a box, and that of its mirror image, may not exceed.
    pub limits: [[i16; 3]; 2],
    /// The same for bytes of nodes, each four times.
    pub bytes: [[[u8; WIDTH]; 3]; 2],
}

impl BoxQuery {
    /// The box from `min` to `max`, cells; none if it is none, or far from any block.
    pub fn new(min: [f32; 3], max: [f32; 3]) -> Option<BoxQuery> {
        let end = f32::from(FARTHEST);
        let mut limits = [[0; 3]; 2];
        for axis in 0..3 {
            let low = ((min[axis] - MIDDLE) * STEPS).ceil();
            let high = ((max[axis] - MIDDLE) * STEPS).floor();
            // No NaN gets through these.
            if !(min[axis] <= max[axis] && high >= -end && low <= end) {
                return None;
            }
            limits[0][axis] = high.min(end) as i16;
            limits[1][axis] = -(low.max(-end) as i16);
        }
        let bytes = limits.map(|corner| corner.map(|limit| [byte_of(limit); WIDTH]));
        Some(BoxQuery { limits, bytes })
    }
}

impl QuadTree {
    /// Hands out every triangle whose axis-aligned box meets the box from `min` to `max`,
    /// cells from the block's lowest corner; touching counts. An invalid box
    /// (inverted, NaN) meets nothing.
    pub fn triangles_in(&self, min: [f32; 3], max: [f32; 3], visit: impl FnMut(Triangle)) {
        let Some(query) = BoxQuery::new(min, max) else { return };
        match &self.mesh.leaves {
            Leaves::Narrow(leaves) => walk(&self.nodes, &self.mesh, leaves, &query, visit),
            Leaves::Wide(leaves) => walk(&self.nodes, &self.mesh, leaves, &query, visit),
        }
    }
}

fn walk<V: Copy + Into<usize> + Into<u16>>(
    nodes: &[Node],
    mesh: &Mesh,
    leaves: &[Leaf<V>],
    query: &BoxQuery,
    mut visit: impl FnMut(Triangle),
) {
    let mut waiting = [0u16; STACK];
    let mut count = 1;
    while count > 0 {
        count -= 1;
        let node = &nodes[usize::from(waiting[count])];
        let mut mask = machine::boxes_in(node, query);
        while mask != 0 {
            let lane = mask.trailing_zeros() as usize & 3;
            mask &= mask - 1;
            match node.child(lane) {
                Child::Node(_) => {
                    waiting[count] = node.children[lane];
                    count += 1;
                }
                Child::Leaf(leaf) => hand_out(mesh, &leaves[leaf], leaf, query, &mut visit),
            }
        }
    }
}

/// Hands out the triangles of a leaf that are in the box.
#[inline(always)]
fn hand_out<V: Copy + Into<usize> + Into<u16>>(
    mesh: &Mesh,
    leaf: &Leaf<V>,
    number: usize,
    query: &BoxQuery,
    visit: &mut impl FnMut(Triangle),
) {
    let mut mask = machine::triangles_in(leaf, &mesh.positions, query);
    while mask != 0 {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        let (lane, second) = (bit / 2, bit & 1 == 1);
        visit(mesh.triangle_of(leaf, (LEAF * number + lane) as u16, second));
    }
}
