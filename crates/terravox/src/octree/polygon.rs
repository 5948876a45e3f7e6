//! What a contour consists of: crossed edges as polygons between nodes, and which nodes are shown.

use super::tree::NodeCube;

/// Which nodes are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Edge of the smallest nodes shown, in cells; a power of two. Smaller nodes are replaced by
    /// their ancestor of this size, whatever its error.
    pub size: u32,
    /// Larger nodes are shown where the root mean square distance of their vertex from the planes
    /// below is at most this, in cells, and the topology stays the same.
    pub error: Option<f32>,
}

impl Detail {
    /// Nodes of one size in cells, or larger leaves.
    pub const fn size(size: u32) -> Detail {
        Detail { size, error: None }
    }

    /// Nodes as large as an error in cells allows.
    pub const fn error(error: f32) -> Detail {
        Detail { size: 1, error: Some(error) }
    }
}

/// Counts of a contour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContourStats {
    /// Nodes with a vertex.
    pub nodes: usize,
    /// Nodes with several sheets, each with its own vertex.
    pub split: usize,
    /// Polygons: one per crossed edge.
    pub polygons: usize,
}

/// What the traversal of an octree collects.
#[derive(Debug, Default)]
pub(super) struct ContourDraft {
    /// By node: the index of its vertex, or `u32::MAX`.
    pub numbers: Vec<u32>,
    /// By vertex: its node.
    pub cubes: Vec<NodeCube>,
    /// By vertex: whether the sheets of its node do not follow from its corners.
    pub rough: Vec<bool>,
    pub polygons: Vec<ContourPolygon>,
    /// Min corners of nodes of one size; see [`uniform`](super::uniform).
    pub corners: Vec<u32>,
    pub spare: Vec<u32>,
    /// By position: the index of a node of one size.
    pub table: Vec<u32>,
}

impl ContourDraft {
    pub fn clear(&mut self) {
        self.cubes.clear();
        self.rough.clear();
        self.polygons.clear();
    }
}

/// An edge that the surface crosses, and the nodes around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContourPolygon {
    /// Vertices around the edge, counter-clockwise seen from its high end. A node with two sides at
    /// the edge occurs twice in a row.
    pub corners: [u32; 4],
    /// Axis of the edge.
    pub axis: u8,
    /// Whether the low end is solid.
    pub up: bool,
    /// The edge is `1 << level` cells long.
    pub level: u8,
    /// Its low end, in cells from the root's min corner.
    pub at: [i32; 3],
    /// Material at its solid end.
    pub material: u8,
}

impl ContourPolygon {
    /// Returns its vertices without repeats, and their number.
    pub fn ring(&self) -> ([u32; 4], usize) {
        let mut ring = [0; 4];
        let mut count = 0;
        for k in 0..4 {
            if self.corners[k] != self.corners[(k + 3) % 4] {
                ring[count] = self.corners[k];
                count += 1;
            }
        }
        (ring, count)
    }

    /// Returns the vertices before and after one.
    pub fn beside(&self, vertex: u32) -> [u32; 2] {
        let (ring, count) = self.ring();
        let at = ring[..count].iter().position(|&v| v == vertex).unwrap_or(0);
        let [before, after] = [ring[(at + count - 1) % count], ring[(at + 1) % count]];
        if self.up { [before, after] } else { [after, before] }
    }

    /// Returns twice the middle of its edge, in cells.
    pub fn middle(&self) -> [i32; 3] {
        let mut middle = self.at.map(|a| 2 * a);
        middle[usize::from(self.axis)] += 1 << self.level;
        middle
    }
}
