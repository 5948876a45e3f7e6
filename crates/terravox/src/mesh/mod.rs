//! Cells to triangles: the solid surface and the liquid surface of a block, by [`Mesher::mesh`].
//!
//! The mesh is the boundary of the union of all inside cells. Its vertices are moved from the
//! cell corners to the surface that the cells' occupancies describe. The boundary of a solid is
//! closed, so the mesh closes for any cells, and one vertex per sheet makes it manifold.
//! Meshes of neighbouring blocks fit bit for bit. Materials shape the surface by
//! placing vertices, never by changing how they connect.
//!
//! A vertex lies at most ¾ of a cell beyond the cell whose face it belongs to, on each
//! axis.

// Inside, names point down only:
//
//  mesher          the entry
//    |
//  mixed           blocks among other mips          naive   the twin, for tests
//    |                                                |
//  fast            blocks whose neighbours            |
//    |             have the same mip                  |
//    +----------------+-------------------------------+
//    |                |
//  rules            surface, morph                  shore: before meshing
//  what a vertex    what is written                 shade, packed: for renderers
//  and a face are                                   reach: how far edits change meshes
//
// `naive` names `rules` and `surface` only; no file but a test names `naive`.

mod fast;
mod mesher;
mod mixed;
mod morph;
#[doc(hidden)]
pub mod naive;
mod packed;
mod reach;
mod rules;
pub mod shade;
mod shore;
mod surface;

pub use mesher::Mesher;
pub use mixed::{MAX_MIP_STEPS, NeighbourMips};
#[cfg(test)]
pub(crate) use mixed::{tests::Welded, tilings::Numbers};
pub use morph::{MorphTargets, morphed, morphed_normal};
pub use packed::{PackedIndices, PackedSurface, PackedTarget, PackedVertex, UNPACK_WGSL};
pub(crate) use reach::{
    EDIT_REACH_CELLS, SURFACE_REACH, edit_reach_voxels, shore_edit_reach_cells,
    shore_edit_reach_voxels,
};
pub(crate) use rules::blend::{MaterialBlend, OCTANT_BYTES, blend, dominant};
pub use rules::block::{MAX_EDGE, PAD};
pub(crate) use rules::corner::{CORNERS, SIDE};
pub(crate) use rules::face::{Direction, face_corners};
pub(crate) use rules::place::{solved, unit_normal};
pub use shore::Shores;
#[cfg(test)]
pub(crate) use shore::naive::carried as carried_slowly;
pub use surface::{BlockMesh, Surface, VertexKey};
