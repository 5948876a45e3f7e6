//! The server is killed while a world is saved: what was acknowledged is there, and what failed is
//! there whole or not at all.

use crate::all_stores::Numbers;
use crate::game::Game;
use crate::server::Server;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_store::{StoreError, WorldInfo};

/// Kills of each kind; `TERRAVOX_KILLS` asks for more.
fn kills() -> u64 {
    std::env::var("TERRAVOX_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// Options that take the world at once and do not try again.
fn impatient() -> PostgresOptions {
    PostgresOptions { retry_time: Duration::ZERO, takes_over: true, ..PostgresOptions::default() }
}

#[test]
fn a_save_that_fails_is_there_whole_or_not_at_all_slow() {
    let Some(server) = Server::start("kills") else { return };
    let mut server = server.run();
    let address = server.address("killed");
    let mut store = Postgres::create(&address, &WorldInfo::default(), &impatient()).unwrap();
    let (mut game, mut numbers) = (Game::new(1), Numbers(2));
    let (mut unsure, mut acknowledged_total) = (0, 0);
    for _ in 0..kills() {
        let wait = Duration::from_micros(numbers.below(60_000));
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(wait);
                server.kill();
            });
            loop {
                if let Err(error) = game.go_on(&store) {
                    break error;
                }
                acknowledged_total += 1;
            }
        });
        let failed = game.number;
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
        server.restart();
        store = Postgres::open(&address, &impatient()).unwrap();
        let state = game.check(&store);
        match error {
            StoreError::Unsure { .. } => {
                unsure += 1;
                assert!([failed - 1, failed].contains(&state), "{state}, {failed} failed");
            }
            _ => assert_eq!(state, failed - 1, "{error}"),
        }
        // What is not there is unsaved still, and the next save has it.
        game.go_on(&store).unwrap();
        assert_eq!(game.check(&store), game.number);
    }
    assert_eq!(store.verify().unwrap().bad, []);
    eprintln!("{} kills, {acknowledged_total} saves, {unsure} unsure, 0 lost", kills());
}

#[test]
fn saves_go_on_over_restarts_of_the_server_slow() {
    let Some(server) = Server::start("restarts") else { return };
    let mut server = server.run();
    let address = server.address("restarted");
    // As long as a start may take on a busy machine.
    let options =
        PostgresOptions { retry_time: Duration::from_secs(120), ..PostgresOptions::default() };
    let store = Postgres::create(&address, &WorldInfo::default(), &options).unwrap();
    let mut game = Game::new(3);
    let (is_done, saves) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut failure = None;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut numbers = Numbers(4);
            for _ in 0..kills() {
                let before = saves.load(Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(numbers.below(80_000)));
                server.kill();
                server.restart();
                // One save at least, so that every kill meets a world that is being saved.
                let is_waiting = || saves.load(Ordering::Relaxed) == before;
                while is_waiting() && !is_done.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            is_done.store(true, Ordering::Relaxed);
        });
        while !is_done.load(Ordering::Relaxed) && failure.is_none() {
            failure = game.go_on(&store).err();
            saves.fetch_add(1, Ordering::Relaxed);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!(game.check(&store), game.number);
    let again = Postgres::open_read_only(&address, &options).unwrap();
    assert_eq!(game.check(&again), game.number);
    assert_eq!(again.verify().unwrap().bad, []);
    eprintln!("{} restarts, {} saves, 0 failed", kills(), game.number);
}

#[test]
fn a_server_that_hangs_is_given_up_and_found_again() {
    let Some(server) = Server::start("hangs") else { return };
    let server = server.run();
    let address = server.address("hung");
    let options = PostgresOptions {
        answer_time: Duration::from_secs(2),
        retry_time: Duration::ZERO,
        takes_over: true,
        ..PostgresOptions::default()
    };
    let store = Postgres::create(&address, &WorldInfo::default(), &options).unwrap();
    let mut game = Game::new(5);
    game.go_on(&store).unwrap();
    server.freeze();
    let error = game.go_on(&store).unwrap_err().to_string();
    assert!(error.contains("does not answer"), "{error}");
    server.resume();
    let store = Postgres::open(&address, &impatient()).unwrap();
    let state = game.check(&store);
    assert!([game.number - 1, game.number].contains(&state));
    game.go_on(&store).unwrap();
    assert_eq!(game.check(&store), game.number);
}
