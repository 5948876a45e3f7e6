//! A journal: who changed what, and when.

use super::changed::ChangedCells;
use crate::voxel::Region;
use std::collections::VecDeque;
use std::ops::RangeBounds;
use std::sync::Arc;

/// Bytes of memory that a rollback needs for each chunk of an edit.
const BYTES_PER_CHUNK: u64 = 16;

/// One edit in a [`Journal`]. Copies share memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its number: larger than those of all entries before it.
    pub number: u64,
    /// Who made it, at most [`Journal::MAX_AUTHOR`] bytes.
    pub author: Arc<str>,
    /// What made it.
    pub kind: JournalKind,
    /// When, in seconds since 1970 (Unix time).
    pub time: u64,
    /// The smallest region that holds the cells, in voxels.
    pub region: Region,
    /// How many cells it changed.
    pub cells: u64,
    /// The cells as they were before it.
    pub before: ChangedCells,
}

impl JournalEntry {
    /// An entry of an author whose name is not too long.
    pub(super) fn new(
        number: u64,
        author: Arc<str>,
        time: u64,
        kind: JournalKind,
        before: ChangedCells,
    ) -> Self {
        let (region, cells) = (before.region(), before.count());
        JournalEntry { number, author, kind, time, region, cells, before }
    }

    /// Whether the journal forgot the cells from before the edit, since its author had more than
    /// its share. It can no longer be rolled back; which cells it changed is known, so that
    /// rollbacks of earlier edits leave these.
    pub fn is_forgotten(&self) -> bool {
        self.before.is_forgotten()
    }

    /// Bytes of memory, with those that a rollback needs for it.
    pub(super) fn bytes(&self) -> usize {
        let chunks = self.before.chunk_count().saturating_mul(BYTES_PER_CHUNK);
        let chunks = usize::try_from(chunks).unwrap_or(usize::MAX / 2);
        let own = size_of::<JournalEntry>() + self.author.len() + self.before.bytes();
        let asked = match &self.kind {
            JournalKind::Rollback(mark) => mark.bytes(),
            _ => 0,
        };
        own.saturating_add(asked).saturating_add(chunks)
    }
}

/// What made an entry of a [`Journal`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum JournalKind {
    /// An operation.
    #[default]
    Edit,
    /// The undo or redo of a stroke.
    Undo,
    /// A loose piece that left the ground, or became ground again.
    Piece,
    /// A rollback, which has an entry for each part that was done at once. While it is in force, it
    /// and what it took back are dead: later rollbacks act as if neither had been.
    Rollback(Arc<RollbackMark>),
}

/// Which entries a rollback takes back: [`Rollback::kind`](super::Rollback::kind) returns it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RollbackMark {
    /// What it takes back.
    pub filter: JournalFilter,
    /// The newest entry that it had seen.
    pub through: u64,
    /// The oldest entry that it takes back, or brings back, if there is one.
    pub from: Option<u64>,
}

impl RollbackMark {
    /// Bytes of memory.
    fn bytes(&self) -> usize {
        let name = |author: &String| author.len() + size_of::<String>();
        size_of::<RollbackMark>() + self.filter.authors.iter().map(name).sum::<usize>()
    }
}

/// Selects entries of a [`Journal`]: those that meet all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct JournalFilter {
    /// Their authors; any author if empty.
    pub authors: Vec<String>,
    /// Made then or later, Unix time in seconds.
    pub since: Option<u64>,
    /// Made before then, Unix time in seconds.
    pub until: Option<u64>,
    /// The boxes around the cells that they changed meet this region, in voxels.
    pub region: Option<Region>,
    /// The entry with this number. Of a rollback, any of its numbers means all of it.
    pub number: Option<u64>,
}

impl JournalFilter {
    /// Whether an entry is selected.
    pub fn matches(&self, entry: &JournalEntry) -> bool {
        self.matches_author(&entry.author)
            && self.matches_time(entry.time)
            && self.region.is_none_or(|region| !region.intersect(entry.region).is_empty())
            && self.number.is_none_or(|number| number == entry.number)
    }

    pub(super) fn matches_author(&self, name: &str) -> bool {
        self.authors.is_empty() || self.authors.iter().any(|author| **author == *name)
    }

    pub(super) fn matches_time(&self, time: u64) -> bool {
        self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time < until)
    }
}

