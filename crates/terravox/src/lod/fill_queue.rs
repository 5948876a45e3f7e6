//! Requests for missing cells in order of priority: first chunks near a viewer, then blocks that
//! the next steps need. Blocks that were not available when last requested are tried again, each at
//! most once a round, in a share of the jobs, or once nothing else is left to do, so that what is
//! unavailable stops nothing else. After some rounds a block rests,
//! and only a few of those that do are tried each round, until one arrives: then all are.
//!
//! A block is not requested again while a fill is in progress. A [`Ticket`] travels with the work;
//! dropped work is requested again.

use super::residency::chunk_of;
use super::selection::{Selector, distance_squared};
use super::ticket::{Receipt, Ticket};
use crate::voxel::{ChunkState, LIMIT, MipBlock, Region, Snapshot, UnlistedChunks};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Arrivals after which it is worth planning again.
const MIN_ARRIVALS: usize = 32;

/// Near chunks are held this much farther out than they are shown, so that a walking viewer finds
/// the next ones loaded.
const HOLD_MARGIN_VOXELS: f64 = 8.0;

/// How far a viewer moves before the near chunks are listed again.
const RELIST_VOXELS: f64 = 4.0;

/// Ground down to this far below a viewer counts as near as the ground around it.
const BELOW_VOXELS: f64 = 32.0;

/// Rounds in a row in which a block is refused before it rests.
const REFUSALS_BEFORE_REST: u32 = 8;

/// Blocks at rest that are tried each round: this share of them, but at least this many.
const PROBED_SHARE: usize = 16;
const MIN_PROBES: usize = 8;

/// A fill in progress.
struct PendingFill {
    receipt: Receipt,
    /// Version of the grid when it was requested.
    version: u64,
}

/// Blocks in the order in which they were refused, none twice.
#[derive(Default)]
struct RefusedBlocks {
    order: Vec<MipBlock>,
    all: FxHashSet<MipBlock>,
}

impl RefusedBlocks {
    fn push(&mut self, block: MipBlock) {
        if self.all.insert(block) {
            self.order.push(block);
        }
    }

    fn retain(&mut self, keeps: impl Fn(&MipBlock) -> bool) {
        self.order.retain(&keeps);
        self.all.retain(keeps);
    }
}

/// Blocks whose cells are missing.
#[derive(Default)]
pub(crate) struct FillQueue {
    /// Chunks near the viewers that are not held; the nearest is last.
    near: Vec<MipBlock>,
    /// The viewers for whom `near` was listed.
    near_for: Option<Selector>,
    /// Blocks that the next steps need; the nearest is last.
    wanted: Vec<MipBlock>,
    /// Fills in progress.
    pending: FxHashMap<MipBlock, PendingFill>,
    /// Blocks that were refused in this round, or whose cells went stale.
    refused: RefusedBlocks,
    /// Blocks refused when last requested, and how often in a row: no plan waits for them. Each is
    /// in `near_retries`, `far_retries`, `resting`, `refused` or `pending`.
    unavailable: FxHashMap<MipBlock, u32>,
    /// Unavailable blocks that were refused often, the longest untried first.
    resting: VecDeque<MipBlock>,
    /// Unavailable chunks near the viewers to request again in this round, the longest refused
    /// first.
    near_retries: VecDeque<MipBlock>,
    /// The other unavailable blocks.
    far_retries: VecDeque<MipBlock>,
    /// Whether the last retry was a near one: they take turns.
    was_near_retry: bool,
    /// Whether blocks were requested in this round.
    has_requested: bool,
    /// Blocks that arrived since the last request, or turned out to be unavailable.
    arrivals: usize,
    /// Rounds that have begun.
    rounds: u64,
}

