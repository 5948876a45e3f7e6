//! The channels of a world, for reading and writing.
//!
//! As the grid of cells does, it shares its tables with snapshots and copies on write: the table of
//! pages of one channel, then one page.

use super::chunk::{CHUNK_VOXELS, ChannelChunk};
use super::declaration::{Channel, ChannelError, MAX_CHANNELS};
use super::snapshot::{ChannelSnapshot, ChannelTable, index_in_chunk};
use super::unsaved::ChannelWrites;
use crate::voxel::{ChangeCursor, ChangeLog, Changes, ChunkPos, Region, VoxelPos, page_of};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The channels of a world: numbers of a game's own for each voxel, bytes for each chunk.
///
/// It has the reading methods of [`ChannelSnapshot`]. [`Terrain`](crate::Terrain) has one
/// ([`Terrain::channels_mut`](crate::Terrain::channels_mut)); edits that can be undone are
/// [`ValueOp`](crate::edit::ValueOp)s.
///
/// All values are in memory, whether the cells there are or not. A chunk without values costs
/// nothing, one in which all are the same some 50 bytes, others as
/// [`ChannelChunk`] says.
///
/// ```
/// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, ChunkPos, MipRule, Region, VoxelPos};
///
/// let mut channels = ChannelGrid::default();
/// let ore = channels.declare(Channel::values("ore", ChannelWidth::U8, MipRule::Mean))?;
/// let spawns = channels.declare(Channel::bytes("spawns"))?;
///
/// let vein = Region::new([-2, 0, 0], [2, 1, 1]);
/// channels.write(ore, vein, &[10, 20, 30, 40]);
/// assert_eq!(channels.value(ore, VoxelPos::new(-1, 0, 0)), 20);
/// channels.set_bytes(spawns, ChunkPos::new(0, 0, 0), b"two goats")?;
///
/// let mut far = Vec::new();
/// channels.read(ore, Region::new([-1, 0, 0], [1, 1, 1]), 1, &mut far); // cells of 2³ voxels
/// assert_eq!(far, [4, 9]); // (10 + 20) / 8 and (30 + 40) / 8
/// # Ok::<(), terravox::voxel::ChannelError>(())
/// ```
#[derive(Default)]
pub struct ChannelGrid {
    state: ChannelSnapshot,
    log: ChangeLog,
    pub(super) writes: ChannelWrites,
    values: Vec<u32>,
}

impl Deref for ChannelGrid {
    type Target = ChannelSnapshot;
    fn deref(&self) -> &ChannelSnapshot {
        &self.state
    }
}

impl ChannelGrid {
    /// Most channels of a world.
    pub const MAX_CHANNELS: usize = MAX_CHANNELS;

    /// Channels that start as those of a snapshot, with nothing unsaved.
    pub fn from_snapshot(snapshot: &ChannelSnapshot) -> ChannelGrid {
        ChannelGrid { state: snapshot.clone(), ..ChannelGrid::default() }
    }

    /// Returns a snapshot of the current state. Costs a reference count.
    pub fn snapshot(&self) -> ChannelSnapshot {
        self.state.clone()
    }

    /// Makes the channels what they were in a snapshot of this world. What differs becomes unsaved;
    /// channels that were declared later stay, without values.
    ///
    /// ```
    /// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelPos};
    ///
    /// let mut channels = ChannelGrid::default();
    /// let heat = channels.declare(Channel::values("heat", ChannelWidth::U8, MipRule::Max))?;
    /// channels.set(heat, VoxelPos::ZERO, 5);
    /// let before = channels.snapshot();
    /// channels.set(heat, VoxelPos::ZERO, 90);
    /// channels.restore(&before)?;
    /// assert_eq!(channels.snapshot(), before);
    /// # Ok::<(), terravox::voxel::ChannelError>(())
    /// ```
    ///
    /// # Errors
    /// [`ChannelError::Declared`] if one of its channels is another one here; nothing is then
    /// changed.
    pub fn restore(&mut self, snapshot: &ChannelSnapshot) -> Result<(), ChannelError> {
        for (own, other) in self.channels().zip(snapshot.channels()) {
            if own != other {
                return Err(ChannelError::Declared(own.clone()));
            }
        }
        for channel in snapshot.channels().skip(self.tables.len()) {
            self.declare(channel.clone())?;
        }
        for number in 0..self.tables.len() {
            let (own, other) = (&self.tables[number], snapshot.tables.get(number));
            if other.is_some_and(|other| Arc::ptr_eq(&own.pages, &other.pages)) {
                continue;
            }
            let all = own.chunks().chain(other.into_iter().flat_map(ChannelTable::chunks));
            let chunks: BTreeSet<ChunkPos> = all.map(|(chunk, _)| chunk).collect();
            for chunk in chunks {
                let held = other.and_then(|other| other.chunk(chunk)).cloned();
                self.replace(number as u8, chunk, held);
            }
        }
        Ok(())
    }

