//! A page of the broadphase: bits over its 8³ chunks, and their records.

use crate::voxel::{ChunkPos, PAGE_EDGE, PagePos, Snapshot, UnlistedChunks};

use super::chunk::{BlockWords, ChunkBlocks, ChunkUpdate};

/// Bits over the chunks of a page: bit x + 8 z of word y.
pub(crate) type ChunkBits = [u64; 8];

/// `index` of a chunk without a record.
const NONE: u16 = u16::MAX;

/// The chunks of a page.
#[derive(Debug)]
pub(crate) struct PageBlocks {
    /// Chunks with a record.
    pub stored: ChunkBits,
    /// Chunks that are all solid and own no face.
    pub all_solid: ChunkBits,
    /// Chunks that are all liquid and own no face.
    pub all_liquid: ChunkBits,
    /// Chunks that are not held at mip 0, or unlisted in a world where those are unknown.
    pub unknown: ChunkBits,
    /// Chunks with a record whose masks were made as near water.
    near_water: ChunkBits,
    /// Chunks that a ray must visit, by group of 4³ chunks, x + 2 z + 4 y: those with faces,
    /// and unknown ones. A bit a chunk, x + 4 z + 16 y.
    groups: [u64; 8],
    /// By chunk, x + 8 z + 64 y: index of its record.
    index: [u16; 512],
    /// In arbitrary order.
    records: Vec<ChunkBlocks>,
}

/// Word and bit of a chunk.
#[inline(always)]
fn place(chunk: ChunkPos) -> (usize, u32) {
    let local = |v: i32| (v & (PAGE_EDGE - 1)) as u32;
    (local(chunk.y) as usize, local(chunk.x) + 8 * local(chunk.z))
}

/// The chunk of a word and bit.
#[inline(always)]
pub(crate) fn chunk_of_bit(page: PagePos, word: usize, bit: u32) -> ChunkPos {
    let bit = bit as i32;
    ChunkPos::new(page.x * 8 + (bit & 7), page.y * 8 + word as i32, page.z * 8 + (bit >> 3))
}

fn set(bits: &mut ChunkBits, (word, bit): (usize, u32), value: bool) {
    bits[word] = bits[word] & !(1 << bit) | u64::from(value) << bit;
}

/// A word of `unknown` of a page without listed chunks.
fn unknown_word(unlisted: UnlistedChunks) -> u64 {
    match unlisted {
        UnlistedChunks::Air => 0,
        UnlistedChunks::Unknown => u64::MAX,
    }
}

impl PageBlocks {
    /// A page without listed chunks.
    pub(super) fn new(snapshot: &Snapshot) -> PageBlocks {
        let unknown = unknown_word(snapshot.unlisted());
        PageBlocks {
            stored: [0; 8],
            all_solid: [0; 8],
            all_liquid: [0; 8],
            unknown: [unknown; 8],
            near_water: [0; 8],
            groups: [unknown; 8],
            index: [NONE; 512],
            records: Vec::new(),
        }
    }

    /// The record of a chunk; `None` if it has no surface and is all of one kind.
    #[inline(always)]
    pub fn chunk(&self, chunk: ChunkPos) -> Option<&ChunkBlocks> {
        let (word, bit) = place(chunk);
        self.record(word, bit)
    }

    /// The groups of 4³ chunks with a chunk that a ray must visit: a bit each, x + 2 z + 4 y.
    #[inline]
    pub fn chunk_groups(&self) -> u64 {
        (0..8).fold(0, |bits, group| bits | u64::from(self.groups[group] != 0) << group)
    }

    /// The chunks of a group that a ray must visit: a bit each, x + 4 z + 16 y.
    #[inline]
    pub fn chunk_group(&self, group: u32) -> u64 {
        self.groups[group as usize & 7]
    }

    /// As [`PageBlocks::chunk`], by word and bit.
    #[inline(always)]
    pub fn record(&self, word: usize, bit: u32) -> Option<&ChunkBlocks> {
        self.records.get(usize::from(self.index[64 * word + bit as usize]))
    }

    /// As [`PageBlocks::chunk`], mutable.
    pub fn chunk_mut(&mut self, chunk: ChunkPos) -> Option<&mut ChunkBlocks> {
        let (word, bit) = place(chunk);
        self.records.get_mut(usize::from(self.index[64 * word + bit as usize]))
    }

