//! The loose kD tree: rays and boxes against any triangles, in few bytes.
//!
//! A node splits along one axis and keeps two planes: its left part ends at the first,
//! its right part begins at the second; they may overlap or leave a gap. Nothing is cut,
//! and a node needs two numbers where a box needs six. From "Voxel Terrain: Physics"
//! (Roblox, 2017), in the compact form that it names as future work: positions of 16 bits
//! on a lattice, nodes of 6 bytes, quads as leaf primitives.
//!
//! Rounding happens once, in the making. Every query is answered for the rounded
//! positions: boxes exactly, rays to f32 rounding.

mod boxes;
mod build;
mod grid;
#[cfg(test)]
mod naive;
mod ray;
#[cfg(test)]
mod tests;

pub use build::{KdBuilder, KdError};
pub use grid::PositionGrid;
pub use ray::KdHit;

/// Most primitives of a leaf.
const LEAF: usize = 4;

/// Levels below the root, at most. A part has at most three quarters of its parent's
/// primitives or, by halving, one more than half; so 2³² of them are down to [`LEAF`]
/// after log(2³⁰) / log(4/3) = 72.3 levels.
const MAX_DEPTH: usize = 73;

/// Bits of a node's third word that say its axis; a leaf has all set.
const AXIS: u16 = 3;

/// Longest way from a branch to its right part that the third word can say.
const NARROW: usize = 0x3fff;

/// A node: 6 bytes, in the order of a walk that takes left first.
///
/// - Branch: where the left part ends, where the right one begins, `axis | way << 2`.
///   The left part follows; the right one is `way` nodes further. Parts that are too
///   large for 14 bits say 0, and their way is in the slot that follows. So every tree
///   has nodes of 6 bytes, and only the few above 16,383 primitives pay for two.
/// - Leaf: first primitive, low word and high word, `3 | (count - 1) << 2`.
type Node = [u16; 3];

/// A triangle, as queries hand it out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KdTriangle {
    /// Its corners on the lattice, in the order in which they were given.
    pub corners: [[f32; 3]; 3],
    /// Which half of its quad: 0 is the first, second and third corner, 1 is the first,
    /// third and fourth. Triangles that were given as such are 0.
    pub half: u8,
    /// What the primitive was given to carry; by default its number.
    pub payload: u32,
}

/// An index over triangles and quads that does not change. See the module's words.
///
/// ```
/// use terravox::geometry::KdTree;
///
/// let floor = [[0.0, 0.0, 0.0], [0.0, 0.0, 9.0], [9.0, 0.0, 9.0]];
/// let tree = KdTree::from_triangles(&floor, &[[0, 1, 2]])?;
/// let hit = tree.closest([2.0, 5.0, 4.0], [0.0, -1.0, 0.0], 100.0).unwrap();
/// assert_eq!((hit.t, hit.triangle.payload), (5.0, 0));
/// # Ok::<(), terravox::geometry::KdError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KdTree {
    grid: PositionGrid,
    /// Lowest and highest lattice point of all primitives.
    bounds: [[u16; 3]; 2],
    node_count: u32,
    vertex_count: u32,
    quad_count: u32,
    depth: u8,
    /// One allocation: nodes, vertices, quads in the order of the leaves, payloads.
    words: Box<[u16]>,
}

impl KdTree {
    /// A tree over triangles of `positions`, on a lattice fitted to them. Each carries
    /// its number. Triangles without area, after rounding, are left out.
    ///
    /// # Errors
    /// If a position is not finite, an index has no vertex, or there are too many.
    pub fn from_triangles(positions: &[[f32; 3]], indices: &[[u32; 3]]) -> Result<KdTree, KdError> {
        KdBuilder::new().triangles(positions, indices)
    }

    /// A tree over quads of `positions` on `grid`; six indices a quad, as the mesher
    /// writes them: `[a, b, c, a, c, d]`. `payloads` has one a quad. See
    /// [`KdBuilder::quads`].
    ///
    /// # Errors
    /// If a position is not on the lattice, an index has no vertex, or there are too many.
    ///
    /// # Panics
    /// If `indices` or `payloads` have another length.
    pub fn from_quads(
        grid: PositionGrid,
        positions: &[[f32; 3]],
        indices: &[u32],
        payloads: &[u32],
    ) -> Result<KdTree, KdError> {
        KdBuilder::new().quads(grid, positions, indices, payloads)
    }

    /// Whether there is nothing to hit.
    pub fn is_empty(&self) -> bool {
        self.quad_count == 0
    }

    /// Number of quads and triangles that were given and not left out.
    pub fn primitive_count(&self) -> usize {
        self.quad_count as usize
    }

    /// Levels below the root.
    pub fn depth(&self) -> usize {
        usize::from(self.depth)
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.node_count as usize
    }

    /// All bytes that the tree holds, its own struct included.
    pub fn bytes(&self) -> usize {
        size_of::<KdTree>() + size_of_val(&*self.words)
    }

