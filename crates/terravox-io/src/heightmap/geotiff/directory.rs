//! The header and the first directory of a TIFF or BigTIFF file, in either byte order.
//!
//! Source: "TIFF, revision 6.0" (Adobe, 1992); "The BigTIFF file format" (AWare Systems, libtiff).
//! Only the first directory is read: those after it are overviews and masks. An array is read only
//! if it lies within the file, so that the file's length bounds what is allocated.

use super::super::error::HeightmapError;
use crate::import_budget::ImportBudget;
use std::io::{Read, Seek, SeekFrom};

/// Maximum number of entries of a directory; real ones have some twenty.
const MAX_ENTRIES: u64 = 4096;

/// Longest array or block that is read at once. Files may be longer, and sparse: their length bounds nothing.
pub(super) const MAX_READ_BYTES: u64 = 2 << 30;

/// Returns so many zeros, or an error if there is no memory for them.
pub(super) fn zeros(count: u64) -> Result<Vec<u8>, HeightmapError> {
    let mut bytes = Vec::new();
    let room = usize::try_from(count).ok().filter(|_| count <= MAX_READ_BYTES);
    match room.map(|room| bytes.try_reserve_exact(room)) {
        Some(Ok(())) => bytes.resize(count as usize, 0),
        _ => {
            return Err(HeightmapError::Tiff(format!(
                "an array or block of it takes {count} bytes, at most {MAX_READ_BYTES} and what there is \
                 memory for; convert it to tiles"
            )));
        }
    }
    Ok(bytes)
}

/// A file and its byte order.
pub(super) struct TiffSource<R> {
    reader: R,
    pub length: u64,
    pub is_big_endian: bool,
}

impl<R: Read + Seek> TiffSource<R> {
    /// Reads bytes at an offset.
    pub fn bytes(&mut self, offset: u64, count: u64) -> Result<Vec<u8>, HeightmapError> {
        let end = offset.checked_add(count).filter(|&end| end <= self.length);
        if end.is_none() {
            let length = self.length;
            return Err(HeightmapError::Tiff(format!(
                "{count} bytes at {offset} are outside of its {length} bytes"
            )));
        }
        let mut bytes = zeros(count)?;
        let read = self.reader.seek(SeekFrom::Start(offset));
        read.and_then(|_| self.reader.read_exact(&mut bytes))
            .map_err(|error| HeightmapError::Tiff(format!("cannot be read: {error}")))?;
        Ok(bytes)
    }

    /// An unsigned integer of at most eight bytes.
    pub fn unsigned(&self, bytes: &[u8]) -> u64 {
        let push = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        match self.is_big_endian {
            true => bytes.iter().fold(0, push),
            false => bytes.iter().rev().fold(0, push),
        }
    }
}

/// An entry: the kind and number of its values, and where they are.
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    /// Where the values are.
    offset: u64,
}

/// The entries of the first directory.
pub(super) struct Directory {
    entries: Vec<Entry>,
}

/// Bytes of a value of a kind; 0 for kinds that are not known.
fn bytes_of(kind: u16) -> u64 {
    match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => 0,
    }
}

