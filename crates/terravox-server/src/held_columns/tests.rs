//! A server's columns, over a database that is a few sets, with a clock that is set by hand.

use super::*;
use crate::access::Right;
use crate::border_record::{BorderRecord, MAX_WAITING_FOR_ONE};
use crate::edit_rules::{EditAuthor, EditRules};
use crate::world::RunningWorld;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use terravox::edit::EditOp;
use terravox::replicate::{
    Guest, GuestEvent, HostEvent, HostOptions, HostWorld, Interest, LinkKind, Verdict,
};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{GridOptions, UnlistedChunks, VoxelGrid};
use terravox_store::{ColumnChanges, ColumnLeases, ColumnOwner};

/// After this long, something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database, as far as columns go.
#[derive(Clone, Default)]
struct Leases {
    state: Arc<Mutex<LeasesState>>,
    /// Requests that began.
    begun: Arc<AtomicUsize>,
}

#[derive(Default)]
struct LeasesState {
    held: BTreeSet<Column>,
    /// Columns of another server.
    others: BTreeSet<Column>,
    claims: usize,
    /// Requests of those that began that no longer wait for this.
    entered: usize,
    /// Looks of the thread that asked for changes: all that did not fail.
    looks: usize,
    /// Columns that were asked about.
    asked: BTreeSet<Column>,
    /// What others saved, to be told once.
    saved: Vec<ChunkPos>,
    /// Whether the answer to the next claim is lost.
    loses_answer: bool,
}

impl ColumnLeases for Leases {
    fn claim(&self, columns: &[Column]) -> io::Result<Vec<Column>> {
        let mut state = self.enter();
        state.claims += columns.len();
        let free = columns.iter().filter(|column| !state.others.contains(column));
        let free: Vec<Column> = free.copied().collect();
        state.held.extend(&free);
        match std::mem::take(&mut state.loses_answer) && !free.is_empty() {
            true => Err(io::Error::other("the connection is lost")),
            false => Ok(free),
        }
    }

    fn release(&self, columns: &[Column]) -> io::Result<()> {
        self.enter().held.retain(|column| !columns.contains(column));
        Ok(())
    }

    fn owners(&self) -> io::Result<Vec<ColumnOwner>> {
        let state = self.enter();
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
        let mut state = self.enter();
        state.asked.extend(watched);
        state.looks += 1;
        Ok(ColumnChanges { columns: Vec::new(), chunks: std::mem::take(&mut state.saved) })
    }
}

impl Leases {
    fn lock(&self) -> MutexGuard<'_, LeasesState> {
        self.state.lock().unwrap()
    }

    /// Begins a request.
    fn enter(&self) -> MutexGuard<'_, LeasesState> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let mut state = self.lock();
        state.entered += 1;
        state
    }

    /// Lets no request go on, with one that waits.
    fn block_a_request(&self) -> MutexGuard<'_, LeasesState> {
        let (state, begin) = (self.lock(), Instant::now());
        while self.begun.load(Ordering::SeqCst) == state.entered {
            assert!(begin.elapsed() < PATIENCE, "the thread does nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        state
    }

    /// Waits until the thread has looked with all that it was told before, and has told what it
    /// found.
    fn wait_for_a_look(&self) {
        // It may be in the middle of one; the next one has all; when a third has asked, that one is
        // over.
        let enough = self.lock().looks + 3;
        self.wait_until(|state| state.looks >= enough);
    }

    fn wait_until(&self, is_so: impl Fn(&LeasesState) -> bool) {
        let begin = Instant::now();
        while !is_so(&self.lock()) {
            assert!(begin.elapsed() < PATIENCE, "the thread does not do it");
            std::thread::sleep(Duration::from_millis(1));
        }
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
        leases.lock().others.extend(others);
        let (shared, world) = (Arc::default(), "test".to_owned());
        let info = terravox_store::WorldInfo::default();
        let disk = Arc::new(terravox_store::MemoryDisk::default());
        let store = Arc::new(terravox_store::Store::create_on(disk, "world", &info).unwrap());
        let thread = ColumnThread::start(shared, Box::new(leases.clone()), store, world, || {});
        let columns = Some(HeldColumns::new(thread.unwrap()));
        let rules = EditRules {
            protected: Vec::new(),
            decide,
            columns,
            leftover: Borders::default(),
            unsaved_chunks: 0,
            max_unsaved_chunks: 1,
        };
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
        self.leases.wait_for_a_look();
        columns.take_news();
        columns.look(&mut self.host, self.now, 0, 0);
    }

    fn borders(&mut self) -> &mut Borders {
        &mut self.rules.columns.as_mut().unwrap().borders
    }

    /// Decides about an operation of a guest that may edit.
    fn verdict(&mut self, op: &EditOp) -> Verdict {
        self.asked(Right::Edit, "ada", op)
    }

    fn asked(&mut self, right: Right, account: &str, op: &EditOp) -> Verdict {
        let author = EditAuthor { guest: 1, right, name: account };
        self.rules.verdict(author, &Arc::from(account), op, self.now)
    }

    /// Digs in the middle of a column.
    fn dig(&mut self, right: Right, account: &str, column: Column) -> Result<(), Refusal> {
        let [x, z] = [column.x, column.z].map(|v| f64::from(v) * 8192.0 + 4096.0);
        let op = EditOp::dig_ball([x, 0.0, z], 4.0);
        match self.asked(right, account, &op) {
            Verdict::Refuse(refusal) => Err(refusal),
            _ => Ok(()),
        }
    }

    fn held(&self) -> usize {
        self.leases.lock().held.len()
    }
}

