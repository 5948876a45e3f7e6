//! One block to mesh, among blocks of other mips: plain data, to be run on any thread.

use super::tiling::neighbours;
use crate::mesh::{Around, BlockMesh, Mesher};
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, VoxelPos};
use std::sync::Arc;

/// One block to mesh, on the snapshot of its plan. Plain data: run it on any thread.
#[derive(Clone)]
pub struct MeshJob {
    pub(super) plan: u64,
    pub(super) block: MipBlock,
    pub(super) around: Around,
    pub(super) snapshot: Snapshot,
}

/// What a [`MeshJob`] made.
pub struct MeshedBlock {
    pub(super) plan: u64,
    pub(super) block: MipBlock,
    pub(super) mesh: Option<Arc<BlockMesh>>,
}

/// Memory that jobs reuse; one a thread.
#[derive(Default)]
pub struct MeshScratch {
    mesher: Mesher,
    mesh: BlockMesh,
    coarse: DenseBox,
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
        let MeshScratch { mesher, mesh, coarse, keyed } = scratch;
        let materials = self.snapshot.materials();
        let cells = |mip: u8, region: Region, out: &mut DenseBox| {
            self.read_shown(mip, region, coarse, out);
        };
        mesher.mesh_mixed(self.block, &self.around, cells, materials, *keyed, mesh);
        let empty = mesh.solid.is_empty() && mesh.liquid.is_empty();
        let mesh = (!empty).then(|| Arc::new(mesh.clone()));
        MeshedBlock { plan: self.plan, block: self.block, mesh }
    }

    /// Cells of mip `mip`, but where a coarser mip is shown, of that: what finer cells the
    /// grid happens to know there must not matter, as they come and go.
    fn read_shown(&self, mip: u8, region: Region, coarse: &mut DenseBox, out: &mut DenseBox) {
        self.snapshot.read_known(region, mip, out);
        // Finer cells are asked for where they are shown.
        let Some(shift) = mip.checked_sub(self.block.mip) else { return };
        for beside in neighbours(self.block) {
            let side = (beside.pos - self.block.pos).to_array();
            let shown = self.around.at(side.map(|side| [-1, 0, 8][(side + 1) as usize]));
            let part = beside.cells().coarser(shift.into()).intersect(region);
            if shown != Around::NONE && shown > mip && !part.is_empty() {
                let steps = u32::from(shown - mip);
                self.snapshot.read_known(part.coarser(steps), shown, coarse);
                copy_upsampled(coarse, part, steps, out);
            }
        }
    }
}

/// Gives each cell of `part` in `out` the value of the cell of `coarse`, `shift` mips
/// coarser, that covers it.
fn copy_upsampled(coarse: &DenseBox, part: Region, shift: u32, out: &mut DenseBox) {
    for at in part.voxels() {
        let over: VoxelPos = at.coarser(shift);
        out.set(at, coarse.cell(over));
        out.set_water(at, coarse.water_at(over));
    }
}
