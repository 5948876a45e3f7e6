//! The built blocks of a chunk: a slot for every block with a surface, by rank, filled by
//! the first query that needs it.

use super::block::QuadBvh;
#[cfg(test)]
use super::schedule::OnceLock;
use crate::voxel::NotHeld;
use std::fmt;
#[cfg(not(test))]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The surfaces of one block, as far as they are built.
pub(crate) struct BuiltBlock {
    pub solid: Option<QuadBvh>,
    /// Built when a query needs it: near water it takes many times as long as the solid one.
    liquid: OnceLock<Option<QuadBvh>>,
    /// A chunk that the block needs and that is not held at mip 0; there are no surfaces then.
    pub missing: Option<NotHeld>,
    /// Epoch of the last use.
    used: AtomicU32,
}

/// The slots of a chunk, allocated when its first block is built. All slots compare equal, so
/// that chunks compare by their masks.
#[derive(Default)]
pub(crate) struct Slots(OnceLock<Box<[OnceLock<Box<BuiltBlock>>]>>);

impl BuiltBlock {
    /// Creates a block without its liquid surface.
    pub fn new(solid: Option<QuadBvh>, missing: Option<NotHeld>) -> BuiltBlock {
        BuiltBlock { solid, liquid: OnceLock::new(), missing, used: AtomicU32::new(0) }
    }

    /// Bytes of the block and of the surfaces that are built.
    pub fn bytes(&self) -> usize {
        let trees = [Some(&self.solid), self.built_liquid()].into_iter().flatten().flatten();
        size_of::<BuiltBlock>() + trees.map(QuadBvh::heap_bytes).sum::<usize>()
    }

    /// Returns the liquid surface, if it is built.
    #[inline]
    pub fn built_liquid(&self) -> Option<&Option<QuadBvh>> {
        self.liquid.get()
    }

    /// Builds the liquid surface unless it is built; concurrent callers wait.
    pub fn build_liquid(&self, build: impl FnOnce() -> Option<QuadBvh>) {
        self.liquid.get_or_init(build);
    }

    /// Marks the block as used. Mostly a load, so that threads share its cache line.
    #[inline]
    pub fn touch(&self, epoch: u32) {
        if self.used.load(Ordering::Relaxed) != epoch {
            self.used.store(epoch, Ordering::Relaxed);
        }
    }

    /// Epoch of the last use.
    pub fn used(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }
}

impl PartialEq for Slots {
    fn eq(&self, _: &Slots) -> bool {
        true
    }
}

impl Eq for Slots {}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let built =
            self.0.get().map_or(0, |slots| slots.iter().filter(|s| s.get().is_some()).count());
        write!(f, "{built} built")
    }
}

impl Slots {
    /// Returns the block of rank `rank`, if it is built.
    #[inline]
    pub fn get(&self, rank: usize) -> Option<&BuiltBlock> {
        self.0.get()?[rank].get().map(|shape| &**shape)
    }

    /// Returns the block of rank `rank` of `count`, which `build` builds unless it is built;
    /// concurrent callers wait.
    pub fn get_or_build(
        &self,
        rank: usize,
        count: usize,
        build: impl FnOnce() -> BuiltBlock,
    ) -> &BuiltBlock {
        let slots = self.0.get_or_init(|| (0..count).map(|_| OnceLock::new()).collect());
        slots[rank].get_or_init(|| Box::new(build()))
    }

    /// Empties the slot of rank `rank`; returns what was in it.
    pub fn take(&mut self, rank: usize) -> Option<Box<BuiltBlock>> {
        self.0.get_mut()?[rank].take()
    }

    /// Moves the slots of a chunk whose blocks with a surface were `old` (a bit a block) and
    /// are now `new`. Built blocks that lost their surface are dropped.
    pub fn carry(mut self, old: u64, new: u64) -> Slots {
        let Some(slots) = self.0.get_mut() else { return Slots::default() };
        if old == new {
            return self;
        }
        let mut carried: Box<[OnceLock<Box<BuiltBlock>>]> =
            (0..new.count_ones()).map(|_| OnceLock::new()).collect();
        let mut rest = old & new;
        while rest != 0 {
            let below = (rest & rest.wrapping_neg()) - 1;
            rest &= rest - 1;
            let rank = |of: u64| (of & below).count_ones() as usize;
            carried[rank(new)] = std::mem::take(&mut slots[rank(old)]);
        }
        Slots(OnceLock::from(carried))
    }

    /// Bytes of the slots, without the blocks in them.
    pub fn bytes(&self) -> usize {
        self.0.get().map_or(0, |slots| slots.len() * size_of::<OnceLock<Box<BuiltBlock>>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(used: u32) -> BuiltBlock {
        let shape = BuiltBlock::new(None, None);
        shape.touch(used);
        shape
    }

    #[test]
    fn slots_follow_their_blocks_when_others_come_and_go() {
        let old = 0b1011_0100;
        let slots = Slots::default();
        for (rank, bit) in [2u32, 4, 5, 7].into_iter().enumerate() {
            slots.get_or_build(rank, 4, || shape(bit));
        }
        let new = 0b1100_0111;
        let slots = slots.carry(old, new);
        let built = (0..5).map(|rank| slots.get(rank).map(BuiltBlock::used));
        assert_eq!(built.collect::<Vec<_>>(), [None, None, Some(2), None, Some(7)]);
    }

    #[test]
    fn a_slot_is_filled_once() {
        let mut slots = Slots::default();
        assert!(slots.get(3).is_none() && slots.take(3).is_none());
        slots.get_or_build(3, 4, || shape(1));
        slots.get_or_build(3, 4, || panic!("it is built"));
        assert_eq!(slots.take(3).map(|shape| shape.used()), Some(1));
        assert!(slots.get(3).is_none());
    }
}
