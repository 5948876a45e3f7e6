//! Entries of a journal as bytes, for files; `docs/format.md` has every byte.
//!
//! As a history: version byte, checksum, then the entries, whose patches are coded as there.
//! Reading is total.

use super::changed::ChangedCells;
use super::journal::{Journal, JournalEntry};
use super::patch::put_varint;
use super::saved::{HistoryError, HistoryErrorKind, Reader, begin, put_patch, seal};
use std::fmt;
use std::sync::Arc;

/// Numbers of entries are below this, so that there is always a next one.
const MAX_NUMBER: u64 = 1 << 62;

/// Why bytes are not valid entries of a journal, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalError {
    /// Offset of the invalid data.
    pub offset: usize,
    /// What is wrong with it.
    pub kind: HistoryErrorKind,
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "journal, byte {}: {}", self.offset, self.kind)
    }
}

impl std::error::Error for JournalError {}

impl Journal {
    /// Writes entries as bytes, oldest first.
    pub fn encode<'a>(entries: impl IntoIterator<Item = &'a JournalEntry>) -> Vec<u8> {
        let entries = Vec::from_iter(entries);
        let mut out = begin();
        put_varint(entries.len() as u64, &mut out);
        let mut last = 0;
        for entry in entries {
            put_varint(entry.number.wrapping_sub(last), &mut out);
            last = entry.number;
            put_varint(entry.time.min(i64::MAX as u64), &mut out);
            put_varint(entry.author.len() as u64, &mut out);
            out.extend_from_slice(entry.author.as_bytes());
            put_varint(entry.before.patches.len() as u64, &mut out);
            entry.before.patches.iter().for_each(|patch| put_patch(patch, &mut out));
        }
        seal(&mut out);
        out
    }

    /// Reads the entries that [`Journal::encode`] wrote.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn decode(bytes: &[u8]) -> Result<Vec<JournalEntry>, JournalError> {
        let mut reader = Reader { bytes, offset: 0 };
        let read = decode_entries(&mut reader);
        read.map_err(|error| JournalError { offset: error.offset, kind: error.kind })
    }
}

fn decode_entries(reader: &mut Reader<'_>) -> Result<Vec<JournalEntry>, HistoryError> {
    reader.check_header()?;
    let count = reader.number()?;
    let (mut entries, mut last) = (Vec::<JournalEntry>::new(), 0);
    for _ in 0..count {
        let wrong = reader.wrong(HistoryErrorKind::Number);
        let number = reader.number()?;
        let is_later = number > 0 || entries.is_empty();
        let number = Some(number).filter(|_| is_later).and_then(|more| more.checked_add(last));
        let number = number.filter(|&number| number < MAX_NUMBER).ok_or(wrong)?;
        last = number;
        let time = reader.number()?;
        let author = author(reader, entries.last())?;
        let patches = reader.patches()?;
        let before = ChangedCells { patches: Arc::new(patches) };
        entries.push(JournalEntry::new(number, author, time, before));
    }
    reader.check_end()?;
    Ok(entries)
}

/// Reads a name, which is shared with the last entry if that has the same.
fn author(reader: &mut Reader<'_>, last: Option<&JournalEntry>) -> Result<Arc<str>, HistoryError> {
    let wrong = reader.wrong(HistoryErrorKind::Author);
    let (_, name) = reader.part()?;
    let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= Journal::MAX_AUTHOR);
    let name = name.ok_or(wrong)?;
    let known = last.map(|entry| &entry.author).filter(|author| &***author == name);
    Ok(known.cloned().unwrap_or_else(|| name.into()))
}
