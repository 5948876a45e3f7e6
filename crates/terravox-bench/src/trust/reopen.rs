//! A large world whose writer was killed, opened again.

use super::child;
use super::folder::BenchFolder;
use super::killing::{acknowledge, kill_after};
use crate::report::{AreaReport, detail};
use crate::worlds::random::Rng;
use std::path::Path;
use std::time::{Duration, Instant};
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{Cell, ChunkPos, DenseBox, VoxelGrid};
use terravox_store::{Overwrite, Store, StoreError, WorldInfo};

/// Bytes of the file.
const FILE_BYTES: u64 = 1_000_000_000;

/// Chunks of a save.
const BATCH: i32 = 256;

/// Kills, each in the middle of a save.
const KILLS: u32 = 10;

/// Milliseconds after kills.
#[derive(Default)]
struct ReopenTimes {
    bytes: u64,
    open: Vec<f64>,
    /// Of the first save, which finds the free space.
    save: Vec<f64>,
}

/// Measures `reopen_after_kill_ms`.
pub fn run(report: &mut AreaReport) {
    match measure() {
        Ok(mut times) => {
            times.open.sort_by(f64::total_cmp);
            times.save.sort_by(f64::total_cmp);
            let (median, worst) =
                (times.open[times.open.len() / 2], times.open[KILLS as usize - 1]);
            let size = times.bytes as f64 / 1e6;
            let note = format!("{size:.0} MB, the worst of {KILLS} kills; median {median:.3}");
            report.set("reopen_after_kill_ms", worst, note);
            let save = times.save[times.save.len() / 2];
            let row = detail("the first save after it, of one chunk, median", save, "ms");
            report.details("a world of 1 GB after a kill", vec![row]);
        }
        Err(why) => report.not_measured("reopen_after_kill_ms", why),
    }
}

fn measure() -> Result<ReopenTimes, String> {
    let folder = BenchFolder::on_disk("reopen").map_err(|error| error.to_string())?;
    let path = folder.file("world.tvx");
    make(&path).map_err(|error| error.to_string())?;
    let name = path.to_str().ok_or("a folder that is not UTF-8")?;
    let mut times = ReopenTimes {
        bytes: std::fs::metadata(&path).map_or(0, |data| data.len()),
        ..ReopenTimes::default()
    };
    let mut rng = Rng::new(4);
    for kill in 0..KILLS {
        let victim = child::start(&["saves", name]).map_err(|error| error.to_string())?;
        let more = Duration::from_micros(rng.below(40_000).into());
        kill_after(victim, 2, more).ok_or("the writer saved nothing")?;
        let start = Instant::now();
        let store = Store::open(&path).map_err(|error| error.to_string())?;
        times.open.push(start.elapsed().as_secs_f64() * 1e3);
        let unsaved = noise(ChunkPos::new(kill as i32, 9, 9), 1, &mut rng);
        let start = Instant::now();
        store.save(&unsaved, |_| {}).map_err(|error| error.to_string())?;
        times.save.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

fn make(path: &Path) -> Result<(), StoreError> {
    let mut rng = Rng::new(3);
    let draft = Store::create(path, &WorldInfo::default(), Overwrite::No)?;
    for row in 0.. {
        let done = draft.stats()?.payload_bytes;
        if done >= FILE_BYTES {
            break;
        }
        draft.save(&noise(ChunkPos::new(0, row, 0), BATCH, &mut rng), |_| {})?;
    }
    draft.finish()?;
    Ok(())
}

/// Chunks of noise in a square from `first` on, a hundred kilobytes each in a file.
fn noise(first: ChunkPos, chunks: i32, rng: &mut Rng) -> UnsavedChanges {
    let (mut grid, mut cells) = (VoxelGrid::default(), DenseBox::default());
    for i in 0..chunks {
        cells.reset(ChunkPos::new(first.x + i % 16, first.y, first.z + i / 16).region());
        let positions: Vec<_> = cells.region().voxels().collect();
        for pos in positions {
            let bits = rng.bits();
            cells.set(pos, Cell::new(2 + (bits % 20) as u8, (bits >> 32) as u8));
        }
        if let Err(error) = grid.write(&cells) {
            panic!("{error}");
        }
    }
    UnsavedChanges::from(grid.unsaved())
}

/// Saves to a world until the process is killed.
pub fn save_for_ever(path: &Path) {
    let store = Store::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut rng = Rng::new(std::process::id().into());
    for batch in 0.. {
        let unsaved = noise(ChunkPos::new(rng.below(16) as i32, 3, 0), 8, &mut rng);
        if let Err(error) = store.save(&unsaved, |_| {}) {
            panic!("{error}");
        }
        acknowledge(batch);
    }
}
