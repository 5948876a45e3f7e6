//! The thread of a world: it ticks the host, and saves in the background ([`saving`]).

mod saving;
mod store_watch;
mod token_warnings;

use self::store_watch::{StoreNews, StoreWatch};
use self::token_warnings::TokenWarnings;
use crate::access::{AccessList, Right};
use crate::borders::{Borders, apply_parts};
use crate::columns::ColumnThread;
use crate::edit_rules::{EditAuthor, EditRules};
use crate::falling::FallingPieces;
use crate::ground::StoredGround;
use crate::held_columns::HeldColumns;
use crate::journal::StoredJournal;
use crate::link::Link;
use crate::log::{debug, error, info, warn};
use crate::rollback::{self, RunningRollback};
use crate::saver::{Generate, SAVE_PAUSE, SHARED_SAVE_PAUSE, SavedSender, Saver};
use crate::server_options::ServerOptions;
use crate::server_reason::{SERVER_ENDS, STOPPED, ServerReason, TOO_SLOW};
use crate::thrown::Thrower;
use crate::world::{RunningWorld, ServedWorld, WorldCounters};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};
use terravox::edit::{EditOp, JournalKind};
use terravox::replicate::{
    GeneratorId, Host, HostEvent, HostOptions, HostWorld, LinkEnd, LinkKind,
};
use terravox::terrain::FillRequest;
use terravox::voxel::{ChunkPos, GridOptions, UnlistedChunks, VoxelGrid};
use terravox_store::{ColumnLeases, Generator, Store, StoreError};

/// A tick begins at the latest after this time, and earlier when something arrived.
const TICK: Duration = Duration::from_millis(33);

/// The same while something is unsaved in a world that servers share.
const UNSAVED_TICK: Duration = Duration::from_millis(8);

/// How long a world that ends waits for operations over borders to be done.
const LAST_BORDERS: Duration = Duration::from_secs(3);

/// The shortest time between ticks.
const SHORTEST_TICK: Duration = Duration::from_millis(4);

/// Starts the thread of a world. It ends after [`RunningWorld::end`], a panic, or when the world can no longer
/// be saved, with whether all is saved.
pub(crate) fn start(
    served: ServedWorld,
    options: &ServerOptions,
) -> Result<(Arc<RunningWorld>, JoinHandle<bool>), StoreError> {
    let ServedWorld { name, store, generate, protected, decide, share } = served;
    // Rather than collect edits that no save can write.
    store.check_index()?;
    // Complete worlds never ask.
    let generate = generate.unwrap_or_else(|| Arc::new(|request| request.set_missing()));
    let columns = share.as_ref().map(|_| Arc::default());
    let (path, store) = (store.path().to_owned(), Arc::new(store));
    let running = RunningWorld::new(name, store.clone(), options.journal_bytes, columns);
    let running = Arc::new(running);
    let columns = match share {
        Some(leases) => Some(keep_columns(&running, leases, store.clone())?),
        None => None,
    };
    let leftover = match &columns {
        // Those of a shared world are read with its columns.
        None if store.info().grows() => Borders::of_store(&store)?,
        _ => Borders::default(),
    };
    let (unsaved_chunks, max_unsaved_chunks) = (0, options.max_unsaved_chunks);
    let rules =
        EditRules { protected, decide, columns, leftover, unsaved_chunks, max_unsaved_chunks };
    let ticker = Ticker::new(running.clone(), store, generate, rules, options)?;
    let named = thread::Builder::new().name("terravox-world".to_owned());
    let doing = "start a thread for";
    let handle = named.spawn(move || ticker.run_to_the_end());
    let handle = handle.map_err(|source| StoreError::Io { path, doing, source })?;
    running.note_thread(handle.thread().clone());
    Ok((running, handle))
}

/// Starts the thread that claims columns of a shared world.
fn keep_columns(
    running: &Arc<RunningWorld>,
    leases: Box<dyn ColumnLeases>,
    store: Arc<Store>,
) -> Result<HeldColumns, StoreError> {
    let shared = running.columns.clone().unwrap_or_default();
    let (path, doing) = (store.path().to_owned(), "start a thread for");
    let started = ColumnThread::start(shared, leases, store, running.name.clone(), running.waker());
    let started = started.map_err(|source| StoreError::Io { path, doing, source });
    started.map(HeldColumns::new)
}

