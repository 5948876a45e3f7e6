//! Meshes one block among blocks of other mips.

use super::clusters::ClusterFitter;
use super::dry::is_dry;
use super::ticket::Ticket;
use super::tiling::neighbours;
use crate::mesh::{BlockMesh, Mesher, NeighbourMips, Shores};
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, append_repeated};
use std::sync::Arc;

/// A block to mesh, on the snapshot of its plan. Plain data: run it on any thread.
#[derive(Clone, Debug)]
pub struct MeshJob {
    pub(super) plan: u64,
    pub(super) block: MipBlock,
    pub(super) around: NeighbourMips,
    /// Whether vertices are fitted to the mip 0 surface.
    pub(super) clusters: bool,
    pub(super) snapshot: Snapshot,
    /// The coarsest mip shown, if vertices morph.
    pub(super) morph_to: Option<u8>,
    /// Set if the job was handed out alone.
    pub(super) ticket: Option<Ticket>,
}

/// The result of a [`MeshJob`].
#[derive(Debug)]
pub struct MeshedBlock {
    pub(super) plan: u64,
    pub(super) block: MipBlock,
    pub(crate) mesh: Option<Arc<BlockMesh>>,
    pub(super) ticket: Option<Ticket>,
}

/// Scratch memory of jobs. Keep one per thread and reuse it.
#[derive(Default)]
pub struct MeshScratch {
    mesher: Mesher,
    shores: Shores,
    clusters: ClusterFitter,
    mesh: BlockMesh,
    coarse_cells: DenseBox,
    /// Whether meshes get keys.
    keyed: bool,
}

impl MeshScratch {
    /// Creates scratch memory of jobs whose meshes get keys.
    #[doc(hidden)]
    pub fn keyed() -> MeshScratch {
        MeshScratch { keyed: true, ..MeshScratch::default() }
    }
}

impl MeshJob {
    /// Returns the block.
    pub fn block(&self) -> MipBlock {
        self.block
    }

    /// Meshes the block.
    pub fn run(&self, scratch: &mut MeshScratch) -> MeshedBlock {
        let MeshScratch { mesher, shores, clusters, mesh, coarse_cells, keyed } = scratch;
        let materials = self.snapshot.materials();
        // Morph targets depend on cells two mips coarser, whose shores reach beyond touching
        // blocks.
        let coarsest = self.around.coarsest();
        let is_dry =
            self.morph_to.is_some() || is_dry(shores, &self.snapshot, self.block, coarsest);
        let cells = |mip: u8, region: Region, out: &mut DenseBox| {
            self.read_shown(mip, region, coarse_cells, out);
            if !is_dry {
                // Water comes from what is shown around, too.
                shores.soak_by(&self.snapshot, mip, out, |around, wide| {
                    self.read_shown(mip, around, coarse_cells, wide);
                });
            }
        };
        let (block, around) = (self.block, &self.around);
        let needs_keys = *keyed || self.clusters;
        match self.morph_to {
            Some(top) => {
                mesher.mesh_morphing(block, around, cells, materials, top, needs_keys, mesh);
            }
            None => mesher.mesh_mixed(block, around, cells, materials, needs_keys, mesh),
        }
        if self.clusters {
            clusters.fit(&self.snapshot, self.block, &mut mesh.solid);
        }
        if !*keyed {
            mesh.solid.keys.clear();
            mesh.liquid.keys.clear();
        }
        let empty = mesh.solid.is_empty() && mesh.liquid.is_empty();
        let mesh = (!empty).then(|| Arc::new(mesh.clone()));
        MeshedBlock { plan: self.plan, block: self.block, mesh, ticket: self.ticket.clone() }
    }

    /// Reads cells of `mip`, or of a coarser mip where that is shown, repeated: finer cells that
    /// the grid may hold there must not matter, as they come and go.
    fn read_shown(&self, mip: u8, region: Region, coarse_cells: &mut DenseBox, out: &mut DenseBox) {
        let shown = |beside: MipBlock| {
            let side = (beside.pos - self.block.pos).to_array();
            let shown = self.around.at(side.map(|side| [-1, 0, 8][(side + 1) as usize]));
            if shown == NeighbourMips::UNKNOWN { mip } else { shown.max(mip) }
        };
        // Cells finer than the block's are only read where they are shown.
        let has_coarser = mip >= self.block.mip && neighbours(self.block).any(|b| shown(b) > mip);
        self.snapshot.read_known(region, mip, out);
        if !has_coarser {
            return;
        }
        let shift = u32::from(mip - self.block.mip);
        let coarse = neighbours(self.block).filter(|&beside| shown(beside) > mip);
        let coarse: Vec<_> = coarse
            .map(|beside| (beside.cells().coarser(shift).intersect(region), shown(beside)))
            .filter(|(part, _)| !part.is_empty())
            .collect();
        out.retain_water(|pos| coarse.iter().all(|(part, _)| !part.contains(pos)));
        for (part, shown) in coarse {
            let steps = u32::from(shown - mip);
            self.snapshot.read_known(part.coarser(steps), shown, coarse_cells);
            append_repeated(coarse_cells, steps, part, out);
        }
        out.water_mut().sort_unstable_by_key(|entry| entry.0);
    }
}
