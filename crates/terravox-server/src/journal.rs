//! The journal of a world in its file: segments of entries, saved with the chunks.

use crate::log::warn;
use std::collections::VecDeque;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use terravox::edit::{ChangedCells, Journal, JournalEntry, JournalKind};
use terravox_store::{Store, StoreError};

/// Segments are extra data under names with this prefix.
const PREFIX: &str = "journal/";

/// A segment gets no more entries above this many bytes.
const SEGMENT_BYTES: usize = 256 << 10;

/// Numbers of entries are below this; reading a segment refuses others.
const MAX_NUMBER: u64 = 1 << 62;

/// Bytes of an entry besides its cells and its author.
const ENTRY_BYTES: usize = 64;

/// Entries that are copied while the journal is locked.
const SLICE: usize = 4096;

/// A journal that a world's thread writes and requests read.
pub(crate) type SharedJournal = Arc<Mutex<Journal>>;

/// Locks a journal; not for long, since the world waits.
pub(crate) fn lock(journal: &Mutex<Journal>) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All entries, oldest first, without holding the lock for long and without gaps.
pub(crate) fn oldest_first(journal: &Mutex<Journal>) -> Vec<JournalEntry> {
    let mut entries = Vec::<JournalEntry>::new();
    loop {
        let journal = lock(journal);
        let last = entries.last().map_or(0, |entry| entry.number);
        if last > 0 && journal.newest_dropped() > last {
            // Between the slices it dropped some that were not read yet.
            entries.clear();
            continue;
        }
        let before = entries.len();
        entries.extend(journal.entries((Excluded(last), Unbounded)).take(SLICE).cloned());
        if entries.len() == before {
            return entries;
        }
    }
}

/// All entries, newest first, without holding the lock for long.
pub(crate) fn newest_first(journal: &Mutex<Journal>) -> impl Iterator<Item = JournalEntry> {
    let mut end = u64::MAX;
    let slices = std::iter::from_fn(move || {
        let slice = Vec::from_iter(lock(journal).entries(..end).rev().take(SLICE).cloned());
        end = slice.last()?.number;
        Some(slice)
    });
    slices.flatten()
}

/// Entries that are stored together.
struct Segment {
    /// Number of the first entry, by which it is named.
    first: u64,
    last: u64,
    /// About its size.
    bytes: usize,
    is_saved: bool,
    /// Whether it could not be read: it gets no more entries.
    is_damaged: bool,
}

impl Segment {
    fn name(&self) -> String {
        format!("{PREFIX}{:016x}", self.first)
    }
}

/// What a save writes under a name; `None` removes it.
pub(crate) type NamedData = (String, Option<Vec<u8>>);

/// The journal of a world, and how it is stored.
pub(crate) struct StoredJournal {
    shared: SharedJournal,
    /// Oldest first.
    segments: VecDeque<Segment>,
    /// Names of segments that are to be removed from the file.
    removed: Vec<String>,
    /// What the save that runs writes: numbers of segments, and names that it removes.
    saving: (Vec<u64>, Vec<String>),
    /// Whether nothing is recorded.
    is_off: bool,
}

impl StoredJournal {
    /// A journal that stays empty, and changes nothing that is stored.
    pub fn off(shared: SharedJournal) -> StoredJournal {
        let (segments, removed) = (VecDeque::new(), Vec::new());
        StoredJournal { shared, segments, removed, saving: Default::default(), is_off: true }
    }

    /// Reads a journal from a world's file into `shared`. Damaged segments are left out, with a
    /// line in the log each; they are removed when their turn comes.
    pub fn read(
        store: &Store,
        shared: SharedJournal,
        world: &str,
    ) -> Result<StoredJournal, StoreError> {
        let mut stored = StoredJournal { is_off: false, ..StoredJournal::off(shared) };
        for name in store.extra_names()? {
            let number = name.strip_prefix(PREFIX).map(|hex| u64::from_str_radix(hex, 16));
            let Some(Ok(first)) = number else { continue };
            let mut segment =
                Segment { first, last: first, bytes: 0, is_saved: true, is_damaged: false };
            // Other numbers were written by no program; behind them there are soon none for
            // entries.
            if segment.name() != name || first >= MAX_NUMBER {
                continue;
            }
            let mut journal = lock(&stored.shared);
            match read_segment(store, &name) {
                Ok((entries, bytes)) => {
                    segment.last = entries.last().map_or(first, |entry| entry.number);
                    segment.bytes = bytes;
                    journal.restore(entries);
                }
                Err(what) => {
                    warn!(world, "left out: {name}: {what}");
                    segment.is_damaged = true;
                }
            }
            journal.number_after(segment.last);
            drop(journal);
            stored.segments.push_back(segment);
        }
        stored.follow_budget();
        Ok(stored)
    }

