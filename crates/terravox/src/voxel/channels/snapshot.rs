//! The channels of a world at one moment, for reading on any thread.

use super::chunk::ChannelChunk;
use super::declaration::{Channel, ChannelKind, ChannelWidth};
use crate::voxel::{ChunkPos, PagePos, VoxelPos, page_of};
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// What a channel holds in the chunks of one page. Never empty.
pub(super) type ChannelPage = FxHashMap<ChunkPos, ChannelChunk>;

/// A channel with all that it holds.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ChannelTable {
    pub channel: Arc<Channel>,
    pub pages: Arc<FxHashMap<PagePos, Arc<ChannelPage>>>,
}

impl ChannelTable {
    pub fn chunk(&self, chunk: ChunkPos) -> Option<&ChannelChunk> {
        self.pages.get(&page_of(chunk))?.get(&chunk)
    }

    pub fn chunks(&self) -> impl Iterator<Item = (ChunkPos, &ChannelChunk)> {
        self.pages.values().flat_map(|page| page.iter().map(|(&chunk, held)| (chunk, held)))
    }
}

/// The channels of a world at one moment: immutable, made in microseconds, for any thread.
/// Snapshots are equal if they have the same channels with the same values.
///
/// ```
/// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelPos};
///
/// let mut channels = ChannelGrid::default();
/// let heat = channels.declare(Channel::values("heat", ChannelWidth::U8, MipRule::Max))?;
/// let cold = channels.snapshot();
/// channels.set(heat, VoxelPos::new(-1, 0, 0), 9);
/// assert_eq!(cold.value(heat, VoxelPos::new(-1, 0, 0)), 0);
/// assert_eq!(cold.number("heat"), Some(heat));
/// # Ok::<(), terravox::voxel::ChannelError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChannelSnapshot {
    /// By the number of the channel.
    pub(super) tables: Arc<Vec<ChannelTable>>,
}

impl ChannelSnapshot {
    /// The channels, in the order of their numbers.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = &Channel> {
        self.tables.iter().map(|table| &*table.channel)
    }

    /// Whether no channel is declared.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The channel of a number, if there is one.
    pub fn channel(&self, channel: u8) -> Option<&Channel> {
        self.tables.get(usize::from(channel)).map(|table| &*table.channel)
    }

    /// The number of the channel with this name.
    pub fn number(&self, name: &str) -> Option<u8> {
        let found = self.channels().position(|channel| channel.name == name);
        found.map(|number| number as u8)
    }

    /// The value of a voxel; 0 if it was never set.
    ///
    /// # Panics
    /// If there is no such channel, or it holds bytes.
    pub fn value(&self, channel: u8, pos: VoxelPos) -> u32 {
        self.width(channel);
        let chunk = self.table(channel).chunk(pos.chunk());
        chunk.map_or(0, |chunk| chunk.value(index_in_chunk(pos)))
    }

    /// The bytes of a chunk; empty if there are none.
    ///
    /// # Panics
    /// If there is no such channel, or it holds numbers.
    pub fn bytes(&self, channel: u8, chunk: ChunkPos) -> &[u8] {
        self.assert_bytes(channel);
        self.table(channel).chunk(chunk).map_or(&[], ChannelChunk::bytes)
    }

    /// What a channel holds in a chunk, if anything.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn chunk(&self, channel: u8, chunk: ChunkPos) -> Option<&ChannelChunk> {
        self.table(channel).chunk(chunk)
    }

    /// The chunks in which a channel holds something, sorted by x, y, z.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn chunks(&self, channel: u8) -> Vec<ChunkPos> {
        let mut chunks: Vec<_> = self.table(channel).chunks().map(|(chunk, _)| chunk).collect();
        chunks.sort_unstable();
        chunks
    }

    /// Bytes in memory, without the tables: see [`ChannelChunk::memory_bytes`].
    pub fn memory_bytes(&self) -> usize {
        let chunks = self.tables.iter().flat_map(ChannelTable::chunks);
        chunks.map(|(_, held)| size_of::<(ChunkPos, ChannelChunk)>() + held.memory_bytes()).sum()
    }

    pub(super) fn table(&self, channel: u8) -> &ChannelTable {
        match self.tables.get(usize::from(channel)) {
            Some(table) => table,
            None => panic!("there is no channel {channel}; {} are declared", self.tables.len()),
        }
    }

    /// How large the numbers of a channel are.
    pub(super) fn width(&self, channel: u8) -> ChannelWidth {
        let Channel { name, kind } = &*self.table(channel).channel;
        match kind.width() {
            Some(width) => width,
            None => panic!("channel {channel}, \"{name}\", holds bytes, not numbers"),
        }
    }

    pub(super) fn assert_bytes(&self, channel: u8) {
        let Channel { name, kind } = &*self.table(channel).channel;
        let is_bytes = *kind == ChannelKind::Bytes;
        assert!(is_bytes, "channel {channel}, \"{name}\", holds numbers, not bytes");
    }
}

impl fmt::Debug for ChannelSnapshot {
    /// Prints channels and counts, not values: a world is large.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = |table: &ChannelTable| (table.channel.clone(), table.chunks().count());
        f.debug_map().entries(self.tables.iter().map(entry)).finish()
    }
}

/// Index of a voxel in its chunk: x + 32 z + 1024 y.
pub(crate) fn index_in_chunk(pos: VoxelPos) -> usize {
    let [x, y, z] = pos.to_array().map(|v| (v & 31) as usize);
    x + 32 * z + 1024 * y
}
