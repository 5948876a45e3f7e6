//! A little work every frame: cells for what is to be shown, then its meshes.

use super::fill_request::filled;
use super::jobs::{Job, JobKind, JobScratch};
use super::{FillRequest, Placement, Terrain, TerrainError};
use crate::lod::{LodViewer, MeshSwap};
use crate::voxel::{DenseBox, MAX_BOX_CELLS, MipBlock};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Someone who looks at the world.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Viewer {
    /// Position, world metres. A viewer whose position is not finite is passed over.
    pub position_m: [f64; 3],
    /// How far the viewer sees, metres; infinity counts as 16 blocks of the coarsest mip
    /// (131 km by default, which takes long to fill), and a viewer with NaN is passed over.
    pub distance_m: f64,
}

impl Viewer {
    /// A viewer who sees eight kilometres far.
    pub fn at(position_m: impl Into<[f64; 3]>) -> Viewer {
        Viewer { position_m: position_m.into(), distance_m: 8192.0 }
    }
}

/// How much work one [`Terrain::update`] may do.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Budget {
    /// Until all is done.
    Unlimited,
    /// This many blocks filled or meshed, at least one. The same on every machine, but for
    /// blocks that a [`Millis`](Budget::Millis) update left over: the next update always begins
    /// with those.
    Blocks(usize),
    /// This many milliseconds. A job that is predicted to take longer than what is left, from
    /// the times of earlier ones like it, waits for the next update, which begins with it. A job
    /// slower than predicted exceeds the budget by the difference, a job longer than the whole
    /// budget by its length. With the feature `parallel`, as many jobs as there are threads run
    /// at once. NaN counts as none. Where there is no clock
    /// (wasm32-unknown-unknown) one job is done, and planning as it needs, unless
    /// [`TerrainOptions::clock`](super::TerrainOptions::clock) gives one.
    Millis(f32),
}

/// Returns milliseconds since any moment; never goes back.
pub type Clock = fn() -> f64;

/// A budget that is being spent.
pub(super) struct Meter {
    budget: Budget,
    start: Start,
    spent: usize,
}

/// Share of a budget of time within which the first job of an update begins however long it may
/// take.
const FIRST_JOB_SHARE: f64 = 0.25;

/// How much each value counts for the mean of the last ones, and for their deviation from it.
const MEAN_SHARE: f64 = 0.125;
const DEVIATION_SHARE: f64 = 0.25;

/// A job is predicted to take the mean and this many deviations.
const MOST_DEVIATIONS: f64 = 3.0;

/// Classes of jobs whose times are kept. A world has some hundreds (3 kinds, 9 mips, the heights
/// near viewers); a viewer who climbs for ever must not fill memory.
const MAX_JOB_CLASSES: usize = 1024;

/// Swaps that wait to be taken; beyond, they become one.
const MAX_SWAPS: usize = 256;

/// Time within which a few groups of meshes are joined.
pub(super) const JOIN_MILLIS: f64 = 0.5;

enum Start {
    Instant(Instant),
    Clock(Clock, f64),
    /// There is no clock, or none is needed.
    Unknown,
}

/// Whether the target's standard library has a clock.
const HAS_INSTANT: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

impl Meter {
    pub fn new(budget: Budget, clock: Option<Clock>) -> Meter {
        let start = match clock {
            _ if !matches!(budget, Budget::Millis(_)) => Start::Unknown,
            Some(clock) => match clock() {
                start if start.is_finite() => Start::Clock(clock, start),
                _ => Start::Unknown,
            },
            None if HAS_INSTANT => Start::Instant(Instant::now()),
            None => Start::Unknown,
        };
        Meter { budget, start, spent: 0 }
    }

    /// Returns milliseconds since the start.
    fn elapsed(&self) -> f64 {
        match self.start {
            Start::Instant(start) => start.elapsed().as_secs_f64() * 1e3,
            Start::Clock(clock, start) => clock() - start,
            Start::Unknown => f64::INFINITY,
        }
    }

    /// Whether any time is left.
    pub fn has_time(&self) -> bool {
        self.has_time_for(0.0)
    }

    /// Whether there is time to plan, if what follows takes so many milliseconds. Planning may
    /// always use half of the budget.
    pub fn may_plan(&self, follow_millis: f64) -> bool {
        match self.budget {
            // One job can be chosen only when all is planned.
            Budget::Millis(_) if matches!(self.start, Start::Unknown) => true,
            Budget::Millis(most) => self.has_time_for(follow_millis.min(0.5 * f64::from(most))),
            _ => true,
        }
    }

