//! A guest that comes back with what it held, as bytes.

use super::simulation::{Random, Simulation, random_op};
use crate::edit::EditOp;
use crate::replicate::{GeneratorId, Host, HostOptions, LinkKind, LinkOptions, VirtualLink};

const LINK: LinkOptions = LinkOptions {
    loss: 0.0,
    duplicates: 0.0,
    delay_us: 20_000,
    jitter_us: 0,
    bytes_per_s: 2_000_000,
};

const EYE: [f64; 3] = [0.0, 10.0, 0.0];

/// A world that was dug, a guest that saw it, and what that guest held.
fn visited(has_generator: bool) -> (Simulation, Vec<u8>) {
    let mut game = Simulation::new(has_generator, 5);
    let mut random = Random(4);
    for _ in 0..40 {
        let op = random_op(&mut random, EYE);
        let edited = game.with_world(|host, world| host.edit(world, &op));
        edited.expect("the game may edit anywhere");
    }
    game.join(LinkKind::Reliable, LINK, EYE, 1);
    game.settle(2000);
    let cache = game.players[0].guest.cache();
    let gone = game.players.remove(0);
    game.with_world(|host, _| host.disconnect(gone.number, "the cable was pulled"));
    (game, cache)
}

/// Bytes that a guest is sent until it has all.
fn joined_with(game: &mut Simulation, cache: &[u8]) -> u64 {
    game.join(LinkKind::Reliable, LINK, EYE, 9);
    let player = game.players.last_mut().expect("it has joined");
    player.guest.use_cache(cache).expect("the cache is whole");
    game.settle(3000);
    let joined = game.players.pop().expect("it has joined");
    game.with_world(|host, _| host.disconnect(joined.number, "the cable was pulled"));
    joined.down.bytes()
}

#[test]
fn a_guest_with_a_cache_is_sent_what_changed_only() {
    for has_generator in [false, true] {
        let (mut game, cache) = visited(has_generator);
        let (all, same) = (joined_with(&mut game, &[]), joined_with(&mut game, &cache));
        assert!(same * 3 < all, "{same} of {all} bytes, generator {has_generator}");
        let dig = EditOp::dig_ball([70.0, -8.0, 70.0], 6.0);
        game.with_world(|host, world| host.edit(world, &dig)).expect("the game may");
        let changed = joined_with(&mut game, &cache);
        assert!(changed > same && changed < all, "{changed} of {all}, {same} without a change");
    }
}

#[test]
fn blocks_of_a_cache_that_are_far_from_the_viewer_are_neither_asked_for_nor_kept() {
    let (mut game, cache) = visited(true);
    let bytes = |game: &mut Simulation, cache: &[u8], eye: [f64; 3]| {
        game.join(LinkKind::Reliable, LINK, eye, 9);
        let player = game.players.last_mut().expect("it has joined");
        player.guest.use_cache(cache).expect("the cache is whole");
        let steps = game.settle(3000);
        let joined = game.players.pop().expect("it has joined");
        let near = joined.guest.blocks().filter(|block| block.mip == 0 && block.pos.x.abs() < 8);
        assert_eq!(near.count() == 0, eye != EYE);
        game.with_world(|host, _| host.disconnect(joined.number, "the cable was pulled"));
        (steps, joined.up.bytes())
    };
    let far = [40_000.0, 10.0, 0.0];
    let (with, without) = (bytes(&mut game, &cache, far), bytes(&mut game, &[], far));
    assert!(with.0 <= without.0 + 8 && with.1 <= without.1 + 200, "{with:?}, {without:?} without");
    bytes(&mut game, &cache, EYE);
}

#[test]
fn ground_of_another_generator_is_not_kept() {
    let mut game = Simulation::new(true, 5);
    game.join(LinkKind::Reliable, LINK, EYE, 1);
    game.settle(2000);
    let other = GeneratorId { version: 7, ..GeneratorId::default() };
    let options = HostOptions { generator: Some(other), max_mip: 5, ..HostOptions::default() };
    for (options, is_kept) in [(game.host.options.clone(), true), (options, false)] {
        game.host = Host::new(options);
        game.players[0].number = game.host.connect(LinkKind::Reliable);
        let player = &mut game.players[0];
        (player.up, player.down) = (VirtualLink::new(LINK, 3), VirtualLink::new(LINK, 4));
        player.guest.reconnect(LinkKind::Reliable);
        while !game.players[0].guest.is_started {
            game.step();
        }
        let guest = &game.players[0].guest;
        assert_eq!(guest.blocks().any(|block| guest.has(block)), is_kept);
        game.settle(2000);
    }
}

#[test]
fn a_damaged_cache_is_refused_or_does_no_harm_slow() {
    let (mut game, cache) = visited(true);
    let mut random = Random(11);
    for length in (0..cache.len()).step_by(1 + cache.len() / 40) {
        game.join(LinkKind::Reliable, LINK, EYE, 1);
        let player = game.players.last_mut().expect("it has joined");
        assert!(length == 0 || player.guest.use_cache(&cache[..length]).is_err());
        let gone = game.players.remove(0);
        game.with_world(|host, _| host.disconnect(gone.number, "the cable was pulled"));
    }
    let mut taken = 0;
    for _ in 0..60 {
        let mut bytes = cache.clone();
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
        game.join(LinkKind::Reliable, LINK, EYE, 9);
        let player = game.players.last_mut().expect("it has joined");
        taken += u32::from(player.guest.use_cache(&bytes).is_ok());
        game.settle(3000);
        let gone = game.players.remove(0);
        game.with_world(|host, _| host.disconnect(gone.number, "the cable was pulled"));
    }
    assert!(taken > 5, "{taken} damaged caches were taken");
}

#[test]
fn the_cache_of_another_world_is_dropped() {
    let (_, cache) = visited(true);
    let (mut other, _) = visited(false);
    let without = joined_with(&mut other, &[]);
    assert_eq!(joined_with(&mut other, &cache), without);
}
