//! Bodies and avatars: each guest has those near it, where the host has them.

use super::simulation::{Random, Simulation};
use crate::bodies::{BodyPose, LooseBody, LooseCutter, LooseOptions};
use crate::edit::EditOp;
use crate::replicate::body_size::MAX_SEEN_CELLS;
use crate::replicate::held_bodies::HeldBodies;
use crate::replicate::message::BodyMessage;
use crate::replicate::pose_wire::WirePose;
use crate::replicate::{
    Guest, GuestEvent, HostEvent, LinkKind, LinkOptions, SharedBody, SharedBodyKind,
};
use crate::voxel::{Cell, DenseBox, MaterialTable, Region, VoxelGrid};
use std::collections::BTreeMap;

fn pose_at(position_voxels: [f64; 3]) -> BodyPose {
    BodyPose { position_voxels, rotation: [0.0, 0.0, 0.0, 1.0] }
}

fn crate_at(position: [f64; 3]) -> SharedBody {
    SharedBody {
        kind: SharedBodyKind::Game(3),
        pose: pose_at(position),
        bytes: b"crate".as_slice().into(),
    }
}

fn random_near(random: &mut Random, from: [f64; 3], reach: f64) -> [f64; 3] {
    from.map(|v| v + random.between(-reach, reach))
}

/// What a guest should see: all bodies in blocks that it wants, up to mip 4, except its own avatar.
fn expected(game: &Simulation, player: usize) -> BTreeMap<u64, SharedBody> {
    let entry = &game.players[player];
    let wanted: std::collections::BTreeSet<_> = entry.guest.blocks().collect();
    let is_seen = |body: &SharedBody| {
        let [x, y, z] = body.pose.position_voxels.map(|v| v.floor() as i32);
        let chunk = crate::voxel::VoxelPos::new(x, y, z).chunk();
        let over = |mip| crate::voxel::MipBlock::from(chunk).over(mip);
        body.kind != SharedBodyKind::Avatar(entry.number)
            && (0..=4).any(|mip| wanted.contains(&over(mip)))
    };
    let seen = game.host.bodies().filter(|(_, body)| is_seen(body));
    seen.map(|(number, body)| (number, body.clone())).collect()
}

fn play(seed: u64) {
    let mut random = Random(seed);
    let mut game = Simulation::new(true, 5);
    for player in 0..2 {
        let (kind, link) = match random.below(2) {
            0 => (LinkKind::Reliable, LinkOptions { delay_us: 30_000, ..LinkOptions::default() }),
            _ => (
                LinkKind::Datagrams,
                LinkOptions {
                    loss: 0.1,
                    duplicates: 0.1,
                    delay_us: 40_000,
                    jitter_us: 40_000,
                    bytes_per_s: 300_000,
                },
            ),
        };
        game.join(kind, link, random_near(&mut random, [0.0; 3], 200.0), seed * 7 + player);
    }
    let mut numbers = Vec::new();
    for _ in 0..120 {
        for _ in 0..random.below(8) {
            game.step();
        }
        let at = random_near(&mut random, [0.0; 3], 300.0);
        let known = numbers.get(random.below(numbers.len().max(1) as u64) as usize).copied();
        match (random.below(8), known) {
            (0..3, _) => numbers.push(game.host.add_body(crate_at(at))),
            (3, Some(number)) => drop(game.host.remove_body(number)),
            (4, Some(number)) => {
                game.host.change_body(number, &seed.to_le_bytes());
            }
            (5, _) => {
                let player = &mut game.players[random.below(2) as usize];
                player.eye = random_near(&mut random, player.eye, 60.0);
                player.guest.set_avatar(&pose_at(player.eye), b"me");
            }
            (6, _) if random.below(10) == 0 => {
                let link = LinkOptions { delay_us: 20_000, ..LinkOptions::default() };
                game.reconnect(random.below(2) as usize, link, seed);
            }
            (_, Some(number)) => drop(game.host.move_body(number, &pose_at(at))),
            _ => {}
        }
    }
    game.settle(3000);
    for _ in 0..200 {
        game.step();
    }
    for player in 0..2 {
        let held = game.players[player].guest.bodies();
        let held: BTreeMap<_, _> = held.map(|(number, body)| (number, body.clone())).collect();
        assert_eq!(held, expected(&game, player), "guest {player} of seed {seed}");
    }
}