    /// Channels without values and with nothing unsaved, for what a store has.
    ///
    /// # Errors
    /// As [`ChannelGrid::declare`].
    pub fn of_saved(
        channels: impl IntoIterator<Item = Channel>,
    ) -> Result<ChannelGrid, ChannelError> {
        let mut grid = ChannelGrid::default();
        for channel in channels {
            let (count, name) = (grid.tables.len(), channel.name.clone());
            // Two of one name cannot be told apart.
            if usize::from(grid.add(channel)?) != count {
                let own = grid.channels().find(|channel| channel.name == name);
                return Err(ChannelError::Declared(own.cloned().unwrap_or(Channel::bytes(name))));
            }
        }
        Ok(grid)
    }

    /// Declares a channel and returns its number. If the same one is declared already, nothing
    /// changes: a game may declare its channels each time it starts.
    ///
    /// # Errors
    /// [`ChannelError`] if the name is empty, too long, or that of another kind of channel, or
    /// there are [`ChannelGrid::MAX_CHANNELS`].
    pub fn declare(&mut self, channel: Channel) -> Result<u8, ChannelError> {
        let before = self.tables.len();
        let number = self.add(channel)?;
        if self.tables.len() > before {
            self.writes.mark_declared();
        }
        Ok(number)
    }

    /// Adds a channel, unless it is there.
    fn add(&mut self, channel: Channel) -> Result<u8, ChannelError> {
        let bytes = channel.name.len();
        if bytes == 0 || bytes > Channel::MAX_NAME_BYTES {
            return Err(ChannelError::Name { bytes });
        }
        if let Some(number) = self.number(&channel.name) {
            let own = &*self.tables[usize::from(number)].channel;
            return match *own == channel {
                true => Ok(number),
                false => Err(ChannelError::Declared(own.clone())),
            };
        }
        if self.tables.len() == ChannelGrid::MAX_CHANNELS {
            return Err(ChannelError::TooMany { name: channel.name });
        }
        let table = ChannelTable { channel: Arc::new(channel), pages: Arc::default() };
        let tables = Arc::make_mut(&mut self.state.tables);
        tables.push(table);
        Ok((tables.len() - 1) as u8)
    }

    /// Sets the value of a voxel; 0 removes it. [`ChannelGrid::write`] is much faster for many.
    ///
    /// # Panics
    /// If there is no such channel or it holds bytes, the value is above the
    /// [largest](super::ChannelWidth::max_value), or the voxel is beyond
    /// [`LIMIT`](crate::voxel::LIMIT).
    pub fn set(&mut self, channel: u8, pos: VoxelPos, value: u32) {
        self.write(channel, Region::one(pos), &[value]);
    }

    /// Writes the values of all voxels of a region, x fastest, then z, then y; 0 removes.
    ///
    /// # Panics
    /// As [`ChannelGrid::set`], and if there are not as many values as voxels.
    pub fn write(&mut self, channel: u8, region: Region, values: &[u32]) {
        let max = self.width(channel).max_value();
        let count = values.len();
        assert_eq!(count as u64, region.volume(), "{count} values for the voxels of {region}");
        assert!(region.within_limits(), "a write of {region} is beyond the limits of the grid");
        if let Some(value) = values.iter().find(|&&value| value > max) {
            panic!("a value of {value} in channel {channel}, which holds 0 to {max}");
        }
        let mut chunk_values = std::mem::take(&mut self.values);
        for chunk in region.blocks::<5>() {
            self.unpack(channel, chunk, &mut chunk_values);
            let part = region.intersect(chunk.region());
            let [width, _, depth] = region.size();
            let long = part.size()[0];
            for y in part.min.y..part.max.y {
                for z in part.min.z..part.max.z {
                    let off = VoxelPos::new(part.min.x, y, z) - region.min;
                    let from = off.x as usize + width * (off.z as usize + depth * off.y as usize);
                    let to = index_in_chunk(VoxelPos::new(part.min.x, y, z));
                    chunk_values[to..to + long].copy_from_slice(&values[from..from + long]);
                }
            }
            self.replace(channel, chunk, ChannelChunk::of_values(&chunk_values));
        }
        self.values = chunk_values;
    }

