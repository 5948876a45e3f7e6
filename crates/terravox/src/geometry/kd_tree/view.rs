//! The arrays of a tree, as queries read them.

use super::grid::PositionGrid;
use super::nodes::{KdNode, wide};

/// A triangle of a tree, as queries return it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KdTriangle {
    /// Its corners on the lattice, in the order in which they were given.
    pub corners: [[f32; 3]; 3],
    /// Which half of its quad: 0 is the first, second and third corner, 1 is the first,
    /// third and fourth. Triangles that were given as such are 0.
    pub half: u8,
    /// The payload of the primitive; by default its number.
    pub payload: u32,
}

/// The arrays of a tree.
pub(super) struct TreeView<'a> {
    pub grid: PositionGrid,
    pub nodes: &'a [KdNode],
    /// Lattice points.
    pub vertices: &'a [[u16; 3]],
    pub quads: QuadVertices<'a>,
    /// Low and high word.
    pub payloads: &'a [[u16; 2]],
}

/// Four vertex numbers a quad, of as many bits as the number of vertices needs.
pub(super) enum QuadVertices<'a> {
    Bytes(&'a [[u16; 2]]),
    Words(&'a [[u16; 4]]),
    Doubles(&'a [[u16; 8]]),
}

impl TreeView<'_> {
    /// One half of a quad.
    pub fn triangle(&self, quad: usize, corners: [u32; 4], half: u8) -> KdTriangle {
        let position = |corner: u32| self.grid.position(self.vertices[corner as usize]);
        let payload = wide(self.payloads[quad]);
        KdTriangle { corners: half_of(corners, half).map(position), half, payload }
    }

    /// Vertex numbers of a quad. A half that was left out has its middle corner equal to
    /// one of the two others: the second to the first, or the fourth to the third.
    #[inline]
    pub fn corners(&self, quad: usize) -> [u32; 4] {
        match self.quads {
            QuadVertices::Bytes(quads) => {
                let [ab, cd] = quads[quad].map(u16::to_le_bytes);
                [ab[0], ab[1], cd[0], cd[1]].map(u32::from)
            }
            QuadVertices::Words(quads) => quads[quad].map(u32::from),
            QuadVertices::Doubles(quads) => {
                let q = quads[quad];
                [0, 2, 4, 6].map(|i| wide([q[i], q[i + 1]]))
            }
        }
    }
}

/// Words that the vertex numbers of a quad need.
pub(super) fn words_a_quad(vertices: usize) -> usize {
    match vertices {
        0..=0x100 => 2,
        0x101..=0x1_0000 => 4,
        _ => 8,
    }
}

/// Whether a quad has its first or second triangle.
pub(super) fn has_half([a, b, c, d]: [u32; 4], half: u8) -> bool {
    if half == 0 { a != b } else { c != d }
}

/// Vertices of the first or the second triangle.
pub(super) fn half_of([a, b, c, d]: [u32; 4], half: u8) -> [u32; 3] {
    if half == 0 { [a, b, c] } else { [a, c, d] }
}
