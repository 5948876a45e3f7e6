//! Keys: the position and mip of a block of 32³ cells, as bytes in Morton order.
//!
//! A key is a mip byte and the block's position as a Morton number of 78 bits, high
//! byte first. In this order an aligned cube with an edge of 2ⁿ blocks is one range: a page of
//! chunks is 512 consecutive keys, and any region of blocks is a few ranges.
//!
//! Source: G. M. Morton, "A computer oriented geodetic data base" (1966).

use std::ops::RangeInclusive;
use terravox::voxel::{ChunkPos, MipBlock, PagePos, Region, VoxelPos};

/// Table of blocks of 32³ cells: keys are this byte and a [`BlockKey`].
pub(crate) const CELLS: u8 = 2;

/// Table of extra data: keys are this byte and a name.
pub(crate) const EXTRA: u8 = 1;

/// Table of channels: keys are this byte, the Morton number of a chunk and the number of the channel.
pub(crate) const CHANNELS: u8 = 4;

/// Bytes of a [`BlockKey`].
pub(crate) const KEY_BYTES: usize = 11;

/// Key bytes as the tables hold them.
pub(crate) type KeyBytes = [u8; KEY_BYTES];

/// Bits of a block coordinate: chunks lie in −2²⁵..2²⁵, coarser blocks in less.
const AXIS_BITS: u32 = 26;
const BIAS: i32 = 1 << (AXIS_BITS - 1);

/// Cubes of 8³ blocks are not split into smaller ranges.
const SMALLEST_CUBE_LOG2: u32 = 3;

/// Regions that would need more ranges get fewer, larger ones.
const MAX_RANGES: usize = 1024;

/// A block of 32³ cells of one mip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockKey {
    /// The mip of the cells, 0 to 8.
    pub mip: u8,
    /// Position in blocks: cell p of that mip lies in block p >> 5. At mip 0 this is the
    /// chunk's position.
    pub pos: VoxelPos,
}

impl From<MipBlock> for BlockKey {
    fn from(MipBlock { mip, pos }: MipBlock) -> BlockKey {
        BlockKey { mip, pos }
    }
}

impl From<BlockKey> for MipBlock {
    fn from(BlockKey { mip, pos }: BlockKey) -> MipBlock {
        MipBlock { mip, pos }
    }
}

impl BlockKey {
    /// The key of a chunk: its block at mip 0.
    pub fn chunk(chunk: ChunkPos) -> BlockKey {
        BlockKey { mip: 0, pos: VoxelPos::new(chunk.x, chunk.y, chunk.z) }
    }

    /// The chunk of a block at mip 0.
    pub(crate) fn as_chunk(self) -> ChunkPos {
        ChunkPos::new(self.pos.x, self.pos.y, self.pos.z)
    }

    /// The block of mip `mip` that covers the chunk `chunk`.
    pub(crate) fn over(chunk: ChunkPos, mip: u8) -> BlockKey {
        BlockKey::chunk(chunk).coarser(mip)
    }

    /// The block of the coarser mip `mip` that covers this one.
    pub(crate) fn coarser(self, mip: u8) -> BlockKey {
        BlockKey { mip, pos: self.pos.coarser(u32::from(mip - self.mip)) }
    }

    /// The cells of the block, in cells of its mip.
    pub fn region(self) -> Region {
        Region::one(self.pos).finer(5)
    }

    pub(crate) fn bytes(self) -> KeyBytes {
        key_bytes(self.mip, morton(self.pos))
    }

    /// The block of a key; `None` if the key is invalid.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<BlockKey> {
        let (&mip, number) = bytes.split_first()?;
        let number: &[u8; KEY_BYTES - 1] = number.try_into().ok()?;
        let mut wide = [0; 16];
        wide[6..].copy_from_slice(number);
        let number = u128::from_be_bytes(wide);
        let fits = number >> (3 * AXIS_BITS) == 0;
        (fits && mip <= terravox::voxel::MAX_MIP)
            .then(|| BlockKey { mip, pos: position_of(number) })
    }

    /// Whether all voxels that the block covers lie within the limits of a grid.
    pub(crate) fn within_limits(self) -> bool {
        let limit = BIAS >> self.mip;
        self.pos.to_array().iter().all(|v| (-limit..limit).contains(v))
    }
}

