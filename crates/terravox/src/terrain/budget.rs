//! The budget of a frame, as it is spent.

use std::time::Instant;

/// How much work one [`Terrain::update`](super::Terrain::update) may do.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Budget {
    /// No limit: returns when everything is shown, for tests and loading screens. A first view
    /// takes seconds.
    Unlimited,
    /// This many blocks filled or meshed, at least one; the same work on every machine. The next
    /// update after a [`Millis`](Budget::Millis) update always begins with the blocks that it left
    /// over.
    Blocks(usize),
    /// This many milliseconds. The time of a job is predicted from earlier jobs of its kind. A job
    /// that is predicted to take longer than what is left waits for the next update, which begins
    /// with it, after the meshes of new edits. A job that takes longer than predicted exceeds the
    /// budget by the difference, and a job that is longer than the whole budget by its length. With
    /// the feature `parallel`, as many jobs as there are threads run at once. NaN counts as 0.
    /// Without a clock (wasm32-unknown-unknown without
    /// [`TerrainOptions::clock`](super::TerrainOptions::clock)), planning is unbounded and each
    /// update does one job.
    Millis(f32),
}

/// Returns milliseconds since a fixed moment; monotonic.
pub type Clock = fn() -> f64;

/// A budget as it is spent.
pub(super) struct Meter {
    budget: Budget,
    start: Start,
    spent: usize,
}

/// Share of a time budget within which the first job of an update begins, however long it is
/// predicted to take.
const FIRST_JOB_SHARE: f64 = 0.25;

/// Time that is kept for joining a few groups of meshes, milliseconds: an estimate.
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

    pub fn budget(&self) -> Budget {
        self.budget
    }

    pub fn is_timed(&self) -> bool {
        matches!(self.budget, Budget::Millis(_))
    }

    /// Counts jobs that ended.
    pub fn spend(&mut self, jobs: usize) {
        self.spent += jobs;
    }

    /// Returns milliseconds since the start; infinity without a clock.
    pub fn elapsed(&self) -> f64 {
        match self.start {
            Start::Instant(start) => start.elapsed().as_secs_f64() * 1e3,
            Start::Clock(clock, start) => clock() - start,
            Start::Unknown => f64::INFINITY,
        }
    }

    /// Whether there is time to plan, if the update of the collider afterwards takes
    /// `collider_millis`. Planning may always use half of the budget.
    pub fn may_plan(&self, collider_millis: f64) -> bool {
        match self.budget {
            // One job can be chosen only when all is planned.
            Budget::Millis(_) if matches!(self.start, Start::Unknown) => true,
            Budget::Millis(budget) => {
                self.has_time_for(collider_millis.min(0.5 * f64::from(budget)))
            }
            _ => true,
        }
    }

    fn has_time_for(&self, millis: f64) -> bool {
        match self.budget {
            Budget::Millis(budget) => self.elapsed() + millis < f64::from(budget),
            _ => true,
        }
    }

    /// Returns the maximum number of jobs to start now; 0 when the budget is spent.
    pub fn left(&self) -> usize {
        match self.budget {
            Budget::Unlimited => usize::MAX,
            Budget::Blocks(blocks) => blocks.max(1).saturating_sub(self.spent),
            Budget::Millis(_) if self.spent == 0 || self.has_time_for(0.0) => usize::MAX,
            Budget::Millis(_) => 0,
        }
    }

    /// Whether a job that takes this many milliseconds may begin: if it ends in time, or if it is
    /// among the first and planning left most of the time, so that slow generators get on.
    /// `is_first`: a thread begins with it.
    pub fn may_begin(&self, millis: f64, is_first: bool) -> bool {
        match self.budget {
            Budget::Millis(budget) => {
                let early = self.elapsed() <= FIRST_JOB_SHARE * f64::from(budget);
                let first =
                    is_first && self.spent == 0 && (early || matches!(self.start, Start::Unknown));
                first || self.has_time_for(millis)
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_of_blocks_end_and_start_at_least_one_job() {
        let mut meter = Meter::new(Budget::Blocks(0), None);
        assert_eq!(meter.left(), 1);
        meter.spend(1);
        assert_eq!(meter.left(), 0);
        assert_eq!(Meter::new(Budget::Unlimited, None).left(), usize::MAX);
    }

    #[test]
    fn a_budget_of_time_starts_one_job_at_once_and_others_if_they_end_in_time() {
        let mut meter = Meter::new(Budget::Millis(1000.0), Some(|| 5.0));
        assert!(meter.may_begin(f64::INFINITY, true), "the first begins however long it takes");
        assert!(!meter.may_begin(f64::INFINITY, false), "those beside it must end in time");
        meter.spend(1);
        assert!(meter.may_begin(999.0, true) && !meter.may_begin(1001.0, true));
        assert!(meter.may_plan(5000.0), "planning may use half of the budget");
    }
}
