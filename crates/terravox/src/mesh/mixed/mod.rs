//! Blocks of different mips side by side, without seams: one closed surface.
//!
//! The samples are the cells that each block shows, of whatever size. The mesh is the
//! boundary of the union of the inside ones, with its vertices moved off their corners,
//! as at one mip: a boundary has no boundary, so nothing needs to agree and nothing is
//! sewn. A block owns the faces of its own inside cells in all directions. Those that
//! touch no other mip are meshed as ever; the rest, the *border*, one by one. A border
//! reads only what the touching blocks show, and cells of the coarsest mip around a
//! corner to place its vertex by ([`levels`]).
//!
//! A block's mesh therefore depends on the cells, of its mip and of the coarser ones that
//! touch it, up to two cells of each beyond the block; on the layer of cells of finer
//! blocks that touches it; and on which mips are shown around it ([`depends_on`]).
//!
//! Compare "Dual Contouring of Hermite Data" (Ju et al. 2002), whose cells are an octree's
//! leaves with samples at corners: there every crack is a sample on which two leaves
//! disagree. Here no two cells share one.

mod around;
mod border;
mod boxes;
mod corners;
mod frame;
mod levels;
#[cfg(test)]
mod naive;
mod polygon;
mod targets;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
pub(crate) mod tilings;

pub use around::{Around, MOST_STEPS};
pub(crate) use around::{Features, feature_of};

use crate::voxel::{DenseBox, MaterialTable, MipBlock, Region, VoxelPos};

use super::cells::{Cells, LiquidCells, SolidCells};
use super::fast::{Fast, Part};
use super::surface::{BlockMesh, Surface};
use super::{Mesher, PAD};
use around::Neighbours;
use border::{Border, Scratch};
use boxes::{Ask, Boxes, COARSER, View};
use frame::Frame;
use levels::Place;

/// The voxels on whose cells, at any mip, the mesh of a block depends.
pub fn depends_on(block: MipBlock, around: &Around) -> Region {
    block.voxels().grow(PAD << around.coarsest().max(block.mip))
}

/// As [`depends_on`], of a mesh that morphs.
pub fn morph_depends_on(block: MipBlock, around: &Around) -> Region {
    block.voxels().grow(PAD << (around.coarsest().max(block.mip) + 1))
}

/// Reused between blocks.
#[derive(Debug, Default)]
pub(super) struct Mixed {
    boxes: Boxes,
    scratch: Scratch,
    /// Meshed into when only vertices are wanted.
    unused: BlockMesh,
}

/// A block to be meshed among others.
struct Job<'a> {
    frame: Frame<'a>,
    /// The block, in its cells.
    own: Region,
    neighbours: Neighbours,
    foreign: Features,
    finest: [u8; 27],
    only: [u8; 27],
    /// Corners whose vertices by coarser cells are placed at once.
    wanted: [Features; COARSER],
    table: &'a MaterialTable,
    keyed: bool,
    /// The mip beyond which nothing is morphed, if anything is.
    morph_to: Option<u8>,
}

impl Mesher {
    /// Meshes a block among blocks of other mips, so that the meshes of all blocks of any
    /// tiling of space fit bit for bit and together are closed and manifold.
    ///
    /// `cells` is asked for cells of a mip over a region of cells of that mip; it must
    /// make the box that region and fill it. It is asked for the block's own cells and
    /// those of coarser mips around, both with [`PAD`] cells beyond the block,
    /// whatever is shown there, and for the layers of finer cells that touch it. What the
    /// answers say of one place at different mips need not agree. All answers where
    /// `around` says that nothing is known are ignored: the surface ends there, open.
    ///
    /// Positions are in cells of the block's mip from its min corner, and multiples of
    /// 1/4096 of the finest cell that touches them; [`BlockMesh::block`] is in cells of
    /// the block's mip; keys, if `keyed`, are in voxels. Where all of `around` shows the
    /// block's mip the mesh is that of [`Mesher::mesh`]. What was in `out` is replaced.
    ///
    /// # Panics
    /// If `around` is of another mip than the block, or has mips that differ from it by
    /// more than [`MOST_STEPS`], or blocks touch whose mips do.
    pub fn mesh_mixed(
        &mut self,
        block: MipBlock,
        around: &Around,
        mut cells: impl FnMut(u8, Region, &mut DenseBox),
        materials: &MaterialTable,
        keyed: bool,
        out: &mut BlockMesh,
    ) {
        assert!(around.mip() == block.mip, "{block} among blocks around mip {}", around.mip());
        self.mesh_among(block.cells(), around, &mut cells, materials, (keyed, None), out);
    }