    /// The records, in arbitrary order.
    pub fn records(&self) -> &[ChunkBlocks] {
        &self.records
    }

    /// The tags of a chunk, whether it has a record or not.
    pub fn words(&self, chunk: ChunkPos) -> BlockWords {
        let (word, bit) = place(chunk);
        if let Some(record) = self.record(word, bit) {
            return record.words;
        }
        let all = |bits: &ChunkBits| (bits[word] >> bit & 1).wrapping_neg();
        BlockWords {
            all_solid: all(&self.all_solid),
            all_liquid: all(&self.all_liquid),
            ..BlockWords::default()
        }
    }

    /// Whether a chunk is not held at mip 0.
    pub fn is_unknown(&self, chunk: ChunkPos) -> bool {
        let (word, bit) = place(chunk);
        self.unknown[word] >> bit & 1 != 0
    }

    /// Whether the masks of a chunk were made as near water.
    pub fn is_near_water(&self, chunk: ChunkPos) -> bool {
        let (word, bit) = place(chunk);
        self.near_water[word] >> bit & 1 != 0
    }

    /// Replaces the record of a chunk by that of an update, and drops masks and blocks that changed;
    /// `None` makes the chunk unknown.
    pub(super) fn replace_chunk(&mut self, chunk: ChunkPos, update: Option<ChunkUpdate<'_>>) {
        let at = place(chunk);
        let words = self.words(chunk);
        let old = self.take_record(at);
        set(&mut self.unknown, at, update.is_none());
        set(&mut self.near_water, at, update.as_ref().is_some_and(|update| update.is_near_water));
        let record =
            update.map(|update| old.unwrap_or_else(|| ChunkBlocks::simple(words)).updated(&update));
        let words = record.as_ref().map_or_else(BlockWords::default, |record| record.words);
        let stored = words.need_record();
        set(&mut self.stored, at, stored);
        set(&mut self.all_solid, at, !stored && words.all_solid != 0);
        set(&mut self.all_liquid, at, !stored && words.all_liquid != 0);
        let local = |v: i32| (v & (PAGE_EDGE - 1)) as u32;
        let [x, y, z] = [chunk.x, chunk.y, chunk.z].map(local);
        let group = (x >> 2) + 2 * (z >> 2) + 4 * (y >> 2);
        let bit = (x & 3) + 4 * (z & 3) + 16 * (y & 3);
        let is_visited = record.is_none() || words.presence() != 0;
        set(&mut self.groups, (group as usize, bit), is_visited);
        if let Some(record) = record.filter(|_| stored) {
            self.index[64 * at.0 + at.1 as usize] = self.records.len() as u16;
            self.records.push(record);
        }
    }

    fn take_record(&mut self, (word, bit): (usize, u32)) -> Option<ChunkBlocks> {
        let slot = 64 * word + bit as usize;
        let index = std::mem::replace(&mut self.index[slot], NONE);
        if index == NONE {
            return None;
        }
        let record = self.records.swap_remove(usize::from(index));
        let moved = self.records.len() as u16;
        if moved != index
            && let Some(last) = self.index.iter_mut().find(|slot| **slot == moved)
        {
            *last = index;
        }
        Some(record)
    }

    /// Whether all chunks are as unlisted ones are: air, or unknown.
    pub(super) fn is_as_unlisted(&self, unlisted: UnlistedChunks) -> bool {
        let kept = [&self.stored, &self.all_solid, &self.all_liquid];
        self.unknown == [unknown_word(unlisted); 8]
            && kept.into_iter().flatten().all(|&word| word == 0)
    }

    /// Frees unused memory.
    pub(super) fn shrink(&mut self) {
        self.records.shrink_to_fit();
    }

    /// Bytes of the page and its records.
    pub fn bytes(&self) -> usize {
        let records = self.records.iter().map(ChunkBlocks::bytes).sum::<usize>();
        size_of::<PageBlocks>() + self.records.capacity() * size_of::<ChunkBlocks>() + records
    }
}

#[cfg(test)]
impl PartialEq for PageBlocks {
    fn eq(&self, other: &PageBlocks) -> bool {
        let bits = |page: &PageBlocks| [page.stored, page.all_solid, page.all_liquid, page.unknown];
        bits(self) == bits(other)
            && (0..8)
                .all(|word| (0..64).all(|bit| self.record(word, bit) == other.record(word, bit)))
    }
}
