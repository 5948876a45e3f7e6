//! A cache of encoded blocks, shared by all guests: reading, comparing and encoding a block is most
//! of a host's work, and guests who meet see the same blocks.

use super::delta::{block_digest, difference, mark_equal, part_of};
use super::family::FamilyChild;
use super::truth::HostWorld;
use crate::codec::{BitRle, Refinement};
use crate::terrain::FillRequest;
use crate::voxel::{AIR, DenseBox, MipBlock, Region, VoxelPos};
use rustc_hash::FxHashMap;

/// The cache is emptied when it holds more bytes. What is wanted again costs one encoding, as
/// without a cache, so what is dropped first does not matter much.
const MAX_BYTES: usize = 8 << 20;

/// Bytes of the box that runs fill, less those of a check.
const REGION_BYTES: usize = 5;

/// What guests are sent of a block.
pub(super) struct EncodedBlock {
    /// Digest of its cells.
    pub digest: u64,
    /// Its cells, or that it is as the guest makes it.
    pub child: FamilyChild,
}

/// A block, and whether it is for guests that make the ground.
type EncodedKey = (MipBlock, bool);

/// Blocks that were encoded and have not changed since.
#[derive(Default)]
pub(super) struct EncodedBlocks {
    blocks: FxHashMap<EncodedKey, EncodedBlock>,
    bytes: usize,
}

impl EncodedBlock {
    /// Encodes the cells of a block, which are used up; `under` is scratch space. `coarser` has
    /// those of the block over it, if the guest has that.
    pub fn new(
        world: &HostWorld<'_>,
        (block, makes_ground): EncodedKey,
        cells: &mut DenseBox,
        coarser: Option<&DenseBox>,
        under: &mut DenseBox,
    ) -> EncodedBlock {
        let kinds = world.grid.materials().kinds();
        let digest = block_digest(cells, kinds);
        let refined = coarser.map(|coarser| {
            let mut code = Vec::new();
            Refinement { kinds }.encode_box(cells, coarser, &mut code);
            code.shrink_to_fit();
            FamilyChild::Refined { check: digest as u16, code }
        });
        if makes_ground {
            let fill = |request: &mut FillRequest<'_>| (world.generated)(request);
            FillRequest::fill_block(under, block, world.placement, fill);
        } else {
            under.reset(block.cells());
        }
        let child = match (difference(under, cells), refined) {
            (None, _) => FamilyChild::Ground,
            (Some(region), refined) => {
                let marker = mark_equal(under, cells, region);
                let mut code = Vec::new();
                BitRle { kinds }.encode_box(&part_of(cells, region), &mut code);
                code.shrink_to_fit();
                match refined {
                    Some(refined) if refined.code_bytes() < code.len() + REGION_BYTES => refined,
                    _ => FamilyChild::Made { marker, region, code },
                }
            }
        };
        EncodedBlock { digest, child }
    }

    /// A block of air.
    pub fn air(world: &HostWorld<'_>, block: MipBlock) -> EncodedBlock {
        let cells = DenseBox::new(block.cells());
        let digest = block_digest(&cells, world.grid.materials().kinds());
        EncodedBlock { digest, child: FamilyChild::Ground }
    }

    fn bytes(&self) -> usize {
        self.child.code_bytes() + 2 * size_of::<(EncodedKey, EncodedBlock)>()
    }
}

/// Whether all cells of a region of a box are air.
pub(super) fn is_air_in(cells: &DenseBox, region: Region) -> bool {
    let Region { min, max } = region;
    (min.y..max.y).all(|y| {
        (min.z..max.z).all(|z| {
            let from = cells.index(VoxelPos::new(min.x, y, z));
            let row = &cells.materials()[from..from + region.size()[0]];
            row.iter().all(|&material| material == AIR)
        })
    })
}

impl EncodedBlocks {
    pub fn get(&self, key: EncodedKey) -> Option<&EncodedBlock> {
        self.blocks.get(&key)
    }

    pub fn insert(&mut self, key: EncodedKey, block: EncodedBlock) {
        if self.bytes > MAX_BYTES {
            *self = EncodedBlocks::default();
        }
        self.bytes += block.bytes();
        if let Some(old) = self.blocks.insert(key, block) {
            self.bytes -= old.bytes();
        }
    }

    /// Drops a block, and those of the mip below it: their codes may tell the difference to it.
    pub fn forget_block(&mut self, block: MipBlock) {
        let below = if block.mip > 0 { &block.children()[..] } else { &[] };
        below.iter().chain([&block]).for_each(|&block| self.remove(block));
    }

    fn remove(&mut self, block: MipBlock) {
        for makes_ground in [false, true] {
            let removed = self.blocks.remove(&(block, makes_ground));
            self.bytes -= removed.map_or(0, |old| old.bytes());
        }
    }

    /// Drops every block, at all mips, that overlaps a region, in voxels, or lies beside one that
    /// does below the same one: its code may tell the difference to cells over that.
    pub fn forget(&mut self, region: Region, max_mip: u8) {
        for mip in 0..=max_mip {
            for pos in region.coarser(6 + u32::from(mip)).finer(1).voxels() {
                self.remove(MipBlock { mip, pos });
            }
        }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_forgets_the_blocks_over_it_at_every_mip_and_no_others() {
        let mut cache = EncodedBlocks::default();
        let block = || EncodedBlock { digest: 7, child: FamilyChild::Ground };
        let at = |mip: u8, x: i32| MipBlock { mip, pos: VoxelPos::new(x, -1, 0) };
        for mip in 0..=4 {
            for x in -3..3 {
                cache.insert((at(mip, x), false), block());
                cache.insert((at(mip, x), true), block());
            }
        }
        // The chunk left of the origin, and the one right of it.
        cache.forget(Region::new([-3, -3, 5], [2, -1, 6]), 4);
        for mip in 0..=4 {
            for makes_ground in [false, true] {
                let is_kept = |x| cache.get((at(mip, x), makes_ground)).is_some();
                assert_eq!(
                    [-3, -2, -1, 0, 1, 2].map(is_kept),
                    [true, false, false, false, false, true]
                );
            }
        }
        cache.forget(Region::new([-4096, -32, 0], [4096, 0, 32]), 4);
        assert_eq!(cache.memory(), 0);
    }
}
