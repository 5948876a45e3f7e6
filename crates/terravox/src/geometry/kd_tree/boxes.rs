//! Triangles in a box, and the boxes of the nodes for debug drawing.
//!
//! Boxes come rounded inwards to the lattice, which is exact since all positions lie on it; only
//! integers are compared. A node only tests its own axis; space along the other
//! axes was narrowed further up.

use super::nodes::{LEAF, MAX_DEPTH, NodeKind, decode};
use super::view::{KdTriangle, TreeView, has_half};

/// Calls `visit` with every triangle whose box meets the box of lattice points.
pub(super) fn triangles_in(
    view: &TreeView<'_>,
    [low, high]: [[u16; 3]; 2],
    mut visit: impl FnMut(KdTriangle),
) {
    let mut stack = [0u32; MAX_DEPTH + 1];
    let (mut at, mut top) = (0, 0);
    loop {
        match decode(view.nodes, at) {
            NodeKind::Leaf { first, count } => {
                let count = count.min(LEAF);
                leaf_triangles_in(view, first..first + count, [low, high], &mut visit);
            }
            NodeKind::Branch { ends, begins, axis, left, right } => {
                let (in_left, in_right) = (ends >= low[axis], begins <= high[axis]);
                if in_left || in_right {
                    stack[top] = right as u32;
                    top += usize::from(in_left && in_right);
                    at = if in_left { left } else { right };
                    continue;
                }
            }
        }
        if top == 0 {
            return;
        }
        top -= 1;
        at = stack[top] as usize;
    }
}

/// Visits the triangles of some quads whose boxes meet the box of lattice points.
#[inline]
fn leaf_triangles_in(
    view: &TreeView<'_>,
    quads: std::ops::Range<usize>,
    [low, high]: [[u16; 3]; 2],
    visit: &mut impl FnMut(KdTriangle),
) {
    for quad in quads {
        let corners = view.corners(quad);
        let points = corners.map(|corner| view.vertices[corner as usize]);
        let [a, b, c, d] = points;
        for (half, [p, q, r]) in [(0, [a, b, c]), (1, [a, c, d])] {
            // Without short circuits: which axis separates them is unpredictable.
            let meets = (0..3).fold(true, |meets, i| {
                let (least, most) = (p[i].min(q[i]).min(r[i]), p[i].max(q[i]).max(r[i]));
                meets & (least <= high[i]) & (most >= low[i])
            });
            if meets && has_half(corners, half) {
                visit(view.triangle(quad, corners, half));
            }
        }
    }
}

/// Calls `visit(level, min, max)` with the space of every node in `bounds`, the root first.
pub(super) fn node_boxes(
    view: &TreeView<'_>,
    bounds: [[u16; 3]; 2],
    mut visit: impl FnMut(usize, [f32; 3], [f32; 3]),
) {
    let nodes = view.nodes;
    let mut open = vec![(0, 0, bounds)];
    while let Some((at, level, bounds)) = open.pop() {
        let [min, max] = bounds.map(|point| view.grid.position(point));
        visit(level, min, max);
        if let NodeKind::Branch { ends, begins, axis, left, right } = decode(nodes, at) {
            let (mut low, mut high) = (bounds, bounds);
            low[1][axis] = ends;
            high[0][axis] = begins;
            open.push((right, level + 1, high));
            open.push((left, level + 1, low));
        }
    }
}
