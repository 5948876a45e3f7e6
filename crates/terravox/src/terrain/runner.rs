//! Runs the jobs of a frame on one thread or several, predicts how long they take, lends them memory
//! that they reuse, and keeps those for which there was no time.

use super::budget::Budget;
use super::job::{Job, JobKind, JobScratch};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Weights of a new value in the moving mean and in the moving deviation.
const MEAN_SHARE: f64 = 0.125;
const DEVIATION_SHARE: f64 = 0.25;

/// A job is predicted to take the mean plus this many deviations.
const MOST_DEVIATIONS: f64 = 3.0;

/// Classes of jobs whose times are kept. A world has some hundreds (3 kinds, 9 mips, the heights
/// near viewers); the bound is for viewers who climb forever.
const MAX_JOB_CLASSES: usize = 1024;

/// Jobs that a thread is handed at once within a budget of time. Each begins only if it is
/// predicted to end in time.
#[cfg(feature = "parallel")]
const JOBS_PER_THREAD: usize = 4;

/// Predicted times of jobs, the memory they reuse, and the ones that were deferred.
#[derive(Default)]
pub(super) struct JobRunner {
    pub scratch: ScratchPool<JobScratch>,
    /// By kind, mip and height, since blocks of air, of the surface and of caves differ by orders
    /// of magnitude.
    classes: FxHashMap<JobClass, TimeEstimate>,
    /// Of all jobs of a kind.
    kinds: FxHashMap<JobKind, TimeEstimate>,
    /// Of updating the collider after planning wrote cells.
    collider: TimeEstimate,
    /// Jobs for which the last update had no time: the next one begins with them.
    deferred: Vec<Job>,
}

/// What jobs have in common that take about as long as one another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct JobClass {
    kind: JobKind,
    mip: u8,
    /// Height of the block, in blocks of its mip.
    y: i32,
}

impl JobClass {
    pub fn of(job: &Job) -> JobClass {
        let block = job.block();
        JobClass { kind: job.kind(), mip: block.mip, y: block.pos.y }
    }
}

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
        // Without a clock, times are infinite, and their differences NaN.
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

impl JobRunner {
    /// Returns how many milliseconds a job is predicted to take: from others of its class, else of
    /// its kind; infinity if there was none.
    pub fn longest_of(&self, class: JobClass) -> f64 {
        let [same, like] = [self.classes.get(&class), self.kinds.get(&class.kind)]
            .map(|times| times.and_then(TimeEstimate::longest));
        same.or(like).unwrap_or(f64::INFINITY)
    }

    /// Records how long a job took.
    pub fn note(&mut self, class: JobClass, millis: f64) {
        if self.classes.len() >= MAX_JOB_CLASSES {
            self.classes.clear();
        }
        self.classes.entry(class).or_default().note(millis);
        self.kinds.entry(class.kind).or_default().note(millis);
    }

    /// Returns how many milliseconds the update of the collider is predicted to take.
    pub fn collider_millis(&self) -> f64 {
        self.collider.longest().unwrap_or(0.0)
    }

    /// Records how long an update of the collider took.
    pub fn note_collider(&mut self, millis: f64) {
        self.collider.note(millis);
    }

    /// Keeps jobs for the next update, which begins with them.
    pub fn defer(&mut self, jobs: Vec<Job>) {
        self.deferred = jobs;
    }

    pub fn take_deferred(&mut self) -> Vec<Job> {
        std::mem::take(&mut self.deferred)
    }

    /// Drops the jobs that wait for the next update; they are handed out again.
    pub fn drop_deferred(&mut self) {
        self.deferred.clear();
    }
}

/// Number of jobs that run at once.
pub(super) fn thread_count() -> usize {
    #[cfg(feature = "parallel")]
    let threads = rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    let threads = 1;
    threads
}

/// Number of jobs that are handed out before planning goes on.
#[cfg(not(feature = "parallel"))]
pub(super) fn batch_size(_: Budget) -> usize {
    1
}

