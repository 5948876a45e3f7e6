//! Prefetching into the cache.
#![allow(unsafe_code)]

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Prefetches an item that will be read soon. `at` may be beyond the end.
pub(super) fn prefetch<T>(items: &[T], at: usize) {
    let item = items.as_ptr().wrapping_add(at);
    // SAFETY: a prefetch reads no memory, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(item.cast()) }
}