    fn has_time_for(&self, millis: f64) -> bool {
        match self.budget {
            Budget::Millis(most) => self.elapsed() + millis < f64::from(most),
            _ => true,
        }
    }

    /// Returns the maximum number of jobs to start now; 0 when the budget is spent.
    fn left(&self) -> usize {
        match self.budget {
            Budget::Unlimited => usize::MAX,
            Budget::Blocks(blocks) => blocks.max(1).saturating_sub(self.spent),
            Budget::Millis(_) if self.spent == 0 || self.has_time() => usize::MAX,
            Budget::Millis(_) => 0,
        }
    }

    /// Whether a job that takes so many milliseconds may begin: if it ends in time, or if it is
    /// the first and planning left most of the time, so that slow generators get on.
    pub fn may_begin(&self, millis: f64) -> bool {
        match self.budget {
            Budget::Millis(most) => {
                let early = self.elapsed() <= FIRST_JOB_SHARE * f64::from(most);
                let first = self.spent == 0 && (early || matches!(self.start, Start::Unknown));
                first || self.has_time_for(millis)
            }
            _ => true,
        }
    }
}

/// How long jobs of this thread take, the memory they reuse, and the ones that were put off.
#[derive(Default)]
pub(super) struct JobRunner {
    spares: Spares<JobScratch>,
    /// By kind, mip and height, since blocks of air, of the surface and of caves differ by orders
    /// of magnitude.
    classes: FxHashMap<JobClass, TimeEstimate>,
    /// Of all jobs of a kind.
    kinds: FxHashMap<JobKind, TimeEstimate>,
    /// Of bringing queries up to date with what planning wrote.
    follow: TimeEstimate,
    /// Jobs for which the last update had no time: the next one begins with them.
    deferred: Vec<Job>,
}

/// What jobs that take about as long as one another have in common: kind, mip, and height in
/// blocks.
type JobClass = (JobKind, u8, i32);

/// Milliseconds that something takes, estimated from the last times as TCP does for round trips
/// (Jacobson, Congestion Avoidance and Control, 1988).
#[derive(Clone, Copy, Default)]
struct TimeEstimate(Option<MeanAndDeviation>);

#[derive(Clone, Copy)]
struct MeanAndDeviation {
    mean: f64,
    deviation: f64,
}

impl TimeEstimate {
    fn note(&mut self, millis: f64) {
        // Without a clock, times are infinite.
        if !millis.is_finite() {
            return;
        }
        let Some(MeanAndDeviation { mean, deviation }) = &mut self.0 else {
            self.0 = Some(MeanAndDeviation { mean: millis, deviation: 0.5 * millis });
            return;
        };
        let error = millis - *mean;
        *mean += MEAN_SHARE * error;
        *deviation += DEVIATION_SHARE * (error.abs() - *deviation);
    }

    /// Returns the longest that the next one is predicted to take, if there was one.
    fn longest(&self) -> Option<f64> {
        self.0.map(|times| times.mean + MOST_DEVIATIONS * times.deviation)
    }
}

