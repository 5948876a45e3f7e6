//! Memory of a mesher, reused between blocks.

use super::bits::{ListedCorner, RankedRows};
use super::boundary::BoundaryVertices;
use super::faces::{FaceRows, LeftOutFace};
use super::numbers::SpecialCorners;
use super::planes::PlaneTable;
use super::survey::{CellKinds, TableSummary};

/// Reused between blocks.
#[derive(Debug, Default)]
pub(super) struct FastScratch {
    /// Rows of inside cells.
    pub inside: Vec<u64>,
    /// Rows of outside cells.
    pub outside: Vec<u64>,
    pub faces: FaceRows,
    /// Corners that own faces touch.
    pub corners: RankedRows,
    /// Rows of special corners; empty if no bit is set.
    pub special: Vec<u64>,
    /// Vertices on features of the boundary whose faces are left out.
    pub boundary: BoundaryVertices,
    /// How the sheets of special corners are numbered.
    pub special_corners: SpecialCorners,
    /// Inside cells around corners.
    pub around: RankedRows,
    pub planes: PlaneTable,
    pub quads: Vec<[u32; 4]>,
    pub special_faces: Vec<LeftOutFace>,
    /// Corners to be placed by the rules.
    pub by_rules: Vec<ListedCorner>,
    /// Of the last table.
    pub table: TableSummary,
    /// Of the last box.
    pub cell_kinds: CellKinds,
    pub soaked: SoakedArrays,
}

/// Copies of a box's arrays in which solid cells that hold water are water.
#[derive(Debug, Default)]
pub(super) struct SoakedArrays {
    /// Only where the table says that water is not liquid: water for inside cells, air for
    /// outside ones, another id for the rest.
    pub classes: Vec<u8>,
    pub materials: Vec<u8>,
    pub occupancies: Vec<u8>,
}
