//! A world that is served: its thread ticks the host and saves in the background.

use crate::columns::SharedColumns;
use crate::edit_rules::Decide;
use crate::journal::SharedJournal;
use crate::link::Link;
use crate::rollback::{CancelOrder, RollbackOrder, RollbackOrders};
use crate::saver::{Generate, SavedSender};
use crate::server_reason::{SERVER_ENDS, STOPPED};
use std::collections::VecDeque;
use std::error::Error;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};
use terravox::edit::Journal;
use terravox::terrain::Placement;
use terravox::voxel::Region;
use terravox_store::{ColumnLeases, Store};
use tokio::sync::{Notify, oneshot};

/// Ticks of which the times are kept: the last 34 s when idle, as little as 4 s under load.
const RECENT_TICKS: usize = 1024;

/// A world to serve.
pub struct ServedWorld {
    /// Its name in addresses: 1 to 64 bytes of letters, digits, spaces and `-_.`. No two worlds of a
    /// server have the same.
    pub name: String,
    /// Its file. What guests change is saved there.
    pub store: Store,
    /// Its generator, if it grows.
    pub generate: Option<Generate>,
    /// Regions, in voxels, in which only administrators may change anything.
    pub protected: Vec<Region>,
    /// The rules of a game, if it has any: decides about operations that rights and protection
    /// allow.
    pub decide: Option<Decide>,
    /// What came with a store that several servers write, such as of `Postgres::share` in
    /// `terravox-postgres`: this one then serves the columns that its guests edit. For worlds that
    /// grow. Pieces do not fall in it, and there is no journal.
    pub share: Option<Box<dyn ColumnLeases>>,
}

/// What is counted in a world.
#[derive(Default)]
pub(crate) struct WorldCounters {
    pub guests: AtomicU64,
    pub edits_applied: AtomicU64,
    pub edits_saved: AtomicU64,
    pub ticks: AtomicU64,
    pub tick_us: AtomicU64,
    pub longest_tick_us: AtomicU64,
    pub saves: AtomicU64,
    /// Time of the saves that succeeded.
    pub save_us: AtomicU64,
    pub failed_saves: AtomicU64,
    /// Why the last save failed, if it did.
    pub save_failure: Mutex<Option<SaveFailure>>,
    /// Operations over borders that columns of other servers have not applied yet.
    pub border_operations: AtomicU64,
    /// Parts of operations over borders that could not be applied here.
    pub refused_parts: AtomicU64,
    /// Times of the last ticks in microseconds, a ring.
    pub recent_ticks: Mutex<VecDeque<u32>>,
    /// Unknown tokens that guests presented.
    pub refused_tokens: AtomicU64,
    pub packets_in: AtomicU64,
    pub packets_out: AtomicU64,
    pub bytes_out: AtomicU64,
}

/// Saves that fail, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct SaveFailure {
    pub reason: String,
    /// When the first of them failed.
    pub since: Instant,
}

impl WorldCounters {
    /// Counts a save that failed.
    pub fn count_failed_save(&self, error: &dyn Error) {
        let reason = error.to_string();
        self.failed_saves.fetch_add(1, Ordering::Relaxed);
        let mut failure = self.save_failure.lock().unwrap_or_else(PoisonError::into_inner);
        let since = failure.as_ref().map_or_else(Instant::now, |failure| failure.since);
        *failure = Some(SaveFailure { reason, since });
    }

