//! Channels: their keys and values, reading and writing them.
//!
//! A value is sealed as that of a block is, and has the run-length code of the numbers of a chunk, or
//! its bytes, packed where that is shorter. `docs/format.md` has every byte.

use crate::database::{channel_key, channel_of, lost_part, value_error};
use crate::description::ReadView;
use crate::error::{BadPart, StoreError, StoredPart};
use crate::findings::Findings;
use crate::info::WorldInfo;
use crate::key::CHANNELS;
use crate::reader::{StoreReader, StoreTransaction};
use crate::store::Store;
use crate::tree::TreeError;
use crate::value::{
    HEADER_BYTES, MAX_CHANNEL_VALUE_BYTES, RUNS, RUNS_LZ4, SEAL_BYTES, ValueError, check_sealed,
    seal, start_block, unpack,
};
use terravox::codec::ValueRle;
use terravox::voxel::{Channel, ChannelChunk, ChannelGrid, ChannelKind, ChannelSnapshot, ChunkPos};

/// Bodies shorter than this are not worth compressing.
const MIN_COMPRESSED_BYTES: usize = 48;

/// Chunks of one transaction of [`Store::write_channels`].
const BATCH_CHUNKS: usize = 2048;

/// Bytes of a chunk of a channel in memory, besides its values.
const ENTRY_BYTES: u64 = 64;

/// Encodes and decodes the values of channels; reuses its buffer.
#[derive(Default)]
pub(crate) struct ChannelCoder {
    body: Vec<u8>,
}

impl ChannelCoder {
    /// Replaces `out` with the value of a chunk.
    fn encode(&mut self, key: &[u8], kind: ChannelKind, held: &ChannelChunk, out: &mut Vec<u8>) {
        self.body.clear();
        match kind {
            ChannelKind::Values { width, .. } => ValueRle { width }.encode(held, &mut self.body),
            ChannelKind::Bytes => self.body.extend_from_slice(held.bytes()),
        }
        if self.body.len() >= MIN_COMPRESSED_BYTES {
            let packed = lz4_flex::block::compress(&self.body);
            if packed.len() + 4 < self.body.len() {
                start_block(RUNS_LZ4, out);
                out.extend((self.body.len() as u32).to_le_bytes());
                out.extend_from_slice(&packed);
                return seal(&key[1..], out);
            }
        }
        start_block(RUNS, out);
        out.extend_from_slice(&self.body);
        seal(&key[1..], out);
    }

    /// Decodes the value of a chunk.
    fn decode(
        &mut self,
        key: &[u8],
        kind: ChannelKind,
        value: &[u8],
    ) -> Result<ChannelChunk, ValueError> {
        check_sealed(&key[1..], value, HEADER_BYTES, MAX_CHANNEL_VALUE_BYTES)?;
        let body = &value[HEADER_BYTES..];
        let body = match value[SEAL_BYTES] {
            RUNS => body,
            RUNS_LZ4 => {
                unpack(body, value.len(), &mut self.body)?;
                &self.body
            }
            codec => return Err(ValueError::Codec { codec }),
        };
        match kind {
            ChannelKind::Values { width, .. } => Ok(ValueRle { width }.decode(body)?),
            ChannelKind::Bytes if body.len() > ChannelChunk::MAX_BYTES => {
                Err(ValueError::TooLong { bytes: body.len(), limit: ChannelChunk::MAX_BYTES })
            }
            ChannelKind::Bytes => ChannelChunk::from_bytes(body)
                .ok_or(ValueError::TooShort { bytes: value.len(), least: value.len() + 1 }),
        }
    }
}

/// The channels of a world after `saved` is saved, which has to have those of the world, and may
/// have more. On an error, what does not fit.
pub(crate) fn merged(
    stored: &[Channel],
    saved: &ChannelSnapshot,
) -> Result<Option<Vec<Channel>>, String> {
    let given: Vec<&Channel> = saved.channels().collect();
    let unlike = stored.iter().zip(&given).position(|(stored, given)| stored != *given);
    if let Some(number) = unlike {
        return Err(format!(
            "channel {number} is \"{}\" ({:?}) in the world, and \"{}\" ({:?}) is to be saved; open \
             the channels of the world, and declare others after them",
            stored[number].name, stored[number].kind, given[number].name, given[number].kind
        ));
    }
    let is_new = given.len() > stored.len();
    Ok(is_new.then(|| given.into_iter().cloned().collect()))
}

/// Writes what channels hold in some chunks, and returns how many chunks and bytes of values that
/// are. The description has the channels already.
pub(crate) fn write_channels(
    store: &Store,
    tree: &mut StoreTransaction<'_>,
    held: &ChannelSnapshot,
    chunks: impl Iterator<Item = (u8, ChunkPos)>,
) -> Result<(usize, u64), StoreError> {
    let mut keys: Vec<_> =
        chunks.map(|(channel, chunk)| (channel_key(channel, chunk), channel, chunk)).collect();
    keys.sort_unstable_by_key(|entry| entry.0);
    let failed = |error: TreeError| store.write_error(error);
    let removed = keys.iter().filter(|(_, channel, chunk)| held.chunk(*channel, *chunk).is_none());
    tree.prefetch(removed.map(|entry| entry.0.to_vec())).map_err(failed)?;
    let (mut coder, mut value, mut bytes) = (ChannelCoder::default(), Vec::new(), 0);
    let count = keys.len();
    for (key, channel, chunk) in keys {
        let kind = held.channel(channel).map(|channel| channel.kind);
        match (held.chunk(channel, chunk), kind) {
            (Some(chunk), Some(kind)) => {
                coder.encode(&key, kind, chunk, &mut value);
                bytes += value.len() as u64;
                tree.put(&key, &value).map_err(failed)?;
            }
            _ => drop(tree.remove(&key).map_err(failed)?),
        }
    }
    Ok((count, bytes))
}

