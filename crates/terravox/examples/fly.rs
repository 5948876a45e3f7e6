//! A camera that flies over hills for ten seconds at 60 frames a second: what every second
//! costs and shows.
//!
//! `cargo run --release -p terravox --example fly`

use std::time::Instant;
use terravox::generate::Hills;
use terravox::terrain::{Budget, Terrain, TerrainOptions, Viewer};

/// What a frame may take, milliseconds.
const BUDGET_MS: f32 = 4.0;

fn main() {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let hills = Hills::new(7);
    let mut camera = [0.0, 60.0, 0.0];

    let start = Instant::now();
    terrain.update(&[Viewer::at(camera)], Budget::Unlimited, |request| {
        let mip = request.block().mip;
        hills.fill(request.cells(), mip);
    });
    let (seconds, meshes) = (start.elapsed().as_secs_f32(), terrain.meshed_blocks().len());
    let cells = terrain.grid().memory().total() as f32 / 1e6;
    println!(
        "16 km of hills in {seconds:.1} s: {meshes} meshes of {} blocks, {} triangles, {cells:.1} MB of cells",
        terrain.lod().blocks().len(),
        terrain.lod().triangles(),
    );

    println!("second  ms/frame  worst  sets  meshes in  out  triangles");
    terrain.mesh_swaps().for_each(drop);
    for second in 0..10 {
        let (mut spent, mut worst, mut sets, mut added, mut removed) = (0.0, 0.0f32, 0, 0, 0);
        for _frame in 0..60 {
            camera[0] += 50.0 / 60.0;
            let start = Instant::now();
            terrain.update(&[Viewer::at(camera)], Budget::Millis(BUDGET_MS), |request| {
                let mip = request.block().mip;
                hills.fill(request.cells(), mip);
            });
            let millis = start.elapsed().as_secs_f32() * 1000.0;
            spent += millis;
            worst = worst.max(millis);
            for swap in terrain.mesh_swaps() {
                sets += 1;
                added += swap.added.len();
                removed += swap.removed.len();
            }
        }
        let (mean, triangles) = (spent / 60.0, terrain.lod().triangles());
        println!(
            "{second:>6}  {mean:>8.2}  {worst:>5.1}  {sets:>4}  {added:>9}  {removed:>3}  {triangles:>9}"
        );
    }
}