impl FillQueue {
    /// Lists the chunks near the viewers that are not held, if a viewer moved.
    pub fn list_near(&mut self, grid: &Snapshot, selector: &Selector) {
        if grid.unlisted() == UnlistedChunks::Air {
            return;
        }
        let same = |last: &Selector| {
            let close = |(a, b): (&[f64; 3], &[f64; 3])| {
                (0..3).all(|i| (a[i] - b[i]).abs() < RELIST_VOXELS)
            };
            let [a, b] = [last, selector].map(|selector| selector.viewers.iter());
            let [a, b] = [a, b].map(|viewers| viewers.map(|viewer| &viewer.position_voxels));
            let distances = |selector: &Selector| -> Vec<f64> {
                selector.viewers.iter().map(|viewer| viewer.distance_voxels).collect()
            };
            distances(last) == distances(selector)
                && last.near_voxels == selector.near_voxels
                && a.zip(b).all(close)
        };
        if self.near_for.as_ref().is_some_and(same) {
            return;
        }
        let mut near: Vec<(f64, MipBlock)> = chunks_near(selector)
            .into_iter()
            .filter(|(_, block)| grid.held(chunk_of(*block)) != ChunkState::Mip(0))
            .collect();
        // For a chunk near two viewers the nearer counts.
        near.sort_unstable_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
        near.dedup_by_key(|entry| entry.1);
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let near = near.into_iter().map(|(_, block)| block);
        self.near = near.filter(|block| !self.unavailable.contains_key(block)).collect();
        self.near_for = Some(selector.clone());
    }

    /// Whether all available chunks near the viewers are requested or held.
    pub fn has_no_near_left(&self) -> bool {
        self.near.is_empty()
    }

    /// Whether an available block is queued or in progress.
    pub fn is_waiting(&self) -> bool {
        self.has_queued() || self.pending.keys().any(|block| self.is_available(*block))
    }

    /// Whether an available block of a mip is queued or in progress.
    pub fn awaits_mip(&self, mip: u8) -> bool {
        let is_awaited = |block: &MipBlock| block.mip == mip && self.is_available(*block);
        self.wanted.iter().chain(self.pending.keys()).any(is_awaited)
    }

    /// Whether a block was not refused when last requested.
    pub fn is_available(&self, block: MipBlock) -> bool {
        !self.unavailable.contains_key(&block)
    }

    /// Returns how many rounds have begun.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Whether any block is queued, in progress or refused: not all cells that are needed are
    /// there.
    pub fn has_missing(&self) -> bool {
        let has_refused =
            !self.refused.order.is_empty() || !self.resting.is_empty() || self.has_retries();
        !self.pending.is_empty() || has_refused || self.has_queued()
    }

    fn has_retries(&self) -> bool {
        !self.near_retries.is_empty() || !self.far_retries.is_empty()
    }

    /// Whether blocks arrived since the last request.
    pub fn has_any_arrivals(&self) -> bool {
        self.arrivals > 0
    }

    /// Whether a block is a chunk near a viewer, which is held as soon as it arrives.
    pub fn is_near(&self, block: MipBlock) -> bool {
        let near = |selector: &Selector| {
            selector.distance(block) <= selector.near_voxels + HOLD_MARGIN_VOXELS + RELIST_VOXELS
        };
        block.mip == 0 && self.near_for.as_ref().is_some_and(near)
    }

    /// Replaces the queue of the next steps by `blocks`, the most urgent first. `unavailable` are
    /// needed, too.
    pub fn request(&mut self, mut blocks: Vec<MipBlock>, unavailable: FxHashSet<MipBlock>) {
        if !self.unavailable.is_empty() || !self.refused.order.is_empty() {
            // What was refused and is no longer needed is not requested again.
            let mut refused = std::mem::take(&mut self.refused);
            let mut needed = unavailable;
            needed.extend(&blocks);
            let is_needed = |block: &MipBlock| needed.contains(block) || self.is_near(*block);
            refused.retain(is_needed);
            let retries = self.near_retries.iter().chain(&self.far_retries);
            let (near, far): (VecDeque<_>, VecDeque<_>) = retries
                .copied()
                .filter(|block| is_needed(block))
                .partition(|&block| self.is_near(block));
            let resting = self.resting.iter().filter(|block| is_needed(block));
            let resting: VecDeque<MipBlock> = resting.copied().collect();
            let kept = refused.order.iter().chain(&near).chain(&far).chain(&resting);
            let kept: FxHashSet<MipBlock> = kept.copied().collect();
            (self.refused, self.near_retries, self.far_retries) = (refused, near, far);
            self.resting = resting;
            self.unavailable
                .retain(|block, _| kept.contains(block) || self.pending.contains_key(block));
            blocks.retain(|block| self.is_available(*block));
        }
        self.has_requested = true;
        blocks.reverse();
        self.wanted = blocks;
        self.arrivals = 0;
    }

