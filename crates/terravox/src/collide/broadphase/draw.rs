//! Masks as lines: set cells as boxes, runs along X as one, and tags as whole blocks.

use crate::bits::{BlockMask, CollisionBlock, for_bits};
use crate::collide::query::Surfaces;
use crate::math::{Aabb, DebugLines};
use crate::voxel::{Region, VoxelPos};

use super::chunk::block_of_bit;
use super::pages::Pages;
use super::query::{CellRange, each_chunk};

/// Colour of cells that own a solid face.
const SOLID: [u8; 3] = [230, 120, 40];
/// Colour of cells with water.
const WET: [u8; 3] = [60, 140, 230];
/// Colour of blocks that are all solid.
const ALL_SOLID: [u8; 3] = [120, 90, 60];
/// Colour of blocks and chunks that are all liquid.
const ALL_LIQUID: [u8; 3] = [30, 70, 130];

/// Adds the masks and tags of the blocks that `within` (voxels) meets.
pub(super) fn mask_lines(pages: &Pages, within: &Aabb, lines: &mut DebugLines) {
    let Some(cells) = CellRange::reached(within) else { return };
    each_chunk(pages, &cells, Surfaces::Both, |chunk, record| {
        let Some(record) = record else {
            return lines.aabb(Aabb::of_region(chunk.region()), ALL_LIQUID);
        };
        let words = record.words;
        let any = words.solid | words.wet | words.all_solid | words.all_liquid;
        for_bits(any, |bit| {
            let block = block_of_bit(chunk, bit);
            let region = block.region();
            if !Aabb::of_region(region).meets(*within) {
                return;
            }
            let masks = record.block(bit);
            for (tag, colour) in [(masks.all_solid, ALL_SOLID), (masks.all_liquid, ALL_LIQUID)] {
                if tag {
                    lines.aabb(Aabb::of_region(region), colour);
                }
            }
            for (mask, colour) in [(masks.solid, SOLID), (masks.wet, WET)] {
                if let Some(mask) = mask {
                    runs(block, mask, |run| lines.aabb(Aabb::of_region(run), colour));
                }
            }
        });
    });
}

/// Calls `each` for each run of set cells along X.
fn runs(block: CollisionBlock, mask: &BlockMask, mut each: impl FnMut(Region)) {
    for (y, slice) in mask.iter().enumerate() {
        for z in 0..8 {
            let mut row = (slice >> (8 * z) & 255) as u32;
            while row != 0 {
                let from = row.trailing_zeros();
                let to = from + (row >> from).trailing_ones();
                row &= u32::MAX << to;
                let corner = |x: u32| VoxelPos::new(x as i32, y as i32, z);
                let min = block.min_voxel() + corner(from);
                let last = block.min_voxel() + corner(to - 1);
                each(Region { min, max: last + VoxelPos::splat(1) });
            }
        }
    }
}
