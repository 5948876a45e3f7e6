//! One block to mesh, among blocks of other mips: plain data, to be run on any thread.

use super::clusters::Clusters;
use super::fills::Ticket;
use super::tiling::neighbours;
use crate::mesh::{BlockMesh, Mesher, NeighbourMips, PAD, Shores, shore_depends_on};
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, append_repeated};
use std::sync::Arc;

/// One block to mesh, on the snapshot of its plan. Plain data: run it on any thread.
#[derive(Clone, Debug)]
pub struct MeshJob {
    pub(super) plan: u64,
    pub(super) block: MipBlock,
    pub(super) around: NeighbourMips,
    /// Whether it is shown by clusters.
    pub(super) clusters: bool,
    pub(super) snapshot: Snapshot,
    /// The coarsest mip that is shown, if vertices morph up to it.
    pub(super) morph_to: Option<u8>,
    /// If somebody was given the job to bring back.
    pub(super) ticket: Option<Ticket>,
}

/// What a [`MeshJob`] made.
#[derive(Debug)]
pub struct MeshedBlock {
    pub(super) plan: u64,
    pub(super) block: MipBlock,
    pub(super) mesh: Option<Arc<BlockMesh>>,
    pub(super) ticket: Option<Ticket>,
}

/// Memory that jobs reuse; one a thread.
#[derive(Default)]
pub struct MeshScratch {
    mesher: Mesher,
    shores: Shores,
    clusters: Clusters,
    mesh: BlockMesh,
    part: DenseBox,
    /// Whether meshes get keys.
    keyed: bool,
}

impl MeshScratch {
    /// Memory of jobs whose meshes get keys.
    #[doc(hidden)]
    pub fn keyed() -> MeshScratch {
        MeshScratch { keyed: true, ..MeshScratch::default() }
    }
}

impl MeshJob {
    /// The block.
    pub fn block(&self) -> MipBlock {
        self.block
    }

    /// Meshes the block.
    pub fn run(&self, scratch: &mut MeshScratch) -> MeshedBlock {
        let MeshScratch { mesher, shores, clusters, mesh, part, keyed } = scratch;
        let materials = self.snapshot.materials();
        // Targets lie on cells of two mips more, whose shores reach beyond the blocks that touch.
        let coarsest = self.around.coarsest();
        let is_dry =
            self.morph_to.is_some() || is_dry(shores, &self.snapshot, self.block, coarsest);
        let cells = |mip: u8, region: Region, out: &mut DenseBox| {
            self.read_shown(mip, region, part, out);
            if !is_dry {
                // Water, too, comes from what is shown around.
                shores.soak_by(&self.snapshot, mip, out, |around, wide| {
                    self.read_shown(mip, around, part, wide);
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
            clusters.place(&self.snapshot, self.block, &mut mesh.solid);
        }
        if !*keyed {
            mesh.solid.keys.clear();
            mesh.liquid.keys.clear();
        }
        let empty = mesh.solid.is_empty() && mesh.liquid.is_empty();
        let mesh = (!empty).then(|| Arc::new(mesh.clone()));
        MeshedBlock { plan: self.plan, block: self.block, mesh, ticket: self.ticket.clone() }
    }

    /// Cells of mip `mip`, but where a coarser mip is shown, of that: what finer cells the
    /// grid happens to know there must not matter, as they come and go.
    fn read_shown(&self, mip: u8, region: Region, read: &mut DenseBox, out: &mut DenseBox) {
        let shown = |beside: MipBlock| {
            let side = (beside.pos - self.block.pos).to_array();
            let shown = self.around.at(side.map(|side| [-1, 0, 8][(side + 1) as usize]));
            if shown == NeighbourMips::UNKNOWN { mip } else { shown.max(mip) }
        };
        // Finer cells are asked for where they are shown.
        let coarser = mip >= self.block.mip && neighbours(self.block).any(|b| shown(b) > mip);
        self.snapshot.read_known(region, mip, out);
        if !coarser {
            return;
        }
        let shift = u32::from(mip - self.block.mip);
        let coarse = neighbours(self.block).filter(|&beside| shown(beside) > mip);
        let coarse: Vec<_> = coarse
            .map(|beside| (beside.cells().coarser(shift).intersect(region), shown(beside)))
            .collect();
        out.retain_water(|pos| coarse.iter().all(|(part, _)| !part.contains(pos)));
        for (part, shown) in coarse {
            let steps = u32::from(shown - mip);
            self.snapshot.read_known(part.coarser(steps), shown, read);
            append_repeated(read, steps, part, out);
        }
        out.water_mut().sort_unstable_by_key(|entry| entry.0);
    }
}

/// Whether no cell, of the mips that a block's mesh is made of, is near water. `coarsest` is the
/// coarsest mip that touches the block: vertices there lie on its cells, of which the padding is
/// read.
pub(super) fn is_dry(
    shores: &mut Shores,
    snapshot: &Snapshot,
    block: MipBlock,
    coarsest: u8,
) -> bool {
    (block.mip..=coarsest.max(block.mip)).all(|mip| {
        let cells = block.cells().coarser(u32::from(mip - block.mip)).grow(PAD);
        shores.is_dry(snapshot, mip, shore_depends_on(cells, mip))
    })
}
