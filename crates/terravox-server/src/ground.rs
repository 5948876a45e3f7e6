//! The ground of a world that grows, as its ticks ask for it: what is stored, else what the
//! generator makes. A database that is slow or silent must not stop the ticks, so a thread reads
//! what it stores, and a tick waits for it only so long, however many blocks it asks for.

use crate::log::warn;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terravox::terrain::FillRequest;
use terravox::voxel::{ChunkPos, DenseBox, MAX_FAR_MIP, MipBlock};
use terravox_store::{Store, StoreError};

/// How long a tick waits for stored blocks in all. Blocks that have not arrived then are missing,
/// and requested again by a later tick; ticks do not wait again until all have arrived.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// Maximum number of blocks that are requested and have not arrived.
const MAX_ASKED: usize = 64;

/// Maximum number of blocks that arrived late and wait to be requested again.
const MAX_LATE: usize = 256;

/// The stored cells of a block; `None` if there are none.
type StoredBlock = Result<Option<DenseBox>, StoreError>;

/// What is stored of a world.
pub(crate) struct StoredGround {
    store: Arc<Store>,
    /// Of a world in a database.
    reader: Option<GroundReader>,
    /// Damaged blocks, which were logged.
    damaged: RefCell<HashSet<MipBlock>>,
    /// Whether the last block could not be read for another reason.
    is_failing: Cell<bool>,
}

impl StoredGround {
    pub fn new(store: Arc<Store>) -> StoredGround {
        let reader = store.is_in_records().then(|| GroundReader::start(store.clone()));
        let reader = reader.and_then(|started| {
            started.inspect_err(|error| warn!("a silent database delays the world: {error}")).ok()
        });
        StoredGround { store, reader, damaged: RefCell::default(), is_failing: Cell::new(false) }
    }

    /// Begins a tick.
    pub fn begin_tick(&self) {
        self.reader.iter().for_each(GroundReader::begin_tick);
    }

    /// Notes that a save of chunks begins, or that others saved them.
    pub fn note_save(&self, chunks: impl Iterator<Item = ChunkPos>) {
        if let Some(reader) = &self.reader {
            reader.note_save(chunks);
        }
    }

    /// [`Store::fill`]; a block that does not come in time is missing, and is asked for again
    /// later.
    pub fn fill(&self, request: &mut FillRequest<'_>, generate: impl FnOnce(&mut FillRequest<'_>)) {
        let Some(reader) = &self.reader else { return self.store.fill(request, generate) };
        let read = reader.read(request.block());
        if let Some(Ok(_)) = &read {
            self.is_failing.set(false);
        }
        match read {
            Some(Ok(Some(cells))) => request.cells().clone_from(&cells),
            Some(Ok(None)) if self.store.info().grows() => generate(request),
            Some(Ok(None)) => drop(request.cells()),
            Some(Err(error)) => {
                let is_damaged = matches!(error, StoreError::Damaged { .. });
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

/// The thread that reads, and its requests.
struct GroundReader {
    /// Taken at the end, which ends the thread.
    wanted: Option<Sender<MipBlock>>,
    /// `None` for a block at which the store panicked.
    read: Receiver<(MipBlock, Option<StoredBlock>)>,
    /// Blocks that were requested and have not arrived, and whether a save that touches them has
    /// begun since.
    asked: RefCell<HashMap<MipBlock, bool>>,
    /// Blocks that arrived after the tick that requested them.
    late: RefCell<HashMap<MipBlock, StoredBlock>>,
    /// Until when this tick waits.
    deadline: Cell<Instant>,
    thread: Option<JoinHandle<()>>,
}

impl GroundReader {
    /// # Errors
    /// If the system has no thread left.
    fn start(store: Arc<Store>) -> io::Result<GroundReader> {
        let (wanted, blocks) = mpsc::channel::<MipBlock>();
        let (sender, read) = mpsc::channel();
        let read_block = move |block: MipBlock| {
            let mut cells = DenseBox::default();
            store.block(block, &mut cells).map(|is_stored| is_stored.then_some(cells))
        };
        let read_all = move || {
            for block in blocks {
                // A panic is reported where it happens, and costs this block.
                let found = catch_unwind(AssertUnwindSafe(|| read_block(block))).ok();
                if sender.send((block, found)).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("terravox-ground".to_owned()).spawn(read_all)?;
        Ok(GroundReader {
            wanted: Some(wanted),
            read,
            asked: RefCell::default(),
            late: RefCell::default(),
            deadline: Cell::new(Instant::now()),
            thread: Some(thread),
        })
    }

    fn begin_tick(&self) {
        while let Ok(answer) = self.read.try_recv() {
            self.take(answer);
        }
        let wait = if self.asked.borrow().is_empty() { MAX_WAIT } else { Duration::ZERO };
        self.deadline.set(Instant::now() + wait);
    }

    fn note_save(&self, chunks: impl Iterator<Item = ChunkPos>) {
        let (mut asked, mut late) = (self.asked.borrow_mut(), self.late.borrow_mut());
        if asked.is_empty() && late.is_empty() {
            return;
        }
        for chunk in chunks {
            for mip in 0..=MAX_FAR_MIP {
                let block = MipBlock::from(chunk).over(mip);
                late.remove(&block);
                if let Some(is_saved_since) = asked.get_mut(&block) {
                    *is_saved_since = true;
                }
            }
        }
    }

    /// Takes a block that arrived.
    fn take(&self, (block, found): (MipBlock, Option<StoredBlock>)) {
        let is_saved_since = self.asked.borrow_mut().remove(&block);
        // What has been saved since a block was asked for may not be in it.
        if let Some(found) = found.filter(|_| is_saved_since == Some(false)) {
            let mut late = self.late.borrow_mut();
            if late.len() == MAX_LATE {
                late.clear();
            }
            late.insert(block, found);
        }
    }

    /// Reads a block; `None` if that takes too long.
    fn read(&self, block: MipBlock) -> Option<StoredBlock> {
        if let Some(found) = self.late.borrow_mut().remove(&block) {
            return Some(found);
        }
        let is_asked = self.asked.borrow().contains_key(&block);
        if !is_asked {
            if self.asked.borrow().len() == MAX_ASKED {
                return None;
            }
            self.wanted.as_ref()?.send(block).ok()?;
            self.asked.borrow_mut().insert(block, false);
        }
        loop {
            let left = self.deadline.get().saturating_duration_since(Instant::now());
            let answer = self.read.recv_timeout(left).ok()?;
            let is_it = answer.0 == block;
            self.take(answer);
            if is_it {
                return self.late.borrow_mut().remove(&block);
            }
        }
    }
}

/// Joins the thread, so that it holds the store no longer, unless it is stuck in a read.
impl Drop for GroundReader {
    fn drop(&mut self) {
        self.wanted = None;
        let is_stuck = !self.asked.borrow().is_empty();
        if let Some(thread) = self.thread.take().filter(|_| !is_stuck) {
            // It catches the panics of reads.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
