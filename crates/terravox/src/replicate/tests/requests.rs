//! What requests for blocks cost a host.

use super::seat::Seat;
use super::simulation::{Simulation, TICK_US};
use crate::edit::EditOp;
use crate::replicate::accounts::Account;
use crate::replicate::message::ToHost;
use crate::replicate::{HostWorld, LinkEndCode, LinkKind, Verdict};
use crate::terrain::{FillRequest, Placement};
use crate::voxel::MipBlock;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn a_guest_that_asks_again_for_ground_that_it_makes_itself_costs_its_host_nothing_to_read() {
    let mut game = Simulation::new(true, 4);
    let mut seat = Seat::new(&mut game);
    let root = MipBlock::new(4, [0; 3]);
    seat.say(&ToHost::Subscribe(vec![(root, None)]));
    (0..4).for_each(|_| seat.step(&mut game));
    seat.say(&ToHost::Refresh(vec![root]));
    let now = game.now_us + TICK_US;
    game.now_us = now;
    seat.send(&mut game);
    let mut decide = |_: u64, _: &EditOp| Verdict::Accept;
    let ground = |_: &mut FillRequest<'_>| panic!("it was made");
    let mut world = HostWorld {
        grid: &mut game.grid,
        placement: Placement::default(),
        ground: &ground,
        generated: &ground,
        prefetch: &|_| true,
        decide: &mut decide,
    };
    game.host.tick(&mut world, now);
    assert!((1..64).contains(&seat.take(&mut game)), "it is told that it is ground");
}

#[test]
fn ground_that_a_guest_asks_for_again_and_makes_itself_takes_no_reads_from_others() {
    let mut game = Simulation::new(true, 4);
    let mut seat = Seat::new(&mut game);
    let roots = Vec::from_iter((0..8).map(|x| MipBlock::new(4, [x, 0, 0])));
    seat.say(&ToHost::Subscribe(roots.iter().map(|&root| (root, None)).collect()));
    (0..4).for_each(|_| seat.step(&mut game));
    // They are sent below.
    game.host.options.max_reads_per_tick = 0;
    seat.say(&ToHost::Refresh(roots));
    seat.step(&mut game);
    let (mut reads, before) = (4, seat.cells);
    game.with_world(|host, world| host.send_cells(seat.number, world, &mut reads));
    assert_eq!(reads, 4, "nothing was read");
    seat.take(&mut game);
    assert_eq!(seat.cells - before, 8);
}

#[test]
fn ground_that_a_guest_asks_for_again_and_makes_itself_is_sent_again_at_the_rate_of_edited_ground()
{
    let mut game = Simulation::new(true, 4);
    let mut seat = Seat::new(&mut game);
    let roots = Vec::from_iter((0..8).map(|x| MipBlock::new(4, [x, 0, 0])));
    seat.say(&ToHost::Subscribe(roots.iter().map(|&root| (root, None)).collect()));
    (0..4).for_each(|_| seat.step(&mut game));
    let (start, before) = (game.now_us, seat.cells);
    while game.now_us < start + 10_000_000 {
        seat.say(&ToHost::Refresh(roots.clone()));
        seat.step(&mut game);
    }
    let cells = seat.cells - before;
    // 64 a second, and what may be sent at once.
    assert!((600..=640 + 128 + 8).contains(&cells), "{cells} in 10 s");
    assert_eq!(seat.left, None);
}

#[test]
fn guests_are_sent_cells_by_turns_of_accounts_and_then_of_their_guests() {
    let mut game = Simulation::new(true, 4);
    let names = ["ada", "ada", "ada", "bob", "cyd", "cyd"];
    let numbers = names.map(|name| {
        let number = game.host.connect(LinkKind::Reliable);
        let entry = game.host.guests.get_mut(&number).expect("it is here");
        entry.account = Account::Named(name.into());
        number
    });
    let name_of = |number: u64| numbers.iter().position(|&own| own == number).map(|i| names[i]);
    let mut first = BTreeMap::new();
    for _ in 0..36 {
        let order = game.host.sending_order();
        assert_eq!(BTreeSet::from_iter(order.iter().copied()), BTreeSet::from(numbers));
        let accounts = BTreeSet::from_iter(order[..3].iter().map(|&number| name_of(number)));
        assert_eq!((order.len(), accounts.len()), (6, 3), "each once, before others are twice");
        *first.entry(order[0]).or_insert(0) += 1;
    }
    // A third of the ticks each, shared by the guests of each.
    assert_eq!(first.into_values().collect::<Vec<_>>(), [4, 4, 4, 12, 6, 6]);
    assert!(Simulation::new(true, 4).host.sending_order().is_empty());
}

