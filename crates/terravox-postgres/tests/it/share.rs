//! Several servers on one world: each writes its columns, and what another one has taken it writes
//! no more.

use crate::all_stores::{Numbers, empty_grid, records_of, twin};
use crate::proxy::{Accident, Proxy};
use crate::server::Server;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};
use terravox::edit::{EditOp, Editor};
use terravox::terrain::UnsavedChanges;
use terravox::voxel::VoxelGrid;
use terravox_postgres::{Postgres, PostgresOptions, WorldShare};
use terravox_store::{Column, ColumnChanges, ColumnLeases, Store, StoreError, WorldInfo};

/// Times that a column is taken from a server that is writing.
const TAKEOVERS: u64 = 200;

/// Where the child finds its world.
const CHILD_ADDRESS: &str = "TERRAVOX_SHARE_CHILD";

/// Servers on a busy machine renew it in time.
const LEASE: Duration = Duration::from_millis(1500);

fn options() -> PostgresOptions {
    PostgresOptions { lease: LEASE, ..PostgresOptions::default() }
}

fn column(x: i32, z: i32) -> Column {
    Column { x, z }
}

/// Digs or fills near a border of a column, on its side, at any height.
fn edit_in(grid: &mut VoxelGrid, column: Column, numbers: &mut Numbers) {
    let region = column.region();
    let radius = 2 + numbers.below(18) as i32;
    let mut near = |low: i32, high: i32| match numbers.below(2) {
        0 => low + radius + numbers.below(40) as i32,
        _ => high - radius - numbers.below(40) as i32,
    };
    let x = near(region.min.x, region.max.x);
    let z = near(region.min.z, region.max.z);
    let y = numbers.below(120) as i32 - 60;
    let centre = [x, y, z].map(f64::from);
    let op = match numbers.below(3) {
        0 => EditOp::dig_ball(centre, f64::from(radius)),
        _ => EditOp::fill_ball(2 + numbers.below(12) as u8, centre, f64::from(radius)),
    };
    Editor::default().apply(grid, &op, None).unwrap();
}

/// Saves what is unsaved, with the number of this state in the column.
fn save(store: &Store, grid: &mut VoxelGrid, column: Column, state: u64) -> Result<(), StoreError> {
    let unsaved = UnsavedChanges::from(grid.unsaved());
    let unsaved = unsaved.with_data(column.data_name("state"), state.to_le_bytes());
    store.save(&unsaved, |_| {})?;
    grid.mark_saved(&unsaved.chunks);
    Ok(())
}