/// Key of a page in the table of listed chunks: its Morton number.
pub(crate) fn page_bytes(page: PagePos) -> [u8; KEY_BYTES - 1] {
    let mut bytes = [0; KEY_BYTES - 1];
    bytes.copy_from_slice(&key_bytes(0, morton(VoxelPos::new(page.x, page.y, page.z)))[1..]);
    bytes
}

/// The page of a key of that table; `None` if the key is invalid.
pub(crate) fn page_from_bytes(bytes: &[u8; KEY_BYTES - 1]) -> Option<PagePos> {
    let mut key = [0; KEY_BYTES];
    key[1..].copy_from_slice(bytes);
    let pos = BlockKey::from_bytes(&key)?.pos;
    let page = PagePos::new(pos.x, pos.y, pos.z);
    page.within_limits().then_some(page)
}

/// Sorted key ranges that cover all blocks of mip `mip` in `blocks` (in blocks). They may cover
/// others, too; readers filter them.
pub(crate) fn ranges(mip: u8, blocks: Region) -> Vec<RangeInclusive<KeyBytes>> {
    let limit = Region::new([-BIAS; 3], [BIAS; 3]);
    let blocks = blocks.intersect(limit);
    if blocks.is_empty() {
        return Vec::new();
    }
    let mut cubes = vec![BlockCube { origin: limit.min, log2: AXIS_BITS }];
    for log2 in (SMALLEST_CUBE_LOG2 + 1..=AXIS_BITS).rev() {
        let split = split_partial(&cubes, log2, blocks);
        if split.len() > MAX_RANGES {
            break;
        }
        cubes = split;
    }
    let mut ranges: Vec<(u128, u128)> = Vec::new();
    for cube in cubes {
        let first = morton(cube.origin);
        let last = first + ((1 << (3 * cube.log2)) - 1);
        match ranges.last_mut() {
            Some(range) if range.1 + 1 == first => range.1 = last,
            _ => ranges.push((first, last)),
        }
    }
    ranges.into_iter().map(|(a, b)| key_bytes(mip, a)..=key_bytes(mip, b)).collect()
}

/// An aligned cube of blocks.
#[derive(Clone, Copy)]
struct BlockCube {
    origin: VoxelPos,
    log2: u32,
}

impl BlockCube {
    fn region(self) -> Region {
        // The largest cube ends at 2²⁵, so nothing overflows.
        Region { min: self.origin, max: self.origin + VoxelPos::splat(1 << self.log2) }
    }
}

/// Splits the cubes of edge `1 << log2` that lie partly in `blocks`, in Morton order, and drops
/// cubes outside.
fn split_partial(cubes: &[BlockCube], log2: u32, blocks: Region) -> Vec<BlockCube> {
    let mut out = Vec::new();
    for &cube in cubes {
        if cube.log2 != log2 || blocks.contains_region(cube.region()) {
            out.push(cube);
            continue;
        }
        let half = 1 << (log2 - 1);
        for i in 0..8 {
            let offset = VoxelPos::new(i & 1, i >> 2, i >> 1 & 1);
            let origin =
                cube.origin + VoxelPos::new(offset.x * half, offset.y * half, offset.z * half);
            let child = BlockCube { origin, log2: log2 - 1 };
            if !child.region().intersect(blocks).is_empty() {
                out.push(child);
            }
        }
    }
    out
}

fn key_bytes(mip: u8, number: u128) -> KeyBytes {
    let mut bytes = [0; KEY_BYTES];
    bytes[0] = mip;
    bytes[1..].copy_from_slice(&number.to_be_bytes()[6..]);
    bytes
}

/// Biased coordinates with their bits interleaved: x lowest, then z, then y.
fn morton(pos: VoxelPos) -> u128 {
    let spread = |v: i32| spread_bits((v.wrapping_add(BIAS)) as u32);
    spread(pos.x) | spread(pos.z) << 1 | spread(pos.y) << 2
}

