//! The entry: one block among blocks of any mips.

use crate::mesh::fast::{BoundaryRequest, FastMesher, MeshInput, SurfaceKind};
use crate::mesh::rules::boundary::BoundaryFeatures;
use crate::mesh::rules::cells::{LiquidCells, SolidCells, SurfaceCells};
use crate::mesh::surface::{BlockMesh, Surface};
use crate::voxel::{DenseBox, MaterialTable, Region, VoxelPos};

use super::border::{BorderScratch, BorderWriter};
use super::cells::{BorderBoxes, BorderCells, CellSource, MAX_COARSER_STEPS};
use super::foreign_vertices::MipSources;
use super::lattice::LocalLattice;
use super::neighbours::{BoundaryMips, MAX_MIP_STEPS, NeighbourMips};
use super::targets;

/// Meshes blocks among blocks of other mips. Reused between blocks.
#[derive(Debug, Default)]
pub(crate) struct MixedMesher {
    boxes: BorderBoxes,
    scratch: BorderScratch,
    /// Meshed into when only vertices are wanted.
    unused: BlockMesh,
}

/// A block to be meshed, and what is around it.
pub(crate) struct MixedRequest<'a> {
    /// The block, in its cells.
    pub own: Region,
    pub around: &'a NeighbourMips,
    pub table: &'a MaterialTable,
    /// Whether keys are written.
    pub is_keyed: bool,
    /// The coarsest mip that vertices morph to, if targets are written.
    pub morph_to: Option<u8>,
}

/// A block, with all that is looked up once.
struct BlockContext<'a> {
    request: &'a MixedRequest<'a>,
    lattice: LocalLattice<'a>,
    mips: BoundaryMips,
    /// Features that touch another mip.
    foreign: BoundaryFeatures,
    /// By mips coarser than the block's less 1: corners whose vertices by those cells are placed
    /// beforehand.
    wanted: [BoundaryFeatures; MAX_COARSER_STEPS],
}

impl MixedMesher {
    /// Meshes a block as [`Mesher::mesh_mixed`](crate::mesh::Mesher::mesh_mixed) does.
    pub(crate) fn mesh(
        &mut self,
        fast: &mut FastMesher,
        request: &MixedRequest<'_>,
        cells: &mut CellSource<'_>,
        out: &mut BlockMesh,
    ) {
        let MixedRequest { own, around, table, is_keyed, morph_to } = *request;
        assert!(
            around.is_within_steps(),
            "blocks that differ by more than {MAX_MIP_STEPS} mips touch"
        );
        let lattice = LocalLattice::new(around, own.size()[0] as i32);
        self.boxes.read_own(&lattice, own, cells);
        out.block = own;
        if around.is_uniform() && morph_to.is_none() {
            fast.mesh(MeshInput { cells: &self.boxes.own, table, is_keyed }, out);
            keys_to_voxels(&mut out.solid, lattice.mip);
            keys_to_voxels(&mut out.liquid, lattice.mip);
            return;
        }
        let mips = around.boundary_mips();
        let foreign = mips.foreign();
        let wanted = match morph_to {
            Some(top) => targets::wanted(&lattice, &mips, top),
            None => [BoundaryFeatures::NONE; MAX_COARSER_STEPS],
        };
        for (step, wanted) in (1..).zip(wanted) {
            if !wanted.is_empty() || (step <= MAX_MIP_STEPS && mips.touches(step)) {
                assert!(lattice.cells >> step > 0, "a block of {} cells an edge", lattice.cells);
                self.boxes.read_coarse(&lattice, step, own, cells);
            }
        }
        self.boxes.read_finer(&lattice, &mips, own, cells);
        let context = BlockContext { request, lattice, mips, foreign, wanted };
        context.surface(SurfaceKind::Solid, fast, self, out, SolidCells::new);
        context.surface(SurfaceKind::Liquid, fast, self, out, LiquidCells::new);
    }
}

impl BlockContext<'_> {
    /// Meshes one of the two surfaces.
    fn surface<'a, C: SurfaceCells>(
        &'a self,
        kind: SurfaceKind,
        fast: &mut FastMesher,
        mixed: &'a mut MixedMesher,
        out: &mut BlockMesh,
        make: impl Fn(&'a DenseBox, &'a MaterialTable) -> C,
    ) {
        let MixedRequest { own, table, is_keyed, morph_to, .. } = *self.request;
        let lattice = self.lattice;
        let MixedMesher { boxes, scratch, unused } = mixed;
        scratch.vertices.clear();
        let coarse = boxes.coarse(own, self.wanted);
        scratch.vertices.place_coarse(fast, coarse, kind, table, unused);
        let request =
            BoundaryRequest { left_out: self.foreign, placed: self.mips.where_coarsest(0) };
        let is_all_keyed = is_keyed || morph_to.is_some();
        let input = MeshInput { cells: &boxes.own, table, is_keyed: is_all_keyed };
        if !fast.mesh_without(request, kind, input, out) {
            return;
        }
        let out = match kind {
            SurfaceKind::Solid => &mut out.solid,
            SurfaceKind::Liquid => &mut out.liquid,
        };
        let cells = BorderCells::new(lattice, boxes, |cells| make(cells, table));
        let sources = MipSources { cells: &cells, fast, table, origin: own.min };
        if let Some(top) = morph_to {
            targets::push_flat(&sources, &mut scratch.vertices, top, out);
        }
        if is_keyed {
            keys_to_voxels(out, lattice.mip);
        } else {
            out.keys.clear();
        }
        BorderWriter {
            sources,
            foreign: self.foreign,
            finest_steps: self.mips.finest_steps(),
            only: self.mips.only(lattice.mip),
            min_voxel: own.finer(lattice.mip.into()).min,
            is_keyed,
            morph_to,
            out,
            scratch,
        }
        .write();
    }
}

/// Converts keys from cells of a mip to voxels.
fn keys_to_voxels(surface: &mut Surface, mip: u8) {
    for key in &mut surface.keys {
        let VoxelPos { x, y, z } = key.corner;
        key.corner = VoxelPos::new(x << mip, y << mip, z << mip);
    }
}
