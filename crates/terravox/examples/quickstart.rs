//! Hills to the horizon, a hole dug into them, and the meshes that changed, a little every
//! frame.
//!
//! `cargo run --release -p terravox --example quickstart`

use terravox::terrain::{Budget, Terrain, TerrainError, TerrainOptions, Viewer};
use terravox::voxel::Cell;

fn main() -> Result<(), TerrainError> {
    let mut terrain = Terrain::new(TerrainOptions::default()); // 1 m voxels, no files, no threads
    let hills = |p: [f32; 3]| 8.0 * (p[0] * 0.05).sin() - p[1]; // metres, inside positive
    let mut camera = [0.0, 20.0, 0.0];
    for frame in 0..600 {
        camera[0] += 0.1;
        terrain.update(&[Viewer::at(camera)], Budget::Millis(3.0), |part| {
            part.fill_sdf(8, hills); // 8: rock
        });
        for swap in terrain.mesh_swaps() {
            // On to the graphics card: from one closed surface to another.
            let (removed, added) = (swap.removed.len(), swap.added.len());
            println!("frame {frame}: remove {removed} meshes, add {added}");
        }
        if let Some(hit) = terrain.ray(camera, [0.0, -1.0, 0.0], 100.0)
            && frame % 100 == 99
        {
            let [min, max] = [-4.0, 4.0].map(|reach| hit.point.map(|v| v + reach));
            terrain.edit_cells(min, max, |_, _| Cell::AIR)?; // a hole
            println!("frame {frame}: dug at {:?}, {}", hit.point, hit.material);
        }
    }
    Ok(())
}
