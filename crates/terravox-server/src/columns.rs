//! The columns of a world that several servers share. A thread claims those that guests of this
//! server edit, releases those that none edits any more, and reads what other servers saved; it
//! waits for the database, so that the thread of the world does not.

use crate::border_record::{BORDER, BorderRecord};
use crate::borders::neighbours;
use crate::log::{error, info, warn};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terravox::voxel::ChunkPos;
use terravox_store::{Column, ColumnLeases, ColumnOwner, Store, StoreError};

/// Between two looks at the database.
const INTERVAL: Duration = Duration::from_millis(200);

/// The same while guests see a column of another server at mip 0: they are to see its edits soon.
const BORDER_INTERVAL: Duration = Duration::from_millis(20);

/// Between two looks at who has the columns that are watched.
const OWNERS_INTERVAL: Duration = Duration::from_millis(500);

/// Between two looks at who has any column: as many rows as the world has columns that were ever
/// written.
const ALL_OWNERS_INTERVAL: Duration = Duration::from_secs(5);

/// Between two looks whether a damaged record has been mended.
const DAMAGED_INTERVAL: Duration = Duration::from_secs(5);

/// What the thread is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnOrders {
    /// Columns to be claimed, if no other server has them.
    pub wanted: BTreeSet<Column>,
    /// Columns of others that guests see.
    pub watched: BTreeSet<Column>,
    /// Those of them that guests see at mip 0: they are to see edits there soon.
    pub near: BTreeSet<Column>,
}

/// Who has which column.
pub(crate) type Owners = BTreeMap<Column, ColumnOwner>;

/// What the thread and the world tell each other.
#[derive(Default)]
struct ColumnState {
    orders: ColumnOrders,
    /// Columns to be released: all in them is saved.
    released: Vec<Column>,
    held: BTreeSet<Column>,
    /// Replaced by another map when it differs: there may be many, and the thread of the world must
    /// not wait until they are copied.
    owners: Arc<Owners>,
    /// Chunks that others changed.
    changed: BTreeSet<ChunkPos>,
    /// Records of borders that were read: of columns that were claimed, and of neighbours of those
    /// that are held.
    records: BTreeMap<Column, BorderRecord>,
    /// Columns of which the record is damaged.
    damaged: BTreeSet<Column>,
    /// Looks at the database that failed.
    failed_looks: u64,
    /// Since when they fail.
    fails_since: Option<Instant>,
    /// When the look began that is under way.
    looks_since: Option<Instant>,
    /// Whether the thread ended by a panic.
    has_died: bool,
    /// Whether something is new for the world.
    is_new: bool,
    /// Whether the thread is to look at once.
    is_urgent: bool,
    is_ending: bool,
}

/// What is known of the columns of a world.
#[derive(Default)]
pub(crate) struct SharedColumns {
    state: Mutex<ColumnState>,
    /// Wakes the thread.
    changed: Condvar,
}

/// How many there are.
pub(crate) struct ColumnCounts {
    pub held: u64,
    pub damaged: u64,
    pub failed_looks: u64,
}

/// What the thread found out since the last look.
pub(crate) struct ColumnNews {
    pub held: BTreeSet<Column>,
    pub owners: Arc<Owners>,
    pub changed: BTreeSet<ChunkPos>,
    pub records: BTreeMap<Column, BorderRecord>,
    pub damaged: BTreeSet<Column>,
}

impl SharedColumns {
    fn lock(&self) -> MutexGuard<'_, ColumnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who has which column: of those that guests see, as it was half a second ago, of all others,
    /// some seconds.
    pub fn owners(&self) -> Arc<Owners> {
        self.lock().owners.clone()
    }

    pub fn counts(&self) -> ColumnCounts {
        let state = self.lock();
        let [held, damaged] = [&state.held, &state.damaged].map(|columns| columns.len() as u64);
        ColumnCounts { held, damaged, failed_looks: state.failed_looks }
    }

    /// Since when the database has not answered, if it was asked; the log says why once it has failed.
    pub fn is_silent_since(&self) -> Option<Instant> {
        let state = self.lock();
        state.fails_since.or(state.looks_since)
    }

