//! Run-length code of what a channel holds in a chunk.
//!
//! Numbers become runs of equal ones and lists of different ones:
//!
//! ```text
//! 0x00–0x7f   lead + 1 values follow, one after the other
//! 0x80–0xfe   a run of lead − 0x80 + 3 voxels; its value follows
//! 0xff        a run of n + 130 voxels; n follows as two bytes, low one first, then the value
//! ```
//!
//! A value has 1, 2 or 4 bytes, by the width of the channel, low one first. The code ends where the
//! chunk ends. The scheme of a lead byte is that of PackBits (Apple, 1984).

use super::rle::{DecodeError, DecodeErrorKind};
use crate::voxel::{CHUNK_VOXELS, ChannelChunk, ChannelWidth, ValueRun};

/// Shorter runs are written as lists.
const MIN_RUN: usize = 3;

/// Longest list.
const MAX_LIST: usize = 128;

/// Lead byte of runs.
const RUN: u8 = 0x80;

/// Lead byte of runs whose length follows, and the shortest of them.
const LONG_RUN: u8 = 0xff;
const MIN_LONG_RUN: usize = MIN_RUN + (LONG_RUN - RUN) as usize;

/// The coder of numbers of one width.
///
/// ```
/// use terravox::codec::ValueRle;
/// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelPos};
///
/// let mut channels = ChannelGrid::default();
/// let heat = channels.declare(Channel::values("heat", ChannelWidth::U8, MipRule::Max))?;
/// channels.set(heat, VoxelPos::ZERO, 9);
/// let chunk = channels.chunk(heat, VoxelPos::ZERO.chunk()).expect("it has a value");
///
/// let coder = ValueRle { width: ChannelWidth::U8 };
/// let mut bytes = Vec::new();
/// coder.encode(chunk, &mut bytes);
/// assert_eq!(bytes, [0x00, 9, 0xff, 0x7d, 0x7f, 0]); // one 9, then 32,637 + 130 zeros
/// assert_eq!(coder.decode(&bytes)?, *chunk);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRle {
    /// How large the numbers are.
    pub width: ChannelWidth,
}

impl ValueRle {
    /// Most bytes of a chunk of values of this width.
    pub const fn max_bytes(self) -> usize {
        CHUNK_VOXELS * self.width.bytes() + CHUNK_VOXELS / MAX_LIST
    }

    /// Appends the code of a chunk; equal chunks have equal codes. Of each value only as many bytes
    /// as the width has are kept.
    pub fn encode(self, chunk: &ChannelChunk, out: &mut Vec<u8>) {
        let mut list = Vec::with_capacity(MAX_LIST);
        chunk.each_run(|value, count| {
            if count < MIN_RUN {
                for _ in 0..count {
                    list.push(value);
                    if list.len() == MAX_LIST {
                        self.put_list(&mut list, out);
                    }
                }
                return;
            }
            self.put_list(&mut list, out);
            match count.checked_sub(MIN_LONG_RUN) {
                None => out.push(RUN + (count - MIN_RUN) as u8),
                Some(more) => {
                    out.push(LONG_RUN);
                    out.extend((more as u16).to_le_bytes());
                }
            }
            self.put_value(value, out);
        });
        self.put_list(&mut list, out);
    }