/// A guest of the host, with its connection.
struct ConnectedGuest {
    link: Arc<Link>,
    right: Cell<Option<Right>>,
    /// Its name in the journal, once it is let in.
    author: OnceCell<String>,
    /// Whose budget it spends, once it is let in.
    account: OnceCell<Arc<str>>,
    since: Instant,
    /// When the connection last took something, or had nothing to take.
    moved: Instant,
}

impl ConnectedGuest {
    /// Lets a guest in to a world. Returns whose budget it spends; an error if its token is not known.
    fn admit(
        &self,
        access: &AccessList,
        token: &[u8],
        guest: u64,
        world: &RunningWorld,
    ) -> Result<Arc<str>, LinkEnd> {
        let Some(right) = access.right(token) else {
            let refused = &world.counters.refused_tokens;
            // Who has none does not guess.
            refused.fetch_add(u64::from(!token.is_empty()), Ordering::Relaxed);
            return Err(ServerReason::UnknownToken.end(AccessList::refusal(token)));
        };
        self.right.set(Some(right));
        self.link.note_let_in();
        let author = self.author.get_or_init(|| access.author(token, self.link.peer));
        let account = self.account.get_or_init(|| access.account(token, self.link.peer).into());
        info!(world = world.name, guest, %right, %author, "joined");
        Ok(account.clone())
    }

    /// Who throws what this guest asks for.
    fn thrower(&self, guest: u64) -> Thrower {
        Thrower { guest, account: self.account.get().cloned().unwrap_or_default() }
    }
}

/// A generator as guests are told of it.
fn generator_id(generator: &Generator) -> GeneratorId {
    let Generator { name, version, seed, .. } = generator;
    let parameters = seed.to_le_bytes().to_vec();
    GeneratorId { name: name.clone(), version: *version, parameters }
}

fn right_of(peers: &BTreeMap<u64, ConnectedGuest>, guest: u64) -> Option<Right> {
    peers.get(&guest).and_then(|entry| entry.right.get())
}

/// The name of a guest in the journal.
fn author_of(peers: &BTreeMap<u64, ConnectedGuest>, guest: u64) -> &str {
    peers.get(&guest).and_then(|entry| entry.author.get()).map_or("", String::as_str)
}

/// A guest as the rules of a game see it. The host asks only about guests that were let in.
fn edit_author(peers: &BTreeMap<u64, ConnectedGuest>, guest: u64) -> EditAuthor<'_> {
    let right = right_of(peers, guest).unwrap_or(Right::Look);
    EditAuthor { guest, right, name: author_of(peers, guest) }
}

fn account_of(peers: &BTreeMap<u64, ConnectedGuest>, guest: u64) -> Arc<str> {
    peers.get(&guest).and_then(|entry| entry.account.get()).cloned().unwrap_or_default()
}

fn may_edit(peers: &BTreeMap<u64, ConnectedGuest>, guest: u64) -> bool {
    right_of(peers, guest).is_some_and(|right| right >= Right::Edit)
}

/// What the thread of a world has.
struct Ticker {
    running: Arc<RunningWorld>,
    host: Host,
    grid: VoxelGrid,
    /// `None` if pieces do not fall.
    falling: Option<FallingPieces>,
    generate: Generate,
    stored_ground: StoredGround,
    access: AccessList,
    rules: EditRules,
    journal: StoredJournal,
    /// The rollback that is under way.
    rollback: Option<RunningRollback>,
    patience: Duration,
    peers: BTreeMap<u64, ConnectedGuest>,
    /// Guests that are gone, with the reason, whose connections are to be ended.
    leaving: Vec<(u64, String)>,
    token_warnings: TokenWarnings,
    store_watch: StoreWatch,
    saver: Saver,
    /// Who waits for the save that is not begun yet.
    waiting_for_save: Vec<SavedSender>,
    began: Instant,
    /// When the last tick began.
    ticked: Instant,
    /// Dropped last, after all threads that use it: the leases of the world are given up then.
    store: Arc<Store>,
}

