//! Operations that are shown before they are sent.

use super::converge::{assert_shows, good_link};
use super::simulation::{Random, Simulation, hills, random_op};
use crate::edit::EditOp;
use crate::replicate::op_wire::rounded_op;
use crate::replicate::{Guest, LinkKind};
use crate::terrain::{Budget, Terrain, TerrainOptions, Viewer};
use std::collections::BTreeMap;

fn show(guest: &mut Guest, terrain: &mut Terrain) {
    let viewer = Viewer { position_m: [0.0, 10.0, 0.0], distance_m: 100.0 };
    guest.show(terrain, hills);
    terrain.update(&[viewer], Budget::Unlimited, |request| guest.fill(request, hills));
    guest.show(terrain, hills);
}

#[test]
fn a_terrain_shows_what_is_not_sent_after_all_that_is_slow() {
    let mut random = Random(7);
    let mut game = Simulation::new(true, 4);
    for seed in 0..2 {
        game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], seed);
    }
    game.settle(500);
    let mut terrain = Terrain::new(TerrainOptions::default());
    // What is to be shown, by its order.
    let mut unsent: BTreeMap<u64, EditOp> = BTreeMap::new();
    for round in 0..120 {
        let guest = &mut game.players[0].guest;
        let order = random.below(12);
        let op = random_op(&mut random, [0.0; 3]);
        match random.below(8) {
            0..=2 => {
                guest.show_unsent(order, &op).expect("it has started");
                unsent.insert(order, rounded_op(&op));
            }
            3 => {
                guest.hide_unsent(order);
                unsent.remove(&order);
            }
            // The first is sent, as after a break, or one of its own between.
            4 => {
                if let Some((order, op)) = unsent.pop_first() {
                    guest.edit(&op).expect("it is started");
                    guest.hide_unsent(order);
                }
            }
            5 | 6 => {
                let player = random.below(2) as usize;
                game.players[player].guest.edit(&op).expect("it is started");
            }
            _ if random.below(3) == 0 => {
                for (at, op) in game.reconnect(0, good_link(), round).into_iter().enumerate() {
                    let order = 100 * round + at as u64;
                    game.players[0].guest.show_unsent(order, &op).expect("it has started");
                    unsent.insert(order, op);
                }
                // Without the link, and in the frames until the start.
                for _ in 0..random.below(10) {
                    show(&mut game.players[0].guest, &mut terrain);
                    assert_shows(&game.players[0].guest, &terrain);
                    game.step();
                }
                game.settle(3000);
            }
            _ => (0..random.below(6)).for_each(|_| game.step()),
        }
        let guest = &mut game.players[0].guest;
        show(guest, &mut terrain);
        assert_shows(guest, &terrain);
        let sent = guest.pending_edits();
        let shown: Vec<_> = guest.predictions.ops_from(0).skip(sent).map(|(op, _)| op).collect();
        assert_eq!(shown, unsent.values().collect::<Vec<_>>());
    }
    for order in unsent.into_keys() {
        game.players[0].guest.hide_unsent(order);
    }
    game.settle(500);
    show(&mut game.players[0].guest, &mut terrain);
    assert_shows(&game.players[0].guest, &terrain);
    assert!(terrain.grid().is_saved());
}

#[test]
fn nothing_is_shown_before_the_first_start() {
    let mut guest = Guest::new(LinkKind::Reliable, b"");
    let refused = guest.show_unsent(1, &EditOp::dig_ball([0.0; 3], 4.0));
    assert!(refused.is_err_and(|error| error.to_string().contains("Guest::start")));
    guest.hide_unsent(1);
}
