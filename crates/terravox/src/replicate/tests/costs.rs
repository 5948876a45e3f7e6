//! What accounts cost a host: charged to them before it is done, and bounded.

use super::seat::Seat;
use super::simulation::{Simulation, TICK_US, hills};
use crate::edit::{Action, Brush, BrushOp, Clip, EditOp, Editor, PasteOp, PastePose};
use crate::replicate::accounts::Account;
use crate::replicate::host_accounts::WORK_PER_BLOCK;
use crate::replicate::message::ToHost;
use crate::replicate::{Host, HostWorld, LinkKind, LinkOptions, RefusalCode, Verdict};
use crate::terrain::{FillRequest, Placement};
use crate::voxel::{DenseBox, MipBlock, Region};
use std::collections::BTreeMap;

fn ada() -> Account {
    Account::Named("ada".into())
}

/// A dig along 1,024 voxels: 32 chunks, and 45 coarse blocks over them up to mip 8.
fn long_dig() -> EditOp {
    let brush = Brush::Box {
        centre: [512.0, -8.0, 16.0],
        half: [510.0, 1.0, 1.0],
        rotation: [0.0, 0.0, 0.0, 1.0],
    };
    BrushOp::new(brush, Action::Dig).into()
}

#[test]
fn a_dig_is_paid_for_with_the_coarse_blocks_that_it_makes_before_they_are_made() {
    let mut game = Simulation::new(true, 8);
    // Twice as much at once: more than the chunks cost, and the dig itself.
    game.host.options.edit_work_per_s = 20_000_000;
    let mut seat = Seat::new(&mut game);
    seat.say(&ToHost::Edit { number: 1, op: Box::new(long_dig()) });
    seat.step(&mut game);
    seat.step(&mut game);
    assert_eq!(seat.refusals, [RefusalCode::TooMuchWork]);
    assert_eq!(game.host.truth.coarse_blocks(), 0);
    assert!(game.grid.unsaved_chunks().is_empty());
}

/// What is saved of a world: blocks of any mip.
type SavedBlocks = BTreeMap<MipBlock, DenseBox>;

fn with_saved<R>(
    game: &mut Simulation,
    saved: &SavedBlocks,
    work: impl FnOnce(&mut Host, &mut HostWorld<'_>) -> R,
) -> R {
    let ground = |request: &mut FillRequest<'_>| match saved.get(&request.block()) {
        Some(cells) => request.cells().clone_from(cells),
        None => hills(request),
    };
    with_ground(game, &ground, work)
}

/// Calls a function with the host, and its world above this ground.
fn with_ground<R>(
    game: &mut Simulation,
    ground: &dyn Fn(&mut FillRequest<'_>),
    work: impl FnOnce(&mut Host, &mut HostWorld<'_>) -> R,
) -> R {
    let mut decide = |_: u64, _: &EditOp| Verdict::Accept;
    let mut world = HostWorld {
        grid: &mut game.grid,
        placement: Placement::default(),
        ground,
        generated: &hills,
        prefetch: &|_| true,
        decide: &mut decide,
    };
    work(&mut game.host, &mut world)
}

#[test]
fn coarse_blocks_over_saved_chunks_are_evicted_and_a_guest_sees_what_the_host_has() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(400);
    // The guest holds what is here.
    game.players[0].guest.edit(&EditOp::dig_ball([3.0, 0.0, 3.0], 5.0)).expect("it has started");
    game.settle(400);
    let mut saved = SavedBlocks::new();
    for far in 0..60 {
        let dig = EditOp::dig_ball([900.0 * f64::from(far + 1), 0.0, 0.0], 3.0);
        with_saved(&mut game, &saved, |host, world| host.edit(world, &dig)).expect("it is sound");
        for chunk in game.grid.unsaved_chunks() {
            for mip in 0..=4 {
                let (block, mut cells) = (MipBlock::from(chunk).over(mip), DenseBox::default());
                let read = |host: &mut Host, world: &mut HostWorld<'_>| {
                    host.read(world, block, &mut cells)
                };
                assert!(with_saved(&mut game, &saved, read));
                saved.insert(block, cells);
            }
        }
        game.grid.mark_saved(&game.grid.unsaved());
        game.host.note_saved(&game.host.save_point());
        game.now_us += TICK_US;
        let now = game.now_us;
        with_saved(&mut game, &saved, |host, world| host.tick(world, now));
    }
    let coarse = game.host.truth.coarse_blocks();
    assert!((1..=110).contains(&coarse), "{coarse} of some 500");
    // It is sent again what was evicted, and then follows edits as before.
    for step in 0..120 {
        if step == 20 {
            let dig = EditOp::dig_ball([9.0, 0.0, 3.0], 5.0);
            game.players[0].guest.edit(&dig).expect("it has started");
        }
        game.now_us += TICK_US;
        let (now, mut packet) = (game.now_us, Vec::new());
        let player = &mut game.players[0];
        let number = player.number;
        player.step(now, true, &game.interest);
        while let Some(packet) = player.up.receive(now) {
            game.host.receive(number, &packet, now).expect("the guest is honest");
        }
        with_saved(&mut game, &saved, |host, world| host.tick(world, now));
        while game.host.transmit(number, now, &mut packet) {
            game.players[0].down.send(now, &packet);
        }
    }
    let (mut own, mut theirs) = (DenseBox::default(), DenseBox::default());
    for block in Vec::from_iter(game.players[0].guest.blocks()) {
        assert!(game.players[0].guest.read(block, hills, &mut theirs));
        assert!(with_saved(&mut game, &saved, |host, world| host.read(world, block, &mut own)));
        assert!(own == theirs, "{block} differs");
    }
}

