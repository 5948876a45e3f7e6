//! The blocks of an object, and their surfaces.

use terravox::mesh::{BlockMesh, Surface};

/// A mesh as part of an object, among meshes of other mips.
#[derive(Clone, Copy, Debug)]
pub struct GlbBlock<'m> {
    /// The mesh, of a block of cells of `mip`.
    pub mesh: &'m BlockMesh,
    /// Its cells are 2^mip voxels wide.
    pub mip: u8,
    /// sRGB tint, mixed into the colours of its materials to distinguish it from other blocks.
    pub tint: Option<[u8; 3]>,
}

/// A surface to write, and the block that it belongs to.
#[derive(Clone, Copy)]
pub(super) struct BlockSurface<'m> {
    pub block: GlbBlock<'m>,
    pub surface: &'m Surface,
}
