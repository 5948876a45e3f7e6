//! The block inside a padded box.

use crate::voxel::Region;

/// Cells beyond the block that the mesher reads, on each side.
pub const PAD: i32 = 2;

/// Longest edge of a block, in cells.
pub const MAX_EDGE: i32 = 64;

/// Returns the block inside the padded box `region`.
///
/// # Panics
/// If an edge of the block is not 1 to [`MAX_EDGE`] cells.
#[inline]
pub(crate) fn block_in(region: Region) -> Region {
    checked_block(region.grow(-PAD))
}

/// Returns `block`.
///
/// # Panics
/// If an edge is not 1 to [`MAX_EDGE`] cells.
pub(crate) fn checked_block(block: Region) -> Region {
    let fits = |edge: usize| (1..=MAX_EDGE as usize).contains(&edge);
    assert!(block.size().into_iter().all(fits), "block edges of {block} are not 1..={MAX_EDGE}");
    block
}