#[test]
fn guests_of_one_account_that_ask_again_and_again_for_edited_ground_have_few_blocks_read() {
    let mut game = Simulation::new(true, 4);
    let mut seats = [0; 2].map(|_| Seat::new(&mut game));
    let dug =
        game.with_world(|host, world| host.edit(world, &EditOp::dig_ball([16.0, 0.0, 16.0], 4.0)));
    assert!(dug.is_ok());
    let blocks = Vec::from_iter((0..=4).rev().map(|mip| MipBlock::new(mip, [0; 3])));
    let wanted = Vec::from_iter(blocks.iter().map(|&block| (block, None)));
    seats.iter_mut().for_each(|seat| seat.say(&ToHost::Subscribe(wanted.clone())));
    (0..4).for_each(|_| seats.iter_mut().for_each(|seat| seat.step(&mut game)));
    seats.iter_mut().for_each(|seat| seat.cells = 0);
    let start = game.now_us;
    while game.now_us < start + 10_000_000 {
        for seat in &mut seats {
            seat.say(&ToHost::Refresh(blocks.clone()));
            seat.step(&mut game);
        }
    }
    let cells = seats.iter().map(|seat| seat.cells).sum::<usize>();
    // 64 a second, and what may be read at once.
    assert!((600..=640 + 128 + 10).contains(&cells), "{cells} in 10 s");
    assert!(seats.iter().all(|seat| seat.left.is_none()));
}

#[test]
fn connections_of_one_account_hold_at_most_eight_times_the_blocks_of_one() {
    let mut game = Simulation::new(true, 4);
    game.host.options.max_blocks = 100;
    let mut seats = Vec::from_iter((0..11).map(|_| Seat::new(&mut game)));
    let block = |i| (MipBlock::new(4, [i, 0, 0]), None);
    for seat in &mut seats {
        seat.say(&ToHost::Subscribe((0..80).map(block).collect()));
        seat.step(&mut game);
    }
    let left = Vec::from_iter(seats.iter().map(|seat| seat.left));
    assert_eq!(left[..10], [None; 10]);
    assert_eq!(left[10], Some(LinkEndCode::TooManyBlocks));
    // What one has given up, another may have.
    game.host.disconnect(seats[0].number, "it leaves");
    let mut other = Seat::new(&mut game);
    other.say(&ToHost::Subscribe((0..80).map(block).collect()));
    other.step(&mut game);
    assert_eq!(other.left, None);
}

#[test]
fn guests_hold_so_many_of_the_coarsest_blocks_and_an_account_eight_times_that() {
    let mut game = Simulation::new(true, 4);
    game.host.options.max_roots = 50;
    let block = |i| (MipBlock::new(4, [i, 0, 0]), None);
    let mut seats = Vec::from_iter((0..10).map(|_| Seat::new(&mut game)));
    for (at, seat) in seats.iter_mut().enumerate() {
        seat.say(&ToHost::Subscribe((0..if at == 0 { 51 } else { 50 }).map(block).collect()));
        seat.step(&mut game);
    }
    let left = Vec::from_iter(seats.iter().map(|seat| seat.left));
    let too_many = Some(LinkEndCode::TooManyBlocks);
    // The first one is gone, so that eight others have all that the account may have.
    assert_eq!(left[..9], [[too_many].as_slice(), &[None; 8]].concat());
    assert_eq!(left[9], too_many);
    // Finer blocks do not count, and what is given up another one may have.
    seats[1].say(&ToHost::Unsubscribe(vec![block(0).0]));
    seats[1].say(&ToHost::Subscribe(vec![(MipBlock::new(3, [2, 0, 0]), None), block(70)]));
    seats[1].step(&mut game);
    assert_eq!(seats[1].left, None);
    seats[1].say(&ToHost::Subscribe(vec![block(71)]));
    seats[1].step(&mut game);
    assert_eq!(seats[1].left, too_many);
}

#[test]
fn requests_are_handled_as_fast_as_the_blocks_that_they_list_are_earned() {
    let mut game = Simulation::new(true, 4);
    let mut seat = Seat::new(&mut game);
    let roots = Vec::from_iter((0..4000).map(|x| MipBlock::new(4, [x, 0, 0])));
    let number = seat.number;
    let state = |game: &Simulation| game.host.guests[&number].blocks.roots_state();
    let (start, before, mut most) = (game.now_us, state(&game), 0);
    while game.now_us < start + 10_000_000 {
        if seat.waiting() < 64 << 10 {
            seat.say(&ToHost::Subscribe(roots.iter().map(|&root| (root, None)).collect()));
            seat.say(&ToHost::Unsubscribe(roots.clone()));
        }
        let last = state(&game);
        seat.step(&mut game);
        most = most.max(state(&game) - last);
    }
    let (blocks, earned) = (state(&game) - before, 12 * 65_536);
    assert!((earned / 2..=earned + 4000).contains(&blocks), "{blocks} blocks in 10 s");
    assert!(most <= 16_384 + 4000, "{most} blocks in a tick");
    assert_eq!(seat.left, None);
}
