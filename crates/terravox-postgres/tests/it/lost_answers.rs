//! The network fails while a commit is under way: it is made once, whatever became of the answer.

use crate::all_stores::Numbers;
use crate::game::Game;
use crate::proxy::{Accident, Proxy};
use crate::server::Server;
use std::time::Duration;
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_store::{WorldInfo, Zone};

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