impl Ticker {
    fn new(
        running: Arc<RunningWorld>,
        store: Arc<Store>,
        generate: Generate,
        rules: EditRules,
        server: &ServerOptions,
    ) -> Result<Ticker, StoreError> {
        // The keys of a `RandomState` are random.
        let instance = RandomState::new().hash_one(SystemTime::now()).max(1);
        let mut options = HostOptions { instance, generator: None, ..server.host.clone() };
        let info = store.info();
        let mut edited = Vec::new();
        let grid = if info.grows() {
            let materials = info.materials.clone();
            edited = store.chunks()?;
            options.generator = info.generator.as_ref().map(generator_id);
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
        let is_shared = rules.columns.is_some();
        let falling = (server.pieces_fall && !is_shared)
            .then(|| FallingPieces::restored(&store, &mut host, &grid, &rules.protected));
        let pause = if is_shared { SHARED_SAVE_PAUSE } else { SAVE_PAUSE };
        let saver = Saver::start(store.clone(), generate.clone(), pause);
        let stored_ground = StoredGround::new(store.clone(), running.waker());
        let journal = match is_shared {
            true => StoredJournal::off(running.journal.clone()),
            false => StoredJournal::read(&store, running.journal.clone(), &running.name)?,
        };
        Ok(Ticker {
            running,
            host,
            grid,
            falling,
            generate,
            stored_ground,
            access: server.access.clone(),
            rules,
            journal,
            rollback: None,
            patience: server.patience,
            peers: BTreeMap::new(),
            leaving: Vec::new(),
            token_warnings: TokenWarnings::default(),
            store_watch: StoreWatch::default(),
            saver,
            waiting_for_save: Vec::new(),
            began: Instant::now(),
            ticked: Instant::now(),
            store,
        })
    }

    /// Runs the world. A panic, of the generator for example, ends it after a last save, if what is unsaved is
    /// whole; its guests are told, and other worlds go on.
    fn run_to_the_end(mut self) -> bool {
        let ran = catch_unwind(AssertUnwindSafe(|| self.run()));
        ran.unwrap_or_else(|_| {
            if self.rules.lacks_notes() {
                // Of an operation over a border, one server would have its part and the others none, for ever.
                let what = "a panic stopped the world while operations over borders were applied; edits since its \
                            last save are lost";
                error!(world = self.running.name, "{what}");
                return false;
            }
            let saved = catch_unwind(AssertUnwindSafe(|| self.save_all()));
            let what = match saved {
                Ok(true) => "all is saved",
                _ => "the last save failed: edits are lost",
            };
            error!(world = self.running.name, "a panic stopped the world; {what}");
            false
        })
    }

    /// Ticks until the world ends or can no longer be saved; returns whether all is saved.
    fn run(&mut self) -> bool {
        let mut ends: Option<Instant> = None;
        while self.cannot_save().is_none() && !self.has_lost_columns() {
            if self.running.is_ending() {
                // What began here over a border is not to stay half done while no server has the other side.
                let until = *ends.get_or_insert_with(|| Instant::now() + LAST_BORDERS);
                self.end_guests();
                if self.rules.borders().waiting_operations() == 0 || Instant::now() > until {
                    break;
                }
            }
            let start = Instant::now();
            self.running.clear_input();
            self.tick(start);
            self.stored_ground.end_tick();
            self.look_at_columns(start);
            self.save_in_background();
            self.watch_store();
            self.count_tick(start.elapsed());
            // Short ticks leave half of the time for what else the machine does.
            let shortest = SHORTEST_TICK.max(2 * start.elapsed()).min(TICK);
            thread::sleep(shortest.saturating_sub(start.elapsed()));
            let longest = self.longest_tick();
            while !self.running.has_input() && start.elapsed() < longest {
                thread::park_timeout(longest.saturating_sub(start.elapsed()));
            }
        }
        self.end_guests();
        let now = Instant::now();
        self.transmit(now, (now - self.began).as_micros() as u64);
        if self.has_lost_columns() {
            let what = "a panic stopped the thread of its columns; it is no longer served here";
            error!(world = self.running.name, "{what}");
            self.save_all();
            return false;
        }
        if let Some(why) = self.cannot_save() {
            error!(world = self.running.name, "{why}; it is no longer served here");
            return self.is_saved();
        }
        self.save_all()
    }

    fn end_guests(&mut self) {
        for guest in self.peers.keys() {
            self.host.disconnect(*guest, ServerReason::ServerEnds.end(SERVER_ENDS));
        }
    }

    /// Whether the thread of the columns of a shared world ended by a panic.
    fn has_lost_columns(&self) -> bool {
        self.rules.columns.as_ref().is_some_and(|columns| columns.shared().has_died())
    }

    /// A tick begins at the latest after this time.
    fn longest_tick(&self) -> Duration {
        match self.rules.columns.is_some() && !self.is_saved() {
            // The next save is not to wait for a whole one: others see what is saved.
            true => UNSAVED_TICK,
            false => TICK,
        }
    }

    /// Why nothing more can be saved: another program took the world over, or the outcome of a save is
    /// unknown.
    fn cannot_save(&self) -> Option<StoreError> {
        self.store.check_writer().err()
    }

    /// Counts a tick, and warns about refused tokens.
    fn count_tick(&mut self, took: Duration) {
        let admitted = self.peers.values().filter(|entry| entry.right.get().is_some());
        let counters = &self.running.counters;
        counters.count_tick(took, admitted.count());
        let refused_total = counters.refused_tokens.load(Ordering::Relaxed);
        if let Some(tokens) = self.token_warnings.due(refused_total, Instant::now()) {
            warn!(world = self.running.name, tokens, "tokens were refused: does someone guess?");
        }
    }

    /// Logs that the store does not answer, and that it works again.
    fn watch_store(&mut self) {
        let (world, counters) = (&self.running.name, &self.running.counters);
        let failure = counters.save_failure();
        let columns = self.rules.columns.as_ref().and_then(|c| c.shared().is_silent_since());
        let fails_since = failure.as_ref().map(|failure| failure.since);
        let silent = [columns, self.saver.busy_since(), fails_since].into_iter().flatten().min();
        match self.store_watch.look(silent, failure.is_some(), Instant::now()) {
            Some(StoreNews::Silent(time)) => {
                let (edits, seconds) = (counters.unsaved_edits(), time.as_secs());
                let what = "the database or disk has not answered";
                warn!(world, "{what} for {seconds} s; {edits} edits are only in memory");
            }
            Some(StoreNews::Works(time)) => {
                let seconds = time.as_secs();
                info!(world, "the database or disk works again, after {seconds} s");
            }
            None => {}
        }
    }

    /// Takes what other servers changed, for the tick that begins.
    fn take_news(&mut self) -> Vec<ChunkPos> {
        self.stored_ground.begin_tick();
        self.rules.unsaved_chunks = self.grid.unsaved_count();
        let Some(columns) = &mut self.rules.columns else { return Vec::new() };
        columns.take_news();
        let changed = columns.take_changed();
        // What was read before that lacks it.
        self.stored_ground.note_save(changed.iter().copied());
        changed
    }

    fn tick(&mut self, now: Instant) {
        let now_us = (now - self.began).as_micros() as u64;
        self.receive(now, now_us);
        let (changed, due) = (self.take_news(), self.rules.due_parts());
        let generated = |request: &mut FillRequest<'_>| (self.generate)(request);
        let ground = |request: &mut FillRequest<'_>| self.stored_ground.fill(request, generated);
        let (peers, rules, mut throws, mut begun) = (&self.peers, &mut self.rules, vec![], vec![]);
        let mut decide = |guest: u64, op: &EditOp| {
            rules.verdict(edit_author(peers, guest), &account_of(peers, guest), op, now)
        };
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: self.running.placement,
            ground: &ground,
            generated: &generated,
            prefetch: &|blocks| self.stored_ground.prefetch(blocks),
            decide: &mut decide,
        };
        self.host.ground_changed(&mut world, changed);
        let tried = apply_parts(&mut self.host, &mut world, due, &self.stored_ground.met_damage);
        self.host.tick(&mut world, now_us);
        for event in self.host.events() {
            match event {
                HostEvent::Joining { guest, token } => {
                    let Some(entry) = peers.get(&guest) else { continue };
                    match entry.admit(&self.access, &token, guest, &self.running) {
                        Ok(account) => self.host.admit_as(guest, &world, &account),
                        Err(end) => self.host.disconnect(guest, end),
                    }
                }
                HostEvent::Edited { guest, op, region, within, before, .. } => {
                    self.running.counters.edits_applied.fetch_add(1, Ordering::Relaxed);
                    let author = author_of(peers, guest);
                    let kind = if op.is_some() { JournalKind::Edit } else { JournalKind::Undo };
                    self.journal.record(kind, author, before);
                    if let Some(falling) = &mut self.falling {
                        falling.follow_edit(op.as_deref(), region, author);
                    }
                    // Also parts of what other servers decided about: those were allowed to no guest.
                    begun.extend(within.zip(op).map(|(part, op)| (guest, part, op)));
                }
                HostEvent::Message { guest, bytes } if may_edit(peers, guest) => {
                    throws.extend(peers.get(&guest).map(|entry| (entry.thrower(guest), bytes)));
                }
                HostEvent::Left { guest, reason, .. } => self.leaving.push((guest, reason)),
                _ => {}
            }
        }
        let (host, journal) = (&mut self.host, &mut self.journal);
        let (orders, falling) = (self.running.take_orders(), self.falling.as_mut());
        self.rollback =
            rollback::step(self.rollback.take(), orders, falling, host, &mut world, journal);
        let since_last = now - std::mem::replace(&mut self.ticked, now);
        if let Some(falling) = &mut self.falling {
            let (seconds, cuts) = (since_last.as_secs_f32(), self.rollback.is_none());
            falling.step(host, &mut world, journal, seconds, cuts, &throws);
        }
        self.rules.note_parts(&begun, &tried);
        self.transmit(now, now_us);
    }

