//! The columns of a world that several servers share. A thread claims those that guests of this server are in,
//! releases those that none is in any more, and reads what other servers saved; it waits for the database,
//! so that the thread of the world does not.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terravox::voxel::ChunkPos;
use terravox_store::{Column, ColumnLeases, ColumnOwner};
use tracing::{info, warn};

/// Between two looks at the database.
const INTERVAL: Duration = Duration::from_millis(200);

/// The same while guests see a column of another server at mip 0: they are to see its edits soon.
const BORDER_INTERVAL: Duration = Duration::from_millis(20);

/// Between two looks at who has which column.
const OWNERS_INTERVAL: Duration = Duration::from_millis(500);

/// What the thread and the world tell each other.
#[derive(Default)]
struct ColumnState {
    /// Columns that guests are in.
    wanted: BTreeSet<Column>,
    /// Whether they see columns that are not held.
    is_at_border: bool,
    /// Columns to be released: all in them is saved.
    released: Vec<Column>,
    held: BTreeSet<Column>,
    owners: Vec<ColumnOwner>,
    /// Chunks that others changed.
    changed: BTreeSet<ChunkPos>,
    /// Whether something is new for the world.
    is_new: bool,
    is_ending: bool,
}

/// What is known of the columns of a world.
#[derive(Default)]
pub(crate) struct SharedColumns {
    state: Mutex<ColumnState>,
    /// Wakes the thread.
    changed: Condvar,
}

/// What the thread found out since the last look.
pub(crate) struct ColumnNews {
    pub held: BTreeSet<Column>,
    pub owners: Vec<ColumnOwner>,
    pub changed: BTreeSet<ChunkPos>,
}

impl SharedColumns {
    fn lock(&self) -> MutexGuard<'_, ColumnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who has which column, as it was half a second ago.
    pub fn owners(&self) -> Vec<ColumnOwner> {
        self.lock().owners.clone()
    }

    /// What is new since the last call, if something is.
    pub fn take_news(&self) -> Option<ColumnNews> {
        let mut state = self.lock();
        let is_new = std::mem::take(&mut state.is_new);
        let changed = std::mem::take(&mut state.changed);
        is_new.then(|| ColumnNews {
            held: state.held.clone(),
            owners: state.owners.clone(),
            changed,
        })
    }

    /// Says which columns guests are in, whether they see others, and which columns are to be released.
    pub fn tell(&self, wanted: BTreeSet<Column>, is_at_border: bool, released: Vec<Column>) {
        let mut state = self.lock();
        state.is_at_border = is_at_border;
        let is_news = !wanted.is_subset(&state.held);
        state.wanted = wanted;
        state.released.extend(released);
        if is_news || !state.released.is_empty() {
            self.changed.notify_one();
        }
    }

    fn end(&self) {
        self.lock().is_ending = true;
        self.changed.notify_one();
    }
}

/// The thread. Dropping it ends it; the columns are given up with the store.
pub(crate) struct ColumnThread {
    pub shared: Arc<SharedColumns>,
    thread: Option<JoinHandle<()>>,
}

impl ColumnThread {
    /// Starts it. `wake` is called when there is news.
    pub fn start(
        shared: Arc<SharedColumns>,
        leases: Box<dyn ColumnLeases>,
        world: String,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<ColumnThread> {
        let keeper = ColumnKeeper {
            shared: shared.clone(),
            leases,
            world,
            held: BTreeSet::new(),
            owners: Vec::new(),
            looked: None,
            has_failed: false,
        };
        let named = thread::Builder::new().name("terravox-columns".to_owned());
        let thread = Some(named.spawn(move || keeper.run(wake))?);
        Ok(ColumnThread { shared, thread })
    }
}

impl Drop for ColumnThread {
    fn drop(&mut self) {
        self.shared.end();
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct ColumnKeeper {
    shared: Arc<SharedColumns>,
    leases: Box<dyn ColumnLeases>,
    world: String,
    held: BTreeSet<Column>,
    owners: Vec<ColumnOwner>,
    /// When `owners` was read.
    looked: Option<Instant>,
    /// Whether the last look failed: only the first of several is logged.
    has_failed: bool,
}

impl ColumnKeeper {
    fn run(mut self, wake: impl Fn()) {
        loop {
            let (wanted, released) = {
                let mut state = self.shared.lock();
                if state.released.is_empty() {
                    let interval = if state.is_at_border { BORDER_INTERVAL } else { INTERVAL };
                    let waited = self.shared.changed.wait_timeout(state, interval);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                if state.is_ending {
                    return;
                }
                (state.wanted.clone(), std::mem::take(&mut state.released))
            };
            match self.look(&wanted, &released) {
                Ok(changed) => {
                    let mut state = self.shared.lock();
                    let is_new = !changed.is_empty()
                        || state.held != self.held
                        || state.owners != self.owners;
                    state.held.clone_from(&self.held);
                    state.owners.clone_from(&self.owners);
                    state.changed.extend(changed);
                    state.is_new |= is_new;
                    self.has_failed = false;
                    drop(state);
                    if is_new {
                        wake();
                    }
                }
                // If it lasts, the lease ends, and the world with it.
                Err(error) if !self.has_failed => {
                    warn!(world = self.world, "columns: {error}");
                    self.has_failed = true;
                }
                Err(_) => {}
            }
        }
    }

    /// Releases and claims columns; returns what others changed.
    fn look(
        &mut self,
        wanted: &BTreeSet<Column>,
        released: &[Column],
    ) -> io::Result<Vec<ChunkPos>> {
        if !released.is_empty() {
            self.held.retain(|column| !released.contains(column));
            self.looked = None;
            if let Err(error) = self.leases.release(released) {
                // Until it is done, the database has them as this server's.
                self.shared.lock().released.extend_from_slice(released);
                return Err(error);
            }
            released.iter().for_each(|column| info!(world = self.world, "released {column}"));
        }
        if self.looked.is_none_or(|looked| looked.elapsed() >= OWNERS_INTERVAL) {
            self.owners = self.leases.owners()?;
            self.looked = Some(Instant::now());
        }
        let is_free = |column: &&Column| {
            let is_taken = |owner: &ColumnOwner| {
                // A claim whose answer was lost is this server's; it claims again.
                owner.column == **column && owner.is_alive && !owner.is_own
            };
            !self.held.contains(column) && !self.owners.iter().any(is_taken)
        };
        let free: Vec<Column> = wanted.iter().filter(is_free).copied().collect();
        if !free.is_empty() {
            for column in self.leases.claim(&free)? {
                info!(world = self.world, "claimed {column}");
                self.held.insert(column);
            }
            self.looked = None;
        }
        // After the claims: what was saved in these columns before has to be known first.
        self.leases.changes()
    }
}
