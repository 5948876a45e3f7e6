//! Writes a zip of a few deflated files, all with one old date so that equal contents give equal
//! bytes.
//!
//! Source: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification" 6.3.10, without the extensions for
//! files of more than 4 GB.

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
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

/// Counts and sums up bytes on their way to the encoder.
struct SummedEncoder {
    encoder: DeflateEncoder<Vec<u8>>,
    crc: Crc,
    bytes: u64,
}

impl Write for SummedEncoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.encoder.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.flush()
    }
}

impl<W: Write> ZipWriter<W> {
    pub fn new(out: W) -> ZipWriter<W> {
        ZipWriter { out, offset: 0, directory: Vec::new(), count: 0 }
    }

    /// Adds a file with what `content` writes. Holds it compressed in memory.
    pub fn file(
        &mut self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let summed = SummedEncoder { encoder, crc: Crc::new(), bytes: 0 };
        let mut buffer = io::BufWriter::with_capacity(1 << 16, summed);
        content(&mut buffer)?;
        let SummedEncoder { encoder, crc, bytes } =
            buffer.into_inner().map_err(io::IntoInnerError::into_error)?;
        let packed = encoder.finish()?;
        let size = |bytes: u64| u32::try_from(bytes).map_err(|_| too_long());
        let sizes = [size(packed.len() as u64)?, size(bytes)?];
        let shared = entry(crc.sum(), sizes, name.len() as u16);
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
        self.put(&packed)
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
