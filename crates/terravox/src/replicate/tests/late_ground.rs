//! Ground that a host waits for: operations and cells wait for it, ticks do not.

use super::seat::Seat;
use super::simulation::{Random, Simulation, hills, random_op};
use crate::edit::EditOp;
use crate::replicate::accounts::Account;
use crate::replicate::host_accounts::WORK_PER_BLOCK;
use crate::replicate::message::ToHost;
use crate::replicate::{LinkKind, LinkOptions, Refusal, RefusalCode, Verdict};
use crate::terrain::FillRequest;
use crate::voxel::{ChunkPos, DenseBox, MipBlock};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Ground that is at hand some ticks after it was asked for.
#[derive(Default)]
pub struct LateGround {
    /// How many; 0 if it is at hand at once.
    pub ticks: u64,
    now: u64,
    asked: RefCell<BTreeMap<MipBlock, u64>>,
    /// Blocks that were needed in a tick before they were at hand.
    pub waited: Cell<u64>,
    /// Blocks that were read.
    pub reads: Cell<u64>,
}

impl LateGround {
    pub fn begin_tick(&mut self) {
        self.now += 1;
        // What was not needed for long.
        let old = self.now.saturating_sub(self.ticks + 20);
        self.asked.get_mut().retain(|_, asked| *asked >= old);
    }

    pub fn prefetch(&self, blocks: &[MipBlock]) -> bool {
        let mut asked = self.asked.borrow_mut();
        let mut is_at_hand = |block: &MipBlock| {
            let at = *asked.entry(*block).or_insert(self.now);
            self.now - at >= self.ticks
        };
        // All are asked for.
        blocks.iter().filter(|block| !is_at_hand(block)).count() == 0
    }

    pub fn fill(&self, request: &mut FillRequest<'_>) {
        self.reads.set(self.reads.get() + 1);
        if !self.prefetch(&[request.block()]) {
            self.waited.set(self.waited.get() + 1);
        }
        hills(request);
    }
}

/// Three guests that dig apart from each other, undo, and look around.
fn play(ticks: u64, makes_ground: bool, seed: u64) -> Simulation {
    let mut game = Simulation::new(true, 6);
    (game.ground.ticks, game.makes_ground) = (ticks, makes_ground);
    game.interest.view_voxels = 90.0;
    game.host.options.edit_work_per_s = 1 << 40;
    for player in 0..3 {
        let eye = [900.0 * f64::from(player), 10.0, 0.0];
        game.join(LinkKind::Reliable, LinkOptions::default(), eye, seed + u64::from(player as u8));
    }
    for _ in 0..200 {
        game.step();
    }
    let mut random = Random(seed);
    for round in 0..120 {
        for at in 0..3 {
            let player = &mut game.players[at];
            // They walk on to where nothing was edited.
            player.eye[2] += 2.0;
            match random.below(8) {
                0 if round > 5 => drop(player.guest.undo()),
                1 => {}
                _ => drop(player.guest.edit(&random_op(&mut random, player.eye))),
            }
        }
        game.step();
    }
    game
}

/// The chunks that were changed, and their cells.
fn changed_cells(game: &mut Simulation) -> Vec<(ChunkPos, DenseBox)> {
    let chunks = game.grid.unsaved_chunks().into_iter();
    let cells = chunks.map(|chunk| {
        let mut cells = DenseBox::default();
        game.grid.read(chunk.region(), 0, &mut cells).unwrap();
        (chunk, cells)
    });
    cells.collect()
}

