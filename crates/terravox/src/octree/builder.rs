//! Builds octrees from cells, densities or leaves.

use crate::mesh::{BlockMesh, Mesher, PAD};
use crate::voxel::{DenseBox, LIMIT, MaterialTable, VoxelPos};

use super::build::{LargerLeaf, OctreeDraft, morton, sort_by_code};
use super::cells::{CellCorner, find_corners, push_leaves};
use super::densities::Samples;
use super::tree::{Leaf, Octree};

/// Builds octrees. Holds scratch memory, so keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct OctreeBuilder {
    mesher: Mesher,
    mesh: BlockMesh,
    corners: Vec<CellCorner>,
    order: Vec<u64>,
    spare: Vec<u64>,
    draft: OctreeDraft,
    samples: Samples,
}

impl OctreeBuilder {
    /// Maximum number of levels above the leaves of an octree built from leaves: 1024 cells along
    /// the edge.
    pub const MAX_LEVELS: u8 = 10;
    /// Maximum number of levels of an octree of cells: 64 cells along the edge.
    pub const MAX_CELL_LEVELS: u8 = 6;
    /// Maximum number of levels of an octree of densities: 64 cells along the edge.
    pub const MAX_DENSITY_LEVELS: u8 = 6;

    /// Creates a builder that uses the widest SIMD of this machine.
    pub fn new() -> OctreeBuilder {
        OctreeBuilder::default()
    }

    /// Builds an octree over disjoint leaves of any sizes, in any order. Its root has `1 << levels`
    /// cells along the edge and its min corner at `min`. Space without a leaf must be all solid or
    /// all empty.
    ///
    /// # Panics
    /// If there are more than [`OctreeBuilder::MAX_LEVELS`], the root reaches beyond
    /// [`LIMIT`](crate::voxel::LIMIT), or a leaf is outside the root, misaligned or overlaps
    /// another.
    pub fn leaves(&mut self, min: impl Into<VoxelPos>, levels: u8, leaves: &[Leaf]) -> Octree {
        assert!(levels <= Self::MAX_LEVELS, "{levels} levels");
        let min = min.into();
        check_root(min, levels);
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
                level => larger.push(LargerLeaf { level, key, leaf: *leaf }),
            }
        }
        larger.sort_by_key(|leaf| (leaf.level, leaf.key));
        let twice = |a: &[LargerLeaf]| (a[0].level, a[0].key) == (a[1].level, a[1].key);
        assert!(!larger.windows(2).any(twice), "two leaves overlap");
        sort_by_code(order, spare, levels);
        assert!(order.windows(2).all(|a| a[0] >> 32 < a[1] >> 32), "two leaves overlap");
        let mut finest = draft.leaves(order.iter().map(|entry| (entry >> 32) as u32));
        for (place, &entry) in order.iter().enumerate() {
            let leaf = &leaves[entry as u32 as usize];
            finest.set(place, leaf.node(0), leaf.materials, &leaf.qef);
        }
        draft.build(levels, &larger);
        Octree { min, shown: levels, ..draft.finish(levels) }
    }

    /// Returns the octree of the solid surface at the cell corners of a cube, without those at its
    /// max sides. `cells` covers [`Octree::cells_needed`].
    ///
    /// # Panics
    /// If the cube's edges are not all the same power of two from 1 to 64 cells.
    pub fn cells(&mut self, cells: &DenseBox, materials: &MaterialTable) -> Octree {
        let own = cells.region().grow(-PAD);
        let [edge, ..] = own.size().map(|edge| edge.wrapping_sub(1));
        let levels = edge.trailing_zeros() as u8;
        let fits = edge.is_power_of_two() && levels <= Self::MAX_CELL_LEVELS;
        assert!(
            fits && own.size() == [edge + 1; 3],
            "{} is not a padded cube of 1 to 64 cells",
            cells.region()
        );
        let OctreeBuilder { mesher, mesh, corners, order, spare, draft, .. } = self;
        find_corners(mesher, mesh, cells, materials, edge, corners, order);
        sort_by_code(order, spare, levels);
        draft.clear();
        push_leaves(&mesh.solid, corners, order, draft);
        draft.build(levels, &[]);
        let min = own.min + VoxelPos::splat(1);
        Octree { min, shift: -0.5, shown: levels, ..draft.finish(levels) }
    }

    /// Returns the octree of a density's surface over `1 << levels` cells along each edge, sampled
    /// at cell corners. `sample` returns density (above 0 is solid) and material at each point from
    /// `min`, one more than cells along each edge, x fastest, then z, then y.
    ///
    /// # Panics
    /// If `levels` is more than [`OctreeBuilder::MAX_DENSITY_LEVELS`], or the root reaches beyond
    /// [`LIMIT`](crate::voxel::LIMIT).
    pub fn densities(
        &mut self,
        min: impl Into<VoxelPos>,
        levels: u8,
        sample: impl FnMut(VoxelPos) -> (f32, u8),
    ) -> Octree {
        assert!(levels <= Self::MAX_DENSITY_LEVELS, "{levels} levels");
        let min = min.into();
        check_root(min, levels);
        let OctreeBuilder { samples, order, spare, draft, .. } = self;
        samples.take(min, (1 << levels) + 1, sample);
        samples.find(order);
        sort_by_code(order, spare, levels);
        samples.place(order);
        samples.fill(draft.leaves(order.iter().map(|entry| (entry >> 32) as u32)));
        draft.build(levels, &[]);
        Octree { min, shown: levels, ..draft.finish(levels) }
    }

    /// Builds everything above the leaves of the last octree again, for benchmarks.
    #[doc(hidden)]
    pub fn parents_again(&mut self, levels: u8) -> usize {
        self.draft.keep_leaves();
        self.draft.build(levels, &[]);
        self.draft.nodes.len()
    }
}

/// Panics if a root of `1 << levels` cells reaches beyond the limits of the grid.
fn check_root(min: VoxelPos, levels: u8) {
    let inside = min.to_array().iter().all(|v| (-LIMIT..=LIMIT - (1 << levels)).contains(v));
    assert!(
        inside,
        "an octree of {} cells at {min} is not within the limits of the grid, ±2^30 voxels",
        1u32 << levels
    );
}