#[test]
fn guests_have_the_bodies_near_them_as_the_host_has_them() {
    (0..24).for_each(play);
}

#[test]
fn avatars_are_shown_to_others_and_leave_with_their_guests() {
    let mut game = Simulation::new(true, 5);
    for seed in 0..2 {
        game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], seed);
    }
    game.settle(500);
    game.players[0].guest.set_avatar(&pose_at([3.0, 9.0, 0.0]), b"anna");
    (0..20).for_each(|_| game.step());
    let (number, avatar) = game.players[1].guest.bodies().next().expect("it is near");
    let seen = (avatar.kind, &*avatar.bytes, avatar.pose);
    let kind = SharedBodyKind::Avatar(game.players[0].number);
    assert_eq!(seen, (kind, b"anna".as_slice(), pose_at([3.0, 9.0, 0.0])));
    assert_eq!(game.players[0].guest.bodies().count(), 0);
    let first = game.players[0].number;
    game.with_world(|host, _| host.disconnect(first, "the cable was pulled"));
    let gone = game.players.remove(0);
    (0..20).for_each(|_| game.step());
    drop(gone);
    assert_eq!(game.players[0].guest.bodies().count(), 0, "{number}");
}

#[test]
fn a_loose_piece_of_very_many_cells_is_neither_sent_nor_read() {
    let piece = |edge: i32, occupancy: u8| {
        let mut grid = VoxelGrid::default();
        let mut cells = DenseBox::new(Region::new([0; 3], [edge, 64, 64]));
        cells.fill(8);
        cells.arrays_mut().1.fill(occupancy);
        grid.write(&cells).expect("unlisted chunks are air");
        LooseBody::new(grid, [0; 3].into()).expect("it has cells")
    };
    // Cells of the least occupancy, 1/256, are cells too.
    for occupancy in [255, 0] {
        let (largest, larger) = (piece(64, occupancy), piece(65, occupancy));
        let sent = SharedBody::loose(&largest, largest.first_pose()).expect("it is small enough");
        assert_eq!(sent.to_loose(largest.grid.materials()).map(|body| body.cells), Ok(1 << 18));
        assert_eq!(SharedBody::loose(&larger, larger.first_pose()), None);
        // The code of a whole chunk, nine times.
        let mut bytes = sent.bytes.to_vec();
        let chunk = (bytes.len() - 4) / 8;
        bytes[3] = 9;
        bytes.extend_from_within(4..4 + chunk);
        let forged = SharedBody { bytes: bytes.into(), ..sent };
        let error = forged.to_loose(largest.grid.materials()).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains("262144 cells")), "{error:?}");
    }
}

#[test]
fn an_avatar_that_is_cleared_vanishes_and_comes_again_also_over_a_bad_link() {
    let mut game = Simulation::new(true, 5);
    let link = LinkOptions { loss: 0.3, delay_us: 20_000, ..LinkOptions::default() };
    for seed in 0..2 {
        game.join(LinkKind::Datagrams, link, [0.0, 10.0, 0.0], seed);
    }
    game.settle(2000);
    for _ in 0..3 {
        game.players[0].guest.set_avatar(&pose_at([3.0, 9.0, 0.0]), b"anna");
        (0..200).for_each(|_| game.step());
        assert_eq!(game.players[1].guest.bodies().count(), 1);
        game.players[0].guest.clear_avatar();
        (0..200).for_each(|_| game.step());
        assert_eq!(game.players[1].guest.bodies().count(), 0);
    }
    // One that has none has none after a break, too.
    game.reconnect(0, link, 9);
    (0..400).for_each(|_| game.step());
    assert_eq!(game.players[1].guest.bodies().count(), 0);
}

