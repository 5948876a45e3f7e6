//! Counters of a collider, sharded so that threads do not contend for a cache line.

use super::slots::BuiltBlock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Copies of the counters that many threads write often.
const SHARDS: usize = 16;

/// Log2 of the bytes between the stacks of two threads, roughly.
const STACK_BYTES_LOG2: u32 = 20;

/// Sizes and counters of a [`Collider`](super::Collider).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColliderStats {
    /// Blocks that have a surface.
    pub blocks: usize,
    /// Blocks that are built.
    pub built: usize,
    /// Bytes of the masks of the whole world, and of the slots of blocks.
    pub mask_bytes: usize,
    /// Bytes of built blocks.
    pub built_bytes: usize,
    /// Blocks built so far.
    pub builds: u64,
    /// Times that a query found a block built.
    pub hits: u64,
    /// Blocks evicted to keep the budget.
    pub evictions: u64,
    /// Blocks dropped because an edit changed them.
    pub invalidations: u64,
    /// Rejected queries: non-finite, of zero length, or inverted.
    pub refused_queries: u64,
}

/// Counters of queries, on a cache line of their own.
#[derive(Default)]
#[repr(align(64))]
struct Shard {
    hits: AtomicU64,
    refused: AtomicU64,
}

/// Counters of a collider.
#[derive(Default)]
pub(super) struct Counters {
    shards: [Shard; SHARDS],
    built: AtomicUsize,
    built_bytes: AtomicUsize,
    builds: AtomicU64,
    evictions: u64,
    invalidations: u64,
}

impl Counters {
    /// Returns the shard of this thread. Threads have stacks of their own, so the address of a
    /// local tells them apart well enough.
    #[inline]
    fn shard(&self) -> &Shard {
        let local = 0_u8;
        &self.shards[(std::ptr::from_ref(&local).addr() >> STACK_BYTES_LOG2) % SHARDS]
    }

    /// Counts blocks that a query found built.
    #[inline]
    pub fn hits(&self, hits: u64) {
        self.shard().hits.fetch_add(hits, Relaxed);
    }

    /// Counts a rejected query.
    #[cold]
    pub fn refused(&self) {
        self.shard().refused.fetch_add(1, Relaxed);
    }

    /// Counts a block that was built.
    pub fn built(&self, block: &BuiltBlock) {
        self.builds.fetch_add(1, Relaxed);
        self.built.fetch_add(1, Relaxed);
        self.built_bytes.fetch_add(block.bytes(), Relaxed);
    }

    /// Counts bytes that a built block grew by.
    pub fn grown(&self, bytes: usize) {
        self.built_bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts a block that was evicted to keep the budget.
    pub fn evicted(&mut self, block: &BuiltBlock) {
        self.evictions += 1;
        self.dropped(block);
    }

    /// Counts a block that an edit invalidated.
    pub fn invalidated(&mut self, block: &BuiltBlock) {
        self.invalidations += 1;
        self.dropped(block);
    }

    fn dropped(&mut self, block: &BuiltBlock) {
        *self.built.get_mut() -= 1;
        *self.built_bytes.get_mut() -= block.bytes();
    }

    /// Counts all built blocks as invalidated.
    pub fn all_invalidated(&mut self) {
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

    /// Returns the counters; the fields about masks are 0.
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
