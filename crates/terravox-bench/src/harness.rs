//! Interleaved rounds: entrants take turns on the same items, in one process and on one thread,
//! so that other work on the machine affects all of them alike.
//!
//! Time is thread CPU time. For each entrant and item, the minimum and the median over the rounds
//! are kept; an entrant's time is the sum over its items. Other work on the machine only ever adds
//! time, so the minimum is the better basis for a ratio.

use std::hint::black_box;

use cpu_time::ThreadTime;

/// Limits of a contest.
#[derive(Clone, Copy, Debug)]
pub struct RoundBudget {
    /// Rounds that are run whatever they cost, without the warm-up.
    pub min_rounds: usize,
    /// Rounds after which it ends.
    pub max_rounds: usize,
    /// Seconds of thread CPU time after which no further round begins.
    pub seconds: f64,
    /// Whether every turn runs its item twice and only the second time counts, so that an entrant
    /// does not pay for what the others left in the caches. Not for measurements of memory.
    pub warm: bool,
}

impl RoundBudget {
    /// Budget of most contests.
    pub const fn seconds(seconds: f64) -> RoundBudget {
        RoundBudget { min_rounds: 5, max_rounds: 60, seconds, warm: false }
    }
}

/// One side of a contest.
pub struct Entrant<'a> {
    name: &'static str,
    /// Takes part in every n-th round: slow ones need not spend the budget.
    every: usize,
    run: Box<dyn FnMut(usize) -> u64 + 'a>,
    /// Seconds by item, by round.
    seconds: Vec<Vec<f64>>,
}

impl<'a> Entrant<'a> {
    /// An entrant that runs item `i` of the contest by `run(i)`; what it returns
    /// only keeps the work alive.
    pub fn new(name: &'static str, run: impl FnMut(usize) -> u64 + 'a) -> Entrant<'a> {
        Entrant { name, every: 1, run: Box::new(run), seconds: Vec::new() }
    }

    /// Lets it take part in every `rounds`-th round only.
    pub fn every(mut self, rounds: usize) -> Entrant<'a> {
        assert!(rounds > 0);
        self.every = rounds;
        self
    }

    fn take_turn(&mut self, item: usize, warm: bool) {
        if warm {
            black_box((self.run)(black_box(item)));
        }
        self.seconds.resize_with(self.seconds.len().max(item + 1), Vec::new);
        let start = ThreadTime::now();
        black_box((self.run)(black_box(item)));
        self.seconds[item].push(start.elapsed().as_secs_f64());
    }
}

/// Time of an entrant for all items.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The entrant's name.
    pub name: &'static str,
    /// Sum over the items of the least seconds of any round.
    pub min: f64,
    /// Sum over the items of the median seconds.
    pub median: f64,
    /// Rounds that counted.
    pub rounds: usize,
}

