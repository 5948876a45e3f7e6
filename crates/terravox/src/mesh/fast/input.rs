//! The cells of a block and of one surface, as the steps of the mesher read them.

use crate::mesh::rules::boundary::BoundaryFeatures;
use crate::voxel::{DenseBox, MaterialTable, SurfaceShape};

use super::class_rows::ClassSet;

/// What is meshed.
#[derive(Clone, Copy)]
pub(crate) struct MeshInput<'a> {
    /// The padded cells.
    pub cells: &'a DenseBox,
    pub table: &'a MaterialTable,
    /// Whether keys are written.
    pub is_keyed: bool,
}

/// One surface's cells.
pub(super) struct SurfaceInput<'a, C> {
    /// For the rules, in special cases.
    pub cells: &'a C,
    /// By cell: what `inside` and `outside` are sets of. Mostly the material.
    pub classes: &'a [u8],
    /// By cell: its material.
    pub materials: &'a [u8],
    /// By cell: its stored occupancy.
    pub occupancies: &'a [u8],
    /// Which classes are inside.
    pub inside: ClassSet<'a>,
    /// Which classes are outside; `None` for all that are not inside.
    pub outside: Option<ClassSet<'a>>,
    /// The shape of all inside cells, if they have the same.
    pub shape: Option<SurfaceShape>,
    /// Features of the boundary whose faces are left out.
    pub left_out: BoundaryFeatures,
    /// Whether faces are written, not vertices alone.
    pub has_faces: bool,
}
