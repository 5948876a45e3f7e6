//! A world that is served: its thread ticks the host and saves in the background.

use crate::access::{AccessList, Right};
use crate::edit_rules::{Decide, EditRules};
use crate::falling::FallingPieces;
use crate::journal::{SharedJournal, StoredJournal};
use crate::link::Link;
use crate::rollback::{RollbackOrder, RunningRollback};
use crate::saver::{FinishedSave, Generate, SaveJob, SavedSender, Saver, tell};
use crate::server_options::ServerOptions;
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};
use terravox::edit::{EditOp, Journal};
use terravox::replicate::{GeneratorId, Host, HostEvent, HostWorld, LinkKind};
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{GridOptions, Region, UnlistedChunks, VoxelGrid};
use terravox_store::{Store, StoreError};
use tokio::sync::oneshot;
use tracing::{error, info, warn};

/// A tick begins at the latest after this time, and earlier when something arrived.
const TICK: Duration = Duration::from_millis(33);

/// The shortest time between ticks.
const SHORTEST_TICK: Duration = Duration::from_millis(4);

/// What guests are told when the server ends. They may come back.
pub(crate) const SERVER_ENDS: &str = "the server ends";

/// What guests are told of a world that stopped by a fault.
const STOPPED: &str = "this world has stopped; the server's output says why";

/// What a guest is told that is too slow. It may come back.
pub(crate) const TOO_SLOW: &str = "nothing that was sent was taken in time";

/// Ticks of which the times are kept: the last 34 s when idle, as little as 4 s under load.
const RECENT_TICKS: usize = 1024;

/// A world to serve.
pub struct ServedWorld {
    /// Its name in addresses.
    pub name: String,
    /// Its file. What guests change is saved there.
    pub store: Store,
    /// Its generator, if it grows.
    pub generate: Option<Generate>,
    /// Regions, in voxels, in which only administrators may change anything.
    pub protected: Vec<Region>,
    /// The rules of a game, if it has any: decides about operations that rights and protection allow.
    pub decide: Option<Decide>,
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
    pub failed_saves: AtomicU64,
    /// Times of the last ticks in microseconds, a ring.
    pub recent_ticks: Mutex<VecDeque<u32>>,
    pub units_in: AtomicU64,
    pub units_out: AtomicU64,
    pub bytes_out: AtomicU64,
}

impl WorldCounters {
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
    /// Its file.
    pub store: Arc<Store>,
    /// Held while a backup is written.
    pub backup: Arc<tokio::sync::Mutex<()>>,
    /// Who changed what.
    pub journal: SharedJournal,
    /// Held while a rollback is under way.
    pub rollback_lock: Arc<tokio::sync::Mutex<()>>,
    /// The rollback that is to begin.
    pending_rollback: Mutex<Option<RollbackOrder>>,
    /// Whether its thread has ended, well or by a panic.
    has_stopped: AtomicBool,
    has_input: AtomicBool,
    is_ending: AtomicBool,
    thread: OnceLock<Thread>,
}

impl RunningWorld {
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

    /// Whether the world is not served any more.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Acquire)
    }

    /// Ends all that waits for a world that has stopped.
    fn release_waiters(&self) {
        self.waiting_for_save.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.pending_rollback.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ending = self.is_ending.load(Ordering::Acquire);
        let reason = if is_ending { SERVER_ENDS } else { STOPPED };
        arriving.drain(..).for_each(|link| link.dismiss(reason));
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
        *self.pending_rollback.lock().unwrap_or_else(PoisonError::into_inner) = Some(order);
        self.wake();
        if self.has_stopped() {
            self.release_waiters();
        }
    }

    /// Tells that something arrived.
    pub fn wake(&self) {
        if !self.has_input.swap(true, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Ends the world, after its last save.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.wake();
    }
}

/// Starts the thread of a world. It ends after [`RunningWorld::end`], with whether all is saved.
pub(crate) fn start(
    served: ServedWorld,
    options: &ServerOptions,
) -> Result<(Arc<RunningWorld>, JoinHandle<bool>), StoreError> {
    let ServedWorld { name, store, generate, protected, decide } = served;
    let rules = EditRules { protected, decide };
    // Complete worlds never ask.
    let generate = generate.unwrap_or_else(|| Arc::new(|request| request.set_missing()));
    let running = Arc::new(RunningWorld {
        name,
        store: Arc::new(store),
        backup: Arc::default(),
        journal: Arc::new(Mutex::new(Journal::new(options.journal_bytes))),
        rollback_lock: Arc::default(),
        pending_rollback: Mutex::default(),
        waiting_for_save: Mutex::default(),
        has_stopped: AtomicBool::new(false),
        counters: WorldCounters::default(),
        arriving: Mutex::default(),
        has_input: AtomicBool::new(false),
        is_ending: AtomicBool::new(false),
        thread: OnceLock::new(),
    });
    let ticker = Ticker::new(running.clone(), generate, rules, options)?;
    let named = thread::Builder::new().name("terravox-world".to_owned());
    let handle = named.spawn(move || ticker.run_to_the_end()).map_err(|source| StoreError::Io {
        path: running.store.path().to_owned(),
        doing: "start a thread for",
        source,
    })?;
    // Set once, here.
    let _ = running.thread.set(handle.thread().clone());
    Ok((running, handle))
}

