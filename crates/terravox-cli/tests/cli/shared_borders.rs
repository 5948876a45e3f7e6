//! Operations over the border of two servers, of which one or both are killed all the time: each
//! part of each operation is there once, or none is.

use crate::Folder;
use crate::border_places::{
    Known, OPERATIONS_A_PLACE, PATIENCE, Player, growth, pad, wrong_places,
};
use crate::online::{Served, hills};
use crate::ports::free_port;
use crate::postgres::Server;
use crate::shared::{new_world, share};
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::voxel::VoxelGrid;
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_server::WorldAddress;
use terravox_store::Store;

/// Operations; `TERRAVOX_BORDER_OPERATIONS` asks for more.
fn operations() -> usize {
    let more = std::env::var("TERRAVOX_BORDER_OPERATIONS").ok();
    more.and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// Operations between two kills.
const OPERATIONS_A_KILL: usize = 130;

/// Both servers, each with a player that has claimed its column.
fn start(folder: &Folder, address: &str, ports: [u16; 2]) -> ([Option<Served>; 2], [Player; 2]) {
    let served = ports.map(|port| Some(share(folder, address, port)));
    let mut players = [0, 1].map(|side| {
        let address: WorldAddress = format!("127.0.0.1:{}", ports[side]).parse().expect("one");
        Player::join(&address, side, 0, hills).expect("the link holds")
    });
    for (side, player) in players.iter_mut().enumerate() {
        let x = [-100.0, 100.0][side];
        assert!(player.insist(&EditOp::dig_ball([x, 400.0, 80.0], 2.0)));
    }
    (served, players)
}

fn stored(address: &str) -> VoxelGrid {
    let store: Store =
        Postgres::open_read_only(address, &PostgresOptions::default()).expect("it can be read");
    store.load().expect("it is whole").grid
}

#[test]
fn operations_over_a_border_are_applied_once_whatever_is_killed_slow() {
    let Some(postgres) = Server::start("cli-borders") else { return };
    let postgres = postgres.run();
    let (address, folder) = (new_world(&postgres), Folder::new());
    let ports = [free_port(), free_port()];
    let (mut served, mut players) = start(&folder, &address, ports);
    let places = operations().div_ceil(OPERATIONS_A_PLACE) + 8;
    for (place, side) in (0..places).flat_map(|place| [(place, 0), (place, 1)]) {
        assert!(players[side].insist(&pad(place, side)));
    }
    let mut known = vec![Known::default(); places];
    let (mut made, mut kills) = (0, 0);
    while made < operations() {
        let end = (made + OPERATIONS_A_KILL).min(operations());
        let (begin, mut next) = (Instant::now(), Instant::now());
        while made < end && players.iter_mut().all(Player::frame) {
            assert!(begin.elapsed() < PATIENCE, "operations stand still");
            if next <= Instant::now() {
                // Both sides at each place, in turn.
                let (place, side) = (made / OPERATIONS_A_PLACE, made % 2);
                players[side].send(place, &growth(place, side)).expect("an operation");
                made += 1;
                next += Duration::from_millis(18);
            }
        }
        // In the middle of it: what was sent last is unsaved, saved on one side, or saved on both.
        let quiet = Instant::now();
        while quiet.elapsed() < Duration::from_millis(7 * (kills % 9)) {
            for player in &mut players {
                player.frame();
            }
        }
        let first = kills as usize % 2;
        served[first] = None;
        if kills % 3 == 0 {
            served[1 - first] = None;
        }
        kills += 1;
        let end = Instant::now();
        // What was sent before, and the survivor does what is left to do.
        let wait = if kills % 3 == 1 { 100 } else { 5000 };
        while end.elapsed() < Duration::from_millis(wait) {
            for player in &mut players {
                player.frame();
            }
        }
        players.iter().for_each(|player| player.end(&mut known));
        for server in served.iter_mut().filter_map(Option::take) {
            assert!(server.terminate().contains("everything"));
        }
        (served, players) = start(&folder, &address, ports);
    }
    let begin = Instant::now();
    let mut found = wrong_places(&stored(&address), &known);
    while !found.is_empty() && begin.elapsed() < PATIENCE {
        players.iter_mut().for_each(|player| assert!(player.frame()));
        found = wrong_places(&stored(&address), &known);
    }
    let saved: usize = known.iter().map(|known| known.saved).sum();
    let refused: usize = known.iter().map(|known| known.refused).sum();
    eprintln!(
        "{made} operations over a border, {saved} known to be saved, {refused} refused; {kills} kills; doubled \
         or missing: {}",
        found.len()
    );
    assert_eq!(found, []);
    assert!(saved > made / 2, "they do get through: {saved} of {made}");
    drop((served, players));
}
