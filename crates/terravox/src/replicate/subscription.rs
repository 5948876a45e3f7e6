//! The blocks of one guest, as its host sees them.

use super::family::{Children, FamilyChild};
use crate::voxel::{MipBlock, Region, VoxelPos};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

/// The lowest of some cells in a block, and one past the highest.
type DirtyCells = [[u8; 3]; 2];

/// What a guest has of a block.
#[derive(Clone, Copy, Default)]
struct Subscription {
    /// Where its last cells end in the stream of bulk; 0 if they were not sent yet.
    sent: u64,
    /// Cells that changed since, to be sent in this round.
    due: Option<DirtyCells>,
    /// Cells that changed since this round began, to be sent in the next one.
    marked: Option<DirtyCells>,
    /// Digest of the cells that the guest has of it.
    known: Option<u64>,
}

impl Subscription {
    fn is_dirty(&self) -> bool {
        self.due.is_some() || self.marked.is_some()
    }
}

/// All blocks that a guest wants or has.
///
/// Changes are sent in rounds, in each the finest blocks first: when a guest computes the cells
/// over one from its own finer cells, either those are the host's, or the cells over them follow.
#[derive(Default)]
pub(super) struct Subscriptions {
    blocks: FxHashMap<MipBlock, Subscription>,
    /// Not sent yet, by mip; may list blocks that are no longer wanted.
    queues: [VecDeque<MipBlock>; 13],
    /// Not sent yet, since the block above them is not: by that block.
    below: FxHashMap<MipBlock, Vec<MipBlock>>,
    /// Could not be read when it was their turn: tried again when there is nothing else to send.
    unavailable: BTreeSet<MipBlock>,
    /// The one of them that was tried last.
    retried: Option<MipBlock>,
    round: u64,
    /// With changes to be sent in this round, coarsest first; may list blocks without.
    due: Vec<MipBlock>,
    /// With changes to be sent in the next round; may list blocks without.
    marked: Vec<MipBlock>,
    /// Counts blocks that came and went.
    state: u64,
    /// The coarsest blocks, each with how many chunks are wanted in it.
    roots: FxHashMap<MipBlock, u32>,
    /// Counts roots that came and went, and those in which the first chunk came or the last one
    /// went.
    roots_state: u64,
}

/// What is next to send.
#[derive(Clone, Copy)]
pub(super) enum NextBlock {
    /// All of a block, of which the guest has cells with this digest.
    Whole(MipBlock, Option<u64>),
    /// A part, in cells of its mip.
    Part(MipBlock, Region),
}

impl Subscriptions {
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Adds a block. Only roots and children of blocks that are there are taken, so that changes of
    /// fine cells reach all coarser ones; others return false.
    pub fn add(&mut self, block: MipBlock, max_mip: u8, known: Option<u64>) -> bool {
        let is_below = block.mip < max_mip && self.blocks.contains_key(&block.parent());
        if block.mip != max_mip && !is_below {
            return false;
        }
        if let Entry::Vacant(entry) = self.blocks.entry(block) {
            entry.insert(Subscription { known, ..Subscription::default() });
            self.state += 1;
            let chunks = self.roots.entry(block.over(max_mip)).or_default();
            let is_first = block.mip == max_mip || block.mip == 0 && *chunks == 0;
            *chunks += u32::from(block.mip == 0);
            self.roots_state += u64::from(is_first);
            self.queue(block);
        }
        true
    }

    /// Blocks that come and go must not fill the queue.
    fn queue(&mut self, block: MipBlock) {
        let queue = &mut self.queues[usize::from(block.mip)];
        if queue.len() > 64 + 2 * self.blocks.len() {
            let mut seen = rustc_hash::FxHashSet::default();
            queue.retain(|block| self.blocks.contains_key(block) && seen.insert(*block));
        }
        queue.push_back(block);
    }