    /// Whether enough blocks arrived, or turned out to be unavailable, to plan again. The next
    /// tiling (`has_next_tiling`) is not shown before it is complete, so there it is only worth it
    /// once all requests are handed out. While blocks are tried again, it is done once a round.
    pub fn has_arrivals(&self, has_next_tiling: bool) -> bool {
        let is_handed_out = self.wanted.is_empty() && !(self.has_retries() && self.has_requested);
        (self.arrivals >= MIN_ARRIVALS && !has_next_tiling) || (self.arrivals > 0 && is_handed_out)
    }

    /// Requests again what was refused or dropped.
    pub fn begin_round(&mut self) {
        self.rounds += 1;
        self.has_requested = false;
        let lost = self.pending.extract_if(|_, pending| pending.receipt.is_lost());
        let mut lost: Vec<MipBlock> = lost.map(|(block, _)| block).collect();
        lost.sort_unstable();
        for block in lost {
            match (self.is_available(block), self.is_near(block)) {
                (false, _) => self.retry(block),
                (true, true) => self.near.push(block),
                (true, false) => self.wanted.push(block),
            }
        }
        let probes = (self.resting.len() / PROBED_SHARE).max(MIN_PROBES);
        for _ in 0..probes {
            let Some(block) = self.resting.pop_front() else { break };
            self.retry(block);
        }
        let refused = std::mem::take(&mut self.refused).order;
        if refused.is_empty() {
            return;
        }
        let mut stale = RefusedBlocks::default();
        for block in refused {
            match self.unavailable.get(&block) {
                None => stale.push(block),
                Some(&count) if count > REFUSALS_BEFORE_REST => self.resting.push_back(block),
                Some(_) => self.retry(block),
            }
        }
        let is_queued =
            |block: &MipBlock| !self.unavailable.contains_key(block) && !stale.all.contains(block);
        self.near.retain(is_queued);
        self.wanted.retain(is_queued);
        let (near, wanted): (Vec<_>, Vec<_>) =
            stale.order.into_iter().partition(|&block| self.is_near(block));
        self.near.splice(0..0, near);
        self.wanted.splice(0..0, wanted);
    }

    /// Requests an unavailable block again in this round.
    fn retry(&mut self, block: MipBlock) {
        match self.is_near(block) {
            true => self.near_retries.push_back(block),
            false => self.far_retries.push_back(block),
        }
    }

    /// Requests all blocks at rest again: what was unavailable may have come with another.
    fn wake(&mut self) {
        for block in std::mem::take(&mut self.resting) {
            self.retry(block);
        }
    }

    /// Takes the next near chunk.
    pub fn take_near(
        &mut self,
        version: u64,
        has: impl Fn(MipBlock) -> bool,
    ) -> Option<(MipBlock, Ticket)> {
        let refused = &self.refused;
        take(&mut self.near, &mut self.pending, version, |block| {
            refused.all.contains(&block) || has(block)
        })
    }

    /// Takes the next block that a step needs.
    pub fn take_wanted(
        &mut self,
        version: u64,
        has: impl Fn(MipBlock) -> bool,
    ) -> Option<(MipBlock, Ticket)> {
        let refused = &self.refused;
        take(&mut self.wanted, &mut self.pending, version, |block| {
            refused.all.contains(&block) || has(block)
        })
    }

    /// Takes a block that was not available: one near a viewer and another one in turn, of each the
    /// one that was refused longest ago.
    pub fn take_retry(
        &mut self,
        version: u64,
        has: impl Fn(MipBlock) -> bool,
    ) -> Option<(MipBlock, Ticket)> {
        loop {
            self.was_near_retry = !self.was_near_retry;
            let (near, far) = (&mut self.near_retries, &mut self.far_retries);
            let (first, second) = if self.was_near_retry { (near, far) } else { (far, near) };
            let block = first.pop_front().or_else(|| second.pop_front())?;
            if !has(block) {
                return Some((block, begin_fill(&mut self.pending, block, version)));
            }
            self.unavailable.remove(&block);
        }
    }