fn state_of(store: &Store, column: Column) -> u64 {
    let bytes = store.extra(&column.data_name("state")).unwrap();
    bytes.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Edits and saves until that fails; sends the numbers of the states that were acknowledged.
fn write_on(store: &Store, column: Column, seed: u64, acknowledged: &Sender<u64>) -> StoreError {
    let (mut grid, mut numbers) = (empty_grid(&store.info()), Numbers(seed));
    for state in seed.. {
        edit_in(&mut grid, column, &mut numbers);
        match save(store, &mut grid, column, state) {
            Ok(()) => acknowledged.send(state).unwrap(),
            Err(error) => return error,
        }
    }
    unreachable!("the numbers do not end")
}

/// Claims until no other server has the column.
fn claim_patiently(share: &WorldShare, column: Column) -> Duration {
    let begin = Instant::now();
    while share.claim(&[column]).unwrap().is_empty() {
        assert!(begin.elapsed() < LEASE * 40, "{column} is never free");
        std::thread::sleep(LEASE / 40);
    }
    begin.elapsed()
}

fn new_world(server: &Server, name: &str) -> String {
    let address = server.address(name);
    drop(Postgres::create(&address, &WorldInfo::default(), &options()).unwrap());
    address
}

/// Ends the lease of the servers whose addresses begin with a text, as if they had stood still for
/// so long.
fn end_lease(server: &Server, who: &str) {
    server.sql(&format!(
        "update terravox_servers set until = now() - interval '1 second' where address like '{who}%'"
    ));
}

#[test]
fn servers_that_write_at_once_make_the_world_that_one_makes_slow() {
    let Some(server) = Server::start("shared") else { return };
    let server = server.run();
    let address = new_world(&server, "shared");
    let columns = [column(0, 0), column(-1, 0), column(-1, -1), column(0, -1)];
    let begin = Barrier::new(columns.len());
    std::thread::scope(|scope| {
        for (i, column) in columns.into_iter().enumerate() {
            let (address, begin) = (&address, &begin);
            scope.spawn(move || {
                let name = format!("server-{i}:4077");
                let (store, share) = Postgres::share(address, &options(), &name).unwrap();
                assert_eq!(share.claim(&[column]).unwrap(), [column]);
                begin.wait();
                let (mut grid, mut numbers) = (empty_grid(&store.info()), Numbers(i as u64));
                for state in 1..=40 {
                    edit_in(&mut grid, column, &mut numbers);
                    save(&store, &mut grid, column, state).unwrap();
                }
            });
        }
    });
    let (alone, mut grid) = (twin(&WorldInfo::default()), empty_grid(&WorldInfo::default()));
    for (i, column) in columns.into_iter().enumerate() {
        let mut numbers = Numbers(i as u64);
        for state in 1..=40 {
            edit_in(&mut grid, column, &mut numbers);
            save(&alone, &mut grid, column, state).unwrap();
        }
    }
    // All have left, so one may have the whole world.
    let store = Postgres::open(&address, &options()).unwrap();
    assert!(records_of(&store) == records_of(&alone));
    assert_eq!(store.load().unwrap().grid.digest().unwrap(), grid.digest().unwrap());
    assert_eq!(store.verify().unwrap().bad, []);
}

#[test]
fn a_column_has_one_server_and_is_free_when_that_gives_it_up_or_its_lease_ends() {
    let Some(server) = Server::start("columns") else { return };
    let server = server.run();
    let address = new_world(&server, "columns");
    let (first, first_share) = Postgres::share(&address, &options(), "first:1").unwrap();
    let (second, second_share) = Postgres::share(&address, &options(), "second:2").unwrap();
    let (a, b) = (column(0, 0), column(7, -3));
    assert_eq!(first_share.claim(&[a, b]).unwrap(), [a, b]);
    assert_eq!(first_share.claim(&[a]).unwrap(), [a], "again");
    assert_eq!(second_share.claim(&[a, b]).unwrap(), []);
    // A lease that is renewed does not end.
    std::thread::sleep(LEASE * 2);
    assert_eq!(second_share.claim(&[b]).unwrap(), []);
    let mut grid = empty_grid(&first.info());
    edit_in(&mut grid, a, &mut Numbers(1));
    let error = save(&second, &mut grid, a, 1).unwrap_err().to_string();
    assert!(error.contains("column 0, 0 was not claimed here"), "{error}");
    save(&first, &mut grid, a, 2).unwrap();
    let owners = || {
        let owners = second_share.owners().unwrap();
        BTreeMap::from_iter(owners.into_iter().map(|o| (o.column, (o.server, o.epoch))))
    };
    let before = owners();
    first_share.release(&[b]).unwrap();
    assert_eq!(second_share.claim(&[a, b]).unwrap(), [b], "at once");
    let after = owners();
    assert_eq!((&*before[&a].0, &*before[&b].0), ("first:1", "first:1"));
    assert_eq!((&after[&a], &*after[&b].0), (&before[&a], "second:2"));
    assert!(after[&b].1 > before[&b].1, "another epoch: {before:?}, {after:?}");
    // What belongs to the world stays as it is, and a server that gave a column up goes on.
    let error = first.set_extra("note", Some(b"1")).unwrap_err().to_string();
    assert!(error.contains("that several servers share"), "{error}");
    save(&first, &mut grid, a, 3).unwrap();
    first.check_writer().unwrap();
    drop(first);
    let waited = claim_patiently(&second_share, a);
    assert!(waited < LEASE / 2, "a server that leaves gives its columns up: {waited:?}");
    assert_eq!(state_of(&second, a), 3);
    assert!(first_share.claim(&[a]).unwrap_err().to_string().contains("closed"));
}

#[test]
fn of_servers_that_claim_a_column_at_once_one_gets_it_slow() {
    let Some(server) = Server::start("claims") else { return };
    let server = server.run();
    let address = new_world(&server, "claims");
    let servers: Vec<_> = (0..4)
        .map(|i| Postgres::share(&address, &options(), &format!("server-{i}:1")).unwrap())
        .collect();
    for round in 0..60 {
        let (contested, begin) = (column(round, -round), Barrier::new(servers.len()));
        let got = std::thread::scope(|scope| {
            let claim = |share: &WorldShare| {
                begin.wait();
                share.claim(&[contested]).unwrap().len()
            };
            let claims: Vec<_> =
                servers.iter().map(|(_, share)| scope.spawn(move || claim(share))).collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).sum::<usize>()
        });
        assert_eq!(got, 1, "round {round}");
    }
    assert!(servers.iter().all(|(store, _)| store.check_writer().is_ok()));
}