    /// Decodes a chunk, all of `bytes`. Memory and work are bounded by them: 8 bytes for each
    /// value.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes end early, have more voxels than a chunk, or go on after them,
    /// and if all values are 0, which is not a chunk that holds something.
    pub fn decode(self, bytes: &[u8]) -> Result<ChannelChunk, DecodeError> {
        let (mut runs, mut voxel, mut offset) = (Vec::new(), 0, 0);
        while voxel < CHUNK_VOXELS {
            let wrong = |kind| DecodeError { offset, cell: voxel, kind };
            let truncated = wrong(DecodeErrorKind::Truncated { missing: CHUNK_VOXELS - voxel });
            let rest = &bytes[offset..];
            let (&lead, body) = rest.split_first().ok_or(truncated)?;
            let (count, values) = match (lead, body) {
                (LONG_RUN, [low, high, values @ ..]) => {
                    (usize::from(u16::from_le_bytes([*low, *high])) + MIN_LONG_RUN, values)
                }
                (LONG_RUN, _) => return Err(truncated),
                (RUN.., _) => (usize::from(lead - RUN) + MIN_RUN, body),
                _ => (usize::from(lead) + 1, body),
            };
            let left = CHUNK_VOXELS - voxel;
            if count > left {
                return Err(wrong(DecodeErrorKind::RunTooLong { run: count, left }));
            }
            let listed = if lead < RUN { count } else { 1 };
            let listed_bytes = listed * self.width.bytes();
            let (values, after) = values.split_at_checked(listed_bytes).ok_or(truncated)?;
            for (i, value) in values.chunks_exact(self.width.bytes()).enumerate() {
                let start = (voxel + i) as u16;
                let mut wide = [0; 4];
                wide[..value.len()].copy_from_slice(value);
                runs.push(ValueRun { start, value: u32::from_le_bytes(wide) });
            }
            offset = bytes.len() - after.len();
            voxel += count;
        }
        let wrong = |what| {
            let kind = DecodeErrorKind::NotCanonical(what);
            DecodeError { offset, cell: CHUNK_VOXELS, kind }
        };
        if offset < bytes.len() {
            return Err(wrong("bytes follow the last value"));
        }
        ChannelChunk::of_runs(runs).ok_or(wrong("all values are 0"))
    }

    fn put_list(self, list: &mut Vec<u32>, out: &mut Vec<u8>) {
        if !list.is_empty() {
            out.push((list.len() - 1) as u8);
            list.iter().for_each(|&value| self.put_value(value, out));
            list.clear();
        }
    }

    fn put_value(self, value: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&value.to_le_bytes()[..self.width.bytes()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WIDTHS: [ChannelWidth; 3] = [ChannelWidth::U8, ChannelWidth::U16, ChannelWidth::U32];

    /// The slow twin: decodes one voxel after the other, from the words of `docs/format.md`.
    fn naive_decode(width: ChannelWidth, mut bytes: &[u8]) -> Option<Vec<u32>> {
        let mut values = Vec::new();
        let mut take = |count: usize| {
            let (taken, rest) = bytes.split_at_checked(count)?;
            bytes = rest;
            Some(taken.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte)))
        };
        while values.len() < CHUNK_VOXELS {
            let lead = take(1)?;
            let count = match lead {
                0xff => take(2)? as usize + 130,
                0x80.. => (lead - 0x80 + 3) as usize,
                _ => lead as usize + 1,
            };
            if lead < 0x80 {
                for _ in 0..count {
                    values.push(take(width.bytes())?);
                }
            } else {
                let value = take(width.bytes())?;
                values.extend(std::iter::repeat_n(value, count));
            }
        }
        let is_whole = values.len() == CHUNK_VOXELS && bytes.is_empty();
        (is_whole && values.iter().any(|&value| value > 0)).then_some(values)
    }

    fn encoded(width: ChannelWidth, values: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        let chunk = ChannelChunk::of_values(values).expect("not all 0");
        ValueRle { width }.encode(&chunk, &mut out);
        out
    }

