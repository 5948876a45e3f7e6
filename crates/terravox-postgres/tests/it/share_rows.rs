//! The rows by which servers share a world: who gets one when several want it at once, and when
//! they go away.

use crate::proxy::{Accident, Proxy};
use crate::server::Server;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_store::{Column, ColumnLeases, StoreError, WorldInfo};

/// Servers on a busy machine renew it in time.
const LEASE: Duration = Duration::from_millis(1500);

fn options() -> PostgresOptions {
    PostgresOptions { lease: LEASE, ..PostgresOptions::default() }
}

fn new_world(server: &Server, name: &str) -> String {
    let address = server.address(name);
    drop(Postgres::create(&address, &WorldInfo::default(), &options()).unwrap());
    address
}

/// The rows of columns.
fn columns(server: &Server) -> String {
    server.sql("select count(*) from terravox_zones where zone < -1")
}

#[test]
fn of_two_servers_that_start_at_once_with_one_address_one_is_refused_by_name_slow() {
    let Some(server) = Server::start("twins") else { return };
    let server = server.run();
    let address = new_world(&server, "twins");
    for round in 0..4 {
        let (name, begin) = (format!("twin-{round}:1"), Barrier::new(2));
        let opened = std::thread::scope(|scope| {
            let open = || {
                begin.wait();
                Postgres::share(&address, &options(), &name)
            };
            let twins = [scope.spawn(open), scope.spawn(open)];
            twins.map(|twin| twin.join().unwrap())
        });
        let refused: Vec<_> = opened.iter().filter_map(|opened| opened.as_ref().err()).collect();
        let [StoreError::InUse { writer: Some(writer), .. }] = refused[..] else {
            panic!("round {round}: {refused:?}")
        };
        let end =
            format!("under this address, {name} (each server needs its own: --share HOST:PORT)");
        assert!(writer.ends_with(&end), "{writer}");
        let (store, _) = opened.iter().find_map(|opened| opened.as_ref().ok()).unwrap();
        store.check_writer().unwrap();
    }
}

#[test]
fn a_claim_waits_for_no_commit_of_another_server() {
    let Some(server) = Server::start("waits") else { return };
    let server = server.run();
    let address = new_world(&server, "waits");
    let (_second, second) = Postgres::share(&address, &options(), "second:1").unwrap();
    let (first, share) = Postgres::share(&address, &options(), "first:1").unwrap();
    let [home, beside] = [0, 1].map(|x| Column { x, z: 0 });
    assert_eq!(share.claim(&[home]).unwrap(), [home]);
    first.set_extra(&home.data_name("state"), Some(b"1")).unwrap();
    std::thread::scope(|scope| {
        // Another session holds the row of the column.
        let held = scope.spawn(|| {
            server.sql(
                "begin; select 1 from terravox_zones where zone < -1 for update;
                select pg_sleep(3); commit",
            )
        });
        let sleepers = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
        while server.sql(sleepers) == "0" {
            assert!(!held.is_finished(), "it holds the row no longer");
        }
        // The lease of its server has ended when the claim begins; what commits is alive.
        server.sql(
            "update terravox_servers set until = clock_timestamp() - interval '1 second'
            where address = 'first:1'",
        );
        assert_eq!(second.claim(&[home, beside]).unwrap(), [beside], "what is free is claimed");
        assert!(!held.is_finished(), "it did not wait");
        held.join().unwrap();
    });
    first.check_writer().unwrap();
}

#[test]
fn no_epoch_of_a_column_is_there_twice() {
    let Some(server) = Server::start("epochs") else { return };
    let server = server.run();
    let address = new_world(&server, "epochs");
    let (_first, first) = Postgres::share(&address, &options(), "a:1").unwrap();
    let (_second, second) = Postgres::share(&address, &options(), "b:1").unwrap();
    let home = Column { x: -3, z: 5 };
    let mut epochs = Vec::new();
    for _ in 0..4 {
        for share in [&first, &second] {
            assert_eq!(share.claim(&[home]).unwrap(), [home]);
            epochs.push(share.owners().unwrap()[0].epoch);
            // Nothing was written: the row goes, and the next claim makes another.
            share.release(&[home]).unwrap();
            assert_eq!(columns(&server), "0");
        }
    }
    assert!(epochs.is_sorted_by(|a, b| a < b), "{epochs:?}");
}

#[test]
fn a_column_that_was_never_written_leaves_no_row() {
    let Some(server) = Server::start("unwritten") else { return };
    let server = server.run();
    let address = new_world(&server, "unwritten");
    let all: Vec<Column> = (0..20).map(|x| Column { x, z: 7 }).collect();
    let (store, share) = Postgres::share(&address, &options(), "a:1").unwrap();
    assert_eq!(share.claim(&all).unwrap().len(), 20);
    store.set_extra(&all[0].data_name("state"), Some(b"1")).unwrap();
    store.set_extra(&all[1].data_name("state"), Some(b"1")).unwrap();
    assert_eq!(columns(&server), "20");
    share.release(&all[1..10]).unwrap();
    assert_eq!(columns(&server), "12", "those that were written, and those that are held");
    store.check_writer().unwrap();
    drop((store, share));
    assert_eq!(columns(&server), "2");
    // Of one that died, those go with its own row.
    let (store, share) = Postgres::share(&address, &options(), "b:1").unwrap();
    assert_eq!(share.claim(&all).unwrap().len(), 20);
    server.sql("delete from terravox_servers where address = 'b:1'");
    let (_third, third) = Postgres::share(&address, &options(), "c:1").unwrap();
    assert_eq!(columns(&server), "2");
    // It writes nothing, although the row that another one has now is as new as its own was.
    assert_eq!(third.claim(&all[5..6]).unwrap().len(), 1);
    let late = store.set_extra(&all[5].data_name("state"), Some(b"late"));
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
}

