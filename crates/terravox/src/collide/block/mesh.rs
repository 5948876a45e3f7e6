//! The compact mesh of a block: positions of 16 bits, vertex numbers of 8 bits where they
//! suffice, and one word a quad.

use super::leaf::{ANGLES, DIRECTION, FLAT, LEAF, Leaves, QuadLeaf, REVERSED};
use super::machine;

/// Vertices and quads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CompactMesh {
    /// In the mesher's order, and one more: vector code reads four numbers.
    pub positions: Box<[[i16; 3]]>,
    /// All full but the last.
    pub leaves: Leaves,
    /// Number of quads.
    pub quads: u16,
}

/// A triangle of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockTriangle {
    /// Cells from the block's min corner; counter-clockwise seen from outside.
    pub corners: [[f32; 3]; 3],
    /// Numbers of the corners as the mesher numbered them.
    pub vertices: [u16; 3],
    /// Number of its quad.
    pub quad: u16,
    /// Whether it is the quad's second triangle: of corners 0, 2, 3 instead of 0, 1, 2.
    pub second: bool,
}

/// A quad of a block's surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuadInfo {
    /// The cell that it belongs to, from the block's min corner.
    pub cell: [u8; 3],
    /// Direction of its face: 0 to 5 for −x, +x, −y, +y, −z, +z.
    pub direction: u8,
    /// Codes of the angles at its sides, four bits each ([`EdgeAngle`](crate::geometry::EdgeAngle)
    /// decodes them): side `k` lies between corners
    /// `k` and `k + 1`.
    pub angles: u16,
    /// Numbers of its corners as the mesher numbered them, from an end of its diagonal.
    pub vertices: [u16; 4],
    /// By triangle: whether it has no area; no query finds it then.
    pub flat: [bool; 2],
    /// By triangle: whether it points against the normals of its vertices.
    pub reversed: [bool; 2],
}

impl CompactMesh {
    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        let leaves = match &self.leaves {
            Leaves::Narrow(leaves) => size_of_val(&**leaves),
            Leaves::Wide(leaves) => size_of_val(&**leaves),
        };
        leaves + size_of_val(&*self.positions)
    }

    /// Number of leaves.
    #[cfg(test)]
    pub fn leaf_count(&self) -> usize {
        match &self.leaves {
            Leaves::Narrow(leaves) => leaves.len(),
            Leaves::Wide(leaves) => leaves.len(),
        }
    }

    /// Word of a quad.
    pub fn word(&self, quad: usize) -> u32 {
        match &self.leaves {
            Leaves::Narrow(leaves) => leaves[quad / LEAF].words[quad % LEAF],
            Leaves::Wide(leaves) => leaves[quad / LEAF].words[quad % LEAF],
        }
    }

    /// Vertices of a quad.
    pub fn vertices(&self, quad: u16) -> [u16; 4] {
        assert!(quad < self.quads, "no quad {quad} of {}", self.quads);
        match &self.leaves {
            Leaves::Narrow(leaves) => leaves[usize::from(quad) / LEAF].vertices(quad),
            Leaves::Wide(leaves) => leaves[usize::from(quad) / LEAF].vertices(quad),
        }
    }

    /// Decodes a quad.
    pub fn info(&self, quad: u16) -> QuadInfo {
        let vertices = self.vertices(quad);
        let word = self.word(usize::from(quad));
        let bits = |at: u32, count: u32| (word >> at & ((1 << count) - 1)) as u16;
        let flag = |at: u32| word >> at & 1 == 1;
        QuadInfo {
            cell: [bits(0, 3) as u8, bits(6, 3) as u8, bits(3, 3) as u8],
            direction: bits(DIRECTION, 3) as u8,
            angles: bits(ANGLES, 16),
            vertices,
            flat: [flag(FLAT), flag(FLAT + 1)],
            reversed: [flag(REVERSED), flag(REVERSED + 1)],
        }
    }

    /// A triangle of a quad.
    pub fn triangle(&self, quad: u16, second: bool) -> BlockTriangle {
        assert!(quad < self.quads, "no quad {quad} of {}", self.quads);
        match &self.leaves {
            Leaves::Narrow(leaves) => {
                self.triangle_of(&leaves[usize::from(quad) / LEAF], quad, second)
            }
            Leaves::Wide(leaves) => {
                self.triangle_of(&leaves[usize::from(quad) / LEAF], quad, second)
            }
        }
    }

    /// A triangle of a quad whose leaf is known.
    #[inline(always)]
    pub fn triangle_of<V: Copy + Into<u16>>(
        &self,
        leaf: &QuadLeaf<V>,
        quad: u16,
        second: bool,
    ) -> BlockTriangle {
        let lane = usize::from(quad) % LEAF;
        let middle = 1 + usize::from(second);
        let vertices = [
            leaf.corners[0][lane].into(),
            leaf.corners[middle][lane].into(),
            leaf.corners[middle + 1][lane].into(),
        ];
        let [a, b, c] = vertices;
        let corners =
            machine::corners(&self.positions, [usize::from(a), usize::from(b), usize::from(c)]);
        BlockTriangle { corners, vertices, quad, second }
    }
}
