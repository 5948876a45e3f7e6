//! The record of a chunk in the broadphase: words of tags over its 4³ blocks, and the masks
//! of the blocks that have any, by rank.

use crate::bits::{BLOCK_LOG2, BlockMask, CollisionBlock, for_bits};
use crate::collide::query::Surfaces;
use crate::collide::slots::Slots;
use crate::voxel::ChunkPos;

/// The masks and tags of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockMasks<'a> {
    /// Solid cells that have a face neighbour that is not solid.
    pub solid: Option<&'a BlockMask>,
    /// Liquid cells, solid cells that hold water, and near water solid cells with air above, over
    /// which a shore may carry it; `None` if all cells are liquid.
    pub wet: Option<&'a BlockMask>,
    /// Whether all cells are solid.
    pub all_solid: bool,
    /// Whether all cells are liquid.
    pub all_liquid: bool,
    /// Whether one of the wet cells has air beside it.
    pub shows_liquid: bool,
    /// Whether the cells are not held at mip 0; then all other fields are empty.
    pub unknown: bool,
}

/// A bit a block of a chunk: x + 4 z + 16 y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockWords {
    /// Blocks that own a solid face: those with a solid mask.
    pub solid: u64,
    /// Blocks that own a liquid face.
    pub liquid: u64,
    /// Blocks with a wet mask: cells with water, and solid cells to which a shore may carry it.
    pub wet: u64,
    /// Blocks whose cells are all solid.
    pub all_solid: u64,
    /// Blocks whose cells are all liquid; they have no wet mask.
    pub all_liquid: u64,
}

impl BlockWords {
    /// Blocks that own a face.
    #[inline]
    pub fn presence(self) -> u64 {
        self.solid | self.liquid
    }

    /// Whether some block has faces or masks, so that the chunk needs a record.
    pub fn need_record(self) -> bool {
        self.solid | self.liquid | self.wet != 0 || !self.is_simple()
    }

    /// Whether all blocks have the same tag, or none has any.
    fn is_simple(self) -> bool {
        matches!((self.all_solid, self.all_liquid), (0, 0) | (u64::MAX, 0) | (0, u64::MAX))
    }

    /// Bits of `self` where `blocks` has a bit, else of `other`.
    fn or_else(self, blocks: u64, other: BlockWords) -> BlockWords {
        let pick = |a: u64, b: u64| a & blocks | b & !blocks;
        BlockWords {
            solid: pick(self.solid, other.solid),
            liquid: pick(self.liquid, other.liquid),
            wet: pick(self.wet, other.wet),
            all_solid: pick(self.all_solid, other.all_solid),
            all_liquid: pick(self.all_liquid, other.all_liquid),
        }
    }
}

/// The record of a chunk that has a surface or mixed blocks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChunkBlocks {
    pub words: BlockWords,
    /// Solid masks by rank in `words.solid`, then wet ones by rank in `words.wet`.
    masks: Box<[BlockMask]>,
    /// Ranks in `words.solid`: baseline x86-64 has no popcount, and every box needs them.
    ranks: [u8; 64],
    /// What the collider has built of the blocks with faces.
    pub slots: Slots,
}

/// New words and masks of some blocks of a chunk.
pub(super) struct ChunkUpdate<'a> {
    /// The blocks that were updated.
    pub blocks: u64,
    pub words: BlockWords,
    pub solid: &'a [BlockMask; 64],
    pub wet: &'a [BlockMask; 64],
    /// Whether water is near enough for a shore to carry it into the chunk.
    pub is_near_water: bool,
}

/// The bit of a block in its chunk's words.
#[inline(always)]
pub(crate) fn block_bit(block: CollisionBlock) -> u32 {
    (block.x & 3 | (block.z & 3) << 2 | (block.y & 3) << 4) as u32
}

/// The block of a bit.
#[inline(always)]
pub(crate) fn block_of_bit(chunk: ChunkPos, bit: u32) -> CollisionBlock {
    let bit = bit as i32;
    let edge = 5 - BLOCK_LOG2;
    CollisionBlock::new(
        (chunk.x << edge) + (bit & 3),
        (chunk.y << edge) + (bit >> 4),
        (chunk.z << edge) + (bit >> 2 & 3),
    )
}

