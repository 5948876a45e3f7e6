//! The work of a frame, within a budget: cells for what is to be shown, then its meshes.

use super::budget::{Budget, JOIN_MILLIS, Meter};
use super::fill_request::{BlockFiller, FillRequest, filled};
use super::job::{Finished, FinishedJob, Job, Work};
use super::runner::{JobClass, batch_size, map_jobs, thread_count};
use super::{Placement, Terrain, TerrainError};
use crate::edit::EditError;
use crate::lod::{LodViewer, MeshSwap, NextJob};
use crate::voxel::{DenseBox, MipBlock, Region};
use std::ops::Range;

/// A point from which the world is seen: a camera, or a player on a server.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Viewer {
    /// Position, world metres. Viewers with a non-finite position are ignored.
    pub position_m: [f64; 3],
    /// View distance, metres. Infinity counts as 16 blocks of
    /// [`LodOptions::max_mip`](crate::lod::LodOptions::max_mip) (131,072 voxels by default, which
    /// take long to fill). Viewers with a distance of NaN are ignored.
    pub distance_m: f64,
}

impl Viewer {
    /// A viewer with a view distance of eight kilometres.
    pub fn at(position_m: impl Into<[f64; 3]>) -> Viewer {
        Viewer { position_m: position_m.into(), distance_m: 8192.0 }
    }
}

impl Terrain {
    /// Fills and meshes what the viewers can see, within the budget. Chunks within
    /// [`LodOptions::near_voxels`](crate::lod::LodOptions::near_voxels) of a viewer are filled
    /// first; from then on, rays hit them and edits can change them. The coarsest blocks in view
    /// follow. Both are shown together, and finer blocks follow, nearest first in multiples of the
    /// block's edge length. An edit is shown once every block that it affects is meshed: ahead of
    /// what streams in, unless a block depends on both.
    ///
    /// In a grid whose unlisted chunks are air
    /// ([`UnlistedChunks::Air`](crate::voxel::UnlistedChunks)), such as one that was loaded whole
    /// or imported, everything is in memory. There `fill` is never called, so pass `|_| {}`; rays
    /// and edits work everywhere at once, and viewers only decide what is shown, and how finely.
    ///
    /// Without viewers, all chunks that are held are shown at mip 0, and `fill` is not called.
    ///
    /// Eight blocks of a mip that have not changed for 60 updates are drawn as one mesh. With
    /// [`LodOptions::simplify`](crate::lod::LodOptions::simplify), such meshes are simplified with
    /// what is left of the budget, except with [`Budget::Millis`], since simplifying one takes
    /// several frames: [`Terrain::take_jobs`] hands this work out to other threads. A game that
    /// only calls `update` with `Budget::Millis` should leave `simplify` off: with it, such an
    /// update does not join blocks either.
    ///
    /// `fill` must give a block the same cells each time that it is called, with all edits that
    /// were [saved](Terrain::mark_saved). Chunks with unsaved changes are never evicted.
    ///
    /// ```
    /// use terravox::terrain::{Budget, Terrain, Viewer};
    ///
    /// let mut terrain = Terrain::default();
    /// let viewer = Viewer { position_m: [0.0, 10.0, 0.0], distance_m: 200.0 };
    /// terrain.update(&[viewer], Budget::Unlimited, |request| {
    ///     request.fill_height(8, -4.0..=4.0, |x, _z| 4.0 * (x * 0.1).sin());
    /// });
    /// assert!(terrain.ray([0.5, 10.0, 0.5], [0.0, -1.0, 0.0], 50.0).hit().is_some());
    /// ```
    ///
    /// # Panics
    /// If `fill` changes the region of the cells.
    pub fn update(
        &mut self,
        viewers: &[Viewer],
        budget: Budget,
        fill: impl Fn(&mut FillRequest<'_>) + Sync,
    ) {
        self.update_filled(viewers, budget, &fill);
    }

    fn update_filled(&mut self, viewers: &[Viewer], budget: Budget, fill: &BlockFiller<'_>) {
        let mut meter = Meter::new(budget, self.clock);
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        // Without a limit, everything is ready in this update: there is no need to look ahead.
        self.begin_frame(&viewers, budget != Budget::Unlimited);
        let mut has_time = self.run_first_jobs(&mut meter, fill);
        let mut collider_millis = 0.0;
        while self.advance(&viewers, &meter) && has_time {
            // Before the jobs, so that these know how much time is left.
            if meter.is_timed() {
                collider_millis += self.follow_edits_timed(&meter);
            }
            let max_jobs = meter.left().min(batch_size(budget));
            let jobs: Vec<Job> =
                std::iter::from_fn(|| self.next_job(&meter)).take(max_jobs).collect();
            if jobs.is_empty() && !(max_jobs > 0 && self.publish_complete()) {
                break;
            }
            has_time = self.run_jobs(jobs, 0..0, &mut meter, fill);
        }
        self.join_or_simplify(&meter);
        collider_millis += self.follow_edits_timed(&meter);
        self.runner.note_collider(collider_millis);
    }

    /// Returns up to `max_jobs` jobs to run on your own threads, instead of or in addition to
    /// [`Terrain::update`]. Planning stays on this thread, within `budget` if that is
    /// a time; [`Budget::Blocks`] is ignored, since `max_jobs` bounds the jobs. Call it once a
    /// frame.
    ///
    /// No job is handed out twice while it, or its result, exists. Results may come back in any
    /// order, late or never: a job that was dropped is handed out again, and a result that comes
    /// too late changes nothing.
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
        self.begin_frame(&viewers, true);
        let mut jobs = Vec::new();
        while jobs.len() < max_jobs && self.advance(&viewers, &meter) {
            match self.next_job(&meter) {
                Some(job) => jobs.push(job),
                None if self.publish_complete() => {}
                None => break,
            }
        }
        if self.lod.options().simplify.is_some() {
            let rest = if self.lod.is_planned() { 0 } else { max_jobs - jobs.len() };
            let more = self.lod.plan_simplified(rest);
            jobs.extend(more.into_iter().map(|job| Job(Work::Simplify(job))));
        } else if meter.may_begin(JOIN_MILLIS, true) {
            let swap = self.lod.join();
            self.show(swap);
        }
        self.follow_edits();
        jobs
    }

