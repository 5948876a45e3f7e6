//! A few bodies on a small shore.

use super::*;
use crate::console::Console;
use terravox::voxel::{Cell, GridOptions};

const ROCK: u8 = 8;
const WATER: u8 = 1;

/// A shore of 128 × 64 × 128 voxels: hummocks in the east, a lake in the west.
fn shore() -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    for chunk in Region::new([0; 3], [128, 64, 128]).blocks::<5>() {
        let mut cells = DenseBox::new(chunk.region());
        for pos in chunk.region().voxels() {
            let [x, y, z] = pos.to_array().map(|v| f64::from(v) + 0.5);
            let height = (0.35 * (x - 64.0) + 20.0 + 1.5 * (x * 0.3).sin() * (z * 0.2).cos())
                .clamp(8.0, 27.0);
            let units = ((height - y + 0.5).clamp(0.0, 1.0) * 256.0) as u32;
            match units {
                0 if y < 20.0 => cells.set(pos, Cell::full(WATER)),
                0 => {}
                units => cells.set(pos, Cell::new(ROCK, (units - 1) as u8)),
            }
        }
        assert!(grid.write(&cells).is_ok());
    }
    grid
}

fn dropped(count: usize) -> CliResult<DropResult> {
    let dropped = drop_bodies(shore(), count, &Console::new(true))?;
    dropped.ok_or_else(|| Failure::new("the shore has a suitable place"))
}

#[test]
fn bodies_settle_float_sink_and_fall_and_none_is_lost() -> CliResult<()> {
    let dropped = dropped(40)?;
    let counts = dropped.counts;
    let parts = counts.resting + counts.floating + counts.sunk + counts.moving;
    assert_eq!([counts.bodies, parts], [40, 40], "{counts:?}");
    assert_eq!([counts.lost, counts.below, counts.not_a_number], [0; 3], "{counts:?}");
    assert!(counts.floating > 4 && counts.sunk >= 4 && counts.resting > 8, "{counts:?}");
    assert!(counts.fell > 0 && counts.fell == dropped.fell.iter().filter(|f| **f).count());
    assert!(counts.moving <= 3 && counts.calm >= 35, "{counts:?}");
    Ok(())
}

#[test]
fn light_bodies_float_and_heavy_ones_sink() -> CliResult<()> {
    let grid = shore();
    let bounds = grid.bounds();
    let mut drop = Drop::new(Terrain::from_grid(grid, Placement::default()), bounds);
    drop.add(DVec3::new(26.0, 20.0, 64.0), 14.0, 40);
    drop.settle(900, &|| ());
    let states = drop.states();
    assert_eq!(states.len(), 40);
    for (number, state) in states.iter().enumerate() {
        let kind = kinds::KINDS[kinds::kind_of(number)];
        match kinds::density_of(number) {
            light if light < 950.0 => {
                assert_eq!(*state, counts::BodyState::Floating, "{kind} of {light}")
            }
            heavy => assert_eq!(*state, counts::BodyState::Sunk, "{kind} of {heavy}"),
        }
    }
    Ok(())
}

#[test]
fn the_same_drop_ends_the_same() -> CliResult<()> {
    let [a, b] = [dropped(10)?, dropped(10)?];
    assert_eq!(a.steps, b.steps);
    assert_eq!(a.counts, b.counts);
    for (a, b) in a.moments.iter().zip(&b.moments) {
        assert_eq!(a.positions, b.positions);
        assert_eq!(a.solids, b.solids);
    }
    assert_eq!(a.terrain.grid().digest(), b.terrain.grid().digest());
    Ok(())
}

#[test]
fn a_world_without_ground_has_no_place() -> CliResult<()> {
    let empty = VoxelGrid::new(GridOptions::default());
    assert!(drop_bodies(empty, 5, &Console::new(true))?.is_none());
    Ok(())
}