/// A guest of the host, with its connection.
struct Seat {
    link: Arc<Link>,
    right: Cell<Option<Right>>,
    /// Its name in the journal, once it is let in.
    author: OnceCell<String>,
    since: Instant,
    /// When the connection last took something, or had nothing to take.
    moved: Instant,
}

/// The thread of a world.
struct Ticker {
    running: Arc<RunningWorld>,
    host: Host,
    grid: VoxelGrid,
    /// `None` if pieces do not fall.
    falling: Option<FallingPieces>,
    generate: Generate,
    access: AccessList,
    rules: EditRules,
    journal: StoredJournal,
    /// The rollback that is under way.
    rollback: Option<RunningRollback>,
    patience: Duration,
    seats: BTreeMap<u64, Seat>,
    /// Guests that are gone, with the reason, whose connections are to be ended.
    leaving: Vec<(u64, String)>,
    saver: Saver,
    /// Who waits for the save that is not begun yet.
    waiting_for_save: Vec<SavedSender>,
    began: Instant,
    /// When the last tick began.
    ticked: Instant,
}

impl Ticker {
    fn new(
        running: Arc<RunningWorld>,
        generate: Generate,
        rules: EditRules,
        server: &ServerOptions,
    ) -> Result<Ticker, StoreError> {
        let mut options = server.host.clone();
        let store = &running.store;
        let info = store.info();
        options.generator = None;
        let mut edited = Vec::new();
        let grid = if info.grows() {
            let materials = info.materials.clone();
            edited = store.chunks()?;
            if let Some(made) = &info.generator {
                options.generator = Some(GeneratorId {
                    name: made.name.clone(),
                    version: made.version,
                    parameters: made.seed.to_le_bytes().to_vec(),
                });
            }
            VoxelGrid::new(GridOptions { unlisted: UnlistedChunks::Unknown, materials })
        } else {
            let loaded = store.load()?;
            for part in &loaded.bad {
                warn!(world = running.name, "left out: {part}");
            }
            loaded.grid
        };
        let mut host = Host::new(options);
        host.mark_edited(edited);
        let falling = match server.pieces_fall {
            true => Some(FallingPieces::restored(store, &mut host, &grid, &rules.protected)),
            false => None,
        };
        let saver = Saver::start(store.clone(), generate.clone());
        let journal = StoredJournal::read(store, running.journal.clone(), &running.name)?;
        Ok(Ticker {
            running,
            host,
            grid,
            falling,
            generate,
            access: server.access.clone(),
            rules,
            journal,
            rollback: None,
            patience: server.patience,
            seats: BTreeMap::new(),
            leaving: Vec::new(),
            saver,
            waiting_for_save: Vec::new(),
            began: Instant::now(),
            ticked: Instant::now(),
        })
    }

    /// Runs the world. A panic, of the generator for example, ends it after a last save; its guests
    /// are told, and other worlds go on.
    fn run_to_the_end(mut self) -> bool {
        let ran = catch_unwind(AssertUnwindSafe(|| self.run()));
        let is_saved = ran.unwrap_or_else(|_| {
            error!(world = self.running.name, "the world has stopped by a panic; it is saved");
            let saved = catch_unwind(AssertUnwindSafe(|| self.save_all()));
            if !matches!(saved, Ok(true)) {
                error!(world = self.running.name, "the last save failed: edits are lost");
            }
            false
        });
        for seat in self.seats.values() {
            seat.link.dismiss(STOPPED);
        }
        self.running.has_stopped.store(true, Ordering::Release);
        self.running.release_waiters();
        is_saved
    }

    /// Ticks until the world ends; returns whether all is saved.
    fn run(&mut self) -> bool {
        while !self.running.is_ending.load(Ordering::Acquire) {
            let start = Instant::now();
            self.running.has_input.store(false, Ordering::Release);
            self.tick(start);
            self.save_in_background();
            self.count_tick(start.elapsed());
            // Half of the time is left for what else the machine does.
            let shortest = SHORTEST_TICK.max(2 * start.elapsed()).min(TICK);
            thread::sleep(shortest.saturating_sub(start.elapsed()));
            while !self.running.has_input.load(Ordering::Acquire) && start.elapsed() < TICK {
                thread::park_timeout(TICK.saturating_sub(start.elapsed()));
            }
        }
        for guest in self.seats.keys() {
            self.host.disconnect(*guest, SERVER_ENDS);
        }
        let now = Instant::now();
        self.transmit(now, (now - self.began).as_micros() as u64);
        self.save_all()
    }

