//! A view to the horizon: 16 km of hills from the generator, and the same view in a stored
//! world and in one 64 times as large.

use std::path::Path;
use std::time::Instant;

use terravox::generate::Hills;
use terravox::mesh::BlockMesh;
use terravox::terrain::{Budget, FillRequest, LodOptions, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid, VoxelPos};
use terravox_store::{Overwrite, Store, WorldInfo};

use crate::report::{AreaReport, detail};

/// A block is not split from this many of its edges on: cells are then under 16 pixels wide if 60°
/// fill 1080. 99 % of the surface of a mip lies within an eighth of a cell of the finer one, two
/// pixels, and most of it within half a pixel (see `docs/decisions.md`).
pub const DETAIL: f32 = 2.0;

const MIB: f64 = (1 << 20) as f64;

/// Edge of the smaller stored world, which holds all of the view.
const SMALL_VOXELS: i32 = 512;

/// Copies of it in the larger one, along x and along z.
const COPIES: i32 = 8;

/// Measures `view_16km_*` and `world_growth`.
pub fn run(report: &mut AreaReport) {
    horizon(report);
    match growth() {
        Ok(Growth { time, memory }) => {
            let note = format!("time {time:.2}, memory {memory:.2}; the median of 5 views");
            report.set("world_growth", time.max(memory), note);
        }
        Err(why) => report.not_measured("world_growth", why),
    }
}

/// Fills a block by the generator.
pub fn hills(hills: &Hills, request: &mut FillRequest<'_>) {
    let mip = request.block().mip;
    hills.fill(request.cells(), mip);
}

/// Returns the bytes of the cells and meshes of a terrain.
pub fn resident_bytes(terrain: &Terrain) -> usize {
    let meshes = terrain.meshed_blocks();
    let meshes = meshes.iter().filter_map(|&block| terrain.mesh(block));
    let meshes: usize = meshes.map(|mesh| size_of::<BlockMesh>() + mesh.heap_bytes()).sum();
    terrain.grid().memory().total() + meshes
}

/// A view of 16 km of hills, all of it shown.
pub fn horizon_view() -> Terrain {
    let world = Hills::new(7);
    let lod = LodOptions { detail: DETAIL, ..LodOptions::default() };
    let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    let viewer = Viewer { position_m: [8.0, 60.0, 8.0], distance_m: 8192.0 };
    terrain.update(&[viewer], Budget::Unlimited, |request| hills(&world, request));
    terrain
}

fn horizon(report: &mut AreaReport) {
    let start = Instant::now();
    let terrain = horizon_view();
    let seconds = start.elapsed().as_secs_f64();
    let blocks = terrain.lod().blocks();
    let settings = format!("detail {DETAIL}, {} blocks", blocks.len());
    report.set("view_16km_seconds", seconds, settings.clone());
    let cells = terrain.grid().memory().total() as f64 / MIB;
    let note = format!("{settings}; cells {cells:.0} MiB, the rest meshes");
    report.set("view_16km_mib", resident_bytes(&terrain) as f64 / MIB, note);
    report.set("view_16km_triangles", terrain.lod().triangles() as f64 / 1e6, settings);
    let top = blocks.iter().map(|block| block.mip).max().unwrap_or(0);
    let lines = (0..=top).map(|mip| {
        let count = blocks.iter().filter(|block| block.mip == mip).count();
        let triangles: usize = terrain
            .meshed_blocks()
            .iter()
            .filter(|block| block.mip == mip)
            .filter_map(|&block| terrain.mesh(block))
            .map(|mesh| mesh.solid.triangle_count() + mesh.liquid.triangle_count())
            .sum();
        detail(format!("mip {mip}"), triangles as f64 / 1e3, "thousand triangles")
            .note(format!("{count} blocks"))
    });
    report.details("16 km of hills, by mip", lines.collect());
}

/// Time and memory of a view in the larger world, divided by those in the smaller one.
struct Growth {
    time: f64,
    memory: f64,
}

fn growth() -> Result<Growth, String> {
    let folder = std::env::temp_dir().join(format!("terravox-growth-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let growth = stored_views(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    growth.map_err(|error| error.to_string())
}

fn stored_views(folder: &Path) -> Result<Growth, Box<dyn std::error::Error>> {
    let small = store_world(&folder.join("small"), 1)?;
    let large = store_world(&folder.join("large"), COPIES)?;
    let mut times = [Vec::new(), Vec::new()];
    let mut bytes = [0, 0];
    for _ in 0..5 {
        for (i, store) in [&small, &large].into_iter().enumerate() {
            let start = Instant::now();
            bytes[i] = view(store);
            times[i].push(start.elapsed().as_secs_f64());
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let [small, large] = times.each_mut().map(median);
    Ok(Growth { time: large / small, memory: bytes[1] as f64 / bytes[0] as f64 })
}

/// Hills of 512 × 512 voxels, `copies` × `copies` times side by side, as a stored world
/// with air around.
fn store_world(path: &Path, copies: i32) -> Result<Store, Box<dyn std::error::Error>> {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    let hills = Hills::new(7);
    for chunk in Region::new([0, -64, 0], [SMALL_VOXELS, 128, SMALL_VOXELS]).blocks::<5>() {
        cells.reset(chunk.region());
        hills.fill(&mut cells, 0);
        for (x, z) in (0..copies).flat_map(|x| (0..copies).map(move |z| (x, z))) {
            cells.move_to(chunk.min_voxel() + VoxelPos::new(x * SMALL_VOXELS, 0, z * SMALL_VOXELS));
            grid.write(&cells)?;
        }
    }
    let store = Store::create(path, &WorldInfo::default(), Overwrite::Yes)?;
    store.write_all(&grid.snapshot(), |_, _| {})?;
    Ok(store.finish()?)
}

/// Bytes of a view into the middle of the smaller world.
fn view(store: &Store) -> usize {
    let lod = LodOptions { detail: 1.0, max_mip: 2, ..LodOptions::default() };
    let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    let viewer = Viewer { position_m: [256.0, 40.0, 256.0], distance_m: 120.0 };
    terrain.update(&[viewer], Budget::Unlimited, |request| {
        let block = request.block();
        if store.cells(block.cells(), block.mip, request.cells()).is_err() {
            request.set_missing();
        }
    });
    resident_bytes(&terrain)
}
