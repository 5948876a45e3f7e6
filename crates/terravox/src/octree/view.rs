//! The octrees of a grid by block, updated from its change log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mesh::PAD;
use crate::voxel::{
    BlockPos, ChangeCursor, Changes, DenseBox, Region, Snapshot, VoxelGrid, VoxelPos,
};

use super::builder::OctreeBuilder;
use super::tree::Octree;

/// Position of a block of 64³ cells.
pub type OctreePos = BlockPos<6>;

/// The octrees of all blocks of 64³ cells that have a surface.
#[derive(Debug, Default)]
pub struct Octrees {
    cursor: ChangeCursor,
    octrees: BTreeMap<OctreePos, Arc<Octree>>,
    builder: OctreeBuilder,
    cells: DenseBox,
}

impl Octrees {
    /// Creates an empty view; the first update reads the whole grid.
    pub fn new() -> Octrees {
        Octrees::default()
    }

    /// Rebuilds the octrees that depend on what changed and returns their blocks, sorted. A block
    /// has no octree while cells that it needs are not held at mip 0.
    ///
    /// If the change log no longer reaches back to the last update, all octrees are rebuilt.
    pub fn update(&mut self, grid: &VoxelGrid) -> Vec<OctreePos> {
        let snapshot = grid.snapshot();
        let mut blocks = BTreeSet::new();
        match grid.changes_since(&mut self.cursor) {
            Changes::Everything => {
                blocks.extend(self.octrees.keys());
                blocks.extend(Octrees::blocks(&snapshot));
            }
            Changes::Regions(regions) => blocks.extend(regions.into_iter().flat_map(reached)),
        }
        for &block in &blocks {
            let region = Octree::cells_needed(block.region());
            let held = snapshot.read(region, 0, &mut self.cells).is_ok();
            let octree = held.then(|| self.builder.cells(&self.cells, snapshot.materials()));
            match octree.filter(|octree| !octree.is_empty()) {
                Some(octree) => drop(self.octrees.insert(block, Arc::new(octree))),
                None => drop(self.octrees.remove(&block)),
            }
        }
        blocks.into_iter().collect()
    }

    /// Returns the blocks that may have a surface: those that listed chunks reach, sorted.
    pub fn blocks(snapshot: &Snapshot) -> Vec<OctreePos> {
        let chunks = snapshot.chunks().into_iter();
        let blocks: BTreeSet<_> = chunks.flat_map(|chunk| reached(chunk.region())).collect();
        blocks.into_iter().collect()
    }

    /// Returns the octree of a block, if it has a surface.
    pub fn get(&self, block: OctreePos) -> Option<&Arc<Octree>> {
        self.octrees.get(&block)
    }

    /// Returns all octrees, by block.
    pub fn iter(&self) -> impl Iterator<Item = (OctreePos, &Arc<Octree>)> {
        self.octrees.iter().map(|(block, octree)| (*block, octree))
    }
}

/// Returns the blocks whose octrees depend on the cells of a region.
fn reached(region: Region) -> impl Iterator<Item = OctreePos> {
    let low = VoxelPos::splat(PAD);
    Region { min: region.min - low, max: region.max + VoxelPos::splat(PAD + 1) }.blocks::<6>()
}