/// Runs `items` items by all entrants in turn; returns their timings in the same order.
///
/// # Panics
/// If there is no item or no round.
pub fn contest<const N: usize>(
    items: usize,
    budget: RoundBudget,
    mut entrants: [Entrant<'_>; N],
) -> [Timing; N] {
    play_rounds(items, budget, &mut entrants);
    entrants.each_ref().map(Entrant::timing)
}

/// [`contest`] for a number of entrants that is not known before.
pub fn contest_all(
    items: usize,
    budget: RoundBudget,
    mut entrants: Vec<Entrant<'_>>,
) -> Vec<Timing> {
    play_rounds(items, budget, &mut entrants);
    entrants.iter().map(Entrant::timing).collect()
}

fn play_rounds(items: usize, budget: RoundBudget, entrants: &mut [Entrant<'_>]) {
    assert!(items > 0 && budget.min_rounds > 0);
    let start = ThreadTime::now();
    play_round(0, items, false, entrants);
    // Caches were cold and buffers grew: the first round does not count.
    for entrant in &mut *entrants {
        entrant.seconds = vec![Vec::new(); items];
    }
    let mut round = 0;
    while round < budget.min_rounds
        || (round < budget.max_rounds && start.elapsed().as_secs_f64() < budget.seconds)
    {
        play_round(round, items, budget.warm, entrants);
        round += 1;
    }
}

/// Times `run` alone, `rounds` times, each on what `prepare` returns, which is not timed: for work
/// that cannot be repeated on its own result. The first time does not count.
///
/// # Panics
/// If there is no round.
pub fn repeat<T>(
    name: &'static str,
    rounds: usize,
    mut prepare: impl FnMut() -> T,
    mut run: impl FnMut(&mut T) -> u64,
) -> Timing {
    assert!(rounds > 0);
    let mut times = Vec::with_capacity(rounds + 1);
    for _ in 0..=rounds {
        let mut prepared = prepare();
        let start = ThreadTime::now();
        black_box(run(black_box(&mut prepared)));
        times.push(start.elapsed().as_secs_f64());
    }
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Timing { name, min: times[0], median: median_of_sorted(&times), rounds }
}

/// One round: every item by every entrant of this round. The first entrant changes from item to
/// item, so that none always finds the item in the cache.
fn play_round(round: usize, items: usize, warm: bool, entrants: &mut [Entrant<'_>]) {
    let count = entrants.len();
    for item in 0..items {
        for turn in 0..count {
            let entrant = &mut entrants[(turn + item + round) % count];
            if round.is_multiple_of(entrant.every) {
                entrant.take_turn(item, warm);
            }
        }
    }
}

impl Entrant<'_> {
    fn timing(&self) -> Timing {
        let mut timing = Timing { name: self.name, min: 0.0, median: 0.0, rounds: usize::MAX };
        for seconds in &self.seconds {
            assert!(!seconds.is_empty(), "{} had no turn", self.name);
            let mut sorted = seconds.clone();
            sorted.sort_by(f64::total_cmp);
            timing.min += sorted[0];
            timing.median += median_of_sorted(&sorted);
            timing.rounds = timing.rounds.min(sorted.len());
        }
        timing
    }
}

/// The middle, or the mean of the two middle ones.
pub fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const SHORT: RoundBudget =
        RoundBudget { min_rounds: 5, max_rounds: 5, seconds: 0.0, warm: false };

    #[test]
    fn entrants_take_turns_and_the_warm_up_does_not_count() {
        let turns = RefCell::new(Vec::new());
        let note = |name: char| {
            let turns = &turns;
            move |item: usize| {
                turns.borrow_mut().push((name, item));
                0
            }
        };
        let entrants = [Entrant::new("a", note('a')), Entrant::new("b", note('b'))];
        let timings = contest(2, SHORT, entrants);
        assert_eq!(&turns.borrow()[..4], &[('a', 0), ('b', 0), ('b', 1), ('a', 1)]);
        assert_eq!(turns.borrow().len(), (1 + 5) * 2 * 2);
        assert!(timings.iter().all(|t| t.rounds == 5 && t.min <= t.median));
    }

    #[test]
    fn warm_turns_run_twice_and_count_once() {
        let turns = RefCell::new(0);
        let count = Entrant::new("count", |_| {
            *turns.borrow_mut() += 1;
            0
        });
        let timings = contest(1, RoundBudget { warm: true, ..SHORT }, [count]);
        assert_eq!((timings[0].rounds, *turns.borrow()), (5, 1 + 2 * 5));
    }

    #[test]
    fn a_slow_entrant_sits_rounds_out() {
        let turns = RefCell::new(0);
        let slow = Entrant::new("slow", |_| {
            *turns.borrow_mut() += 1;
            0
        });
        let timings = contest(1, SHORT, [slow.every(2), Entrant::new("fast", |_| 0)]);
        assert_eq!(timings[0].rounds, 3);
        assert_eq!(*turns.borrow(), 1 + 3);
    }

    #[test]
    fn more_work_is_measured_as_more_time() {
        let spin = |times: u64| move |_| (0..times).fold(1u64, |a, i| black_box(a ^ (a << 1) ^ i));
        let entrants = [Entrant::new("one", spin(200_000)), Entrant::new("four", spin(800_000))];
        let timings = contest(1, SHORT, entrants);
        let ratio = timings[1].min / timings[0].min;
        assert!((2.0..8.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_is_prepared_is_handed_over_and_not_timed() {
        let mut prepared = 0;
        let slow = || {
            prepared += 1;
            (0..2_000_000u64).fold(prepared, |a, i| black_box(a ^ (a << 1) ^ i))
        };
        let start = ThreadTime::now();
        let timing = repeat("quick", 3, slow, |value| *value);
        assert!(timing.median < start.elapsed().as_secs_f64() / 8.0);
        assert_eq!((prepared, timing.rounds), (4, 3));
    }

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        assert_eq!(median_of_sorted(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median_of_sorted(&[1.0, 2.0, 4.0, 9.0]), 3.0);
    }
}
