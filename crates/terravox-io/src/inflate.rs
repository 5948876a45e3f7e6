//! Unpacks deflate: as it is, or within zlib or gzip.
//!
//! A block costs its tables, whether or not bytes come out of it: an empty one takes ten bits of a
//! file, and more than six microseconds. So the decoder stops between blocks, and each is paid for
//! before it is begun. What the bytes themselves cost is for the caller to spend.
//!
//! Source: RFC 1950, 1951 and 1952.

use crate::import_budget::{BudgetError, ImportBudget};
use flate2::Crc;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use std::ops::Range;

/// Units of work of a block.
const BLOCK_WORK: u64 = 10_000;
/// How far back a match reaches at most.
const WINDOW_BYTES: usize = 1 << 15;
/// Bytes before the optional fields of gzip.
const GZIP_HEADER_BYTES: usize = 10;

/// What is around the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeflateFormat {
    Raw,
    Zlib,
    /// The first member of a file; what follows it is ignored.
    Gzip,
}

/// Why bytes cannot be unpacked.
#[derive(Debug)]
pub(crate) enum InflateError {
    Damaged,
    OverBudget(BudgetError),
}

impl From<BudgetError> for InflateError {
    fn from(error: BudgetError) -> InflateError {
        InflateError::OverBudget(error)
    }
}

/// Yields the unpacked bytes of packed ones.
pub(crate) struct Inflater<'a> {
    packed: &'a [u8],
    format: DeflateFormat,
    state: Box<DecompressorOxide>,
    window: Vec<u8>,
    /// Where unpacked bytes lie in the window that are not returned yet.
    unread: Range<usize>,
    progress: InflateProgress,
    /// Of what was unpacked from gzip.
    crc: Crc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InflateProgress {
    BeforeBlock,
    WithinBlock,
    Done,
    Damaged,
}