    /// Whether an available block waits to be handed out.
    pub fn has_queued(&self) -> bool {
        !self.near.is_empty() || !self.wanted.is_empty()
    }

    /// Whether nothing is queued.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.wanted.is_empty() && self.near.is_empty()
    }

    /// Records that the cells of a block arrived. Returns the version of the grid when they were
    /// requested; `None` if `ticket` is not that of the fill in progress.
    pub fn arrive(&mut self, block: MipBlock, ticket: Option<&Ticket>) -> Option<u64> {
        let pending = self.pending.get(&block);
        if let Some(ticket) = ticket
            && !pending.is_some_and(|pending| pending.receipt.is_of(ticket))
        {
            return None;
        }
        self.arrivals += 1;
        if self.unavailable.remove(&block).is_some() {
            self.wake();
        }
        Some(self.pending.remove(&block).map_or(0, |pending| pending.version))
    }

    /// Requests a block again whose cells were stale on arrival.
    pub fn request_again(&mut self, block: MipBlock) {
        self.refused.push(block);
    }

    /// Records that a block is not available now.
    pub fn refuse(&mut self, block: MipBlock, ticket: &Ticket) {
        if self.pending.get(&block).is_some_and(|pending| pending.receipt.is_of(ticket)) {
            self.pending.remove(&block);
            let refusals = self.unavailable.entry(block).or_insert(0);
            self.arrivals += usize::from(*refusals == 0);
            *refusals += 1;
            self.refused.push(block);
        }
    }
}

fn take(
    queue: &mut Vec<MipBlock>,
    pending: &mut FxHashMap<MipBlock, PendingFill>,
    version: u64,
    has: impl Fn(MipBlock) -> bool,
) -> Option<(MipBlock, Ticket)> {
    while let Some(block) = queue.pop() {
        if !pending.contains_key(&block) && !has(block) {
            return Some((block, begin_fill(pending, block, version)));
        }
    }
    None
}

fn begin_fill(
    pending: &mut FxHashMap<MipBlock, PendingFill>,
    block: MipBlock,
    version: u64,
) -> Ticket {
    let ticket = Ticket::default();
    pending.insert(block, PendingFill { receipt: ticket.receipt(), version });
    ticket
}

/// Returns the chunks within the near distance of any viewer, each with its priority: a squared
/// distance, the least first.
fn chunks_near(selector: &Selector) -> Vec<(f64, MipBlock)> {
    let mut chunks = Vec::new();
    let limit = LIMIT >> 5;
    for viewer in &selector.viewers {
        let reach =
            (selector.near_voxels + HOLD_MARGIN_VOXELS).min(viewer.distance_voxels.max(0.0));
        // The casts saturate.
        let at = |by: f64| viewer.position_voxels.map(|v| ((v + by) / 32.0).floor() as i32);
        let all = Region::new([-limit; 3], [limit; 3]);
        let past = at(reach).map(|v| v.saturating_add(1));
        let around = Region::new(at(-reach), past).intersect(all);
        for pos in around.voxels() {
            let block = MipBlock::new(0, pos);
            let voxels = block.voxels();
            if distance_squared(viewer, block) > reach * reach {
                continue;
            }
            // From the nearest point of the segment from the viewer down.
            let [x, y, z] = viewer.position_voxels;
            let below = y.min(f64::from(voxels.max.y)).max(y - BELOW_VOXELS);
            let axis =
                |min: i32, max: i32, v: f64| (f64::from(min) - v).max(v - f64::from(max)).max(0.0);
            let (min, max) = (voxels.min, voxels.max);
            let [x, y, z] =
                [axis(min.x, max.x, x), axis(min.y, max.y, below), axis(min.z, max.z, z)];
            chunks.push((x * x + y * y + z * z, block));
        }
    }
    chunks
}