    /// Updates which columns of a shared world are watched here.
    fn look_at_columns(&mut self, now: Instant) {
        let WorldCounters { edits_applied, edits_saved, border_operations, refused_parts, .. } =
            &self.running.counters;
        if let Some(columns) = &mut self.rules.columns {
            let [edits, saved] =
                [edits_applied, edits_saved].map(|counter| counter.load(Ordering::Acquire));
            columns.look(&mut self.host, now, edits, saved);
        }
        let waiting = self.rules.borders().waiting_operations() as u64;
        border_operations.store(waiting, Ordering::Release);
        refused_parts.store(self.rules.borders().refused, Ordering::Release);
    }

    fn connect_arriving(&mut self, now: Instant) {
        for link in self.running.take_arriving() {
            let guest = self.host.connect(LinkKind::Reliable);
            let (right, author, account) = (Cell::new(None), OnceCell::new(), OnceCell::new());
            let entry = ConnectedGuest { link, right, author, account, since: now, moved: now };
            self.peers.insert(guest, entry);
        }
    }

    fn receive(&mut self, now: Instant, now_us: u64) {
        self.connect_arriving(now);
        for (&guest, entry) in &self.peers {
            for packet in entry.link.to_world.take() {
                self.running.counters.packets_in.fetch_add(1, Ordering::Relaxed);
                if self.host.receive(guest, &packet, now_us).is_err() {
                    // The host has disconnected it; it is told below.
                    break;
                }
            }
        }
    }

