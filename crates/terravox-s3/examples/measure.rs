//! Measures a published world, in a store of objects in memory that takes 20 ms for every request.
//!
//! `cargo run --release -p terravox-s3 --example measure`; with `large`, also a world of 200 MB, whose
//! index has pages of its own.

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

/// What a request takes.
const LATENCY: Duration = Duration::from_millis(20);

/// Times that the world is opened and a block is read.
const OPENINGS: usize = 31;

type Objects = Arc<ThrottledStore<InMemory>>;

/// Hills, 16 × 6 × 16 chunks.
fn hills(records: Arc<MemoryRecords>) -> Result<Store, Box<dyn Error>> {
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

/// Publishes a world where requests take no time yet.
fn publish(store: &Store) -> Result<(Objects, PublishStats), Box<dyn Error>> {
    let objects = Arc::new(ThrottledStore::new(InMemory::new(), ThrottleConfig::default()));
    let place = S3::on(objects.clone(), "hills", &S3Options::default())?;
    let stats = place.publish(store, |_, _| {})?;
    objects.config_mut(|config| config.wait_get_per_call = LATENCY);
    Ok((objects, stats))
}

/// The median time from nothing to the cells of a chunk, in milliseconds.
fn first_block_ms(objects: &Objects, chunks: &[ChunkPos]) -> Result<f64, Box<dyn Error>> {
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
fn load_mb_s(objects: &Objects, payload_bytes: u64) -> Result<f64, Box<dyn Error>> {
    let store = S3::on(objects.clone(), "hills", &S3Options::default())?.open_read_only()?;
    let started = Instant::now();
    store.copy_to_records(Arc::new(MemoryRecords::default()), "copy", |_, _| {})?;
    Ok(payload_bytes as f64 / 1e6 / started.elapsed().as_secs_f64())
}

fn main() -> Result<(), Box<dyn Error>> {
    let records = Arc::new(MemoryRecords::default());
    let store = hills(records.clone())?;
    let chunks = store.chunks()?;
    let (objects, stats) = publish(&store)?;
    println!(
        "chunks {}, packs {}, payload_bytes {}",
        chunks.len(),
        stats.packs,
        stats.payload_bytes
    );
    println!("s3_first_block_ms {:.1}", first_block_ms(&objects, &chunks)?);
    println!("s3_overhead {:.4}", stats.stored_bytes as f64 / stats.payload_bytes as f64);
    println!("s3_load_mb_s {:.1}", load_mb_s(&objects, stats.payload_bytes)?);
    if std::env::args().any(|argument| argument == "large") {
        records.commit(photos())?;
        let (objects, stats) = publish(&store)?;
        println!("large: packs {}, payload_bytes {}", stats.packs, stats.payload_bytes);
        println!("s3_first_block_large_ms {:.1}", first_block_ms(&objects, &chunks)?);
        println!("s3_load_large_mb_s {:.1}", load_mb_s(&objects, stats.payload_bytes)?);
    }
    Ok(())
}
