//! How far a block's mesh depends on cells, with and without the water that shores carry into the
//! ground.

use crate::mesh::{PAD, shore_reach};

/// Returns how many cells beyond itself a block of `mip` depends on, if shores carry water there.
pub(super) fn shore_reach_cells(mip: u8) -> i32 {
    PAD + 1 + shore_reach(mip) + 1
}

/// Returns how many voxels beyond itself a block depends on cells of `mip`: the padding, and one
/// cell that contains it.
pub(super) fn reach_voxels(mip: u8) -> i32 {
    (PAD + 1) << mip
}

/// As [`reach_voxels`], with shores. Those of a finer mip may reach as far.
pub(super) fn shore_reach_voxels(mip: u8) -> i32 {
    (0..=mip).map(|mip| shore_reach_cells(mip) << mip).max().unwrap_or(0)
}
