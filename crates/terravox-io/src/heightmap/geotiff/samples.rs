//! Blocks of samples, which are strips or tiles: their bytes unpacked, predictors undone, samples
//! of the first band as numbers.
//!
//! Source: "TIFF, revision 6.0" (Adobe, 1992), predictors 1 and 2; "TIFF technical note 3" (Adobe,
//! 2005), predictor 3.

use super::super::error::HeightmapError;
use crate::import_budget::ImportBudget;
use crate::inflate::{DeflateFormat, InflateError, Inflater};
use crate::zstd_blocks::block_works;
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

/// Units of work for the tables of a Zstandard decoder.
const ZSTD_WORK: u64 = 1 << 13;
/// The code of LZW that empties the table; the next one, which ends the block, stands for no string.
const CLEAR_CODE: usize = 256;
/// The first code of LZW that stands for a string of several bytes.
const FIRST_CODE: usize = 258;
/// Codes of LZW have at most 12 bits.
const MAX_CODES: usize = 4096;

/// How the bytes of a block are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockPacking {
    None,
    Lzw,
    Deflate,
    PackBits,
    Zstd,
}

impl BlockPacking {
    /// The packing of tag 259.
    pub fn of(code: u64) -> Option<BlockPacking> {
        Some(match code {
            1 => BlockPacking::None,
            5 => BlockPacking::Lzw,
            8 | 32946 => BlockPacking::Deflate,
            32773 => BlockPacking::PackBits,
            50000 => BlockPacking::Zstd,
            _ => return None,
        })
    }

    /// Returns how many bytes are unpacked before the first comes out, at most.
    pub fn unseen_bytes(self, packed: &[u8]) -> u64 {
        match self {
            BlockPacking::Zstd => zstd_window_bytes(packed).unwrap_or(0),
            _ => 0,
        }
    }

    /// Unpacks a block of exactly as many bytes as `out` has; what follows them is ignored. The
    /// bytes are paid for by the caller; `budget` is for the tables of the decoder.
    pub fn unpack(
        self,
        packed: &[u8],
        out: &mut [u8],
        budget: &mut ImportBudget,
    ) -> Result<(), HeightmapError> {
        let wanted = out.len();
        let short = || HeightmapError::Tiff(format!("a block has fewer than its {wanted} bytes"));
        match self {
            BlockPacking::None => {
                out.copy_from_slice(packed.get(..wanted).ok_or_else(short)?);
                Ok(())
            }
            BlockPacking::Lzw => unpack_lzw(packed, out).ok_or_else(short),
            BlockPacking::Deflate => {
                let read = Inflater::new(packed, DeflateFormat::Zlib).read_exact(out, budget);
                read.map_err(|error| match error {
                    InflateError::Damaged => short(),
                    InflateError::OverBudget(error) => error.into(),
                })
            }
            BlockPacking::PackBits => unpack_bits(packed, out).ok_or_else(short),
            BlockPacking::Zstd => {
                let work = ZSTD_WORK + block_works(packed).sum::<u64>();
                budget.spend_work("its blocks", work)?;
                let stream = StreamingDecoder::new(packed);
                let mut stream = stream.map_err(|_| short())?;
                stream.read_exact(out).map_err(|_| short())
            }
        }
    }
}

/// Returns the window of a Zstandard frame: RFC 8878, 3.1.1.1. `None` if it has no header.
fn zstd_window_bytes(packed: &[u8]) -> Option<u64> {
    let [_, _, _, _, descriptor, rest @ ..] = packed else { return None };
    if descriptor & 0x20 == 0 {
        let window = rest.first()?;
        let base = 1u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // One segment: the window is the content, whose size follows the number of the dictionary.
    let skipped = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes = rest.get(skipped..)?;
    let size = |count: usize| {
        let bytes = bytes.get(..count)?;
        Some(bytes.iter().rev().fold(0u64, |size, &byte| size << 8 | u64::from(byte)))
    };
    match descriptor >> 6 {
        0 => size(1),
        1 => Some(size(2)? + 256),
        2 => size(4),
        _ => size(8),
    }
}

/// Codes of 9 to 12 bits, the highest first, one sooner longer than they need to be. A new code stands
/// for the string before and the byte behind it, which lie side by side in `out`: so a table is emptied at
/// no cost, however often.
fn unpack_lzw(packed: &[u8], out: &mut [u8]) -> Option<()> {
    // Start and length in `out` of the string of each code from FIRST_CODE on.
    let mut strings: Vec<(usize, usize)> = Vec::with_capacity(MAX_CODES - FIRST_CODE);
    let mut before: Option<(usize, usize)> = None;
    let (mut bits, mut ready, mut width) = (0u32, 0, 9);
    let (mut from, mut at) = (packed.iter(), 0);
    while at < out.len() {
        while ready < width {
            bits = bits << 8 | u32::from(*from.next()?);
            ready += 8;
        }
        ready -= width;
        let code = (bits >> ready) as usize & ((1 << width) - 1);
        if code == CLEAR_CODE {
            strings.clear();
            (before, width) = (None, 9);
            continue;
        }
        if let Some((start, length)) = before.filter(|_| FIRST_CODE + strings.len() < MAX_CODES) {
            strings.push((start, length + 1));
            if FIRST_CODE + strings.len() == (1 << width) - 1 && width < 12 {
                width += 1;
            }
        }
        let start = at;
        if code < CLEAR_CODE {
            out[at] = code as u8;
            at += 1;
        } else {
            let (old, length) = *strings.get(code.checked_sub(FIRST_CODE)?)?;
            let end = out.len().min(at + length);
            // A string may reach into what is written here.
            for i in old..old + (end - at) {
                out[at] = out[i];
                at += 1;
            }
        }
        before = Some((start, at - start));
    }
    Some(())
}

/// Runs of bytes: a count and literals, or a count and one byte.
fn unpack_bits(packed: &[u8], out: &mut [u8]) -> Option<()> {
    let (mut from, mut at) = (0, 0);
    while at < out.len() {
        let count = i8::from_le_bytes([*packed.get(from)?]);
        from += 1;
        match count {
            -128 => {}
            0.. => {
                let wanted = count as usize + 1;
                let literals = packed.get(from..from + wanted)?;
                let fits = wanted.min(out.len() - at);
                out[at..at + fits].copy_from_slice(&literals[..fits]);
                (from, at) = (from + wanted, at + fits);
            }
            _ => {
                let end = (at + 1 + usize::from(count.unsigned_abs())).min(out.len());
                out[at..end].fill(*packed.get(from)?);
                (from, at) = (from + 1, end);
            }
        }
    }
    Some(())
}

/// What a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleKind {
    Unsigned,
    Signed,
    Float,
}