    fn count_tick(&self, took: Duration) {
        let counters = &self.running.counters;
        let micros = took.as_micros() as u64;
        counters.ticks.fetch_add(1, Ordering::Relaxed);
        counters.tick_us.fetch_add(micros, Ordering::Relaxed);
        counters.longest_tick_us.fetch_max(micros, Ordering::Relaxed);
        let mut recent = counters.recent_ticks.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == RECENT_TICKS {
            recent.pop_front();
        }
        recent.push_back(u32::try_from(micros).unwrap_or(u32::MAX));
        let admitted = self.seats.values().filter(|seat| seat.right.get().is_some());
        counters.guests.store(admitted.count() as u64, Ordering::Relaxed);
    }

    fn tick(&mut self, now: Instant) {
        let now_us = (now - self.began).as_micros() as u64;
        self.seat_arriving(now);
        self.receive(now_us);
        let generated = |request: &mut FillRequest<'_>| (self.generate)(request);
        let ground = |request: &mut FillRequest<'_>| self.running.store.fill(request, generated);
        let (seats, rules) = (&self.seats, &mut self.rules);
        let mut decide = |guest: u64, op: &EditOp| {
            let right = seats.get(&guest).and_then(|seat| seat.right.get());
            rules.verdict(guest, right, op)
        };
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: self.running.store.info().placement(),
            ground: &ground,
            generated: &generated,
            decide: &mut decide,
        };
        self.host.tick(&mut world, now_us);
        for event in self.host.events() {
            match event {
                HostEvent::Joining { guest, token } => match self.access.right(&token) {
                    Some(right) => {
                        if let Some(seat) = seats.get(&guest) {
                            let author = self.access.author(&token, seat.link.peer);
                            info!(world = self.running.name, guest, %right, %author, "joined");
                            seat.right.set(Some(right));
                            let _ = seat.author.set(author);
                        }
                        self.host.admit(guest, &world);
                    }
                    None => self.host.disconnect(guest, "this token is not known here"),
                },
                HostEvent::Edited { guest, op, region, before } => {
                    self.running.counters.edits_applied.fetch_add(1, Ordering::Relaxed);
                    let author = seats.get(&guest).and_then(|seat| seat.author.get());
                    let author = author.map_or("", String::as_str);
                    self.journal.record(author, before);
                    if let Some(falling) = &mut self.falling {
                        falling.follow_edit(op.as_deref(), region, author);
                    }
                }
                HostEvent::Left { guest, reason } => self.leaving.push((guest, reason)),
                _ => {}
            }
        }
        let mut ordered =
            self.running.pending_rollback.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(order) = ordered.take() {
            let (falling, host, journal) =
                (self.falling.as_mut(), &mut self.host, &mut self.journal);
            self.rollback = RunningRollback::start(order, falling, host, &mut world, journal);
        }
        drop(ordered);
        if let Some(running) = self.rollback.take() {
            let (falling, host, journal) =
                (self.falling.as_mut(), &mut self.host, &mut self.journal);
            self.rollback = running.go_on(falling, host, &mut world, journal);
        }
        let since_last = now - std::mem::replace(&mut self.ticked, now);
        if let Some(falling) = &mut self.falling {
            // While a rollback restores chunk by chunk, all of it would look loose.
            if self.rollback.is_none() {
                falling.cut_loose(&mut self.host, &mut world, &mut self.journal);
            }
            falling.step(&mut self.host, &mut world, &mut self.journal, since_last.as_secs_f32());
        }
        self.transmit(now, now_us);
    }

    fn seat_arriving(&mut self, now: Instant) {
        let mut arriving = self.running.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        for link in arriving.drain(..) {
            let guest = self.host.connect(LinkKind::Reliable);
            let (right, author) = (Cell::new(None), OnceCell::new());
            self.seats.insert(guest, Seat { link, right, author, since: now, moved: now });
        }
    }

    fn receive(&mut self, now_us: u64) {
        for (&guest, seat) in &self.seats {
            for unit in seat.link.to_world.take() {
                self.running.counters.units_in.fetch_add(1, Ordering::Relaxed);
                if self.host.receive(guest, &unit, now_us).is_err() {
                    // The host has disconnected it; it is told below.
                    break;
                }
            }
        }
    }

    /// Hands units to the connections, and ends those that are over.
    fn transmit(&mut self, now: Instant, now_us: u64) {
        for (&guest, seat) in &mut self.seats {
            if seat.link.is_gone() {
                self.host.disconnect(guest, "the connection is gone");
            } else if seat.right.get().is_none() && now - seat.since > self.patience {
                self.host.disconnect(guest, "no greeting came in time");
            } else if now - seat.moved > self.patience {
                self.host.disconnect(guest, TOO_SLOW);
            }
        }
        let mut unit = Vec::new();
        for (&guest, seat) in &mut self.seats {
            if seat.link.to_peer.is_empty() {
                seat.moved = now;
            }
            while seat.link.to_peer.has_room() && self.host.transmit(guest, now_us, &mut unit) {
                let counters = &self.running.counters;
                counters.units_out.fetch_add(1, Ordering::Relaxed);
                counters.bytes_out.fetch_add(unit.len() as u64, Ordering::Relaxed);
                seat.link.to_peer.push(std::mem::take(&mut unit));
            }
        }
        for event in self.host.events() {
            if let HostEvent::Left { guest, reason } = event {
                self.leaving.push((guest, reason));
            }
        }
        for (guest, reason) in self.leaving.drain(..) {
            if let Some(seat) = self.seats.remove(&guest) {
                info!(world = self.running.name, guest, peer = %seat.link.peer, reason, "left");
                seat.link.dismiss(&reason);
            }
        }
    }

    /// Notes what was saved, and begins the next save if it is time.
    fn save_in_background(&mut self) {
        if let Some(saved) = self.saver.finished() {
            self.note_saved(saved);
        }
        self.replace_dead_saver();
        let mut new = self.running.waiting_for_save.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting_for_save.append(&mut new);
        drop(new);
        let counters = &self.running.counters;
        let edits = counters.edits_applied.load(Ordering::Relaxed);
        if self.is_saved() {
            counters.edits_saved.store(edits, Ordering::Release);
            tell(std::mem::take(&mut self.waiting_for_save), &Ok(()));
        } else if self.saver.is_ready(!self.waiting_for_save.is_empty()) {
            self.begin_save(edits);
        }
    }

    fn is_saved(&self) -> bool {
        let are_pieces_saved = self.falling.as_ref().is_none_or(FallingPieces::is_saved);
        self.grid.is_saved() && self.journal.is_saved() && are_pieces_saved
    }

    fn begin_save(&mut self, edits: u64) {
        let waiting = std::mem::take(&mut self.waiting_for_save);
        let mut unsaved = UnsavedChanges::from(self.grid.unsaved());
        unsaved.data = self.journal.begin_save();
        let mut pieces = 0;
        if let Some(falling) = self.falling.as_ref().filter(|falling| !falling.is_saved()) {
            let (bodies, state) = falling.to_save(self.running.store.info().placement());
            (unsaved.bodies, pieces) = (Some(bodies), state);
        }
        self.saver.begin(SaveJob { unsaved, edits, pieces, waiting });
    }

    /// Saves all that is unsaved; returns whether that succeeded.
    fn save_all(&mut self) -> bool {
        // One that was begun earlier may fail: what it was to save is saved below.
        if let Some(saved) = self.saver.wait() {
            self.note_saved(saved);
        }
        self.replace_dead_saver();
        loop {
            if let Some(saved) = self.saver.wait()
                && !self.note_saved(saved)
            {
                return false;
            }
            if self.replace_dead_saver() {
                return false;
            }
            if self.is_saved() {
                return true;
            }
            self.begin_save(self.running.counters.edits_applied.load(Ordering::Relaxed));
        }
    }

    /// Counts a save, and tells who waited for it. Returns whether it succeeded.
    fn note_saved(&mut self, saved: FinishedSave) -> bool {
        let counters = &self.running.counters;
        let FinishedSave { job, result } = saved;
        self.journal.end_save(result.is_ok());
        match &result {
            Ok(()) => {
                self.grid.mark_saved(&job.unsaved.chunks);
                if let Some(falling) = &mut self.falling {
                    falling.note_saved(job.pieces);
                }
                counters.edits_saved.store(job.edits, Ordering::Release);
                counters.saves.fetch_add(1, Ordering::Relaxed);
            }
            Err(reason) => {
                error!(world = self.running.name, %reason, "a save failed");
                counters.failed_saves.fetch_add(1, Ordering::Relaxed);
            }
        }
        let is_saved = result.is_ok();
        tell(job.waiting, &result.map_err(|reason| reason.to_string()));
        is_saved
    }

    /// Starts another thread for saves if the last one panicked, for example in the generator; what it
    /// was to save is still unsaved. Returns whether it did.
    fn replace_dead_saver(&mut self) -> bool {
        let is_dead = self.saver.has_died();
        if is_dead {
            error!(world = self.running.name, "a save ended by a panic");
            self.running.counters.failed_saves.fetch_add(1, Ordering::Relaxed);
            self.journal.end_save(false);
            self.saver = Saver::start(self.running.store.clone(), self.generate.clone());
        }
        is_dead
    }
}
