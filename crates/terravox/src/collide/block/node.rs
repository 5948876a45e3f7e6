//! A node: four boxes of bytes, and a child in each.
//!
//! A byte counts steps of about 1/27 of a cell inward from the low end of the reach of
//! a block for a box's low sides, and from the high end for its high sides. So both are
//! rounded down, and a box never loses what it holds.

use super::leaf::{MAX_POSITION, MIDDLE, STEPS};

/// Children of a node.
pub(super) const WIDTH: usize = 4;

/// Bytes are positions times this, shifted right by 16: all of 0..=2·19456 fits.
pub(super) const SCALE: u32 = 429;

/// Steps of positions per step of a byte.
pub(super) const BYTE: f32 = 65536.0 / SCALE as f32;

/// A byte of an unused box; bytes of used ones are less.
pub(super) const UNUSED: u8 = 255;

/// Set in a child that is a leaf.
const IS_LEAF: u16 = 1 << 15;

/// Four boxes; unused ones are inverted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Node {
    /// Low sides by axis and child, from the low end; then high sides, from the high end.
    pub sides: [[[u8; WIDTH]; 3]; 2],
    /// Number of a leaf if the highest bit is set, else of a node.
    pub children: [u16; WIDTH],
}

/// A child of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    /// Number of a node.
    Node(usize),
    /// Number of a leaf.
    Leaf(usize),
}

impl Child {
    /// A node's child, unpacked.
    #[inline]
    pub fn unpack(packed: u16) -> Child {
        let number = usize::from(packed & !IS_LEAF);
        if packed & IS_LEAF != 0 { Child::Leaf(number) } else { Child::Node(number) }
    }

    /// As a node stores it.
    pub fn pack(self) -> u16 {
        match self {
            Child::Node(node) => node as u16,
            Child::Leaf(leaf) => leaf as u16 | IS_LEAF,
        }
    }
}

/// The byte of a low side at `position`, or of a high side at its mirror image.
#[inline(always)]
pub(super) fn byte_of(position: i16) -> u8 {
    (((i32::from(position) + i32::from(MAX_POSITION)) as u32 * SCALE) >> 16) as u8
}

impl Node {
    /// A node without children.
    pub const EMPTY: Node = Node { sides: [[[UNUSED; WIDTH]; 3]; 2], children: [0; WIDTH] };

    /// Sets a child. `low` is the min corner of its box, `low_of_negated` that of its
    /// mirror image.
    pub fn set(&mut self, lane: usize, low: [i16; 3], low_of_negated: [i16; 3], child: Child) {
        for (side, corner) in [low, low_of_negated].into_iter().enumerate() {
            for axis in 0..3 {
                self.sides[side][axis][lane] = byte_of(corner[axis]);
            }
        }
        self.children[lane] = child.pack();
    }

    /// A child.
    pub fn child(&self, lane: usize) -> Child {
        Child::unpack(self.children[lane])
    }

    /// The box of a child, cells from the block's min corner.
    pub fn bounds(&self, lane: usize) -> Option<([f32; 3], [f32; 3])> {
        let [low, high] = self.sides.map(|side| {
            side.map(|axis| (f32::from(axis[lane]) * BYTE - f32::from(MAX_POSITION)) / STEPS)
        });
        let (min, max) = (low.map(|v| MIDDLE + v), high.map(|v| MIDDLE - v));
        (min[0] <= max[0]).then_some((min, max))
    }
}
