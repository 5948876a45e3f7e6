//! `generate`: makes a seeded world.

use crate::args::GenerateArgs;
use crate::census::Census;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::make_chunks;
use crate::report::Report;
use crate::world::{World, check_new_world, store_failure};
use serde_json::json;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use terravox::generate::{Hills, Seeded, World as BiomeWorld};
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, Region, UnlistedChunks, VoxelGrid};
use terravox_io::roblox::RobloxMetadata;
use terravox_store::{Draft, Generator, Overwrite, Store, WorldInfo};

pub fn run(args: &GenerateArgs, console: &Console) -> CliResult<Report> {
    check_new_world(&args.world, args.force)?;
    let seeded = seeded(args)?;
    if args.sparse {
        return create_sparse(&args.world, &seeded, args.voxel_size, args.force);
    }
    let start = Instant::now();
    let world = generate(&seeded, args.size, seeded.heights(), args.voxel_size, console)?;
    let generated = start.elapsed();
    let census = Census::of(world.grid.as_snapshot(), console).map_err(Failure::at(&args.world))?;
    let start = Instant::now();
    let saved = world.save(&args.world, args.force, console)?;
    let mut report = Report::of_change("generate", &args.world);
    report.text_line("world", "world", args.world.display().to_string());
    report.line("seed", "seed", args.seed.to_string(), json!(args.seed));
    report.text_line("generator", "generator", seeded.to_string());
    census.add_to(&mut report);
    census.add_bytes("disk", "on disk", saved, &mut report);
    report.time("generate_ms", "generate", generated);
    report.time("save_ms", "save", start.elapsed());
    Ok(report)
}

/// Creates a world whose chunks are generated on demand: a file with its description only.
///
/// # Errors
/// If the file exists and `force` is not set, or it cannot be written.
pub fn create_sparse(
    path: &Path,
    seeded: &Seeded,
    voxel_size_m: f64,
    force: bool,
) -> CliResult<Report> {
    let info = WorldInfo {
        voxel_size_m,
        unlisted: UnlistedChunks::Unknown,
        generator: Some(Generator::of(seeded)),
        ..WorldInfo::default()
    };
    let overwrite = if force { Overwrite::Yes } else { Overwrite::No };
    let world = Store::create(path, &info, overwrite).and_then(Draft::finish);
    let stats = world.map_err(store_failure)?.stats();
    let stats = stats.map_err(|error| store_failure(error).after_change())?;
    let mut report = Report::of_change("generate", path);
    report.text_line("world", "world", path.display().to_string());
    report.line("seed", "seed", seeded.seed().to_string(), json!(seeded.seed()));
    report.text_line("generator", "generator", seeded.to_string());
    report.line("grows", "endless", "chunks are generated on demand", json!(true));
    report.bytes("disk_bytes", "on disk", stats.file_bytes);
    Ok(report)
}

/// The generator that was asked for.
fn seeded(args: &GenerateArgs) -> CliResult<Seeded> {
    let Some(preset) = &args.preset else { return Ok(Seeded::Hills(Hills::new(args.seed))) };
    let options = preset.parse().map_err(|error| Failure::new(format!("--preset: {error}")))?;
    let world = BiomeWorld::with_options(args.seed, options);
    Ok(Seeded::World(world.map_err(|error| Failure::new(format!("--preset: {error}")))?))
}

/// Generates a world of `size` voxels along x and z, rounded up to chunks, centred at the
/// origin, within a range of heights.
pub fn generate(
    seeded: &Seeded,
    size: u32,
    heights: Range<i32>,
    voxel_size_m: f64,
    console: &Console,
) -> CliResult<World> {
    let edge = size.div_ceil(32) as i32;
    let [low, high] = [-(edge / 2), edge - edge / 2];
    let [min, max] = [[low * 32, heights.start, low * 32], [high * 32, heights.end, high * 32]];
    let region = Region::new(min, max);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let chunks: Vec<ChunkPos> = region.blocks::<5>().collect();
    let bar = console.bar("generating", chunks.len());
    let make = |cells: &mut DenseBox| {
        seeded.fill(cells, 0);
        bar.step();
    };
    make_chunks(&chunks, make, |cells| grid.write(cells).map_err(Failure::new))?;
    let info = WorldInfo {
        voxel_size_m,
        materials: grid.materials().clone(),
        generator: Some(Generator { saved_region: Some(region), ..Generator::of(seeded) }),
        ..WorldInfo::default()
    };
    let (roblox, notes) = (RobloxMetadata::default(), Vec::new());
    Ok(World {
        grid,
        info,
        roblox,
        source: "generated",
        file_bytes: 0,
        notes,
        growth: None,
        channels: Default::default(),
    })
}
