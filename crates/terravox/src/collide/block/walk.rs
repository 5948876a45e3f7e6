//! The walk over a tree, nearest first.
//!
//! Children are sorted and stacked without branches on how many are hit or in which order: such
//! branches are unpredictable.

use super::leaf::QuadLeaf;
use super::node::{Child, Node, WIDTH};

/// Deepest tree, in nodes. Down to [`HALVED_FROM`] a child has at most 2/3 of its node's
/// quads: of three splits, each into parts of at most 3/4 and a rounding of two quads, the
/// largest part gets the next. So four levels make 6,600 of 32,768; further down nodes are
/// quartered, with a rounding of three: 1,653, 416, 107, 30, 16, and 16 are four leaves.
pub(super) const MAX_DEPTH: usize = 10;

/// Nodes from this depth on are split in halves, however their quads lie.
pub(super) const HALVED_FROM: usize = 4;

/// Largest number of queued children: a node adds three more than it takes.
pub(super) const STACK: usize = 3 * MAX_DEPTH + 1;

/// A queued child: its distance as bits of an f32, and below that the packed child. 0 is
/// empty.
pub(super) type QueuedChild = u64;

/// Numbers of bits of the 16 masks, four bits each.
const COUNTS: u64 = 0x4332_3221_3221_2110;

/// Packs a child and its distance.
#[inline(always)]
pub(super) fn queued(near: f32, child: u16) -> QueuedChild {
    u64::from(near.to_bits()) << 32 | u64::from(child)
}

/// Visits the nodes and leaves that `near` selects, nearest first, until none is nearer than the
/// limit that `at_leaf` returns. `near` returns the selected children of a node, 0 for others,
/// and a mask of them. `root` is its result for the root: callers compute it first, since most
/// walks end there. Negative distances come last.
#[inline(always)]
pub(super) fn nearest_first<V>(
    nodes: &[Node],
    leaves: &[QuadLeaf<V>],
    root: ([QueuedChild; WIDTH], u32),
    mut limit: f32,
    near: impl Fn(&Node, f32) -> ([QueuedChild; WIDTH], u32),
    mut at_leaf: impl FnMut(usize, &QuadLeaf<V>, f32) -> f32,
) {
    let mut stack = [0; STACK];
    stack[..WIDTH].copy_from_slice(&farthest_first(root.0));
    let mut count = count_of(root.1);
    while count > 0 {
        count -= 1;
        let next = stack[count];
        if f32::from_bits((next >> 32) as u32) > limit {
            continue;
        }
        match Child::unpack(next as u16) {
            Child::Node(number) => {
                let (children, mask) = near(&nodes[number], limit);
                // Four are written where up to four are added.
                stack[count..count + WIDTH].copy_from_slice(&farthest_first(children));
                count += count_of(mask);
            }
            Child::Leaf(number) => limit = at_leaf(number, &leaves[number], limit),
        }
    }
}

/// Number of bits of a mask.
#[inline(always)]
fn count_of(mask: u32) -> usize {
    (COUNTS >> (4 * (mask & 15)) & 15) as usize
}

/// Sorted, largest first.
#[inline(always)]
fn farthest_first([a, b, c, d]: [QueuedChild; WIDTH]) -> [QueuedChild; WIDTH] {
    let (a, b) = (a.max(b), a.min(b));
    let (c, d) = (c.max(d), c.min(d));
    let (a, c) = (a.max(c), a.min(c));
    let (b, d) = (b.max(d), b.min(d));
    [a, b.max(c), b.min(c), d]
}
