//! Hills to the horizon, a hole dug into them, and the meshes that changed, a little every
//! frame.
//!
//! `cargo run --release -p terravox --example quickstart`

use terravox::edit::EditOp;
use terravox::terrain::{Budget, Terrain, TerrainError, TerrainOptions, Viewer};

const ROCK: u8 = 8;

fn main() -> Result<(), TerrainError> {
    let mut terrain = Terrain::new(TerrainOptions::default()); // 1 m voxels, no files, no threads
    let hills = |x: f64, _z: f64| 8.0 * (x * 0.05).sin(); // height of the ground, metres
    let (mut camera, forward) = ([0.0, 20.0, 0.0], [0.0, -1.0, 0.0]);
    let mut cart = 0.0;
    for frame in 0..600 {
        camera[0] += 0.1;
        terrain.update(&[Viewer::at(camera)], Budget::Millis(3.0), |request| {
            request.fill_height(ROCK, -8.0..=8.0, hills);
        });
        for swap in terrain.mesh_swaps() {
            // Upload to the GPU. The surface is closed before and after each swap.
            let (removed, added) = (swap.removed.len(), swap.added.len());
            println!("frame {frame}: remove {removed} meshes, add {added}");
        }
        if frame % 100 == 99
            && let Some(hit) = terrain.ray(camera, forward, 100.0).hit()
        {
            let dug = terrain.edit(&EditOp::dig_ball(hit.point_m, 4.0))?;
            cart += dug.removed.voxels(ROCK);
            println!("frame {frame}: dug at {:?}, {cart} m³ in the cart", hit.point_m);
        }
    }
    Ok(())
}
