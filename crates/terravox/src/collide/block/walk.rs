//! The walk over a tree, nearest first.

use super::mesh::Leaf;
use super::node::{Child, Node, WIDTH};

/// More than a walk ever leaves to be visited: a node leaves three, and trees are at most
/// [`MAX_DEPTH`] deep.
pub(super) const STACK: usize = 3 * MAX_DEPTH + 1;

/// Deepest tree. A child has at most 2/3 of its node's quads (of three splits, each into
/// parts of at most 3/4 and a rounding of two quads, the first two or three go to the
/// largest part), so that 32,768 quads are down to 16 after 19 levels, and a node of 16
/// has leaves only.
pub(super) const MAX_DEPTH: usize = 21;

/// Children that wait, the nearest on top: how near as bits of an f32 of 0 or more, and
/// the packed child.
pub(super) struct Stack {
    waiting: [u64; STACK],
    count: usize,
}

impl Stack {
    /// One that holds the root.
    #[inline(always)]
    pub fn new() -> Stack {
        Stack { waiting: [0; STACK], count: 1 }
    }

    /// The nearest child and its distance.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(f32, Child)> {
        self.count = self.count.checked_sub(1)?;
        let top = self.waiting[self.count];
        Some((f32::from_bits((top >> 32) as u32), Child::unpack(top as u16)))
    }

    /// Adds the children of `node` that `mask` names, each with how near it is.
    #[inline(always)]
    pub fn push(&mut self, node: &Node, near: &[f32; WIDTH], mut mask: u32) {
        let base = self.count;
        while mask != 0 {
            let lane = mask.trailing_zeros() as usize & 3;
            mask &= mask - 1;
            let entry = u64::from(near[lane].to_bits()) << 32 | u64::from(node.children[lane]);
            let mut at = self.count;
            while at > base && self.waiting[at - 1] < entry {
                self.waiting[at] = self.waiting[at - 1];
                at -= 1;
            }
            self.waiting[at] = entry;
            self.count += 1;
        }
    }
}

/// Visits the nodes and leaves that `near` lets through, nearest first, until nothing is
/// left nearer than what `at_leaf` answers.
#[inline(always)]
pub(super) fn nearest_first<V>(
    nodes: &[Node],
    leaves: &[Leaf<V>],
    mut limit: f32,
    near: impl Fn(&Node, f32) -> ([f32; WIDTH], u32),
    mut at_leaf: impl FnMut(usize, &Leaf<V>, f32) -> f32,
) {
    let mut stack = Stack::new();
    while let Some((distance, child)) = stack.pop() {
        if distance > limit {
            continue;
        }
        match child {
            Child::Node(number) => {
                let node = &nodes[number];
                let (distances, mask) = near(node, limit);
                stack.push(node, &distances, mask);
            }
            Child::Leaf(number) => limit = at_leaf(number, &leaves[number], limit),
        }
    }
}