#[test]
fn ticks_wait_for_no_ground_and_all_see_what_they_see_with_ground_at_hand() {
    for (makes_ground, seed) in [(true, 1), (false, 2), (true, 3)] {
        let mut at_hand = play(0, makes_ground, seed);
        let mut late = play(3, makes_ground, seed);
        at_hand.settle(4000);
        let waited = late.ground.waited.get();
        late.settle(4000);
        assert_eq!(waited, 0, "of {} reads", late.ground.reads.get());
        assert!(late.ground.reads.get() > 100);
        // Undo, where nothing was done.
        let refused = |game: &Simulation| Vec::from_iter(game.players.iter().map(|p| p.refused));
        assert_eq!(refused(&late), refused(&at_hand));
        let edits = |game: &Simulation| game.edited.len();
        assert_eq!(edits(&late), edits(&at_hand));
        assert!(edits(&late) > 200);
        assert!(changed_cells(&mut late) == changed_cells(&mut at_hand), "seed {seed}");
    }
}

#[test]
fn an_operation_that_waits_for_ground_is_not_said_to_be_saved() {
    let mut game = Simulation::new(true, 4);
    let mut seat = Seat::new(&mut game);
    game.ground.ticks = 5;
    let point = game.host.save_point();
    let dig = |x: f64| Box::new(EditOp::dig_ball([x, -16.0, 16.0], 4.0));
    seat.say(&ToHost::Edit { number: 3, op: dig(16.0) });
    seat.say(&ToHost::Edit { number: 7, op: dig(304.0) });
    let own = seat.number;
    let handled = |game: &Simulation| game.host.guests[&own].handled_number();
    let mut seen = Vec::new();
    for _ in 0..20 {
        seat.send(&mut game);
        game.step();
        let (number, edits) = (handled(&game), game.edited.len());
        if seen.last() != Some(&(number, edits)) {
            seen.push((number, edits));
        }
    }
    // The second one waits behind the first.
    assert_eq!(seen, [(2, 0), (6, 1), (7, 2)]);
    assert_ne!(game.host.save_point(), point);
    assert_eq!(game.ground.waited.get(), 0);
}

#[test]
fn operations_and_cells_do_not_wait_for_ever_for_ground_that_is_never_at_hand() {
    let mut game = Simulation::new(true, 4);
    game.ground.ticks = u64::MAX / 2;
    for makes_ground in [true, false] {
        game.makes_ground = makes_ground;
        game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    }
    for _ in 0..400 {
        game.step();
    }
    game.players[0].guest.edit(&EditOp::dig_ball([3.0, 0.0, 3.0], 5.0)).expect("it has started");
    for _ in 0..100 {
        game.step();
    }
    assert!(game.edited.len() == 1 && game.ground.waited.get() > 8);
}

#[test]
fn an_account_pays_for_ground_once_and_also_where_the_game_refuses() {
    let spent = |ticks: u64, decide: fn(u64, &EditOp) -> Verdict| {
        let mut game = Simulation::new(true, 4);
        (game.ground.ticks, game.decide) = (ticks, decide);
        game.host.options.edit_work_per_s = 5_000_000;
        let mut seat = Seat::new(&mut game);
        let ada = Account::Named("ada".into());
        let dig = Box::new(EditOp::dig_ball([16.0, -16.0, 16.0], 4.0));
        seat.say(&ToHost::Edit { number: 1, op: dig });
        let (mut most, mut reads) = (0, 0);
        for _ in 0..10 {
            seat.step(&mut game);
            most = most.max(game.host.accounts.spent_work(&ada));
            reads = reads.max(game.ground.asked.borrow().len());
        }
        (most, reads)
    };
    let accept = |_: u64, _: &EditOp| Verdict::Accept;
    let refuse =
        |_: u64, _: &EditOp| Verdict::Refuse(Refusal::new(RefusalCode::Game(1), "not here"));
    let [(at_hand, _), (late, reads)] = [0, 3].map(|ticks| spent(ticks, accept));
    // A little is earned while it waits.
    assert!(late <= at_hand && late > at_hand / 10 * 9, "{late} and {at_hand}");
    assert!(reads >= 5, "a chunk, and the blocks over it");
    let (refused, reads) = spent(3, refuse);
    assert!(refused as u64 >= reads as u64 * WORK_PER_BLOCK * 900_000, "{refused} for {reads}");
    assert!(spent(0, refuse).0 < refused / 2, "nothing is read where ground is at hand");
}
