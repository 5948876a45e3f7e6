//! The format of nodes: two planes in 6 bytes.

/// Maximum number of primitives of a leaf.
pub(super) const LEAF: usize = 4;

/// Levels below the root, at most. A part has at most three quarters of its parent's
/// primitives or, by halving, one more than half; so 2³² of them are down to [`LEAF`]
/// after log(2³⁰) / log(4/3) = 72.3 levels.
pub(super) const MAX_DEPTH: usize = 73;

/// Bits of a node's third word that say its axis; a leaf has all set.
pub(super) const AXIS: u16 = 3;

/// Exclusive bound of the offset from a branch to its right part in the third word.
pub(super) const NARROW: usize = 0x3fff;

/// A node: 6 bytes, in the order of a walk that takes left first.
///
/// - Branch: where the left part ends, where the right one begins, `axis | offset << 2`. The
///   left part follows; the right one is `offset` nodes further. Offsets that need more than 14
///   bits are stored as 0, and the value is in the slot that follows. So nodes have 6 bytes, and
///   only the few above 16,383 primitives take two slots.
/// - Leaf: first primitive, low word and high word, `3 | (count - 1) << 2`.
pub(super) type KdNode = [u16; 3];

/// A number of 32 bits from its low and high word.
pub(super) fn wide([low, high]: [u16; 2]) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

/// The low and the high word of a number.
pub(super) fn narrow(value: u32) -> [u16; 2] {
    [value as u16, (value >> 16) as u16]
}

/// A decoded node.
pub(super) enum NodeKind {
    /// Where the left part ends and the right one begins along an axis, and their nodes.
    Branch { ends: u16, begins: u16, axis: usize, left: usize, right: usize },
    /// First primitive, and the number of primitives.
    Leaf { first: usize, count: usize },
}

/// Decodes the node at an index.
#[inline]
pub(super) fn decode(nodes: &[KdNode], at: usize) -> NodeKind {
    let [first, second, third] = nodes[at];
    let axis = third & AXIS;
    let rest = usize::from(third >> 2);
    if axis == AXIS {
        return NodeKind::Leaf { first: wide([first, second]) as usize, count: rest + 1 };
    }
    let (left, right) = if rest != 0 {
        (at + 1, at + rest)
    } else {
        let [low, high, _] = nodes[at + 1];
        (at + 2, at + wide([low, high]) as usize)
    };
    NodeKind::Branch { ends: first, begins: second, axis: axis as usize, left, right }
}