/// Who changed what, and when: edits with the cells as they were before, within a budget of bytes.
///
/// Beyond the budget, the author with the largest share loses first: the journal forgets the old
/// cells of that author's oldest edits, but not which cells they changed, nor edits of others. If
/// that is not enough, the oldest edits of all are dropped.
///
/// A [`Rollback`](super::Rollback) takes back those of an author, a region or a time. All edits of
/// a grid should be recorded: an edit that is not can be overwritten by a rollback.
///
/// ```
/// use terravox::edit::{EditOp, Editor, History, Journal, JournalFilter, Rollback};
/// use terravox::voxel::{GridOptions, VoxelGrid};
///
/// let mut grid = VoxelGrid::new(GridOptions::default());
/// let (mut editor, mut history) = (Editor::default(), History::new(0));
/// let mut journal = Journal::new(64 << 20);
/// for (author, time, op) in [
///     ("ada", 100, EditOp::fill_ball(8, [0.0; 3], 6.0)),
///     ("bob", 200, EditOp::dig_ball([0.0; 3], 3.0)),
///     ("ada", 300, EditOp::fill_ball(2, [0.0; 3], 1.0)),
/// ] {
///     editor.apply(&mut grid, &op, &mut history)?;
///     journal.record(author, time, history.take_last_change());
/// }
///
/// // What Bob dug is filled again, but for the cells that Ada has changed since.
/// let bob = JournalFilter { authors: vec!["bob".into()], ..JournalFilter::default() };
/// let mut rollback = Rollback::new(journal.entries(..).cloned(), bob);
/// while let Some(changed) = rollback.step(&journal, &mut grid)? {
///     journal.record_as(rollback.kind(), "keeper", 400, changed); // so it can be rolled back, too
/// }
/// assert_eq!(grid.cell([2, 0, 0].into())?.material, 8);
/// assert_eq!(grid.cell([0, 0, 0].into())?.material, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Journal {
    /// Oldest first.
    pub(super) entries: VecDeque<JournalEntry>,
    /// Size of the entries.
    pub(super) bytes: usize,
    pub(super) budget_bytes: usize,
    next_number: u64,
    /// The number of the newest entry that was dropped; 0 if none was.
    pub(super) newest_dropped: u64,
    /// Numbers of entries that were forgotten since these were last taken, in no order.
    pub(super) forgotten: Vec<u64>,
}

impl Journal {
    /// Maximum size of the name of an author in bytes.
    pub const MAX_AUTHOR: usize = 64;

    /// An empty journal of at most `budget_bytes` bytes.
    pub fn new(budget_bytes: usize) -> Journal {
        let (entries, forgotten) = (VecDeque::new(), Vec::new());
        Journal { entries, bytes: 0, budget_bytes, next_number: 1, newest_dropped: 0, forgotten }
    }

    /// Records an edit, at a Unix time in seconds. Returns its number, or `None` if it changed
    /// nothing. Of a longer name, the first [`Journal::MAX_AUTHOR`] bytes count.
    pub fn record(&mut self, author: &str, time: u64, before: ChangedCells) -> Option<u64> {
        self.record_as(JournalKind::Edit, author, time, before)
    }

    /// As [`Journal::record`], of any kind. The first entry of a rollback is recorded even if it
    /// changed nothing, so call this for each step of a rollback: later edits of what it took back
    /// follow from it.
    pub fn record_as(
        &mut self,
        kind: JournalKind,
        author: &str,
        time: u64,
        before: ChangedCells,
    ) -> Option<u64> {
        if before.is_empty() && !self.is_first_of_rollback(&kind) {
            return None;
        }
        let name = &author[..author.floor_char_boundary(Journal::MAX_AUTHOR)];
        // Nearly always the author of the last entry.
        let last = self.entries.back().map(|entry| &entry.author);
        let name = last.filter(|last| &***last == name).cloned().unwrap_or_else(|| name.into());
        let number = self.next_number;
        self.push(JournalEntry::new(number, name, time, kind, before));
        Some(number)
    }

    fn is_first_of_rollback(&self, kind: &JournalKind) -> bool {
        let JournalKind::Rollback(mark) = kind else { return false };
        let later = self.entries.iter().rev().take_while(|entry| entry.number > mark.through);
        later.into_iter().all(|entry| entry.kind != *kind)
    }

    /// Adds entries that were [read](Journal::decode), oldest first. Those whose number is not
    /// larger than all before it are left out.
    pub fn restore(&mut self, entries: impl IntoIterator<Item = JournalEntry>) {
        for entry in entries {
            if entry.number >= self.next_number {
                self.push(entry);
            }
        }
    }

    /// Makes sure that the numbers of new entries are larger than `number`.
    pub fn number_after(&mut self, number: u64) {
        self.next_number = self.next_number.max(number.saturating_add(1));
    }

    fn push(&mut self, entry: JournalEntry) {
        self.next_number = entry.number.saturating_add(1);
        self.bytes = self.bytes.saturating_add(entry.bytes());
        self.entries.push_back(entry);
        if self.bytes > self.budget_bytes {
            self.trim();
        }
    }

    /// The entries with some numbers, oldest first.
    pub fn entries(
        &self,
        numbers: impl RangeBounds<u64>,
    ) -> impl DoubleEndedIterator<Item = &JournalEntry> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let below = |number: u64| self.entries.partition_point(|entry| entry.number < number);
        let through = |number: u64| self.entries.partition_point(|entry| entry.number <= number);
        let from = match numbers.start_bound() {
            Unbounded => 0,
            Included(&number) => below(number),
            Excluded(&number) => through(number),
        };
        let to = match numbers.end_bound() {
            Unbounded => self.entries.len(),
            Included(&number) => through(number),
            Excluded(&number) => below(number),
        };
        self.entries.range(from.min(to)..to)
    }

    /// The number of the newest entry that was dropped, beyond the budget; 0 if none was. If it is
    /// larger than that of the last entry that you read, you have missed some.
    pub fn newest_dropped(&self) -> u64 {
        self.newest_dropped
    }

    /// Size of all entries, bytes, with what a rollback of them needs.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
