//! The generator `World`: time of blocks, worlds and views, and how well its mips agree.

use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use terravox::generate::{Preset, World};
use terravox::terrain::{Budget, LodOptions, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, MipBlock, Region, VoxelGrid, VoxelPos};
use terravox_store::{Overwrite, Store, WorldInfo};

use crate::harness::{Entrant, RoundBudget, contest};
use crate::lod::DETAIL;
use crate::report::{AreaReport, detail};

const SEED: u64 = 7;

/// Columns of blocks along x and z of which those at the surface are timed: more than the generator
/// keeps, so that each is evaluated anew in every round.
const COLUMNS: i32 = 12;

/// Blocks between those columns, so that they see different biomes.
const APART: i32 = 23;

/// Chunks that are generated at a time.
const BATCH_CHUNKS: usize = 64;

/// Measures the figures of the area.
pub fn run(report: &mut AreaReport) {
    blocks(report);
    match saved_world() {
        Ok(seconds) => report.set("world_1024_s", seconds, "1024 × 192 × 1024, continents"),
        Err(why) => report.not_measured("world_1024_s", why),
    }
    view(report);
    agreement(report);
    report.set(
        "digest_differences",
        differences() as f64,
        "all presets, mips 0 to 6; order, threads, parts",
    );
}

/// Blocks of 32³ that the ground passes through.
fn surface_blocks(world: &World) -> Vec<MipBlock> {
    let mut blocks = Vec::new();
    for (x, z) in (0..COLUMNS).flat_map(|x| (0..COLUMNS).map(move |z| (x * APART, z * APART))) {
        let middle = [x, z].map(|v| f64::from(v * 32 + 16));
        let (height, _) = world.ground(middle[0], middle[1]);
        blocks.push(MipBlock::new(0, [x, (height as i32).div_euclid(32), z]));
    }
    blocks
}

