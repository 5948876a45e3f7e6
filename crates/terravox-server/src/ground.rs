//! The ground of a world that grows, as its ticks ask for it: what is stored, else what the
//! generator makes. A database that is slow or silent must not stop the ticks, so a thread reads
//! what it stores. A tick says which blocks it will need ([`StoredGround::prefetch`]); they are read
//! together, in one request, and are there in a later tick. What needs blocks at once waits for them,
//! but only so long in each tick.

use crate::log::warn;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terravox::terrain::FillRequest;
use terravox::voxel::{ChunkPos, DenseBox, MAX_FAR_MIP, MipBlock};
use terravox_store::{Store, StoreError};

/// How long a tick waits for stored blocks in all. Blocks that have not arrived then are missing,
/// and requested again by a later tick; if none at all arrives for so long, ticks do not wait again
/// before one does.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// Maximum number of blocks that are requested and have not arrived, except those that a tick waits for.
const MAX_ASKED: usize = 256;

/// Blocks that arrived are kept so long, or until so many others arrived; twice that at most. Those
/// that are stored take some 64 KiB each.
const KEEP_TIME: Duration = Duration::from_millis(500);
const MIN_KEPT: usize = 256;

/// The stored cells of a block; `None` if there are none.
type StoredBlock = Result<Option<DenseBox>, StoreError>;

/// What is stored of a world.
pub(crate) struct StoredGround {
    store: Arc<Store>,
    /// Of a world in a database.
    reader: Option<GroundReader>,
    /// Damaged blocks, which were logged.
    damaged: RefCell<HashSet<MipBlock>>,
    /// Set when a damaged block is asked for: it will not be there later either.
    pub met_damage: Cell<bool>,
    /// Whether the last block could not be read for another reason.
    is_failing: Cell<bool>,
}

impl StoredGround {
    /// `wake` is called when blocks have arrived.
    pub fn new(store: Arc<Store>, wake: impl Fn() + Send + 'static) -> StoredGround {
        let reader = store.is_in_records().then(|| GroundReader::start(store.clone(), wake));
        let reader = reader.and_then(|started| {
            started.inspect_err(|error| warn!("a silent database delays the world: {error}")).ok()
        });
        StoredGround {
            store,
            reader,
            damaged: RefCell::default(),
            met_damage: Cell::new(false),
            is_failing: Cell::new(false),
        }
    }

    /// Begins a tick.
    pub fn begin_tick(&self) {
        self.reader.iter().for_each(GroundReader::begin_tick);
    }

    /// Ends a tick: what it will need is requested.
    pub fn end_tick(&self) {
        self.reader.iter().for_each(GroundReader::request_wanted);
    }

    /// Notes which blocks a tick will ask for. Returns whether all are at hand, or will not be soon.
    pub fn prefetch(&self, blocks: &[MipBlock]) -> bool {
        self.reader.as_ref().is_none_or(|reader| reader.prefetch(blocks))
    }

    /// Notes that a save of chunks begins or ends, or that others saved them.
    pub fn note_save(&self, chunks: impl Iterator<Item = ChunkPos>) {
        if let Some(reader) = &self.reader {
            reader.note_save(chunks);
        }
    }

    /// [`Store::fill`]; a block that does not come in time is missing, and is asked for again
    /// later.
    pub fn fill(&self, request: &mut FillRequest<'_>, generate: impl FnOnce(&mut FillRequest<'_>)) {
        let Some(reader) = &self.reader else { return self.store.fill(request, generate) };
        reader.wait_for(request.block());
        let arrived = reader.arrived.borrow();
        let read = arrived.get(request.block());
        if let Some(Ok(_)) = read {
            self.is_failing.set(false);
        }
        match read {
            Some(Ok(Some(cells))) => request.cells().clone_from(cells),
            Some(Ok(None)) if self.store.info().grows() => generate(request),
            Some(Ok(None)) => drop(request.cells()),
            Some(Err(error)) => {
                let is_damaged = matches!(error, StoreError::Damaged { .. });
                self.met_damage.set(is_damaged || self.met_damage.get());
                // A database that cannot be reached is reported once, a damaged block by itself.
                let is_news = match is_damaged {
                    true => self.damaged.borrow_mut().insert(request.block()),
                    false => !self.is_failing.replace(true),
                };
                if is_news {
                    warn!("{} cannot be read: {error}", request.block());
                }
                request.set_missing();
            }
            None => request.set_missing(),
        }
    }
}