#[test]
fn a_server_whose_column_was_taken_writes_nothing_slow() {
    let Some(server) = Server::start("taken") else { return };
    let server = server.run();
    let address = new_world(&server, "taken");
    let (home, mut numbers) = (column(0, 0), Numbers(5));
    let (mut stale_writes, mut acknowledged_total) = (0, 0);
    let open =
        |round: u64| Postgres::share(&address, &options(), &format!("round-{round}:1")).unwrap();
    let mut old = open(0);
    claim_patiently(&old.1, home);
    for round in 1..=TAKEOVERS {
        let (sender, acknowledged) = mpsc::channel();
        let (store, share) = old;
        let writing = std::thread::spawn(move || {
            let error = write_on(&store, home, round << 32, &sender);
            // It never comes back, not with another column either.
            let late = store.set_extra(&column(5, 5).data_name("late"), Some(b"write"));
            assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
            drop((store, share));
            error
        });
        // Each second time it has saved once before, however busy this machine is.
        let first = (round % 2 == 0).then(|| acknowledged.recv().unwrap());
        std::thread::sleep(Duration::from_micros(numbers.below(12_000)));
        let new = open(round);
        let before = format!("round-{}:", round - 1);
        while new.1.claim(&[home]).unwrap().is_empty() {
            // It renews its lease while it writes.
            end_lease(&server, &before);
        }
        let state = state_of(&new.0, home);
        let error = writing.join().unwrap();
        assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
        assert!(error.to_string().contains("took"), "{error}");
        let last = acknowledged.iter().last().or(first);
        acknowledged_total += u64::from(last.is_some());
        if let Some(last) = last {
            assert!(state >= last, "{state} is older than {last}, which was acknowledged");
        }
        stale_writes += u64::from(state_of(&new.0, home) != state);
        old = new;
    }
    assert_eq!(stale_writes, 0);
    assert!(acknowledged_total > TAKEOVERS / 4, "they do write: {acknowledged_total}");
    eprintln!("{TAKEOVERS} takeovers of a column, {stale_writes} stale writes");
}