    /// The lattice of its positions.
    pub fn grid(&self) -> PositionGrid {
        self.grid
    }

    /// The box of all primitives, lowest and highest corner; none if there are none.
    pub fn bounds(&self) -> Option<[[f32; 3]; 2]> {
        (!self.is_empty()).then(|| self.bounds.map(|point| self.grid.position(point)))
    }

    /// Calls `visit` with every triangle.
    pub fn triangles(&self, mut visit: impl FnMut(KdTriangle)) {
        let parts = self.parts();
        for quad in 0..parts.payloads.len() {
            let corners = parts.corners(quad);
            for half in (0..2).filter(|&half| has_half(corners, half)) {
                visit(self.triangle(&parts, quad, corners, half));
            }
        }
    }

    /// The stored arrays.
    fn parts(&self) -> Parts<'_> {
        let (nodes, rest) = self.words.split_at(3 * self.node_count as usize);
        let (vertices, rest) = rest.split_at(3 * self.vertex_count as usize);
        let (quads, payloads) = rest.split_at(rest.len() - 2 * self.quad_count as usize);
        Parts {
            nodes: nodes.as_chunks().0,
            vertices: vertices.as_chunks().0,
            quads: match words_a_quad(self.vertex_count as usize) {
                2 => Quads::Bytes(quads.as_chunks().0),
                4 => Quads::Words(quads.as_chunks().0),
                _ => Quads::Doubles(quads.as_chunks().0),
            },
            payloads: payloads.as_chunks().0,
        }
    }

    /// One half of a quad, as it is handed out.
    fn triangle(&self, parts: &Parts, quad: usize, corners: [u32; 4], half: u8) -> KdTriangle {
        let position = |corner: u32| self.grid.position(parts.vertices[corner as usize]);
        let payload = wide(parts.payloads[quad]);
        KdTriangle { corners: half_of(corners, half).map(position), half, payload }
    }
}

/// The arrays of a tree.
struct Parts<'a> {
    nodes: &'a [Node],
    /// Lattice points.
    vertices: &'a [[u16; 3]],
    quads: Quads<'a>,
    /// Low and high word.
    payloads: &'a [[u16; 2]],
}

/// Four vertex numbers a quad. As many bits as the number of vertices needs.
enum Quads<'a> {
    Bytes(&'a [[u16; 2]]),
    Words(&'a [[u16; 4]]),
    Doubles(&'a [[u16; 8]]),
}

impl Parts<'_> {
    /// Vertex numbers of a quad. A half that was left out has its middle corner equal to
    /// one of the two others: the second to the first, or the fourth to the third.
    #[inline]
    fn corners(&self, quad: usize) -> [u32; 4] {
        match self.quads {
            Quads::Bytes(quads) => {
                let [ab, cd] = quads[quad].map(u16::to_le_bytes);
                [ab[0], ab[1], cd[0], cd[1]].map(u32::from)
            }
            Quads::Words(quads) => quads[quad].map(u32::from),
            Quads::Doubles(quads) => {
                let q = quads[quad];
                [0, 2, 4, 6].map(|i| wide([q[i], q[i + 1]]))
            }
        }
    }
}

/// Words that the vertex numbers of a quad need.
fn words_a_quad(vertices: usize) -> usize {
    match vertices {
        0..=0x100 => 2,
        0x101..=0x1_0000 => 4,
        _ => 8,
    }
}

/// A number of 32 bits from its low and high word.
fn wide([low, high]: [u16; 2]) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

/// The low and the high word of a number.
fn narrow(value: u32) -> [u16; 2] {
    [value as u16, (value >> 16) as u16]
}

/// Whether a quad has its first or second triangle.
fn has_half([a, b, c, d]: [u32; 4], half: u8) -> bool {
    if half == 0 { a != b } else { c != d }
}

/// Vertices of the first or the second triangle.
fn half_of([a, b, c, d]: [u32; 4], half: u8) -> [u32; 3] {
    if half == 0 { [a, b, c] } else { [a, c, d] }
}

/// A node, taken apart.
enum Step {
    /// Ends of the left part and begin of the right, the axis, and where they are.
    Branch { ends: u16, begins: u16, axis: usize, left: usize, right: usize },
    /// First primitive and their number.
    Leaf { first: usize, count: usize },
}

/// What stands at a node.
#[inline]
fn step(nodes: &[Node], at: usize) -> Step {
    let [first, second, third] = nodes[at];
    let axis = third & AXIS;
    let rest = usize::from(third >> 2);
    if axis == AXIS {
        return Step::Leaf { first: wide([first, second]) as usize, count: rest + 1 };
    }
    let (left, right) = if rest != 0 {
        (at + 1, at + rest)
    } else {
        let [low, high, _] = nodes[at + 1];
        (at + 2, at + wide([low, high]) as usize)
    };
    Step::Branch { ends: first, begins: second, axis: axis as usize, left, right }
}
