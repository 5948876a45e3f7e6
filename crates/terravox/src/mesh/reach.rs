//! How far cells reach: what a write to a cell can change, and how far a surface lies from its
//! cell. Views that keep meshes, masks or planes drop what lies within.

use super::rules::block::PAD;
use super::shore::Shores;

/// How far the surface of a cell may lie beyond the cell, on each axis, in cells.
pub(crate) const SURFACE_REACH: f32 = 0.75;

/// How far from a cell that changes, in cells, a vertex may move: it depends on cells up to
/// [`PAD`] from its corner, and lies less than one cell from there.
pub(crate) const EDIT_REACH_CELLS: i32 = PAD + 1;

/// Returns [`EDIT_REACH_CELLS`] of cells of `mip`, in voxels.
pub(crate) const fn edit_reach_voxels(mip: u8) -> i32 {
    EDIT_REACH_CELLS << mip
}

/// As [`EDIT_REACH_CELLS`], with the water that shores carry at `mip`.
pub(crate) const fn shore_edit_reach_cells(mip: u8) -> i32 {
    EDIT_REACH_CELLS + Shores::reach_cells(mip) + 1
}

/// Returns [`shore_edit_reach_cells`] in voxels; the most of any mip up to `mip`, since finer
/// ones may reach as far.
pub(crate) fn shore_edit_reach_voxels(mip: u8) -> i32 {
    (0..=mip).map(|mip| shore_edit_reach_cells(mip) << mip).max().unwrap_or(0)
}
