//! The value of a block: its 32³ cells as bytes that carry a version and a checksum.
//!
//! `docs/format.md` has every byte. The checksum covers the key, too, so that a value under a
//! wrong key is detected.

use crate::key::{BlockKey, CELLS, CHANNELS};
use std::borrow::Cow;
use std::ops::Range;
use terravox::codec::{DecodeError, Rle, ValueRle};
use terravox::voxel::{ChannelWidth, DenseBox, Kind};
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

/// Version of block and listing values that this code writes.
pub(crate) const VALUE_VERSION: u8 = 1;

/// What every sealed value starts with: version byte and checksum.
pub(crate) const SEAL_BYTES: usize = 9;

/// Where the checksum is in a sealed value.
const CHECKSUM_BYTES: Range<usize> = 1..SEAL_BYTES;

/// Header of a block value: seal and codec.
pub(crate) const HEADER_BYTES: usize = SEAL_BYTES + 1;

/// Cells of a block.
pub(crate) const BLOCK_CELLS: usize = 32 * 32 * 32;

/// Longest runs of a block: three bytes per cell and two more for its water.
pub(crate) const MAX_RUN_BYTES: usize = 5 * BLOCK_CELLS;

/// Longest value of a block that is read.
pub const MAX_VALUE_BYTES: usize = HEADER_BYTES + 4 + MAX_RUN_BYTES;

/// Longest value of a chunk of a channel that is read: numbers of 4 bytes, all different. Bytes of
/// a game are fewer.
pub(crate) const MAX_CHANNEL_VALUE_BYTES: usize =
    HEADER_BYTES + 4 + ValueRle { width: ChannelWidth::U32 }.max_bytes();

/// The longest value that a key may have, if it is one of the tables of cells and channels.
pub(crate) fn longest_value(key: &[u8]) -> Option<usize> {
    match key.first() {
        Some(&CELLS) => Some(MAX_VALUE_BYTES),
        Some(&CHANNELS) => Some(MAX_CHANNEL_VALUE_BYTES),
        _ => None,
    }
}

/// Runs shorter than this are not worth compressing.
const MIN_COMPRESSED_BYTES: usize = 48;

const UNIFORM: u8 = 0;
pub(crate) const RUNS: u8 = 1;
pub(crate) const RUNS_LZ4: u8 = 2;

/// Longest runs in which a uniform block is looked for: 128 of four bytes, twice.
const MAX_UNIFORM_RUN_BYTES: usize = 1024;