#[test]
fn a_guest_that_says_that_it_leaves_is_gone_at_once() {
    for kind in [LinkKind::Reliable, LinkKind::Datagrams] {
        let mut game = Simulation::new(true, 5);
        game.join(kind, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
        game.settle(500);
        let (number, now) = (game.players[0].number, game.now_us);
        let last = game.players[0].guest.leave();
        assert!(game.host.receive(number, &last, now).is_ok());
        assert!(game.host.guests().is_empty());
        let left = game.host.events().find_map(|event| match event {
            HostEvent::Left { guest, reason, .. } => Some((guest, reason)),
            _ => None,
        });
        assert_eq!(left, Some((number, "the guest left".to_owned())));
    }
}

#[test]
fn what_a_guest_and_the_game_tell_each_other_arrives_once_and_in_order() {
    for kind in [LinkKind::Reliable, LinkKind::Datagrams] {
        let mut game = Simulation::new(true, 5);
        let loss = if kind == LinkKind::Reliable { 0.0 } else { 0.2 };
        let link = LinkOptions { loss, delay_us: 30_000, ..LinkOptions::default() };
        assert!(!crate::replicate::Guest::new(kind, b"").send_message(b"too early"));
        game.join(kind, link, [0.0, 10.0, 0.0], 1);
        let own = game.players[0].number;
        assert!(!game.host.send_message(own, b"too early"));
        assert!(!game.host.send_message(own + 1, b"no guest"));
        game.settle(1000);
        let mut sent = Vec::new();
        for number in 0..40_u8 {
            let bytes = vec![number; usize::from(number) * 25];
            assert!(game.players[0].guest.send_message(&bytes));
            assert!(game.host.send_message(own, &bytes));
            sent.push(bytes);
        }
        let mut arrived = Vec::new();
        for _ in 0..400 {
            game.step();
            arrived.append(&mut game.messages);
        }
        assert!(arrived == sent, "{kind:?}");
        let told = std::mem::take(&mut game.players[0].told).into_iter();
        let sent = sent.into_iter().map(|bytes| GuestEvent::Message { bytes });
        assert!(told.eq(sent), "{kind:?}");
        // A guest that takes nothing is told no more than 64 KiB.
        let told = (0..100).filter(|_| game.host.send_message(own, &[0; 1024])).count();
        assert!((63..=65).contains(&told), "{told} messages of 1 KiB");
    }
}

#[test]
fn a_message_comes_before_the_edit_that_was_made_after_it() {
    let mut game = Simulation::new(true, 5);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let (now, player) = (game.now_us, &mut game.players[0]);
    assert!(player.guest.send_message(b"a pickaxe"));
    player.guest.edit(&EditOp::dig_ball([0.0; 3], 3.0)).unwrap();
    assert!(player.guest.send_message(b"a shovel"));
    player.guest.edit(&EditOp::dig_ball([5.0, 0.0, 0.0], 3.0)).unwrap();
    let mut packet = Vec::new();
    while player.guest.transmit(now, &mut packet) {
        game.host.receive(player.number, &packet, now).unwrap();
    }
    let mut said = Vec::new();
    // The work of one edit may be that of a tick.
    for _ in 0..2 {
        game.with_world(|host, world| {
            host.tick(world, now);
            said.extend(host.events().map(|event| match event {
                HostEvent::Message { bytes, .. } => bytes,
                HostEvent::Edited { .. } => b"an edit".to_vec(),
                event => panic!("{event:?}"),
            }));
        });
    }
    assert_eq!(said, [&b"a pickaxe"[..], b"an edit", b"a shovel", b"an edit"]);
}

#[test]
fn undo_and_redo_count_what_they_take_away_and_bring_back() {
    let mut game = Simulation::new(true, 5);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let counts = |game: &mut Simulation| {
        let now = game.now_us;
        let mut packet = Vec::new();
        while game.players[0].guest.transmit(now, &mut packet) {
            game.host.receive(game.players[0].number, &packet, now).unwrap();
        }
        game.with_world(|host, world| {
            host.tick(world, now);
            let count = |event| match event {
                HostEvent::Edited { removed, added, .. } => (removed, added),
                event => panic!("{event:?}"),
            };
            host.events().map(count).next().expect("an edit")
        })
    };
    game.players[0].guest.edit(&EditOp::fill_ball(9, [0.0, 4.0, 0.0], 6.0)).unwrap();
    let (_, added) = counts(&mut game);
    assert!(added.units(9) > 0, "{added:?}");
    game.players[0].guest.edit(&EditOp::dig_ball([0.0; 3], 5.0)).unwrap();
    let (dug, _) = counts(&mut game);
    assert!(dug.units(8) > 0 && dug.units(9) > 0, "{dug:?}");
    game.players[0].guest.undo().unwrap();
    let (removed, added) = counts(&mut game);
    assert_eq!((removed.total(), added), (0, dug.clone()));
    game.players[0].guest.redo().unwrap();
    let (removed, added) = counts(&mut game);
    assert_eq!((removed, added.total()), (dug, 0));
}

#[test]
fn a_resting_world_of_bodies_costs_nothing_to_send() {
    let mut game = Simulation::new(true, 5);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    for i in 0..100 {
        game.host.add_body(crate_at([f64::from(i), 9.0, 0.0]));
    }
    (0..50).for_each(|_| game.step());
    assert_eq!(game.players[0].guest.bodies().count(), 100);
    let bytes = game.players[0].down.bytes();
    (0..50).for_each(|_| game.step());
    assert_eq!(game.players[0].down.bytes(), bytes);
}

/// Steps until a guest over a slow link has all of a world, and then until its edit is confirmed,
/// while a game adds, changes, moves and removes bodies of so many bytes in each step.
fn steps_beside_churn(bodies_per_step: usize, bytes: usize) -> [u32; 2] {
    let mut game = Simulation::new(false, 3);
    let link = LinkOptions { delay_us: 20_000, bytes_per_s: 40_000, ..LinkOptions::default() };
    game.join(LinkKind::Datagrams, link, [0.0, 10.0, 0.0], 1);
    let mut numbers = std::collections::VecDeque::new();
    let mut until = |game: &mut Simulation, is_done: fn(&Guest) -> bool| {
        for step in 0..20_000 {
            if step > 0 && is_done(&game.players[0].guest) {
                return step;
            }
            for _ in 0..bodies_per_step {
                let body = SharedBody { bytes: vec![7; bytes].into(), ..crate_at([1.0, 9.0, 2.0]) };
                numbers.push_back(game.host.add_body(body));
            }
            for (at, &number) in (0..).zip(&numbers) {
                game.host.move_body(number, &pose_at([2.0, 9.0 + f64::from(step % 7 + at), 2.0]));
                game.host.change_body(number, &vec![step as u8; bytes]);
            }
            while numbers.len() > 200 {
                game.host.remove_body(numbers.pop_front().expect("more than 200"));
            }
            game.step();
        }
        panic!("not there after 200 simulated seconds");
    };
    let has_all = |guest: &Guest| guest.blocks().count() > 0 && guest.is_complete();
    let joined = until(&mut game, has_all);
    let op = EditOp::dig_ball([0.0, 0.0, 0.0], 4.0);
    game.players[0].guest.edit(&op).expect("it has started");
    [joined, until(&mut game, |guest| guest.pending_edits() == 0)]
}

#[test]
fn bodies_that_come_and_go_leave_a_slow_guest_half_of_its_link_slow() {
    let alone = steps_beside_churn(0, 0);
    // A new link takes 48 KiB before it knows how slow it is, and bodies save up 12 KiB: 154 steps.
    let window = 160;
    for bytes in [0, 1000] {
        let beside = steps_beside_churn(40, bytes);
        assert!(beside[0] < 2 * alone[0] + window, "{bytes}: {beside:?}, alone {alone:?}");
        assert!(beside[1] < 150, "{bytes}: {beside:?}, alone {alone:?}");
    }
}

#[test]
fn a_moving_body_takes_few_bytes_and_is_shown_between_its_poses() {
    let mut game = Simulation::new(true, 5);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let number = game.host.add_body(crate_at([0.0, 9.0, 0.0]));
    (0..20).for_each(|_| game.step());
    let before = game.players[0].down.bytes();
    let mut last = 0.0;
    for step in 1..=200 {
        let x = f64::from(step) * 0.1;
        game.host.move_body(number, &pose_at([x, 9.0, 0.0]));
        game.step();
        let now_us = game.now_us;
        let shown = game.players[0].guest.body_pose(number, now_us).expect("it is seen");
        let shown = shown.position_voxels[0];
        assert!(shown >= last && shown - last < 0.4 && shown <= x + 0.01, "{last} {shown} {x}");
        last = shown;
    }
    assert!(last > 18.5, "{last}");
    let bytes = game.players[0].down.bytes() - before;
    assert!(bytes < 41 * 40, "{bytes} bytes for 40 poses in two seconds");
}

#[test]
fn a_loose_piece_arrives_as_it_was_cut() {
    let mut game = Simulation::new(false, 3);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let mut cutter = LooseCutter::default();
    let mut tower = DenseBox::new(Region::new([30, -2, -2], [34, 24, 2]));
    tower.fill(8);
    game.grid.write(&tower).expect("unlisted chunks are air");
    game.with_world(|host, world| host.changed(world, tower.region()));
    let dig = EditOp::dig_ball([32.0, 12.0, 0.0], 5.0);
    let dug = game.with_world(|host, world| host.edit(world, &dig)).expect("the game may");
    cutter.touch(dug.region);
    let options = LooseOptions::floor(-60);
    let cut = cutter.cut(&mut game.grid, None, &options).expect("all is held");
    let [piece] = &*cut.bodies else { panic!("{} pieces", cut.bodies.len()) };
    let bounds = piece.bounds;
    let off = piece.origin_voxel;
    let was = Region { min: bounds.min + off, max: bounds.max + off };
    game.with_world(|host, world| host.changed(world, was));
    let body = SharedBody::loose(piece, piece.first_pose()).expect("it is small");
    assert!(body.bytes.len() < 200, "{} bytes", body.bytes.len());
    game.host.add_body(body);
    game.settle(500);
    (0..20).for_each(|_| game.step());
    let guest = &mut game.players[0].guest;
    let materials = guest.grid().expect("it has started").materials().clone();
    let (_, arrived) = guest.bodies().next().expect("it is near");
    let arrived = arrived.to_loose(&materials).expect("the host is honest");
    assert_eq!((arrived.cells, arrived.origin_voxel), (piece.cells, piece.origin_voxel));
    assert_eq!(arrived.grid.digest().ok(), piece.grid.digest().ok());
    assert!(guest.events().all(|event| event != GuestEvent::Corrected));
}

#[test]
fn what_is_no_loose_piece_is_refused() {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([1, 2, 3], [40, 5, 6]));
    cells.fill(8);
    grid.write(&cells).expect("unlisted chunks are air");
    let piece = LooseBody::new(grid, [64, 0, -32].into()).expect("all is held");
    let body = SharedBody::loose(&piece, piece.first_pose()).expect("it is small");
    let materials = MaterialTable::default();
    for length in 0..body.bytes.len() {
        let cut = SharedBody { bytes: body.bytes[..length].into(), ..body.clone() };
        assert!(cut.to_loose(&materials).is_err(), "{length}");
    }
    let mut random = Random(7);
    for _ in 0..2000 {
        let mut bytes = body.bytes.to_vec();
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
        let _ = SharedBody { bytes: bytes.into(), ..body.clone() }.to_loose(&materials);
    }
    let mut long = VoxelGrid::default();
    for x in 0..300 {
        long.write(&{
            let mut cell = DenseBox::new(Region::one([x * 32, 0, 0].into()));
            cell.fill(8);
            cell
        })
        .expect("unlisted chunks are air");
    }
    let long = LooseBody::new(long, [0, 0, 0].into()).expect("all is held");
    assert!(SharedBody::loose(&long, long.first_pose()).is_none());
}

