//! The surface as an octree: leaves where it is, each with a vertex, and above them nodes
//! whose vertices stand for all below.
//!
//! A leaf is a cube between eight samples, some solid and some not. Its samples are cells
//! (then its vertex is the one that the mesher places at the corner between them) or points
//! of a density ([`OctreeBuilder::densities`]). Parents are built upward, up to one root;
//! a node's vertex is where the summed squared distances to the planes of the
//! leaves below are least. Contouring shows the octree at any size of leaf, or where an
//! error allows: see [`Octree::contour`].
//!
//! An octree is a view: it never changes. After an edit those that it touches are built
//! anew ([`Octrees`]). Arrays of nodes, level by level, in Morton order, are all that it is.
//!
//! Sources: "Dual Contouring of Hermite Data" (Ju et al. 2002); construction upward and
//! clusters regardless of error from the published account of a chunked engine (2015).
//!
//! ```
//! use terravox::octree::{Detail, OctreeBuilder};
//! use terravox::mesh::Surface;
//!
//! // A ball of radius 20 about the middle of 64³ cells.
//! let ball = |p: [f32; 3]| 20.0 - p.map(|v| (v - 32.0) * (v - 32.0)).iter().sum::<f32>().sqrt();
//! let octree = OctreeBuilder::new().densities([0, 0, 0], 6, |p| {
//!     (ball(p.to_array().map(|v| v as f32)), 8)
//! });
//! let (mut fine, mut coarse) = (Surface::default(), Surface::default());
//! octree.contour(&Detail::size(1), &mut fine);
//! octree.contour(&Detail::size(4), &mut coarse);
//! assert!(coarse.triangle_count() < fine.triangle_count() / 12);
//! ```

mod build;
mod cells;
mod contour;
mod densities;
mod emit;
mod join;
mod links;
#[cfg(test)]
mod naive;
mod node;
mod qef;
mod sheets;
#[cfg(test)]
mod tests;
mod uniform;
mod view;

pub use cells::MAX_CELL_LEVELS;
pub use contour::{Contourer, Detail, Shown};
pub use densities::MAX_DENSITY_LEVELS;
pub use qef::Qef;
pub use view::{OctreePos, Octrees};

use crate::mesh::{BlockMesh, Mesher};
use crate::voxel::{Region, VoxelPos};

use build::{Draft, morton, sort_by_code};
use links::Links;
use node::{Node, side, usual_materials};

/// Most levels above the leaves of an octree that is built of leaves: 1024 cells an edge.
pub const MAX_LEVELS: u8 = 10;

/// The surface within a cube.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Octree {
    /// Where its vertices are counted from, in cells.
    min: VoxelPos,
    /// From there to the low corner of the root, cells.
    shift: f32,
    /// Levels above the finest leaves: the root has `1 << levels` cells an edge.
    levels: u8,
    /// Coarsest level whose nodes can be shown.
    shown: u8,
    /// First node of each level, the finest first; then their number.
    starts: Box<[u32]>,
    /// Level by level, in Morton order.
    nodes: Box<[Node]>,
    /// Of all nodes but those of the finest level: their children, and their errors if they
    /// are shown whole, in 1/256 cells, rounded up; [`node::NEVER`] if they must not be.
    links: Links,
    errors: Box<[u16]>,
    /// Of nodes whose corners are not one material and air, sorted.
    mixed: Box<[Mixed]>,
}

/// Materials of the corners of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mixed {
    node: u32,
    materials: [u8; 8],
}

/// A cube with a surface in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaf {
    /// Its low corner, cells from that of the root; a multiple of its edge.
    pub min: [u32; 3],
    /// Its edge is `1 << level` cells.
    pub level: u8,
    /// Its vertex, cells from its centre; at most an edge on each axis.
    pub position: [f32; 3],
    /// Unit normal, out of the ground.
    pub normal: [f32; 3],
    /// Corners that are solid: bit 0, 1, 2 of a corner's number for the high side of x, z, y.
    pub inside: u8,
    /// Materials of the corners.
    pub materials: [u8; 8],
    /// Its planes, seen from its centre.
    pub qef: Qef,
}

/// Builds octrees. Holds scratch memory, so keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct OctreeBuilder {
    mesher: Mesher,
    mesh: BlockMesh,
    found: Vec<cells::Found>,
    order: Vec<u64>,
    spare: Vec<u64>,
    draft: Draft,
    samples: densities::Samples,
}

impl OctreeBuilder {
    /// A builder that uses the widest vector unit of this machine.
    pub fn new() -> OctreeBuilder {
        OctreeBuilder::default()
    }