impl Directory {
    /// Reads the header and the first directory.
    pub fn open<R: Read + Seek>(
        mut reader: R,
    ) -> Result<(TiffSource<R>, Directory), HeightmapError> {
        let length = reader.seek(SeekFrom::End(0));
        let length =
            length.map_err(|error| HeightmapError::Tiff(format!("cannot be read: {error}")))?;
        let mut source = TiffSource { reader, length, is_big_endian: false };
        let head = source.bytes(0, 8)?;
        source.is_big_endian = match &head[..2] {
            b"II" => false,
            b"MM" => true,
            _ => return Err(HeightmapError::Tiff("it does not begin as one".to_owned())),
        };
        let version = source.unsigned(&head[2..4]);
        let (is_big, start) = match version {
            42 => (false, source.unsigned(&head[4..8])),
            43 => {
                let start = source.bytes(8, 8)?;
                (true, source.unsigned(&start))
            }
            _ => {
                return Err(HeightmapError::Tiff(format!(
                    "its version is {version}, not 42 or 43"
                )));
            }
        };
        let count_bytes = if is_big { 8 } else { 2 };
        let count = source.bytes(start, count_bytes)?;
        let count = source.unsigned(&count);
        if count > MAX_ENTRIES {
            return Err(HeightmapError::Tiff(format!(
                "{count} entries in a directory, at most {MAX_ENTRIES}"
            )));
        }
        let wide = if is_big { 20 } else { 12 };
        let table = source.bytes(start.saturating_add(count_bytes), count * wide as u64)?;
        let mut entries = Vec::with_capacity(count as usize);
        for (i, entry) in table.chunks_exact(wide).enumerate() {
            let [tag, kind] = [&entry[..2], &entry[2..4]].map(|v| source.unsigned(v) as u16);
            let (count, value) = entry[4..].split_at(if is_big { 8 } else { 4 });
            let count = source.unsigned(count);
            let is_inside = bytes_of(kind).saturating_mul(count) <= value.len() as u64;
            let here = start + count_bytes + (i * wide + wide - value.len()) as u64;
            let offset = if is_inside { here } else { source.unsigned(value) };
            entries.push(Entry { tag, kind, count, offset });
        }
        Ok((source, Directory { entries }))
    }

    fn raw<R: Read + Seek>(
        &self,
        source: &mut TiffSource<R>,
        tag: u16,
        budget: &mut ImportBudget,
    ) -> Result<Option<(u16, Vec<u8>)>, HeightmapError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.tag == tag) else {
            return Ok(None);
        };
        let bytes = bytes_of(entry.kind).saturating_mul(entry.count);
        if bytes > source.length {
            return Err(HeightmapError::Tiff(format!("tag {tag} has {} values", entry.count)));
        }
        budget.spend_memory("its tables", 9 * bytes)?;
        budget.spend_work("its tables", 4 * bytes)?;
        Ok(Some((entry.kind, source.bytes(entry.offset, bytes)?)))
    }

    /// The unsigned integers of a tag; none if it is not there.
    pub fn integers<R: Read + Seek>(
        &self,
        source: &mut TiffSource<R>,
        tag: u16,
        budget: &mut ImportBudget,
    ) -> Result<Vec<u64>, HeightmapError> {
        let Some((kind, bytes)) = self.raw(source, tag, budget)? else { return Ok(Vec::new()) };
        match kind {
            1 | 3 | 4 | 13 | 16 | 18 => {}
            _ => return Err(HeightmapError::Tiff(format!("tag {tag} is not of integers"))),
        }
        let each = bytes_of(kind) as usize;
        Ok(bytes.chunks_exact(each).map(|value| source.unsigned(value)).collect())
    }

    /// The first integer of a tag, or a default.
    pub fn integer<R: Read + Seek>(
        &self,
        source: &mut TiffSource<R>,
        tag: u16,
        default: u64,
        budget: &mut ImportBudget,
    ) -> Result<u64, HeightmapError> {
        Ok(self.integers(source, tag, budget)?.first().copied().unwrap_or(default))
    }

    /// The doubles of a tag; none if it is not there or of another kind.
    pub fn doubles<R: Read + Seek>(
        &self,
        source: &mut TiffSource<R>,
        tag: u16,
        budget: &mut ImportBudget,
    ) -> Result<Vec<f64>, HeightmapError> {
        match self.raw(source, tag, budget)? {
            Some((12, bytes)) => Ok(bytes
                .chunks_exact(8)
                .map(|value| f64::from_bits(source.unsigned(value)))
                .collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// The text of a tag, without the zeros at its end; empty if it is not there. What is not ASCII, as
    /// it has to be, becomes `?`: other tags have places in it, in bytes.
    pub fn text<R: Read + Seek>(
        &self,
        source: &mut TiffSource<R>,
        tag: u16,
        budget: &mut ImportBudget,
    ) -> Result<String, HeightmapError> {
        match self.raw(source, tag, budget)? {
            Some((2, bytes)) => {
                let ascii = bytes.iter().map(|&byte| if byte.is_ascii() { byte } else { b'?' });
                let text: String = ascii.map(char::from).collect();
                Ok(text.trim_end_matches('\0').to_owned())
            }
            _ => Ok(String::new()),
        }
    }
}
