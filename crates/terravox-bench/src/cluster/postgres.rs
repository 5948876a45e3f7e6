//! PostgreSQL, in a folder of its own on the disk of temporary files: batches, saves, loading.

use super::server::Server;
use crate::harness::median_of_sorted;
use crate::report::{AreaReport, detail};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::terrain::{Placement, TerrainOptions};
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, Region, VoxelGrid, VoxelPos};
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_store::{MemoryRecords, Store, StoreError, WorldInfo};

/// Half the columns of chunks along x and z.
const HALF_CHUNKS: i32 = 28;

/// Copies of the world.
const COPIES: usize = 5;

/// Saves of one stroke each.
const SAVES: usize = 300;

/// Times that a region is loaded.
const LOADS: usize = 15;

/// About the number of chunks of a region, for which the figure is given.
const LOADED_CHUNKS: f64 = 1000.0;

const SEED: u64 = 2026;

/// Hills of mixed chunks only.
fn world() -> (VoxelGrid, Hills) {
    let hills = Hills::new(SEED);
    let (low, high) = (Hills::HEIGHTS.start >> 5, Hills::HEIGHTS.end >> 5);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    let half = HALF_CHUNKS;
    for VoxelPos { x, y, z } in Region::new([-half, low, -half], [half, high, half]).voxels() {
        cells.reset(ChunkPos::new(x, y, z).region());
        hills.fill(&mut cells, 0);
        let first = cells.materials()[0];
        if cells.materials().iter().any(|&material| material != first) {
            let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
        }
    }
    (grid, hills)
}

/// Measures `pg_chunks_per_s`, `pg_commit_ms` and `pg_load_region_ms`.
pub fn run(report: &mut AreaReport, server: &mut Server) -> Result<(), StoreError> {
    let (grid, hills) = world();
    let info = WorldInfo::complete(Placement::default());
    let source = Store::create_records(Arc::new(MemoryRecords::default()), "source", &info)?;
    source.write_all(grid.as_snapshot(), |_, _| {})?;
    let stores = copies(report, server, &source)?;
    saves(report, &stores, &hills)?;
    loads(report, &stores)
}

/// The same world in the database and in a file.
struct Stores {
    database: Store,
    file: Store,
}

/// Copies the encoded world into both.
fn copies(report: &mut AreaReport, server: &Server, source: &Store) -> Result<Stores, StoreError> {
    let stats = source.stats()?;
    let (mut database_s, mut file_s) = (Vec::new(), Vec::new());
    let mut last = None;
    for number in 0..COPIES {
        let address = server.address(&format!("copy{number}"));
        let begin = Instant::now();
        let options = PostgresOptions::default();
        let (database, _) = Postgres::copy(source, &address, &options, |_, _| {})?;
        database_s.push(begin.elapsed().as_secs_f64());
        let path = server.file(&format!("copy{number}.tvx"));
        let begin = Instant::now();
        let (file, _) = source.copy_to_file(&path, |_, _| {})?;
        file_s.push(begin.elapsed().as_secs_f64());
        last = Some(Stores { database, file });
    }
    let rate = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        stats.chunks as f64 / median_of_sorted(&seconds)
    };
    let blocks = stats.blocks as f64 / stats.chunks as f64;
    let note = format!(
        "{} mixed chunks, {:.0} B each; {blocks:.2} blocks a chunk are written, coarse ones with \
         them; beside it, to a file",
        stats.chunks,
        stats.payload_bytes as f64 / stats.blocks as f64
    );
    report.set_beside("pg_chunks_per_s", rate(database_s), rate(file_s), note);
    let Some(stores) = last else { unreachable!("there is a copy") };
    Ok(stores)
}

/// Saves strokes of a few chunks, one by one.
fn saves(report: &mut AreaReport, stores: &Stores, hills: &Hills) -> Result<(), StoreError> {
    let mut medians = Vec::new();
    let mut details = Vec::new();
    for (name, store) in [("database", &stores.database), ("file", &stores.file)] {
        let (mut terrain, _) = store.load_terrain(TerrainOptions::default())?;
        let mut times: Vec<f64> = Vec::with_capacity(SAVES);
        for stroke in 0..SAVES {
            let step = stroke as f64;
            let (x, z) = ((step * 17.3) % 900.0 - 450.0, (step * 31.7) % 900.0 - 450.0);
            let edit = EditOp::dig_ball([x, hills.height(x, z), z], 3.0);
            if terrain.edit(&edit).is_err() {
                continue;
            }
            let unsaved = terrain.unsaved();
            let begin = Instant::now();
            store.save(&unsaved, |_| {})?;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            terrain.mark_saved(&unsaved);
        }
        times.sort_by(f64::total_cmp);
        medians.push(median_of_sorted(&times));
        let late = times[times.len() * 95 / 100];
        details.push(detail(format!("{name}, p95 of a save"), late, "ms"));
    }
    let note = format!("median of {SAVES} saves of a stroke of 3 m; beside it, in a file");
    report.set_beside("pg_commit_ms", medians[0], medians[1], note);
    report.details("Saves of a stroke", details);
    Ok(())
}

/// Loads all chunks of a square of columns.
fn loads(report: &mut AreaReport, stores: &Stores) -> Result<(), StoreError> {
    let half = 12;
    let height = (Hills::HEIGHTS.start >> 5, Hills::HEIGHTS.end >> 5);
    let chunks = Region::new([-half, height.0, -half], [half, height.1, half]);
    let region = chunks.finer(5);
    let mut medians = Vec::new();
    let mut found = 0;
    for store in [&stores.database, &stores.file] {
        let mut times = Vec::new();
        for _ in 0..LOADS {
            found = 0;
            let begin = Instant::now();
            store.blocks(region, 0, |_, cells| {
                found += usize::from(cells.is_ok());
                ControlFlow::Continue(())
            })?;
            times.push(begin.elapsed());
        }
        times.sort_unstable();
        let median: Duration = times[times.len() / 2];
        medians.push(median.as_secs_f64() * 1e3 * LOADED_CHUNKS / found as f64);
    }
    let note = format!("{found} chunks, decoded, for each thousand; beside it, from a file");
    report.set_beside("pg_load_region_ms", medians[0], medians[1], note);
    Ok(())
}
