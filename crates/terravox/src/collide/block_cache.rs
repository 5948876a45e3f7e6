//! The blocks built so far: built by the first query that needs them, dropped by updates.
//!
//! The surfaces themselves lie in the slots of the broadphase's chunks, where a query finds
//! them without a lock. [`BlockCache`] builds them, remembers which there are, and evicts the
//! least recently used ones when they exceed the budget of bytes.

use super::block::QuadBvh;
use super::broadphase::{Broadphase, ChunkBlocks, block_bit};
use super::builder::BlockBuilder;
use super::counters::Counters;
#[cfg(test)]
use super::schedule::Mutex;
use super::slots::BuiltBlock;
use crate::bits::{BLOCK_LOG2, CollisionBlock};
use crate::mesh::PAD;
use crate::voxel::{Region, Snapshot};
#[cfg(not(test))]
use std::sync::Mutex;
use std::sync::{MutexGuard, PoisonError};

/// The list of built blocks is not cleaned up below this length.
const MIN_CLEANUP_LENGTH: usize = 64;

/// Which blocks are built, and the memory to build more.
#[derive(Default)]
pub(crate) struct BlockCache {
    pub(super) counters: Counters,
    /// Number of the last update; blocks store it when used.
    pub(super) epoch: u32,
    /// Blocks in the order in which they were built; may contain dropped blocks and
    /// duplicates.
    built: Mutex<Vec<CollisionBlock>>,
    /// Idle builders, at most as many as threads that built at the same time.
    builders: Mutex<Vec<Box<BlockBuilder>>>,
}

/// Returns the block, if it is built.
pub(super) fn built_block(broadphase: &Broadphase, block: CollisionBlock) -> Option<&BuiltBlock> {
    let (chunk, bit) = broadphase.record(block)?;
    chunk.slots.get(chunk.slot(bit).0)
}

impl BlockCache {
    /// Builds a block of `chunk`, and its liquid surface if `with_liquid`. Concurrent callers
    /// of the same block wait.
    #[cold]
    pub(super) fn build<'a>(
        &self,
        snapshot: &Snapshot,
        block: CollisionBlock,
        chunk: &'a ChunkBlocks,
        with_liquid: bool,
    ) -> &'a BuiltBlock {
        let (rank, count) = chunk.slot(block_bit(block));
        let built = chunk.slots.get_or_build(rank, count, || {
            let mut builder = locked(&self.builders).pop().unwrap_or_default();
            let built = builder.build(snapshot, block, with_liquid);
            self.counters.built(&built);
            locked(&self.built).push(block);
            locked(&self.builders).push(builder);
            built
        });
        if with_liquid {
            built.build_liquid(|| {
                let mut builder = locked(&self.builders).pop().unwrap_or_default();
                let tree = builder.build_liquid(snapshot, block);
                self.counters.grown(tree.as_ref().map_or(0, QuadBvh::heap_bytes));
                locked(&self.builders).push(builder);
                tree
            });
        }
        built
    }

    /// Blocks that are built, sorted.
    pub(super) fn built_blocks(&self, broadphase: &Broadphase) -> Vec<CollisionBlock> {
        let mut blocks = locked(&self.built).clone();
        blocks.retain(|&block| built_block(broadphase, block).is_some());
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Length of the list of built blocks.
    #[cfg(test)]
    pub(super) fn listed_blocks(&self) -> usize {
        locked(&self.built).len()
    }

    /// Drops the built blocks whose surfaces may depend on cells of `region`.
    pub(super) fn invalidate(&mut self, broadphase: &mut Broadphase, region: Region) {
        for block in region.grow(PAD).blocks::<BLOCK_LOG2>() {
            if let Some(built) = take(broadphase, block) {
                self.counters.invalidated(&built);
            }
        }
    }

    /// Forgets all blocks, which were dropped with the broadphase that held them.
    pub(super) fn forget_all(&mut self) {
        self.counters.all_invalidated();
        locked(&self.built).clear();
    }

    /// Evicts least recently used blocks until all take at most `budget_bytes`.
    pub(super) fn keep_budget(&mut self, broadphase: &mut Broadphase, budget_bytes: usize) {
        if self.counters.built_bytes() <= budget_bytes {
            // Blocks that were edited and built again are listed once for each time.
            if locked(&self.built).len() > 2 * self.counters.built_blocks() + MIN_CLEANUP_LENGTH {
                let built = self.built_blocks(broadphase);
                *locked(&self.built) = built;
            }
            return;
        }
        let mut built = self.built_blocks(broadphase);
        built.sort_by_cached_key(|&block| built_block(broadphase, block).map(BuiltBlock::used));
        // A little below the budget, so that not every update sorts.
        let target = budget_bytes / 8 * 7;
        let mut evicted = 0;
        for &block in &built {
            if self.counters.built_bytes() <= target {
                break;
            }
            evicted += 1;
            if let Some(built) = take(broadphase, block) {
                self.counters.evicted(&built);
            }
        }
        built.drain(..evicted);
        *locked(&self.built) = built;
    }
}

/// Removes a built block from its slot.
fn take(broadphase: &mut Broadphase, block: CollisionBlock) -> Option<Box<BuiltBlock>> {
    let (chunk, bit) = broadphase.record_mut(block)?;
    let rank = chunk.slot(bit).0;
    chunk.slots.take(rank)
}

/// Locks, ignoring poisoning: the lists are valid after a panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
