//! Payloads packed by zstd: whole, or the first block only.
//!
//! A decoder holds bytes back until they have left the window of the frame, so a stream over a
//! frame of one large window returns nothing before the frame is unpacked. For a prefix, the first
//! block is presented as a frame of its own.
//!
//! Source: RFC 8878.

use crate::zstd_blocks::{self, MAGIC, block_works};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{Error, Read};

/// Largest window for payloads shorter than that; what the format asks all decoders to support.
const MAX_WINDOW_BYTES: u64 = 8 << 20;
/// Largest block.
const BLOCK_BYTES: u64 = 128 << 10;
/// Header of a frame whose window is one block: no checksum, no length, no dictionary.
const BLOCK_FRAME_HEADER: [u8; 6] = [0x28, 0xB5, 0x2F, 0xFD, 0, 7 << 3];
/// Units of work of an unpacked byte.
const BYTE_WORK: u64 = 6;
/// Units of work for the tables of a frame.
const FRAME_WORK: u64 = 1 << 13;
/// Maximum number of bytes that are allocated for a payload before it is decompressed.
const PREALLOCATED_BYTES: usize = 1 << 20;

/// A packed payload.
#[derive(Clone, Copy)]
pub(super) struct ZstdFrame<'a> {
    bytes: &'a [u8],
    /// Length of the header; 0 if the header is cut short.
    header_bytes: usize,
    window_bytes: u64,
    /// Length of the payload, as the file claims.
    length: u64,
}

impl<'a> ZstdFrame<'a> {
    /// Parses the frame header of a payload that claims `length` bytes; `None` if it is not zstd.
    pub fn parse(bytes: &'a [u8], length: u64) -> Option<ZstdFrame<'a>> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let mut frame = ZstdFrame { bytes, header_bytes: 0, window_bytes: 0, length };
        let Some(header_bytes) = zstd_blocks::header_bytes(bytes) else { return Some(frame) };
        frame.header_bytes = header_bytes;
        let has_window = rest[0] & 0x20 == 0;
        frame.window_bytes = match has_window {
            true => {
                let base = 1u64 << (10 + (rest[1] >> 3));
                base + base / 8 * u64::from(rest[1] & 7)
            }
            false => length,
        };
        Some(frame)
    }

    fn max_window(&self) -> u64 {
        self.length.max(MAX_WINDOW_BYTES)
    }

    /// Returns the memory of [`Self::unpack`]: the payload, and a window rounded up.
    pub fn unpack_memory(&self) -> u64 {
        self.length + 2 * self.window_bytes.min(self.max_window())
    }

    /// Returns the units of work of [`Self::unpack`].
    pub fn unpack_work(&self) -> u64 {
        FRAME_WORK + block_works(self.bytes).sum::<u64>() + BYTE_WORK * self.length
    }

    /// Returns the units of work of [`Self::unpack_prefix`].
    pub fn prefix_work(&self) -> u64 {
        let block = block_works(self.bytes).next().unwrap_or(0);
        FRAME_WORK + block + BYTE_WORK * self.length.min(BLOCK_BYTES)
    }

    /// Decompresses the payload, up to one byte more than it claims.
    pub fn unpack(&self, decoder: &mut FrameDecoder) -> Result<Vec<u8>, Error> {
        decoder.set_max_window_size(self.max_window());
        let stream = StreamingDecoder::new_with_decoder(self.bytes, decoder);
        let mut unpacked = Vec::with_capacity((self.length as usize).min(PREALLOCATED_BYTES));
        let stream = stream.map_err(Error::other)?;
        stream.take(self.length + 1).read_to_end(&mut unpacked)?;
        Ok(unpacked)
    }

    /// Decompresses bytes of the first block into `out`; returns how many.
    pub fn unpack_prefix(
        &self,
        decoder: &mut FrameDecoder,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let blocks = &self.bytes[self.header_bytes..];
        let header = blocks.first_chunk::<3>().filter(|_| self.header_bytes > 0);
        let Some(&[flags, middle, high]) = header else {
            return Err(Error::other("the first block is cut short"));
        };
        let size = usize::from(flags >> 3) | usize::from(middle) << 5 | usize::from(high) << 13;
        // A block of one repeated byte stores only that byte.
        let stored = if flags >> 1 & 3 == 1 { 1 } else { size };
        let content = &blocks[3..];
        let content = &content[..stored.min(content.len())];
        let [a, b, c, d, e, f] = BLOCK_FRAME_HEADER;
        let last_block = [a, b, c, d, e, f, flags | 1, middle, high];
        decoder.set_max_window_size(MAX_WINDOW_BYTES);
        let stream = StreamingDecoder::new_with_decoder(last_block.chain(content), decoder);
        let mut stream = stream.map_err(Error::other)?;
        let mut length = 0;
        while length < out.len() {
            match stream.read(&mut out[length..])? {
                0 => break,
                read => length += read,
            }
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    proptest! {
        #[test]
        fn the_first_block_holds_the_prefix(
            part in prop::collection::vec(any::<u8>(), 1..400),
            count in 1..900usize,
        ) {
            let text = part.repeat(count);
            let mut decoder = FrameDecoder::new();
            for level in [CompressionLevel::Uncompressed, CompressionLevel::Fastest] {
                let packed = compress_to_vec(&text[..], level);
                let frame = ZstdFrame::parse(&packed, text.len() as u64).expect("a frame");
                let mut prefix = [0; 128];
                let length = frame.unpack_prefix(&mut decoder, &mut prefix).unwrap();
                prop_assert_eq!(&prefix[..length], &text[..text.len().min(128)]);
                prop_assert_eq!(&frame.unpack(&mut decoder).unwrap(), &text);
            }
        }

        #[test]
        fn any_bytes_are_a_frame_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            length in 0..1000u64,
        ) {
            let packed = [&MAGIC[..], &bytes].concat();
            let frame = ZstdFrame::parse(&packed, length).expect("the magic number is right");
            let mut decoder = FrameDecoder::new();
            let _ = frame.unpack_prefix(&mut decoder, &mut [0; 128]);
            if let Ok(unpacked) = frame.unpack(&mut decoder) {
                prop_assert!(unpacked.len() as u64 <= length + 1);
            }
        }
    }
}
