//! Edits lost by saving, and stalls of the main thread.

use crate::report::{AreaReport, detail};
use crate::trust::folder::BenchFolder;
use cpu_time::ThreadTime;
use session::{Kind, Tally};
use terravox::edit::EditOp;
use terravox::terrain::{Placement, Terrain};
use terravox::voxel::VoxelGrid;

/// The sessions of the store's tests.
#[path = "../../../terravox-store/tests/it/session/mod.rs"]
mod session;

/// Number of sessions in each kind of world.
const SESSIONS: [(Kind, u64); 3] =
    [(Kind::Grown, 5000), (Kind::Streamed, 2500), (Kind::Whole, 2500)];

/// Steps of a session.
const STEPS: u32 = 20;

/// Measures `save_lost_edits` and `save_stall_ms`.
pub fn run(report: &mut AreaReport) {
    lost_edits(report);
    stall(report);
}

fn lost_edits(report: &mut AreaReport) {
    // Disks are not measured.
    let folder = match BenchFolder::in_memory("saving") {
        Ok(folder) => folder,
        Err(error) => return report.not_measured("save_lost_edits", error.to_string()),
    };
    let (fresh, path) = (folder.file("fresh.tvx"), folder.file("world.tvx"));
    let mut all = Tally::default();
    for (kind, sessions) in SESSIONS {
        session::create(&fresh, kind);
        for seed in 0..sessions {
            if let Err(error) = std::fs::copy(&fresh, &path) {
                return report.not_measured("save_lost_edits", error.to_string());
            }
            let tally = session::play(&path, kind, seed, STEPS);
            all.edits += tally.edits;
            all.saves += tally.saves;
            all.failures += tally.failures;
            all.crashes += tally.crashes;
            all.left += tally.left;
            all.compared += tally.compared;
            all.lost += tally.lost;
        }
    }
    let sessions: u64 = SESSIONS.iter().map(|sessions| sessions.1).sum();
    let Tally { edits, saves, failures, crashes, left, compared, lost } = all;
    let note = format!(
        "{sessions} sessions, {edits} edits, {saves} saves, {failures} failed, \
        {crashes} crashes, {left} chunks left memory, {compared} files compared"
    );
    report.set("save_lost_edits", lost as f64, note);
}

/// A world of 1,000 dirty chunks with a history of several strokes each.
fn dug() -> Terrain {
    let mut terrain = Terrain::from_grid(VoxelGrid::default(), Placement::default());
    let at = |i: u16| f64::from(i) * 32.0 + 16.0;
    for (x, y, z) in (0..1000).map(|i| (i % 10, i / 100, i / 10 % 10)) {
        for (radius, material) in [(9.0, 8), (7.0, 9), (5.0, 3)] {
            let ball = EditOp::fill_ball(material, [at(x), at(y), at(z)], radius);
            let hole = EditOp::dig_ball([at(x), at(y), at(z)], radius - 2.0);
            for op in [ball, hole] {
                terrain.edit(&op).expect("the world is held");
            }
        }
    }
    terrain
}

/// Rounds of taking unsaved changes and an edit.
const ROUNDS: u16 = 200;

fn stall(report: &mut AreaReport) {
    let mut terrain = dug();
    let (chunks, strokes) = (terrain.unsaved_chunks().len(), terrain.history_mut().stats());
    let (mut takes, mut edits, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let start = ThreadTime::now();
        let unsaved = terrain.unsaved();
        takes.push(start.elapsed().as_secs_f64() * 1e3);
        // The next edit pays for copying what is shared.
        let start = ThreadTime::now();
        let edited = terrain.edit(&EditOp::dig_ball([f64::from(round), 16.0, 16.0], 3.0));
        edits.push(start.elapsed().as_secs_f64() * 1e3);
        edited.expect("the world is held");
        if round + 1 == ROUNDS {
            let start = ThreadTime::now();
            terrain.mark_saved(&unsaved);
            marks.push(start.elapsed().as_secs_f64() * 1e3);
        }
        drop(unsaved);
    }
    let worst = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let median = |times: &mut Vec<f64>| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (worst_take, worst_edit, mark) = (worst(&takes), worst(&edits), worst(&marks));
    let (take, edit) = (median(&mut takes), median(&mut edits));
    let note = format!(
        "{chunks} chunks, {} strokes of {:.1} MB; take, and mark when it is saved",
        strokes.undoable,
        strokes.bytes as f64 / 1e6
    );
    report.set("save_stall_ms", take + mark, note);
    let rows = vec![
        detail("take what is unsaved, median", take, "ms"),
        detail("take what is unsaved, worst", worst_take, "ms"),
        detail("mark it saved", mark, "ms"),
        detail("the edit after it, median", edit, "ms"),
        detail("the edit after it, worst", worst_edit, "ms"),
    ];
    report.details("saving on another thread: CPU of the main thread", rows);
}
