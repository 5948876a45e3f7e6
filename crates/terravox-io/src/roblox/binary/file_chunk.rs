//! One chunk of the container: its header, its first bytes, and all of them.

use super::super::error::{FilePart, RobloxError};
use super::lz4_prefix::unpack_prefix;
use super::zstd::ZstdFrame;
use crate::import_budget::{BudgetError, ImportBudget};
use ruzstd::decoding::FrameDecoder;
use std::borrow::Cow;

const HEADER_BYTES: usize = 16;
/// An LZ4 block decompresses to at most this many times its length, plus [`LZ4_EXTRA_BYTES`].
const LZ4_MAX_RATIO: u64 = 255;
/// Room for the literals of a short LZ4 block.
const LZ4_EXTRA_BYTES: u64 = 64;
/// Units of work for a chunk's header and prefix.
const CHUNK_WORK: u64 = 256;

/// Bytes that show what a chunk is: class, name and type of a property.
pub(super) const PREFIX_BYTES: usize = 128;

/// One compressed chunk of the container.
#[derive(Clone, Copy)]
pub(super) struct FileChunk<'a> {
    pub name: [u8; 4],
    /// Offset of its header in the file.
    pub offset: usize,
    /// As in the file, perhaps compressed.
    pub payload: &'a [u8],
    /// Decompressed length of the payload, as the file claims.
    pub length: u64,
    is_packed: bool,
    /// Offset of the next chunk.
    pub end: usize,
}

/// The first bytes of a chunk.
pub(super) struct ChunkPrefix<'a> {
    bytes: [u8; PREFIX_BYTES],
    length: usize,
    /// All bytes, if they had to be unpacked.
    whole: Option<Cow<'a, [u8]>>,
}

impl<'a> ChunkPrefix<'a> {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Returns all bytes of the chunk, if they had to be unpacked.
    pub fn into_whole(self) -> Option<Cow<'a, [u8]>> {
        self.whole
    }
}

impl<'a> FileChunk<'a> {
    /// Parses the chunk at `offset` of the file.
    pub fn parse(bytes: &'a [u8], offset: usize) -> Result<FileChunk<'a>, RobloxError> {
        let Some(header) = bytes[offset..].first_chunk::<HEADER_BYTES>() else {
            let what = "the file ends without an END chunk";
            return Err(RobloxError::damaged(FilePart::File, offset, what));
        };
        let word =
            |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let name = [header[0], header[1], header[2], header[3]];
        let (packed, length) = (word(4), word(8));
        let stored = if packed == 0 { length } else { packed };
        let payload = &bytes[offset + HEADER_BYTES..];
        if u64::from(stored) > payload.len() as u64 {
            let what = format!(
                "chunk {} claims {stored} bytes, {} are left",
                name.escape_ascii(),
                payload.len()
            );
            return Err(RobloxError::damaged(FilePart::File, offset, what));
        }
        let payload = &payload[..stored as usize];
        let end = offset + HEADER_BYTES + payload.len();
        let is_packed = packed != 0;
        let chunk = FileChunk { name, offset, payload, length: length.into(), is_packed, end };
        let is_lz4 = is_packed && chunk.zstd_frame().is_none();
        if is_lz4 && chunk.length > payload.len() as u64 * LZ4_MAX_RATIO + LZ4_EXTRA_BYTES {
            let what = format!("{} bytes cannot unpack to {length}", payload.len());
            return Err(chunk.damaged(what));
        }
        Ok(chunk)
    }

    fn zstd_frame(&self) -> Option<ZstdFrame<'a>> {
        ZstdFrame::parse(self.payload, self.length)
    }

    pub fn damaged(&self, what: impl std::fmt::Display) -> RobloxError {
        let what = format!("chunk {}: {what}", self.name.escape_ascii());
        RobloxError::damaged(FilePart::File, self.offset, what)
    }

    /// For `map_err`: this chunk exceeds the budget.
    pub fn over_budget(&self) -> impl Fn(BudgetError) -> RobloxError {
        let offset = self.offset;
        move |error| RobloxError::OverBudget { part: FilePart::File, offset, error }
    }

    /// Decompresses the first [`PREFIX_BYTES`], or fewer if the payload is shorter.
    pub fn prefix(
        &self,
        decoder: &mut FrameDecoder,
        budget: &mut ImportBudget,
    ) -> Result<ChunkPrefix<'a>, RobloxError> {
        let what = "the headers of its chunks";
        budget.spend_work(what, CHUNK_WORK).map_err(self.over_budget())?;
        let mut prefix = ChunkPrefix { bytes: [0; PREFIX_BYTES], length: 0, whole: None };
        let wanted = self.length.min(PREFIX_BYTES as u64) as usize;
        let out = &mut prefix.bytes[..wanted];
        prefix.length = match self.zstd_frame() {
            _ if !self.is_packed => {
                out.copy_from_slice(&self.payload[..wanted]);
                wanted
            }
            Some(frame) => {
                budget.spend_work(what, frame.prefix_work()).map_err(self.over_budget())?;
                frame.unpack_prefix(decoder, out).map_err(|error| self.zstd_error(&error))?
            }
            None => unpack_prefix(self.payload, out)
                .ok_or_else(|| self.damaged("LZ4: its first bytes are damaged"))?,
        };
        if prefix.length < wanted {
            // The first block of a zstd frame may be short.
            let unpacked = self.unpack(decoder, budget)?;
            prefix.bytes[..wanted].copy_from_slice(&unpacked[..wanted]);
            prefix.length = wanted;
            prefix.whole = Some(unpacked);
        }
        Ok(prefix)
    }

    fn zstd_error(&self, error: &std::io::Error) -> RobloxError {
        self.damaged(format!("zstd: {error}"))
    }

    /// Decompresses the payload, whose length is spent first.
    pub fn unpack(
        &self,
        decoder: &mut FrameDecoder,
        budget: &mut ImportBudget,
    ) -> Result<Cow<'a, [u8]>, RobloxError> {
        if !self.is_packed {
            return Ok(Cow::Borrowed(self.payload));
        }
        let frame = self.zstd_frame();
        let (memory, work) = match &frame {
            Some(frame) => (frame.unpack_memory(), frame.unpack_work()),
            None => (self.length, self.length),
        };
        budget.spend_memory("a chunk to unpack", memory).map_err(self.over_budget())?;
        budget.spend_work("a chunk to unpack", work).map_err(self.over_budget())?;
        let unpacked = match frame {
            Some(frame) => frame.unpack(decoder).map_err(|error| self.zstd_error(&error))?,
            None => self.unpack_lz4()?,
        };
        if unpacked.len() as u64 != self.length {
            let what = format!("{} bytes where {} are claimed", unpacked.len(), self.length);
            return Err(self.damaged(what));
        }
        Ok(Cow::Owned(unpacked))
    }

    fn unpack_lz4(&self) -> Result<Vec<u8>, RobloxError> {
        let mut unpacked = vec![0; self.length as usize];
        let length = lz4_flex::block::decompress_into(self.payload, &mut unpacked)
            .map_err(|error| self.damaged(format!("LZ4: {error}")))?;
        unpacked.truncate(length);
        Ok(unpacked)
    }
}