#[test]
fn a_coarse_block_that_cannot_be_had_costs_guests_nothing_until_it_can() {
    let mut game = Simulation::new(true, 4);
    let mut seat = Seat::new(&mut game);
    seat.say(&ToHost::Subscribe(vec![(MipBlock::new(4, [0; 3]), None)]));
    let missing = MipBlock::new(2, [0; 3]);
    let mut tick = |is_missing: bool| {
        game.now_us += TICK_US;
        seat.send(&mut game);
        let ground = |request: &mut FillRequest<'_>| match is_missing && request.block() == missing
        {
            true => request.set_missing(),
            false => hills(request),
        };
        let now = game.now_us;
        with_ground(&mut game, &ground, |host, world| {
            if now == 10 * TICK_US {
                let dug = host.edit(world, &EditOp::dig_ball([16.0, 0.0, 16.0], 4.0));
                assert!(dug.is_ok());
            }
            host.tick(world, now);
            drop(host.events());
        });
        seat.take(&mut game)
    };
    let first: usize = (0..40).map(|_| tick(true)).sum();
    let more: usize = (0..300).map(|_| tick(true)).sum();
    assert!(first > 0 && more == 0, "{first} and {more} bytes");
    let last: usize = (0..200).map(|_| tick(false)).sum();
    assert!(last > 0, "the cells over the edit were never sent");
}

#[test]
fn what_a_guest_wants_of_a_host_that_reads_nothing_does_not_pile_up() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(400);
    let guest = &mut game.players[0].guest;
    let before = guest.memory();
    let mut packet = Vec::new();
    for step in 0..4000 {
        guest.watch(&[[8.0 * f64::from(step), 10.0, 0.0]], &game.interest);
        while guest.transmit(game.now_us, &mut packet) {}
    }
    let after = guest.memory();
    assert!(after < before + (600 << 10), "{before} and {after} bytes");
}

#[test]
fn an_undo_is_paid_for_with_the_chunks_that_it_needs() {
    let mut game = Simulation::new(true, 4);
    let mut seat = Seat::new(&mut game);
    let op = Box::new(EditOp::dig_ball([0.0, 0.0, 0.0], 3.0));
    seat.say(&ToHost::Edit { number: 1, op });
    seat.step(&mut game);
    game.grid.mark_saved(&game.grid.unsaved());
    for chunk in Region::new([-64; 3], [64; 3]).blocks::<5>() {
        assert!(game.grid.forget(chunk));
    }
    let before = game.host.accounts.spent_work(&ada());
    seat.say(&ToHost::Undo { number: 2, is_redo: false });
    seat.step(&mut game);
    assert!(seat.refusals.is_empty(), "{:?}", seat.refusals);
    let spent = (game.host.accounts.spent_work(&ada()) - before) / 1_000_000;
    // Less what was earned in a tick.
    let made = 8 * i64::try_from(WORK_PER_BLOCK).expect("it is small");
    assert!(spent >= made - 2_000_000, "{spent} units for eight chunks");
}

#[test]
fn ground_is_loaded_for_guests_that_are_here_and_can_pay() {
    let mut game = Simulation::new(true, 4);
    let seat = Seat::new(&mut game);
    let number = seat.number;
    let load = |game: &mut Simulation, region: Region| {
        let loaded = game.with_world(|host, world| host.load_for(world, number, region));
        loaded.map_err(|refusal| refusal.code)
    };
    let chunks = |x| Region::new([x, 0, 0], [x + 64, 32, 32]);
    assert_eq!(load(&mut game, chunks(0)), Ok(()));
    assert!(game.host.accounts.spent_work(&ada()) >= 2_000_000);
    game.host.disconnect(number, "it leaves");
    let too_much = Err(RefusalCode::TooMuchWork);
    assert_eq!(load(&mut game, chunks(64)), too_much, "no guest pays");
    let is_held = |chunk| game.grid.held(chunk) != crate::voxel::ChunkState::Unknown;
    assert_eq!(
        chunks(0).blocks::<5>().chain(chunks(64).blocks::<5>()).filter(|&c| is_held(c)).count(),
        2
    );
    assert_eq!(load(&mut game, chunks(0)), Ok(()), "it is there");
}