/// Blocks that arrived: the newest, and those before them.
struct ArrivedBlocks {
    newest: HashMap<MipBlock, StoredBlock>,
    older: HashMap<MipBlock, StoredBlock>,
    /// Since when the newest ones arrive.
    since: Instant,
}

impl ArrivedBlocks {
    fn new() -> ArrivedBlocks {
        ArrivedBlocks { newest: HashMap::new(), older: HashMap::new(), since: Instant::now() }
    }

    fn get(&self, block: MipBlock) -> Option<&StoredBlock> {
        self.newest.get(&block).or_else(|| self.older.get(&block))
    }

    fn is_empty(&self) -> bool {
        self.newest.is_empty() && self.older.is_empty()
    }

    fn insert(&mut self, block: MipBlock, found: StoredBlock) {
        if self.newest.len() == MIN_KEPT {
            self.drop_older();
        }
        self.newest.insert(block, found);
    }

    fn remove(&mut self, block: MipBlock) {
        self.newest.remove(&block);
        self.older.remove(&block);
    }

    /// Drops those that are old: another program may have changed what is not followed here.
    fn expire(&mut self) {
        if self.since.elapsed() > KEEP_TIME {
            self.drop_older();
        }
    }

    fn drop_older(&mut self) {
        self.older = mem::take(&mut self.newest);
        self.since = Instant::now();
    }
}

/// The thread that reads, and its requests.
struct GroundReader {
    /// Taken at the end, which ends the thread.
    requests: Option<Sender<Vec<MipBlock>>>,
    /// `None` for a block that is to be requested again: the store panicked there, or failed before.
    read: Receiver<(MipBlock, Option<StoredBlock>)>,
    /// Blocks that are to be requested together, and have not been yet.
    wanted: RefCell<Vec<MipBlock>>,
    /// These, and those that were requested and have not arrived; and whether a save that touches them
    /// has begun or ended since.
    asked: RefCell<HashMap<MipBlock, bool>>,
    arrived: RefCell<ArrivedBlocks>,
    /// When the last block arrived, or one was requested after all had.
    moved: Cell<Instant>,
    /// Until when this tick waits.
    deadline: Cell<Instant>,
    thread: Option<JoinHandle<()>>,
}

impl GroundReader {
    /// # Errors
    /// If the system has no thread left.
    fn start(store: Arc<Store>, wake: impl Fn() + Send + 'static) -> io::Result<GroundReader> {
        let (requests, requested) = mpsc::channel::<Vec<MipBlock>>();
        let (sender, read) = mpsc::channel();
        let read_all = move || {
            while let Ok(mut blocks) = requested.recv() {
                // What has come meanwhile is read with it.
                while blocks.len() < MAX_ASKED
                    && let Ok(more) = requested.try_recv()
                {
                    blocks.extend(more);
                }
                read_request(&store, &blocks, &sender);
                wake();
            }
        };
        let thread = thread::Builder::new().name("terravox-ground".to_owned()).spawn(read_all)?;
        Ok(GroundReader {
            requests: Some(requests),
            read,
            wanted: RefCell::default(),
            asked: RefCell::default(),
            arrived: RefCell::new(ArrivedBlocks::new()),
            moved: Cell::new(Instant::now()),
            deadline: Cell::new(Instant::now()),
            thread: Some(thread),
        })
    }

    fn begin_tick(&self) {
        while let Ok(answer) = self.read.try_recv() {
            self.take(answer);
        }
        self.arrived.borrow_mut().expire();
        let wait = if self.is_silent() { Duration::ZERO } else { MAX_WAIT };
        self.deadline.set(Instant::now() + wait);
    }

    /// Whether blocks were requested, and none arrives.
    fn is_silent(&self) -> bool {
        self.asked.borrow().len() > self.wanted.borrow().len()
            && self.moved.get().elapsed() >= MAX_WAIT
    }

