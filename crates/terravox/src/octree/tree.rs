//! The octree as arrays of nodes, and how to get from node to node.

use crate::voxel::{Region, VoxelPos};

use super::links::Links;
use super::node::{OctreeNode, side, usual_materials};
use super::qef::Qef;

/// The surface within a cube.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Octree {
    /// Origin of its vertices, in cells.
    pub(super) min: VoxelPos,
    /// From there to the min corner of the root, in cells.
    pub(super) shift: f32,
    /// Levels above the finest leaves: the root has `1 << levels` cells along the edge.
    pub(super) levels: u8,
    /// Coarsest level whose nodes can be shown.
    pub(super) shown: u8,
    /// First node of each level, the finest first; then their count.
    pub(super) starts: Box<[u32]>,
    /// Level by level, in Morton order.
    pub(super) nodes: Box<[OctreeNode]>,
    /// By node above the finest level: its children, and its error when shown whole, in 1/256
    /// cells, rounded up; [`NEVER`](super::node::NEVER) if it must not be.
    pub(super) links: Links,
    pub(super) errors: Box<[u16]>,
    /// Corner materials of nodes with more than one material, sorted by node.
    pub(super) mixed: Box<[MixedCorners]>,
}

/// Materials of the corners of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MixedCorners {
    pub node: u32,
    pub materials: [u8; 8],
}

/// A cube with a surface in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaf {
    /// Min corner, in cells from that of the root; a multiple of its edge.
    pub min: [u32; 3],
    /// Its edge is `1 << level` cells.
    pub level: u8,
    /// Vertex, in cells from the centre; at most an edge on each axis.
    pub position: [f32; 3],
    /// Unit normal, out of the ground.
    pub normal: [f32; 3],
    /// Solid corners as bits: bits 0, 1, 2 of a corner's index for the high side of x, z, y.
    pub inside: u8,
    /// Materials of the corners.
    pub materials: [u8; 8],
    /// Planes, relative to the centre.
    pub qef: Qef,
}

impl Octree {
    /// Whether there is no surface.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the origin of its vertices, in cells.
    pub fn min(&self) -> VoxelPos {
        self.min
    }

    /// Returns the cells along an edge of the root.
    pub fn edge(&self) -> u32 {
        1 << self.levels
    }

    /// Returns the cells that it covers, from [`Octree::min`].
    pub fn region(&self) -> Region {
        Region { min: self.min, max: self.min + VoxelPos::splat(1 << self.levels) }
    }

    /// Returns the number of leaves.
    pub fn leaf_count(&self) -> usize {
        let finest = self.starts.get(1).map_or(0, |&end| end as usize);
        finest + self.links.octants_from(0).filter(|&octants| octants == 0).count()
    }

    /// Returns the number of leaves and inner nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the bytes in use.
    pub fn memory(&self) -> usize {
        size_of::<Octree>()
            + size_of_val(&*self.starts)
            + size_of_val(&*self.nodes)
            + self.links.memory()
            + size_of_val(&*self.errors)
            + size_of_val(&*self.mixed)
    }

    /// Returns the materials of a node's corners.
    pub(super) fn materials(&self, node: u32) -> [u8; 8] {
        self.mixed_of(node).unwrap_or_else(|| {
            let OctreeNode { inside, material, .. } = self.nodes[node as usize];
            usual_materials(inside, material)
        })
    }

    /// Returns the materials of a node's corners, if the solid ones differ.
    pub(super) fn mixed_of(&self, node: u32) -> Option<[u8; 8]> {
        let at = self.mixed.binary_search_by_key(&node, |mixed| mixed.node).ok()?;
        Some(self.mixed[at].materials)
    }
}

/// Looks up corner materials of nodes in ascending order.
pub(super) struct MixedCornersFrom<'a>(&'a [MixedCorners]);

impl MixedCornersFrom<'_> {
    /// Returns the materials of a node's corners, if the solid ones differ. Skips earlier nodes.
    #[inline]
    pub fn next_of(&mut self, node: u32) -> Option<[u8; 8]> {
        while let [first, rest @ ..] = self.0
            && first.node < node
        {
            self.0 = rest;
        }
        self.0.first().filter(|mixed| mixed.node == node).map(|mixed| mixed.materials)
    }
}

/// A node and its cube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NodeCube {
    pub node: u32,
    pub level: u8,
    /// Min corner, in cells from that of the root.
    pub min: [i32; 3],
}

/// Stands for a cube without a node: all solid or all empty.
pub(super) const NONE: NodeCube = NodeCube { node: u32::MAX, level: 0, min: [0; 3] };

impl Octree {
    /// Returns the root, or [`NONE`] without a surface.
    pub(super) fn root(&self) -> NodeCube {
        match self.nodes.len() {
            0 => NONE,
            count => NodeCube { node: count as u32 - 1, level: self.levels, min: [0; 3] },
        }
    }

    /// Whether a node has no children.
    #[inline]
    pub(super) fn is_leaf(&self, node: u32) -> bool {
        node < self.starts[1] || self.links.octants(node - self.starts[1]) == 0
    }

    /// Returns the corner materials of nodes from `node` on.
    pub(super) fn mixed_from(&self, node: u32) -> MixedCornersFrom<'_> {
        MixedCornersFrom(&self.mixed[self.mixed.partition_point(|mixed| mixed.node < node)..])
    }

    /// Returns a child of a node above the finest level.
    #[inline]
    pub(super) fn child(&self, cube: NodeCube, octant: u8) -> NodeCube {
        let Some(node) = self.links.child(cube.node - self.starts[1], octant) else {
            return NONE;
        };
        let level = cube.level - 1;
        let min = [0, 1, 2].map(|axis| cube.min[axis] + (side(octant, axis) << level));
        NodeCube { node, level, min }
    }
}