    /// Drops a block and all finer ones in it.
    pub fn remove(&mut self, block: MipBlock, max_mip: u8) {
        if block.mip > 0 && self.blocks.contains_key(&block) {
            block.children().into_iter().for_each(|child| self.remove(child, max_mip));
        }
        let removed = self.blocks.remove(&block);
        self.below.remove(&block);
        self.unavailable.remove(&block);
        self.state += 1;
        if removed.is_some()
            && block.mip == 0
            && let Some(chunks) = self.roots.get_mut(&block.over(max_mip))
        {
            *chunks -= 1;
            self.roots_state += u64::from(*chunks == 0);
        }
        if block.mip == max_mip {
            self.roots_state += u64::from(self.roots.remove(&block).is_some());
        }
        if block.mip == 0 && removed.is_some_and(|entry| entry.is_dirty()) {
            self.mark_coarse(block, max_mip);
        }
    }

    /// The coarsest blocks that are wanted, each with how many chunks are wanted in it, in no
    /// order.
    pub fn roots(&self) -> impl Iterator<Item = (MipBlock, u32)> {
        self.roots.iter().map(|(&block, &chunks)| (block, chunks))
    }

    /// How many of the coarsest blocks are wanted.
    pub fn root_count(&self) -> usize {
        self.roots.len()
    }

    /// A number that grows when [`Subscriptions::roots`] lists other roots, or none of one's chunks
    /// where it listed some, or the other way round.
    pub fn roots_state(&self) -> u64 {
        self.roots_state
    }

    /// A number that differs after each block that came or went.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// The finest mip up to `coarsest` of the blocks over a position in voxels, if there is one.
    pub fn finest_at(&self, position: [f64; 3], coarsest: u8) -> Option<u8> {
        let voxel = VoxelPos::from(position.map(|v| v.floor() as i32));
        let over = |mip: u8| MipBlock { mip, pos: voxel.coarser(5 + u32::from(mip)) };
        (0..=coarsest).find(|&mip| self.blocks.contains_key(&over(mip)))
    }

    /// Marks the coarse cells over a changed chunk whose cells are not sent: the guest cannot
    /// compute them.
    fn mark_coarse(&mut self, chunk: MipBlock, max_mip: u8) {
        for mip in 1..=max_mip {
            let block = chunk.over(mip);
            self.mark_cells(block, chunk.voxels().coarser(mip.into()));
        }
    }

    /// Sends a block again, if it was sent, and the coarse cells over a chunk: a guest that is sent
    /// a chunk again computes them from it, which the host does only where it was edited.
    pub fn refresh(&mut self, block: MipBlock, max_mip: u8) {
        if block.mip == 0 && self.is_sent(block) {
            self.mark_coarse(block, max_mip);
        }
        self.mark_cells(block, block.cells());
    }

    /// Marks a coarse block, if it was sent, whose cells changed without an edit, and the cells over
    /// it: a guest computes them from its own.
    pub fn renew(&mut self, block: MipBlock, max_mip: u8) {
        if self.is_sent(block) {
            for mip in block.mip..=max_mip {
                self.mark_cells(block.over(mip), block.voxels().coarser(mip.into()));
            }
        }
    }

    /// Whether the guest has exactly the host's cells of a block, given how far it has read.
    pub fn is_current(&self, block: MipBlock, read: u64) -> bool {
        let entry = self.blocks.get(&block);
        entry.is_some_and(|entry| entry.sent > 0 && entry.sent <= read && !entry.is_dirty())
    }

    /// Whether a block was never sent, and the guest has no cells of it.
    pub fn was_never_sent(&self, block: MipBlock) -> bool {
        self.blocks.get(&block).is_some_and(|entry| entry.sent == 0 && entry.known.is_none())
    }

    /// Returns the message for a block that the guest generates itself, like all below it: it also
    /// covers those below that were never sent, at most `room`.
    pub fn ground_over(&self, block: MipBlock, room: &mut usize) -> FamilyChild {
        let mut below = Children::default();
        if block.mip > 0 {
            for (child, sent) in block.children().into_iter().zip(&mut below) {
                if *room > 0 && self.was_never_sent(child) {
                    *room -= 1;
                    *sent = self.ground_over(child, room);
                }
            }
        }
        match below == Children::default() {
            true => FamilyChild::Ground,
            false => FamilyChild::GroundOver(Box::new(below)),
        }
    }

