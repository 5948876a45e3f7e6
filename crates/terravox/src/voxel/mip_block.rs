//! A block of 32³ cells of any mip: what is kept, meshed and shown of far terrain.

use super::position::{BlockPos, ChunkPos, Region, VoxelPos};
use std::fmt;

/// 32³ cells of mip [`mip`](MipBlock::mip), which cover `32 << mip` voxels an edge. At
/// mip 0 it is a chunk.
///
/// ```
/// use terravox::voxel::{MipBlock, Region};
///
/// let block = MipBlock::new(3, [-1, 0, 2]);
/// assert_eq!(block.cells(), Region::new([-32, 0, 64], [0, 32, 96]));
/// assert_eq!(block.voxels(), Region::new([-256, 0, 512], [0, 256, 768]));
/// assert_eq!(block.parent(), MipBlock::new(4, [-1, 0, 1]));
/// assert!(block.parent().children().contains(&block));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MipBlock {
    /// The mip of the cells.
    pub mip: u8,
    /// Position in blocks: cell `p` of that mip lies in block `p >> 5`.
    pub pos: VoxelPos,
}

impl MipBlock {
    /// Cells along an edge.
    pub const EDGE: i32 = 32;

    /// The block at a position in blocks of that mip.
    pub fn new(mip: u8, pos: impl Into<VoxelPos>) -> MipBlock {
        MipBlock { mip, pos: pos.into() }
    }

    /// The block of mip `mip` that holds a voxel.
    pub const fn holding(voxel: VoxelPos, mip: u8) -> MipBlock {
        MipBlock { mip, pos: voxel.coarser(5 + mip as u32) }
    }

    /// The cells of the block, in cells of its mip.
    pub fn cells(self) -> Region {
        Region::one(self.pos).finer(5)
    }

    /// The voxels that it covers.
    pub fn voxels(self) -> Region {
        Region::one(self.pos).finer(5 + u32::from(self.mip))
    }

    /// Whether every voxel that it covers lies within [`LIMIT`](super::LIMIT).
    pub fn within_limits(self) -> bool {
        let limit = super::LIMIT >> (5 + u32::from(self.mip)).min(31);
        self.pos.to_array().iter().all(|v| (-limit..limit).contains(v))
    }

    /// Voxels along an edge.
    pub const fn edge_voxels(self) -> i32 {
        MipBlock::EDGE << self.mip
    }

    /// The block of the next mip that covers this one.
    pub const fn parent(self) -> MipBlock {
        MipBlock { mip: self.mip + 1, pos: self.pos.coarser(1) }
    }

    /// The block of mip `mip`, no finer than this one's, that covers it.
    ///
    /// # Panics
    /// If `mip` is finer.
    pub fn over(self, mip: u8) -> MipBlock {
        MipBlock { mip, pos: self.pos.coarser(u32::from(mip - self.mip)) }
    }

    /// The eight blocks of the mip below, x fastest, then z, then y.
    ///
    /// # Panics
    /// If the block is of mip 0.
    pub fn children(self) -> [MipBlock; 8] {
        let mip = self.mip - 1;
        std::array::from_fn(|i| {
            let [x, z, y] = [0, 1, 2].map(|bit| (i >> bit & 1) as i32);
            let VoxelPos { x: px, y: py, z: pz } = self.pos;
            MipBlock { mip, pos: VoxelPos::new(2 * px + x, 2 * py + y, 2 * pz + z) }
        })
    }
}

impl From<ChunkPos> for MipBlock {
    fn from(chunk: ChunkPos) -> MipBlock {
        let BlockPos { x, y, z } = chunk;
        MipBlock { mip: 0, pos: VoxelPos::new(x, y, z) }
    }
}

impl fmt::Display for MipBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at mip {}", self.pos, self.mip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_voxels() {
        for mip in [0, 1, 5, 12, 25] {
            let edge = super::super::LIMIT >> (5 + u32::from(mip));
            assert!(MipBlock::new(mip, [-edge, 0, edge - 1]).within_limits());
            assert!(MipBlock::new(mip, [-edge, 0, edge - 1]).voxels().within_limits());
            assert!(!MipBlock::new(mip, [0, edge, 0]).within_limits());
            assert!(!MipBlock::new(mip, [0, -edge - 1, 0]).within_limits());
        }
        assert!(!MipBlock::new(26, [0; 3]).within_limits(), "larger than the world");
    }
}