#[test]
fn a_world_has_one_writer_or_is_shared() {
    let Some(server) = Server::start("whole") else { return };
    let server = server.run();
    let address = new_world(&server, "whole");
    let whole = Postgres::open(&address, &options()).unwrap();
    let refused = Postgres::share(&address, &options(), "a:1").err().expect("one has it");
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    let mut grid = empty_grid(&whole.info());
    edit_in(&mut grid, column(0, 0), &mut Numbers(2));
    save(&whole, &mut grid, column(0, 0), 1).unwrap();
    drop(whole);
    let (shared, share) = Postgres::share(&address, &options(), "a:1").unwrap();
    assert_eq!(share.claim(&[column(0, 0)]).unwrap().len(), 1);
    std::thread::sleep(LEASE * 2);
    let refused = Postgres::open(&address, &options()).err().expect("it is shared").to_string();
    assert!(refused.contains("written by several servers"), "{refused}");
    assert!(refused.contains("(serve --share HOST:PORT joins them)"), "{refused}");
    edit_in(&mut grid, column(0, 0), &mut Numbers(3));
    save(&shared, &mut grid, column(0, 0), 2).unwrap();
    // One that takes the world over fences all servers that share it.
    let takes_over = PostgresOptions { takes_over: true, ..options() };
    let whole = Postgres::open(&address, &takes_over).unwrap();
    whole.set_extra("mine", Some(b"1")).unwrap();
    edit_in(&mut grid, column(0, 0), &mut Numbers(4));
    let error = save(&shared, &mut grid, column(0, 0), 3).unwrap_err();
    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
    assert_eq!(state_of(&whole, column(0, 0)), 2);
    // It says so without a save, too.
    assert!(share.claim(&[column(3, 3)]).unwrap_err().to_string().contains("took the world over"));
    save(&whole, &mut grid, column(0, 0), 4).unwrap();
    drop((shared, share));
    save(&whole, &mut grid, column(0, 0), 5).unwrap();
}

#[test]
fn two_servers_with_one_address_are_a_mistake_and_one_that_starts_again_is_not() {
    let Some(server) = Server::start("namesake") else { return };
    let server = server.run();
    let address = new_world(&server, "namesake");
    let (first, share) = Postgres::share(&address, &options(), "same:1").unwrap();
    let second =
        Postgres::share(&address, &options(), "same:1").err().expect("one has the address");
    assert!(matches!(second, StoreError::InUse { .. }), "{second}");
    assert!(second.to_string().contains("under this address, same:1"), "{second}");
    first.check_writer().unwrap();
    assert_eq!(share.claim(&[column(0, 0)]).unwrap().len(), 1);
    // As if it had been killed: its row is there, and it is not renewed.
    let begin = Instant::now();
    server.sql(
        "insert into terravox_servers
        select world, 'address again:1', 'dead', clock_timestamp() + interval '500 ms'
        from terravox_servers where address = 'same:1'",
    );
    let (_again, _) = Postgres::share(&address, &options(), "again:1").unwrap();
    assert!(begin.elapsed() > LEASE / 4);
    for wrong in [String::new(), "x".repeat(256)] {
        let refused = Postgres::share(&address, &options(), &wrong).err().expect("no address");
        assert!(refused.to_string().contains("it may have 1 to 255"), "{refused}");
    }
}

#[test]
fn a_server_that_was_cut_off_learns_it_by_itself() {
    let Some(server) = Server::start("learns") else { return };
    let server = server.run();
    let address = new_world(&server, "learns");
    let (old, old_share) = Postgres::share(&address, &options(), "old:1").unwrap();
    old_share.claim(&[column(0, 0)]).unwrap();
    let (_new, new_share) = Postgres::share(&address, &options(), "new:1").unwrap();
    while new_share.claim(&[column(0, 0)]).unwrap().is_empty() {
        end_lease(&server, "old:");
    }
    let begin = Instant::now();
    while old.check_writer().is_ok() {
        assert!(begin.elapsed() < LEASE * 20);
        std::thread::sleep(LEASE / 20);
    }
    let error = old.check_writer().unwrap_err().to_string();
    assert!(error.contains("took the world or a column of it over"), "{error}");
}

