//! In the end all guests have what the host has.

use super::simulation::{Random, Simulation, hills, random_op};
use crate::edit::{EditOp, Editor};
use crate::replicate::accounts::Account;
use crate::replicate::pipe::BULK;
use crate::replicate::{
    Guest, GuestEvent, HostEvent, HostOptions, Interest, LinkKind, LinkOptions, Verdict,
};
use crate::terrain::{Budget, FillRequest, LodOptions, Placement, Terrain, TerrainOptions, Viewer};
use crate::voxel::{
    Cell, ChangeCursor, Changes, ChunkPos, ChunkState, DenseBox, GridOptions, MipBlock, Region,
    UnlistedChunks, VoxelGrid,
};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) fn good_link() -> LinkOptions {
    LinkOptions { delay_us: 20_000, ..LinkOptions::default() }
}

#[test]
fn a_guest_is_told_of_a_save_after_what_is_in_it_was_confirmed() {
    let mut game = Simulation::new(true, 4);
    // What was replaced is confirmed behind its cells, a save ahead of them.
    game.decide = |_, op| Verdict::Replace(Box::new(op.clone()));
    let link = LinkOptions { bytes_per_s: 20_000, ..good_link() };
    game.join(LinkKind::Reliable, link, [0.0, 10.0, 0.0], 1);
    game.settle(3000);
    for dig in 0..20 {
        let dig = EditOp::dig_ball([f64::from(dig), 0.0, 0.0], 4.0);
        game.players[0].guest.edit(&dig).expect("it is started");
        for _ in 0..4 {
            game.step();
            let point = game.host.save_point();
            game.host.note_saved(&point);
        }
    }
    game.settle(3000);
    let (mut confirmed, mut saved) = (0, 0);
    for event in &game.players[0].told {
        match *event {
            GuestEvent::Confirmed { number, .. } => confirmed = number,
            GuestEvent::Saved { first, last } => {
                assert!(saved < last && last <= confirmed, "{last} after {confirmed}");
                assert_eq!(first, 1);
                saved = last;
            }
            _ => {}
        }
    }
    assert_eq!((confirmed, saved), (20, 20));
}

/// Digs, breaks the link between a guest and a host of some instances, digs again, and saves. Returns
/// what the guest is told of the save.
fn saved_after_a_break(instances: [u64; 2]) -> GuestEvent {
    let mut game = Simulation::new(true, 4);
    game.host.options.instance = instances[0];
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(3000);
    let dig = |game: &mut Simulation| {
        let dug = game.players[0].guest.edit(&EditOp::dig_ball([0.0; 3], 4.0));
        dug.expect("it is started")
    };
    assert_eq!(dig(&mut game), 1);
    game.settle(3000);
    // One more is on its way when the link breaks.
    assert_eq!(dig(&mut game), 2);
    assert_eq!(game.reconnect(0, good_link(), 5).len(), 1);
    game.host.options.instance = instances[1];
    game.settle(3000);
    assert_eq!(dig(&mut game), 3);
    game.settle(3000);
    game.host.note_all_saved();
    (0..20).for_each(|_| game.step());
    game.players[0].told.pop().expect("it was told")
}

#[test]
fn what_was_confirmed_before_a_break_is_told_to_be_saved_by_the_same_host_alone() {
    assert_eq!(saved_after_a_break([7, 7]), GuestEvent::Saved { first: 1, last: 3 });
    // Another host knows nothing of it, and one that does not say may be another.
    assert_eq!(saved_after_a_break([7, 8]), GuestEvent::Saved { first: 3, last: 3 });
    assert_eq!(saved_after_a_break([0, 0]), GuestEvent::Saved { first: 3, last: 3 });
}

#[test]
fn a_guest_that_digs_no_more_is_told_of_the_save_of_what_it_dug_before_a_break() {
    let mut game = Simulation::new(true, 4);
    game.host.options.instance = 7;
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(3000);
    game.players[0].guest.edit(&EditOp::dig_ball([0.0; 3], 4.0)).expect("it is started");
    game.settle(3000);
    game.reconnect(0, good_link(), 5);
    game.settle(3000);
    game.host.note_all_saved();
    (0..20).for_each(|_| game.step());
    let saved = GuestEvent::Saved { first: 1, last: 1 };
    assert_eq!(game.players[0].told.last(), Some(&saved));
}

