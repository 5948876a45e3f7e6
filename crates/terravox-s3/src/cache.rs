//! A cache of what was read, bounded in bytes; what several threads want at once is read once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Values by key, those that were used last.
pub(crate) struct Cache<K, V> {
    budget_bytes: usize,
    state: Mutex<CacheState<K, V>>,
    /// Notified when a value was read, or reading it failed.
    changed: Condvar,
}

struct CacheState<K, V> {
    entries: HashMap<K, CacheEntry<V>>,
    bytes: usize,
    /// Counts uses.
    clock: u64,
}

enum CacheEntry<V> {
    /// A thread reads it.
    Claimed,
    Held {
        value: Arc<V>,
        bytes: usize,
        used: u64,
    },
}

/// What is known of a key.
pub(crate) enum Lookup<V> {
    Held(Arc<V>),
    /// The caller must read it.
    Claimed,
    /// Another thread reads it.
    Elsewhere,
}

impl<K: Copy + Eq + Hash, V> Cache<K, V> {
    pub fn new(budget_bytes: usize) -> Cache<K, V> {
        let state = CacheState { entries: HashMap::new(), bytes: 0, clock: 0 };
        Cache { budget_bytes, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState<K, V>> {
        // A panic leaves whole entries.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a value, or claims it for the caller, who then calls [`Cache::insert`] or
    /// [`Cache::give_up`].
    pub fn look_up(&self, key: K) -> Lookup<V> {
        let state = &mut *self.lock();
        state.clock += 1;
        match state.entries.get_mut(&key) {
            Some(CacheEntry::Held { value, used, .. }) => {
                *used = state.clock;
                Lookup::Held(value.clone())
            }
            Some(CacheEntry::Claimed) => Lookup::Elsewhere,
            None => {
                state.entries.insert(key, CacheEntry::Claimed);
                Lookup::Claimed
            }
        }
    }

    /// Whether a value is held or will be.
    pub fn has(&self, key: K) -> bool {
        self.lock().entries.contains_key(&key)
    }

    /// Waits until no other thread reads a value.
    pub fn wait(&self, key: K) {
        let mut state = self.lock();
        while matches!(state.entries.get(&key), Some(CacheEntry::Claimed)) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Keeps a value that was claimed; replaces one that is held.
    pub fn insert(&self, key: K, value: Arc<V>, bytes: usize) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.clock += 1;
        let entry = CacheEntry::Held { value, bytes, used: state.clock };
        if let Some(CacheEntry::Held { bytes: old, .. }) = state.entries.insert(key, entry) {
            state.bytes -= old;
        }
        state.bytes += bytes;
        if state.bytes > self.budget_bytes {
            state.evict(self.budget_bytes);
        }
        drop(guard);
        self.changed.notify_all();
    }

    /// Lets others read a value that was claimed and could not be read.
    pub fn give_up(&self, key: K) {
        let mut state = self.lock();
        if matches!(state.entries.get(&key), Some(CacheEntry::Claimed)) {
            state.entries.remove(&key);
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl<K: Copy + Eq + Hash, V> CacheState<K, V> {
    /// Evicts the least recently used values, down to three quarters of the budget, so that sorting
    /// is rare.
    fn evict(&mut self, budget_bytes: usize) {
        let mut by_use: Vec<(u64, K, usize)> = self
            .entries
            .iter()
            .filter_map(|(key, entry)| match entry {
                CacheEntry::Held { bytes, used, .. } => Some((*used, *key, *bytes)),
                CacheEntry::Claimed => None,
            })
            .collect();
        by_use.sort_unstable_by_key(|&(used, ..)| used);
        // The newest stays, however long it is.
        by_use.pop();
        for (_, key, bytes) in by_use {
            if self.bytes <= budget_bytes / 4 * 3 {
                return;
            }
            self.entries.remove(&key);
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    fn held(cache: &Cache<u32, u32>, key: u32) -> Option<u32> {
        match cache.look_up(key) {
            Lookup::Held(value) => Some(*value),
            Lookup::Claimed => {
                cache.give_up(key);
                None
            }
            Lookup::Elsewhere => panic!("nothing is claimed"),
        }
    }

    #[test]
    fn what_was_used_last_stays_within_the_budget() {
        let cache = Cache::new(100);
        for key in 0..10 {
            assert!(matches!(cache.look_up(key), Lookup::Claimed));
            cache.insert(key, Arc::new(key), 10);
        }
        assert_eq!(held(&cache, 0), Some(0));
        cache.look_up(10);
        cache.insert(10, Arc::new(10), 10);
        let left: Vec<u32> = (0..=10).filter(|&key| held(&cache, key).is_some()).collect();
        assert_eq!(left, [0, 5, 6, 7, 8, 9, 10]);
        cache.look_up(11);
        cache.insert(11, Arc::new(11), 1000);
        assert_eq!(held(&cache, 11), Some(11));
        assert!((0..=10).all(|key| held(&cache, key).is_none()));
    }

    #[test]
    fn a_value_that_replaces_another_takes_its_place_in_the_budget() {
        let cache = Cache::new(100);
        for bytes in [40, 60, 30, 50] {
            cache.insert(1, Arc::new(bytes), bytes as usize);
            assert_eq!(cache.lock().bytes, bytes as usize);
        }
        cache.insert(2, Arc::new(2), 50);
        assert_eq!([held(&cache, 1), held(&cache, 2)], [Some(50), Some(2)]);
    }

    #[test]
    fn a_value_is_read_once_by_many_threads_and_again_after_a_failure() {
        let (cache, reads) = (Cache::new(1000), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        match cache.look_up(7) {
                            Lookup::Held(value) => return assert_eq!(*value, 70),
                            Lookup::Elsewhere => cache.wait(7),
                            // The first attempt fails.
                            Lookup::Claimed if reads.fetch_add(1, Ordering::SeqCst) == 0 => {
                                cache.give_up(7);
                            }
                            Lookup::Claimed => cache.insert(7, Arc::new(70), 4),
                        }
                    }
                });
            }
        });
        assert_eq!(reads.into_inner(), 2);
    }
}
