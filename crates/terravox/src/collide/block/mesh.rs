//! The compact mesh of a block: positions of 16 bits, vertex numbers of 8 bits where
//! they suffice, and one word a quad.
//!
//! A position is a signed multiple of 1/4096 of a cell from the middle of an 8³ block:
//! exact for what the mesher writes, and the same grid in every block, so that
//! neighbours fit. The word of a quad holds its cell (bits 0–8: x, z, y), the direction
//! of its face (9–11), the angles at its four sides (12–27), and for each of its
//! triangles whether it is flat, without area (28, 29), and whether it is reversed
//! (30, 31).

use super::machine;

/// Steps of a position in a cell.
pub(super) const STEPS: f32 = 4096.0;

/// The middle of a block, cells: where positions are 0.
pub(super) const MIDDLE: f32 = 4.0;

/// Farthest that a position lies from the middle: ¾ of a cell beyond the block.
pub(super) const FARTHEST: i16 = 19456;

/// Quads in a leaf.
pub(super) const LEAF: usize = 4;

/// First bit of the direction in a quad's word.
pub(super) const DIRECTION: u32 = 9;
/// First bit of the angles.
pub(super) const ANGLES: u32 = 12;
/// First bit of the two that say whether a triangle has no area.
pub(super) const FLAT: u32 = 28;
/// First bit of the two that say whether a triangle is reversed.
pub(super) const REVERSED: u32 = 30;

/// A word of no quad: both triangles without area. Fills up the last leaf.
pub(super) const NO_QUAD: u32 = 3 << FLAT;

/// Four quads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leaf<V> {
    /// Vertex numbers by corner, then by quad. Triangles are corners 0, 1, 2 and 0, 2, 3.
    pub corners: [[V; LEAF]; 4],
    /// Words by quad.
    pub words: [u32; LEAF],
}

/// Leaves, by the size of their vertex numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Leaves {
    /// For up to 256 vertices.
    Narrow(Box<[Leaf<u8>]>),
    /// For up to 65,536.
    Wide(Box<[Leaf<u16>]>),
}

/// Vertices and quads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mesh {
    /// As the mesher numbered them, and one more: vectors read four numbers.
    pub positions: Box<[[i16; 3]]>,
    /// All full but the last.
    pub leaves: Leaves,
    /// Number of quads.
    pub quads: u16,
}

/// A triangle of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Triangle {
    /// Cells from the block's lowest corner; counter-clockwise seen from outside.
    pub corners: [[f32; 3]; 3],
    /// Numbers of the corners as the mesher numbered them.
    pub vertices: [u16; 3],
    /// Its quad.
    pub quad: u16,
    /// Whether it is the quad's second triangle: of corners 0, 2, 3 instead of 0, 1, 2.
    pub second: bool,
}

/// What is known of a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuadInfo {
    /// The cell that it belongs to, from the block's lowest corner.
    pub cell: [u8; 3],
    /// Direction of its face: 0 to 5 for −x, +x, −y, +y, −z, +z.
    pub direction: u8,
    /// What its sides were given as angles, four bits each: side `k` lies between corners
    /// `k` and `k + 1`.
    pub angles: u16,
    /// Numbers of its corners as the mesher numbered them, from an end of its diagonal.
    pub vertices: [u16; 4],
    /// By triangle: it has no area, and no query finds it.
    pub flat: [bool; 2],
    /// By triangle: it points against the normals of its vertices.
    pub reversed: [bool; 2],
}

/// A position in cells from the block's lowest corner. Exact.
#[inline(always)]
pub(super) fn cells_of(position: [i16; 3]) -> [f32; 3] {
    position.map(|p| MIDDLE + f32::from(p) * (1.0 / STEPS))
}

/// The position of a coordinate, cells. Exact for what the mesher writes; what is
/// farther out is moved to the farthest.
#[inline(always)]
pub(super) fn step_of(cells: f32) -> i16 {
    let end = f32::from(FARTHEST);
    ((cells - MIDDLE) * STEPS).max(-end).min(end) as i16
}

impl Mesh {
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

    /// What is known of a quad.
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
    pub fn triangle(&self, quad: u16, second: bool) -> Triangle {
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
        leaf: &Leaf<V>,
        quad: u16,
        second: bool,
    ) -> Triangle {
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
        Triangle { corners, vertices, quad, second }
    }
}

impl<V: Copy + Into<u16>> Leaf<V> {
    /// Vertices of a quad of this leaf.
    pub fn vertices(&self, quad: u16) -> [u16; 4] {
        self.corners.map(|corner| corner[usize::from(quad) % LEAF].into())
    }
}