#[test]
fn bodies_that_grow_beyond_what_a_guest_may_see_do_not_cost_it_its_link() {
    let mut game = Simulation::new(true, 3);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    let bodies: Vec<u64> = (0..300).map(|_| game.host.add_body(crate_at([1.0; 3]))).collect();
    game.settle(500);
    assert_eq!(game.players[0].guest.bodies().count(), 300);
    for body in bodies {
        assert!(game.host.change_body(body, &[7; SharedBody::MAX_BYTES]));
    }
    for _ in 0..600 {
        game.step();
    }
    let bytes: usize = game.players[0].guest.bodies().map(|(_, body)| body.bytes.len()).sum();
    // Of 18.75 MiB, 16 can be seen.
    assert!((15 << 20..=16 << 20).contains(&bytes), "{bytes}");
}

/// A loose piece that takes 2¹⁸ cells of boxes: eight cells, one in each of eight chunks.
fn wide_piece() -> SharedBody {
    let (mut grid, mut cells) = (VoxelGrid::default(), DenseBox::new(Region::new([0; 3], [64; 3])));
    for corner in 0..8 {
        let at = [0, 1, 2].map(|axis| 63 * (corner >> axis & 1));
        cells.set(at.into(), Cell::new(8, 255));
    }
    grid.write(&cells).expect("unlisted chunks are air");
    let piece = LooseBody::new(grid, [0; 3].into()).expect("it has cells");
    SharedBody::loose(&piece, pose_at([1.0; 3])).expect("it is small")
}