#[test]
fn a_guest_of_a_generated_world_is_sent_what_was_edited_only() {
    let mut game = Simulation::new(true, 5);
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let blocks = game.players[0].guest.blocks().count();
    let bytes = game.players[0].down.bytes();
    assert!(blocks > 100, "{blocks} blocks");
    assert!(bytes < 12 * blocks as u64 + 4000, "{bytes} bytes for {blocks} blocks");
    game.players[0].guest.edit(&EditOp::dig_ball([0.0, 2.0, 0.0], 5.0)).expect("it is started");
    game.settle(100);
    assert!(game.players[0].down.bytes() - bytes < 150, "{}", game.players[0].down.bytes() - bytes);
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 3);
    game.settle(500);
    assert_eq!(game.players[1].corrected, 0);
}

#[test]
fn a_dig_reaches_another_guest_as_an_operation_of_few_bytes() {
    let mut game = Simulation::new(true, 5);
    for seed in 0..2 {
        game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], seed);
    }
    game.settle(500);
    let before = game.players[1].down.bytes();
    for i in 0..5 {
        let centre = [f64::from(i), 1.5, 3.25];
        game.players[0].guest.edit(&EditOp::dig_ball(centre, 4.0)).expect("it is started");
        game.settle(100);
    }
    let bytes = (game.players[1].down.bytes() - before) / 5;
    assert!(bytes <= 60, "{bytes} bytes a dig with headers and acknowledgements");
    assert_eq!(game.players[1].corrected, 0);
}

#[test]
fn after_a_break_of_the_link_a_terrain_makes_again_only_what_changed() {
    let mut game = Simulation::new(true, 4);
    let eye = [0.0, 10.0, 0.0];
    game.join(LinkKind::Reliable, good_link(), eye, 1);
    game.settle(500);
    let mut terrain = Terrain::new(TerrainOptions::default());
    let viewer = Viewer { position_m: eye, distance_m: 100.0 };
    let made = AtomicUsize::new(0);
    let ground = |request: &mut FillRequest<'_>| {
        made.fetch_add(1, Ordering::Relaxed);
        hills(request);
    };
    for _ in 0..30 {
        let guest = &mut game.players[0].guest;
        guest.show(&mut terrain, ground);
        terrain.update(&[viewer], Budget::Unlimited, |request| guest.fill(request, ground));
    }
    assert!(made.swap(0, Ordering::Relaxed) > 50, "the view was made");
    game.reconnect(0, good_link(), 9);
    for _ in 0..200 {
        game.step();
        game.players[0].guest.show(&mut terrain, ground);
    }
    assert!(game.players[0].guest.is_complete());
    assert_eq!(made.into_inner(), 0, "nothing changed meanwhile");
}

#[test]
#[should_panic(expected = "it needs that of the world")]
fn a_terrain_of_another_scale_is_refused() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
    let mut terrain = Terrain::new(TerrainOptions { placement, ..TerrainOptions::default() });
    game.players[0].guest.show(&mut terrain, hills);
}

#[test]
fn refused_edits_vanish_without_a_trace() {
    let mut game = Simulation::new(true, 4);
    game.decide = |_, op| match op {
        EditOp::Brush(op) if op.falloff > 0.0 => Verdict::Refuse("no soft brushes".into()),
        _ => Verdict::Accept,
    };
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let options = TerrainOptions::default();
    let (mut terrain, viewer) = (Terrain::new(options), Viewer::at([0.0, 10.0, 0.0]));
    let guest = &mut game.players[0].guest;
    for _ in 0..30 {
        terrain.update(&[viewer], Budget::Unlimited, |request| guest.fill(request, hills));
    }
    let region = Region::new([-8, -8, -8], [8, 8, 8]);
    let read = |terrain: &Terrain| {
        let mut cells = DenseBox::default();
        terrain.grid().read(region, 0, &mut cells).expect("it is near");
        cells
    };
    let before = read(&terrain);
    let mut op = EditOp::dig_ball([0.0, 0.0, 0.0], 5.0);
    if let EditOp::Brush(op) = &mut op {
        op.falloff = 1.0;
    }
    game.players[0].guest.edit(&op).expect("it is started");
    game.players[0].guest.show(&mut terrain, hills);
    assert!(read(&terrain) != before, "it shows at once");
    game.settle(100);
    game.players[0].guest.show(&mut terrain, hills);
    assert_eq!(game.players[0].refused, 1);
    assert!(read(&terrain) == before);
    assert!(terrain.grid().is_saved());
}

