//! The mesher of blocks.

use crate::voxel::{DenseBox, MaterialTable, MipBlock, Region};

use super::fast::{ActiveCorner, BoundaryRequest, FastMesher, MeshInput, SurfaceKind};
use super::mixed::{MixedMesher, MixedRequest, NeighbourMips};
use super::rules::block::{PAD, block_in, checked_block};
use super::rules::boundary::BoundaryFeatures;
use super::surface::BlockMesh;

/// Meshes blocks. Holds scratch memory, so keep one per thread and reuse it.
///
/// ```
/// use terravox::generate::fill_sdf;
/// use terravox::mesh::{BlockMesh, Mesher, PAD};
/// use terravox::voxel::{DenseBox, MaterialTable, Region};
///
/// let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]).grow(PAD));
/// fill_sdf(&mut cells, 0, |[x, y, _]| 10.0 + 0.2 * x - y, |_| 8); // a slope of material 8
/// let mut mesh = BlockMesh::new();
/// Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
/// assert!(mesh.solid.triangle_count() >= 2 * 32 * 32);
/// ```
#[derive(Debug)]
pub struct Mesher {
    fast: FastMesher,
    mixed: MixedMesher,
}

impl Default for Mesher {
    fn default() -> Mesher {
        Mesher::new()
    }
}

impl Mesher {
    /// Creates a mesher that uses the widest SIMD instruction set of this machine.
    pub fn new() -> Mesher {
        Mesher::with(FastMesher::widest())
    }

    /// Creates a mesher that only uses instructions which every machine of this architecture
    /// has. Same output.
    pub fn portable() -> Mesher {
        Mesher::with(FastMesher::portable())
    }

    /// Creates a mesher without hand-written vector code: what architectures without any get; the
    /// same as [`Mesher::portable`] in WebAssembly with vectors. Same output.
    #[doc(hidden)]
    pub fn plain() -> Mesher {
        Mesher::with(FastMesher::scalar())
    }

    /// Returns the voxels on whose cells, at any mip, the mesh of `block` beside blocks of the mips
    /// `around` depends: an edit elsewhere leaves it as it is. With
    /// [morph targets](super::Surface::targets) it depends on as much around the block of the next
    /// coarser mip.
    pub fn depends_on(block: MipBlock, around: &NeighbourMips) -> Region {
        block.voxels().grow(PAD << around.coarsest().max(block.mip))
    }

    fn with(fast: FastMesher) -> Mesher {
        Mesher { fast, mixed: MixedMesher::default() }
    }

    /// Meshes a block. `cells` is the block grown by [`PAD`] (2) cells on all six sides
    /// ([`Region::grow`]). Replaces the content of `out`.
    ///
    /// # Panics
    /// If an edge of the block is not 1 to [`MAX_EDGE`](super::MAX_EDGE) cells.
    pub fn mesh(&mut self, cells: &DenseBox, materials: &MaterialTable, out: &mut BlockMesh) {
        out.block = block_in(cells.region());
        self.fast.mesh(MeshInput { cells, table: materials, is_keyed: false }, out);
    }

    /// As [`Mesher::mesh`], with [`Surface::keys`](super::Surface::keys).
    ///
    /// # Panics
    /// As [`Mesher::mesh`].
    pub fn mesh_keyed(&mut self, cells: &DenseBox, materials: &MaterialTable, out: &mut BlockMesh) {
        out.block = block_in(cells.region());
        self.fast.mesh(MeshInput { cells, table: materials, is_keyed: true }, out);
    }

    /// Places the vertices of the solid surface at the corners of all cells of a box but its outer
    /// [`PAD`] layers. The first vertices are the first of each corner, in the order of the
    /// corners with which `each` is called; others follow. `out` gets no faces.
    pub(crate) fn corners(
        &mut self,
        cells: &DenseBox,
        materials: &MaterialTable,
        out: &mut BlockMesh,
        each: impl FnMut(ActiveCorner),
    ) {
        out.block = cells.region().grow(-PAD);
        self.fast.corners(MeshInput { cells, table: materials, is_keyed: false }, out, each);
    }