#[test]
fn a_paste_is_paid_for_before_it_is_decoded() {
    let mut game = Simulation::new(true, 4);
    game.decide = |_, _| Verdict::Refuse("not here".into());
    game.host.options.edit_work_per_s = 30_000_000;
    let mut seat = Seat::new(&mut game);
    let clip = Clip::new(DenseBox::new(Region::new([0; 3], [128; 3]))).expect("it is allowed");
    let paste = EditOp::Paste(PasteOp { clip, pose: PastePose::default() });
    for number in 1..=20 {
        seat.say(&ToHost::Edit { number, op: Box::new(paste.clone()) });
    }
    for _ in 0..4 {
        seat.step(&mut game);
    }
    assert_eq!(seat.refusals.len(), 20);
    let unread = seat.refusals.iter().filter(|code| **code == RefusalCode::TooMuchWork);
    assert!(unread.count() >= 16, "{:?}", seat.refusals);
}

#[test]
fn one_who_comes_while_many_dig_without_a_pause_is_let_in_and_digs() {
    let mut game = Simulation::new(true, 4);
    // One operation is the work of a tick, and is earned again before the next.
    game.host.options.edit_work_per_tick = 1;
    for seed in 0..8 {
        game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 2 * seed);
    }
    let mut ticks = 0;
    let mut tick = |game: &mut Simulation, numbers: &mut Vec<u64>| {
        for player in &mut game.players[..8] {
            let dig = EditOp::dig_ball([f64::from(ticks % 9), 0.0, 0.0], 6.0);
            // Until the world is here, and while many wait, there is an error.
            let _ = player.guest.edit(&dig);
        }
        if let Some(late) = game.players.get_mut(8)
            && numbers.is_empty()
        {
            numbers.extend(late.guest.edit(&EditOp::dig_ball([0.0, 0.0, 8.0], 2.0)));
        }
        ticks += 1;
        game.now_us += 200_000;
        game.step();
    };
    let mut numbers = Vec::new();
    for _ in 0..100 {
        tick(&mut game, &mut numbers);
    }
    assert!(game.players[0].guest.pending_edits() > 20, "they wait");
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 99);
    for _ in 0..40 {
        tick(&mut game, &mut numbers);
    }
    let late = &game.players[8].guest;
    assert_eq!((numbers.len(), late.pending_edits()), (1, 0), "it waits for the others");
    // All others were served alike; the first made the ground, too.
    let pending: Vec<usize> = game.players[1..8].iter().map(|p| p.guest.pending_edits()).collect();
    let [least, most] = [pending.iter().min(), pending.iter().max()].map(Option::unwrap);
    assert!(most - least <= 2, "{pending:?}");
}

#[test]
fn an_operation_that_is_refused_counts_for_the_tick() {
    let mut game = Simulation::new(true, 8);
    // Its chunks are made before its price is known, and that is more than is allowed.
    game.host.options.edit_limits.max_work = 1;
    game.host.editor = Editor::new(game.host.options.edit_limits);
    let mut seat = Seat::new(&mut game);
    seat.say(&ToHost::Edit { number: 1, op: Box::new(EditOp::dig_ball([0.0; 3], 3.0)) });
    seat.step(&mut game);
    assert!(game.host.left.work < 0, "{}", game.host.left.work);
    seat.step(&mut game);
    assert_eq!(seat.refusals, [RefusalCode::TooLarge]);
}

#[test]
fn a_guest_is_sent_operations_only_on_cells_that_it_has_taken() {
    let mut game = Simulation::new(true, 2);
    let mut seat = Seat::new(&mut game);
    let chunk = MipBlock::new(0, [0, 0, 0]);
    seat.takes_cells = false;
    for block in [chunk.over(2), chunk.over(1), chunk] {
        seat.say(&ToHost::Subscribe(vec![(block, None)]));
    }
    (0..20).for_each(|_| seat.step(&mut game));
    let dig = EditOp::dig_ball([16.0, 6.0, 16.0], 2.0);
    let dug = game.with_world(|host, world| host.edit(world, &dig).map(|done| done.region));
    assert!(dug.is_ok_and(|region| !region.is_empty()));
    (0..20).for_each(|_| seat.step(&mut game));
    assert_eq!(seat.ops, 0, "its cells have arrived, and it has not taken them");
    seat.takes_cells = true;
    (0..20).for_each(|_| seat.step(&mut game));
    let dig = EditOp::dig_ball([16.0, 6.0, 12.0], 2.0);
    let dug = game.with_world(|host, world| host.edit(world, &dig).map(|done| done.region));
    assert!(dug.is_ok_and(|region| !region.is_empty()));
    (0..20).for_each(|_| seat.step(&mut game));
    assert_eq!(seat.ops, 1);
}
