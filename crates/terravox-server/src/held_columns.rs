//! Which columns of a shared world guests may edit here, and which are to be claimed and released.

use crate::border_record::BorderOp;
use crate::borders::{Borders, DuePart, columns_of, middle_of, neighbours};
use crate::columns::{ColumnOrders, ColumnThread, SharedColumns};
use crate::server_reason::ServerReason;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{Host, Refusal};
use terravox::voxel::{ChunkPos, Region};
use terravox_store::Column;

/// Between two looks at what guests edit; what they see that is new is told at once.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// A column that was not edited for so long is released.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// How long a column is tried to be claimed after an operation that needs it; and after how long one is released that
/// was claimed only to finish operations that began beside it.
const DEMAND_TIME: Duration = Duration::from_secs(5);

/// Columns that are held, or about to be claimed, because one person edited them. An operation reaches up to four.
const MAX_COLUMNS_OF_PERSON: usize = 8;

/// The same of all persons of a server.
const MAX_COLUMNS: usize = 256;

/// That a column is edited here.
struct ColumnUse {
    /// The last operation that was allowed.
    last: Instant,
    /// Who made the first one; empty if it is held to finish operations that began beside it.
    person: Arc<str>,
}

/// A column that is about to be released: nothing is edited in it any more.
struct ClosingColumn {
    /// It may go when so many edits are saved.
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

    /// Notes which columns are held. Returns the chunks that others changed, which have to be read anew before
    /// anything is edited.
    pub fn take_news(&mut self) -> BTreeSet<ChunkPos> {
        let Some(news) = self.shared().take_news() else { return BTreeSet::new() };
        self.closing.retain(|column, _| news.held.contains(column));
        self.held = news.held;
        self.borders.take(&self.held, news.records);
        let others = news.owners.into_values().filter(|owner| owner.is_alive && !owner.is_own);
        self.servers = others.map(|owner| (owner.column, owner.server)).collect();
        news.changed
    }

    /// The server of a column, if it is another one.
    fn server_of(&self, column: Column) -> Option<&str> {
        let server = self.servers.get(&column).filter(|_| !self.held.contains(&column));
        server.map(String::as_str)
    }

    /// Whether guests may change a column here now.
    pub fn may_change(&self, column: Column) -> bool {
        self.held.contains(&column) && !self.closing.contains_key(&column)
    }

    /// Refuses an operation whose middle lies in a column of another server, and one that reaches into such a column
    /// and cannot be split. Nothing is claimed.
    pub fn check(&self, op: &EditOp) -> Result<(), Refusal> {
        let region = op.region().map_err(Refusal::from)?;
        let origin = middle_of(region);
        let served_by = |server: &str| {
            let what = format!("this part of the world is served by {server}");
            Err(ServerReason::OtherServer.refusal(&what))
        };
        if let Some(server) = self.server_of(origin) {
            return served_by(server);
        }
        let Some((beyond, server)) =
            columns_of(region).find_map(|column| Some((column, self.server_of(column)?)))
        else {
            return Ok(());
        };
        let is_beside =
            |column: Column| column == origin || neighbours(origin).any(|n| n == column);
        if !columns_of(region).all(is_beside) || BorderOp::new(1, op).is_none() {
            return served_by(server);
        }
        match self.held.contains(&origin) && !self.borders.has_room(origin) {
            true => {
                let what = format!("{server}, which serves {beyond}, is behind; try again");
                Err(ServerReason::OtherServer.refusal(&what))
            }
            false => Ok(()),
        }
    }

    /// Notes that an operation of a person is allowed, and refuses it if it reaches columns that no server has: they
    /// are claimed then. If it reaches into columns of other servers, returns the part that is to be applied
    /// at once.
    pub fn reach(
        &mut self,
        person: &Arc<str>,
        op: &EditOp,
        now: Instant,
    ) -> Result<Option<Region>, Refusal> {
        self.check(op)?;
        let region = op.region().map_err(Refusal::from)?;
        let (own, others): (Vec<Column>, Vec<Column>) =
            columns_of(region).partition(|&column| self.server_of(column).is_none());
        self.demand(person, &own, now)?;
        if !own.iter().all(|&column| self.may_change(column)) {
            // It is not to wait for the next look.
            self.looked = None;
            let what = "this part of the world is not served yet; try again";
            return Err(ServerReason::OtherServer.refusal(what));
        }
        Ok((!others.is_empty()).then(|| middle_of(region).region()))
    }

