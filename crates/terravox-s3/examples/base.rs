//! A published world as the ground of one that is edited: edits are in a file, everything else
//! stays in the store of objects.
//!
//! `cargo run -p terravox-s3 --example base` takes one in memory; with `-- s3://BUCKET/PATH` it
//! publishes there.

use object_store::memory::InMemory;
use std::error::Error;
use std::sync::Arc;
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::terrain::{FillRequest, Placement, TerrainOptions};
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, Region, VoxelGrid};
use terravox_s3::{S3, S3Options};
use terravox_store::{Generator, MemoryRecords, Overwrite, Store, WorldInfo};

/// Hills, 8 × 6 × 8 chunks.
fn hills() -> Result<Store, Box<dyn Error>> {
    let info = WorldInfo::complete(Placement::default());
    let store = Store::create_records(Arc::new(MemoryRecords::default()), "hills", &info)?;
    let mut grid = VoxelGrid::new(GridOptions::default());
    let (hills, mut cells) = (Hills::new(7), DenseBox::default());
    for at in Region::new([-4, -3, -4], [4, 3, 4]).voxels() {
        cells.reset(ChunkPos::new(at.x, at.y, at.z).region());
        hills.fill(&mut cells, 0);
        grid.write(&cells)?;
    }
    store.write_all(grid.as_snapshot(), |_, _| {})?;
    Ok(store)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = S3Options::default();
    let place = match std::env::args().nth(1) {
        Some(address) => S3::at(&address, &options)?,
        None => S3::on(Arc::new(InMemory::new()), "hills", &options)?,
    };
    let stats = place.publish(&hills()?, |_, _| {})?;
    println!("{}: state {}, {} bytes", place.path().display(), stats.state, stats.stored_bytes);

    // The description of the edits says which state they are edits of.
    let base = place.open_read_only()?;
    let generator = Generator {
        name: place.path().display().to_string(),
        version: u32::try_from(stats.state)?,
        ..Generator::default()
    };
    let path = std::env::temp_dir().join(format!("terravox-edits-{}.tvx", std::process::id()));
    let info = WorldInfo::growing(Placement::default(), generator);
    let edits = Store::create(&path, &info, Overwrite::Yes)?.finish()?;

    let ground = |request: &mut FillRequest<'_>| base.fill(request, |_| {});
    let fill = |request: &mut FillRequest<'_>| edits.fill(request, ground);
    let mut terrain = edits.terrain(TerrainOptions::default())?;
    terrain.hold([-20.0; 3], [20.0; 3], fill)?;
    terrain.edit(&EditOp::dig_ball([0.0; 3], 8.0))?;
    let unsaved = terrain.unsaved();
    let saved = edits.save(&unsaved, fill)?;
    terrain.mark_saved(&unsaved);
    println!("{} edited chunks in {}", saved.written, path.display());
    drop(edits);
    std::fs::remove_file(path)?;
    Ok(())
}
