//! Which columns of a shared world guests may edit here, and which are to be claimed and released.

use crate::border_record::{BorderOp, is_around};
use crate::borders::{Backlog, Borders, DuePart, TriedParts, middle_of, neighbours};
use crate::columns::{ColumnOrders, ColumnThread, Owners, SharedColumns};
use crate::server_reason::ServerReason;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{Host, Refusal};
use terravox::voxel::{ChunkPos, Region};
use terravox_store::Column;

/// Interval at which edits of guests are checked, and what they see.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// The same when guests see other columns than before.
const CHANGE_INTERVAL: Duration = Duration::from_millis(50);

/// A column that was not edited for this time is released.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// How long after an operation that needs a column the server tries to claim it; and how long a
/// column is kept that was claimed only to finish operations that began beside it.
const DEMAND_TIME: Duration = Duration::from_secs(5);

/// Maximum number of columns that are held, or about to be claimed, because one account edited
/// them. An operation reaches up to four.
const MAX_COLUMNS_OF_ACCOUNT: usize = 8;

/// The same of all accounts of a server.
const MAX_COLUMNS: usize = 256;

/// Maximum number of columns that are watched since guests see them, in addition to those beside
/// held ones: the widest view has some 350.
const MAX_WATCHED: usize = if cfg!(test) { 64 } else { 4096 };

/// Maximum number of those that are watched closely since guests see them at mip 0: a view has some
/// four.
const MAX_NEAR: usize = if cfg!(test) { 4 } else { 512 };

/// Maximum number of chunks that others changed and that are read again in a tick: of a column in
/// which much was saved since it was last looked at, there may be all.
const MAX_CHANGED: usize = if cfg!(test) { 8 } else { 1024 };

/// An operation of a guest, or the part of it that is to be applied.
pub(crate) struct AskedOp<'a> {
    pub guest: u64,
    pub account: &'a Arc<str>,
    pub op: &'a EditOp,
    /// What is to be applied, in voxels; `None` for all.
    pub within: Option<Region>,
}

impl AskedOp<'_> {
    /// What is to be changed, in voxels.
    fn region(&self) -> Result<Region, Refusal> {
        let whole = self.op.region().map_err(Refusal::from)?;
        Ok(self.within.map_or(whole, |within| whole.intersect(within)))
    }
}

/// The use of a column that is edited here.
struct ColumnUse {
    /// The last operation that was allowed.
    last: Instant,
    /// Who made the first one; empty if it is held to finish operations that began beside it.
    account: Arc<str>,
}

/// A column that is about to be released: nothing is edited in it any more.
struct ClosingColumn {
    /// It may be released once this many edits are saved.
    edits: u64,
    /// Whether the thread was told to release it.
    is_sent: bool,
}

/// The columns of a world, for the thread of the world.
pub(crate) struct HeldColumns {
    thread: ColumnThread,
    held: BTreeSet<Column>,
    closing: BTreeMap<Column, ClosingColumn>,
    owners: Arc<Owners>,
    /// Chunks that others changed, and that are still to be read again. Before that, nothing is
    /// edited in their column.
    changed: BTreeMap<Column, BTreeSet<ChunkPos>>,
    /// Columns that operations reached: those that are held, and those that are to be claimed.
    used: BTreeMap<Column, ColumnUse>,
    /// Operations that reach into columns of other servers.
    pub borders: Borders,
    looked: Option<Instant>,
    /// [`Host::watched_state`] then.
    watched_state: u64,
}

impl HeldColumns {
    pub fn new(thread: ColumnThread) -> HeldColumns {
        HeldColumns {
            thread,
            held: BTreeSet::new(),
            closing: BTreeMap::new(),
            owners: Arc::default(),
            changed: BTreeMap::new(),
            used: BTreeMap::new(),
            borders: Borders::default(),
            looked: None,
            watched_state: 0,
        }
    }

    pub fn shared(&self) -> &Arc<SharedColumns> {
        &self.thread.shared
    }

