//! Which blocks' cells are asked for, in which order, and by whom: what a viewer can touch
//! first, then what the next steps need, what looks largest first.
//!
//! A block that is asked for is not asked for again while somebody works on it. A ticket that
//! goes with the work says whether somebody does: dropped work is asked for again.

use super::pick::{Picker, square_distance};
use crate::voxel::{ChunkPos, Held, LIMIT, MipBlock, Region, Snapshot, Unlisted, VoxelPos};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Weak};

/// Blocks that have to come for it to be worth a look what they allow.
const NEWS: usize = 32;

/// Near chunks are held this much farther out than they are shown, voxels: who walks finds
/// the next ones there.
const AHEAD_VOXELS: f64 = 8.0;

/// How far a viewer goes before the near chunks are listed anew, voxels.
const STEP_VOXELS: f64 = 4.0;

/// The ground this far below a viewer is as near as that around it, voxels.
const BELOW_VOXELS: f64 = 32.0;

/// Goes with a piece of work; while it is there, somebody works on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticket(Arc<()>);

/// What stays behind of a [`Ticket`].
#[derive(Debug, Default)]
pub(crate) struct Receipt(Weak<()>);

impl Ticket {
    pub fn receipt(&self) -> Receipt {
        Receipt(Arc::downgrade(&self.0))
    }
}

impl Receipt {
    /// Whether the work was dropped.
    pub fn is_lost(&self) -> bool {
        self.0.strong_count() == 0
    }

    pub fn is_of(&self, ticket: &Ticket) -> bool {
        Weak::ptr_eq(&self.0, &Arc::downgrade(&ticket.0))
    }
}

/// A block that somebody works on.
struct Asked {
    receipt: Receipt,
    /// Of the grid, when it was asked for.
    version: u64,
}

/// The queue of blocks whose cells are missing.
#[derive(Default)]
pub(crate) struct Fills {
    /// Chunks near the viewers that are not held, nearest last.
    near: Vec<MipBlock>,
    /// Where the viewers were when the near chunks were listed.
    near_for: Option<Picker>,
    /// Asked for by the next steps, nearest last.
    wanted: Vec<MipBlock>,
    /// Somebody works on these.
    asked: FxHashMap<MipBlock, Asked>,
    /// Could not be had this round.
    refused: Vec<MipBlock>,
    /// Could not be had when they were last asked for: nobody waits for them.
    barren: FxHashSet<MipBlock>,
    /// Blocks that came since blocks were last asked for.
    news: usize,
}

impl Fills {
    /// Lists the chunks near the viewers that are not held, if the viewers moved.
    pub fn list_near(&mut self, grid: &Snapshot, picker: &Picker) {
        if grid.unlisted() == Unlisted::Air {
            return;
        }
        let same = |last: &Picker| {
            let close =
                |(a, b): (&[f64; 3], &[f64; 3])| (0..3).all(|i| (a[i] - b[i]).abs() < STEP_VOXELS);
            let [a, b] = [last, picker].map(|picker| picker.viewers.iter());
            let [a, b] = [a, b].map(|viewers| viewers.map(|viewer| &viewer.position_voxels));
            let distances = |picker: &Picker| -> Vec<f64> {
                picker.viewers.iter().map(|viewer| viewer.distance_voxels).collect()
            };
            distances(last) == distances(picker) && last.near == picker.near && a.zip(b).all(close)
        };
        if self.near_for.as_ref().is_some_and(same) {
            return;
        }
        let mut near: Vec<(f64, MipBlock)> = near_chunks(picker)
            .into_iter()
            .filter(|(_, block)| grid.held(chunk_of(*block)) != Held::Mip(0))
            .collect();
        // Of a chunk near two viewers the nearer counts.
        near.sort_unstable_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
        near.dedup_by_key(|entry| entry.1);
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        self.near = near.into_iter().map(|(_, block)| block).collect();
        self.near_for = Some(picker.clone());
    }

    /// Whether all chunks near the viewers are asked for or held, but for those that cannot be had.
    pub fn has_no_near_left(&self) -> bool {
        self.near.iter().all(|block| self.barren.contains(block))
    }

    /// Whether any block is asked for, or worked on, that may be had.
    pub fn is_asking(&self) -> bool {
        let may_come = |block: &MipBlock| !self.barren.contains(block);
        let mut all = self.near.iter().chain(&self.wanted).chain(self.asked.keys());
        all.any(may_come)
    }

    /// Whether a block is a chunk near a viewer, which is held as soon as it comes.
    pub fn is_near(&self, block: MipBlock) -> bool {
        let near =
            |picker: &Picker| picker.distance(block) <= picker.near + AHEAD_VOXELS + STEP_VOXELS;
        block.mip == 0 && self.near_for.as_ref().is_some_and(near)
    }

    /// Asks for blocks, the first most of all.
    pub fn want(&mut self, mut blocks: Vec<MipBlock>) {
        blocks.reverse();
        self.wanted = blocks;
        self.news = 0;
    }