#[test]
fn a_guest_sees_as_many_pieces_as_their_cells_allow_and_others_once_some_are_gone() {
    let mut game = Simulation::new(true, 3);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    let piece = wide_piece();
    let bodies = Vec::from_iter((0..70).map(|_| game.host.add_body(piece.clone())));
    game.settle(500);
    (0..200).for_each(|_| game.step());
    let seen = |game: &Simulation| game.players[0].guest.bodies().count();
    assert_eq!((seen(&game), MAX_SEEN_CELLS >> 18), (64, 64));
    let last = bodies[69];
    assert_eq!(game.players[0].guest.body(last), None);
    assert!(bodies[..10].iter().all(|&body| game.host.remove_body(body).is_some()));
    (0..200).for_each(|_| game.step());
    assert_eq!(seen(&game), 60);
    assert_eq!(game.players[0].guest.body(last).map(|body| &body.bytes), Some(&piece.bytes));
}

#[test]
fn a_host_that_sends_pieces_of_too_many_cells_is_told_so() {
    let mut held = HeldBodies::default();
    let SharedBody { kind, bytes, pose } = wide_piece();
    let pose = WirePose::of(&pose).expect("it is valid");
    let message = |number| BodyMessage { after: 0, number, kind, pose, bytes: bytes.clone() };
    // A body that comes again counts once.
    for number in (0..64).chain(0..64) {
        assert!(held.put(message(number), 0).is_ok());
    }
    let error = held.put(message(64), 0).expect_err("they are too many");
    assert!(error.contains("17039360 cells in all; at most 16777216 and 16777216"), "{error}");
}