/// How samples lie in the bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleLayout {
    pub kind: SampleKind,
    /// Bytes of a sample: 1, 2, 4 or 8.
    pub bytes: usize,
    /// Samples of a pixel, of which the first counts.
    pub interleaved: usize,
    /// 1: none; 2: differences; 3: differences of floats, byte by byte.
    pub predictor: u64,
    pub is_big_endian: bool,
}

impl SampleLayout {
    /// Bytes of a row of pixels.
    pub fn row_bytes(&self, pixels: usize) -> usize {
        pixels * self.interleaved * self.bytes
    }

    /// Undoes the predictor of a row; its samples are little-endian then.
    pub fn restore(&self, row: &mut [u8], spare: &mut Vec<u8>) {
        let bytes = self.bytes;
        if self.predictor == 3 {
            for i in self.interleaved..row.len() {
                row[i] = row[i].wrapping_add(row[i - self.interleaved]);
            }
            // The most significant bytes of all samples come first.
            spare.clear();
            spare.extend_from_slice(row);
            let count = row.len() / bytes;
            for (i, sample) in row.chunks_exact_mut(bytes).enumerate() {
                for (byte, to) in sample.iter_mut().rev().enumerate() {
                    *to = spare[byte * count + i];
                }
            }
            return;
        }
        if self.is_big_endian {
            row.chunks_exact_mut(bytes).for_each(<[u8]>::reverse);
        }
        if self.predictor == 2 {
            let stride = bytes * self.interleaved;
            for i in (stride..row.len()).step_by(bytes) {
                let number = |at: usize| {
                    let sample = &row[at..at + bytes];
                    sample.iter().rev().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte))
                };
                let sum = number(i).wrapping_add(number(i - stride));
                row[i..i + bytes].copy_from_slice(&sum.to_le_bytes()[..bytes]);
            }
        }
    }

    /// The first sample of a pixel of a restored row.
    pub fn sample(&self, row: &[u8], pixel: usize) -> f64 {
        let at = pixel * self.interleaved * self.bytes;
        let mut word = [0; 8];
        word[..self.bytes].copy_from_slice(&row[at..at + self.bytes]);
        let bits = u64::from_le_bytes(word);
        let unused = 64 - 8 * self.bytes as u32;
        match (self.kind, self.bytes) {
            (SampleKind::Unsigned, _) => bits as f64,
            (SampleKind::Signed, _) => ((bits << unused) as i64 >> unused) as f64,
            (SampleKind::Float, 4) => f64::from(f32::from_bits(bits as u32)),
            (SampleKind::Float, _) => f64::from_bits(bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weezl::{BitOrder, decode, encode};

    fn unpacked(packed: &[u8], length: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; length];
        unpack_lzw(packed, &mut out).map(|()| out)
    }

    proptest! {
        #[test]
        fn lzw_is_unpacked_as_weezl_packs_it(
            part in prop::collection::vec(any::<u8>(), 1..9000),
            count in 1..30usize,
        ) {
            let text = part.repeat(count);
            let packed =
                encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8).encode(&text).unwrap();
            prop_assert!(unpacked(&packed, text.len()) == Some(text.clone()));
            prop_assert!(unpacked(&packed, text.len() + 1).is_none());
            prop_assert!(unpacked(&packed, text.len() / 2).as_deref() == Some(&text[..text.len() / 2]));
        }

        #[test]
        fn any_bytes_are_unpacked_as_by_weezl(bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            let packed = [&[0x80][..], &bytes].concat();
            let mut expected = Vec::new();
            let mut decoder = decode::Decoder::with_tiff_size_switch(BitOrder::Msb, 8);
            let _ = decoder.into_vec(&mut expected).decode(&packed);
            for length in [expected.len(), expected.len() / 2] {
                let found = unpacked(&packed, length);
                prop_assert_eq!(found.as_deref(), Some(&expected[..length]));
            }
            prop_assert!(unpacked(&packed, expected.len() + 1).is_none());
        }
    }

    #[test]
    fn a_table_that_is_emptied_again_and_again_gives_no_bytes() {
        let codes = [0x80, 0x40, 0x20, 0x10, 0x08, 0x04, 0x02, 0x01, 0x00].repeat(1000);
        assert_eq!(unpacked(&codes, 1), None);
        // Then the code 7, twice.
        let packed = [&codes[..], &[0x03, 0x81, 0xC0]].concat();
        assert_eq!(unpacked(&packed, 2), Some(vec![7, 7]));
    }
}