    /// Notes which columns are held, and what others changed.
    pub fn take_news(&mut self) {
        let Some(news) = self.shared().take_news() else { return };
        self.closing.retain(|column, _| news.held.contains(column));
        if self.held != news.held {
            // What lies beside them is watched at once.
            self.looked = None;
        }
        self.held = news.held;
        self.borders.take(&self.held, news.records, news.damaged);
        self.owners = news.owners;
        for chunk in news.changed {
            let column = Column::of_voxel(chunk.region().min);
            self.changed.entry(column).or_default().insert(chunk);
        }
    }

    /// Takes chunks that others changed and that are to be read again in this tick: first those of
    /// columns that are held here, in which operations wait for it.
    pub fn take_changed(&mut self) -> Vec<ChunkPos> {
        let mut taken = Vec::new();
        while taken.len() < MAX_CHANGED {
            let held = self.held.iter().find(|column| self.changed.contains_key(column));
            let Some(&column) = held.or_else(|| self.changed.keys().next()) else { break };
            let Some(chunks) = self.changed.get_mut(&column) else { break };
            while taken.len() < MAX_CHANGED
                && let Some(chunk) = chunks.pop_first()
            {
                taken.push(chunk);
            }
            if chunks.is_empty() {
                self.changed.remove(&column);
            }
        }
        taken
    }

    /// The server of a column, if it is another one.
    fn server_of(&self, column: Column) -> Option<&str> {
        other_server(&self.owners, column).filter(|_| !self.held.contains(&column))
    }

    /// The parts that are to be applied here of operations that began elsewhere.
    pub fn due_parts(&mut self) -> Vec<DuePart> {
        let HeldColumns { held, closing, changed, borders, .. } = self;
        let waits = |column| closing.contains_key(&column) || changed.contains_key(&column);
        borders.due(|column| held.contains(&column) && !waits(column))
    }

    /// Whether guests may change a column here now.
    pub fn may_change(&self, column: Column) -> bool {
        self.held.contains(&column)
            && !self.closing.contains_key(&column)
            && !self.changed.contains_key(&column)
    }

    /// Refuses an operation whose middle lies in a column of another server, one that reaches into
    /// such a column and cannot be split, and one in a column of which the record is damaged.
    /// Nothing is claimed.
    pub fn check(&self, asked: &AskedOp<'_>) -> Result<(), Refusal> {
        let region = asked.region()?;
        if region.is_empty() {
            return Ok(());
        }
        let origin = middle_of(region);
        let refused = |what: String| Err(ServerReason::OtherServer.refusal(&what));
        let served_by =
            |server: &str| refused(format!("this part of the world is served by {server}"));
        if let Some(server) = self.server_of(origin) {
            return served_by(server);
        }
        // All columns are checked before any is claimed.
        let is_lost = |column: &Column| {
            self.borders.is_damaged(*column)
                && !self.held.contains(column)
                && self.server_of(*column).is_none()
        };
        if let Some(lost) = Column::touched_by(region).find(is_lost) {
            return refused(format!(
                "{lost} cannot be edited: the record of its borders is damaged; the output of the server says what to do"
            ));
        }
        let Some(server) = Column::touched_by(region).find_map(|column| self.server_of(column))
        else {
            return Ok(());
        };
        if !is_around(origin, region) || BorderOp::new(0, asked.op, region).is_none() {
            return served_by(server);
        }
        match self.borders.backlog(origin, region) {
            Some(Backlog::Behind(column)) => {
                let server = self.server_of(column).unwrap_or("no other server");
                refused(format!("{server}, which serves {column}, is behind; try again"))
            }
            Some(Backlog::Full) => refused(format!(
                "too many operations wait for the columns beside {origin}; try again"
            )),
            None => Ok(()),
        }
    }