    /// The octree over leaves of any sizes that do not overlap, in any order; its root has
    /// `1 << levels` cells an edge and its low corner at `min`. What no leaf covers must be
    /// all solid or all not.
    ///
    /// # Panics
    /// If there are more than [`MAX_LEVELS`], a leaf is not within the root or not on the
    /// lattice of its size, or lies in another.
    pub fn leaves(&mut self, min: impl Into<VoxelPos>, levels: u8, leaves: &[Leaf]) -> Octree {
        assert!(levels <= MAX_LEVELS, "{levels} levels");
        let OctreeBuilder { draft, order, spare, .. } = self;
        order.clear();
        let mut larger = Vec::new();
        for (at, leaf) in leaves.iter().enumerate() {
            let fits = leaf.level <= levels
                && leaf.min.iter().all(|&m| m >> levels == 0 && m % (1 << leaf.level) == 0);
            assert!(fits, "a leaf of level {} at {:?} of {levels} levels", leaf.level, leaf.min);
            let key = morton(leaf.min.map(|m| m >> leaf.level));
            match leaf.level {
                0 => order.push(u64::from(key) << 32 | at as u64),
                level => larger.push((level, key, *leaf)),
            }
        }
        larger.sort_by_key(|leaf| (leaf.0, leaf.1));
        let twice = |a: &[(u8, u32, Leaf)]| a[0].0 == a[1].0 && a[0].1 == a[1].1;
        assert!(!larger.windows(2).any(twice), "two leaves at one place");
        sort_by_code(order, spare, levels);
        assert!(order.windows(2).all(|a| a[0] >> 32 < a[1] >> 32), "two leaves at one place");
        let mut finest = draft.leaves(order.iter().map(|entry| (entry >> 32) as u32));
        for (place, &entry) in order.iter().enumerate() {
            let leaf = &leaves[entry as u32 as usize];
            finest.set(place, leaf.node(0), leaf.materials, &leaf.qef);
        }
        draft.build(levels, &larger);
        Octree { min: min.into(), shown: levels, ..draft.finish(levels) }
    }
}

impl OctreeBuilder {
    /// Builds all that is above the leaves of the last octree once more. To be measured.
    #[doc(hidden)]
    pub fn parents_again(&mut self, levels: u8) -> usize {
        self.draft.keep_leaves();
        self.draft.build(levels, &[]);
        self.draft.nodes.len()
    }
}

impl Octree {
    /// Whether there is no surface.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Where its vertices are counted from, in cells.
    pub fn min(&self) -> VoxelPos {
        self.min
    }

    /// Cells along an edge of the root.
    pub fn edge(&self) -> u32 {
        1 << self.levels
    }

    /// The cells that it covers from [`Octree::min`] on.
    pub fn region(&self) -> Region {
        Region { min: self.min, max: self.min + VoxelPos::splat(1 << self.levels) }
    }

    /// Number of leaves.
    pub fn leaf_count(&self) -> usize {
        let finest = self.starts.get(1).map_or(0, |&end| end as usize);
        finest + self.links.octants_from(0).filter(|&octants| octants == 0).count()
    }

    /// Number of leaves and inner nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Bytes that it holds.
    pub fn memory(&self) -> usize {
        size_of::<Octree>()
            + size_of_val(&*self.starts)
            + size_of_val(&*self.nodes)
            + self.links.memory()
            + size_of_val(&*self.errors)
            + size_of_val(&*self.mixed)
    }

    /// The nodes that are shown at a detail, as leaves: to build another octree of, such as
    /// one across the faces of several. Each has one plane, that of its vertex.
    pub fn leaves_at(&self, detail: &Detail) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.each_shown(detail, &mut |place| {
            let node = &self.nodes[place.node as usize];
            let (position, normal) = (node.offset((1u32 << place.level) as f32), node.normal());
            leaves.push(Leaf {
                min: place.min.map(|m| m as u32),
                level: place.level,
                position,
                normal,
                inside: node.inside,
                materials: self.materials(place.node),
                qef: Qef::plane(position, normal),
            });
        });
        leaves
    }

    /// Materials of the corners of a node.
    fn materials(&self, node: u32) -> [u8; 8] {
        self.mixed_of(node).unwrap_or_else(|| {
            let Node { inside, material, .. } = self.nodes[node as usize];
            usual_materials(inside, material)
        })
    }

    /// Materials of the corners of a node, if they are not one and air.
    fn mixed_of(&self, node: u32) -> Option<[u8; 8]> {
        let at = self.mixed.binary_search_by_key(&node, |mixed| mixed.node).ok()?;
        Some(self.mixed[at].materials)
    }
}

/// Looks up what nodes that come in their order have at their corners.
struct MixedFrom<'a>(&'a [Mixed]);

impl MixedFrom<'_> {
    /// Materials of the corners of a node, if they are not the usual ones; the nodes before
    /// are passed.
    #[inline]
    fn next_of(&mut self, node: u32) -> Option<[u8; 8]> {
        while let [first, rest @ ..] = self.0
            && first.node < node
        {
            self.0 = rest;
        }
        self.0.first().filter(|mixed| mixed.node == node).map(|mixed| mixed.materials)
    }
}

/// A node and where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    node: u32,
    level: u8,
    /// Low corner, cells from that of the root.
    min: [i32; 3],
}

/// The node of what is all solid or all not.
const NONE: Place = Place { node: u32::MAX, level: 0, min: [0; 3] };

impl Octree {
    /// The root, if there is a surface.
    fn root(&self) -> Place {
        match self.nodes.len() {
            0 => NONE,
            count => Place { node: count as u32 - 1, level: self.levels, min: [0; 3] },
        }
    }

    /// Whether a node has no children.
    #[inline]
    fn is_leaf(&self, node: u32) -> bool {
        node < self.starts[1] || self.links.octants(node - self.starts[1]) == 0
    }

    /// Corner materials of nodes from one on.
    fn mixed_from(&self, node: u32) -> MixedFrom<'_> {
        MixedFrom(&self.mixed[self.mixed.partition_point(|mixed| mixed.node < node)..])
    }

    /// A child of a node that is above the finest level.
    #[inline]
    fn child(&self, place: Place, octant: u8) -> Place {
        let Some(node) = self.links.child(place.node - self.starts[1], octant) else {
            return NONE;
        };
        let level = place.level - 1;
        let min = [0, 1, 2].map(|axis| place.min[axis] + (side(octant, axis) << level));
        Place { node, level, min }
    }
}
