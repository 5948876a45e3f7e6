//! The plan whose jobs are running. Dropped jobs are handed out again; late or repeated results
//! are ignored.

use super::draft::RetiledBlocks;
use super::mesh_job::MeshedBlock;
use super::ticket::Receipt;
use crate::voxel::{MipBlock, Snapshot};
use rustc_hash::FxHashMap;

/// A plan that is not yet published.
pub(super) struct ActivePlan {
    pub plan: u64,
    pub snapshot: Snapshot,
    /// Its blocks, sorted.
    pub blocks: Vec<MipBlock>,
    /// Blocks that are no longer shown after it.
    pub removed: Vec<MipBlock>,
    /// Blocks not handed out yet; the next is last.
    pub queue: Vec<MipBlock>,
    /// Jobs in progress.
    pub pending: FxHashMap<MipBlock, Receipt>,
    pub done: Vec<MeshedBlock>,
    /// Where it changes the tiling.
    pub retiled: RetiledBlocks,
    /// Whether changed cells are among what it shows.
    pub has_edits: bool,
}

impl ActivePlan {
    /// Records that a block has no surface.
    pub fn finish_empty(&mut self, block: MipBlock) {
        self.done.push(MeshedBlock { plan: self.plan, block, mesh: None, ticket: None });
    }

    pub fn is_complete(&self) -> bool {
        self.done.len() == self.blocks.len()
    }

    /// Queues jobs that were dropped again.
    pub fn requeue_lost(&mut self) {
        let lost = self.pending.extract_if(|_, receipt| receipt.is_lost());
        let first = self.queue.len();
        self.queue.extend(lost.map(|(block, _)| block));
        self.queue[first..].sort_unstable();
    }
}