#[test]
fn a_terrain_shows_the_hosts_cells_with_predictions_on_top_slow() {
    let mut random = Random(5);
    let mut game = Simulation::new(true, 4);
    for seed in 0..2 {
        game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], seed);
    }
    game.settle(500);
    let mut terrain = Terrain::new(TerrainOptions::default());
    let mut waited = 0;
    for round in 0..60 {
        let player = random.below(2) as usize;
        let op = random_op(&mut random, [0.0; 3]);
        game.players[player].guest.edit(&op).expect("it is started");
        (0..random.below(6)).for_each(|_| game.step());
        if round == 59 {
            game.settle(500);
        }
        // Now and then the ground leaves memory.
        let x = if random.below(9) == 0 && round < 59 { 900.0 } else { 0.0 };
        let viewer = Viewer { position_m: [x, 10.0, 0.0], distance_m: 100.0 };
        let guest = &mut game.players[0].guest;
        waited += usize::from(guest.pending_edits() > 1);
        guest.show(&mut terrain, hills);
        terrain.update(&[viewer], Budget::Unlimited, |request| guest.fill(request, hills));
        guest.show(&mut terrain, hills);
        assert_shows(guest, &terrain);
    }
    assert!(waited > 5, "several edits waited {waited} times");
    assert!(chunks_of_both(&game.players[0].guest, &terrain).count() > 20);
    assert_eq!(game.players[0].guest.pending_edits(), 0);
}

/// Returns the chunks that a guest and its terrain hold.
fn chunks_of_both(guest: &Guest, terrain: &Terrain) -> impl Iterator<Item = MipBlock> {
    let is_held = |block: &MipBlock| {
        let [x, y, z] = block.pos.to_array();
        terrain.grid().held(ChunkPos::new(x, y, z)) == ChunkState::Mip(0)
    };
    guest.blocks().filter(|block| block.mip == 0).filter(is_held)
}

/// Asserts that a terrain shows the host's cells with all predictions applied to them in order.
pub fn assert_shows(guest: &Guest, terrain: &Terrain) {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let (mut twin, mut cells) = (VoxelGrid::new(options), DenseBox::default());
    for block in chunks_of_both(guest, terrain) {
        if guest.read(block, hills, &mut cells) {
            twin.load(&cells);
        }
    }
    let mut editor = Editor::default();
    for (op, _) in guest.predictions.ops_from(0) {
        let _ = editor.apply(&mut twin, op, None); // not shown where cells are missing
    }
    let mut shown = DenseBox::default();
    for chunk in twin.chunks() {
        twin.read(chunk.region(), 0, &mut cells).expect("it is listed");
        terrain.grid().read(chunk.region(), 0, &mut shown).expect("it is held");
        assert!(cells == shown, "{chunk}");
    }
}

#[test]
fn an_edit_that_waits_for_the_host_is_written_once() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let mut terrain = Terrain::new(TerrainOptions::default());
    let viewer = Viewer { position_m: [0.0, 10.0, 0.0], distance_m: 60.0 };
    let update = |game: &mut Simulation, terrain: &mut Terrain| {
        let guest = &mut game.players[0].guest;
        guest.show(terrain, hills);
        terrain.update(&[viewer], Budget::Unlimited, |request| guest.fill(request, hills));
    };
    (0..5).for_each(|_| update(&mut game, &mut terrain));
    let mut cursor = ChangeCursor::default();
    terrain.grid().changes_since(&mut cursor);
    game.players[0].guest.edit(&EditOp::dig_ball([0.0; 3], 4.0)).expect("it is started");
    update(&mut game, &mut terrain);
    assert_eq!(
        terrain.grid().changes_since(&mut cursor),
        Changes::Regions(vec![Region::new([-4; 3], [4; 3])])
    );
    (0..5).for_each(|_| update(&mut game, &mut terrain));
    assert_eq!(game.players[0].guest.pending_edits(), 1);
    game.settle(500);
    (0..5).for_each(|_| update(&mut game, &mut terrain));
    assert_eq!(game.players[0].guest.pending_edits(), 0);
    let none = Changes::Regions(Vec::new());
    assert_eq!(terrain.grid().changes_since(&mut cursor), none, "the host's cells are the same");

    // One over another: the reply to the first leaves both as they are.
    game.players[0].guest.edit(&EditOp::dig_ball([9.0, 0.0, 0.0], 4.0)).expect("it is started");
    game.step();
    game.players[0]
        .guest
        .edit(&EditOp::fill_ball(1, [11.0, 0.0, 0.0], 4.0))
        .expect("it is started");
    update(&mut game, &mut terrain);
    assert_ne!(terrain.grid().changes_since(&mut cursor), none);
    while game.players[0].guest.pending_edits() > 1 {
        game.step();
    }
    update(&mut game, &mut terrain);
    assert_eq!(game.players[0].guest.pending_edits(), 1);
    assert_eq!(terrain.grid().changes_since(&mut cursor), none, "the second is shown already");
    assert_shows(&game.players[0].guest, &terrain);
}

