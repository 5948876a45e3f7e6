//! The network fails while a commit is under way: it is made once, whatever became of the answer.

use crate::all_stores::Numbers;
use crate::game::Game;
use crate::proxy::{Accident, Proxy};
use crate::server::Server;
use std::time::{Duration, Instant};
use terravox_postgres::{Postgres, PostgresOptions, WorldShare};
use terravox_store::{Column, ColumnLeases, WorldInfo, Zone};

#[test]
fn a_commit_is_made_once_whatever_becomes_of_its_answer_slow() {
    let Some(server) = Server::start("lost") else { return };
    let server = server.run();
    let proxy = Proxy::start(server.port());
    let address = server.address_at(proxy.port, "lost");
    let options =
        PostgresOptions { answer_time: Duration::from_millis(600), ..PostgresOptions::default() };
    let store = Postgres::create(&address, &WorldInfo::default(), &options).unwrap();
    let follower = Postgres::follow(&address, &options).unwrap();
    let mut game = Game::new(9);
    game.go_on(&store).unwrap();
    let commits = || follower.log_after(Zone::WORLD, 0).unwrap();
    let (first, mut numbers) = (commits().len(), Numbers(6));
    for round in 0..30 {
        let accident = match numbers.below(5) {
            0 | 1 => Accident::CutAfter,
            2 | 3 => Accident::CutBefore,
            // Longer than an answer may take: the first attempt is given up while it is alive.
            _ => Accident::Delay(Duration::from_millis(900)),
        };
        proxy.arrange(accident);
        game.go_on(&store).unwrap_or_else(|error| panic!("{accident:?}: {error}"));
        assert!(!proxy.is_armed(), "the accident happened");
        assert_eq!(game.check(&store), game.number, "{accident:?}");
        assert_eq!(commits().len(), first + round + 1, "{accident:?} is one commit");
    }
    assert!(commits().iter().enumerate().all(|(i, entry)| entry.seq == i as u64 + 1));
}

const LEASE: Duration = Duration::from_millis(1200);

/// Waits until another server gets a column.
fn claim_patiently(share: &WorldShare, column: Column, why: &str) {
    let begin = Instant::now();
    while share.claim(&[column]).unwrap().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{column} is never free: {why}");
        std::thread::sleep(LEASE / 40);
    }
}

#[test]
fn a_column_whose_claim_had_no_answer_is_given_back_or_claimed_again_slow() {
    let Some(server) = Server::start("lost-claims") else { return };
    let server = server.run();
    let proxy = Proxy::start(server.port());
    let options = PostgresOptions {
        lease: LEASE,
        answer_time: Duration::from_millis(1200),
        ..PostgresOptions::default()
    };
    let address = server.address("claims");
    drop(Postgres::create(&address, &WorldInfo::default(), &options).unwrap());
    let through = server.address_at(proxy.port, "claims");
    let (store, share) = Postgres::share(&through, &options, "first:1").unwrap();
    let (_second, second) = Postgres::share(&address, &options, "second:1").unwrap();
    let late = Accident::Delay(Duration::from_millis(2000));
    for (x, accident) in [Accident::CutAfter, Accident::CutBefore, late].into_iter().enumerate() {
        let (lost, kept) = (Column { x: x as i32, z: 0 }, Column { x: x as i32, z: 5 });
        let lose = |column: Column| {
            // The accident may befall the lease instead, which is renewed meanwhile.
            let has_failed = (0..20).any(|_| {
                proxy.arrange(accident);
                let claimed = share.claim(&[column]);
                assert!(!proxy.is_armed(), "{accident:?}: {claimed:?}");
                claimed.is_err() || {
                    share.release(&[column]).unwrap();
                    false
                }
            });
            assert!(has_failed && !share.held().contains(&column), "{accident:?}");
        };
        // It does nothing more about it, and lives on.
        lose(lost);
        claim_patiently(&second, lost, &format!("{accident:?}"));
        // It claims it again, which is its own: at once, and later.
        for pause in [Duration::ZERO, LEASE * 3] {
            lose(kept);
            std::thread::sleep(pause);
            assert_eq!(share.claim(&[kept]).unwrap(), [kept], "{accident:?}");
            assert_eq!(second.claim(&[kept]).unwrap(), [], "{accident:?}");
            store.set_extra(&kept.data_name("state"), Some(b"1")).unwrap();
            std::thread::sleep(LEASE * 2);
            store.check_writer().unwrap();
            share.release(&[kept]).unwrap();
        }
        assert!(share.held().is_empty());
    }
    // What was never written leaves no row.
    assert_eq!(server.sql("select count(*) from terravox_zones where zone < -1"), "6");
}

#[test]
fn a_release_that_failed_is_made_when_the_database_is_back_slow() {
    let Some(server) = Server::start("lost-releases") else { return };
    let server = server.run();
    // The lease lasts over all of it.
    let options = PostgresOptions {
        lease: Duration::from_secs(9),
        answer_time: Duration::from_millis(1500),
        ..PostgresOptions::default()
    };
    let address = server.address("releases");
    drop(Postgres::create(&address, &WorldInfo::default(), &options).unwrap());
    let (store, share) = Postgres::share(&address, &options, "first:1").unwrap();
    let (_second, second) = Postgres::share(&address, &options, "second:1").unwrap();
    let columns = [0, 1].map(|x| Column { x, z: 0 });
    assert_eq!(share.claim(&columns).unwrap().len(), 2);
    store.set_extra(&columns[0].data_name("state"), Some(b"1")).unwrap();
    server.freeze();
    let released = share.release(&columns);
    server.resume();
    assert!(released.is_err(), "{released:?}");
    for column in columns {
        claim_patiently(&second, column, "its server has released it");
    }
    store.check_writer().unwrap();
}
