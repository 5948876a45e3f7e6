//! One writer at a time: leases, and what a writer does whose world another one took.

use crate::all_stores::{Numbers, empty_grid, random_edit, records_of};
use crate::proxy::{Accident, Network, Proxy};
use crate::server::Server;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{ChunkPos, DenseBox};
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_store::{Store, StoreError, WorldInfo, Zone};

/// After this long, something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Times that a world is taken from a writer that is writing.
const TAKEOVERS: u64 = 200;

fn takes_over() -> PostgresOptions {
    PostgresOptions { takes_over: true, ..PostgresOptions::default() }
}

fn state_of(store: &Store) -> Option<u64> {
    let bytes = store.extra("state").unwrap()?;
    Some(u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Saves edits until that fails, and sends the number of each state that was acknowledged.
fn write_on(store: &Store, seed: u64, acknowledged: &mpsc::Sender<u64>) -> StoreError {
    let mut grid = empty_grid(&store.info());
    let mut numbers = Numbers(seed);
    for number in seed.. {
        random_edit(&mut grid, &mut numbers);
        let state = UnsavedChanges::from(grid.unsaved()).with_data("state", number.to_le_bytes());
        match store.save(&state, |_| {}) {
            Ok(_) => acknowledged.send(number).unwrap(),
            Err(error) => return error,
        }
        grid.mark_saved(&state.chunks);
    }
    unreachable!("the numbers do not end")
}

#[test]
fn a_writer_whose_world_was_taken_writes_nothing_slow() {
    let Some(server) = Server::start("fencing") else { return };
    let server = server.run();
    let address = server.address("taken");
    let mut store = Postgres::create(&address, &WorldInfo::default(), &takes_over()).unwrap();
    let mut numbers = Numbers(7);
    let (mut stale_writes, mut acknowledged_total) = (0, 0);
    for round in 0..TAKEOVERS {
        let (sender, acknowledged) = mpsc::channel();
        let seed = (round + 1) << 32;
        let old = std::thread::spawn(move || {
            let error = write_on(&store, seed, &sender);
            // It never comes back.
            let again = store.set_extra("late", Some(b"write"));
            assert!(matches!(again, Err(StoreError::Fenced { .. })), "{again:?}");
            error
        });
        // Each second time it has saved once before, however busy this machine is.
        let first = (round % 2 == 0).then(|| acknowledged.recv().unwrap());
        std::thread::sleep(Duration::from_micros(numbers.below(12_000)));
        let new = Postgres::open(&address, &takes_over()).unwrap();
        // From now on the old one must change nothing, whatever it has sent.
        new.set_extra("round", Some(&round.to_le_bytes())).unwrap();
        let state = state_of(&new);
        let error = old.join().unwrap();
        assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
        assert!(error.to_string().contains("took"), "{error}");
        let last = acknowledged.iter().last().or(first);
        acknowledged_total += u64::from(last.is_some());
        if let Some(last) = last {
            assert!(state >= Some(last), "{state:?} is older than {last}, which was acknowledged");
        }
        stale_writes += u64::from(state_of(&new) != state);
        assert_eq!(new.extra("late").unwrap(), None);
        store = new;
    }
    assert_eq!(stale_writes, 0);
    assert!(acknowledged_total > TAKEOVERS / 4, "they do write: {acknowledged_total}");
    eprintln!("{TAKEOVERS} takeovers, {stale_writes} stale writes");
}

#[test]
fn a_stale_writer_writes_nothing_to_a_zone_that_only_it_has_written() {
    let Some(server) = Server::start("stale") else { return };
    let server = server.run();
    let address = server.address("stale");
    let old = Postgres::create(&address, &WorldInfo::default(), &takes_over()).unwrap();
    let mut grid = empty_grid(&old.info());
    let mut numbers = Numbers(11);
    let mut save = || {
        random_edit(&mut grid, &mut numbers);
        let unsaved = UnsavedChanges::from(grid.unsaved());
        let saved = old.save(&unsaved, |_| {});
        if saved.is_ok() {
            grid.mark_saved(&unsaved.chunks);
        }
        saved
    };
    save().unwrap();
    // It writes no cells, so the zones of the cells are not its own yet.
    let new = Postgres::open(&address, &takes_over()).unwrap();
    let before = records_of(&new);
    let mut fenced = 0;
    for _ in 0..5 {
        match save() {
            Err(StoreError::Fenced { .. }) => fenced += 1,
            // An edit may change nothing.
            Ok(stats) => assert_eq!((stats.written, stats.uniform, stats.removed), (0, 0, 0)),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(fenced >= 3, "{fenced}");
    assert!(records_of(&new) == before);
}

#[test]
fn a_writer_that_lost_everything_stops_asking() {
    let Some(server) = Server::start("stops") else { return };
    let server = server.run();
    let address = server.address("stops");
    let options =
        PostgresOptions { lease: Duration::from_millis(300), ..PostgresOptions::default() };
    let old = Postgres::create(&address, &WorldInfo::default(), &options).unwrap();
    let last_renewal = || {
        let query = "select max(query_start) from pg_stat_activity where pid <> pg_backend_pid() \
                     and query like '%set until = clock_timestamp()%'";
        server.sql(query)
    };
    // Whether it renews once or more within three leases.
    let renews = || {
        let before = last_renewal();
        std::thread::sleep(options.lease * 3);
        last_renewal() != before
    };
    let begin = Instant::now();
    while !renews() {
        assert!(begin.elapsed() < PATIENCE, "it does not renew");
    }
    server.sql("update terravox_zones set owner = 'other', epoch = epoch + 1");
    let begin = Instant::now();
    while renews() {
        assert!(begin.elapsed() < PATIENCE, "it does not stop");
    }
    let late = old.set_extra("late", Some(b"write"));
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
}

#[test]
fn a_second_writer_is_refused_while_the_first_lives_and_takes_over_when_it_is_dead() {
    let Some(server) = Server::start("lease") else { return };
    let server = server.run();
    let address = server.address("leased");
    // A busy machine renews it in time.
    let options = PostgresOptions { lease: Duration::from_secs(2), ..PostgresOptions::default() };
    let first = Postgres::create(&address, &WorldInfo::default(), &options).unwrap();
    let second = Postgres::open(&address, &options);
    let error = second.err().expect("the first one lives").to_string();
    assert!(error.contains("written by") && error.contains("process"), "{error}");
    assert!(error.starts_with("postgres://") && error.contains("#leased: the world is written by"));
    // Readers do not mind.
    assert!(Postgres::open_read_only(&address, &options).is_ok());
    // One that is closed is followed at once.
    drop(first);
    let begin = Instant::now();
    let third = Postgres::open(&address, &options).unwrap();
    assert!(begin.elapsed() < options.lease);
    third.set_extra("a", Some(b"1")).unwrap();
    drop(third);
    // One that died held the lease, and does not renew it.
    server.sql("update terravox_zones set owner = 'dead', until = now() + interval '1 second'");
    let fourth = Postgres::open(&address, &options).unwrap();
    assert_eq!(fourth.extra("a").unwrap().as_deref(), Some(&b"1"[..]));
    // The clock of the server jumped back an hour after the lease was written.
    drop(fourth);
    server.sql("update terravox_zones set owner = 'dead', until = now() + interval '1 hour'");
    let error = Postgres::open(&address, &options).err().expect("an hour is too long to wait");
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    assert!(Postgres::open(&address, &takes_over()).is_ok());
}

#[test]
fn a_lease_is_kept_over_a_line_on_which_a_connection_takes_longer_than_it_slow() {
    let Some(server) = Server::start("far") else { return };
    let server = server.run();
    let lease = Duration::from_millis(1800);
    let options = PostgresOptions { lease, ..PostgresOptions::default() };
    let near = server.address("far");
    drop(Postgres::create(&near, &WorldInfo::default(), &options).unwrap());
    let proxy = Proxy::far(server.port(), Duration::from_millis(180));
    let store = Postgres::open(&server.address_at(proxy.port, "far"), &options).unwrap();
    for round in 0..3u8 {
        std::thread::sleep(2 * lease);
        let other = Postgres::open(&near, &options);
        assert!(matches!(other, Err(StoreError::InUse { .. })), "round {round}");
        store.set_extra("round", Some(&[round])).unwrap();
    }
}

#[test]
fn the_log_of_a_zone_has_every_commit_in_order() {
    let Some(server) = Server::start("log") else { return };
    let server = server.run();
    let address = server.address("logged");
    let options = takes_over();
    let mut store = Postgres::create(&address, &WorldInfo::default(), &options).unwrap();
    let follower = Postgres::follow(&address, &options).unwrap();
    let mut grid = empty_grid(&store.info());
    let mut numbers = Numbers(3);
    for round in 0..12 {
        random_edit(&mut grid, &mut numbers);
        let unsaved = UnsavedChanges::from(grid.unsaved());
        store.save(&unsaved, |_| {}).unwrap();
        grid.mark_saved(&unsaved.chunks);
        if round % 4 == 3 {
            store = Postgres::open(&address, &options).unwrap();
        }
    }
    let records = records_of(&store);
    let blocks = records.iter().filter(|record| record.key[0] >= 2 && record.key[0] < 255);
    let mut logged = std::collections::BTreeSet::new();
    let mut zones: Vec<Zone> = blocks.clone().filter_map(|r| Zone::of_record(&r.key)).collect();
    zones.dedup();
    zones.sort_unstable();
    zones.dedup();
    assert!(zones.len() >= 8, "{zones:?}");
    for zone in zones {
        let entries = follower.log_after(zone, 0).unwrap();
        assert!(!entries.is_empty());
        for (i, entry) in entries.iter().enumerate() {
            assert_eq!(entry.seq, i as u64 + 1);
            assert!(entry.keys.iter().all(|key| Zone::of_record(key) == Some(zone)));
        }
        assert!(entries.windows(2).all(|pair| pair[0].epoch <= pair[1].epoch));
        let last = entries.last().unwrap().seq;
        assert_eq!(follower.log_after(zone, last - 1).unwrap(), entries[entries.len() - 1..]);
        assert_eq!(follower.log_after(zone, last).unwrap(), []);
        logged.extend(entries.into_iter().flat_map(|entry| entry.keys));
    }
    assert!(blocks.into_iter().all(|record| logged.contains(&record.key)));
}

#[test]
fn a_writer_that_stalls_within_a_save_holds_the_world_no_longer_than_its_lease() {
    let Some(server) = Server::start("stalls") else { return };
    let server = server.run();
    let proxy = Proxy::start(server.port());
    let lease = Duration::from_millis(800);
    let options = PostgresOptions { lease, ..PostgresOptions::default() };
    let through = server.address_at(proxy.port, "stalls");
    let old = Postgres::create(&through, &WorldInfo::default(), &options).unwrap();
    old.set_extra("state", Some(b"1")).unwrap();
    std::thread::scope(|scope| {
        // The commit is held, so that the transaction and its locks stay.
        proxy.arrange(Accident::Delay(Duration::from_millis(300)));
        let saving = scope.spawn(|| old.set_extra("state", Some(b"2")));
        while proxy.is_armed() {
            assert!(!saving.is_finished(), "there was no commit");
        }
        proxy.set(Network::Stalled);
        let begin = Instant::now();
        let new = loop {
            match Postgres::open(&server.address("stalls"), &options) {
                Ok(store) => break store,
                Err(StoreError::InUse { .. }) => std::thread::sleep(lease / 40),
                Err(error) => panic!("after {:?}: {error}", begin.elapsed()),
            }
        };
        let waited = begin.elapsed();
        assert!(waited < options.answer_time / 2, "{waited:?}");
        assert_eq!(new.extra("state").unwrap(), Some(b"1".to_vec()));
        proxy.set(Network::Up);
        let end = saving.join().unwrap();
        assert!(matches!(end, Err(StoreError::Fenced { .. })), "{end:?}");
        assert_eq!(new.extra("state").unwrap(), Some(b"1".to_vec()));
    });
}

/// Saves a chunk full of a material.
fn save_chunk(store: &Store, material: u8) -> Result<(), StoreError> {
    let mut grid = empty_grid(&store.info());
    let mut cells = DenseBox::new(ChunkPos::new(1, 1, 1).region());
    cells.fill(material);
    grid.write(&cells).unwrap();
    store.save(&UnsavedChanges::from(grid.unsaved()), |_| {}).map(drop)
}

#[test]
fn a_zone_is_not_taken_by_what_an_earlier_writer_sent_before_it_lost_the_world() {
    let Some(server) = Server::start("late-take") else { return };
    let server = server.run();
    let proxy = Proxy::start(server.port());
    let options =
        PostgresOptions { lease: Duration::from_millis(400), ..PostgresOptions::default() };
    let through = server.address_at(proxy.port, "late");
    let old = Postgres::create(&through, &WorldInfo::default(), &options).unwrap();
    std::thread::scope(|scope| {
        // It has looked whether the world is its own, and asks for the zone of the chunk: an array of
        // 64-bit numbers, and its name.
        proxy.stall_before(&[&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20], b", process "]);
        let saving = scope.spawn(|| save_chunk(&old, 3));
        while proxy.is_trap_set() {
            assert!(!saving.is_finished(), "it asked for no zone");
        }
        let begin = Instant::now();
        let new = loop {
            match Postgres::open(&server.address("late"), &PostgresOptions::default()) {
                Ok(store) => break store,
                Err(StoreError::InUse { .. }) => assert!(begin.elapsed() < PATIENCE),
                Err(error) => panic!("{error}"),
            }
        };
        save_chunk(&new, 4).unwrap();
        // It writes elsewhere for longer than a lease.
        server.sql("update terravox_zones set until = now() - interval '1 second' where zone >= 0");
        proxy.set(Network::Up);
        let end = saving.join().unwrap();
        assert!(matches!(end, Err(StoreError::Fenced { .. })), "{end:?}");
        save_chunk(&new, 5).unwrap();
        new.check_writer().unwrap();
    });
}