#[test]
fn blocks_under_one_that_was_on_its_way_are_asked_for_again_after_a_break() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let chunk = MipBlock::new(0, [0, 0, 0]);
    // As if the one over it had been dropped and wanted again.
    let replica = game.players[0].guest.replica.as_mut().expect("it has started");
    assert!(replica.blocks.contains_key(&chunk));
    replica.blocks.insert(chunk.over(2), crate::replicate::replica::BlockState::Wanted);
    game.reconnect(0, good_link(), 3);
    assert!(!game.players[0].guest.blocks().any(|block| block == chunk));
    game.with_world(|host, world| host.edit(world, &EditOp::dig_ball([9.0; 3], 8.0)))
        .expect("the game may edit anywhere");
    game.settle(500);
    assert!(game.players[0].guest.blocks().any(|block| block == chunk));
}

#[test]
fn a_guest_that_comes_back_is_sent_only_what_changed() {
    let mut game = Simulation::new(false, 3);
    for seed in 0..2 {
        game.join(LinkKind::Datagrams, good_link(), [0.0, 10.0, 0.0], 2 * seed);
    }
    game.settle(2000);
    let whole = game.players[1].down.bytes();
    game.reconnect(1, good_link(), 77);
    game.players[0].guest.edit(&EditOp::dig_ball([3.0, 0.0, 3.0], 4.0)).expect("it is started");
    game.settle(2000);
    let again = game.players[1].down.bytes();
    assert!(again * 2 < whole, "{again} bytes after {whole}");
}

#[test]
fn a_guest_that_asks_for_blocks_again_gets_the_hosts_slow() {
    // Ground that the host makes alone: its coarse cells are not computed from finer ones.
    let mut game = Simulation::new(true, 4);
    game.makes_ground = false;
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(2000);
    for mip in 0..=4 {
        let replica = game.players[0].guest.replica.as_mut().expect("it has started");
        replica.outdated.extend(replica.blocks.keys().filter(|block| block.mip == mip));
        (0..30).for_each(|_| game.step());
        // The host reads so many only in some time.
        let (account, options) = (Account::Guest(game.players[0].number), HostOptions::default());
        while !game.host.accounts.budget(&account, &options).may_ask() {
            game.step();
        }
        game.settle(2000);
    }
}

#[test]
fn blocks_that_do_not_compress_fit_their_messages_slow() {
    let mut game = Simulation::new(false, 4);
    let (mut random, mut noise) = (Random(8), DenseBox::new(Region::new([-32; 3], [32; 3])));
    for pos in noise.region().voxels() {
        let bits = random.next();
        let material = 2 + (bits % 40) as u8;
        noise.set(pos, Cell { material, occupancy: (bits >> 8) as u8 });
        noise.set_water(pos, (bits >> 16 & 1 == 1).then_some((bits >> 24) as u8));
    }
    game.grid.write(&noise).expect("unlisted chunks are air");
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(2000);
    assert!(game.players[0].down.bytes() > 600_000, "{}", game.players[0].down.bytes());
}

#[test]
fn a_round_trip_of_three_seconds_makes_progress() {
    let mut game = Simulation::new(false, 3);
    let link = LinkOptions { delay_us: 1_500_000, ..LinkOptions::default() };
    game.join(LinkKind::Datagrams, link, [0.0, 10.0, 0.0], 1);
    game.settle(10_000);
}

#[test]
fn a_block_at_the_limit_of_the_world_can_be_wanted() {
    let mut game = Simulation::new(true, 5);
    let far = f64::from(crate::voxel::LIMIT) - 1.0;
    game.join(LinkKind::Reliable, good_link(), [far, -far, far], 1);
    game.settle(500);
    assert!(game.players[0].guest.blocks().all(MipBlock::within_limits));
}