/// Calls `visit` with what every channel holds in every chunk, in the order of keys, and reports what
/// it returns, what cannot be read, and invalid keys. Lost parts of the index are reported only
/// if `reports_lost`.
pub(crate) fn walk_channels(
    tree: &StoreReader,
    channels: &[Channel],
    reports_lost: bool,
    bad: &mut Findings,
    mut visit: impl FnMut(u8, ChunkPos, Result<&[u8], ValueError>) -> Result<(), ValueError>,
) {
    let mut value = Vec::new();
    let mut scan = tree.scan(&[CHANNELS], Some(&[CHANNELS + 1]));
    while let Some(entry) = scan.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(lost) if reports_lost => {
                bad.push(lost_part(&lost));
                continue;
            }
            Err(_) => continue,
        };
        let of_world = |key: &(u8, ChunkPos)| usize::from(key.0) < channels.len();
        let Some((channel, chunk)) = channel_of(&entry.key).filter(of_world) else {
            let part = StoredPart::Table("channels");
            bad.push_unless_last(BadPart { part, what: ValueError::Key });
            continue;
        };
        let read = scan.value(&entry, &mut value);
        let read = read.map(|()| &*value).map_err(|error| value_error(&error));
        if let Err(what) = visit(channel, chunk, read) {
            bad.push(BadPart { part: StoredPart::Channel { channel, chunk }, what });
        }
    }
}

/// Decodes what a channel of a world holds in a chunk.
pub(crate) fn decode(
    coder: &mut ChannelCoder,
    channels: &[Channel],
    (channel, chunk): (u8, ChunkPos),
    value: &[u8],
) -> Result<ChannelChunk, ValueError> {
    let kind = channels.get(usize::from(channel)).ok_or(ValueError::Key)?.kind;
    coder.decode(&channel_key(channel, chunk), kind, value)
}

impl Store {
    /// Reads all channels of the world, up to [`MAX_LOADED_BYTES`](crate::MAX_LOADED_BYTES) in
    /// memory. Nothing in them is unsaved. [`Store::terrain`] does this.
    ///
    /// # Errors
    /// If they cannot be read, are damaged ([`Store::load`] and [`Store::verify`] go on without what
    /// is), or are larger.
    pub fn channels(&self) -> Result<ChannelGrid, StoreError> {
        let mut bad = Findings::default();
        let channels = self.read_channels(&self.begin_read(), crate::MAX_LOADED_BYTES, &mut bad)?;
        match bad.into_parts().into_iter().next() {
            None => Ok(channels),
            Some(BadPart { part, what }) => Err(self.damaged_error(part, what)),
        }
    }

    /// Writes all that channels hold, in several transactions so that memory stays bounded, and adds
    /// those that the world does not have: for new worlds, as [`Store::write_all`]; otherwise use
    /// [`Store::save`].
    ///
    /// # Errors
    /// If a channel is another one in this world, or the file cannot be written.
    pub fn write_channels(&self, channels: &ChannelSnapshot) -> Result<(), StoreError> {
        let added = merged(&self.info().channels, channels).map_err(|what| self.refused(what))?;
        if let Some(channels) = added {
            self.set_info(&WorldInfo { channels, ..(*self.info()).clone() })?;
        }
        let count = channels.channels().len() as u8;
        let chunks = |channel: u8| channels.chunks(channel).into_iter().map(move |c| (channel, c));
        let all: Vec<(u8, ChunkPos)> = (0..count).flat_map(chunks).collect();
        for batch in all.chunks(BATCH_CHUNKS) {
            self.lock_writes().transact(None, |tree| {
                write_channels(self, tree, channels, batch.iter().copied()).map(drop)
            })?;
        }
        Ok(())
    }

    /// Reads all channels that are whole, if they take at most `max_bytes` of memory.
    pub(crate) fn read_channels(
        &self,
        view: &ReadView,
        max_bytes: u64,
        bad: &mut Findings,
    ) -> Result<ChannelGrid, StoreError> {
        let declared = &view.info.channels;
        let grid = ChannelGrid::of_saved(declared.iter().cloned());
        let mut grid = grid.map_err(|error| self.refused(error.to_string()))?;
        let (mut coder, mut bytes) = (ChannelCoder::default(), 0);
        walk_channels(&view.tree, declared, true, bad, |channel, chunk, value| {
            let held = decode(&mut coder, declared, (channel, chunk), value?)?;
            bytes += ENTRY_BYTES + held.memory_bytes() as u64;
            if bytes <= max_bytes {
                grid.load(channel, chunk, held);
            }
            Ok(())
        });
        if let Some(error) = view.tree.failure() {
            return Err(self.read_error(error));
        }
        match bytes <= max_bytes {
            true => Ok(grid),
            false => {
                let what = format!("its channels need {bytes} bytes of memory, over {max_bytes}");
                Err(self.refused(what))
            }
        }
    }

    fn refused(&self, what: String) -> StoreError {
        StoreError::Refused { path: self.path().to_owned(), what }
    }
}