/// Number of set bits of `word` below `bit`.
#[inline(always)]
fn rank(word: u64, bit: u32) -> usize {
    (word & ((1 << bit) - 1)).count_ones() as usize
}

impl ChunkBlocks {
    /// A record without masks.
    pub(super) fn simple(words: BlockWords) -> ChunkBlocks {
        debug_assert!(words.solid | words.wet == 0);
        let slots = Slots::default();
        ChunkBlocks { words, masks: Box::default(), ranks: [0; 64], slots }
    }

    /// Replaces the blocks of an update; the others stay as they are. The only place where a
    /// record is made from another.
    pub(super) fn updated(self, update: &ChunkUpdate<'_>) -> ChunkBlocks {
        let words = update.words.or_else(update.blocks, self.words);
        let count = words.solid.count_ones() + words.wet.count_ones();
        let mut masks = Vec::with_capacity(count as usize);
        let mut push = |word: u64, new: &[BlockMask; 64], old: &[BlockMask], old_word: u64| {
            for_bits(word, |bit| {
                let fresh = update.blocks >> bit & 1 != 0;
                masks.push(if fresh { new[bit as usize] } else { old[rank(old_word, bit)] });
            });
        };
        push(words.solid, update.solid, &self.masks, self.words.solid);
        push(words.wet, update.wet, self.wet_masks(), self.words.wet);
        let (mut ranks, mut next) = ([0; 64], 0);
        for (bit, rank) in ranks.iter_mut().enumerate() {
            *rank = next;
            next += (words.solid >> bit & 1) as u8;
        }
        let slots = self.slots.carry(self.words.presence(), words.presence());
        ChunkBlocks { words, masks: masks.into_boxed_slice(), ranks, slots }
    }

    fn wet_masks(&self) -> &[BlockMask] {
        &self.masks[self.words.solid.count_ones() as usize..]
    }

    /// Bit per block that owns a face.
    #[inline]
    pub fn presence(&self) -> u64 {
        self.words.presence()
    }

    /// Bit per block that owns a face of `surfaces`.
    #[inline]
    pub fn showing(&self, surfaces: Surfaces) -> u64 {
        let solid = if surfaces.solid() { self.words.solid } else { 0 };
        let liquid = if surfaces.liquid() { self.words.liquid } else { 0 };
        solid | liquid
    }

    /// Whether the block of a bit owns faces of `surfaces`.
    #[inline]
    pub fn shows(&self, bit: u32, surfaces: Surfaces) -> bool {
        self.showing(surfaces) >> bit & 1 != 0
    }

    /// Rank of the block of a bit among the blocks with faces, and their number.
    #[inline]
    pub fn slot(&self, bit: u32) -> (usize, usize) {
        (rank(self.presence(), bit), self.presence().count_ones() as usize)
    }

    /// The solid mask of the block of a bit, which must have one.
    #[inline(always)]
    pub fn solid_mask(&self, bit: u32) -> &BlockMask {
        &self.masks[usize::from(self.ranks[bit as usize])]
    }

    /// The wet mask of the block of a bit, which must have one.
    #[inline(always)]
    pub fn wet_mask(&self, bit: u32) -> &BlockMask {
        let solid = self.words.solid.count_ones() as usize;
        &self.masks[solid + rank(self.words.wet, bit)]
    }

    /// Masks and tags of the block of a bit.
    pub fn block(&self, bit: u32) -> BlockMasks<'_> {
        let has = |word: u64| word >> bit & 1 != 0;
        BlockMasks {
            solid: has(self.words.solid).then(|| self.solid_mask(bit)),
            wet: has(self.words.wet).then(|| self.wet_mask(bit)),
            all_solid: has(self.words.all_solid),
            all_liquid: has(self.words.all_liquid),
            shows_liquid: has(self.words.liquid),
            unknown: false,
        }
    }

    /// Number of masks.
    pub fn mask_count(&self) -> usize {
        self.masks.len()
    }

    /// Bytes outside the record itself.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.masks) + self.slots.bytes()
    }
}