    /// Whether the guest has cells of a block from this host.
    pub fn is_sent(&self, block: MipBlock) -> bool {
        self.blocks.get(&block).is_some_and(|entry| entry.sent > 0)
    }

    /// Marks the cells that a change of a region, in voxels, affects in blocks that were sent: the
    /// cells of each chunk, or the coarse cells over it. Coarse cells over a chunk that was sent
    /// follow from it.
    pub fn mark(&mut self, region: Region, max_mip: u8) {
        for chunk in region.blocks::<5>() {
            let block = MipBlock::from(chunk);
            match self.is_sent(block) {
                true => self.mark_cells(block, region.intersect(chunk.region())),
                false => self.mark_coarse(block, max_mip),
            }
        }
    }

    /// Marks cells of a block to be sent again, if it was sent.
    pub fn mark_cells(&mut self, block: MipBlock, cells: Region) {
        let Some(entry) = self.blocks.get_mut(&block).filter(|entry| entry.sent > 0) else {
            return;
        };
        let [low, high] = corners_of(block, cells);
        entry.marked = Some(match entry.marked {
            None => {
                self.marked.push(block);
                [low, high]
            }
            Some([a, b]) => {
                [[0, 1, 2].map(|i| a[i].min(low[i])), [0, 1, 2].map(|i| b[i].max(high[i]))]
            }
        });
    }

    /// The round in which what was marked until now is sent.
    pub fn next_round(&self) -> u64 {
        self.round + 1
    }

    /// Whether all changes of a round were sent.
    pub fn is_through(&self, round: u64) -> bool {
        round < self.round || self.due.is_empty() && (round == self.round || self.marked.is_empty())
    }

    /// Takes the next change to send.
    fn next_change(&mut self) -> Option<NextBlock> {
        loop {
            if self.due.is_empty() {
                if self.marked.is_empty() {
                    return None;
                }
                self.round += 1;
                self.due = std::mem::take(&mut self.marked);
                self.due.sort_unstable_by(|a, b| b.mip.cmp(&a.mip).then(b.cmp(a)));
                for block in &self.due {
                    // A block that was dropped and wanted again may be listed twice.
                    if let Some(entry) = self.blocks.get_mut(block)
                        && let Some(marked) = entry.marked.take()
                    {
                        entry.due = Some(marked);
                    }
                }
            }
            let block = self.due.pop()?;
            if let Some(due) = self.blocks.get_mut(&block).and_then(|entry| entry.due.take()) {
                return Some(NextBlock::Part(block, region_of(block, due)));
            }
        }
    }

    /// Takes what is to be sent next: changes first, then coarse blocks. A block comes after the one
    /// above it.
    pub fn next(&mut self) -> Option<NextBlock> {
        if let Some(change) = self.next_change() {
            return Some(change);
        }
        for queue in self.queues.iter_mut().rev() {
            while let Some(block) = queue.pop_front() {
                let entry = self.blocks.get(&block).filter(|entry| entry.sent == 0);
                let Some(entry) = entry.filter(|_| !self.unavailable.contains(&block)) else {
                    continue;
                };
                if may_be_sent(&self.blocks, &self.roots, block) {
                    return Some(NextBlock::Whole(block, entry.known));
                }
                let siblings = self.below.entry(block.parent()).or_default();
                if !siblings.contains(&block) {
                    siblings.push(block);
                }
            }
        }
        self.next_unavailable()
    }

    /// Takes the next of the blocks that could not be read.
    fn next_unavailable(&mut self) -> Option<NextBlock> {
        let after = self.retried.map_or(Unbounded, Excluded);
        let mut later = self.unavailable.range((after, Unbounded));
        let block = later.next().or_else(|| self.unavailable.first()).copied()?;
        self.unavailable.remove(&block);
        self.retried = Some(block);
        self.blocks.get(&block).map(|entry| NextBlock::Whole(block, entry.known))
    }