    /// As [`Mesher::mesh_mixed`], with [`Surface::targets`]: where each vertex lies one level
    /// up. What no coarser mip than `top` is ever shown for stays where it is; cells coarser
    /// than `top` are not asked for. Cells one mip coarser than the block, and than those
    /// that touch it, are.
    ///
    /// # Panics
    /// As [`Mesher::mesh_mixed`].
    #[expect(clippy::too_many_arguments, reason = "as mesh_mixed, and one more")]
    pub fn mesh_morphing(
        &mut self,
        block: MipBlock,
        around: &Around,
        mut cells: impl FnMut(u8, Region, &mut DenseBox),
        materials: &MaterialTable,
        top: u8,
        keyed: bool,
        out: &mut BlockMesh,
    ) {
        assert!(around.mip() == block.mip, "{block} among blocks around mip {}", around.mip());
        let what = (keyed, Some(top));
        self.mesh_among(block.cells(), around, &mut cells, materials, what, out);
    }

    /// What of [`Mesher::mesh_mixed`] is no border: the faces that touch no other mip, of
    /// cells at hand. To be measured beside it.
    #[doc(hidden)]
    pub fn mesh_all_but_border(
        &mut self,
        cells: &DenseBox,
        around: &Around,
        table: &MaterialTable,
        out: &mut BlockMesh,
    ) {
        let foreign = around.neighbours().foreign();
        for part in [Part::Solid, Part::Liquid] {
            self.fast.mesh_without([foreign, Features::NONE], part, (cells, table), false, out);
        }
    }

    /// [`Mesher::mesh_mixed`] for blocks of any power of two from 8 cells on; `own` is the
    /// block in its cells.
    pub(super) fn mesh_among(
        &mut self,
        own: Region,
        around: &Around,
        cells: &mut Ask<'_>,
        table: &MaterialTable,
        (keyed, morph_to): (bool, Option<u8>),
        out: &mut BlockMesh,
    ) {
        assert!(around.is_fit(), "blocks that differ by more than {MOST_STEPS} mips touch");
        let frame = Frame::new(around, own.size()[0] as i32);
        let Mesher { fast, mixed } = self;
        mixed.boxes.read_own(&frame, own, cells);
        out.block = own;
        if around.is_uniform() && morph_to.is_none() {
            fast.mesh(&mixed.boxes.own, table, keyed, out);
            keys_in_voxels(&mut out.solid, frame.mip);
            keys_in_voxels(&mut out.liquid, frame.mip);
            return;
        }
        let neighbours = around.neighbours();
        let foreign = neighbours.foreign();
        let wanted = match morph_to {
            Some(top) => targets::wanted(&frame, &neighbours, top),
            None => [Features::NONE; COARSER],
        };
        for (step, wanted) in (1..).zip(wanted) {
            if !wanted.is_empty() || (step <= MOST_STEPS && neighbours.touches(step)) {
                assert!(frame.cells >> step > 0, "a block of {} cells an edge", frame.cells);
                mixed.boxes.read_coarse(&frame, step, own, cells);
            }
        }
        mixed.boxes.read_finer(&frame, &neighbours, own, cells);
        let (finest, only) = (neighbours.finest(), neighbours.only(frame.mip));
        let job =
            Job { frame, own, neighbours, foreign, finest, only, wanted, table, keyed, morph_to };
        job.surface(Part::Solid, fast, mixed, out, SolidCells::new);
        job.surface(Part::Liquid, fast, mixed, out, LiquidCells::new);
    }
}

impl Job<'_> {
    /// Meshes one of the two surfaces.
    fn surface<'a, C: Cells>(
        &'a self,
        part: Part,
        fast: &mut Fast,
        mixed: &'a mut Mixed,
        out: &mut BlockMesh,
        make: impl Fn(&'a DenseBox, &'a MaterialTable) -> C,
    ) {
        let Job { frame, own, foreign, finest, only, table, keyed, morph_to, .. } = *self;
        let place = Place { table, origin: own.min };
        let Mixed { boxes, scratch, unused } = mixed;
        scratch.levels.clear();
        scratch.levels.prepare(fast, boxes, part, &place, self.wanted, unused);
        let asked = [foreign, self.neighbours.levels(0)];
        let all_keyed = keyed || morph_to.is_some();
        if !fast.mesh_without(asked, part, (&boxes.own, table), all_keyed, out) {
            return;
        }
        let out = match part {
            Part::Solid => &mut out.solid,
            Part::Liquid => &mut out.liquid,
        };
        let view = View::new(frame, boxes, |cells| make(cells, table));
        if let Some(top) = morph_to {
            targets::push_flat((&view, fast), &place, &mut scratch.levels, own, top, out);
        }
        if keyed {
            keys_in_voxels(out, frame.mip);
        } else {
            out.keys.clear();
        }
        let min_voxel = own.finer(frame.mip.into()).min;
        Border {
            view: &view,
            place,
            foreign,
            finest,
            only,
            flat: fast,
            min_voxel,
            keyed,
            morph_to,
            out,
            scratch,
        }
        .write();
    }
}

/// Turns keys from cells of a mip into voxels.
fn keys_in_voxels(surface: &mut Surface, mip: u8) {
    for key in &mut surface.keys {
        let VoxelPos { x, y, z } = key.corner;
        key.corner = VoxelPos::new(x << mip, y << mip, z << mip);
    }
}
