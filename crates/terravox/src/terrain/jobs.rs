//! Work as plain data: blocks to fill, to mesh and to simplify, on any thread.

use super::budget::{JOIN_MILLIS, Meter};
use super::fill_request::filled;
use super::{Budget, FillRequest, Placement, Terrain, Viewer};
use crate::lod::{FillTicket, LodViewer};
use crate::lod::{MeshJob, MeshScratch, MeshedBlock, SimplifiedMeshes, SimplifyJob};
use crate::simplify::Simplifier;
use crate::voxel::{DenseBox, MipBlock};

/// What a [`Job`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum JobKind {
    /// Asks a generator or a store for the cells of a block.
    Fill,
    /// Makes the mesh of a block.
    Mesh,
    /// Simplifies the mesh of one block, or of eight joined blocks.
    Simplify,
}

/// A piece of work of [`Terrain::take_jobs`]: `Send` data, to be run on any thread.
///
/// A job that is dropped is handed out again by a later call.
#[derive(Debug)]
#[must_use = "a job that is not run is handed out again"]
pub struct Job(Work);

#[derive(Debug)]
enum Work {
    Fill { block: MipBlock, placement: Placement, ticket: FillTicket },
    Mesh(Box<MeshJob>),
    Simplify(SimplifyJob),
}

/// The result of a [`Job`], for [`Terrain::finish_job`].
#[derive(Debug)]
#[must_use = "the result is lost, and the job handed out again"]
pub struct FinishedJob(Finished);

#[derive(Debug)]
enum Finished {
    Fill { block: MipBlock, ticket: FillTicket, cells: Option<DenseBox> },
    Mesh(MeshedBlock),
    Simplify(SimplifiedMeshes),
}

/// Memory that jobs reuse; keep one a thread.
#[derive(Default)]
pub struct JobScratch {
    mesh: MeshScratch,
    simplifier: Simplifier,
}

impl JobScratch {
    pub(super) fn simplify(&mut self, job: SimplifyJob) -> SimplifiedMeshes {
        job.run(&mut self.simplifier)
    }
}

impl Job {
    /// Returns what the job does.
    pub fn kind(&self) -> JobKind {
        match self.0 {
            Work::Fill { .. } => JobKind::Fill,
            Work::Mesh(_) => JobKind::Mesh,
            Work::Simplify(_) => JobKind::Simplify,
        }
    }

    /// Returns the block to fill or mesh, or the parent of the blocks to simplify.
    pub fn block(&self) -> MipBlock {
        match &self.0 {
            Work::Fill { block, .. } => *block,
            Work::Mesh(job) => job.block(),
            Work::Simplify(job) => job.block(),
        }
    }