    /// What [`Subscriptions::next`] will return, as far as the first `most` entries of each list show it.
    pub fn upcoming(&self, most: usize) -> impl Iterator<Item = NextBlock> {
        let change = |block: &MipBlock| {
            let entry = self.blocks.get(block)?;
            let dirty = entry.due.or(entry.marked)?;
            Some(NextBlock::Part(*block, region_of(*block, dirty)))
        };
        let whole = |block: &MipBlock| {
            let entry = self.blocks.get(block).filter(|entry| entry.sent == 0)?;
            may_be_sent(&self.blocks, &self.roots, *block)
                .then_some(NextBlock::Whole(*block, entry.known))
        };
        let changes = self.due.iter().rev().chain(&self.marked).take(most).filter_map(change);
        let queued = self.queues.iter().rev().flat_map(move |queue| queue.iter().take(most));
        let after = self.retried.map_or(Unbounded, Excluded);
        let unavailable = self.unavailable.range((after, Unbounded)).chain(&self.unavailable);
        changes.chain(queued.chain(unavailable.take(most)).filter_map(whole))
    }

    /// Puts what was next back, to be next again.
    pub fn put_back(&mut self, next: NextBlock) {
        match next {
            NextBlock::Whole(block, _) => self.queues[usize::from(block.mip)].push_front(block),
            NextBlock::Part(block, region) => {
                if let Some(entry) = self.blocks.get_mut(&block) {
                    entry.due = Some(corners_of(block, region));
                    self.due.push(block);
                }
            }
        }
    }

    /// Puts what was next aside, since its cells are not available now. It counts as never sent, so
    /// that all of it is sent once they are; until then the guest has the cells that it has.
    pub fn put_aside(&mut self, next: NextBlock) {
        let (NextBlock::Whole(block, _) | NextBlock::Part(block, _)) = next;
        if let Some(entry) = self.blocks.get_mut(&block) {
            let known = entry.known;
            *entry = Subscription { known, ..Subscription::default() };
            self.unavailable.insert(block);
        }
    }

    /// Notes that cells of a block were sent, up to this offset of the stream.
    pub fn note_sent(&mut self, block: MipBlock, end: u64) {
        let Some(entry) = self.blocks.get_mut(&block) else { return };
        if entry.sent == 0 {
            for child in self.below.remove(&block).unwrap_or_default() {
                self.queues[usize::from(child.mip)].push_back(child);
            }
        }
        entry.sent = end;
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let entry = size_of::<(MipBlock, Subscription)>() + 1;
        let queued: usize = self.queues.iter().map(VecDeque::capacity).sum();
        let below: usize = self.below.values().map(Vec::capacity).sum();
        self.blocks.capacity() * 8 / 7 * entry
            + self.below.capacity() * size_of::<(MipBlock, Vec<MipBlock>)>()
            + (below + 2 * self.unavailable.len()) * size_of::<MipBlock>()
            + (queued + self.due.capacity() + self.marked.capacity()) * size_of::<MipBlock>()
    }
}

/// Whether a block may be sent: it is one of the coarsest, or the block above it was sent.
fn may_be_sent(
    blocks: &FxHashMap<MipBlock, Subscription>,
    roots: &FxHashMap<MipBlock, u32>,
    block: MipBlock,
) -> bool {
    let is_sent = |block| blocks.get(&block).is_some_and(|entry| entry.sent > 0);
    roots.contains_key(&block) || is_sent(block.parent())
}

fn corners_of(block: MipBlock, cells: Region) -> DirtyCells {
    let min = block.cells().min;
    [cells.min - min, cells.max - min].map(|v| v.to_array().map(|v| v as u8))
}

/// The cells between two corners in a block.
fn region_of(block: MipBlock, corners: DirtyCells) -> Region {
    let [min, max] =
        corners.map(|corner| block.cells().min + VoxelPos::from(corner.map(i32::from)));
    Region { min, max }
}
