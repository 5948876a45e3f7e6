//! What a collider has done, counted without threads getting in each other's way.

use super::collider::ColliderStats;
use super::slots::BlockShape;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Counters that many threads write often are kept so many times.
const SHARDS: usize = 16;

/// Log2 of the distance of the stacks of two threads, roughly.
const STACK_LOG2: u32 = 20;

/// Counts of queries, on a cache line of their own.
#[derive(Default)]
#[repr(align(64))]
struct Shard {
    hits: AtomicU64,
    refused: AtomicU64,
}

/// Counters of a collider.
#[derive(Default)]
pub(crate) struct Counters {
    shards: [Shard; SHARDS],
    built: AtomicUsize,
    built_bytes: AtomicUsize,
    builds: AtomicU64,
    evictions: u64,
    invalidations: u64,
}

impl Counters {
    /// The shard of this thread. Threads have stacks of their own, so where a local lies
    /// tells them apart well enough.
    #[inline]
    fn shard(&self) -> &Shard {
        let local = 0_u8;
        &self.shards[(std::ptr::from_ref(&local).addr() >> STACK_LOG2) % SHARDS]
    }

    /// A query found so many blocks built.
    #[inline]
    pub fn hits(&self, hits: u64) {
        self.shard().hits.fetch_add(hits, Relaxed);
    }

    /// A query was rejected.
    #[cold]
    pub fn refused(&self) {
        self.shard().refused.fetch_add(1, Relaxed);
    }

    /// A block was built.
    pub fn built(&self, shape: &BlockShape) {
        self.builds.fetch_add(1, Relaxed);
        self.built.fetch_add(1, Relaxed);
        self.built_bytes.fetch_add(shape.bytes(), Relaxed);
    }

    /// A built block takes so many bytes more.
    pub fn grown(&self, bytes: usize) {
        self.built_bytes.fetch_add(bytes, Relaxed);
    }

    /// A block was dropped to keep the budget.
    pub fn evicted(&mut self, shape: &BlockShape) {
        self.evictions += 1;
        self.dropped(shape);
    }

    /// A block was dropped because of an edit.
    pub fn invalidated(&mut self, shape: &BlockShape) {
        self.invalidations += 1;
        self.dropped(shape);
    }

    fn dropped(&mut self, shape: &BlockShape) {
        *self.built.get_mut() -= 1;
        *self.built_bytes.get_mut() -= shape.bytes();
    }

    /// All blocks were dropped.
    pub fn forget_built(&mut self) {
        self.invalidations += *self.built.get_mut() as u64;
        (*self.built.get_mut(), *self.built_bytes.get_mut()) = (0, 0);
    }

    /// Number of built blocks.
    pub fn built_blocks(&self) -> usize {
        self.built.load(Relaxed)
    }

    /// Bytes of all built blocks.
    pub fn built_bytes(&self) -> usize {
        self.built_bytes.load(Relaxed)
    }

    /// What was counted; the fields about masks are 0.
    pub fn stats(&self) -> ColliderStats {
        let sum = |of: fn(&Shard) -> &AtomicU64| {
            self.shards.iter().map(|shard| of(shard).load(Relaxed)).sum()
        };
        ColliderStats {
            built: self.built.load(Relaxed),
            built_bytes: self.built_bytes(),
            builds: self.builds.load(Relaxed),
            hits: sum(|shard| &shard.hits),
            evictions: self.evictions,
            invalidations: self.invalidations,
            refused_queries: sum(|shard| &shard.refused),
            ..ColliderStats::default()
        }
    }
}