    /// Notes that an operation of an account is allowed, and refuses it if it reaches columns that
    /// no server has: they are claimed then. If it reaches into columns of other servers, returns
    /// the part that is to be applied at once.
    pub fn reach(&mut self, asked: &AskedOp<'_>, now: Instant) -> Result<Option<Region>, Refusal> {
        self.check(asked)?;
        let region = asked.region()?;
        let (own, others): (Vec<Column>, Vec<Column>) =
            Column::touched_by(region).partition(|&column| self.server_of(column).is_none());
        self.demand(asked.account, &own, now)?;
        if !own.iter().all(|&column| self.may_change(column)) {
            // It is not to wait for the next look.
            self.looked = None;
            let what = "this part of the world is not served yet; try again";
            return Err(ServerReason::NotServedYet.refusal(what));
        }
        let op = BorderOp::new(0, asked.op, region).filter(|_| !others.is_empty());
        Ok(op.map(|op| self.borders.allow(asked.guest, middle_of(region), op)))
    }

    /// Notes that columns are edited by an account, within the limits.
    fn demand(
        &mut self,
        account: &Arc<str>,
        columns: &[Column],
        now: Instant,
    ) -> Result<(), Refusal> {
        let is_new = |column: &Column| !self.used.contains_key(column);
        let new = columns.iter().filter(|column| is_new(column)).count();
        let of_account = self.used.values().filter(|used| used.account == *account).count();
        if new > 0
            && (of_account + new > MAX_COLUMNS_OF_ACCOUNT || self.used.len() + new > MAX_COLUMNS)
        {
            let what = format!(
                "too many parts of the world are in use; one is free when it was not edited for {} s",
                IDLE_TIME.as_secs()
            );
            return Err(ServerReason::TooManyColumns.refusal(&what));
        }
        for &column in columns {
            let used = self.used.entry(column);
            let used = used.or_insert_with(|| ColumnUse { last: now, account: account.clone() });
            used.last = now;
            if used.account.is_empty() {
                used.account = account.clone();
            }
        }
        Ok(())
    }

    /// Notes operations of guests of which a part was applied, and parts of those of other columns.
    pub fn note_parts(&mut self, begun: &[(u64, Region, Box<EditOp>)], tried: &TriedParts) {
        for (guest, own, op) in begun {
            self.borders.begin(*guest, *own, op);
        }
        let HeldColumns { held, closing, borders, .. } = self;
        borders
            .note_parts(tried, |column| held.contains(&column) && !closing.contains_key(&column));
    }

    /// Keeps columns in which operations wait for others, and claims those that they wait for and
    /// that no server has.
    fn demand_waiting(&mut self, no_account: &Arc<str>, now: Instant) {
        let [origins, targets] = self.borders.waiting();
        let is_unserved = |column: &Column| other_server(&self.owners, *column).is_none();
        let unserved = targets.into_iter().filter(is_unserved);
        for column in origins.into_iter().chain(unserved.collect::<Vec<_>>()) {
            let used = || ColumnUse { last: now, account: no_account.clone() };
            self.used.entry(column).or_insert_with(used).last = now;
        }
    }

    /// Checks at intervals what guests see and edit. `edits` were applied, of which `saved` are
    /// saved.
    pub fn look(&mut self, host: &mut Host, now: Instant, edits: u64, saved: u64) {
        let state = host.watched_state();
        let interval = if state == self.watched_state { LOOK_INTERVAL } else { CHANGE_INTERVAL };
        if self.looked.is_some_and(|looked| now - looked < interval) {
            return;
        }
        self.watched_state = state;
        self.looked = Some(now);
        let [watched, near] = self.seen_columns(host);
        // One that was just claimed has its time, too; the operation that needed it may be long
        // ago.
        let no_account: Arc<str> = Arc::from("");
        for column in self.held.iter().filter(|column| !self.closing.contains_key(column)) {
            let used = || ColumnUse { last: now, account: no_account.clone() };
            self.used.entry(*column).or_insert_with(used);
        }
        self.demand_waiting(&no_account, now);
        let (held, owners) = (&self.held, &self.owners);
        self.used.retain(|column, used| {
            let is_held = held.contains(column);
            let is_edited = is_held && !used.account.is_empty();
            let time = if is_edited { IDLE_TIME } else { DEMAND_TIME };
            now - used.last < time && (is_held || other_server(owners, *column).is_none())
        });
        // What is noted of borders has to be saved, too.
        let [noted, saved_notes] = self.borders.states();
        let released = self.close_idle(host, edits + noted, saved + saved_notes);
        let wanted = self.used.keys().filter(|column| !self.closing.contains_key(column));
        let wanted = wanted.copied().collect();
        self.shared().tell(ColumnOrders { wanted, watched, near }, released);
    }