    /// Notes that columns are edited by a person, within the limits.
    fn demand(
        &mut self,
        person: &Arc<str>,
        columns: &[Column],
        now: Instant,
    ) -> Result<(), Refusal> {
        let is_new = |column: &Column| !self.used.contains_key(column);
        let new = columns.iter().filter(|column| is_new(column)).count();
        let of_person = self.used.values().filter(|used| used.person == *person).count();
        if new > 0
            && (of_person + new > MAX_COLUMNS_OF_PERSON || self.used.len() + new > MAX_COLUMNS)
        {
            let what = format!(
                "too many parts of the world are in use; one is free when it was not edited for {} s",
                IDLE_TIME.as_secs()
            );
            return Err(ServerReason::TooManyColumns.refusal(&what));
        }
        for &column in columns {
            let used = self.used.entry(column);
            let used = used.or_insert_with(|| ColumnUse { last: now, person: person.clone() });
            used.last = now;
            if used.person.is_empty() {
                used.person = person.clone();
            }
        }
        Ok(())
    }

    /// Notes operations of which the part within a column was applied, and parts of those of other columns.
    pub fn note_parts(&mut self, split: &[(Region, Box<EditOp>)], applied: &[DuePart]) {
        for (within, op) in split {
            self.borders.begin(Column::of_voxel(within.min), op);
        }
        applied.iter().for_each(|part| self.borders.note_applied(part));
        let HeldColumns { held, closing, borders, .. } = self;
        borders.forget_done(|column| held.contains(&column) && !closing.contains_key(&column));
    }

    /// Keeps columns in which operations wait for others, and claims those that they wait for and that no server has.
    fn demand_waiting(&mut self, no_person: &Arc<str>, now: Instant) {
        let [origins, targets] = self.borders.waiting();
        let unserved = targets.into_iter().filter(|column| !self.servers.contains_key(column));
        for column in origins.into_iter().chain(unserved.collect::<Vec<_>>()) {
            let used = || ColumnUse { last: now, person: no_person.clone() };
            self.used.entry(column).or_insert_with(used).last = now;
        }
    }