    /// Whether so many blocks came that something may be done with them. What is chosen unseen
    /// shows nothing before it is whole, so there it is enough that all that was asked for is
    /// handed out.
    pub fn has_news(&self, is_unseen: bool) -> bool {
        (self.news >= NEWS && !is_unseen) || (self.news > 0 && self.wanted.is_empty())
    }

    /// Asks anew for what could not be had before, and for what was dropped.
    pub fn begin_round(&mut self) {
        let lost = self.asked.extract_if(|_, asked| asked.receipt.is_lost());
        let mut lost: Vec<MipBlock> = lost.map(|(block, _)| block).collect();
        lost.sort_unstable();
        for block in lost {
            match self.is_near(block) {
                true => self.near.push(block),
                false => self.wanted.push(block),
            }
        }
        // Last of all: others may be had.
        let refused = std::mem::take(&mut self.refused);
        if !refused.is_empty() {
            self.near.retain(|block| !refused.contains(block));
            self.wanted.retain(|block| !refused.contains(block));
            let (near, wanted): (Vec<_>, Vec<_>) =
                refused.into_iter().partition(|&block| self.is_near(block));
            self.near.splice(0..0, near);
            self.wanted.splice(0..0, wanted);
        }
    }

    /// Takes the near chunk that is asked for next.
    pub fn take_near(
        &mut self,
        version: u64,
        has: impl Fn(MipBlock) -> bool,
    ) -> Option<(MipBlock, Ticket)> {
        let refused = &self.refused;
        take(&mut self.near, &mut self.asked, version, |block| {
            refused.contains(&block) || has(block)
        })
    }

    /// Takes the block that is asked for next by a step.
    pub fn take_wanted(
        &mut self,
        version: u64,
        has: impl Fn(MipBlock) -> bool,
    ) -> Option<(MipBlock, Ticket)> {
        let refused = &self.refused;
        take(&mut self.wanted, &mut self.asked, version, |block| {
            refused.contains(&block) || has(block)
        })
    }

    /// Whether no block is asked for.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.wanted.is_empty() && self.near.is_empty()
    }

    /// Notes that the cells of a block came. A ticket says whose. Returns the version of the
    /// grid when they were asked for; `None` if they are not asked for any longer.
    pub fn arrive(&mut self, block: MipBlock, ticket: Option<&Ticket>) -> Option<u64> {
        let asked = self.asked.get(&block);
        if let Some(ticket) = ticket
            && !asked.is_some_and(|asked| asked.receipt.is_of(ticket))
        {
            return None;
        }
        self.news += 1;
        self.barren.remove(&block);
        Some(self.asked.remove(&block).map_or(0, |asked| asked.version))
    }

    /// Asks for a block again whose cells came, but went stale on the way.
    pub fn ask_again(&mut self, block: MipBlock) {
        self.refuse_once(block);
    }

    fn refuse_once(&mut self, block: MipBlock) {
        if !self.refused.contains(&block) {
            self.refused.push(block);
        }
    }

    /// Notes that a block cannot be had now.
    pub fn refuse(&mut self, block: MipBlock, ticket: &Ticket) {
        if self.asked.get(&block).is_some_and(|asked| asked.receipt.is_of(ticket)) {
            self.asked.remove(&block);
            self.barren.insert(block);
            self.refuse_once(block);
        }
    }
}

fn take(
    queue: &mut Vec<MipBlock>,
    asked: &mut FxHashMap<MipBlock, Asked>,
    version: u64,
    has: impl Fn(MipBlock) -> bool,
) -> Option<(MipBlock, Ticket)> {
    while let Some(block) = queue.pop() {
        if !asked.contains_key(&block) && !has(block) {
            let ticket = Ticket::default();
            asked.insert(block, Asked { receipt: ticket.receipt(), version });
            return Some((block, ticket));
        }
    }
    None
}

/// The chunks within the near distance of any viewer, and how near each counts.
fn near_chunks(picker: &Picker) -> Vec<(f64, MipBlock)> {
    let mut chunks = Vec::new();
    let limit = LIMIT >> 5;
    for viewer in &picker.viewers {
        let reach = (picker.near + AHEAD_VOXELS).min(viewer.distance_voxels.max(0.0));
        // The casts saturate.
        let at = |by: f64| viewer.position_voxels.map(|v| ((v + by) / 32.0).floor() as i32);
        let all = Region::new([-limit; 3], [limit - 1; 3]);
        let around = Region::new(at(-reach), at(reach)).intersect(all);
        let around = Region { max: around.max + VoxelPos::splat(1), ..around };
        for pos in around.voxels() {
            let block = MipBlock::new(0, pos);
            let voxels = block.voxels();
            if square_distance(viewer, block) > reach * reach {
                continue;
            }
            // From the viewer, or a point below it, whichever is nearer.
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

fn chunk_of(block: MipBlock) -> ChunkPos {
    ChunkPos::new(block.pos.x, block.pos.y, block.pos.z)
}
