//! A process that saves batch after batch and is killed while it does: everything acknowledged is
//! there, nothing by halves.
//!
//! The benchmark kills many more.

#![allow(dead_code)]

use super::scratch::{Numbers, fill};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{Cell, ChunkPos, DenseBox, VoxelGrid, VoxelPos};
use terravox_store::{Overwrite, Store, WorldInfo};

/// Extra data that says which batch the cells are of.
const BATCH: &str = "batch";

/// What was found after kills.
#[derive(Clone, Copy, Debug, Default)]
pub struct KillTally {
    pub kills: u64,
    /// Batches that were saved.
    pub batches: u64,
    /// Kills after which the world was another than it should be.
    pub failed: u64,
    /// The slowest opening after a kill.
    pub slowest_open: Duration,
}

/// Changes some chunks, always the same for the same batch; each shows its number.
pub fn change(grid: &mut VoxelGrid, batch: u64) {
    let mut numbers = Numbers(batch);
    for _ in 0..1 + numbers.below(6) {
        let [x, y, z] = [0; 3].map(|_| numbers.below(3) - 1);
        let chunk = ChunkPos::new(x, y, z);
        match numbers.below(4) {
            0 => assert!(grid.forget(chunk)),
            1 => fill(grid, chunk.region(), 2 + (batch % 20) as u8),
            _ => {
                let mut cells = DenseBox::new(chunk.region());
                for i in 0..200 {
                    let at = chunk.min_voxel() + VoxelPos::new(i % 32, numbers.below(32), i / 32);
                    cells.set(at, Cell::new(1 + (batch % 250) as u8, (batch >> (i % 9)) as u8));
                }
                grid.write(&cells).unwrap();
            }
        }
    }
    // Every batch leaves something new, so that no two states are alike.
    let mut one = DenseBox::new(terravox::voxel::Region::one(VoxelPos::ZERO));
    one.set(VoxelPos::ZERO, Cell::new(2 + (batch % 200) as u8, (batch / 200) as u8));
    if grid.is_listed(ChunkPos::new(0, 0, 0)) {
        grid.write(&one).unwrap();
    } else {
        fill(grid, ChunkPos::new(0, 0, 0).region(), 7);
        grid.write(&one).unwrap();
    }
}

pub fn acknowledge(batch: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nsaved {batch}").unwrap();
    out.flush().unwrap();
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("saved ").and_then(|number| number.trim().parse().ok())
}

/// Waits for `lines` acknowledgements and then `more` time, kills, and returns the last
/// batch that was acknowledged.
pub fn kill_after(mut child: Child, lines: u64, more: Duration) -> Option<u64> {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (mut seen, mut last) = (0, None);
    let mut line = String::new();
    while seen < lines {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the writer ended by itself");
        if let Some(batch) = acknowledged(&line) {
            (seen, last) = (seen + 1, Some(batch));
        }
    }
    let started = Instant::now();
    while started.elapsed() < more {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    // A line that was cut off by the kill was not acknowledged in full.
    let complete = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
    complete.lines().filter_map(acknowledged).next_back().or(last)
}

/// Opens the world and saves batches from `from` on, until the process is killed.
pub fn save_batches(path: &Path, from: u64) {
    let store = Store::open(path).unwrap();
    let mut grid = store.load().unwrap().grid;
    for batch in from.. {
        change(&mut grid, batch);
        let unsaved =
            UnsavedChanges::from(grid.unsaved()).with_data(BATCH, u64::to_le_bytes(batch));
        store.save(&unsaved, |_| {}).unwrap();
        grid.mark_saved(&unsaved.chunks);
        acknowledge(batch);
    }
}

/// Makes a world at `path` and kills processes that save to it. `start` begins one that runs
/// [`save_batches`] from a batch on. Ends at the first kill that fails.
pub fn kill_many(path: &Path, kills: u64, start: impl Fn(u64) -> Child) -> KillTally {
    let draft = Store::create(path, &WorldInfo::default(), Overwrite::No).unwrap();
    drop(draft.finish().unwrap());
    let (mut tally, mut numbers) = (KillTally::default(), Numbers(20));
    let mut model = VoxelGrid::default();
    while tally.kills < kills && tally.failed == 0 {
        let lines = 1 + numbers.below(4) as u64;
        let more = Duration::from_micros(numbers.below(6000) as u64);
        let last = kill_after(start(tally.batches + 1), lines, more).unwrap();
        for batch in tally.batches + 1..=last {
            change(&mut model, batch);
        }
        tally.batches = last;
        if let Err(what) = check_killed(path, &mut model, &mut tally) {
            println!("kill {} after batch {last}: {what}", tally.kills);
            tally.failed += 1;
        }
        tally.kills += 1;
    }
    tally
}

/// Compares the world with the model, or with that of the batch after it: that may be on disk
/// without having been acknowledged, whole.
fn check_killed(path: &Path, model: &mut VoxelGrid, tally: &mut KillTally) -> Result<(), String> {
    let started = Instant::now();
    let store = Store::open(path).map_err(|error| error.to_string())?;
    tally.slowest_open = tally.slowest_open.max(started.elapsed());
    let loaded = store.load().map_err(|error| error.to_string())?;
    if !loaded.bad.is_empty() {
        return Err(format!("{:?}", loaded.bad));
    }
    let is_equal = |model: &VoxelGrid| {
        loaded.grid.digest() == model.digest() && loaded.grid.chunks() == model.chunks()
    };
    if !is_equal(model) {
        tally.batches += 1;
        change(model, tally.batches);
        if !is_equal(model) {
            return Err("the cells are of no batch".to_owned());
        }
    }
    let extra = store.extra(BATCH).map_err(|error| error.to_string())?;
    if extra != Some(tally.batches.to_le_bytes().to_vec()) {
        return Err(format!("extra data of another batch: {extra:?}"));
    }
    if tally.kills % 5 == 4 {
        let bad = store.verify().map_err(|error| error.to_string())?.bad;
        if !bad.is_empty() {
            return Err(format!("{bad:?}"));
        }
    }
    Ok(())
}
