//! The change log: what was written, pulled by whoever wants to know.
//!
//! A ring of the last 65,536 writes. Each view keeps a cursor; one that fell behind is
//! told to rebuild everything.

use super::position::Region;
use std::collections::VecDeque;

/// Writes that the log remembers.
pub const CHANGE_LOG_LENGTH: usize = 65_536;

/// Regions written, one a write call, with a serial number.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeLog {
    /// Serial number of the oldest entry.
    first: u64,
    entries: VecDeque<Region>,
}

/// How far a view has read the change log. A new cursor has read nothing, so its first
/// answer is [`Changes::Everything`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCursor {
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

impl ChangeLog {
    pub fn push(&mut self, region: Region) {
        if self.entries.len() == CHANGE_LOG_LENGTH {
            self.entries.pop_front();
            self.first += 1;
        }
        self.entries.push_back(region);
    }

    /// Makes every cursor rebuild: for changes that are no region.
    pub fn forget(&mut self) {
        self.first += self.entries.len() as u64 + 1;
        self.entries.clear();
    }

    pub fn since(&self, cursor: &mut ChangeCursor) -> Changes {
        let next = cursor.next;
        cursor.next = self.first + self.entries.len() as u64 + 1;
        if next <= self.first {
            return Changes::Everything;
        }
        // A cursor of another grid may be ahead of this log.
        match usize::try_from(next - 1 - self.first) {
            Ok(read) if read <= self.entries.len() => {
                Changes::Regions(self.entries.range(read..).copied().collect())
            }
            _ => Changes::Everything,
        }
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
    }
}