    /// Returns the jobs of all meshes that new edits wait for, whatever the budgets of
    /// [`Terrain::take_jobs`]: one for each block that the edits reach, at most
    /// [`LodOptions::jobs_per_plan`](crate::lod::LodOptions::jobs_per_plan). Call it before
    /// [`Terrain::take_jobs`], and run these jobs first. Returns no jobs if the edits have to wait
    /// for meshes that are in progress, or if it is the turn of what streams in: their jobs then
    /// come from [`Terrain::take_jobs`]. If this is never called, `take_jobs` hands out all jobs of
    /// edits.
    ///
    /// ```
    /// use terravox::terrain::{Budget, JobScratch, Terrain, Viewer};
    /// use terravox::EditOp;
    ///
    /// let mut terrain = Terrain::default();
    /// let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 200.0 };
    /// let fill = |request: &mut terravox::terrain::FillRequest<'_>| request.fill_sdf(8, |p| -p[1]);
    /// terrain.update(&[viewer], Budget::Unlimited, fill);
    /// terrain.mesh_swaps().for_each(drop);
    ///
    /// terrain.edit(&EditOp::dig_ball([0.0; 3], 4.0))?;
    /// let jobs = terrain.take_edit_jobs(); // to be run on any thread
    /// let mut scratch = JobScratch::default();
    /// jobs.into_iter().for_each(|job| terrain.finish_job(job.run(&mut scratch, fill)));
    /// assert_eq!(terrain.mesh_swaps().count(), 1);
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    pub fn take_edit_jobs(&mut self) -> Vec<Job> {
        self.lod.begin_edit_plan(&self.grid);
        let jobs = std::iter::from_fn(|| self.lod.next_edit_job(&mut || true));
        let jobs = jobs.map(|job| Job(Work::Mesh(Box::new(job)))).collect();
        // None of its blocks may have a surface.
        self.publish_complete();
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
                self.publish_complete();
            }
            Finished::Simplify(mesh) => {
                let swap = self.lod.publish_simplified(vec![mesh]);
                self.show(swap);
            }
        }
    }

    /// Brings the collider up to date with the grid; returns the milliseconds that it took.
    fn follow_edits_timed(&mut self, meter: &Meter) -> f64 {
        let start = meter.elapsed();
        self.follow_edits();
        meter.elapsed() - start
    }

    /// Plans as long as there is time; returns false if that ran out.
    pub(super) fn advance(&mut self, viewers: &[LodViewer], meter: &Meter) -> bool {
        // A plan may be complete without a job: none of its blocks has a surface.
        self.publish_complete();
        let follow = self.runner.collider_millis();
        self.lod.advance(&mut self.grid, viewers, &mut || meter.may_plan(follow))
    }

    /// Returns the next job; `None` if there is none, or no time to find it.
    pub(super) fn next_job(&mut self, meter: &Meter) -> Option<Job> {
        let placement = self.original_placement;
        let job = self.lod.next_job(self.grid.as_snapshot(), &mut || meter.may_plan(0.0))?;
        Some(Job(match job {
            NextJob::Mesh(job) => Work::Mesh(job),
            NextJob::Fill(block, ticket) => Work::Fill { block, placement, ticket },
        }))
    }

    /// Shows the plan that is out, if all of it is back; returns whether it did.
    pub(super) fn publish_complete(&mut self) -> bool {
        let swap = self.lod.publish_complete();
        swap.map(|swap| self.show(swap)).is_some()
    }

    /// Runs the jobs for which the last update had no time, after those of new edits. Returns whether
    /// there was time for all of them.
    fn run_first_jobs(&mut self, meter: &mut Meter, fill: &BlockFiller<'_>) -> bool {
        let deferred = self.runner.take_deferred();
        if deferred.is_empty() {
            return true;
        }
        self.lod.begin_edit_plan(&self.grid);
        let mut may_plan = || meter.may_plan(0.0);
        let edits = std::iter::from_fn(|| self.lod.next_edit_job(&mut may_plan));
        let mut jobs: Vec<Job> = edits.map(|job| Job(Work::Mesh(Box::new(job)))).collect();
        // As many as run at once cost no more time than one.
        let must_run = jobs.len()..jobs.len() + thread_count();
        jobs.extend(deferred);
        self.run_jobs(jobs, must_run, meter, fill)
    }

    /// Runs those of the jobs that are predicted to end in time, and in any case those with the indices
    /// `must_run`. The others wait for the next update. Returns whether there was time for all.
    fn run_jobs(
        &mut self,
        jobs: Vec<Job>,
        must_run: Range<usize>,
        meter: &mut Meter,
        fill: &BlockFiller<'_>,
    ) -> bool {
        let (scratch, meter_now) = (&self.runner.scratch, &*meter);
        let predicted = jobs.into_iter().enumerate().map(|(i, job)| {
            let class = JobClass::of(&job);
            (i, class, self.runner.longest_of(class), job)
        });
        let done = map_jobs(predicted.collect(), |(i, class, longest_millis, job)| {
            let is_first = i < thread_count();
            if !must_run.contains(&i) && !meter_now.may_begin(longest_millis, is_first) {
                return Err(job);
            }
            let start = meter_now.elapsed();
            let done = scratch.lend(|scratch| job.run(scratch, fill));
            Ok((class, done, meter_now.elapsed() - start))
        });
        let mut deferred = Vec::new();
        for result in done {
            match result {
                Err(job) => deferred.push(job),
                Ok((class, done, millis)) => {
                    meter.spend(1);
                    let start = meter.elapsed();
                    self.finish_job(done);
                    self.runner.note(class, millis + meter.elapsed() - start);
                }
            }
        }
        let has_time = deferred.is_empty();
        self.runner.defer(deferred);
        has_time
    }

    /// Joins or simplifies meshes that did not change for a while, with what is left of the
    /// budget. Simplifying a group takes many times a frame, so a time budget leaves it to other
    /// threads.
    fn join_or_simplify(&mut self, meter: &Meter) {
        let swap = if self.lod.options().simplify.is_some() {
            let is_idle = !meter.is_timed() && !self.lod.is_planned();
            let max_jobs = if is_idle { meter.left() } else { 0 };
            let jobs = self.lod.plan_simplified(max_jobs.min(batch_size(meter.budget())));
            let done =
                map_jobs(jobs, |job| self.runner.scratch.lend(|scratch| scratch.simplify(job)));
            self.lod.publish_simplified(done)
        } else if meter.may_begin(JOIN_MILLIS, true) {
            self.lod.join()
        } else {
            return;
        };
        self.show(swap);
    }

    /// Begins a frame: requests again what was dropped or could not be filled.
    /// `is_ahead`: what is ahead of moving viewers is chosen as well.
    pub(super) fn begin_frame(&mut self, viewers: &[LodViewer], is_ahead: bool) {
        self.lod.begin_round();
        self.lod.note_motion(if is_ahead { viewers } else { &[] });
    }

    pub(super) fn show(&mut self, swap: MeshSwap) {
        self.swaps.push(swap);
    }

    pub(super) fn lod_viewer(&self, viewer: &Viewer) -> LodViewer {
        LodViewer {
            position_voxels: self.placement.voxel_from_world(viewer.position_m),
            distance_voxels: viewer.distance_m / self.placement.voxel_size_m,
        }
    }

    /// Fills all chunks of a box in world metres that are not held at mip 0 yet, so that they can
    /// be edited at any distance. The next update with viewers may drop them again where no viewer
    /// is near, unless they have unsaved changes. At most 2³⁰ voxels ([`DenseBox::MAX_CELLS`]).
    ///
    /// ```
    /// use terravox::{EditOp, Terrain};
    ///
    /// let mut terrain = Terrain::default();
    /// let (min, max) = ([4990.0, -10.0, -10.0], [5010.0, 10.0, 10.0]); // no viewer is near
    /// terrain.hold(min, max, |request| request.fill_sdf(8, |p| -p[1]))?;
    /// let dug = terrain.edit(&EditOp::dig_ball([5000.0, 0.0, 0.0], 4.0))?;
    /// assert!(dug.removed.voxels(8) > 90.0);
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    ///
    /// # Errors
    /// [`TerrainError`]: an inverted box, beyond the limits of the world, too large, or not filled:
    /// if `fill` does not provide all of them, those that it does are then held.
    pub fn hold(
        &mut self,
        min_m: impl Into<[f64; 3]>,
        max_m: impl Into<[f64; 3]>,
        fill: impl Fn(&mut FillRequest<'_>) + Sync,
    ) -> Result<(), TerrainError> {
        let region = self.checked_region(min_m, max_m, DenseBox::MAX_CELLS)?;
        self.hold_region(region, &fill)
    }

    fn hold_region(&mut self, region: Region, fill: &BlockFiller<'_>) -> Result<(), TerrainError> {
        for blocks in self.lod.missing(&mut self.grid, region) {
            for (block, cells) in fill_all(blocks, self.original_placement, fill) {
                if let Some(cells) = cells {
                    self.lod.hold(&mut self.grid, block, cells);
                }
            }
        }
        self.follow_edits();
        for chunk in region.blocks::<5>() {
            self.grid.chunk(chunk).map_err(|_| self.in_metres()(EditError::NotFilled(chunk)))?;
        }
        Ok(())
    }

    /// Returns the changes to what is drawn since the last call, oldest first. A game that never
    /// draws need not call this: many waiting changes are merged into one.
    ///
    /// ```
    /// use terravox::terrain::{Budget, Terrain};
    ///
    /// let (mut terrain, mut drawn) = (Terrain::default(), std::collections::HashMap::new());
    /// terrain.fill([-16.0; 3], [16.0; 3], |request| request.fill_sdf(8, |p| -p[1]))?;
    /// terrain.update(&[], Budget::Unlimited, |_| {});
    /// for swap in terrain.mesh_swaps() {
    ///     swap.removed.iter().for_each(|block| drop(drawn.remove(block))); // first
    ///     drawn.extend(swap.added.into_iter().map(|shown| (shown.block, shown)));
    /// }
    /// assert!(!drawn.is_empty());
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    pub fn mesh_swaps(&mut self) -> impl Iterator<Item = MeshSwap> + use<> {
        self.swaps.take().into_iter()
    }

    /// Returns the blocks that are shown coarser than the viewers should see them.
    pub fn overdue_splits(&self, viewers: &[Viewer]) -> Vec<MipBlock> {
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        self.lod.overdue_splits(&viewers)
    }
}

fn fill_all(
    blocks: Vec<MipBlock>,
    placement: Placement,
    fill: &BlockFiller<'_>,
) -> Vec<(MipBlock, Option<DenseBox>)> {
    map_jobs(blocks, |block| (block, filled(block, placement, fill)))
}