    /// Whether the thread ended by a panic: nothing is claimed, released or read any more.
    pub fn has_died(&self) -> bool {
        self.lock().has_died
    }

    /// What is new since the last call, if something is.
    pub fn take_news(&self) -> Option<ColumnNews> {
        let mut state = self.lock();
        let is_new = std::mem::take(&mut state.is_new);
        let changed = std::mem::take(&mut state.changed);
        let records = std::mem::take(&mut state.records);
        is_new.then(|| ColumnNews {
            records,
            damaged: state.damaged.clone(),
            held: state.held.clone(),
            owners: state.owners.clone(),
            changed,
        })
    }

    /// Says what is to be done, and which columns are to be released.
    pub fn tell(&self, orders: ColumnOrders, released: Vec<Column>) {
        let mut state = self.lock();
        let is_news = !orders.wanted.is_subset(&state.held)
            || !orders.watched.is_subset(&state.orders.watched)
            || !orders.near.is_subset(&state.orders.near);
        state.orders = orders;
        state.is_urgent |= is_news || !released.is_empty();
        state.released.extend(released);
        if state.is_urgent {
            self.changed.notify_one();
        }
    }

    /// Waits until it is time to look, or there are urgent orders; `None` at the end. Orders that
    /// are given while the thread looks are not missed: it looks again.
    fn wait(&self, until: Instant) -> Option<(ColumnOrders, Vec<Column>)> {
        let mut state = self.lock();
        while !state.is_ending && !state.is_urgent {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_urgent = false;
        state.looks_since = Some(Instant::now()).filter(|_| !state.is_ending);
        (!state.is_ending).then(|| (state.orders.clone(), std::mem::take(&mut state.released)))
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
        store: Arc<Store>,
        world: String,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<ColumnThread> {
        let keeper = ColumnKeeper::new(shared.clone(), leases, store, world);
        let named = thread::Builder::new().name("terravox-columns".to_owned());
        let run = move || {
            let shared = keeper.shared.clone();
            let ran = catch_unwind(AssertUnwindSafe(|| keeper.run(&wake)));
            shared.lock().has_died = ran.is_err();
            wake();
        };
        let thread = Some(named.spawn(run)?);
        Ok(ColumnThread { shared, thread })
    }
}

impl Drop for ColumnThread {
    fn drop(&mut self) {
        self.shared.end();
        if let Some(thread) = self.thread.take() {
            // It catches panics.
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct ColumnKeeper {
    shared: Arc<SharedColumns>,
    leases: Box<dyn ColumnLeases>,
    store: Arc<Store>,
    world: String,
    /// Chunks that others changed and that the world has not been told yet.
    changed: BTreeSet<ChunkPos>,
    /// Columns in which something was saved since their records were read.
    unread: BTreeSet<Column>,
    /// Records that were read and that the world has not been told yet.
    records: BTreeMap<Column, BorderRecord>,
    /// Columns of which the record is damaged, and when those were read last.
    damaged: BTreeSet<Column>,
    looked_at_damaged: Option<Instant>,
    /// Columns that were claimed and of which the record is still to be read.
    claimed: BTreeSet<Column>,
    held: BTreeSet<Column>,
    owners: Owners,
    /// When the owners of watched columns were read, and those of all.
    looked: Option<Instant>,
    looked_at_all: Option<Instant>,
    /// When columns were asked about that are not near.
    looked_far: Option<Instant>,
    /// Those that were asked about then.
    watched: BTreeSet<Column>,
}

impl ColumnKeeper {
    fn new(
        shared: Arc<SharedColumns>,
        leases: Box<dyn ColumnLeases>,
        store: Arc<Store>,
        world: String,
    ) -> ColumnKeeper {
        ColumnKeeper {
            shared,
            leases,
            store,
            world,
            changed: BTreeSet::new(),
            unread: BTreeSet::new(),
            records: BTreeMap::new(),
            damaged: BTreeSet::new(),
            looked_at_damaged: None,
            claimed: BTreeSet::new(),
            held: BTreeSet::new(),
            owners: Owners::new(),
            looked: None,
            looked_at_all: None,
            looked_far: None,
            watched: BTreeSet::new(),
        }
    }

    fn run(mut self, wake: &impl Fn()) {
        let mut next = Instant::now();
        while let Some((orders, released)) = self.shared.wait(next) {
            let interval = if orders.near.is_empty() { INTERVAL } else { BORDER_INTERVAL };
            next = Instant::now() + interval;
            match self.look(&orders, &released) {
                Ok(()) => {
                    // Compared and copied without the lock.
                    let mut told = self.shared.owners();
                    if *told != self.owners {
                        told = Arc::new(self.owners.clone());
                    }
                    let mut state = self.shared.lock();
                    let is_new = !self.changed.is_empty()
                        || !self.records.is_empty()
                        || state.held != self.held
                        || state.damaged != self.damaged
                        || !Arc::ptr_eq(&state.owners, &told);
                    state.held.clone_from(&self.held);
                    state.damaged.clone_from(&self.damaged);
                    std::mem::swap(&mut state.owners, &mut told);
                    state.changed.append(&mut self.changed);
                    state.records.append(&mut self.records);
                    state.is_new |= is_new;
                    (state.fails_since, state.looks_since) = (None, None);
                    drop(state);
                    if is_new {
                        wake();
                    }
                }
                // If it lasts, the lease ends, and the world with it.
                Err(error) => {
                    let mut state = self.shared.lock();
                    state.failed_looks += 1;
                    let began = state.looks_since.take();
                    // Only the first of several is logged.
                    if state.fails_since.is_none() {
                        warn!(world = self.world, "columns: {error}");
                        state.fails_since = began;
                    }
                }
            }
        }
    }

    /// Releases and claims columns, and notes what others changed.
    fn look(&mut self, orders: &ColumnOrders, released: &[Column]) -> io::Result<()> {
        self.release(released)?;
        self.find_owners(orders)?;
        let strays = self.strays(orders);
        self.release(&strays)?;
        let is_free = |column: &&Column| {
            // A claim whose answer was lost is this server's; it claims again.
            let owner = self.owners.get(column);
            let is_taken = owner.is_some_and(|owner| owner.is_alive && !owner.is_own);
            let is_known =
                [&self.held, &self.claimed, &self.damaged].map(|known| known.contains(column));
            !is_taken && is_known == [false; 3]
        };
        let free: Vec<Column> = orders.wanted.iter().filter(is_free).copied().collect();
        if !free.is_empty() {
            self.claimed.extend(self.leases.claim(&free)?);
            self.looked = None;
        }
        self.take_claimed()?;
        // After the claims: what was saved in these columns before has to be known first.
        // Guests that come are to see at once what was saved while no guest was there.
        let is_far_due =
            is_due(self.looked_far, INTERVAL) || !orders.watched.is_subset(&self.watched);
        let asked = if is_far_due { &orders.watched } else { &orders.near };
        let asked: Vec<Column> = asked.difference(&self.held).copied().collect();
        // What it returns is not returned again.
        let changes = self.leases.changes(&asked)?;
        if is_far_due {
            self.looked_far = Some(Instant::now());
            self.watched.clone_from(&orders.watched);
        }
        self.changed.extend(changes.chunks);
        self.unread.extend(changes.columns);
        if is_due(self.looked_at_damaged, DAMAGED_INTERVAL) {
            self.looked_at_damaged = Some(Instant::now());
            for column in self.damaged.clone() {
                self.read_record(column)?;
            }
        }
        self.read_records()
    }

    /// Gives columns up.
    fn release(&mut self, columns: &[Column]) -> io::Result<()> {
        if columns.is_empty() {
            return Ok(());
        }
        self.held.retain(|column| !columns.contains(column));
        self.looked = None;
        if let Err(error) = self.leases.release(columns) {
            // Until it is done, the database has them as this server's.
            self.shared.lock().released.extend_from_slice(columns);
            return Err(error);
        }
        for column in columns {
            info!(world = self.world, "released {column}");
            self.owners.remove(column);
        }
        Ok(())
    }

    /// Columns that the database has as this server's, and of which this server does not know, nor
    /// wants them: the answer to a claim was lost.
    fn strays(&self, orders: &ColumnOrders) -> Vec<Column> {
        let own = self.owners.values().filter(|owner| owner.is_own).map(|owner| owner.column);
        let known = [&self.held, &self.claimed, &orders.wanted];
        own.filter(|column| known.iter().all(|known| !known.contains(column))).collect()
    }

    /// Takes columns that were claimed: each counts as held when it is known what is to be done
    /// there. One of which the record is damaged is given up: what would be noted there instead
    /// would let operations of its neighbours be applied twice, or not at all.
    fn take_claimed(&mut self) -> io::Result<()> {
        while let Some(&column) = self.claimed.first() {
            self.read_record(column)?;
            self.claimed.remove(&column);
            if self.damaged.contains(&column) {
                self.release(&[column])?;
                continue;
            }
            match self.owners.get(&column).filter(|owner| !owner.is_own) {
                Some(ColumnOwner { server, .. }) => {
                    let why = "its lease has ended";
                    info!(world = self.world, "claimed {column}, taken over from {server}: {why}");
                }
                None => info!(world = self.world, "claimed {column}"),
            }
            self.held.insert(column);
            self.unread.extend(neighbours(column).filter(|beside| !self.held.contains(beside)));
        }
        Ok(())
    }

    /// Reads what neighbours of columns that are held saved of their borders.
    fn read_records(&mut self) -> io::Result<()> {
        while let Some(column) = self.unread.pop_first() {
            let is_beside = neighbours(column).any(|beside| self.held.contains(&beside));
            // That of a column that is held is known here better.
            if is_beside
                && !self.held.contains(&column)
                && let Err(error) = self.read_record(column)
            {
                self.unread.insert(column);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Reads the record of a column, or notes that it is damaged, which affects no other column.
    ///
    /// # Errors
    /// If the database cannot be reached.
    fn read_record(&mut self, column: Column) -> io::Result<()> {
        let record = match self.store.extra(&column.data_name(BORDER)) {
            Ok(None) => Ok(BorderRecord::default()),
            Ok(Some(bytes)) => BorderRecord::from_bytes(column, &bytes).map_err(str::to_owned),
            Err(StoreError::Damaged { what, .. }) => Err(what.to_string()),
            Err(error) => return Err(io::Error::other(error)),
        };
        match record {
            Ok(record) => {
                if self.damaged.remove(&column) {
                    info!(
                        world = self.world,
                        "the record of the borders of {column} can be read again"
                    );
                }
                self.records.insert(column, record);
            }
            Err(what) if self.damaged.insert(column) => {
                let name = column.data_name(BORDER);
                error!(
                    world = self.world,
                    "the record of the borders of {column} is damaged: {what}. Until the extra data {name} is restored from \
                     a backup of the database, operations from there are not applied here, those into it wait, and no \
                     server takes the column; it is read again every {} s",
                    DAMAGED_INTERVAL.as_secs()
                );
            }
            // Already logged.
            Err(_) => {}
        }
        Ok(())
    }

    /// Reads who has which column, if it is time.
    fn find_owners(&mut self, orders: &ColumnOrders) -> io::Result<()> {
        let by_column = |owner: ColumnOwner| (owner.column, owner);
        if is_due(self.looked_at_all, ALL_OWNERS_INTERVAL) {
            self.owners = self.leases.owners()?.into_iter().map(by_column).collect();
            self.looked_at_all = Some(Instant::now());
            self.looked = self.looked_at_all;
        } else if is_due(self.looked, OWNERS_INTERVAL) {
            let asked = orders.watched.iter().chain(&orders.wanted).chain(&self.held);
            let asked: BTreeSet<Column> = asked.copied().collect();
            let found = self.leases.owners_of(&Vec::from_iter(asked.iter().copied()))?;
            self.owners.retain(|column, _| !asked.contains(column));
            self.owners.extend(found.into_iter().map(by_column));
            self.looked = Some(Instant::now());
        }
        Ok(())
    }
}

fn is_due(last: Option<Instant>, interval: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= interval)
}

#[cfg(test)]
mod tests;
