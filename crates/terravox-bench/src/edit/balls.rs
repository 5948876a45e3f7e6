//! Digging and filling balls of radius 16 at the ground of the generated world.

use std::cell::RefCell;

use terravox::edit::{EditOp, Editor};
use terravox::voxel::{VoxelGrid, VoxelPos};

use crate::harness::{Timing, repeat};
use crate::report::{AreaReport, detail};
use crate::worlds::{generated, ground};

/// Radius of a ball, voxels.
const RADIUS: f32 = 16.0;

/// Cells of the box around a ball, all of which are read, changed and compared.
const BOX_CELLS: f64 = 33.0 * 33.0 * 33.0;

/// Share of them that lies in the ball.
const BALL_SHARE: f64 = 17157.0 / BOX_CELLS;

/// Balls in one round, which do not touch.
const BALLS: usize = 64;
const ROUNDS: usize = 15;

/// Measures `ball16_cells_per_s`.
pub fn run(report: &mut AreaReport) {
    let world = generated::world();
    let mut spots = ground(&world, 48);
    spots.truncate(BALLS);
    let [dig, fill] = dig_and_fill(world.grid, &spots);
    let rate = |seconds: f64| BOX_CELLS * spots.len() as f64 / seconds / 1e6;
    let slower = rate(dig.min.max(fill.min));
    let note = format!(
        "the slower of digging and filling; cells of the ball's box, read, changed, compared \
         and written where they differ; {:.1} of cells in the ball",
        slower * BALL_SHARE
    );
    report.set("ball16_cells_per_s", slower, note);
    let line = |timing: &Timing| {
        let note = format!("median {:.1}", rate(timing.median));
        detail(timing.name, rate(timing.min), "M/s").note(note)
    };
    let each = dig.min / spots.len() as f64 * 1e6;
    let inside = |timing: &Timing, name: &'static str| {
        detail(name, rate(timing.min) * BALL_SHARE, "M/s").note("cells in the ball alone")
    };
    let lines = vec![
        line(&dig),
        line(&fill),
        inside(&dig, "dig, in the ball"),
        inside(&fill, "fill, in the ball"),
        detail("one dig", each, "µs"),
    ];
    report.details("balls of radius 16 at the ground", lines);
}

/// All balls are dug, then filled, in turns.
fn dig_and_fill(grid: VoxelGrid, spots: &[VoxelPos]) -> [Timing; 2] {
    let state = RefCell::new((grid, Editor::default()));
    let apply = |op: fn([f64; 3]) -> EditOp| {
        let (grid, editor) = &mut *state.borrow_mut();
        let mut cells = 0;
        for spot in spots {
            let centre = spot.to_array().map(|v| f64::from(v) + 0.4);
            match editor.apply(grid, &op(centre), None) {
                Ok(edited) => cells += edited.region.volume(),
                Err(error) => panic!("{spot}: {error}"),
            }
        }
        cells
    };
    let dig = || apply(|centre| EditOp::dig_ball(centre, RADIUS.into()));
    let fill = || apply(|centre| EditOp::fill_ball(8, centre, RADIUS.into()));
    let digging = repeat("dig", ROUNDS, &fill, |_| dig());
    let filling = repeat("fill", ROUNDS, &dig, |_| fill());
    [digging, filling]
}