    fn note_save(&self, chunks: impl Iterator<Item = ChunkPos>) {
        let (mut asked, mut arrived) = (self.asked.borrow_mut(), self.arrived.borrow_mut());
        if asked.is_empty() && arrived.is_empty() {
            return;
        }
        for chunk in chunks {
            for mip in 0..=MAX_FAR_MIP {
                let block = MipBlock::from(chunk).over(mip);
                arrived.remove(block);
                if let Some(is_saved_since) = asked.get_mut(&block) {
                    *is_saved_since = true;
                }
            }
        }
    }

    /// Takes a block that arrived.
    fn take(&self, (block, found): (MipBlock, Option<StoredBlock>)) {
        self.moved.set(Instant::now());
        let is_saved_since = self.asked.borrow_mut().remove(&block);
        // What has been saved since a block was asked for may not be in it.
        if let Some(found) = found.filter(|_| is_saved_since == Some(false)) {
            self.arrived.borrow_mut().insert(block, found);
        }
    }

    fn has(&self, block: MipBlock) -> bool {
        self.arrived.borrow().get(block).is_some()
    }

    /// Lets a block be requested, unless it was, or so many others were.
    fn ask(&self, block: MipBlock, most: usize) {
        let mut asked = self.asked.borrow_mut();
        if asked.len() < most && !asked.contains_key(&block) {
            asked.insert(block, false);
            self.wanted.borrow_mut().push(block);
        }
    }

    fn prefetch(&self, blocks: &[MipBlock]) -> bool {
        let mut is_at_hand = true;
        for &block in blocks {
            if !self.has(block) {
                is_at_hand = false;
                self.ask(block, MAX_ASKED);
            }
        }
        is_at_hand || self.is_silent()
    }

    fn request_wanted(&self) {
        let wanted = mem::take(&mut *self.wanted.borrow_mut());
        if wanted.is_empty() {
            return;
        }
        if wanted.len() == self.asked.borrow().len() {
            self.moved.set(Instant::now());
        }
        // The thread ends after this sender.
        let _ = self.requests.as_ref().map(|requests| requests.send(wanted));
    }

    /// Waits until a block has arrived, unless that takes too long.
    fn wait_for(&self, block: MipBlock) {
        let mut has_answer = false;
        // One that was saved since is asked for again later.
        while !self.has(block) && !has_answer {
            // One at a time. Those that are not waited for must not pile up.
            let left = self.deadline.get().saturating_duration_since(Instant::now());
            self.ask(block, if left.is_zero() { MAX_ASKED } else { usize::MAX });
            self.request_wanted();
            let Ok(answer) = self.read.recv_timeout(left) else { return };
            has_answer = answer.0 == block;
            self.take(answer);
        }
    }
}

/// Reads the blocks of a request and sends each.
fn read_request(
    store: &Store,
    mut blocks: &[MipBlock],
    sender: &Sender<(MipBlock, Option<StoredBlock>)>,
) {
    // Without a receiver, the thread ends after this.
    let send = |block, found| drop(sender.send((block, found)));
    while !blocks.is_empty() {
        let mut visited = 0;
        let read = catch_unwind(AssertUnwindSafe(|| {
            store.read_blocks(blocks, |block, found| {
                visited += 1;
                send(block, Some(found));
            })
        }));
        blocks = &blocks[visited..];
        match read {
            // A panic is reported where it happens, and costs this block.
            Err(_) => {
                blocks.iter().take(1).for_each(|&block| send(block, None));
                blocks = blocks.get(1..).unwrap_or_default();
            }
            // Once for all of them.
            Ok(Err(error)) => {
                let mut error = Some(Err(error));
                blocks.iter().for_each(|&block| send(block, error.take()));
                return;
            }
            Ok(Ok(())) => {}
        }
    }
}

/// Joins the thread, so that it holds the store no longer, unless it is stuck in a read.
impl Drop for GroundReader {
    fn drop(&mut self) {
        self.requests = None;
        for block in mem::take(self.wanted.get_mut()) {
            self.asked.get_mut().remove(&block);
        }
        let until = Instant::now() + MAX_WAIT;
        while !self.asked.borrow().is_empty()
            && let left = until.saturating_duration_since(Instant::now())
            && let Ok(answer) = self.read.recv_timeout(left)
        {
            self.take(answer);
        }
        let is_stuck = !self.asked.borrow().is_empty();
        if let Some(thread) = self.thread.take().filter(|_| !is_stuck) {
            // It catches the panics of reads.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