fn position_of(number: u128) -> VoxelPos {
    let axis = |shift: u32| (gather_bits(number >> shift) as i32).wrapping_sub(BIAS);
    VoxelPos::new(axis(0), axis(2), axis(1))
}

/// Bit i of the low 26 bits goes to bit 3 i.
fn spread_bits(v: u32) -> u128 {
    (0..AXIS_BITS).fold(0, |out, i| out | u128::from(v >> i & 1) << (3 * i))
}

/// Bit 3 i goes to bit i, for 26 bits.
fn gather_bits(v: u128) -> u32 {
    (0..AXIS_BITS).fold(0, |out, i| out | ((v >> (3 * i)) as u32 & 1) << i)
}

/// Sort key that puts chunks in the order of their [`BlockKey`]s.
pub(crate) fn chunk_order(chunk: ChunkPos) -> u128 {
    morton(VoxelPos::new(chunk.x, chunk.y, chunk.z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_of_keys_are_fixed() {
        let key = |mip, pos: [i32; 3]| BlockKey { mip, pos: pos.into() }.bytes();
        assert_eq!(key(0, [0; 3]), [0, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(key(0, [1, 0, 0]), [0, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(key(2, [0, 0, 1]), [2, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(key(8, [0, 1, 0]), [8, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 4]);
        assert_eq!(
            key(1, [-1, 0, 0]),
            [1, 0x31, 0x24, 0x92, 0x49, 0x24, 0x92, 0x49, 0x24, 0x92, 0x49]
        );
        assert_eq!(key(0, [-BIAS; 3]), [0; 11]);
        assert_eq!(BlockKey::from_bytes(&[9; 11]), None);
        assert_eq!(BlockKey::from_bytes(&[0xff; 11]), None);
        assert_eq!(BlockKey::from_bytes(&[0; 10]), None);
    }

    #[test]
    fn a_page_of_chunks_is_one_range_and_a_world_few() {
        let page = Region::new([-8, 0, 16], [0, 8, 24]);
        assert_eq!(ranges(0, page).len(), 1);
        assert!(ranges(0, Region::new([-17, -3, -24], [16, 3, 18])).len() <= 60);
        let all = Region::new([i32::MIN; 3], [i32::MAX; 3]);
        assert_eq!(ranges(3, all).len(), 1);
        let slab = Region::new([-BIAS, 5, -BIAS], [BIAS, 6, BIAS]);
        assert!(ranges(0, slab).len() <= MAX_RANGES);
        assert!(ranges(0, Region::default()).is_empty());
    }

    proptest! {
        #[test]
        fn keys_come_back(x in -BIAS..BIAS, y in -BIAS..BIAS, z in -BIAS..BIAS, mip in 0..=8u8) {
            let key = BlockKey { mip, pos: VoxelPos::new(x, y, z) };
            prop_assert_eq!(BlockKey::from_bytes(&key.bytes()), Some(key));
            let page = PagePos::new(x >> 3, y >> 3, z >> 3);
            prop_assert_eq!(page_from_bytes(&page_bytes(page)), Some(page));
        }

        #[test]
        fn ranges_hold_every_block_of_a_region_and_few_others(
            min in proptest::array::uniform3(-40..40i32),
            size in proptest::array::uniform3(1..20i32),
        ) {
            let max = [min[0] + size[0], min[1] + size[1], min[2] + size[2]];
            let region = Region::new(min, max);
            let ranges = ranges(4, region);
            prop_assert!(ranges.windows(2).all(|w| w[0].end() < w[1].start()));
            let held = |pos| {
                let bytes = BlockKey { mip: 4, pos }.bytes();
                ranges.iter().any(|range| range.contains(&bytes))
            };
            prop_assert!(region.voxels().all(held));
            let around = region.coarser(3).finer(3);
            let outside = around.grow(2).voxels().filter(|&p| !around.contains(p));
            prop_assert!(outside.into_iter().all(|pos| !held(pos)));
        }
    }
}
