//! What a journal forgets beyond its budget: each author has a share, so that an author with many
//! edits does not make it lose those of others.
//!
//! Entries in the middle are never dropped whole: a rollback of an older entry would overwrite the
//! changes of a dropped one. So a forgotten entry loses the old cells, but keeps which cells it
//! changed, which takes far less memory where the cells were noise.

use super::journal::{Journal, JournalEntry, JournalKind};
use rustc_hash::FxHashMap;

/// A sixteenth of the budget is freed at once, since all entries are visited each time.
const FREED_PART: usize = 16;

/// Entries are forgotten only while their size is at most this many times what has to be freed: of
/// small digs, and in ground of one material, the cells that changed take nearly all of an entry, and
/// forgetting would cost much of the journal for little memory.
const MAX_FORGOTTEN: usize = 4;

/// Maximum number of bytes that each author may keep, so that all lose `needed` bytes together; 0
/// if they have no more. The sizes are sorted, the largest first.
fn largest_share(sizes: &[usize], needed: usize) -> usize {
    let mut sum = 0_usize;
    for (count, &size) in (1..).zip(sizes) {
        sum = sum.saturating_add(size);
        let next = sizes.get(count).copied().unwrap_or(0);
        // All of these go down to the same size, which is at least that of the next one.
        let share = sum.saturating_sub(needed) / count;
        if share >= next {
            return share;
        }
    }
    0
}

/// Whether the old cells of an entry can be forgotten. Those of rollbacks are needed to know which
/// rollbacks are in force.
fn can_be_forgotten(entry: &JournalEntry) -> bool {
    !matches!(entry.kind, JournalKind::Rollback(_)) && !entry.is_forgotten()
}

impl Journal {
    /// Forgets or drops entries until the journal fits its budget.
    pub(super) fn trim(&mut self) {
        let most = self.budget_bytes - self.budget_bytes / FREED_PART;
        if let Some(entries) = self.worth_forgetting(self.bytes.saturating_sub(most)) {
            self.forget(&entries);
        }
        if self.bytes > self.budget_bytes {
            while self.bytes > most && self.drop_oldest() {}
        }
        let oldest = self.entries.front().map_or(u64::MAX, |entry| entry.number);
        self.forgotten.retain(|&number| number >= oldest);
    }

    /// The indices of the oldest entries of the authors who have most, of which forgetting frees at
    /// least half of `needed` bytes; `None` if that would cost too many entries.
    fn worth_forgetting(&self, needed: usize) -> Option<Vec<usize>> {
        let mut excess = FxHashMap::<&str, usize>::default();
        for entry in &self.entries {
            *excess.entry(&entry.author).or_default() += entry.bytes();
        }
        let mut sizes = Vec::from_iter(excess.values().copied());
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let share = largest_share(&sizes, needed);
        excess.values_mut().for_each(|size| *size = size.saturating_sub(share));

        let (mut entries, mut freed, mut size) = (Vec::new(), 0_usize, 0_usize);
        for (index, entry) in self.entries.iter().enumerate().filter(|e| can_be_forgotten(e.1)) {
            if let Some(excess) = excess.get_mut(&*entry.author).filter(|excess| **excess > 0) {
                let cells = entry.before.forgettable_bytes();
                *excess = excess.saturating_sub(cells);
                freed += cells;
                size = size.saturating_add(entry.bytes());
                entries.push(index);
            }
        }
        let is_worth_it = freed >= needed / 2 && size <= needed.saturating_mul(MAX_FORGOTTEN);
        is_worth_it.then_some(entries)
    }

    fn forget(&mut self, entries: &[usize]) {
        for &index in entries {
            let entry = &mut self.entries[index];
            self.bytes -= entry.before.forgettable_bytes();
            entry.before.forget();
            self.forgotten.push(entry.number);
        }
        // Without older entries, it does not matter which cells they changed.
        while self.entries.front().is_some_and(JournalEntry::is_forgotten) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) -> bool {
        let oldest = self.entries.pop_front();
        let Some(oldest) = oldest else { return false };
        self.bytes -= oldest.bytes();
        self.newest_dropped = oldest.number;
        true
    }

    /// Takes the numbers of the entries that were [forgotten](JournalEntry::is_forgotten) since the
    /// last call, in no order: what was stored of them can be replaced.
    pub fn take_forgotten(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_above_the_share_lose_enough_together_and_no_more_than_that(
            mut sizes in prop::collection::vec(0..1000usize, 0..8), needed in 0..5000usize,
        ) {
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            let lost = |share: usize| {
                sizes.iter().map(|size| size.saturating_sub(share)).sum::<usize>()
            };
            let share = largest_share(&sizes, needed);
            prop_assert!(lost(share) >= needed.min(lost(0)), "{}", share);
            if needed > 0 {
                prop_assert!(share == 0 || lost(share + 1) < needed, "{}", share);
            }
        }
    }
}
