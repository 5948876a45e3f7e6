//! The mesh of every chunk that has a surface, kept up to date from the change log by
//! plan, run, publish.
//!
//! A plan takes every block that the changes can reach, on one snapshot; its jobs may
//! run anywhere; publishing swaps all of them at once. So what is shown is always the
//! surface of one state of the grid: closed, without holes or overlaps.

use crate::mesh::{BlockMesh, Mesher, PAD};
use crate::voxel::{AIR, ChangeCursor, Changes, ChunkPos, DenseBox, Snapshot, VoxelGrid};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One block to mesh, on the snapshot of its plan. Plain data: run it on any thread.
#[derive(Clone)]
pub struct MeshJob {
    plan: u64,
    block: ChunkPos,
    snapshot: Snapshot,
}

/// What a [`MeshJob`] made.
pub struct MeshedBlock {
    plan: u64,
    block: ChunkPos,
    mesh: Option<Arc<BlockMesh>>,
}

/// Memory that jobs reuse; one a thread.
#[derive(Default)]
pub struct MeshScratch {
    mesher: Mesher,
    cells: DenseBox,
    mesh: BlockMesh,
}

/// A set of changes to what is drawn. Applied as a whole it leads from one closed surface
/// to another.
#[derive(Clone, Default)]
pub struct MeshSwap {
    /// Blocks whose mesh is no longer shown, sorted; a block that is replaced is among them.
    pub removed: Vec<ChunkPos>,
    /// Blocks and their new meshes, sorted.
    pub added: Vec<(ChunkPos, Arc<BlockMesh>)>,
}

/// The view: meshes of all blocks, and what has to be made anew.
#[derive(Default)]
pub(super) struct Meshes {
    cursor: ChangeCursor,
    dirty: BTreeSet<ChunkPos>,
    plans: u64,
    /// Blocks of the plan that is out, sorted.
    out: Vec<ChunkPos>,
    shown: FxHashMap<ChunkPos, Arc<BlockMesh>>,
}

impl MeshJob {
    /// The block, 32³ voxels.
    pub fn block(&self) -> ChunkPos {
        self.block
    }

    /// Meshes the block. Blocks of which a needed neighbour is not held at mip 0 have no
    /// mesh.
    pub fn run(&self, scratch: &mut MeshScratch) -> MeshedBlock {
        let MeshScratch { mesher, cells, mesh } = scratch;
        let padded = self.block.region().grow(PAD);
        let air = |chunk: ChunkPos| {
            self.snapshot.chunk(chunk).is_ok_and(|chunk| chunk.uniform_material() == Some(AIR))
        };
        let mut made = None;
        if !air(self.block) && self.snapshot.read(padded, 0, cells).is_ok() {
            mesher.mesh(cells, self.snapshot.materials(), mesh);
            if !mesh.solid.is_empty() || !mesh.liquid.is_empty() {
                made = Some(Arc::new(mesh.clone()));
            }
        }
        MeshedBlock { plan: self.plan, block: self.block, mesh: made }
    }
}

impl Meshes {
    /// Jobs for all that changed, nothing while another plan is out.
    pub fn plan(&mut self, grid: &VoxelGrid) -> Vec<MeshJob> {
        if !self.out.is_empty() {
            return Vec::new();
        }
        match grid.changes_since(&mut self.cursor) {
            Changes::Everything => {
                self.dirty.extend(grid.chunks());
                self.dirty.extend(self.shown.keys());
            }
            Changes::Regions(regions) => {
                let blocks = regions.iter().flat_map(|region| region.grow(PAD).blocks::<5>());
                let shown = &self.shown;
                self.dirty.extend(blocks.filter(|&b| grid.is_listed(b) || shown.contains_key(&b)));
            }
        }
        if self.dirty.is_empty() {
            return Vec::new();
        }
        self.plans += 1;
        self.out = std::mem::take(&mut self.dirty).into_iter().collect();
        let (plan, snapshot) = (self.plans, grid.snapshot());
        let job = |&block: &ChunkPos| MeshJob { plan, block, snapshot: snapshot.clone() };
        self.out.iter().map(job).collect()
    }

    /// Shows the results of a whole plan.
    pub fn publish(&mut self, mut results: Vec<MeshedBlock>) -> MeshSwap {
        results.sort_unstable_by_key(|result| result.block);
        let complete = results.iter().map(|result| result.block).eq(self.out.iter().copied())
            && results.iter().all(|result| result.plan == self.plans);
        assert!(complete, "a plan is published whole: every job of the last plan once");
        self.out.clear();
        let mut swap = MeshSwap::default();
        for MeshedBlock { block, mesh, .. } in results {
            if self.shown.get(&block) == mesh.as_ref() {
                continue;
            }
            if self.shown.remove(&block).is_some() {
                swap.removed.push(block);
            }
            if let Some(mesh) = mesh {
                self.shown.insert(block, mesh.clone());
                swap.added.push((block, mesh));
            }
        }
        swap
    }

    /// The mesh that is shown for a block.
    pub fn get(&self, block: ChunkPos) -> Option<&Arc<BlockMesh>> {
        self.shown.get(&block)
    }

    /// All blocks that are shown, sorted.
    pub fn blocks(&self) -> Vec<ChunkPos> {
        let mut blocks: Vec<_> = self.shown.keys().copied().collect();
        blocks.sort_unstable();
        blocks
    }
}

impl MeshSwap {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }
}
