//! What a journal forgets beyond its budget: each author has a share, so that an author with many
//! edits does not make it lose those of others.
//!
//! Entries in the middle are never dropped whole: a rollback of an older entry would overwrite the
//! changes of a dropped one. So a forgotten entry loses the old cells, but keeps which cells it
//! changed, which takes far less memory where the cells were noise.

use super::journal::{Journal, JournalEntry, JournalKind};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A sixteenth of the budget is freed at once, since all entries are visited each time.
const FREED_PART: usize = 16;

/// How often a trim tries again: each pass may free only a part of what it needs.
const MAX_PASSES: u32 = 4;

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
        for _ in 0..MAX_PASSES {
            if self.bytes > most && !self.forget(self.bytes - most) {
                break;
            }
        }
        while self.bytes > self.budget_bytes && self.drop_oldest() {}
        let oldest = self.entries.front().map_or(u64::MAX, |entry| entry.number);
        self.forgotten.retain(|&number| number >= oldest);
    }

    /// Forgets the oldest entries of the authors who have most, `needed` bytes of entries together.
    /// Frees less than that, since which cells they changed is kept. Returns false if there are
    /// none.
    fn forget(&mut self, needed: usize) -> bool {
        let mut sizes = FxHashMap::<Arc<str>, usize>::default();
        for entry in self.entries.iter().filter(|entry| can_be_forgotten(entry)) {
            *sizes.entry(entry.author.clone()).or_default() += entry.bytes();
        }
        let mut sorted = Vec::from_iter(sizes.values().copied());
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let (share, before) = (largest_share(&sorted, needed), self.forgotten.len());
        for entry in self.entries.iter_mut().filter(|entry| can_be_forgotten(entry)) {
            if let Some(size) = sizes.get_mut(&entry.author).filter(|size| **size > share) {
                let bytes = entry.bytes();
                *size = size.saturating_sub(bytes);
                entry.before.forget();
                self.bytes -= bytes - entry.bytes();
                self.forgotten.push(entry.number);
            }
        }
        // Without older entries, it does not matter which cells they changed.
        while self.entries.front().is_some_and(JournalEntry::is_forgotten) {
            self.drop_oldest();
        }
        self.forgotten.len() > before
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