#[test]
fn what_was_here_can_still_be_read_while_the_link_is_broken() {
    for has_generator in [false, true] {
        let mut game = Simulation::new(has_generator, 3);
        game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
        game.settle(2000);
        let mut before = DenseBox::default();
        let cells = |game: &Simulation, block, out: &mut DenseBox| {
            assert!(game.players[0].guest.has(block));
            assert!(game.players[0].guest.read(block, hills, out), "{block}");
        };
        let blocks: Vec<_> = game.players[0].guest.blocks().collect();
        let held = Vec::from_iter(blocks.iter().map(|&block| {
            cells(&game, block, &mut before);
            before.clone()
        }));
        game.reconnect(0, good_link(), 77);
        for (&block, held) in blocks.iter().zip(&held) {
            cells(&game, block, &mut before);
            assert!(before == *held, "{block}");
        }
        game.settle(2000);
    }
}

#[test]
fn cells_that_undo_an_operation_are_asked_for_again() {
    let mut game = Simulation::new(false, 3);
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(2000);
    let replica = game.players[0].guest.replica.as_mut().expect("it has started");
    let chunk = MipBlock::new(0, [0, 0, 0]);
    // An operation there was the seventh message about edits.
    replica.recent.insert(ChunkPos::new(0, 0, 0), 7);
    replica.note_overdue(7, &[chunk]);
    assert!(replica.outdated.is_empty(), "they are from after it");
    replica.recent.insert(ChunkPos::new(0, 0, 0), 7);
    replica.note_overdue(6, &[chunk]);
    assert!(replica.outdated.contains(&chunk) && replica.outdated.contains(&chunk.over(3)));
    game.settle(2000);
}

#[test]
fn a_guest_that_loses_its_link_while_it_asks_again_says_no_more_than_hello() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Datagrams, good_link(), [0.0, 10.0, 0.0], 1);
    game.settle(2000);
    let slow = LinkOptions { delay_us: 200_000, ..LinkOptions::default() };
    for seed in 0..3 {
        game.reconnect(0, slow, 10 + seed);
        // It is let in, and asks for a part of what it has. The host refuses more than 4 KiB before that.
        while !game.players[0].guest.is_started {
            game.step();
        }
        game.step();
    }
    game.reconnect(0, good_link(), 20);
    game.settle(2000);
}

#[test]
fn a_guest_whose_link_takes_nothing_asks_again_for_what_it_holds_a_little_at_a_time() {
    let mut game = Simulation::new(true, 4);
    game.interest = Interest { view_voxels: 400.0, near_voxels: 300.0, ..game.interest };
    game.join(LinkKind::Reliable, good_link(), [0.0, 10.0, 0.0], 1);
    while !game.players[0].guest.is_complete() {
        game.step();
    }
    game.reconnect(0, good_link(), 5);
    while !game.players[0].guest.is_started {
        game.step();
    }
    let guest = &mut game.players[0].guest;
    let held = guest.blocks().count();
    (0..1000).for_each(|_| guest.update(hills).expect("the host is honest"));
    let unsent = guest.pipe.unsent(BULK);
    // Five bytes a block.
    assert!(held > 4000 && (16 << 10..18 << 10).contains(&unsent), "{unsent} bytes of {held}");
}

#[test]
fn edits_of_the_game_itself_can_be_logged() {
    let mut game = Simulation::new(true, 3);
    game.with_world(|host, world| {
        let dug = host.edit(world, &EditOp::dig_ball([0.0; 3], 5.0)).expect("it is allowed");
        let events = Vec::from_iter(host.events());
        let [HostEvent::Edited { guest: 0, op: Some(_), region, removed, before, .. }] =
            &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!((*region, before.region()), (dug.region, dug.region));
        assert!(removed.voxels(8) > 0.0 && *removed == dug.removed);
    });
}

#[test]
fn a_terrain_gets_all_that_it_shows_by_the_interest_of_its_options_slow() {
    for (max_mip, view_m, height) in [(2, 100.0, 20.0), (4, 300.0, 90.0), (8, 400.0, 90.0)] {
        let mut game = Simulation::new(true, 8);
        let lod = LodOptions { detail: 1.2, max_mip, ..LodOptions::default() };
        game.interest = Interest::for_lod(&lod, view_m);
        game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, height, 0.0], 1);
        let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
        let viewer = Viewer { position_m: [0.0, height, 0.0], distance_m: view_m };
        let mut steps = 0;
        while !terrain.is_settled() || steps < 10 {
            game.step();
            let guest = &mut game.players[0].guest;
            terrain.update(&[viewer], Budget::Unlimited, |request| guest.fill(request, hills));
            guest.show(&mut terrain, hills);
            steps += 1;
            assert!(steps < 1000, "mip {max_mip}, {view_m} m: blocks are missing");
        }
        assert!(terrain.meshed_blocks().len() > 8);
    }
}