#[test]
fn a_commit_of_a_shared_world_is_made_once_whatever_becomes_of_its_answer_slow() {
    let Some(server) = Server::start("share-lost") else { return };
    let server = server.run();
    let address = new_world(&server, "lost");
    let proxy = Proxy::start(server.port());
    let patient = PostgresOptions {
        answer_time: Duration::from_millis(600),
        lease: Duration::from_secs(20),
        ..options()
    };
    let through = server.address_at(proxy.port, "lost");
    let (store, share) = Postgres::share(&through, &patient, "a:1").unwrap();
    let home = column(0, 0);
    share.claim(&[home]).unwrap();
    let follower = Postgres::follow(&address, &patient).unwrap();
    let commits = || follower.log_after(home.zone().unwrap(), 0).unwrap();
    let (mut grid, mut numbers) = (empty_grid(&store.info()), Numbers(8));
    save(&store, &mut grid, home, 1).unwrap();
    for state in 2..22 {
        let accident = match numbers.below(5) {
            0 | 1 => Accident::CutAfter,
            2 | 3 => Accident::CutBefore,
            _ => Accident::Delay(Duration::from_millis(900)),
        };
        proxy.arrange(accident);
        edit_in(&mut grid, home, &mut numbers);
        save(&store, &mut grid, home, state).unwrap_or_else(|e| panic!("{accident:?}: {e}"));
        assert!(!proxy.is_armed(), "the accident happened");
        assert_eq!(state_of(&store, home), state);
        assert_eq!(commits().len() as u64, state, "{accident:?} is one commit");
    }
    assert_eq!(store.load().unwrap().grid.digest().unwrap(), grid.digest().unwrap());
}

#[test]
fn a_server_learns_what_others_saved_and_nothing_of_its_own() {
    let Some(server) = Server::start("news") else { return };
    let server = server.run();
    let address = new_world(&server, "news");
    let (home, other) = (column(0, 0), column(-1, 0));
    let (a, a_share) = Postgres::share(&address, &options(), "a:1").unwrap();
    a_share.claim(&[home]).unwrap();
    let (mut a_grid, mut numbers) = (empty_grid(&a.info()), Numbers(3));
    let edit = |grid: &mut VoxelGrid, numbers: &mut Numbers, store: &Store, column: Column| {
        edit_in(grid, column, numbers);
        let changed: Vec<_> = grid.unsaved().chunks().collect();
        save(store, grid, column, 1).unwrap();
        changed
    };
    // What was there when the world was opened is no news, also not of a column that is claimed
    // later.
    edit(&mut a_grid, &mut numbers, &a, home);
    let (b, b_share) = Postgres::share(&address, &options(), "b:1").unwrap();
    b_share.claim(&[other]).unwrap();
    let both = [home, other];
    let a_news = || a_share.changes(&both).unwrap().chunks;
    let b_news = || b_share.changes(&both).unwrap().chunks;
    assert_eq!((a_news(), b_news()), (vec![], vec![]));
    let mut b_grid = empty_grid(&b.info());
    for round in 0..5 {
        let mut of_a = edit(&mut a_grid, &mut numbers, &a, home);
        let mut of_b = edit(&mut b_grid, &mut numbers, &b, other);
        of_a.sort_unstable();
        of_b.sort_unstable();
        assert_eq!(a_news(), of_b, "round {round}");
        assert_eq!(b_news(), of_a, "round {round}");
        assert_eq!(b_news(), []);
    }
    // A column that changes hands: what its server saved last is news, and then nothing is.
    let mut last = edit(&mut a_grid, &mut numbers, &a, home);
    last.sort_unstable();
    a_share.release(&[home]).unwrap();
    assert_eq!(b_share.claim(&[home]).unwrap(), [home]);
    assert_eq!(b_news(), last);
    let mut of_b = edit(&mut b_grid, &mut numbers, &b, home);
    of_b.sort_unstable();
    assert_eq!(b_news(), []);
    assert_eq!(a_news(), of_b);
    // What is not watched waits until it is, and is then there at once.
    let of_b = {
        let mut changed = edit(&mut b_grid, &mut numbers, &b, home);
        changed.sort_unstable();
        changed
    };
    assert_eq!(a_share.changes(&[other, column(3, 3)]).unwrap(), ColumnChanges::default());
    let found = a_share.changes(&[home]).unwrap();
    assert_eq!((found.chunks, found.columns), (of_b, vec![home]));
    // Extra data alone is a change of its column.
    b.set_extra(&other.data_name("bodies"), Some(b"1")).unwrap();
    let found = a_share.changes(&both).unwrap();
    assert_eq!((found.chunks, found.columns), (vec![], vec![other]));
    // The log does not reach back: all of that column may have changed.
    edit(&mut b_grid, &mut numbers, &b, other);
    server.sql("delete from terravox_log");
    let all = a_news();
    let stored = b.chunks().unwrap();
    let in_other =
        |chunk: &&terravox::voxel::ChunkPos| Column::of_voxel(chunk.region().min) == other;
    assert_eq!(all, stored.iter().filter(in_other).copied().collect::<Vec<_>>());
}

