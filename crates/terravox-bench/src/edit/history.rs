//! Cost of undo, in time and in bytes, for strokes on real terrain.

use cpu_time::ThreadTime;
use terravox::edit::{Action, Brush, BrushOp, EditOp, Editor, History};
use terravox::voxel::VoxelPos;

use crate::report::{AreaReport, detail};
use crate::worlds::{World, ground, places, rough};

/// Positions in each world that get one stroke of every kind.
const SPOTS: usize = 24;

const ROUNDS: usize = 5;

/// A kind of stroke.
struct StrokeKind {
    name: &'static str,
    /// Its operations at a position.
    ops: fn([f64; 3]) -> Vec<EditOp>,
}

const fn kind(name: &'static str, ops: fn([f64; 3]) -> Vec<EditOp>) -> StrokeKind {
    StrokeKind { name, ops }
}

const STROKES: [StrokeKind; 6] = [
    kind("dig ball 8", |p| vec![brush(Action::Dig, p, 8.0)]),
    kind("dig ball 16", |p| vec![brush(Action::Dig, p, 16.0)]),
    kind("fill ball 8", |p| vec![brush(Action::Fill { material: 8 }, p, 8.0)]),
    kind("paint ball 8", |p| vec![brush(Action::Paint { material: 6 }, p, 8.0)]),
    kind("smooth ball 8", |p| vec![brush(Action::Smooth, p, 8.0)]),
    kind("tunnel of 8 balls", |p| {
        let step = |i: i32| [p[0] + 2.0 * f64::from(i), p[1] - f64::from(i), p[2]];
        (0..8).map(|i| brush(Action::Dig, step(i), 4.0)).collect()
    }),
];

fn brush(action: Action, centre: [f64; 3], radius: f64) -> EditOp {
    BrushOp::new(Brush::Ball { centre, radius }, action).into()
}

/// Bytes of the cells of the box around a ball: an uncompressed history.
fn raw_bytes(op: &EditOp) -> u64 {
    let EditOp::Brush(BrushOp { brush: Brush::Ball { centre, radius }, .. }) = op else {
        unreachable!("all strokes are made of balls")
    };
    let edge = |axis: usize| (centre[axis] + radius).ceil() - (centre[axis] - radius).floor();
    2 * (edge(0) * edge(1) * edge(2)) as u64
}

/// Cost of the strokes of one kind.
#[derive(Clone, Copy, Default)]
struct Cost {
    edit_seconds: f64,
    undo_seconds: f64,
    /// Of the history.
    bytes: usize,
    /// Of the cells of the boxes around the balls.
    raw_bytes: u64,
}

/// Measures `undo_vs_edit` and `history_vs_raw`.
pub fn run(report: &mut AreaReport) {
    let (mut worlds, is_real) = match places::all() {
        Ok(worlds) => (worlds, true),
        Err(why) => {
            report.not_measured("history_vs_raw", why);
            (vec![rough::world()], false)
        }
    };
    let mut costs = [Cost::default(); STROKES.len()];
    let spots: Vec<Vec<VoxelPos>> = worlds.iter().map(spots_of).collect();
    for (cost, stroke) in costs.iter_mut().zip(STROKES) {
        for (world, spots) in worlds.iter_mut().zip(&spots) {
            measure(world, spots, stroke.ops, cost);
        }
    }
    let sum = |of: fn(&Cost) -> f64| costs.iter().map(of).sum::<f64>();
    let [edit, undo] = [sum(|c| c.edit_seconds), sum(|c| c.undo_seconds)];
    let note = "edits with a history; all strokes below, minimum of the rounds each";
    report.set_ratio("undo_vs_edit", undo / edit, edit, note);
    let [bytes, raw] = [sum(|c| c.bytes as f64), sum(|c| c.raw_bytes as f64)];
    if is_real {
        let note =
            format!("{bytes:.0} bytes of history for {raw:.0} of the boxes touched, two a cell");
        report.set_ratio("history_vs_raw", bytes / raw, raw, note);
    }
    let line = |(stroke, cost): (&StrokeKind, &Cost)| {
        let note = format!(
            "undo takes {:.2} of the edit's time; history {:.3} of raw",
            cost.undo_seconds / cost.edit_seconds,
            cost.bytes as f64 / cost.raw_bytes as f64
        );
        detail(stroke.name, cost.edit_seconds * 1e6, "µs").note(note)
    };
    let lines = STROKES.iter().zip(&costs).map(line).collect();
    let terrain = if is_real { "real" } else { "generated" };
    report.details(format!("strokes on {terrain} terrain, sums over all places"), lines);
}

/// Up to [`SPOTS`] positions on the ground, at even intervals.
fn spots_of(world: &World) -> Vec<VoxelPos> {
    let all = ground(world, 40);
    let count = all.len().min(SPOTS);
    (0..count).map(|i| all[i * all.len() / count]).collect()
}

/// Edits and undoes at every position, and adds the cost.
fn measure(
    world: &mut World,
    spots: &[VoxelPos],
    stroke: fn([f64; 3]) -> Vec<EditOp>,
    cost: &mut Cost,
) {
    let mut editor = Editor::default();
    for spot in spots {
        let ops = stroke(spot.to_array().map(|v| f64::from(v) + 0.3));
        let (mut edit, mut undo) = (f64::MAX, f64::MAX);
        for round in 0..ROUNDS {
            let mut history = History::default();
            let empty = history.stats().bytes;
            let start = ThreadTime::now();
            let mut raw = 0;
            history.begin_stroke();
            for op in &ops {
                raw += raw_bytes(op);
                if let Err(error) = editor.apply(&mut world.grid, op, &mut history) {
                    panic!("{}: {error}", world.name);
                }
            }
            history.end_stroke();
            edit = edit.min(start.elapsed().as_secs_f64());
            if round == 0 {
                cost.bytes += history.stats().bytes - empty;
                cost.raw_bytes += raw;
            }
            let start = ThreadTime::now();
            if let Err(error) = history.undo(&mut world.grid) {
                panic!("{}: {error}", world.name);
            }
            undo = undo.min(start.elapsed().as_secs_f64());
        }
        cost.edit_seconds += edit;
        cost.undo_seconds += undo;
    }
}
