//! Cells to triangles: the solid surface and the liquid surface of a block.
//!
//! The mesh is the boundary of the union of inside cells, its vertices moved off the
//! cell corners to where the cells' occupancies say the surface lies. A boundary has
//! no boundary, so it closes for any cells, and one vertex per sheet makes it manifold.
//! Meshes of neighbouring blocks fit bit for bit. Materials shape the surface by
//! placing vertices, never by changing how they connect.
//!
//! A vertex lies at most ¾ of a cell beyond the cell whose face it belongs to, on each
//! axis.

mod blend;
mod cells;
mod corner;
mod fast;
mod mixed;
mod morph;
#[doc(hidden)]
pub mod naive;
mod packed;
mod place;
mod plane;
pub mod shade;
mod shore;
mod surface;
mod thin;
mod vertex;

pub(crate) use blend::{BYTES, blend, dominant};
pub(crate) use corner::{CORNERS, SIDE};
pub(crate) use fast::ActiveCorner;
pub use mixed::{Around, MOST_STEPS, depends_on, morph_depends_on};
#[cfg(test)]
pub(crate) use mixed::{tests::Welded, tilings::Numbers};
pub use morph::{MorphTargets, morphed, morphed_normal};
pub use packed::{PackedIndices, PackedSurface, PackedTarget, PackedVertex, UNPACK_WGSL};
pub(crate) use place::{dot, solved, unit_normal};
#[cfg(test)]
pub(crate) use shore::naive::carried as carried_slowly;
pub use shore::{Shores, shore_depends_on, shore_reach};
pub use surface::{BlockMesh, Surface, VertexKey};
pub(crate) use vertex::{DIRECTIONS, face_corners};

use crate::voxel::{DenseBox, MaterialTable, Region};

/// Cells beyond the block that the mesher reads, on each side.
pub const PAD: i32 = 2;

/// Longest edge of a block, in cells.
pub const MAX_EDGE: i32 = 64;

/// Meshes blocks. Holds scratch memory, so keep one per thread and reuse it.
#[derive(Debug)]
pub struct Mesher {
    fast: fast::Fast,
    mixed: mixed::Mixed,
}

impl Default for Mesher {
    fn default() -> Mesher {
        Mesher::new()
    }
}

impl Mesher {
    /// A mesher that uses the widest vector unit of this machine.
    pub fn new() -> Mesher {
        Mesher::with(fast::Fast::widest())
    }

    /// A mesher that uses what every machine of this architecture has. Same output.
    pub fn portable() -> Mesher {
        Mesher::with(fast::Fast::portable())
    }

    /// A mesher without hand-written vector code: what architectures without any get.
    /// Same output.
    #[doc(hidden)]
    pub fn plain() -> Mesher {
        Mesher::with(fast::Fast::plain())
    }

    fn with(fast: fast::Fast) -> Mesher {
        Mesher { fast, mixed: mixed::Mixed::default() }
    }

    /// Meshes the block that `cells` holds with [`PAD`] cells around it on every side.
    /// What was in `out` is replaced.
    ///
    /// # Panics
    /// If an edge of the block is not 1 to [`MAX_EDGE`] cells.
    pub fn mesh(&mut self, cells: &DenseBox, materials: &MaterialTable, out: &mut BlockMesh) {
        out.block = block_of(cells);
        self.fast.mesh(cells, materials, false, out);
    }

    /// As [`Mesher::mesh`], with [`Surface::keys`].
    ///
    /// # Panics
    /// As [`Mesher::mesh`].
    pub fn mesh_keyed(&mut self, cells: &DenseBox, materials: &MaterialTable, out: &mut BlockMesh) {
        out.block = block_of(cells);
        self.fast.mesh(cells, materials, true, out);
    }

    /// The vertices of the solid surface alone: of the corners of a box's cells but for
    /// [`PAD`] at its hull, each corner's first, in the order of the corners that `each` is
    /// called for; then others. `out` holds no faces.
    pub(crate) fn corners(
        &mut self,
        cells: &DenseBox,
        materials: &MaterialTable,
        out: &mut BlockMesh,
        each: impl FnMut(ActiveCorner),
    ) {
        out.block = cells.region().grow(-PAD);
        self.fast.corners(cells, materials, out, each);
    }

    /// The empty mesh of a block that is known to hold one material only, padding
    /// included: for callers whose storage says so, sparing them the cells.
    ///
    /// # Panics
    /// If an edge of the block is not 1 to [`MAX_EDGE`] cells.
    pub fn mesh_uniform(&mut self, block: Region, out: &mut BlockMesh) {
        out.clear();
        out.block = checked(block);
    }
}

/// The block inside a padded box.
fn block_of(cells: &DenseBox) -> Region {
    checked(cells.region().grow(-PAD))
}

/// `block`, if its edges are of a size that is meshed.
fn checked(block: Region) -> Region {
    let fits = |edge: usize| (1..=MAX_EDGE as usize).contains(&edge);
    assert!(block.size().into_iter().all(fits), "block edges of {block} are not 1..={MAX_EDGE}");
    block
}

/// Edge lengths of a block, cells.
fn edges(block: Region) -> [i32; 3] {
    block.size().map(|edge| edge as i32)
}