/// A process that shares a world and writes until that fails.
struct Writing {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Writing {
    fn start(address: &str) -> Writing {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "share::a_child_writes_until_that_fails", "--nocapture"])
            .env(CHILD_ADDRESS, address)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Writing { child, lines }
    }

    /// What it says next.
    fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            if let Some(said) = line.trim().strip_prefix("SAID ") {
                return Some(said.to_owned());
            }
            line.clear();
        }
        None
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

/// Not a test, but the program that [`Writing`] runs.
#[test]
fn a_child_writes_until_that_fails() {
    let Ok(address) = std::env::var(CHILD_ADDRESS) else { return };
    let (store, share) = Postgres::share(&address, &options(), "child:1").unwrap();
    claim_patiently(&share, column(0, 0));
    let (sender, acknowledged) = mpsc::channel();
    let writing = std::thread::spawn(move || {
        let error = write_on(&store, column(0, 0), 1, &sender);
        (matches!(error, StoreError::Fenced { .. }), error.to_string())
    });
    acknowledged.iter().for_each(|state| println!("SAID {state}"));
    println!("SAID {:?}", writing.join().unwrap());
}

#[test]
fn a_server_that_stood_still_past_its_lease_writes_nothing_and_a_dead_one_is_followed_slow() {
    let Some(server) = Server::start("still") else { return };
    let server = server.run();
    let address = new_world(&server, "still");
    let home = column(0, 0);
    for kind in ["-STOP", "-KILL", "-STOP"] {
        let (store, share) = Postgres::share(&address, &options(), "parent:1").unwrap();
        let mut writing = Writing::start(&address);
        let mut last = 0;
        while last < 5 {
            last = writing.next().unwrap().parse().unwrap();
        }
        writing.signal(kind);
        let waited = claim_patiently(&share, home);
        assert!(waited > LEASE / 4 && waited < LEASE * 20, "{kind}: {waited:?}");
        let state = state_of(&store, home);
        store.set_extra(&home.data_name("round"), Some(kind.as_bytes())).unwrap();
        if kind == "-STOP" {
            writing.signal("-CONT");
        }
        let mut end = None;
        while let Some(said) = writing.next() {
            match said.parse() {
                Ok(number) => last = number,
                Err(_) => end = Some(said),
            }
        }
        writing.child.wait().unwrap();
        assert_eq!(end.is_some_and(|end| end.starts_with("(true,")), kind == "-STOP");
        assert!(state >= last, "{kind}: {state} is older than {last}, which was acknowledged");
        assert_eq!(state_of(&store, home), state, "{kind}: nothing was written since");
        eprintln!("{kind}: taken over after {waited:?}, state {state}");
    }
}