/// Number of jobs that are handed out before planning goes on: several a thread if there is more
/// than one, so that threads that finish early go on.
#[cfg(feature = "parallel")]
pub(super) fn batch_size(budget: Budget) -> usize {
    let threads = thread_count();
    match budget {
        Budget::Millis(_) if threads == 1 => 1,
        Budget::Millis(_) => JOBS_PER_THREAD * threads,
        Budget::Blocks(_) | Budget::Unlimited => 2 * threads,
    }
}

/// Returns the result of `work` for each item, in order. Items also begin in order.
#[cfg(not(feature = "parallel"))]
pub(super) fn map_jobs<I, O>(items: Vec<I>, work: impl Fn(I) -> O) -> Vec<O> {
    items.into_iter().map(work).collect()
}

/// Returns the result of `work` for each item, in order. Items also begin in order: a thread that
/// is free takes the first that is left, where Rayon's own splitting would begin in the middle.
#[cfg(feature = "parallel")]
pub(super) fn map_jobs<I: Send, O: Send>(
    items: Vec<I>,
    work: impl Fn(I) -> O + Sync + Send,
) -> Vec<O> {
    use rayon::prelude::*;
    let count = items.len();
    let queue = Mutex::new(items.into_iter().enumerate());
    let run_next = |_| {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        next.map(|(i, item)| (i, work(item)))
    };
    let mut done: Vec<_> =
        (0..count).into_par_iter().with_max_len(1).filter_map(run_next).collect();
    done.sort_unstable_by_key(|&(i, _)| i);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Scratch memory of jobs, reused: as many as ever ran at once.
#[derive(Default)]
pub(super) struct ScratchPool<T>(Mutex<Vec<T>>);

impl<T: Default> ScratchPool<T> {
    /// Calls `work` with scratch memory that no other job is using.
    pub fn lend<O>(&self, work: impl FnOnce(&mut T) -> O) -> O {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spare = lock().pop().unwrap_or_default();
        let done = work(&mut spare);
        lock().push(spare);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_follow_the_times_that_were_measured() {
        let mut times = TimeEstimate::default();
        assert_eq!(times.longest(), None);
        times.note(f64::INFINITY);
        assert_eq!(times.longest(), None, "there is no clock");
        (0..100).for_each(|_| times.note(4.0));
        assert!((times.longest().unwrap() - 4.0).abs() < 1e-3, "steady times have no deviation");
        (0..100).for_each(|i| times.note(if i % 2 == 0 { 2.0 } else { 6.0 }));
        assert!(times.longest().unwrap() > 6.0, "predictions err on the long side");
    }

    #[test]
    fn jobs_of_a_new_class_take_as_long_as_others_of_their_kind() {
        let mut runner = JobRunner::default();
        let class = |kind, y| JobClass { kind, mip: 0, y };
        assert_eq!(runner.longest_of(class(JobKind::Fill, 0)), f64::INFINITY);
        runner.note(class(JobKind::Fill, 7), f64::INFINITY); // of an update without a limit
        runner.note(class(JobKind::Fill, 0), 1.0);
        assert_eq!(runner.longest_of(class(JobKind::Fill, 7)), 2.5);
        assert_eq!(runner.longest_of(class(JobKind::Mesh, 0)), f64::INFINITY);
    }

    #[test]
    fn jobs_begin_in_order_and_results_are_in_order() {
        let begun = Mutex::new(Vec::new());
        let run = || {
            let work = |i: usize| {
                begun.lock().unwrap().push(i);
                std::hint::black_box((0..i * 10).sum::<usize>());
                2 * i
            };
            (map_jobs((0..1000).collect(), work), thread_count())
        };
        #[cfg(feature = "parallel")]
        let (results, threads) =
            rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap().install(run);
        #[cfg(not(feature = "parallel"))]
        let (results, threads) = run();
        assert!(results.into_iter().eq((0..1000).map(|i| 2 * i)));
        // Jobs are taken in order. When one begins, each other thread may have taken an earlier one
        // that is not recorded yet.
        for (place, i) in begun.into_inner().unwrap().into_iter().enumerate() {
            assert!(i < place + threads, "job {i} began as number {place}");
        }
    }

    #[test]
    fn scratch_is_lent_again() {
        let pool = ScratchPool::<Vec<u8>>::default();
        pool.lend(|scratch| scratch.push(1));
        pool.lend(|scratch| assert_eq!(scratch, &[1]));
    }
}