impl Terrain {
    /// Shows what the viewers are to see, within the budget. What a viewer can touch
    /// ([`LodOptions::near_voxels`](crate::lod::LodOptions::near_voxels)) is filled by `fill`
    /// first, and can be hit by rays and edited from then on; then it is shown, then the rest,
    /// what looks largest first. Changes show when all that they touch is meshed; what changed
    /// meanwhile comes after.
    ///
    /// Without viewers all chunks that are held are shown at mip 0, and `fill` is not asked.
    /// Nor is it asked in a world whose unlisted chunks are air
    /// ([`Unlisted::Air`](crate::voxel::Unlisted)). Eight blocks of a mip that did not change
    /// for 60 updates are drawn as one mesh. Where `LodOptions::simplify` asks for fewer
    /// triangles, that mesh is simplified, when nothing else is left to do within the budget;
    /// but never within a budget of time, since it takes many times a frame. With
    /// `Budget::Millis` and `simplify`, use [`Terrain::take_jobs`]: without it, blocks are
    /// neither simplified nor drawn as one.
    ///
    /// `fill` must give a block the same cells each time it is asked, with all edits that were
    /// [saved](Terrain::mark_saved). Cells with unsaved changes never leave memory.
    ///
    /// # Panics
    /// If `fill` changes the region of the cells.
    pub fn update(
        &mut self,
        viewers: &[Viewer],
        budget: Budget,
        fill: impl Fn(&mut FillRequest<'_>) + Sync,
    ) {
        let mut meter = Meter::new(budget, self.clock);
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        self.begin_frame();
        let deferred = std::mem::take(&mut self.runner.deferred);
        self.run_jobs(deferred, &mut meter, &fill);
        while self.advance(&viewers, &meter) {
            let most = meter.left().min(at_once(budget));
            let jobs: Vec<Job> = std::iter::from_fn(|| self.next_job(&meter)).take(most).collect();
            if jobs.is_empty() {
                if most > 0 && self.publish_whole() {
                    continue;
                }
                break;
            }
            if !meter.may_begin(self.runner.longest_millis(&jobs)) {
                self.runner.deferred = jobs;
                break;
            }
            self.run_jobs(jobs, &mut meter, &fill);
        }
        self.rest(&meter);
        let start = meter.elapsed();
        self.follow_edits();
        self.runner.follow.note(meter.elapsed() - start);
    }

    fn run_jobs(
        &mut self,
        jobs: Vec<Job>,
        meter: &mut Meter,
        fill: &(impl Fn(&mut FillRequest<'_>) + Sync),
    ) {
        meter.spent += jobs.len();
        let classes: Vec<_> = jobs.iter().map(class_of).collect();
        let done = each(jobs, |job| {
            let start = meter.elapsed();
            let done = self.runner.spares.lend(|scratch| job.run(scratch, fill));
            (done, meter.elapsed() - start)
        });
        for (class, (done, millis)) in classes.into_iter().zip(done) {
            let start = meter.elapsed();
            self.finish_job(done);
            self.runner.note(class, millis + meter.elapsed() - start);
        }
    }

    /// Draws meshes that rest by fewer meshes, and triangles: with what is left of the budget
    /// when nothing is to be meshed. A group takes many times a frame, so a budget of time
    /// leaves simplifying to other threads.
    fn rest(&mut self, meter: &Meter) {
        let swap = if self.lod.options().simplify.is_some() {
            let timed = matches!(meter.budget, Budget::Millis(_));
            let most = if timed || self.lod.is_planned() { 0 } else { meter.left() };
            let jobs = self.lod.plan_simplified(most.min(at_once(meter.budget)));
            let done = each(jobs, |job| self.runner.spares.lend(|scratch| scratch.simplify(job)));
            self.lod.publish_simplified(done)
        } else if meter.may_begin(JOIN_MILLIS) {
            self.lod.join()
        } else {
            return;
        };
        self.show(swap);
    }

    /// Begins a frame: asks again for what was dropped or could not be filled.
    pub(super) fn begin_frame(&mut self) {
        self.lod.begin_round();
    }

    pub(super) fn show(&mut self, swap: MeshSwap) {
        match self.swaps.last() {
            _ if swap.is_empty() => {}
            // Nobody draws, or not for long: what is replaced meanwhile is not kept.
            Some(_) if self.swaps.len() >= MAX_SWAPS => {
                let mut swaps = self.swaps.drain(..);
                let mut all = swaps.next().unwrap_or_default();
                swaps.for_each(|next| all.extend(next));
                all.extend(swap);
                self.swaps.push(all);
            }
            _ => self.swaps.push(swap),
        }
    }

    pub(super) fn lod_viewer(&self, viewer: &Viewer) -> LodViewer {
        LodViewer {
            position_voxels: self.placement.voxel_from_world(viewer.position_m),
            distance_voxels: viewer.distance_m / self.placement.voxel_size_m,
        }
    }

    /// Asks `fill` for all cells of a box in world metres that are not held at mip 0, and
    /// holds them, so that they can be edited however far away they are. The next update with
    /// viewers may drop them again where no viewer is near, but for what is edited and unsaved.
    ///
    /// # Errors
    /// [`EditError::BeyondLimits`], [`EditError::TooLarge`]; [`EditError::NotHeld`]
    /// if `fill` does not have all of them: what it has is then held.
    pub fn hold(
        &mut self,
        min_m: impl Into<[f64; 3]>,
        max_m: impl Into<[f64; 3]>,
        fill: impl Fn(&mut FillRequest<'_>) + Sync,
    ) -> Result<(), TerrainError> {
        let region = self.checked_region(min_m, max_m, MAX_BOX_CELLS)?;
        for blocks in self.lod.missing(&mut self.grid, region) {
            for (block, cells) in fill_all(blocks, self.made_at, &fill) {
                if let Some(cells) = cells {
                    self.lod.hold(&mut self.grid, block, cells);
                }
            }
        }
        self.follow_edits();
        for chunk in region.blocks::<5>() {
            self.grid.chunk(chunk).map_err(self.in_metres())?;
        }
        Ok(())
    }

    /// Takes the changes to what is drawn since the last call, oldest first. A game that never
    /// draws need not call this: beyond some, changes are merged, so that what waits is no more
    /// than what is shown.
    pub fn mesh_swaps(&mut self) -> impl Iterator<Item = MeshSwap> + use<> {
        std::mem::take(&mut self.swaps).into_iter()
    }

    /// Returns the blocks that are shown as a whole but ought to be shown in parts.
    pub fn late(&self, viewers: &[Viewer]) -> Vec<MipBlock> {
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        self.lod.overdue_splits(&viewers)
    }
}

fn class_of(job: &Job) -> JobClass {
    let block = job.block();
    (job.kind(), block.mip, block.pos.y)
}

impl JobRunner {
    /// Returns how many milliseconds jobs that run at once are predicted to take; infinity if
    /// there was none like one of them.
    fn longest_millis(&self, jobs: &[Job]) -> f64 {
        let longest = |job: &Job| {
            let class = self.classes.get(&class_of(job)).or_else(|| self.kinds.get(&job.kind()));
            class.and_then(TimeEstimate::longest).unwrap_or(f64::INFINITY)
        };
        jobs.iter().map(longest).fold(0.0, f64::max)
    }

    fn note(&mut self, class: JobClass, millis: f64) {
        if self.classes.len() >= MAX_JOB_CLASSES {
            self.classes.clear();
        }
        self.classes.entry(class).or_default().note(millis);
        self.kinds.entry(class.0).or_default().note(millis);
    }

    /// Returns how many milliseconds queries are predicted to take to follow what planning
    /// writes.
    pub fn follow_millis(&self) -> f64 {
        self.follow.longest().unwrap_or(0.0)
    }

    /// Drops the jobs that wait for the next update; they are handed out again.
    pub fn drop_deferred(&mut self) {
        self.deferred.clear();
    }
}

/// Jobs that run before the next look at the clock.
#[cfg(not(feature = "parallel"))]
fn at_once(_: Budget) -> usize {
    1
}

/// Jobs that run before the next look at the clock.
#[cfg(feature = "parallel")]
fn at_once(budget: Budget) -> usize {
    let threads = rayon::current_num_threads();
    match budget {
        Budget::Millis(_) => threads,
        // Threads that are done early go on.
        Budget::Blocks(_) | Budget::Unlimited => 2 * threads,
    }
}

fn fill_all(
    blocks: Vec<MipBlock>,
    placement: Placement,
    fill: &(impl Fn(&mut FillRequest<'_>) + Sync),
) -> Vec<(MipBlock, Option<DenseBox>)> {
    each(blocks, |block| (block, filled(block, placement, fill)))
}

/// Returns what `work` makes of each item, in their order.
#[cfg(not(feature = "parallel"))]
fn each<I, O>(items: Vec<I>, work: impl Fn(I) -> O) -> Vec<O> {
    items.into_iter().map(work).collect()
}

/// Returns what `work` makes of each item, in their order.
#[cfg(feature = "parallel")]
fn each<I: Send, O: Send>(items: Vec<I>, work: impl Fn(I) -> O + Sync + Send) -> Vec<O> {
    use rayon::prelude::*;
    items.into_par_iter().map(work).collect()
}

/// Memory for jobs, reused: as many as ever ran at a time.
#[derive(Default)]
struct Spares<T>(Mutex<Vec<T>>);

impl<T: Default> Spares<T> {
    /// Works in memory that no other job uses just then.
    fn lend<O>(&self, work: impl FnOnce(&mut T) -> O) -> O {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spare = lock().pop().unwrap_or_default();
        let done = work(&mut spare);
        lock().push(spare);
        done
    }
}
