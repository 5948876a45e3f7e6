//! The time from a cut to a body: a bridge of a hundred thousand cells, cut at both ends.

use std::cell::RefCell;

use terravox::bodies::{LooseCut, LooseCutter, LooseOptions};
use terravox::edit::{Action, Brush, BrushOp, EditOp, Editor, History};
use terravox::generate::fill_sdf;
use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};

use terravox_rapier::{LooseShapeOptions, loose_shape};

use crate::harness::repeat;
use crate::report::{AreaReport, detail};

const ROUNDS: usize = 15;

const ROCK: u8 = 8;
const GROUND: u8 = 14;

/// Half the length of the bridge between the cuts, voxels.
const HALF_LENGTH: f64 = 100.0;

/// Half its width, voxels.
const HALF_WIDTH: f64 = 24.0;

/// Measures `detach_ms`.
pub fn run(report: &mut AreaReport) {
    let last = RefCell::new(None);
    let timing = repeat("detach", ROUNDS, cut_bridge, |CutBridge { grid, loose, history }| {
        let options = LooseOptions::floor(-30);
        match loose.cut(grid, Some(history), &options) {
            Ok(cut) => *last.borrow_mut() = Some(cut),
            Err(error) => panic!("{error}"),
        }
        1
    });
    let Some(LooseCut { bodies, .. }) = last.into_inner() else { unreachable!("it ran") };
    let [body] = &bodies[..] else { panic!("{} bodies of one bridge", bodies.len()) };
    let triangles: usize = body.meshes.iter().map(|mesh| mesh.solid.indices.len() / 3).sum();
    let options = LooseShapeOptions::default();
    let shape = repeat(
        "shape",
        ROUNDS,
        || (),
        |()| {
            let shape = loose_shape(body, 1.0, &options);
            shape.as_compound().map_or(0, |parts| parts.shapes().len()) as u64
        },
    );
    let parts = loose_shape(body, 1.0, &options);
    let parts = parts.as_compound().map_or(0, |parts| parts.shapes().len());
    let note = format!(
        "{} cells: found, moved with undo, mass, inertia and mesh; without a collision shape",
        body.cells
    );
    report.set("detach_ms", timing.min * 1e3, note);
    report.details(
        "a bridge that is cut loose",
        vec![
            detail("cells", body.cells as f64, ""),
            detail("chunks", body.grid.chunks().len() as f64, ""),
            detail("triangles", triangles as f64, ""),
            detail("tonnes, voxels of a metre", body.mass.mass / 1e3, "t"),
            detail("median", timing.median * 1e3, "ms"),
            detail("its collision shape, as well", shape.min * 1e3, "ms")
                .note(format!("{parts} hulls; median {:.2}", shape.median * 1e3)),
        ],
    );
}

/// A bridge whose ends were dug away.
struct CutBridge {
    grid: VoxelGrid,
    loose: LooseCutter,
    history: History,
}

/// A bridge with a bent deck between two cliffs, cut at both.
fn cut_bridge() -> CutBridge {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-140, -32, -40], [140, 40, 40]));
    let distance = |p: [f64; 3]| {
        let cliffs = (p[0].abs() - HALF_LENGTH - 8.0).min(-p[1] - 12.0);
        let deck = (5.5 - (p[1] - 8.0 + p[0] * p[0] / 1000.0).abs()).min(HALF_WIDTH - p[2].abs());
        cliffs.max(deck)
    };
    fill_sdf(&mut cells, 0, distance, |p| if p[1] > 0.0 { GROUND } else { ROCK });
    let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    let (mut loose, mut history) = (LooseCutter::default(), History::default());
    for end in [-1.0, 1.0] {
        let centre = [end * HALF_LENGTH, 0.0, 0.0];
        let brush = Brush::Box { centre, half: [2.0, 30.0, 40.0], rotation: Brush::NO_ROTATION };
        let op = EditOp::from(BrushOp::new(brush, Action::Dig));
        match Editor::default().apply(&mut grid, &op, &mut history) {
            Ok(dug) => loose.touch(dug.region),
            Err(error) => panic!("{error}"),
        }
    }
    CutBridge { grid, loose, history }
}
