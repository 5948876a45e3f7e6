//! A world that is served: its thread ticks the host and saves in the background.

use crate::access::{AccessList, Right};
use crate::link::Link;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{
    GeneratorId, Host, HostEvent, HostOptions, HostWorld, LinkKind, Verdict,
};
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{GridOptions, UnlistedChunks, VoxelGrid};
use terravox_store::{Store, StoreError};
use tokio::sync::oneshot;
use tracing::{error, info, warn};

/// A tick begins at the latest after this time, and earlier when something arrived.
const TICK: Duration = Duration::from_millis(33);

/// The shortest time between ticks.
const SHORTEST_TICK: Duration = Duration::from_millis(4);

/// Between the end of a save and the next.
const SAVE_PAUSE: Duration = Duration::from_secs(2);

/// What guests are told when the server ends. They may come back.
pub(crate) const SERVER_ENDS: &str = "the server ends";

/// Ticks of which the times are kept: some 30 s of them.
const RECENT_TICKS: usize = 1024;

/// Makes the cells of a block, as the generator of a world.
pub type Generate = Arc<dyn Fn(&mut FillRequest<'_>) + Send + Sync>;

/// A world to serve.
pub struct ServedWorld {
    /// Its name in addresses.
    pub name: String,
    /// Its file. What guests change is saved there.
    pub store: Store,
    /// Its generator, if it grows.
    pub generate: Option<Generate>,
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
    pub backup: tokio::sync::Mutex<()>,
    has_input: AtomicBool,
    is_ending: AtomicBool,
    thread: OnceLock<Thread>,
}

/// Tells that a save ended, and how.
type SavedSender = oneshot::Sender<Result<(), String>>;

impl RunningWorld {
    /// Saves all edits that were applied until now. Returns why that failed, if it did.
    pub async fn save(&self) -> Result<(), String> {
        let (saved, is_saved) = oneshot::channel();
        self.waiting_for_save.lock().unwrap_or_else(PoisonError::into_inner).push(saved);
        self.wake();
        is_saved.await.unwrap_or_else(|_| Err(SERVER_ENDS.to_owned()))
    }

    /// Adds a connection.
    pub fn join(&self, link: Arc<Link>) {
        self.arriving.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        self.wake();
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
    access: AccessList,
    options: HostOptions,
    patience: Duration,
) -> Result<(Arc<RunningWorld>, JoinHandle<bool>), StoreError> {
    let ServedWorld { name, store, generate } = served;
    // Complete worlds never ask.
    let generate = generate.unwrap_or_else(|| Arc::new(|request| request.set_missing()));
    let running = Arc::new(RunningWorld {
        name,
        store: Arc::new(store),
        backup: tokio::sync::Mutex::default(),
        waiting_for_save: Mutex::default(),
        counters: WorldCounters::default(),
        arriving: Mutex::default(),
        has_input: AtomicBool::new(false),
        is_ending: AtomicBool::new(false),
        thread: OnceLock::new(),
    });
    let mut ticker = Ticker::new(running.clone(), generate, access, options, patience)?;
    let named = thread::Builder::new().name("terravox-world".to_owned());
    let handle = named.spawn(move || ticker.run()).map_err(|source| StoreError::Io {
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
    since: Instant,
    /// When the connection last took something, or had nothing to take.
    moved: Instant,
}

/// The thread of a world.
struct Ticker {
    running: Arc<RunningWorld>,
    store: Arc<Store>,
    host: Host,
    grid: VoxelGrid,
    generate: Generate,
    access: AccessList,
    patience: Duration,
    seats: BTreeMap<u64, Seat>,
    /// Guests that are gone, with the reason, whose connections are to be ended.
    leaving: Vec<(u64, String)>,
    saver: Saver,
    /// Who waits for the save that is not begun yet.
    waiting_for_save: Vec<SavedSender>,
    began: Instant,
}

impl Ticker {
    fn new(
        running: Arc<RunningWorld>,
        generate: Generate,
        access: AccessList,
        mut options: HostOptions,
        patience: Duration,
    ) -> Result<Ticker, StoreError> {
        let store = running.store.clone();
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
        let saver = Saver::start(store.clone(), generate.clone());
        Ok(Ticker {
            running,
            store,
            host,
            grid,
            generate,
            access,
            patience,
            seats: BTreeMap::new(),
            leaving: Vec::new(),
            saver,
            waiting_for_save: Vec::new(),
            began: Instant::now(),
        })
    }

    /// Ticks until the world ends; returns whether all is saved.
    fn run(&mut self) -> bool {
        while !self.running.is_ending.load(Ordering::Acquire) {
            let start = Instant::now();
            self.running.has_input.store(false, Ordering::Release);
            self.tick(start);
            self.count_tick(start.elapsed());
            self.save(false);
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
        self.save(true)
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
        counters.guests.store(self.seats.len() as u64, Ordering::Relaxed);
    }

    fn tick(&mut self, now: Instant) {
        let now_us = (now - self.began).as_micros() as u64;
        self.seat_arriving(now);
        self.receive(now_us);
        let generated = |request: &mut FillRequest<'_>| (self.generate)(request);
        let ground = |request: &mut FillRequest<'_>| self.store.fill(request, generated);
        let seats = &self.seats;
        let mut decide =
            |guest: u64, _: &EditOp| match seats.get(&guest).and_then(|seat| seat.right.get()) {
                Some(Right::Edit | Right::Administer) => Verdict::Accept,
                _ => Verdict::Refuse("your token is for looking only".to_owned()),
            };
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: self.store.info().placement(),
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
                            info!(world = self.running.name, guest, %right, "joined");
                            seat.right.set(Some(right));
                        }
                        self.host.admit(guest, &world);
                    }
                    None => self.host.disconnect(guest, "this token is not known here"),
                },
                HostEvent::Edited { .. } => {
                    self.running.counters.edits_applied.fetch_add(1, Ordering::Relaxed);
                }
                HostEvent::Left { guest, reason } => self.leaving.push((guest, reason)),
                _ => {}
            }
        }
        self.transmit(now, now_us);
    }

    fn seat_arriving(&mut self, now: Instant) {
        let mut arriving = self.running.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        for link in arriving.drain(..) {
            let guest = self.host.connect(LinkKind::Reliable);
            self.seats.insert(guest, Seat { link, right: Cell::new(None), since: now, moved: now });
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
                self.host.disconnect(guest, "nothing that was sent was taken in time");
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

    /// Begins to save what is unsaved; at the end, waits until it is. Returns whether all is saved.
    fn save(&mut self, is_last: bool) -> bool {
        let running = self.running.clone();
        let counters = &running.counters;
        loop {
            if let Some(saved) = self.saver.finished(is_last) {
                match &saved.result {
                    Ok(()) => {
                        self.grid.mark_saved(&saved.unsaved.chunks);
                        counters.edits_saved.store(saved.edits, Ordering::Release);
                        counters.saves.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(reason) => {
                        error!(world = running.name, %reason, "not saved; tried again");
                        counters.failed_saves.fetch_add(1, Ordering::Relaxed);
                    }
                }
                let result = saved.result.map_err(|reason| reason.to_string());
                tell(saved.waiting, &result);
                if is_last && result.is_err() {
                    return false;
                }
            }
            let mut waiting =
                running.waiting_for_save.lock().unwrap_or_else(PoisonError::into_inner);
            self.waiting_for_save.append(&mut waiting);
            drop(waiting);
            if self.grid.is_saved() {
                let edits = counters.edits_applied.load(Ordering::Relaxed);
                counters.edits_saved.store(edits, Ordering::Release);
                tell(std::mem::take(&mut self.waiting_for_save), &Ok(()));
                return true;
            }
            if self.saver.is_ready(is_last || !self.waiting_for_save.is_empty()) {
                let edits = counters.edits_applied.load(Ordering::Relaxed);
                let waiting = std::mem::take(&mut self.waiting_for_save);
                self.saver.begin(UnsavedChanges::from(self.grid.unsaved()), edits, waiting);
            }
            if !is_last {
                return false;
            }
        }
    }
}

/// Tells all who waited for a save. Who went away meanwhile need not know.
fn tell(waiting: Vec<SavedSender>, result: &Result<(), String>) {
    for sender in waiting {
        let _ = sender.send(result.clone());
    }
}

/// What a save wrote.
struct FinishedSave {
    unsaved: UnsavedChanges,
    /// Edits before it began.
    edits: u64,
    /// Who waited for it.
    waiting: Vec<SavedSender>,
    result: Result<(), StoreError>,
}

/// What is to be saved; see [`FinishedSave`].
type SaveJob = (UnsavedChanges, u64, Vec<SavedSender>);

/// The thread that writes.
struct Saver {
    /// Taken at the end, which ends the thread.
    to_thread: Option<Sender<SaveJob>>,
    thread: Option<JoinHandle<()>>,
    finished: Receiver<FinishedSave>,
    is_busy: bool,
    rests_since: Instant,
}

impl Saver {
    fn start(store: Arc<Store>, generate: Generate) -> Saver {
        let (to_thread, jobs) = mpsc::channel::<SaveJob>();
        let (done, finished) = mpsc::channel();
        let thread = thread::spawn(move || {
            for (unsaved, edits, waiting) in jobs {
                let fill = |request: &mut FillRequest<'_>| store.fill(request, &*generate);
                let result = store.save(&unsaved, fill).map(drop);
                if done.send(FinishedSave { unsaved, edits, waiting, result }).is_err() {
                    return;
                }
            }
        });
        let (to_thread, thread) = (Some(to_thread), Some(thread));
        Saver { to_thread, thread, finished, is_busy: false, rests_since: Instant::now() }
    }

    /// Whether the next save may begin; one that is urgent does not wait for a pause.
    fn is_ready(&self, is_urgent: bool) -> bool {
        !self.is_busy && (is_urgent || self.rests_since.elapsed() >= SAVE_PAUSE)
    }

    fn begin(&mut self, unsaved: UnsavedChanges, edits: u64, waiting: Vec<SavedSender>) {
        if let Some(thread) = &self.to_thread {
            self.is_busy = thread.send((unsaved, edits, waiting)).is_ok();
        }
    }

    /// What was saved, if that ended; `waits` for it if there is something to wait for.
    fn finished(&mut self, waits: bool) -> Option<FinishedSave> {
        let finished = match waits && self.is_busy {
            true => self.finished.recv().ok(),
            false => self.finished.try_recv().ok(),
        };
        if finished.is_some() {
            (self.is_busy, self.rests_since) = (false, Instant::now());
        }
        finished
    }
}

/// Waits until the file is closed, so that it can be opened again.
impl Drop for Saver {
    fn drop(&mut self) {
        self.to_thread = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