fn blocks(report: &mut AreaReport) {
    let (mut rows, mut worst) = (Vec::new(), 0.0_f64);
    let mut mean = 0.0;
    for preset in Preset::ALL {
        let world = World::new(SEED, preset);
        let blocks = surface_blocks(&world);
        let mut cells = DenseBox::default();
        let fill = Entrant::new("surface", |i: usize| {
            cells.reset(blocks[i].cells());
            world.fill(&mut cells, 0);
            u64::from(cells.materials()[0])
        });
        let budget = RoundBudget { min_rounds: 3, max_rounds: 9, seconds: 2.0, warm: true };
        let [timing] = contest(blocks.len(), budget, [fill]);
        let each = timing.median * 1e9 / blocks.len() as f64 / 32_768.0;
        rows.push(detail(preset.name(), each, "ns/cell"));
        mean += each / Preset::ALL.len() as f64;
        worst = worst.max(each);
    }
    let note =
        format!("mean of all presets, {} blocks each; the slowest {worst:.1}", COLUMNS * COLUMNS);
    report.set("world_fill_ns_cell", mean, note);
    report.details("surface blocks by preset", rows);
    let world = World::new(SEED, Preset::Continents);
    let heights = world.heights();
    let above = surface_blocks(&world);
    let mut cells = DenseBox::default();
    let mut time = |y: &dyn Fn(&MipBlock) -> i32| {
        let start = Instant::now();
        let rounds = 40;
        for _ in 0..rounds {
            for block in &above {
                cells.reset(MipBlock::new(0, [block.pos.x, y(block), block.pos.z]).cells());
                world.fill(black_box(&mut cells), 0);
            }
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(rounds) / above.len() as f64
    };
    let high = time(&|_| heights.end / 32 + 1);
    let deep = time(&|_| heights.start / 32 - 1);
    let near = time(&|block| block.pos.y.max(0) + 8);
    let nearer = time(&|block| block.pos.y.max(0) + 4);
    let note = format!(
        "the worst of high air {high:.2}, deep stone {deep:.2}, air 8 blocks above the ground {near:.2}; \
         4 blocks above it {nearer:.1}, where the columns of every tenth block or so are evaluated"
    );
    report.set("world_uniform_block_us", high.max(deep).max(near), note);
}

/// Seconds to generate and save a world on all cores.
fn saved_world() -> Result<f64, String> {
    let folder = std::env::temp_dir().join(format!("terravox-world-{}.tvx", std::process::id()));
    let start = Instant::now();
    let saved = save_world(&folder);
    let seconds = start.elapsed().as_secs_f64();
    let _ = std::fs::remove_file(&folder);
    saved.map(|()| seconds).map_err(|error| error.to_string())
}

fn save_world(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let world = World::new(SEED, Preset::Continents);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let chunks: Vec<ChunkPos> = Region::new([0, -64, 0], [1024, 128, 1024]).blocks::<5>().collect();
    for batch in chunks.chunks(BATCH_CHUNKS) {
        let filled: Vec<DenseBox> = batch
            .par_iter()
            .map(|chunk| {
                let mut cells = DenseBox::new(chunk.region());
                world.fill(&mut cells, 0);
                cells
            })
            .collect();
        for cells in filled {
            grid.write(&cells)?;
        }
    }
    let store = Store::create(path, &WorldInfo::default(), Overwrite::Yes)?;
    store.write_all(&grid.snapshot(), |_, _| {})?;
    store.finish()?;
    Ok(())
}

/// The first whole view of 16 km.
fn view(report: &mut AreaReport) {
    let world = World::new(SEED, Preset::Continents);
    let lod = LodOptions { detail: DETAIL, ..LodOptions::default() };
    let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    let (height, _) = world.ground(8.0, 8.0);
    let viewer = Viewer { position_m: [8.0, height.max(0.0) + 40.0, 8.0], distance_m: 8192.0 };
    let filled = AtomicUsize::new(0);
    let start = Instant::now();
    terrain.update(&[viewer], Budget::Unlimited, |request| {
        let mip = request.mip();
        filled.fetch_add(1, Ordering::Relaxed);
        world.fill(request.cells(), mip);
    });
    let seconds = start.elapsed().as_secs_f64();
    let filled = filled.into_inner();
    let note = format!("continents, detail {DETAIL}, {filled} blocks filled");
    report.set("world_view_16km_s", seconds, note);
}

/// Height of the surface in a column of cells: that of the highest cell that is half full, voxels.
fn surface(world: &World, mip: u8, column: [i32; 2], about: f64) -> Option<f64> {
    let edge = f64::from(1u32 << mip);
    let middle = (about / edge).floor() as i32;
    let reach = 40 / (1 << mip.min(5)) + 4;
    let [x, z] = column;
    let region = Region::new([x, middle - reach, z], [x + 1, middle + reach, z + 1]);
    let mut cells = DenseBox::new(region);
    world.fill(&mut cells, mip);
    let fill = |y: i32| {
        let cell = cells.cell(VoxelPos::new(x, y, z));
        if cell.material > 1 { f64::from(cell.units()) / 256.0 } else { 0.0 }
    };
    // Where the fill passes one half, between two centres.
    (region.min.y..region.max.y - 1).rev().find_map(|y| {
        let (low, high) = (fill(y), fill(y + 1));
        (low >= 0.5 && high < 0.5).then(|| {
            let t = (low - 0.5) / (low - high);
            (f64::from(y) + 0.5 + t) * edge
        })
    })
}

fn agreement(report: &mut AreaReport) {
    let (mut rows, mut sum) = (Vec::new(), 0.0);
    for mip in 1..=6_u8 {
        let (mut off, mut count) = (0.0, 0);
        for preset in Preset::ALL {
            let world = World::new(SEED, preset);
            for i in 0..40 {
                let (x, z) = (i % 7 * 531 - 1800, i / 7 * 617 - 1700);
                let coarse = [x >> mip, z >> mip];
                let middle = coarse.map(|v| (v << mip) + (1 << mip) / 2);
                let about = world.ground(f64::from(middle[0]), f64::from(middle[1])).0;
                let Some(from) = surface(&world, mip, coarse, about) else { continue };
                let around = [[0, 0], [-1, 0], [0, -1], [-1, -1]];
                let fine: Option<f64> = around
                    .into_iter()
                    .map(|[dx, dz]| surface(&world, 0, [middle[0] + dx, middle[1] + dz], about))
                    .sum();
                let Some(fine) = fine else { continue };
                off += (from - fine / 4.0).abs() / f64::from(1u32 << mip);
                count += 1;
            }
        }
        let mean = off / f64::from(count.max(1));
        rows.push(detail(format!("mip {mip}"), mean, "cells").note(format!("{count} columns")));
        sum += mean / 6.0;
    }
    report.set("mip_agreement", sum, "mean over mips 1 to 6, all presets");
    report.details("surface of a mip beside that of mip 0", rows);
}

/// Blocks that differ when they are filled on other threads, in another order, or as two halves.
fn differences() -> usize {
    let mut blocks = Vec::new();
    for preset in Preset::ALL {
        let world = World::new(SEED, preset);
        for (i, block) in surface_blocks(&world).into_iter().enumerate().step_by(12) {
            let mip = (i / 12 % 7) as u8;
            blocks.push((world, MipBlock::holding(block.voxels().min, mip)));
        }
    }
    let fill = |world: &World, region: Region, mip: u8| {
        let mut cells = DenseBox::new(region);
        world.fill(&mut cells, mip);
        cells
    };
    let here: Vec<DenseBox> =
        blocks.iter().map(|(world, block)| fill(world, block.cells(), block.mip)).collect();
    let there: Vec<DenseBox> = blocks
        .par_iter()
        .rev()
        .map(|(world, block)| fill(world, block.cells(), block.mip))
        .collect();
    let in_parts = |i: usize| {
        let (world, block) = &blocks[i];
        let Region { min, max } = block.cells();
        let split = min.x + 13;
        let halves = [
            Region { min, max: VoxelPos { x: split, ..max } },
            Region { min: VoxelPos { x: split, ..min }, max },
        ];
        halves.into_iter().all(|half| {
            let part = fill(world, half, block.mip);
            half.voxels().all(|pos| part.cell(pos) == here[i].cell(pos))
        })
    };
    let differs = |&i: &usize| here[i] != there[there.len() - 1 - i] || !in_parts(i);
    (0..blocks.len()).filter(differs).count()
}