#[test]
fn a_server_that_is_back_is_not_listed_as_gone() {
    let Some(server) = Server::start("back") else { return };
    let server = server.run();
    let address = new_world(&server, "back");
    let home = Column { x: 1, z: -1 };
    let (_second, second) = Postgres::share(&address, &options(), "b:1").unwrap();
    let (store, share) = Postgres::share(&address, &options(), "a:1").unwrap();
    assert_eq!(share.claim(&[home]).unwrap(), [home]);
    store.set_extra(&home.data_name("state"), Some(b"1")).unwrap();
    drop((store, share));
    // As one that was killed leaves it.
    server.sql(
        "insert into terravox_servers select id, 'killed', 'a:1', clock_timestamp() - interval '1 second'
        from terravox_worlds where name = 'back';
        update terravox_zones set owner = 'killed' where zone < -1",
    );
    let gone = second.owners().unwrap();
    assert_eq!((gone.len(), &*gone[0].server, gone[0].is_alive), (1, "a:1", false));
    let (back, share) = Postgres::share(&address, &options(), "a:1").unwrap();
    assert_eq!(second.owners().unwrap(), [], "no server has the column");
    // It may be claimed, and what was written is there.
    assert_eq!(share.claim(&[home]).unwrap(), [home]);
    assert_eq!(back.extra(&home.data_name("state")).unwrap().as_deref(), Some(&b"1"[..]));
    back.set_extra(&home.data_name("state"), Some(b"2")).unwrap();
    assert!(second.owners().unwrap()[0].is_alive);
}

#[test]
fn renewing_the_lease_of_the_world_waits_for_no_commit() {
    let Some(server) = Server::start("renews") else { return };
    let server = server.run();
    new_world(&server, "renews");
    let proxy = Proxy::start(server.port());
    let patient = PostgresOptions { lease: Duration::from_secs(20), ..options() };
    let through = server.address_at(proxy.port, "renews");
    let (store, share) = Postgres::share(&through, &patient, "a:1").unwrap();
    let home = Column { x: 0, z: 0 };
    share.claim(&[home]).unwrap();
    std::thread::scope(|scope| {
        proxy.arrange(Accident::Delay(Duration::from_secs(3)));
        let saved = scope.spawn(|| store.set_extra(&home.data_name("state"), Some(b"1")));
        // The commit is under way.
        while proxy.is_armed() {
            assert!(!saved.is_finished(), "there was no commit");
        }
        let begin = Instant::now();
        server.sql(
            "set statement_timeout = 1500;
            update terravox_zones set until = clock_timestamp() + interval '20 seconds'
            where zone = -1",
        );
        // One that takes the world waits for it.
        let taken = Postgres::open(
            &server.address("renews"),
            &PostgresOptions { takes_over: true, ..options() },
        );
        assert!(begin.elapsed() > Duration::from_millis(500), "{:?}", begin.elapsed());
        saved.join().unwrap().unwrap();
        assert!(taken.unwrap().extra(&home.data_name("state")).unwrap().is_some());
    });
}

#[test]
fn the_lease_of_the_world_is_renewed_as_often_as_those_of_its_servers() {
    let Some(server) = Server::start("as-often") else { return };
    let server = server.run();
    let address = new_world(&server, "as-often");
    let (_store, _share) = Postgres::share(&address, &options(), "a:1").unwrap();
    let (mut renewals, mut is_behind, mut last) = (0, 0, String::new());
    // How far the end of one lease is behind that of the other: one renewal, or less than a sixth of it.
    let both = "select server.until, server.until > zone.until + interval '250 milliseconds'
        from terravox_servers as server, terravox_zones as zone
        where server.address = 'a:1' and zone.zone = -1";
    let begin = Instant::now();
    while renewals < 6 {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not renew");
        let row = server.sql(both);
        let (until, behind) = row.split_once('|').unwrap();
        if until != last {
            renewals += 1;
            last = until.to_owned();
        }
        is_behind += usize::from(behind == "t");
    }
    // Between the two statements of one renewal it may be.
    assert!(is_behind <= 3, "{is_behind}");
}

#[test]
fn claims_do_not_depend_on_the_isolation_that_a_role_has_by_default() {
    let Some(server) = Server::start("isolation") else { return };
    let server = server.run();
    server.sql("alter role terravox set default_transaction_isolation = 'serializable'");
    let address = new_world(&server, "isolation");
    let opened = ["a:1", "b:1"].map(|name| Postgres::share(&address, &options(), name).unwrap());
    for x in 0..20 {
        let (home, begin) = (Column { x, z: 0 }, Barrier::new(2));
        let held = std::thread::scope(|scope| {
            let claims = opened.each_ref().map(|(_, share)| {
                let begin = &begin;
                scope.spawn(move || {
                    begin.wait();
                    share.claim(&[home]).unwrap().len()
                })
            });
            claims.map(|claim| claim.join().unwrap())
        });
        assert_eq!(held.iter().sum::<usize>(), 1, "{held:?}");
    }
    opened.iter().for_each(|(store, _)| store.check_writer().unwrap());
}