    /// Closes columns that are not edited any more; returns those that are to be released.
    fn close_idle(&mut self, host: &mut Host, edits: u64, saved: u64) -> Vec<Column> {
        let used = &self.used;
        // Guests that come back in time keep it.
        self.closing.retain(|column, closing| closing.is_sent || !used.contains_key(column));
        for &column in self.held.iter().filter(|column| !used.contains_key(column)) {
            self.closing.entry(column).or_insert_with(|| {
                host.forget_strokes(column.region());
                ClosingColumn { edits, is_sent: false }
            });
        }
        let mut released = Vec::new();
        for (column, closing) in &mut self.closing {
            if !closing.is_sent && saved >= closing.edits {
                closing.is_sent = true;
                released.push(*column);
            }
        }
        released
    }

    /// The columns that guests see, or that lie beside those that are held, and are not held
    /// themselves; and those of them that guests see at mip 0. If guests see too many, the nearest
    /// ones of each.
    fn seen_columns(&self, host: &Host) -> [BTreeSet<Column>; 2] {
        let [mut seen, mut near] = [BTreeSet::new(), BTreeSet::new()];
        let guests = host.guests().iter().map(|&guest| self.seen_by(host, guest));
        let columns_of: Vec<_> = guests.collect();
        let most = columns_of.iter().map(Vec::len).max().unwrap_or(0);
        'all: for rank in 0..most {
            for &(column, is_near) in columns_of.iter().filter_map(|columns| columns.get(rank)) {
                seen.insert(column);
                if is_near && near.len() < MAX_NEAR {
                    near.insert(column);
                }
                if seen.len() == MAX_WATCHED {
                    break 'all;
                }
            }
        }
        // Operations may reach over from there.
        let beside = self.held.iter().flat_map(|&column| neighbours(column));
        seen.extend(beside.filter(|column| !self.held.contains(column)));
        [seen, near]
    }

    /// The columns that a guest sees and that are not held, each with whether it sees it at mip 0.
    /// Those come first, then those that are near where it sees most chunks.
    fn seen_by(&self, host: &Host, guest: u64) -> Vec<(Column, bool)> {
        let mut chunks_of = BTreeMap::<Column, u32>::new();
        for (root, chunks) in host.watched_roots(guest) {
            // A block of the coarsest mip of a shared world lies in one column.
            *chunks_of.entry(Column::of_voxel(root.voxels().min)).or_default() += chunks;
        }
        let home = chunks_of.iter().max_by_key(|(_, chunks)| **chunks);
        let home = home.map_or(Column { x: 0, z: 0 }, |(column, _)| *column);
        let distance = |column: Column| {
            let off = [(column.x, home.x), (column.z, home.z)];
            off.iter().map(|&(a, b)| (i64::from(a) - i64::from(b)).pow(2)).sum::<i64>()
        };
        let seen = chunks_of.into_iter().filter(|(column, _)| !self.held.contains(column));
        let mut seen: Vec<_> = seen.map(|(column, chunks)| (column, chunks > 0)).collect();
        seen.sort_by_key(|&(column, is_near)| (!is_near, distance(column), column));
        seen
    }
}

/// The server of a column, if it is another one, and its lease has not ended.
fn other_server(owners: &Owners, column: Column) -> Option<&str> {
    let owner = owners.get(&column).filter(|owner| owner.is_alive && !owner.is_own);
    owner.map(|owner| owner.server.as_str())
}

#[cfg(test)]
mod tests;
