//! Which columns of a shared world guests may edit here, and which are to be claimed and released.

use crate::border_record::{BorderOp, is_around};
use crate::borders::{Backlog, Borders, DuePart, TriedParts, columns_of, middle_of, neighbours};
use crate::columns::{ColumnOrders, ColumnThread, SharedColumns};
use crate::server_reason::ServerReason;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{Host, Refusal};
use terravox::voxel::{ChunkPos, Region};
use terravox_store::Column;

/// Interval at which edits of guests are checked; columns that they newly see are reported at once.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

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
    /// The servers of the others.
    servers: BTreeMap<Column, String>,
    /// Columns that operations reached: those that are held, and those that are to be claimed.
    used: BTreeMap<Column, ColumnUse>,
    /// Operations that reach into columns of other servers.
    pub borders: Borders,
    looked: Option<Instant>,
    /// Columns of others that were watched then.
    watched: BTreeSet<Column>,
}

impl HeldColumns {
    pub fn new(thread: ColumnThread) -> HeldColumns {
        HeldColumns {
            thread,
            held: BTreeSet::new(),
            closing: BTreeMap::new(),
            servers: BTreeMap::new(),
            used: BTreeMap::new(),
            borders: Borders::default(),
            looked: None,
            watched: BTreeSet::new(),
        }
    }

    pub fn shared(&self) -> &Arc<SharedColumns> {
        &self.thread.shared
    }

    /// Notes which columns are held. Returns the chunks that others changed, which must be read
    /// again before anything is edited.
    pub fn take_news(&mut self) -> BTreeSet<ChunkPos> {
        let Some(news) = self.shared().take_news() else { return BTreeSet::new() };
        self.closing.retain(|column, _| news.held.contains(column));
        self.held = news.held;
        self.borders.take(&self.held, news.records, news.damaged);
        let others = news.owners.into_values().filter(|owner| owner.is_alive && !owner.is_own);
        self.servers = others.map(|owner| (owner.column, owner.server)).collect();
        news.changed
    }

    /// The server of a column, if it is another one.
    fn server_of(&self, column: Column) -> Option<&str> {
        let server = self.servers.get(&column).filter(|_| !self.held.contains(&column));
        server.map(String::as_str)
    }

    /// The parts that are to be applied here of operations that began elsewhere.
    pub fn due_parts(&mut self) -> Vec<DuePart> {
        let HeldColumns { held, closing, borders, .. } = self;
        borders.due(|column| held.contains(&column) && !closing.contains_key(&column))
    }

    /// Whether guests may change a column here now.
    pub fn may_change(&self, column: Column) -> bool {
        self.held.contains(&column) && !self.closing.contains_key(&column)
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
        if let Some(lost) = columns_of(region).find(is_lost) {
            return refused(format!(
                "{lost} cannot be edited: the record of its borders is damaged; the output of the server says what to do"
            ));
        }
        let Some(server) = columns_of(region).find_map(|column| self.server_of(column)) else {
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
            columns_of(region).partition(|&column| self.server_of(column).is_none());
        self.demand(asked.account, &own, now)?;
        if !own.iter().all(|&column| self.may_change(column)) {
            // It is not to wait for the next look.
            self.looked = None;
            let what = "this part of the world is not served yet; try again";
            return Err(ServerReason::OtherServer.refusal(what));
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
        let unserved = targets.into_iter().filter(|column| !self.servers.contains_key(column));
        for column in origins.into_iter().chain(unserved.collect::<Vec<_>>()) {
            let used = || ColumnUse { last: now, account: no_account.clone() };
            self.used.entry(column).or_insert_with(used).last = now;
        }
    }

    /// Checks at intervals what guests see and edit. `edits` were applied, of which `saved` are
    /// saved.
    pub fn look(&mut self, host: &mut Host, now: Instant, edits: u64, saved: u64) {
        let [watched, near] = self.seen_columns(host);
        let is_known = watched.is_subset(&self.watched);
        if is_known && self.looked.is_some_and(|looked| now - looked < LOOK_INTERVAL) {
            return;
        }
        self.watched.clone_from(&watched);
        self.looked = Some(now);
        // One that was just claimed has its time, too; the operation that needed it may be long
        // ago.
        let no_account: Arc<str> = Arc::from("");
        for column in self.held.iter().filter(|column| !self.closing.contains_key(column)) {
            let used = || ColumnUse { last: now, account: no_account.clone() };
            self.used.entry(*column).or_insert_with(used);
        }
        self.demand_waiting(&no_account, now);
        let (held, servers) = (&self.held, &self.servers);
        self.used.retain(|column, used| {
            let is_held = held.contains(column);
            let is_edited = is_held && !used.account.is_empty();
            let time = if is_edited { IDLE_TIME } else { DEMAND_TIME };
            now - used.last < time && (is_held || !servers.contains_key(column))
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
    /// themselves; and those of them that guests see at mip 0.
    fn seen_columns(&self, host: &Host) -> [BTreeSet<Column>; 2] {
        let [mut watched, mut near] = [BTreeSet::new(), BTreeSet::new()];
        // Operations may reach over from there.
        let beside = self.held.iter().flat_map(|&column| neighbours(column));
        watched.extend(beside.filter(|column| !self.held.contains(column)));
        for &guest in host.guests() {
            for (root, chunks) in host.watched_roots(guest) {
                // A block of the coarsest mip of a shared world lies in one column.
                let column = Column::of_voxel(root.voxels().min);
                if !self.held.contains(&column) {
                    watched.insert(column);
                    if chunks > 0 {
                        near.insert(column);
                    }
                }
            }
        }
        [watched, near]
    }
}

#[cfg(test)]
mod tests;