/// What is wrong with a stored value. Offsets are those in the value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// It is listed but not stored.
    #[error("it is listed but not stored")]
    Missing,
    /// It is stored but not listed.
    #[error("it is stored but not listed")]
    NotListed,
    /// Its key or listing is not a position within the limits of a world.
    #[error("its key is not a position within the limits")]
    Key,
    /// It ends early.
    #[error("byte {bytes}: it ends early, at least {least} bytes are needed")]
    TooShort {
        /// Bytes of the value.
        bytes: usize,
        /// Bytes needed.
        least: usize,
    },
    /// It is longer than any that is written.
    #[error("it has {bytes} bytes, at most {limit} are valid")]
    TooLong {
        /// Bytes of the value.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Written by a later version.
    #[error("byte 0: version {version} is unknown to this program, which reads {VALUE_VERSION}")]
    Version {
        /// The version byte.
        version: u8,
    },
    /// The bytes do not match their checksum.
    #[error("byte 1: the checksum does not match: the data changed after it was written")]
    Checksum,
    /// A codec that does not exist.
    #[error("byte 9: codec {codec} does not exist")]
    Codec {
        /// The codec byte.
        codec: u8,
    },
    /// A length field larger than any block needs.
    #[error("byte 10: {bytes} bytes of runs are claimed, at most {limit} are possible")]
    Length {
        /// Bytes claimed.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The compressed bytes are invalid.
    #[error("byte 14: the compressed runs do not unpack to the stated {bytes} bytes")]
    Compressed {
        /// Bytes stated.
        bytes: usize,
    },
    /// The runs are invalid.
    #[error("in the runs, {0}")]
    Runs(#[from] DecodeError),
    /// A field has an invalid value.
    #[error("byte {at}: {what}")]
    Field {
        /// Offset of the field's last byte.
        at: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Bytes follow the end.
    #[error("{bytes} {} its end", if *bytes == 1 { "byte follows" } else { "bytes follow" })]
    Trailing {
        /// How many.
        bytes: usize,
    },
    /// It is well-formed but differs from the finer cells.
    #[error("it differs from the finer cells")]
    NotTheMip,
    /// Blocks that [`Store::verify`](crate::Store::verify) did not compare with the finer ones.
    #[error(
        "{blocks} {} not compared: that is more work than a file of this length may cost",
        if *blocks == 1 { "block is" } else { "blocks are" }
    )]
    TooMuchWork {
        /// How many.
        blocks: usize,
    },
    /// The undo history is invalid.
    #[error("{0}")]
    History(#[from] terravox::edit::HistoryError),
    /// One of its two copies is damaged; nothing is lost.
    #[error("one of its two copies is damaged, the other is whole")]
    OneCopy,
    /// It cannot be read from the file.
    #[error("{0}")]
    Unreadable(Cow<'static, str>),
}

/// Encodes and decodes block values; reuses its buffers.
pub(crate) struct ValueCoder {
    kinds: [Kind; 256],
    runs: Vec<u8>,
}

impl ValueCoder {
    pub fn new(kinds: &[Kind; 256]) -> ValueCoder {
        ValueCoder { kinds: *kinds, runs: Vec::new() }
    }

    /// The value of full cells of one material.
    pub fn encode_uniform(&self, key: BlockKey, material: u8, out: &mut Vec<u8>) {
        start_block(UNIFORM, out);
        out.push(material);
        seal(&key.bytes(), out);
    }

    /// Replaces `out` with the value of a block of 32³ cells.
    pub fn encode(&mut self, key: BlockKey, cells: &DenseBox, out: &mut Vec<u8>) {
        assert_eq!(cells.len(), BLOCK_CELLS, "a block has 32³ cells");
        if let Some(material) = uniform_material(cells) {
            return self.encode_uniform(key, material, out);
        }
        self.runs.clear();
        Rle::wide(&self.kinds).encode_box(cells, &mut self.runs);
        if self.runs.len() >= MIN_COMPRESSED_BYTES {
            start_block(RUNS_LZ4, out);
            out.extend_from_slice(&(self.runs.len() as u32).to_le_bytes());
            let body = out.len();
            out.resize(body + lz4_flex::block::get_maximum_output_size(self.runs.len()), 0);
            // Fails only if the buffer is too small; then the runs stay uncompressed.
            let packed = lz4_flex::block::compress_into(&self.runs, &mut out[body..]);
            let packed = packed.unwrap_or(self.runs.len());
            if packed + 4 < self.runs.len() {
                out.truncate(body + packed);
                return seal(&key.bytes(), out);
            }
        }
        start_block(RUNS, out);
        out.extend_from_slice(&self.runs);
        seal(&key.bytes(), out);
    }

    /// The material of a value that is uniform by its few bytes; `None` if it must be decoded,
    /// which may find the same.
    pub fn uniform(&mut self, key: BlockKey, value: &[u8]) -> Result<Option<u8>, ValueError> {
        let runs = match open_block(key, value)? {
            (UNIFORM, &[material]) => return Ok(Some(material)),
            (RUNS, body) => body,
            (RUNS_LZ4, body) if Self::run_bytes(value) <= MAX_UNIFORM_RUN_BYTES as u64 => {
                if unpack(body, value.len(), &mut self.runs).is_err() {
                    return Ok(None);
                }
                &self.runs
            }
            _ => return Ok(None),
        };
        let is_short = runs.len() <= MAX_UNIFORM_RUN_BYTES;
        Ok(is_short.then(|| Rle::wide(&self.kinds).uniform(runs, BLOCK_CELLS)).flatten())
    }

    /// The value of a block of which is known what follows the seal.
    pub fn encode_bytes(key: BlockKey, cells_bytes: &[u8], out: &mut Vec<u8>) {
        start_sealed(out);
        out.extend_from_slice(cells_bytes);
        seal(&key.bytes(), out);
    }

    /// What follows the seal of a value that was checked: equal bytes are equal cells, wherever the
    /// block is.
    pub fn cells_bytes(value: &[u8]) -> &[u8] {
        &value[SEAL_BYTES..]
    }

    /// About how many bytes decoding a value reads and unpacks; it may claim more than it has.
    pub fn run_bytes(value: &[u8]) -> u64 {
        let Some((&codec, body)) = value.get(SEAL_BYTES..).and_then(<[u8]>::split_first) else {
            return 0;
        };
        let claimed = match (codec, body.first_chunk::<4>()) {
            (RUNS_LZ4, Some(length)) => u32::from_le_bytes(*length) as usize,
            (UNIFORM, _) => 0,
            _ => body.len(),
        };
        claimed.min(MAX_RUN_BYTES) as u64
    }

    /// Decodes `value` into `cells`, at the position of `key`.
    pub fn decode(
        &mut self,
        key: BlockKey,
        value: &[u8],
        cells: &mut DenseBox,
    ) -> Result<(), ValueError> {
        let (codec, body) = open_block(key, value)?;
        if cells.len() != BLOCK_CELLS || cells.region().size() != [32; 3] {
            cells.reset(key.region());
        }
        cells.move_to(key.region().min);
        match codec {
            UNIFORM => {
                let [material] = *body else {
                    return match body.len() {
                        0 => Err(ValueError::TooShort { bytes: value.len(), least: 11 }),
                        bytes => Err(ValueError::Trailing { bytes: bytes - 1 }),
                    };
                };
                cells.fill(material);
                Ok(())
            }
            RUNS => decode_runs(&self.kinds, body, cells),
            RUNS_LZ4 => {
                unpack(body, value.len(), &mut self.runs)?;
                decode_runs(&self.kinds, &self.runs, cells)
            }
            codec => Err(ValueError::Codec { codec }),
        }
    }
}

fn decode_runs(kinds: &[Kind; 256], runs: &[u8], cells: &mut DenseBox) -> Result<(), ValueError> {
    let read = Rle::wide(kinds).decode_box(runs, cells)?;
    match runs.len() - read {
        0 => Ok(()),
        bytes => Err(ValueError::Trailing { bytes }),
    }
}

/// Unpacks compressed runs; memory is bounded by [`MAX_RUN_BYTES`].
pub(crate) fn unpack(
    body: &[u8],
    value_bytes: usize,
    runs: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let Some((length, packed)) = body.split_first_chunk::<4>() else {
        return Err(ValueError::TooShort { bytes: value_bytes, least: HEADER_BYTES + 4 });
    };
    let bytes = u32::from_le_bytes(*length) as usize;
    if bytes > MAX_RUN_BYTES {
        return Err(ValueError::Length { bytes, limit: MAX_RUN_BYTES });
    }
    runs.clear();
    runs.resize(bytes, 0);
    match lz4_flex::block::decompress_into(packed, runs) {
        Ok(written) if written == bytes => Ok(()),
        _ => Err(ValueError::Compressed { bytes }),
    }
}

/// The material, if the box is full cells of one, without water.
pub(crate) fn uniform_material(cells: &DenseBox) -> Option<u8> {
    let (materials, occupancies) = (cells.materials(), cells.occupancies());
    let &first = materials.first()?;
    let air = first == terravox::voxel::AIR;
    // A piece at a time: a search that may end at any cell is not vectorized.
    let all_are = |cells: &[u8], value: u8| {
        cells.chunks(256).all(|piece| piece.iter().fold(0, |bits, v| bits | (v ^ value)) == 0)
    };
    let same = all_are(materials, first)
        && (air || all_are(occupancies, 255))
        && (air || cells.water().is_empty());
    same.then_some(first)
}

/// Starts a block value.
pub(crate) fn start_block(codec: u8, out: &mut Vec<u8>) {
    start_sealed(out);
    out.push(codec);
}

/// Checks length, version and checksum of a block value; returns codec and body.
fn open_block(key: BlockKey, value: &[u8]) -> Result<(u8, &[u8]), ValueError> {
    check_sealed(&key.bytes(), value, HEADER_BYTES, MAX_VALUE_BYTES)?;
    Ok((value[SEAL_BYTES], &value[HEADER_BYTES..]))
}

/// Starts a sealed value in place of `out`: version, and room for the checksum.
pub(crate) fn start_sealed(out: &mut Vec<u8>) {
    out.clear();
    out.push(VALUE_VERSION);
    out.resize(SEAL_BYTES, 0);
}

/// Writes the checksum of a complete value.
pub(crate) fn seal(key: &[u8], value: &mut [u8]) {
    let sum = checksum(key, value);
    value[CHECKSUM_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// XXH3-64 of the key and of a value without its checksum.
pub(crate) fn checksum(key: &[u8], value: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(key);
    hash.update(&value[..CHECKSUM_BYTES.start]);
    hash.update(&value[CHECKSUM_BYTES.end..]);
    hash.digest()
}

/// Checks length, version and checksum of a sealed value.
pub(crate) fn check_sealed(
    key: &[u8],
    value: &[u8],
    least: usize,
    limit: usize,
) -> Result<(), ValueError> {
    let bytes = value.len();
    if bytes > limit {
        return Err(ValueError::TooLong { bytes, limit });
    }
    if bytes < least {
        return Err(ValueError::TooShort { bytes, least });
    }
    if value[0] != VALUE_VERSION {
        return Err(ValueError::Version { version: value[0] });
    }
    if value[CHECKSUM_BYTES] != checksum(key, value).to_le_bytes() {
        return Err(ValueError::Checksum);
    }
    Ok(())
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