    /// Hands packets to the connections, and ends those that are over.
    fn transmit(&mut self, now: Instant, now_us: u64) {
        for (&guest, entry) in &mut self.peers {
            // Also what was taken during a tick that took long.
            if entry.link.to_peer.is_empty() {
                entry.moved = now;
            }
            if entry.link.is_gone() {
                self.host.disconnect(guest, "the guest left, or its connection broke");
            } else if entry.right.get().is_none() && now - entry.since > self.patience {
                self.host
                    .disconnect(guest, ServerReason::NoGreeting.end("no greeting came in time"));
            } else if now - entry.moved > self.patience {
                self.host.disconnect(guest, ServerReason::TooSlow.end(TOO_SLOW));
            }
        }
        let mut packet = Vec::new();
        for (&guest, entry) in &mut self.peers {
            while entry.link.to_peer.has_room() && self.host.transmit(guest, now_us, &mut packet) {
                let counters = &self.running.counters;
                counters.packets_out.fetch_add(1, Ordering::Relaxed);
                counters.bytes_out.fetch_add(packet.len() as u64, Ordering::Relaxed);
                entry.link.to_peer.push(std::mem::take(&mut packet));
            }
        }
        for event in self.host.events() {
            if let HostEvent::Left { guest, reason, .. } = event {
                self.leaving.push((guest, reason));
            }
        }
        for (guest, reason) in self.leaving.drain(..) {
            if let Some(entry) = self.peers.remove(&guest) {
                // The last packet says why, also to one for which there was no room.
                if self.host.transmit(guest, now_us, &mut packet) {
                    entry.link.to_peer.push(std::mem::take(&mut packet));
                }
                entry.link.close_with_reason(&reason);
                let (world, peer) = (&self.running.name, entry.link.peer);
                match entry.right.get() {
                    Some(_) => info!(world, guest, %peer, reason, "left"),
                    // Strangers must not fill the log.
                    None => debug!(world, guest, %peer, reason, "left before it was let in"),
                }
            }
        }
    }
}

/// However the world ended, its guests and all who wait for it are told.
impl Drop for Ticker {
    fn drop(&mut self) {
        for entry in self.peers.values() {
            entry.link.close_with_reason(STOPPED);
        }
        self.running.note_stopped();
    }
}
