//! The order of jobs: edits, chunks near the viewers, meshes, blocks that steps need, and last
//! those that were not available. [`FirstWork`] has the exceptions.

use super::draft::HasTime;
use super::mesh_job::MeshJob;
use super::ticket::Ticket;
use super::view::LodView;
use crate::voxel::{MipBlock, Snapshot};

/// While edits wait for the plan in progress, one job in this many fills a block.
const FILL_TURNS: u32 = 4;

/// One job in this many tries again what was not available.
const RETRY_TURNS: u32 = 4;

/// Jobs that come before the coarsest blocks: the chunk of a viewer and those around it.
const FIRST_TURNS: u32 = 27;

/// A job that was handed out.
pub(crate) enum NextJob {
    Mesh(Box<MeshJob>),
    Fill(MipBlock, Ticket),
}

/// What comes first of all but edits that are shown ahead.
enum FirstWork {
    /// Chunks near the viewers: what can be touched comes before what is seen.
    NearFill,
    /// Meshes: edits wait for them.
    Mesh,
    /// Blocks that steps need: nothing is shown yet.
    FarFill,
    /// Chunks near the viewers, else blocks that steps need: edits must not stop them.
    Fill,
    /// What was not available: it may be now, and near.
    Retry,
}

impl LodView {
    /// Hands out the next job of edits that are shown ahead of the stream.
    pub(crate) fn next_edit_job(&mut self, has_time: HasTime<'_>) -> Option<MeshJob> {
        self.take_mesh_job(true, has_time)
    }

    /// Hands out the next job; `None` if there is none, or if time ran out while looking for it.
    pub(crate) fn next_job(&mut self, grid: &Snapshot, has_time: HasTime<'_>) -> Option<NextJob> {
        let mesh = |job| NextJob::Mesh(Box::new(job));
        let fill = |(block, ticket)| NextJob::Fill(block, ticket);
        if let Some(job) = self.next_edit_job(has_time) {
            return Some(mesh(job));
        }
        let first = match self.first_work() {
            FirstWork::NearFill => None,
            FirstWork::Mesh => self.take_mesh_job(false, has_time).map(mesh),
            FirstWork::FarFill => self.take_far_fill(grid).map(fill),
            FirstWork::Fill => self.take_fill(grid).map(fill),
            FirstWork::Retry => self.take_retry(grid).map(fill),
        };
        if let Some(job) = first.or_else(|| self.take_near_fill(grid).map(fill)) {
            return Some(job);
        }
        match self.take_mesh_job(false, has_time) {
            Some(job) => Some(mesh(job)),
            // There was no time to find it.
            None if self.has_mesh_jobs() => None,
            None => self.take_far_fill(grid).or_else(|| self.take_retry(grid)).map(fill),
        }
    }

    fn first_work(&mut self) -> FirstWork {
        self.turn = self.turn.checked_add(1).unwrap_or(FIRST_TURNS);
        let has_edits = self.active_plan.as_ref().is_some_and(|plan| plan.has_edits);
        if self.turn % RETRY_TURNS == 1 {
            FirstWork::Retry
        } else if self.has_late_edits || has_edits {
            if self.turn.is_multiple_of(FILL_TURNS) { FirstWork::Fill } else { FirstWork::Mesh }
        } else if self.turn > FIRST_TURNS && self.turn.is_multiple_of(2) && self.awaits_roots() {
            FirstWork::FarFill
        } else {
            FirstWork::NearFill
        }
    }
}