    /// Looks now and then at what guests see and edit. `edits` were applied, of which `saved` are saved.
    pub fn look(&mut self, host: &mut Host, now: Instant, edits: u64, saved: u64) {
        let [watched, near] = self.seen_columns(host);
        let is_known = watched.is_subset(&self.watched);
        if is_known && self.looked.is_some_and(|looked| now - looked < LOOK_INTERVAL) {
            return;
        }
        self.watched.clone_from(&watched);
        self.looked = Some(now);
        // One that was just claimed has its time, too; the operation that needed it may be long ago.
        let no_person: Arc<str> = Arc::from("");
        for column in self.held.iter().filter(|column| !self.closing.contains_key(column)) {
            let used = || ColumnUse { last: now, person: no_person.clone() };
            self.used.entry(*column).or_insert_with(used);
        }
        self.demand_waiting(&no_person, now);
        let (held, servers) = (&self.held, &self.servers);
        self.used.retain(|column, used| {
            let is_held = held.contains(column);
            let is_edited = is_held && !used.person.is_empty();
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

    /// The columns that guests see, or that lie beside those that are held, and are not held themselves; and those of
    /// them that guests see at mip 0.
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
mod tests {
    use super::*;
    use crate::access::Right;
    use crate::edit_rules::EditRules;
    use std::io;
    use std::sync::Mutex;
    use terravox::edit::EditOp;
    use terravox::replicate::{HostOptions, Verdict};
    use terravox_store::{ColumnChanges, ColumnLeases, ColumnOwner};

    /// A database, as far as columns go.
    #[derive(Clone, Default)]
    struct Leases(Arc<Mutex<LeasesState>>);

    #[derive(Default)]
    struct LeasesState {
        held: BTreeSet<Column>,
        /// Columns of another server.
        others: BTreeSet<Column>,
        claims: usize,
        /// Columns that were asked about.
        asked: BTreeSet<Column>,
    }

    impl ColumnLeases for Leases {
        fn claim(&self, columns: &[Column]) -> io::Result<Vec<Column>> {
            let mut state = self.0.lock().unwrap();
            state.claims += columns.len();
            let free = columns.iter().filter(|column| !state.others.contains(column));
            let free: Vec<Column> = free.copied().collect();
            state.held.extend(&free);
            Ok(free)
        }

        fn release(&self, columns: &[Column]) -> io::Result<()> {
            self.0.lock().unwrap().held.retain(|column| !columns.contains(column));
            Ok(())
        }

        fn owners(&self) -> io::Result<Vec<ColumnOwner>> {
            let state = self.0.lock().unwrap();
            let owner = |&column: &Column, is_own| ColumnOwner {
                column,
                server: "other:1".to_owned(),
                epoch: 1,
                is_alive: true,
                is_own,
            };
            let others = state.others.iter().map(|column| owner(column, false));
            Ok(others.chain(state.held.iter().map(|column| owner(column, true))).collect())
        }

        fn owners_of(&self, columns: &[Column]) -> io::Result<Vec<ColumnOwner>> {
            let is_one = |owner: &ColumnOwner| columns.contains(&owner.column);
            Ok(self.owners()?.into_iter().filter(is_one).collect())
        }

        fn changes(&self, watched: &[Column]) -> io::Result<ColumnChanges> {
            self.0.lock().unwrap().asked.extend(watched);
            Ok(ColumnChanges::default())
        }
    }

    /// A server without guests, whose clock is set by hand.
    struct Served {
        rules: EditRules,
        host: Host,
        leases: Leases,
        now: Instant,
    }

    impl Served {
        fn new(others: &[Column], decide: Option<crate::Decide>) -> Served {
            let leases = Leases::default();
            leases.0.lock().unwrap().others.extend(others);
            let (shared, world) = (Arc::default(), "test".to_owned());
            let info = terravox_store::WorldInfo::default();
            let disk = Arc::new(terravox_store::MemoryDisk::default());
            let store = Arc::new(terravox_store::Store::create_on(disk, "world", &info).unwrap());
            let thread = ColumnThread::start(shared, Box::new(leases.clone()), store, world, || {});
            let columns = Some(HeldColumns::new(thread.unwrap()));
            let rules = EditRules { protected: Vec::new(), decide, columns };
            let host = Host::new(HostOptions { max_mip: 8, ..HostOptions::default() });
            let mut served = Served { rules, host, leases, now: Instant::now() };
            served.pass(Duration::ZERO);
            served
        }

        /// Lets time go by for the columns, and the thread do what it is told.
        fn pass(&mut self, time: Duration) {
            self.now += time + LOOK_INTERVAL;
            let columns = self.rules.columns.as_mut().unwrap();
            columns.look(&mut self.host, self.now, 0, 0);
            std::thread::sleep(2 * Duration::from_millis(100));
            columns.take_news();
            columns.look(&mut self.host, self.now, 0, 0);
        }

        /// Digs in the middle of a column.
        fn dig(&mut self, right: Right, person: &str, column: Column) -> Result<(), Refusal> {
            let [x, z] = [column.x, column.z].map(|v| f64::from(v) * 8192.0 + 4096.0);
            let op = EditOp::dig_ball([x, 0.0, z], 4.0);
            match self.rules.verdict(1, Some(right), &Arc::from(person), &op, self.now) {
                Verdict::Refuse(refusal) => Err(refusal),
                _ => Ok(()),
            }
        }

        fn held(&self) -> usize {
            self.leases.0.lock().unwrap().held.len()
        }
    }

    fn at(x: i32) -> Column {
        Column { x, z: 0 }
    }

    #[test]
    fn columns_are_claimed_for_operations_that_are_allowed_and_for_nothing_else() {
        let refuses_deep: crate::Decide = Box::new(|_, _, op| match op.region() {
            Ok(region) if region.min.x > 3 * 8192 => Verdict::Refuse("not here".into()),
            _ => Verdict::Accept,
        });
        let mut served = Served::new(&[at(1)], Some(refuses_deep));
        // One that may only look, one that the game refuses, one of another server.
        assert!(served.dig(Right::Look, "ada", at(0)).is_err());
        assert!(served.dig(Right::Edit, "ada", at(3)).unwrap_err().reason.contains("not here"));
        let refused = served.dig(Right::Edit, "ada", at(1)).unwrap_err();
        assert!(refused.reason.ends_with("served by other:1"), "{}", refused.reason);
        served.pass(Duration::ZERO);
        assert_eq!(served.leases.0.lock().unwrap().claims, 0);
        assert!(served.dig(Right::Edit, "ada", at(0)).unwrap_err().reason.contains("try again"));
        served.pass(Duration::ZERO);
        assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
        assert_eq!(served.held(), 1);
    }

    #[test]
    fn a_person_and_a_server_have_so_many_columns_and_no_more() {
        let mut served = Served::new(&[], None);
        let most = MAX_COLUMNS_OF_PERSON as i32;
        for x in 0..most + 3 {
            let refused = served.dig(Right::Edit, "ada", at(x)).unwrap_err();
            assert_eq!(refused.reason.contains("too many"), x >= most, "{x}");
        }
        served.pass(Duration::ZERO);
        assert_eq!(served.held(), most as usize);
        for x in most..MAX_COLUMNS as i32 + 3 {
            let refused = served.dig(Right::Edit, &format!("bot {}", x / 8), at(x)).unwrap_err();
            assert_eq!(refused.reason.contains("too many"), x >= MAX_COLUMNS as i32, "{x}");
        }
        served.pass(Duration::ZERO);
        assert_eq!(served.held(), MAX_COLUMNS);
        // Ada goes on at one place: the others are free after their time.
        served.pass(IDLE_TIME / 2);
        assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
        served.pass(IDLE_TIME / 2 + Duration::from_secs(1));
        served.pass(Duration::ZERO);
        assert_eq!(served.held(), 1);
        assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
        assert!(served.dig(Right::Edit, "ada", at(500)).unwrap_err().reason.contains("try again"));
    }

    #[test]
    fn a_column_that_was_claimed_to_finish_an_operation_is_free_soon_after() {
        let mut served = Served::new(&[], None);
        assert!(served.dig(Right::Edit, "ada", at(0)).is_err());
        served.pass(Duration::ZERO);
        assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
        // The server of the column beside it is gone.
        let split = EditOp::dig_ball([1.0, 0.0, 4096.0], 4.0);
        served.rules.note_parts(&[(at(0).region(), Box::new(split))], &[]);
        assert_eq!(served.rules.due_parts().len(), 0);
        served.pass(Duration::ZERO);
        assert_eq!(served.held(), 2);
        let due = served.rules.due_parts();
        assert_eq!(due.iter().map(|part| part.target).collect::<Vec<_>>(), [at(-1)]);
        // It stays until it is done, and what is noted is saved.
        served.pass(DEMAND_TIME);
        served.rules.note_parts(&[], &due);
        served.pass(DEMAND_TIME);
        assert_eq!(served.held(), 2);
        let borders = &mut served.rules.columns.as_mut().unwrap().borders;
        let [state, _] = borders.states();
        borders.note_saved(state);
        served.pass(DEMAND_TIME);
        served.pass(Duration::ZERO);
        assert_eq!(served.held(), 1);
    }

    #[test]
    fn only_what_is_watched_is_asked_about_and_orders_given_while_the_thread_looks_are_seen() {
        let mut served = Served::new(&[at(1), at(2)], None);
        served.pass(Duration::ZERO);
        let shared = served.rules.columns.as_ref().unwrap().shared().clone();
        assert_eq!(served.leases.0.lock().unwrap().asked, BTreeSet::new());
        let watched = BTreeSet::from([at(2)]);
        shared.tell(ColumnOrders { watched, ..ColumnOrders::default() }, Vec::new());
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(served.leases.0.lock().unwrap().asked, BTreeSet::from([at(2)]));
        // The thread is in the database when it is told: it is told all the same.
        for round in 10..20 {
            let busy = served.leases.0.lock().unwrap();
            std::thread::sleep(Duration::from_millis(300));
            let wanted = BTreeSet::from([at(round)]);
            shared.tell(ColumnOrders { wanted, ..ColumnOrders::default() }, Vec::new());
            let told = Instant::now();
            drop(busy);
            while !served.leases.0.lock().unwrap().held.contains(&at(round)) {
                assert!(told.elapsed() < Duration::from_millis(120), "round {round}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
