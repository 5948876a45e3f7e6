//! Seeded schedules for tests: the tasks of a schedule are threads of which one runs at a time, and
//! wherever one locks or reads a slot, the seed says which goes on.
//!
//! [`Mutex`] and [`OnceLock`] stand in for those of `std` when tests are compiled. Outside of a
//! schedule they are those of `std`.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, LockResult, MutexGuard, PoisonError, TryLockError};

/// Turns after which a schedule counts as deadlocked.
const MAX_TURNS: u64 = 1 << 16;

thread_local! {
    static TASK: RefCell<Option<Task>> = const { RefCell::new(None) };
}

/// A thread of a schedule.
#[derive(Clone)]
struct Task {
    index: usize,
    schedule: Arc<Schedule>,
}

#[derive(Default)]
struct Schedule {
    /// Never poisoned: nothing panics while it is locked. A task that panics does so in its work, or
    /// in [`Task::pass`] after the lock is released; its [`TaskEnd`] then lets the others go on.
    turns: std::sync::Mutex<Turns>,
    passed: Condvar,
}

#[derive(Default)]
struct Turns {
    /// The task that runs.
    current: usize,
    /// Tasks that have not ended.
    alive: Vec<usize>,
    seed: u64,
    taken: u64,
}

impl Turns {
    fn choose(&mut self) {
        self.taken += 1;
        if let Some(last) = self.alive.len().checked_sub(1) {
            let random = splitmix(&mut self.seed) >> 32;
            self.current = self.alive[random as usize % (last + 1)];
        }
    }
}

impl Task {
    fn wait(&self) {
        let turns = self.schedule.turns.lock().unwrap();
        drop(self.schedule.passed.wait_while(turns, |turns| turns.current != self.index).unwrap());
    }

    fn pass(&self) {
        let mut turns = self.schedule.turns.lock().unwrap();
        turns.choose();
        let goes_on = turns.taken < MAX_TURNS;
        drop(turns);
        self.schedule.passed.notify_all();
        self.wait();
        assert!(goes_on, "deadlock, or more than {MAX_TURNS} turns; run this seed alone");
    }
}

/// Ends a task when dropped, also if it panics.
struct TaskEnd(Task);

impl Drop for TaskEnd {
    fn drop(&mut self) {
        TASK.take();
        let mut turns = self.0.schedule.turns.lock().unwrap();
        turns.alive.retain(|&task| task != self.0.index);
        turns.choose();
        drop(turns);
        self.0.schedule.passed.notify_all();
    }
}

/// Runs tasks to their ends, in turns that depend on the seed only. Panics if one did.
pub(crate) fn run<'a>(seed: u64, tasks: Vec<Box<dyn FnOnce() + Send + 'a>>) {
    let schedule = Arc::<Schedule>::default();
    {
        let mut turns = schedule.turns.lock().unwrap();
        turns.alive = (0..tasks.len()).collect();
        turns.seed = seed;
        turns.choose();
    }
    std::thread::scope(|scope| {
        for (index, work) in tasks.into_iter().enumerate() {
            let task = Task { index, schedule: schedule.clone() };
            scope.spawn(move || {
                TASK.set(Some(task.clone()));
                let _end = TaskEnd(task.clone());
                task.wait();
                work();
            });
        }
    });
}

/// The next number of a stream: a weak generator, good enough for tests.
pub(crate) fn splitmix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 29)
}

/// Lets another task go on, if the seed says so. Does nothing outside of a schedule.
pub(crate) fn pass() {
    if let Some(task) = TASK.with_borrow(Clone::clone) {
        task.pass();
    }
}

fn is_scheduled() -> bool {
    TASK.with_borrow(Option::is_some)
}

/// Like `std::sync::Mutex`; in a schedule, each lock is a turn.
#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if !is_scheduled() {
            return self.0.lock();
        }
        loop {
            pass();
            match self.0.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {}
            }
        }
    }
}

/// Like `std::sync::OnceLock`; in a schedule, each read is a turn.
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    /// Held by the task that makes the value.
    turn: Mutex<()>,
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> OnceLock<T> {
        OnceLock { value: value.into(), turn: Mutex::default() }
    }
}

impl<T> OnceLock<T> {
    pub fn new() -> OnceLock<T> {
        OnceLock { value: std::sync::OnceLock::new(), turn: Mutex::default() }
    }

    pub fn get(&self) -> Option<&T> {
        pass();
        self.value.get()
    }

    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    pub fn take(&mut self) -> Option<T> {
        self.value.take()
    }

    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if !is_scheduled() {
            return self.value.get_or_init(make);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.value.get_or_init(make)
    }
}

#[test]
fn a_seed_gives_one_order_and_seeds_give_many() {
    let order = |seed| {
        let order = Mutex::default();
        let task = |name: char| {
            let order = &order;
            Box::new(move || (0..4).for_each(|_| String::push(&mut order.lock().unwrap(), name)))
                as Box<dyn FnOnce() + Send>
        };
        run(seed, vec![task('a'), task('b'), task('c')]);
        order.lock().unwrap().clone()
    };
    let orders: std::collections::BTreeSet<String> = (0..100).map(order).collect();
    assert!(orders.len() > 90, "{}", orders.len());
    assert!((0..100).all(|seed| orders.contains(&order(seed))));
}

#[test]
#[should_panic]
fn tasks_that_wait_for_one_another_are_found() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    let lock_both = |first: &Mutex<()>, second: &Mutex<()>| {
        let _first = first.lock();
        let _second = second.lock();
    };
    for seed in 0..20 {
        run(seed, vec![Box::new(|| lock_both(&a, &b)), Box::new(|| lock_both(&b, &a))]);
    }
}