    /// Replaces the bytes of a chunk; none remove them.
    ///
    /// # Errors
    /// [`ChannelError::TooLong`] above [`ChannelChunk::MAX_BYTES`].
    ///
    /// # Panics
    /// If there is no such channel or it holds numbers, or the chunk is beyond
    /// [`LIMIT`](crate::voxel::LIMIT).
    pub fn set_bytes(
        &mut self,
        channel: u8,
        chunk: ChunkPos,
        bytes: &[u8],
    ) -> Result<(), ChannelError> {
        self.assert_bytes(channel);
        assert!(chunk.within_limits(), "chunk {chunk} is beyond the limits of the grid");
        if bytes.len() > ChannelChunk::MAX_BYTES {
            return Err(ChannelError::TooLong { bytes: bytes.len() });
        }
        self.replace(channel, chunk, ChannelChunk::from_bytes(bytes));
        Ok(())
    }

    /// Puts in what a store holds of a chunk. It does not become unsaved; if the chunk is unsaved,
    /// nothing changes.
    ///
    /// # Panics
    /// If there is no such channel, it is of another kind, a value is above the largest, or the
    /// chunk is beyond [`LIMIT`](crate::voxel::LIMIT).
    pub fn load(&mut self, channel: u8, chunk: ChunkPos, held: ChannelChunk) {
        match self.table(channel).channel.kind.width() {
            None => assert!(!held.bytes().is_empty(), "channel {channel} holds bytes"),
            Some(width) => {
                let fits = held.bytes().is_empty() && held.max_value() <= width.max_value();
                assert!(fits, "channel {channel} holds numbers of {} bytes", width.bytes());
            }
        }
        assert!(chunk.within_limits(), "chunk {chunk} is beyond the limits of the grid");
        if !self.writes.is_unsaved(channel, chunk) {
            self.put(channel, chunk, Some(held));
        }
    }

    /// Returns what was written since `cursor` was last used, in any channel, and advances it.
    pub fn changes_since(&self, cursor: &mut ChangeCursor) -> Changes {
        self.log.since(cursor)
    }

    /// Writes the values of a chunk, x fastest, then z, then y, to `out`.
    pub(crate) fn unpack(&self, channel: u8, chunk: ChunkPos, out: &mut Vec<u32>) {
        match self.chunk(channel, chunk) {
            Some(held) => held.unpack(out),
            None => {
                out.clear();
                out.resize(CHUNK_VOXELS, 0);
            }
        }
    }

    /// Replaces what a channel holds in a chunk, of its own kind; unsaved if it differs.
    pub(crate) fn replace(&mut self, channel: u8, chunk: ChunkPos, held: Option<ChannelChunk>) {
        if self.chunk(channel, chunk) != held.as_ref() {
            self.writes.mark(channel, chunk);
            self.put(channel, chunk, held);
        }
    }

    fn put(&mut self, channel: u8, chunk: ChunkPos, held: Option<ChannelChunk>) {
        self.log.push(chunk.region());
        let table = &mut Arc::make_mut(&mut self.state.tables)[usize::from(channel)];
        let pages = Arc::make_mut(&mut table.pages);
        let position = page_of(chunk);
        let page = Arc::make_mut(pages.entry(position).or_default());
        match held {
            Some(held) => drop(page.insert(chunk, held)),
            None => drop(page.remove(&chunk)),
        }
        if page.is_empty() {
            pages.remove(&position);
        }
    }
}

impl fmt::Debug for ChannelGrid {
    /// Prints channels and counts, not values: a world is large.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelGrid").field("state", &self.state).finish_non_exhaustive()
    }
}
