//! A cache of values computed last, shared by all threads: vertical neighbours need the same
//! columns, and neighbouring tiles the same rivers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A fixed number of places, each for one value with its key. A value that comes to a full place
/// replaces the one there, so that memory is bounded.
pub(super) struct SlotCache<K, V, const N: usize> {
    slots: [CacheSlot<K, V>; N],
}

type CacheSlot<K, V> = Mutex<Option<(K, Arc<V>)>>;

impl<K: PartialEq, V, const N: usize> SlotCache<K, V, N> {
    pub const fn new() -> SlotCache<K, V, N> {
        SlotCache { slots: [const { Mutex::new(None) }; N] }
    }

    /// The value of a key in its place, if it is there.
    pub fn get(&self, slot: usize, key: &K) -> Option<Arc<V>> {
        let slot = self.lock(slot);
        slot.as_ref().filter(|(held, _)| held == key).map(|(_, value)| Arc::clone(value))
    }

    /// The value of a key; it is made if it is not in its place. Other threads that want the place
    /// wait for it: most often they want the same value.
    pub fn get_or_make(&self, slot: usize, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        let mut slot = self.lock(slot);
        if let Some((held, value)) = slot.as_ref()
            && *held == key
        {
            return Arc::clone(value);
        }
        let value = Arc::new(make());
        *slot = Some((key, Arc::clone(&value)));
        value
    }

    fn lock(&self, slot: usize) -> MutexGuard<'_, Option<(K, Arc<V>)>> {
        // A thread that panicked while it made a value has left the old one.
        self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a position of the plane among `edge`² places: neighbours never share one.
pub(super) fn slot_of(edge: usize, position: [i64; 2]) -> usize {
    let [x, z] = position.map(|v| v.rem_euclid(edge as i64) as usize);
    x + z * edge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_the_last_value_of_each_and_never_another_key() {
        let cache: SlotCache<i32, i32, 4> = SlotCache::new();
        assert_eq!(cache.get(1, &7), None);
        assert_eq!(*cache.get_or_make(1, 7, || 70), 70);
        assert_eq!(*cache.get_or_make(1, 7, || unreachable!("it is there")), 70);
        assert_eq!(cache.get(1, &8), None);
        assert_eq!(cache.get(2, &7), None);
        assert_eq!(*cache.get_or_make(1, 8, || 80), 80);
        assert_eq!(cache.get(1, &7), None);
        assert_eq!(slot_of(8, [-1, 8]), 7);
        assert_eq!(slot_of(8, [i64::MIN, i64::MAX]), 56);
    }

    #[test]
    fn a_panic_while_a_value_is_made_leaves_the_place_usable() {
        let cache: SlotCache<i32, i32, 1> = SlotCache::new();
        let make = || cache.get_or_make(0, 1, || panic!("on purpose"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).is_err());
        assert_eq!(*cache.get_or_make(0, 1, || 5), 5);
    }
}
