//! Few boxes that cover the set bits of an 8³ block exactly.
//!
//! Greedy: the lowest remaining cell grows along x, then z, then y, as far as cells are solid
//! and not yet covered. Growing the leaves of the octree instead, largest first, makes 1–2 %
//! more boxes, and an edit changes more of them.

use crate::bits::BlockMask;

use super::merge::LocalBox;

/// Calls `each` with the boxes of the set bits, in voxels from the block's lowest, in the
/// order y, z, x of their lowest cells.
#[inline]
pub(super) fn block_boxes(mask: &BlockMask, mut each: impl FnMut(LocalBox)) {
    let mut left = *mask;
    for y in 0..8 {
        while left[y] != 0 {
            let lowest = left[y].trailing_zeros();
            let (x, z) = (lowest & 7, lowest >> 3);
            let width = (!(left[y] >> lowest & 255 >> x)).trailing_zeros();
            let row = ((1 << width) - 1) << x;
            let mut slice = row << (8 * z);
            let mut far = z + 1;
            while far < 8 && left[y] >> (8 * far) & row == row {
                slice |= row << (8 * far);
                far += 1;
            }
            let mut top = y;
            while top < 8 && left[top] & slice == slice {
                left[top] &= !slice;
                top += 1;
            }
            each(LocalBox {
                min: [x as u8, y as u8, z as u8],
                max: [(x + width) as u8, top as u8, far as u8],
            });
        }
    }
}
