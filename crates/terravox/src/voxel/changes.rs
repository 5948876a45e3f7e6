//! The change log: what was written, pulled by views.
//!
//! A ring of the last 65,536 writes. Each view keeps a cursor; a view that fell behind has to
//! rebuild everything.

use super::mip_block::MipBlock;
use super::position::Region;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes that the log remembers.
pub const CHANGE_LOG_LENGTH: usize = 65_536;

/// What was written: by default one region per write, each with a serial number.
#[derive(Debug)]
pub(crate) struct ChangeLog<T = Region> {
    /// Tells logs apart: a cursor of another one rebuilds.
    id: u64,
    /// Serial number of the oldest entry.
    first: u64,
    entries: VecDeque<T>,
}

impl<T> Default for ChangeLog<T> {
    fn default() -> Self {
        static LOGS: AtomicU64 = AtomicU64::new(1);
        let id = LOGS.fetch_add(1, Ordering::Relaxed);
        ChangeLog { id, first: 0, entries: VecDeque::new() }
    }
}

/// How far a view has read the change log. The first result of a new cursor, or of one that
/// belongs to another grid, is [`Changes::Everything`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCursor {
    /// The log that was read; 0 for a new cursor.
    log: u64,
    /// Serial number of the next entry to read, plus one; 0 for a new cursor.
    next: u64,
}

/// What changed since a cursor was last used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// More than the log remembers, or the cursor is new: rebuild everything.
    Everything,
    /// The regions written, in voxels, oldest first; empty if nothing changed.
    Regions(Vec<Region>),
}

/// What changed of the far blocks since a cursor was last used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FarChanges {
    /// More than the log remembers, or the cursor is new: check every far block.
    Everything,
    /// The blocks that were written, changed by finer cells or forgotten, oldest first; a block
    /// that changed twice is listed twice.
    Blocks(Vec<MipBlock>),
}

impl ChangeLog {
    pub fn since(&self, cursor: &mut ChangeCursor) -> Changes {
        self.entries_since(cursor).map_or(Changes::Everything, Changes::Regions)
    }
}

impl ChangeLog<MipBlock> {
    pub fn blocks_since(&self, cursor: &mut ChangeCursor) -> FarChanges {
        self.entries_since(cursor).map_or(FarChanges::Everything, FarChanges::Blocks)
    }
}

impl<T: Clone> ChangeLog<T> {
    pub fn push(&mut self, entry: T) {
        if self.entries.len() == CHANGE_LOG_LENGTH {
            self.entries.pop_front();
            self.first += 1;
        }
        self.entries.push_back(entry);
    }

    /// Makes every view rebuild, for changes without a region.
    pub fn forget(&mut self) {
        self.first += self.entries.len() as u64 + 1;
        self.entries.clear();
    }

    /// The entries that `cursor` has not read; `None` if some of them are lost.
    fn entries_since(&self, cursor: &mut ChangeCursor) -> Option<Vec<T>> {
        let ChangeCursor { log, next } = *cursor;
        *cursor = ChangeCursor { log: self.id, next: self.first + self.entries.len() as u64 + 1 };
        if log != self.id || next <= self.first {
            return None;
        }
        let read = usize::try_from(next - 1 - self.first).ok()?;
        Some(self.entries.range(read..).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(x: i32) -> Region {
        Region::new([x, 0, 0], [x + 1, 1, 1])
    }

    #[test]
    fn a_new_cursor_rebuilds_and_then_reads_each_write_once() {
        let mut log = ChangeLog::default();
        log.push(region(1));
        let mut cursor = ChangeCursor::default();
        assert_eq!(log.since(&mut cursor), Changes::Everything);
        assert_eq!(log.since(&mut cursor), Changes::Regions(vec![]));
        log.push(region(2));
        log.push(region(3));
        assert_eq!(log.since(&mut cursor), Changes::Regions(vec![region(2), region(3)]));
        assert_eq!(log.since(&mut cursor), Changes::Regions(vec![]));
    }

    #[test]
    fn a_cursor_that_fell_behind_rebuilds() {
        let mut log = ChangeLog::default();
        let mut cursor = ChangeCursor::default();
        log.since(&mut cursor);
        let mut late = cursor;
        for x in 0..CHANGE_LOG_LENGTH as i32 {
            log.push(region(x));
        }
        let Changes::Regions(all) = log.since(&mut cursor) else { panic!("the ring holds them") };
        assert_eq!(all.len(), CHANGE_LOG_LENGTH);
        log.push(region(-1));
        assert_eq!(log.since(&mut late), Changes::Everything);
        assert_eq!(log.since(&mut cursor), Changes::Regions(vec![region(-1)]));
        log.forget();
        assert_eq!(log.since(&mut cursor), Changes::Everything);
        assert_eq!(log.since(&mut cursor), Changes::Regions(vec![]));
    }

    #[test]
    fn a_cursor_of_another_grid_rebuilds() {
        let mut full = ChangeLog::default();
        (0..9).for_each(|x| full.push(region(x)));
        let mut cursor = ChangeCursor::default();
        full.since(&mut cursor);
        assert_eq!(ChangeLog::default().since(&mut cursor), Changes::Everything);
        // Also if the other log is as long, or longer.
        let mut other = ChangeLog::default();
        (0..12).for_each(|x| other.push(region(x)));
        full.since(&mut cursor);
        assert_eq!(other.since(&mut cursor), Changes::Everything);
        assert_eq!(other.since(&mut cursor), Changes::Regions(vec![]));
    }
}