impl<'a> Inflater<'a> {
    pub fn new(packed: &'a [u8], format: DeflateFormat) -> Inflater<'a> {
        let content = match format {
            DeflateFormat::Gzip => gzip_content(packed),
            DeflateFormat::Raw | DeflateFormat::Zlib => Some(packed),
        };
        let progress = content.map_or(InflateProgress::Damaged, |_| InflateProgress::BeforeBlock);
        Inflater {
            packed: content.unwrap_or_default(),
            format,
            state: Box::default(),
            window: vec![0; WINDOW_BYTES],
            unread: 0..0,
            progress,
            crc: Crc::new(),
        }
    }

    /// Unpacks some bytes into `out`; returns how many, 0 at the end.
    pub fn read(
        &mut self,
        out: &mut [u8],
        budget: &mut ImportBudget,
    ) -> Result<usize, InflateError> {
        while self.unread.is_empty() {
            match self.progress {
                InflateProgress::Done => return Ok(0),
                InflateProgress::Damaged => return Err(InflateError::Damaged),
                InflateProgress::BeforeBlock => {
                    budget.spend_work("its packed blocks", BLOCK_WORK)?;
                    self.step();
                }
                InflateProgress::WithinBlock => self.step(),
            }
        }
        let count = out.len().min(self.unread.len());
        let start = self.unread.start;
        out[..count].copy_from_slice(&self.window[start..start + count]);
        self.unread.start += count;
        Ok(count)
    }

    /// Fills `out`; it is an error if there are fewer bytes.
    pub fn read_exact(
        &mut self,
        mut out: &mut [u8],
        budget: &mut ImportBudget,
    ) -> Result<(), InflateError> {
        while !out.is_empty() {
            match self.read(out, budget)? {
                0 => return Err(InflateError::Damaged),
                count => out = &mut out[count..],
            }
        }
        Ok(())
    }

    /// Unpacks to the end of a block, or of the window.
    fn step(&mut self) {
        let start = self.unread.end % WINDOW_BYTES;
        let flags = inflate_flags::TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY
            | match self.format {
                DeflateFormat::Zlib => inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER,
                DeflateFormat::Raw | DeflateFormat::Gzip => 0,
            };
        let (status, taken, given) =
            decompress(&mut self.state, self.packed, &mut self.window, start, flags);
        self.packed = &self.packed[taken..];
        self.unread = start..start + given;
        if self.format == DeflateFormat::Gzip {
            self.crc.update(&self.window[self.unread.clone()]);
        }
        self.progress = match status {
            TINFLStatus::BlockBoundary => InflateProgress::BeforeBlock,
            TINFLStatus::HasMoreOutput if taken + given > 0 => InflateProgress::WithinBlock,
            TINFLStatus::Done if self.is_gzip_end_right() => InflateProgress::Done,
            _ => InflateProgress::Damaged,
        };
    }

    /// Whether checksum and length at the end are those of what was unpacked.
    fn is_gzip_end_right(&self) -> bool {
        let end = [self.crc.sum().to_le_bytes(), self.crc.amount().to_le_bytes()].concat();
        self.format != DeflateFormat::Gzip || self.packed.starts_with(&end)
    }
}

/// The blocks of a member of gzip, and what follows them; `None` if its header is wrong.
fn gzip_content(member: &[u8]) -> Option<&[u8]> {
    let (header, mut rest) = member.split_first_chunk::<GZIP_HEADER_BYTES>()?;
    let flags = header[3];
    if !header.starts_with(&[0x1F, 0x8B, 8]) || flags & 0xE0 != 0 {
        return None;
    }
    if flags & 4 != 0 {
        let (length, fields) = rest.split_first_chunk::<2>()?;
        rest = fields.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    // A name and a comment, each with a zero behind it.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    // A checksum of the header.
    if flags & 2 != 0 { rest.get(2..) } else { Some(rest) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::import_budget::ImportLimits;
    use flate2::{Compression, GzBuilder};
    use proptest::prelude::*;
    use std::io::{Read, Write};

    /// Empty blocks of fixed codes, four in five bytes, none of them the last.
    pub(crate) fn empty_blocks(bytes: usize) -> Vec<u8> {
        let four = (0..4).fold(0u64, |bits, i| bits | 0b010 << (10 * i));
        four.to_le_bytes()[..5].repeat(bytes / 5)
    }

    fn unpacked(
        packed: &[u8],
        format: DeflateFormat,
        step: usize,
    ) -> Result<(Vec<u8>, u64), InflateError> {
        let mut budget = ImportBudget::for_input(packed.len());
        let mut inflater = Inflater::new(packed, format);
        let (mut out, mut part) = (Vec::new(), vec![0; step]);
        loop {
            match inflater.read(&mut part, &mut budget)? {
                0 => return Ok((out, budget.spent().work)),
                count => out.extend(&part[..count]),
            }
        }
    }

    fn pack(text: &[u8], format: DeflateFormat, level: u32) -> Vec<u8> {
        let level = Compression::new(level);
        let mut out = Vec::new();
        match format {
            DeflateFormat::Raw => {
                flate2::read::DeflateEncoder::new(text, level).read_to_end(&mut out).expect("read");
            }
            DeflateFormat::Zlib => {
                flate2::read::ZlibEncoder::new(text, level).read_to_end(&mut out).expect("read");
            }
            DeflateFormat::Gzip => {
                let builder = GzBuilder::new().filename("a").comment("b").extra(vec![1, 2, 3]);
                let mut encoder = builder.write(out, level);
                encoder.write_all(text).expect("written");
                out = encoder.finish().expect("written");
            }
        }
        out
    }

    const FORMATS: [DeflateFormat; 3] =
        [DeflateFormat::Raw, DeflateFormat::Zlib, DeflateFormat::Gzip];

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked_in_steps_of_any_length(
            part in prop::collection::vec(any::<u8>(), 1..300),
            count in 1..900usize,
            level in 0..9u32,
            step in 1..70_000usize,
        ) {
            let text = part.repeat(count);
            for format in FORMATS {
                let packed = pack(&text, format, level);
                let (out, work) = unpacked(&packed, format, step).expect("unpacked");
                prop_assert!(out == text);
                prop_assert!(work < BLOCK_WORK * (2 + text.len() as u64 / 4096));
                // Each byte of checksums counts, and no end may be missing.
                let last = packed.len() - 1;
                prop_assert!(unpacked(&packed[..last], format, step).is_err());
                if format != DeflateFormat::Raw {
                    let mut changed = packed.clone();
                    changed[last] ^= 1;
                    prop_assert!(unpacked(&changed, format, step).is_err());
                }
            }
        }

        #[test]
        fn any_bytes_are_unpacked_as_by_flate2(bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            for start in [&[][..], &[0x78, 0x9C], &[5], &[3]] {
                let packed = [start, &bytes].concat();
                let mut expected = Vec::new();
                let is_ok = flate2::read::DeflateDecoder::new(&packed[..])
                    .read_to_end(&mut expected)
                    .is_ok();
                let found = unpacked(&packed, DeflateFormat::Raw, 100);
                prop_assert_eq!(found.ok().map(|(out, _)| out), is_ok.then_some(expected));
                let _ = unpacked(&packed, DeflateFormat::Zlib, 100);
                let member = [&[0x1F, 0x8B, 8], &packed[..]].concat();
                let _ = unpacked(&member, DeflateFormat::Gzip, 100);
            }
        }
    }

    #[test]
    fn empty_blocks_are_paid_for_one_by_one() {
        let text = pack(b"text", DeflateFormat::Raw, 9);
        let packed = [empty_blocks(5000), text.clone()].concat();
        let (out, work) = unpacked(&packed, DeflateFormat::Raw, 100).expect("cheap enough");
        assert_eq!((&out[..], work), (&b"text"[..], 4001 * BLOCK_WORK));
        let packed = [empty_blocks(500_000), text].concat();
        let mut budget = ImportBudget::new(ImportLimits {
            work: 5_000_000,
            ..ImportLimits::for_input(packed.len())
        });
        let read = Inflater::new(&packed, DeflateFormat::Raw).read(&mut [0; 9], &mut budget);
        assert!(matches!(read, Err(InflateError::OverBudget(_))));
    }
}