    /// Counts a save that succeeded.
    pub fn count_save(&self, took: Duration) {
        self.saves.fetch_add(1, Ordering::Relaxed);
        self.save_us.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
        *self.save_failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Why saves fail now, if they do.
    pub fn save_failure(&self) -> Option<SaveFailure> {
        self.save_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Edits that were applied and are not saved.
    pub fn unsaved_edits(&self) -> u64 {
        let saved = self.edits_saved.load(Ordering::Acquire);
        self.edits_applied.load(Ordering::Acquire).saturating_sub(saved)
    }

    /// Counts a tick with some guests.
    pub fn count_tick(&self, took: Duration, guests: usize) {
        let micros = took.as_micros() as u64;
        self.ticks.fetch_add(1, Ordering::Relaxed);
        self.tick_us.fetch_add(micros, Ordering::Relaxed);
        self.longest_tick_us.fetch_max(micros, Ordering::Relaxed);
        self.guests.store(guests as u64, Ordering::Relaxed);
        let mut recent = self.recent_ticks.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == RECENT_TICKS {
            recent.pop_front();
        }
        recent.push_back(u32::try_from(micros).unwrap_or(u32::MAX));
    }

    /// The time that a share of the last ticks did not exceed, microseconds.
    pub fn tick_quantile(&self, share: f64) -> u32 {
        let recent = self.recent_ticks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut times = Vec::from_iter(recent.iter().copied());
        drop(recent);
        let at = (times.len() as f64 * share) as usize;
        match times.len() {
            0 => 0,
            count => *times.select_nth_unstable(at.min(count - 1)).1,
        }
    }
}

/// A running world, as the connections see it.
pub(crate) struct RunningWorld {
    pub name: String,
    pub counters: WorldCounters,
    arriving: Mutex<Vec<Arc<Link>>>,
    /// Who waits until all that was edited is saved.
    waiting_for_save: Mutex<Vec<SavedSender>>,
    /// Its file, until it has stopped: who serves others no longer keeps the lease of this one.
    store: Mutex<Option<Arc<Store>>>,
    pub placement: Placement,
    /// Held while a backup is written.
    pub backup: Arc<tokio::sync::Mutex<()>>,
    /// Who changed what.
    pub journal: SharedJournal,
    /// The columns of a world that several servers share.
    pub columns: Option<Arc<SharedColumns>>,
    /// Held while a rollback is under way.
    pub rollback_lock: Arc<tokio::sync::Mutex<()>>,
    /// The rollback that is to begin, and who wants the one that runs to end.
    rollback_orders: Mutex<RollbackOrders>,
    /// Whether its thread has ended, well or by a panic.
    has_stopped: AtomicBool,
    /// Wakes the one task that waits for that.
    stopped: Notify,
    has_input: AtomicBool,
    is_ending: AtomicBool,
    thread: OnceLock<Thread>,
}

impl RunningWorld {
    pub fn new(
        name: String,
        store: Arc<Store>,
        journal_bytes: usize,
        columns: Option<Arc<SharedColumns>>,
    ) -> RunningWorld {
        RunningWorld {
            name,
            placement: store.info().placement(),
            store: Mutex::new(Some(store)),
            backup: Arc::default(),
            columns,
            journal: Arc::new(Mutex::new(Journal::new(journal_bytes))),
            rollback_lock: Arc::default(),
            rollback_orders: Mutex::default(),
            waiting_for_save: Mutex::default(),
            has_stopped: AtomicBool::new(false),
            stopped: Notify::new(),
            counters: WorldCounters::default(),
            arriving: Mutex::default(),
            has_input: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            thread: OnceLock::new(),
        }
    }

    /// Notes the thread that is to be woken.
    pub fn note_thread(&self, thread: Thread) {
        let _ = self.thread.set(thread);
    }

    /// Saves all edits that were applied until now. Returns why that failed, if it did.
    pub async fn save(&self) -> Result<(), String> {
        let (done, on_done) = oneshot::channel();
        self.waiting_for_save.lock().unwrap_or_else(PoisonError::into_inner).push(done);
        self.wake();
        if self.has_stopped() {
            self.release_waiters();
        }
        on_done.await.unwrap_or_else(|_| {
            let what = if self.has_stopped() { "the world has stopped" } else { "the save failed" };
            Err(format!("{what}; the server's output says why"))
        })
    }

    /// Whether the world is no longer served.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Acquire)
    }

    /// Notes that its thread has ended.
    pub fn note_stopped(&self) {
        self.has_stopped.store(true, Ordering::Release);
        self.store.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.stopped.notify_one();
        self.release_waiters();
    }

    /// Its file; `None` if the world has stopped.
    pub fn store(&self) -> Option<Arc<Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the world is no longer served.
    pub async fn wait_stopped(&self) {
        while !self.has_stopped() {
            self.stopped.notified().await;
        }
    }

    /// Ends all that waits for a world that has stopped.
    fn release_waiters(&self) {
        self.waiting_for_save.lock().unwrap_or_else(PoisonError::into_inner).clear();
        drop(self.take_orders());
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = if self.is_ending() { SERVER_ENDS } else { STOPPED };
        arriving.drain(..).for_each(|link| link.close_with_reason(reason));
    }

    /// Adds a connection.
    pub fn join(&self, link: Arc<Link>) {
        self.arriving.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        self.wake();
        if self.has_stopped() {
            self.release_waiters();
        }
    }

    /// Lets the world roll back; there is one order at a time.
    pub fn order_roll_back(&self, order: RollbackOrder) {
        self.add_order(|orders| orders.begin = Some(order));
    }

    /// Lets the world cancel the rollback that runs.
    pub fn cancel_rollback(&self, order: CancelOrder) {
        self.add_order(|orders| orders.cancel.push(order));
    }

    fn add_order(&self, add: impl FnOnce(&mut RollbackOrders)) {
        add(&mut self.rollback_orders.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake();
        if self.has_stopped() {
            self.release_waiters();
        }
    }

    /// Takes the connections that were added.
    pub fn take_arriving(&self) -> Vec<Arc<Link>> {
        mem::take(&mut self.arriving.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the senders for the next save.
    pub fn take_waiting(&self) -> Vec<SavedSender> {
        mem::take(&mut self.waiting_for_save.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what was ordered of rollbacks.
    pub fn take_orders(&self) -> RollbackOrders {
        mem::take(&mut self.rollback_orders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells that something arrived.
    pub fn wake(&self) {
        if !self.has_input.swap(true, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// A function that tells that something arrived.
    pub fn waker(self: &Arc<RunningWorld>) -> impl Fn() + Send + use<> {
        let world = self.clone();
        move || world.wake()
    }

    /// Whether something arrived since [`RunningWorld::clear_input`].
    pub fn has_input(&self) -> bool {
        self.has_input.load(Ordering::Acquire)
    }

    /// Notes that all that arrived is about to be handled.
    pub fn clear_input(&self) {
        self.has_input.store(false, Ordering::Release);
    }

    /// Whether it is to end.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Ends the world, after its last save.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.wake();
    }
}
