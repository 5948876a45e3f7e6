//! A published world, in a store of objects in memory that takes 20 ms for every request.

use crate::report::{AreaReport, detail};
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::generate::Hills;
use terravox::terrain::Placement;
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, Region, VoxelGrid};
use terravox_s3::{PublishStats, S3, S3Options};
use terravox_store::{MemoryRecords, RecordChanges, Records, Store, WorldInfo};

/// Duration of a request.
const LATENCY: Duration = Duration::from_millis(20);

/// How often the world is opened and a block is read.
const OPENINGS: usize = 31;

type Objects = Arc<ThrottledStore<InMemory>>;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Hills, 16 × 6 × 16 chunks.
fn hills(records: Arc<MemoryRecords>) -> Outcome<Store> {
    let info = WorldInfo::complete(Placement::default());
    let store = Store::create_records(records, "hills", &info)?;
    let mut grid = VoxelGrid::new(GridOptions::default());
    let (hills, mut cells) = (Hills::new(7), DenseBox::default());
    for at in Region::new([-8, -3, -8], [8, 3, 8]).voxels() {
        cells.reset(ChunkPos::new(at.x, at.y, at.z).region());
        hills.fill(&mut cells, 0);
        grid.write(&cells)?;
    }
    store.write_all(grid.as_snapshot(), |_, _| {})?;
    Ok(store)
}

/// Extra data that does not compress.
fn photos() -> RecordChanges {
    let bytes = |i: u32| (0..40_000u32).map(|n| (n.wrapping_mul(i + 3) >> 5) as u8).collect();
    let key = |i: u32| [&[1][..], format!("photo/{i:04}").as_bytes()].concat();
    (0..5000).map(|i| (key(i), Some(bytes(i)))).collect()
}

/// Publishes a world in a new store of objects, in which requests are slow only afterwards.
fn publish(store: &Store) -> Outcome<(Objects, PublishStats)> {
    let objects = Arc::new(ThrottledStore::new(InMemory::new(), ThrottleConfig::default()));
    let place = S3::on(objects.clone(), "hills", &S3Options::default())?;
    let stats = place.publish(store, |_, _| {})?;
    objects.config_mut(|config| config.wait_get_per_call = LATENCY);
    Ok((objects, stats))
}

/// The median time from nothing to the cells of a chunk, in milliseconds.
fn first_block_ms(objects: &Objects, chunks: &[ChunkPos]) -> Outcome<f64> {
    let mut times_ms = Vec::new();
    for i in 0..OPENINGS {
        let mut cells = DenseBox::default();
        let started = Instant::now();
        let store = S3::on(objects.clone(), "hills", &S3Options::default())?.open_read_only()?;
        assert!(store.chunk(chunks[i * chunks.len() / OPENINGS], &mut cells)?);
        times_ms.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times_ms.sort_by(f64::total_cmp);
    Ok(times_ms[OPENINGS / 2])
}

/// How fast all of a world is read, in MB/s of keys and values.
fn load_mb_s(objects: &Objects, payload_bytes: u64) -> Outcome<f64> {
    let store = S3::on(objects.clone(), "hills", &S3Options::default())?.open_read_only()?;
    let started = Instant::now();
    store.copy_to_records(Arc::new(MemoryRecords::default()), "copy", |_, _| {})?;
    Ok(payload_bytes as f64 / 1e6 / started.elapsed().as_secs_f64())
}

/// Measures `s3_first_block_ms` and `s3_overhead`.
pub fn run(report: &mut AreaReport) {
    if let Err(error) = measure(report) {
        ["s3_first_block_ms", "s3_overhead"]
            .iter()
            .for_each(|id| report.not_measured(id, error.to_string()));
    }
}

fn measure(report: &mut AreaReport) -> Outcome<()> {
    let records = Arc::new(MemoryRecords::default());
    let store = hills(records.clone())?;
    let chunks = store.chunks()?;
    let (objects, stats) = publish(&store)?;
    let note = format!("median of {OPENINGS}, each from nothing; {} chunks", chunks.len());
    report.set("s3_first_block_ms", first_block_ms(&objects, &chunks)?, note);
    let payload_mb = stats.payload_bytes as f64 / 1e6;
    let note = format!("{payload_mb:.1} MB in {} packs, index and manifest", stats.packs);
    let overhead = stats.stored_bytes as f64 / stats.payload_bytes as f64;
    report.set("s3_overhead", overhead, note);
    let loaded = load_mb_s(&objects, stats.payload_bytes)?;
    records.commit(photos())?;
    let (objects, stats) = publish(&store)?;
    let large_ms = first_block_ms(&objects, &chunks)?;
    report.details(
        "Published worlds",
        vec![
            detail(format!("all of {payload_mb:.1} MB is read"), loaded, "MB/s"),
            detail("a first block of 200 MB".to_owned(), large_ms, "ms"),
            detail(
                "all of 200 MB is read".to_owned(),
                load_mb_s(&objects, stats.payload_bytes)?,
                "MB/s",
            ),
        ],
    );
    Ok(())
}
