//! Entries of a journal as bytes, for files; `docs/format.md` has every byte.
//!
//! Like a history: version byte, checksum, then the entries, with patches in the same code. Any
//! bytes can be read, to entries or an error. Version 1 had no kinds of entries; up to version 2 no
//! cells are forgotten.

use super::changed::ChangedCells;
use super::journal::{Journal, JournalEntry, JournalFilter, JournalKind, RollbackMark};
use super::patch::put_varint;
use super::saved::{HistoryError, HistoryErrorKind, Reader, begin, put_patch, put_region, seal};
use std::fmt;
use std::sync::Arc;

/// The version that is written.
const VERSION: u8 = 3;

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
        let mut out = begin(VERSION);
        put_varint(entries.len() as u64, &mut out);
        let mut last = 0;
        for entry in entries {
            put_varint(entry.number.wrapping_sub(last), &mut out);
            last = entry.number;
            put_varint(entry.time.min(i64::MAX as u64), &mut out);
            put_varint(entry.author.len() as u64, &mut out);
            out.extend_from_slice(entry.author.as_bytes());
            put_kind(&entry.kind, &mut out);
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
    let version = reader.check_header(1..=VERSION)?;
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
        let kind = if version == 1 { JournalKind::Edit } else { take_kind(reader, &entries)? };
        let patches = match kind {
            JournalKind::Rollback(_) => reader.any_patches(false)?,
            _ => reader.patches(version > 2)?,
        };
        let before = ChangedCells { patches: Arc::new(patches) };
        entries.push(JournalEntry::new(number, author, time, kind, before));
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

/// Bits for the conditions of a rollback.
const SINCE: u8 = 1;
const UNTIL: u8 = 2;
const REGION: u8 = 4;
const NUMBER: u8 = 8;
const FROM: u8 = 16;

fn put_kind(kind: &JournalKind, out: &mut Vec<u8>) {
    let mark = match kind {
        JournalKind::Edit => return out.push(0),
        JournalKind::Undo => return out.push(1),
        JournalKind::Piece => return out.push(2),
        JournalKind::Rollback(mark) => mark,
    };
    let RollbackMark { filter, through, from } = &**mark;
    let JournalFilter { authors, since, until, region, number } = filter;
    let bit = |bit: u8, is_set: bool| if is_set { bit } else { 0 };
    let bits = bit(SINCE, since.is_some())
        | bit(UNTIL, until.is_some())
        | bit(REGION, region.is_some())
        | bit(NUMBER, number.is_some())
        | bit(FROM, from.is_some());
    out.extend([3, bits]);
    put_varint(*through, out);
    put_varint(authors.len() as u64, out);
    for author in authors {
        put_varint(author.len() as u64, out);
        out.extend_from_slice(author.as_bytes());
    }
    for &value in [since, until, number, from].into_iter().flatten() {
        // A varint has up to 63 bits.
        put_varint(value.min(i64::MAX as u64), out);
    }
    region.iter().for_each(|&region| put_region(region, out));
}

/// Reads the kind of an entry; a rollback is shared with the last entry of the same one.
fn take_kind(
    reader: &mut Reader<'_>,
    entries: &[JournalEntry],
) -> Result<JournalKind, HistoryError> {
    let wrong = reader.wrong(HistoryErrorKind::Kind);
    let kind = match reader.byte()? {
        0 => JournalKind::Edit,
        1 => JournalKind::Undo,
        2 => JournalKind::Piece,
        3 => {
            let mark = take_mark(reader)?;
            let known = entries.iter().rev().take(8).find_map(|entry| match &entry.kind {
                JournalKind::Rollback(known) if **known == mark => Some(known.clone()),
                _ => None,
            });
            JournalKind::Rollback(known.unwrap_or_else(|| Arc::new(mark)))
        }
        _ => return Err(wrong),
    };
    Ok(kind)
}

fn take_mark(reader: &mut Reader<'_>) -> Result<RollbackMark, HistoryError> {
    let wrong = reader.wrong(HistoryErrorKind::Kind);
    let bits = reader.byte()?;
    if bits >= 2 * FROM {
        return Err(wrong);
    }
    let (through, count) = (reader.number()?, reader.number()?);
    let mut authors = Vec::new();
    for _ in 0..count {
        let wrong = reader.wrong(HistoryErrorKind::Author);
        let (_, name) = reader.part()?;
        authors.push(String::from_utf8(name.to_vec()).map_err(|_| wrong)?);
    }
    let mut value = |bit: u8| (bits & bit != 0).then(|| reader.number()).transpose();
    let (since, until) = (value(SINCE)?, value(UNTIL)?);
    let (number, from) = (value(NUMBER)?, value(FROM)?);
    let region = (bits & REGION != 0).then(|| reader.any_region()).transpose()?;
    let filter = JournalFilter { authors, since, until, region, number };
    Ok(RollbackMark { filter, through, from })
}