    /// Records an edit that was made now. Returns its number, or `None` if it changed nothing.
    pub fn record(&mut self, kind: JournalKind, author: &str, before: ChangedCells) -> Option<u64> {
        self.record_at(kind, author, unix_seconds(), before)
    }

    /// As [`StoredJournal::record`], with the time of the edit that it follows from.
    pub fn record_at(
        &mut self,
        kind: JournalKind,
        author: &str,
        time: u64,
        before: ChangedCells,
    ) -> Option<u64> {
        if self.is_off {
            return None;
        }
        let bytes = before.bytes() + author.len() + ENTRY_BYTES;
        let number = lock(&self.shared).record_as(kind, author, time, before);
        let number = number?;
        let has_room =
            |last: &&mut Segment| !last.is_damaged && last.bytes + bytes <= SEGMENT_BYTES;
        match self.segments.back_mut().filter(has_room) {
            Some(last) => {
                last.bytes += bytes;
                (last.last, last.is_saved) = (number, false);
            }
            None => self.segments.push_back(Segment {
                first: number,
                last: number,
                bytes,
                is_saved: false,
                is_damaged: false,
            }),
        }
        self.follow_budget();
        Some(number)
    }

    /// The journal, for other threads.
    pub fn shared(&self) -> SharedJournal {
        self.shared.clone()
    }

    /// The journal, locked.
    pub fn lock(&self) -> MutexGuard<'_, Journal> {
        lock(&self.shared)
    }

    /// Drops segments of which the journal has no entry any more, and notes those of which it
    /// forgot some.
    fn follow_budget(&mut self) {
        let mut journal = lock(&self.shared);
        let oldest = journal.entries(..).next().map_or(u64::MAX, |entry| entry.number);
        let forgotten = journal.take_forgotten();
        drop(journal);
        for number in forgotten {
            let after = self.segments.partition_point(|segment| segment.first <= number);
            if let Some(segment) = after.checked_sub(1).and_then(|at| self.segments.get_mut(at))
                && !segment.is_damaged
            {
                segment.is_saved = false;
            }
        }
        while let Some(old) = self.segments.pop_front_if(|segment| segment.last < oldest) {
            self.removed.push(old.name());
        }
    }

    /// Whether all of it is saved.
    pub fn is_saved(&self) -> bool {
        self.removed.is_empty() && self.segments.iter().rev().all(|segment| segment.is_saved)
    }

    /// Returns what is to be saved, in one transaction with the chunks.
    pub fn begin_save(&mut self) -> Vec<NamedData> {
        let mut data = Vec::new();
        let journal = lock(&self.shared);
        for segment in self.segments.iter_mut().filter(|segment| !segment.is_saved) {
            let bytes = Journal::encode(journal.entries(segment.first..=segment.last));
            data.push((segment.name(), Some(bytes)));
            segment.is_saved = true;
            self.saving.0.push(segment.first);
        }
        drop(journal);
        for name in std::mem::take(&mut self.removed) {
            data.push((name.clone(), None));
            self.saving.1.push(name);
        }
        data
    }

    /// Notes that the save that was begun has ended.
    pub fn end_save(&mut self, has_succeeded: bool) {
        let (segments, mut removed) = std::mem::take(&mut self.saving);
        if !has_succeeded {
            self.removed.append(&mut removed);
            for segment in self.segments.iter_mut().filter(|s| segments.contains(&s.first)) {
                segment.is_saved = false;
            }
        }
    }
}

/// The entries of a segment and its size, or why it cannot be read.
fn read_segment(store: &Store, name: &str) -> Result<(Vec<JournalEntry>, usize), String> {
    let bytes = store.extra(name).map_err(|error| error.to_string())?.unwrap_or_default();
    let entries = Journal::decode(&bytes).map_err(|error| error.to_string())?;
    Ok((entries, bytes.len()))
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests;