    /// Does the work. `fill` is what [`Terrain::update`] would get; jobs of kind
    /// [`JobKind::Fill`] call it, once.
    pub fn run(self, scratch: &mut JobScratch, fill: impl Fn(&mut FillRequest<'_>)) -> FinishedJob {
        FinishedJob(match self.0 {
            Work::Fill { block, placement, ticket } => {
                Finished::Fill { block, ticket, cells: filled(block, placement, &fill) }
            }
            Work::Mesh(job) => Finished::Mesh(job.run(&mut scratch.mesh)),
            Work::Simplify(job) => Finished::Simplify(job.run(&mut scratch.simplifier)),
        })
    }
}

impl Terrain {
    /// Returns up to `max_jobs` jobs to run on your own threads, instead of or in addition to
    /// [`Terrain::update`]. Planning stays on this thread, within `budget` if that is
    /// a time; [`Budget::Blocks`] is ignored, since `max_jobs` bounds the jobs. Call it once a
    /// frame.
    ///
    /// No job is handed out twice while its ticket is alive. Jobs and results may come back
    /// in any order, late or never: what was dropped is handed out again, what comes too late
    /// changes nothing.
    ///
    /// ```
    /// use terravox::terrain::{Budget, JobScratch, Terrain, Viewer};
    ///
    /// let mut terrain = Terrain::default();
    /// let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 200.0 };
    /// let (send, receive) = std::sync::mpsc::channel();
    /// for _frame in 0..20 {
    ///     std::thread::scope(|threads| {
    ///         for job in terrain.take_jobs(&[viewer], Budget::Millis(1.0), 8) {
    ///             let send = send.clone();
    ///             threads.spawn(move || {
    ///                 let fill = |request: &mut terravox::terrain::FillRequest<'_>| {
    ///                     request.fill_sdf(8, |p| -p[1]);
    ///                 };
    ///                 let _ = send.send(job.run(&mut JobScratch::default(), fill));
    ///             });
    ///         }
    ///     });
    ///     receive.try_iter().for_each(|done| terrain.finish_job(done));
    /// }
    /// assert!(terrain.ray([0.0, 5.0, 0.0], [0.0, -1.0, 0.0], 10.0).hit().is_some());
    /// ```
    pub fn take_jobs(&mut self, viewers: &[Viewer], budget: Budget, max_jobs: usize) -> Vec<Job> {
        let meter = Meter::new(budget, self.clock);
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        if max_jobs > 0 {
            self.runner.drop_deferred();
        }
        self.begin_frame();
        let mut jobs = Vec::new();
        while jobs.len() < max_jobs && self.advance(&viewers, &meter) {
            match self.next_job(&meter) {
                Some(job) => jobs.push(job),
                None if self.publish_whole() => {}
                None => break,
            }
        }
        if self.lod.options().simplify.is_some() {
            let rest = if self.lod.is_planned() { 0 } else { max_jobs - jobs.len() };
            let more = self.lod.plan_simplified(rest);
            jobs.extend(more.into_iter().map(|job| Job(Work::Simplify(job))));
        } else if meter.may_begin(JOIN_MILLIS) {
            let swap = self.lod.join();
            self.show(swap);
        }
        self.follow_edits();
        jobs
    }

    /// Takes the result of a job. When the last job of a plan is back, all that it changes is
    /// shown at once, by [`Terrain::mesh_swaps`].
    pub fn finish_job(&mut self, done: FinishedJob) {
        match done.0 {
            Finished::Fill { block, ticket, cells } => {
                self.lod.finish_fill(block, &ticket, cells);
            }
            Finished::Mesh(mesh) => {
                self.lod.finish_mesh(mesh);
                self.publish_whole();
            }
            Finished::Simplify(mesh) => {
                let swap = self.lod.publish_simplified(vec![mesh]);
                self.show(swap);
            }
        }
    }

    /// Plans as long as there is time; returns whether planning came to an end.
    pub(super) fn advance(&mut self, viewers: &[LodViewer], meter: &Meter) -> bool {
        let follow = self.runner.follow_millis();
        self.lod.advance(&mut self.grid, viewers, &mut || meter.may_plan(follow))
    }

    /// What can be touched comes first, then what is to be shown, then what comes after.
    pub(super) fn next_job(&mut self, meter: &Meter) -> Option<Job> {
        let placement = self.original_placement;
        let fill = |(block, ticket)| Job(Work::Fill { block, placement, ticket });
        if let Some(near) = self.lod.take_near_fill(self.grid.as_snapshot()) {
            return Some(fill(near));
        }
        if let Some(job) = self.lod.take_mesh_job(&mut || meter.may_plan(0.0)) {
            return Some(Job(Work::Mesh(Box::new(job))));
        }
        // There was no time to find it.
        if self.lod.has_mesh_jobs() {
            return None;
        }
        self.lod.take_far_fill(self.grid.as_snapshot()).map(fill)
    }

    /// Shows the plan that is out, if all of it is back; returns whether it did.
    pub(super) fn publish_whole(&mut self) -> bool {
        let swap = self.lod.publish_complete();
        swap.map(|swap| self.show(swap)).is_some()
    }
}
