//! How well the cost of an operation is known before it is applied: predicted beside measured, for
//! random operations of every brush and action.

mod operations;

use cpu_time::ThreadTime;
use terravox::edit::{EditOp, Editor, History};
use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};

use crate::harness::median_of_sorted;
use crate::report::{AreaReport, detail};
use crate::worlds::{World, generated, rough};

use operations::RandomOperations;

/// Operations in all; p99 is about the worst 12 of them.
const OPERATIONS: usize = 1200;

/// Maximum number of cells of one.
const MAX_CELLS: u64 = 1_000_000;

/// An operation is repeated so often at least, and until `SECONDS` have passed.
const MIN_ROUNDS: usize = 5;
const MAX_ROUNDS: usize = 40;
const SECONDS: f64 = 0.004;

/// Predictions that are listed.
const WORST: usize = 24;

/// What was predicted of an operation and what it took.
struct EstimateSample {
    name: String,
    /// Units of work.
    predicted: f64,
    seconds: f64,
    /// Of the estimate itself.
    estimate_seconds: f64,
}

/// Measures `edit_estimate_error`.
pub fn run(report: &mut AreaReport) {
    let mut samples = samples();
    let mut ratios: Vec<f64> =
        samples.iter().map(|sample| sample.predicted / (sample.seconds * 1e9)).collect();
    ratios.sort_by(f64::total_cmp);
    let machine = median_of_sorted(&ratios);
    let error = |sample: &EstimateSample| {
        let ratio = sample.predicted / (sample.seconds * 1e9) / machine;
        ratio.max(1.0 / ratio)
    };
    samples.sort_by(|a, b| error(a).total_cmp(&error(b)));
    let at = |share: f64| error(&samples[((samples.len() - 1) as f64 * share) as usize]);
    let worst = &samples[samples.len() - 1];
    let note = format!(
        "{} operations of 1 to 10⁶ cells; median {:.2}, worst {:.2} ({}); {:.2} units a nanosecond",
        samples.len(),
        at(0.5),
        error(worst),
        worst.name,
        machine,
    );
    report.set("edit_estimate_error", at(0.99), note);
    let mut shares: Vec<f64> =
        samples.iter().map(|sample| sample.estimate_seconds / sample.seconds).collect();
    shares.sort_by(f64::total_cmp);
    let [all, of_estimates] = [
        samples.iter().map(|sample| sample.seconds).sum::<f64>(),
        samples.iter().map(|sample| sample.estimate_seconds).sum::<f64>(),
    ];
    let rows = vec![
        detail("p90", at(0.9), "×"),
        detail("p95", at(0.95), "×"),
        detail("cost of an estimate, median", median_of_sorted(&shares) * 100.0, "% of the edit"),
        detail("cost of all estimates", of_estimates / all * 100.0, "% of all edits"),
    ];
    report.details("predicted beside measured cost of edits", rows);
    let worst = samples.iter().rev().take(WORST).map(|sample| {
        let ratio = sample.predicted / (sample.seconds * 1e9) / machine;
        detail(&sample.name, ratio, "×").note(format!("{:.1} µs", sample.seconds * 1e6))
    });
    report.details("the worst predictions: predicted ÷ measured", worst.collect());
}

/// The worlds that are edited.
fn worlds() -> Vec<World> {
    let mut uniform = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-128, -128, -128], [128, 0, 128]));
    cells.fill(8);
    let Ok(()) = uniform.write(&cells) else { unreachable!("unlisted chunks are air") };
    let caves = World::new("caves", rough::grid([10, 6, 10]));
    vec![generated::world(), World::new("uniform", uniform), caves]
}

fn samples() -> Vec<EstimateSample> {
    let mut worlds = worlds();
    let mut random = RandomOperations::new(&worlds);
    let mut samples = Vec::new();
    let mut editor = Editor::default();
    while samples.len() < OPERATIONS {
        let (world, name, op) = random.next();
        let grid = &mut worlds[world].grid;
        // Some are invalid, such as a mask with nothing to accept, or too large.
        let Ok(cost) = editor.estimate(grid, &op) else { continue };
        if cost.cells > MAX_CELLS {
            continue;
        }
        let (mut seconds, mut estimate_seconds) = (f64::MAX, f64::MAX);
        let start = ThreadTime::now();
        for round in 0..MAX_ROUNDS {
            if round >= MIN_ROUNDS && start.elapsed().as_secs_f64() > SECONDS {
                break;
            }
            estimate_seconds = estimate_seconds.min(estimated(&editor, grid, &op));
            seconds = seconds.min(edited(&mut editor, grid, &op));
        }
        let name = format!("{name}, {} cells, {}", cost.cells, worlds[world].name);
        samples.push(EstimateSample {
            name,
            predicted: cost.work as f64,
            seconds,
            estimate_seconds,
        });
    }
    samples
}

/// Seconds of an estimate.
fn estimated(editor: &Editor, grid: &VoxelGrid, op: &EditOp) -> f64 {
    let start = ThreadTime::now();
    let cost = editor.estimate(grid, op);
    let seconds = start.elapsed().as_secs_f64();
    assert!(cost.is_ok());
    seconds
}

/// Seconds of an edit that remembers, which is then undone.
fn edited(editor: &mut Editor, grid: &mut VoxelGrid, op: &EditOp) -> f64 {
    let mut history = History::new(1 << 30);
    let start = ThreadTime::now();
    let edited = editor.apply(grid, op, &mut history);
    let seconds = start.elapsed().as_secs_f64();
    let undone = history.undo(grid);
    assert!(edited.is_ok() && undone.is_ok(), "{op:?}: {edited:?}, {undone:?}");
    seconds
}