    /// Makes the empty mesh of a block that is known to hold one material only, padding
    /// included, without reading its cells.
    ///
    /// # Panics
    /// If an edge of the block is not 1 to [`MAX_EDGE`](super::MAX_EDGE) cells.
    pub fn mesh_uniform(&mut self, block: Region, out: &mut BlockMesh) {
        out.clear();
        out.block = checked_block(block);
    }

    /// Meshes a block among blocks of other mips. The meshes of all blocks of a tiling of space
    /// fit bit for bit, and together are closed and manifold.
    ///
    /// `cells` is called with a mip, a region in cells of that mip and a box; it must make the box
    /// that region and fill it. It is asked for the block's own cells and those of coarser mips
    /// around, both with [`PAD`] cells beyond the block, whatever is shown there, and for the
    /// layers of finer cells that touch the block. The cells of one place at different mips need
    /// not agree. Where `around` is [`NeighbourMips::UNKNOWN`] the cells are ignored, and the
    /// surface ends open.
    ///
    /// Positions are in cells of the block's mip from its min corner, multiples of 1/4096 of the
    /// finest cell that touches them; [`BlockMesh::block`] is in cells of the block's mip; keys,
    /// if `keyed`, are in voxels. Where all of `around` shows the block's mip the mesh is that of
    /// [`Mesher::mesh`]. Replaces the content of `out`.
    ///
    /// # Panics
    /// If `around` is of another mip than the block, has mips that differ from it by more than
    /// [`MAX_MIP_STEPS`](super::MAX_MIP_STEPS), or has blocks that touch and differ by more.
    pub fn mesh_mixed(
        &mut self,
        block: MipBlock,
        around: &NeighbourMips,
        mut cells: impl FnMut(u8, Region, &mut DenseBox),
        materials: &MaterialTable,
        keyed: bool,
        out: &mut BlockMesh,
    ) {
        assert!(around.mip() == block.mip, "{block} among blocks around mip {}", around.mip());
        let own = block.cells();
        let request =
            MixedRequest { own, around, table: materials, is_keyed: keyed, morph_to: None };
        self.mesh_among(&request, &mut cells, out);
    }

    /// As [`Mesher::mesh_mixed`], with [`Surface::targets`](super::Surface::targets): where each
    /// vertex lies one mip up. Vertices whose mip is `top` stay in place. In addition it asks
    /// for cells one mip coarser than the block and than the blocks that touch it, but for none
    /// coarser than `top`.
    ///
    /// # Panics
    /// As [`Mesher::mesh_mixed`].
    #[expect(clippy::too_many_arguments, reason = "as mesh_mixed, and one more")]
    pub fn mesh_morphing(
        &mut self,
        block: MipBlock,
        around: &NeighbourMips,
        mut cells: impl FnMut(u8, Region, &mut DenseBox),
        materials: &MaterialTable,
        top: u8,
        keyed: bool,
        out: &mut BlockMesh,
    ) {
        assert!(around.mip() == block.mip, "{block} among blocks around mip {}", around.mip());
        let own = block.cells();
        let request =
            MixedRequest { own, around, table: materials, is_keyed: keyed, morph_to: Some(top) };
        self.mesh_among(&request, &mut cells, out);
    }

    /// Meshes the part of [`Mesher::mesh_mixed`] apart from the borders, from its own cells: the
    /// faces that touch no other mip. For benchmarks.
    #[doc(hidden)]
    pub fn mesh_all_but_border(
        &mut self,
        cells: &DenseBox,
        around: &NeighbourMips,
        table: &MaterialTable,
        out: &mut BlockMesh,
    ) {
        let left_out = around.boundary_mips().foreign();
        let request = BoundaryRequest { left_out, placed: BoundaryFeatures::NONE };
        for kind in [SurfaceKind::Solid, SurfaceKind::Liquid] {
            let input = MeshInput { cells, table, is_keyed: false };
            self.fast.mesh_without(request, kind, input, out);
        }
    }

    /// [`Mesher::mesh_mixed`] for blocks of any power of two from 8 cells on.
    pub(super) fn mesh_among(
        &mut self,
        request: &MixedRequest<'_>,
        cells: &mut dyn FnMut(u8, Region, &mut DenseBox),
        out: &mut BlockMesh,
    ) {
        self.mixed.mesh(&mut self.fast, request, cells, out);
    }
}