fn at(x: i32) -> Column {
    Column { x, z: 0 }
}

#[test]
fn who_has_which_column_is_copied_only_when_it_differs() {
    let mut served = Served::new(&[at(1)], None);
    let shared = served.rules.columns.as_ref().unwrap().shared().clone();
    served.pass(Duration::ZERO);
    let first = shared.owners();
    assert_eq!(first.keys().collect::<Vec<_>>(), [&at(1)]);
    assert!(Arc::ptr_eq(&first, &shared.owners()));
    served.pass(Duration::ZERO);
    assert!(Arc::ptr_eq(&first, &shared.owners()), "nothing is new");
    assert!(served.dig(Right::Edit, "ada", at(0)).is_err());
    served.pass(Duration::ZERO);
    let begin = Instant::now();
    while shared.owners().len() < 2 {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn columns_are_claimed_for_operations_that_are_allowed_and_for_nothing_else() {
    let refuses_deep: crate::Decide = Box::new(|_, op| match op.region() {
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
    assert_eq!(served.leases.lock().claims, 0);
    assert!(served.dig(Right::Edit, "ada", at(0)).unwrap_err().reason.contains("try again"));
    served.pass(Duration::ZERO);
    assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
    assert_eq!(served.held(), 1);
}

#[test]
fn an_account_and_a_server_have_so_many_columns_and_no_more() {
    let mut served = Served::new(&[], None);
    let most = MAX_COLUMNS_OF_ACCOUNT as i32;
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
fn so_many_chunks_are_read_again_in_a_tick_and_their_column_is_edited_after_the_last() {
    let mut served = Served::new(&[], None);
    let chunks = |x: i32, count: i32| (0..count).map(move |z| ChunkPos::new(x * 256, 0, z));
    let all = Vec::from_iter(chunks(-3, 4).chain(chunks(0, 20)));
    served.leases.lock().saved = all.clone();
    assert!(served.dig(Right::Edit, "ada", at(0)).is_err());
    served.pass(Duration::ZERO);
    assert_eq!(served.held(), 1);
    let mut taken = Vec::new();
    for _ in 0..3 {
        let refused = served.dig(Right::Edit, "ada", at(0)).unwrap_err();
        assert!(refused.reason.contains("try again"), "{}", refused.reason);
        let some = served.rules.columns.as_mut().unwrap().take_changed();
        assert_eq!(some.len(), MAX_CHANGED);
        taken.extend(some);
    }
    assert_eq!(taken, Vec::from_iter(chunks(0, 20).chain(chunks(-3, 4))), "what is held first");
    assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
    assert!(served.rules.columns.as_mut().unwrap().take_changed().is_empty());
}

#[test]
fn a_column_that_was_claimed_to_finish_an_operation_is_free_soon_after() {
    let mut served = Served::new(&[], None);
    assert!(served.dig(Right::Edit, "ada", at(0)).is_err());
    served.pass(Duration::ZERO);
    assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
    // The server of the column beside it is gone.
    let split = EditOp::dig_ball([1.0, 0.0, 4096.0], 4.0);
    served.borders().begin_at(at(0), &split);
    assert_eq!(served.rules.due_parts().len(), 0);
    served.pass(Duration::ZERO);
    assert_eq!(served.held(), 2);
    let due = served.rules.due_parts();
    assert_eq!(due.iter().map(|part| part.target).collect::<Vec<_>>(), [at(-1)]);
    // It stays until it is done, and what is noted is saved.
    served.pass(DEMAND_TIME);
    // They may be applied: a panic now must not save them without the note of it.
    assert!(served.rules.lacks_notes());
    served.rules.note_parts(&[], &TriedParts::done(due));
    assert!(!served.rules.lacks_notes());
    served.pass(DEMAND_TIME);
    assert_eq!(served.held(), 2);
    let [state, _] = served.borders().states();
    served.borders().note_saved(state);
    served.pass(DEMAND_TIME);
    served.pass(Duration::ZERO);
    assert_eq!(served.held(), 1);
}

#[test]
fn only_what_is_watched_is_asked_about_and_orders_given_while_the_thread_looks_are_seen() {
    let mut served = Served::new(&[at(1), at(2)], None);
    served.pass(Duration::ZERO);
    let shared = served.rules.columns.as_ref().unwrap().shared().clone();
    assert_eq!(served.leases.lock().asked, BTreeSet::new());
    let watched = BTreeSet::from([at(2)]);
    shared.tell(ColumnOrders { watched, ..ColumnOrders::default() }, Vec::new());
    served.leases.wait_for_a_look();
    assert_eq!(served.leases.lock().asked, BTreeSet::from([at(2)]));
    // The thread is in the database when it is told: it is told all the same.
    let times = (10..20).map(|round| {
        let busy = served.leases.block_a_request();
        let wanted = BTreeSet::from([at(round)]);
        shared.tell(ColumnOrders { wanted, ..ColumnOrders::default() }, Vec::new());
        let told = Instant::now();
        drop(busy);
        served.leases.wait_until(|state| state.held.contains(&at(round)));
        told.elapsed()
    });
    // Half of what is between two looks: if it waited for the next one, it would wait each time,
    // but a machine that is busy does not stand still each time.
    let fastest = times.min().unwrap();
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
}

#[test]
fn a_database_that_does_not_answer_is_a_problem_before_it_is_given_up() {
    let served = Served::new(&[], None);
    let shared = served.rules.columns.as_ref().unwrap().shared().clone();
    let disk = Arc::new(terravox_store::MemoryDisk::default());
    let info = terravox_store::WorldInfo::default();
    let store = Arc::new(terravox_store::Store::create_on(disk, "world", &info).unwrap());
    let world = RunningWorld::new("test".to_owned(), store, 0, Some(shared.clone()));
    let problem = |seconds| {
        let now = Instant::now() + Duration::from_secs(seconds);
        crate::http::health_problem(&world, now)
    };
    // One look follows another, and the database has answered each.
    served.leases.wait_for_a_look();
    assert_eq!(problem(0), None);
    let database = served.leases.block_a_request();
    assert_eq!(problem(0), None);
    let told = problem(11).expect("it has not answered for 10 s");
    assert!(told.contains("could not be read for 1"), "{told}");
    drop(database);
    let begin = Instant::now();
    while shared.is_silent_since().is_some() {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

/// A guest that has started, with its number, and what carries its packets.
fn join(host: &mut Host) -> (u64, Guest) {
    let mut guest = Guest::new(LinkKind::Reliable, b"");
    let number = host.connect(LinkKind::Reliable);
    for step in 0..4 {
        carry(host, number, &mut guest, step);
        guest.update(|_| {}).unwrap();
        if guest.events().any(|event| matches!(event, GuestEvent::Welcome { .. })) {
            guest.start(true);
        }
    }
    (number, guest)
}

/// Lets a tick of a host pass.
fn carry(host: &mut Host, number: u64, guest: &mut Guest, now_us: u64) {
    let mut packet = Vec::new();
    while guest.transmit(now_us, &mut packet) {
        host.receive(number, &packet, now_us).unwrap();
    }
    let unlisted = UnlistedChunks::Unknown;
    let ground = |_: &mut FillRequest<'_>| {};
    let mut world = HostWorld {
        grid: &mut VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() }),
        placement: Placement::default(),
        ground: &ground,
        generated: &ground,
        prefetch: &|_| true,
        decide: &mut |_, _| Verdict::Accept,
    };
    host.tick(&mut world, now_us);
    for event in host.events() {
        if let HostEvent::Joining { guest, .. } = event {
            host.admit(guest, &world);
        }
    }
    while host.transmit(number, now_us, &mut packet) {
        guest.receive(&packet, now_us).unwrap();
    }
}

#[test]
fn of_the_columns_that_guests_see_the_nearest_of_each_are_watched() {
    let mut served = Served::new(&[], None);
    let interest = Interest { view_voxels: 5.0 * 8192.0, near_voxels: 8.0, ..Interest::default() };
    let eyes = [[4000.0, 8.0, 4000.0], [100.0 * 8192.0 + 4000.0, 8.0, 4000.0]];
    for eye in eyes {
        let (number, mut guest) = join(&mut served.host);
        guest.watch(&[eye], &interest);
        for step in 4..60 {
            carry(&mut served.host, number, &mut guest, step * 100_000);
        }
        assert!(served.host.watched_roots(number).count() > 400);
    }
    let columns = served.rules.columns.as_mut().unwrap();
    let [watched, near] = columns.seen_columns(&served.host);
    assert_eq!(watched.len(), MAX_WATCHED);
    // Half of them for each guest.
    for home in [at(0), at(100)] {
        let away = |column: &Column| (column.x - home.x).pow(2) + (column.z - home.z).pow(2);
        assert!(near.contains(&home));
        let own: Vec<_> = watched.iter().map(away).filter(|&away| away < 50).collect();
        assert_eq!(own.len(), MAX_WATCHED / 2);
        assert!(own.iter().all(|&away| away <= 10), "{own:?}");
    }
    // What they see is looked at when it differs, and now and then.
    let now = served.now + LOOK_INTERVAL;
    columns.look(&mut served.host, now, 0, 0);
    let looked = |columns: &HeldColumns| columns.looked;
    columns.look(&mut served.host, now + LOOK_INTERVAL / 2, 0, 0);
    assert_eq!(looked(columns), Some(now), "nothing is new");
    let gone = served.host.guests()[0];
    served.host.disconnect(gone, "it leaves");
    columns.look(&mut served.host, now + CHANGE_INTERVAL, 0, 0);
    assert_eq!(looked(columns), Some(now + CHANGE_INTERVAL));
    columns.look(&mut served.host, now + CHANGE_INTERVAL + LOOK_INTERVAL, 0, 0);
    assert_eq!(looked(columns), Some(now + CHANGE_INTERVAL + LOOK_INTERVAL));
}

/// Over the border of columns -1 and 0, with its middle in the latter.
fn over_the_border() -> EditOp {
    EditOp::dig_ball([1.0, 0.0, 4096.0], 4.0)
}

/// A server that has column 0; another one has column -1.
fn beside_another(decide: Option<crate::Decide>) -> Served {
    let mut served = Served::new(&[at(-1)], decide);
    assert!(served.dig(Right::Edit, "ada", at(0)).is_err());
    served.pass(Duration::ZERO);
    assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
    served
}

#[test]
fn a_tick_begins_no_more_operations_over_a_border_than_may_wait() {
    let mut served = beside_another(None);
    let within = at(0).region().intersect(over_the_border().region().unwrap());
    let mut begun = Vec::new();
    for _ in 0..MAX_WAITING_FOR_ONE + 50 {
        match served.verdict(&over_the_border()) {
            Verdict::Part(op, part) => begun.push((1, part, op)),
            Verdict::Refuse(refusal) => assert!(refusal.reason.contains("behind"), "{refusal:?}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(begun.len(), MAX_WAITING_FOR_ONE);
    assert!(begun.iter().all(|(_, part, _)| *part == within));
    // Two of them failed: their room is free in the next tick.
    assert!(served.rules.lacks_notes());
    served.rules.note_parts(&begun[2..], &TriedParts::default());
    assert!(!served.rules.lacks_notes());
    let taken = (0..9).filter(|_| matches!(served.verdict(&over_the_border()), Verdict::Part(..)));
    assert_eq!(taken.count(), 2);
    let (_, data) = served.borders().to_save();
    let record = BorderRecord::from_bytes(at(0), data[0].1.as_deref().unwrap()).unwrap();
    assert_eq!(record.waiting.len(), MAX_WAITING_FOR_ONE - 2);
}

#[test]
fn a_part_that_a_game_lets_through_is_within_what_borders_allow() {
    let above = |y| Region::new([-99999, y, -99999], [99999; 3]);
    let upper: crate::Decide = Box::new(move |_, op| match op.region() {
        // Nothing of what is deep down.
        Ok(region) => Verdict::Part(Box::new(op.clone()), above(0.max(region.min.y + 4))),
        Err(_) => Verdict::Accept,
    });
    let mut served = beside_another(Some(upper));
    let op = over_the_border();
    let part = op.region().unwrap().intersect(above(0)).intersect(at(0).region());
    assert_eq!(served.verdict(&op), Verdict::Part(Box::new(op.clone()), part));
    // It is noted with that part; one that reaches over no border is not noted.
    let home = EditOp::dig_ball([40.0, 0.0, 4096.0], 4.0);
    let Verdict::Part(_, within) = served.verdict(&home) else { panic!("a part") };
    let begun = [(1, part, Box::new(op.clone())), (1, within, Box::new(home))];
    served.rules.note_parts(&begun, &TriedParts::default());
    let (_, data) = served.borders().to_save();
    let record = BorderRecord::from_bytes(at(0), data[0].1.as_deref().unwrap()).unwrap();
    assert_eq!(record.waiting.len(), 1);
    assert_eq!(record.waiting[0].region, op.region().unwrap().intersect(above(0)));
    // Nothing of it is allowed: then nothing is claimed, either.
    let claims = served.leases.lock().claims;
    let far = EditOp::dig_ball([20.0 * 8192.0, -50.0, 4096.0], 4.0);
    assert!(matches!(served.verdict(&far), Verdict::Part(_, within) if within.max.y > 0));
    served.pass(Duration::ZERO);
    assert_eq!(served.leases.lock().claims, claims);
}

#[test]
fn a_column_whose_claim_had_no_answer_is_claimed_again_or_given_back() {
    let mut served = Served::new(&[], None);
    let lose = |served: &mut Served| {
        served.leases.lock().loses_answer = true;
        assert!(served.dig(Right::Edit, "ada", at(0)).is_err());
        served.pass(Duration::ZERO);
        assert!(!served.leases.lock().loses_answer);
    };
    // It is still wanted.
    lose(&mut served);
    served.pass(Duration::ZERO);
    assert_eq!(served.dig(Right::Edit, "ada", at(0)), Ok(()));
    // It is not wanted any more.
    served.pass(IDLE_TIME);
    served.pass(Duration::ZERO);
    assert_eq!(served.held(), 0);
    let (shared, begin) = (served.rules.columns.as_ref().unwrap().shared().clone(), Instant::now());
    served.leases.lock().loses_answer = true;
    let wanted = BTreeSet::from([at(0)]);
    shared.tell(ColumnOrders { wanted, ..ColumnOrders::default() }, Vec::new());
    while served.held() == 0 {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    shared.tell(ColumnOrders::default(), Vec::new());
    while served.held() > 0 {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
}
