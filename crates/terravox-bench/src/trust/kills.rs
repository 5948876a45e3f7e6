//! Processes that are killed while they save.

use super::child;
use super::folder::BenchFolder;
use super::killing::{KillTally, kill_many};
use crate::report::AreaReport;

/// Kills, and of a full run.
const KILLS: [u64; 2] = [100, 1000];

/// Measures `kills_failed`.
pub fn run(report: &mut AreaReport) {
    let made = BenchFolder::in_memory("kills");
    let path = made.as_ref().map(|folder| folder.file("world.tvx"));
    let Some(path) = path.ok().filter(|path| path.to_str().is_some()) else {
        return report.not_measured("kills_failed", "no folder for files");
    };
    let name = path.to_string_lossy();
    let start = |from: u64| {
        let child = child::start(&["batches", &name, &from.to_string()]);
        child.unwrap_or_else(|error| panic!("the writer does not start: {error}"))
    };
    let tally = kill_many(&path, KILLS[usize::from(report.is_full)], start);
    let KillTally { kills, batches, failed, slowest_open } = tally;
    let slowest = slowest_open.as_secs_f64() * 1e3;
    let note = format!("{kills} kills, {batches} saves, slowest opening {slowest:.2} ms");
    report.set("kills_failed", failed as f64, note);
}
