//! Writes a zip of a few deflated files, all with one old date so that equal contents give equal
//! bytes.
//!
//! Source: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification" 6.3.10, without the extensions
//! for files of more than 4 GB.

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use rayon::prelude::*;
use std::io::{self, Write};

/// The version that can read it: 2.0, for deflate.
const VERSION: u16 = 20;
const DEFLATED: u16 = 8;
/// 1 January 1980, the first date that the format has.
const DATE: u16 = 1 << 5 | 1;

/// Writes files one after the other, then their list.
pub(super) struct ZipWriter<W: Write> {
    out: W,
    /// Bytes written.
    offset: u32,
    /// The list of files.
    directory: Vec<u8>,
    count: u16,
}

/// A part of a file: deflated, and what is known of its text.
struct PackedPart {
    bytes: Vec<u8>,
    crc: Crc,
}

impl PackedPart {
    /// Deflates a part so that the next may follow; the last ends the stream.
    fn of(text: &[u8], is_last: bool) -> io::Result<PackedPart> {
        // The fastest: level 6 makes our models 30 % smaller, in four times the time.
        let mut deflate = Compress::new(Compression::fast(), false);
        // A flush ends a part at a whole byte, once there is room left behind it.
        let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
        let mut bytes = Vec::with_capacity(text.len() / 4 + 64);
        loop {
            let rest = &text[deflate.total_in() as usize..];
            let status = deflate.compress_vec(rest, &mut bytes, flush)?;
            let has_all = deflate.total_in() == text.len() as u64;
            let is_done = match is_last {
                true => status == Status::StreamEnd,
                false => has_all && bytes.len() < bytes.capacity(),
            };
            if is_done {
                break;
            }
            bytes.reserve(bytes.capacity().max(64));
        }
        let mut crc = Crc::new();
        crc.update(text);
        Ok(PackedPart { bytes, crc })
    }
}

impl<W: Write> ZipWriter<W> {
    pub fn new(out: W) -> ZipWriter<W> {
        ZipWriter { out, offset: 0, directory: Vec::new(), count: 0 }
    }

    /// Adds a file of several parts, one after the other, of which `write` makes the text: on all
    /// threads, with equal bytes for any number of them. Holds the file compressed in memory.
    pub fn file<P: Sync>(
        &mut self,
        name: &str,
        parts: &[P],
        write: impl Fn(&P, &mut Vec<u8>) + Sync,
    ) -> io::Result<()> {
        let packed = parts.par_iter().enumerate().map(|(i, part)| {
            let mut text = Vec::new();
            write(part, &mut text);
            Ok((PackedPart::of(&text, i + 1 == parts.len())?, text.len() as u64))
        });
        let packed: Vec<(PackedPart, u64)> = packed.collect::<io::Result<_>>()?;
        let (mut crc, mut packed_bytes, mut text_bytes) = (Crc::new(), 0, 0);
        for (part, length) in &packed {
            crc.combine(&part.crc);
            packed_bytes += part.bytes.len() as u64;
            text_bytes += length;
        }
        let size = |bytes: u64| u32::try_from(bytes).map_err(|_| too_long());
        let shared = entry(crc.sum(), [size(packed_bytes)?, size(text_bytes)?], name.len() as u16);
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(VERSION.to_le_bytes());
        self.directory.extend(&shared);
        // No comment, the first disk, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(self.offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        self.put(b"PK\x03\x04")?;
        self.put(&shared)?;
        self.put(name.as_bytes())?;
        packed.iter().try_for_each(|(part, _)| self.put(&part.bytes))
    }

    /// Writes the list of files.
    pub fn finish(mut self) -> io::Result<()> {
        let start = self.offset;
        let directory = std::mem::take(&mut self.directory);
        self.put(&directory)?;
        let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
        end.extend(self.count.to_le_bytes());
        end.extend(self.count.to_le_bytes());
        end.extend((directory.len() as u32).to_le_bytes());
        end.extend(start.to_le_bytes());
        end.extend([0; 2]);
        self.put(&end)?;
        self.out.flush()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).ok();
        let offset = length.and_then(|length| self.offset.checked_add(length));
        self.offset = offset.ok_or_else(too_long)?;
        self.out.write_all(bytes)
    }
}

/// The fields that a file and the list have in common.
fn entry(crc: u32, sizes: [u32; 2], name_bytes: u16) -> Vec<u8> {
    let mut out = Vec::new();
    // The version to read it, no flags, midnight.
    [VERSION, 0, DEFLATED, 0, DATE].iter().for_each(|field| out.extend(field.to_le_bytes()));
    out.extend(crc.to_le_bytes());
    sizes.iter().for_each(|size| out.extend(size.to_le_bytes()));
    out.extend(name_bytes.to_le_bytes());
    // No extra field.
    out.extend([0; 2]);
    out
}

fn too_long() -> io::Error {
    io::Error::other("the model has more than 4 GB; export a smaller region or a higher mip")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_4_gb_is_refused() {
        let mut zip = ZipWriter { offset: u32::MAX - 4, ..ZipWriter::new(Vec::new()) };
        zip.put(b"last").expect("it ends at the limit");
        let line = zip.put(b"!").expect_err("too long").to_string();
        assert!(line.starts_with("the model has more than 4 GB") && !line.contains("--"), "{line}");
        assert_eq!(zip.out, b"last");
    }
}