    /// Values of a chunk that are not all 0.
    fn values(max: u32) -> impl Strategy<Value = Vec<u32>> {
        let run = prop_oneof![
            4 => (1..4usize, 0..=max.min(3)),
            2 => (1..900usize, 0..=max),
            1 => (120..140usize, 0..=max),
        ];
        let noise = 0..20_000usize;
        (proptest::collection::vec(run, 1..60), noise, 1..=max).prop_map(|(runs, noise, last)| {
            let mut values: Vec<u32> =
                runs.into_iter().flat_map(|(count, value)| vec![value; count]).collect();
            values.extend((0..noise as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7 & last));
            values.resize(CHUNK_VOXELS - 1, 0);
            values.push(last);
            values
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_decoded_is_what_was_encoded(values in values(255), width in 0..3usize) {
            let coder = ValueRle { width: WIDTHS[width] };
            let bytes = encoded(coder.width, &values);
            prop_assert!(bytes.len() <= coder.max_bytes());
            prop_assert_eq!(naive_decode(coder.width, &bytes), Some(values.clone()));
            prop_assert_eq!(coder.decode(&bytes).ok(), ChannelChunk::of_values(&values));
        }

        #[test]
        fn large_values_come_back(values in values(u32::MAX)) {
            let coder = ValueRle { width: ChannelWidth::U32 };
            let bytes = encoded(coder.width, &values);
            prop_assert_eq!(coder.decode(&bytes).ok(), ChannelChunk::of_values(&values));
        }

        #[test]
        fn any_bytes_are_a_chunk_or_an_error(
            parts in proptest::collection::vec((any::<u8>(), any::<[u8; 3]>(), 0..6usize), 0..400),
            width in 0..3usize,
        ) {
            let mut bytes = Vec::new();
            for (lead, body, count) in parts {
                bytes.push(lead);
                bytes.extend(body.iter().cycle().take(count));
            }
            let coder = ValueRle { width: WIDTHS[width] };
            match coder.decode(&bytes) {
                Ok(chunk) => {
                    let mut values = Vec::new();
                    chunk.unpack(&mut values);
                    prop_assert_eq!(naive_decode(coder.width, &bytes), Some(values));
                }
                Err(error) => {
                    prop_assert!(error.offset <= bytes.len() && error.cell <= CHUNK_VOXELS);
                    prop_assert_eq!(naive_decode(coder.width, &bytes), None);
                }
            }
        }

        #[test]
        fn changed_bytes_are_a_chunk_or_an_error(
            values in values(65_535), at in any::<usize>(), to in any::<u8>(), end in any::<usize>(),
        ) {
            let coder = ValueRle { width: ChannelWidth::U16 };
            let mut bytes = encoded(coder.width, &values);
            let (at, end) = (at % bytes.len(), end % bytes.len());
            prop_assert!(coder.decode(&bytes[..end]).is_err());
            bytes[at] = to;
            let naive = naive_decode(coder.width, &bytes);
            prop_assert_eq!(coder.decode(&bytes).is_ok(), naive.is_some());
        }
    }

    #[test]
    fn the_bytes_of_known_chunks_are_fixed() {
        let mut values = vec![0; CHUNK_VOXELS];
        values[..9].copy_from_slice(&[1, 1, 2, 300, 300, 300, 300, 9, 9]);
        let bytes = encoded(ChannelWidth::U16, &values);
        let golden = [
            0x02, 1, 0, 1, 0, 2, 0, // 1, 1, 2
            0x81, 0x2c, 0x01, // four times 300
            0x01, 9, 0, 9, 0, // 9, 9
            0xff, 0x75, 0x7f, 0, 0, // 32,629 + 130 zeros
        ];
        assert_eq!(bytes, golden);
        let full = encoded(ChannelWidth::U32, &vec![u32::MAX; CHUNK_VOXELS]);
        assert_eq!(full, [0xff, 0x7e, 0x7f, 0xff, 0xff, 0xff, 0xff]);
        values[..129].fill(5);
        values[129..].fill(6);
        let bytes = encoded(ChannelWidth::U8, &values);
        assert_eq!(bytes, [0xfe, 5, 0xff, 0xfd, 0x7e, 6]);
    }

    #[test]
    fn noise_takes_as_many_bytes_as_are_promised() {
        let values: Vec<u32> = (0..CHUNK_VOXELS as u32).map(|i| i % 251 + 1).collect();
        for width in WIDTHS {
            let bytes = encoded(width, &values);
            assert_eq!(bytes.len(), ValueRle { width }.max_bytes());
        }
    }

    #[test]
    fn errors_say_where_and_what() {
        let decode = |bytes: &[u8]| {
            let error = ValueRle { width: ChannelWidth::U8 }.decode(bytes);
            error.expect_err("invalid").to_string()
        };
        assert_eq!(
            decode(&[]),
            "run at byte 0, cell 0: the data ends while 32768 cells are missing"
        );
        assert_eq!(
            decode(&[0x80, 1, 0xff, 0xff, 0xff, 0]),
            "run at byte 2, cell 3: a run of 65665 cells where only 32765 are left"
        );
        assert_eq!(decode(&[0xff, 0x7e, 0x7f, 0]), "run at byte 4, cell 32768: all values are 0");
        assert_eq!(
            decode(&[0xff, 0x7e, 0x7f, 1, 0]),
            "run at byte 4, cell 32768: bytes follow the last value"
        );
    }
}
