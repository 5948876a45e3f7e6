//! A journal of what guests do, and rolling it back while they are there.

use super::simulation::{Simulation, hills};
use crate::edit::{EditOp, Journal, JournalFilter, Rollback};
use crate::replicate::{Host, HostOptions, LinkKind, LinkOptions};
use crate::terrain::{FillRequest, Placement};
use crate::voxel::{DenseBox, Region, VoxelGrid};

/// Rolls back all edits of a guest, with the chunks loaded that are not held.
fn roll_back(game: &mut Simulation, author: u64) -> u64 {
    let mut journal = Journal::new(1 << 20);
    for (time, (guest, before)) in (0..).zip(game.edited.drain(..)) {
        journal.record(&guest.to_string(), time, before);
    }
    let filter = JournalFilter { authors: vec![author.to_string()], ..JournalFilter::default() };
    let mut job = Rollback::new(journal.entries(..).cloned(), filter);
    let mut loaded = 0;
    game.with_world(|host, world| {
        loop {
            match job.step(&journal, world.grid) {
                Ok(None) => return loaded,
                Ok(Some(before)) => host.changed(world, before.region()),
                Err(missing) => {
                    host.load(world, missing.chunk.region()).expect("the generator makes it");
                    loaded += 1;
                }
            }
        }
    })
}

fn cells(game: &mut Simulation, region: Region) -> DenseBox {
    let mut cells = DenseBox::default();
    game.with_world(|host, world| host.load(world, region).expect("the generator makes it"));
    game.grid.read(region, 0, &mut cells).expect("it was loaded");
    cells
}

fn play(history_bytes: usize) -> Simulation {
    let mut game = Simulation::new(true, 4);
    let generator = Some(Default::default());
    game.host = Host::new(HostOptions { generator, history_bytes, ..HostOptions::default() });
    for x in [-30.0, 30.0] {
        game.join(LinkKind::Reliable, LinkOptions::default(), [x, 8.0, 0.0], 7);
    }
    game.settle(2000);
    for (player, x) in [(0, -40.0), (1, -36.0), (0, 35.0), (0, 2.0)] {
        let op = EditOp::dig_ball([x, 0.0, -1.0], 6.0);
        game.players[player].guest.edit(&op).expect("a sound edit");
        game.settle(2000);
    }
    game.players[0].guest.undo().expect("it has started");
    game.settle(2000);
    game
}

#[test]
fn what_one_guest_dug_is_rolled_back_and_the_others_hole_stays() {
    let mut game = play(1 << 20);
    assert_eq!(game.edited.len(), 5);
    let (own, other) = (game.players[0].number, game.edited[1].1.clone());
    roll_back(&mut game, own);
    game.settle(2000);
    let region = Region::new([-64, -32, -32], [64, 32, 32]);
    let mut ground = DenseBox::default();
    let after = cells(&mut game, region);
    let mut expected = VoxelGrid::default();
    for chunk in region.blocks::<5>() {
        assert!(FillRequest::fill_block(&mut ground, chunk.into(), Placement::default(), hills));
        expected.write(&ground).expect("unlisted chunks are air");
    }
    expected.read(region, 0, &mut ground).expect("it was written");
    assert!(after != ground, "the hole of the other guest is still there");
    // It alone: all that differs lies in what that guest dug.
    for pos in region.voxels().filter(|&pos| after.cell(pos) != ground.cell(pos)) {
        let is_dug = after.cell(pos).units() < ground.cell(pos).units();
        assert!(other.region().contains(pos) && is_dug, "{pos}");
    }
}

#[test]
fn events_have_the_cells_also_without_an_undo_history() {
    let game = play(0);
    assert_eq!(game.edited.len(), 4, "the undo was refused");
    assert!(game.edited.iter().all(|(_, before)| before.count() > 100));
}
