//! The plan that is out: its jobs are handed out one by one, and shown together when all are
//! back. A job that was dropped is handed out again; a result that comes twice, or too late,
//! changes nothing.

use super::fills::{Receipt, Ticket};
use super::plan::More;
use super::{Lod, MeshJob, MeshSwap, MeshedBlock, is_same};
use crate::voxel::{MipBlock, Snapshot};
use rustc_hash::FxHashMap;

/// A plan whose jobs are not all back.
pub(super) struct Out {
    plan: u64,
    pub snapshot: Snapshot,
    /// Its blocks, sorted.
    pub blocks: Vec<MipBlock>,
    /// Blocks that are no longer shown after it.
    pub gone: Vec<MipBlock>,
    /// Not handed out yet, the next last.
    pub todo: Vec<MipBlock>,
    asked: FxHashMap<MipBlock, Receipt>,
    /// Back.
    pub done: Vec<MeshedBlock>,
}

impl Out {
    pub fn new(
        plan: u64,
        snapshot: Snapshot,
        blocks: Vec<MipBlock>,
        gone: Vec<MipBlock>,
        todo: Vec<MipBlock>,
    ) -> Out {
        let (asked, done) = Default::default();
        Out { plan, snapshot, blocks, gone, todo, asked, done }
    }

    /// Notes that a block has no surface.
    pub fn finish_bare(&mut self, block: MipBlock) {
        self.done.push(MeshedBlock { plan: self.plan, block, mesh: None, ticket: None });
    }

    fn is_whole(&self) -> bool {
        self.done.len() == self.blocks.len()
    }
}

impl Lod {
    /// Hands the next job of the plan out; `None` if all are, there is no plan, or `more` returned
    /// false while blocks without a surface were passed over. It comes back by
    /// [`Lod::finish_mesh`], or is handed out again when it was dropped.
    pub(crate) fn take_mesh_job(&mut self, more: More<'_>) -> Option<MeshJob> {
        let mut out = self.out.take()?;
        let mut found = None;
        while let Some(block) = out.todo.pop() {
            match self.job(&out.snapshot, block) {
                None => {
                    out.finish_bare(block);
                    if !more() {
                        break;
                    }
                }
                Some(mut job) => {
                    let ticket = Ticket::default();
                    out.asked.insert(block, ticket.receipt());
                    job.ticket = Some(ticket);
                    found = Some(job);
                    break;
                }
            }
        }
        self.out = Some(out);
        found
    }

    /// Whether jobs of the plan are to be handed out still.
    pub(crate) fn has_mesh_jobs(&self) -> bool {
        self.out.as_ref().is_some_and(|out| !out.todo.is_empty())
    }

    /// Takes the result of a job back.
    pub(crate) fn finish_mesh(&mut self, mut result: MeshedBlock) {
        let Some(out) = &mut self.out else { return };
        let receipt = out.asked.get(&result.block);
        let fresh = match (receipt, &result.ticket) {
            (Some(receipt), Some(ticket)) => receipt.is_of(ticket) && result.plan == out.plan,
            _ => false,
        };
        if fresh {
            out.asked.remove(&result.block);
            // Compared here, one by one, and not when all are shown.
            let shown = self.shown.get(&result.block);
            if is_same(shown, result.mesh.as_ref()) {
                result.mesh = shown.cloned();
            }
            out.done.push(result);
        }
    }

    /// Shows the plan that is out, if all of it is back.
    pub(crate) fn publish_whole(&mut self) -> Option<MeshSwap> {
        self.out.as_ref().is_some_and(Out::is_whole).then(|| self.publish(Vec::new()))
    }

    /// Hands out again what was dropped.
    pub(crate) fn begin_round(&mut self) {
        self.fills.begin_round();
        self.groups.begin_round();
        self.has_held = false;
        if let Some(out) = &mut self.out {
            let lost = out.asked.extract_if(|_, receipt| receipt.is_lost());
            let first = out.todo.len();
            out.todo.extend(lost.map(|(block, _)| block));
            out.todo[first..].sort_unstable();
        }
    }
}
