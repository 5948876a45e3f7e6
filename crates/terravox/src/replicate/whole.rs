//! Whole blocks as guests are sent them, kept for the next guest: reading, comparing and encoding a
//! block is most of a host's work, and guests who meet see the same blocks.

use super::message::Under;
use crate::voxel::{MipBlock, Region};
use rustc_hash::FxHashMap;

/// Most bytes that are kept; beyond, all are dropped.
const MAX_BYTES: usize = 8 << 20;

/// What guests are sent of a block.
pub(super) struct WholeBlock {
    /// Digest of its cells.
    pub digest: u64,
    /// `None` if it is as the guest makes it.
    pub cells: Option<WholeCells>,
}

/// The cells of a block that a guest does not make itself.
pub(super) struct WholeCells {
    pub under: Under,
    pub region: Region,
    pub code: Vec<u8>,
}

/// A block, and whether it is for guests that make the ground.
type WholeKey = (MipBlock, bool);

/// Blocks that were encoded and did not change since.
#[derive(Default)]
pub(super) struct WholeBlocks {
    blocks: FxHashMap<WholeKey, WholeBlock>,
    bytes: usize,
}

impl WholeBlock {
    fn bytes(&self) -> usize {
        let code = self.cells.as_ref().map_or(0, |cells| cells.code.capacity());
        code + 2 * size_of::<(WholeKey, WholeBlock)>()
    }
}

impl WholeBlocks {
    pub fn get(&self, key: WholeKey) -> Option<&WholeBlock> {
        self.blocks.get(&key)
    }

    pub fn insert(&mut self, key: WholeKey, block: WholeBlock) {
        if self.bytes > MAX_BYTES {
            *self = WholeBlocks::default();
        }
        self.bytes += block.bytes();
        if let Some(old) = self.blocks.insert(key, block) {
            self.bytes -= old.bytes();
        }
    }

    /// Forgets the blocks of all mips over a region, in voxels, that changed.
    pub fn forget(&mut self, region: Region, max_mip: u8) {
        for mip in 0..=max_mip {
            for pos in region.coarser(5 + u32::from(mip)).voxels() {
                for makes_ground in [false, true] {
                    let removed = self.blocks.remove(&(MipBlock { mip, pos }, makes_ground));
                    self.bytes -= removed.map_or(0, |old| old.bytes());
                }
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
    use crate::voxel::VoxelPos;

    #[test]
    fn a_change_forgets_the_blocks_over_it_at_every_mip_and_no_others() {
        let mut whole = WholeBlocks::default();
        let block = || WholeBlock { digest: 7, cells: None };
        let at = |mip: u8, x: i32| MipBlock { mip, pos: VoxelPos::new(x, -1, 0) };
        for mip in 0..=4 {
            for x in -2..2 {
                whole.insert((at(mip, x), false), block());
                whole.insert((at(mip, x), true), block());
            }
        }
        // The chunk left of the origin, and the one right of it.
        whole.forget(Region::new([-3, -3, 5], [2, -1, 6]), 4);
        for mip in 0..=4 {
            for makes_ground in [false, true] {
                let is_kept = |x| whole.get((at(mip, x), makes_ground)).is_some();
                assert_eq!([-2, -1, 0, 1].map(is_kept), [true, false, false, true], "mip {mip}");
            }
        }
        whole.forget(Region::new([-4096, -32, 0], [4096, 0, 32]), 4);
        assert_eq!(whole.memory(), 0);
    }
}
