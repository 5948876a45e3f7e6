//! Hills, a hole dug into them, and the meshes that changed, a little every frame.
//!
//! `cargo run --release -p terravox --example quickstart`

use terravox::terrain::{Budget, Terrain, TerrainError, TerrainOptions};
use terravox::voxel::Cell;

fn main() -> Result<(), TerrainError> {
    let mut terrain = Terrain::new(TerrainOptions::default()); // 1 m voxels, no files, no threads
    let hills = |p: [f32; 3]| 8.0 * (p[0] * 0.05).sin() - p[1]; // metres, inside positive
    terrain.fill([-64.0; 3], [64.0; 3], |part| part.fill_sdf(8, hills))?; // 8: rock
    for frame in 0..100 {
        if frame == 50 {
            terrain.edit_cells([-4.0; 3], [4.0; 3], |_, _| Cell::AIR)?; // a hole
        }
        terrain.update(Budget::Millis(3.0)); // meshes what changed
        for swap in terrain.mesh_swaps() {
            // On to the graphics card: from one closed surface to another.
            let (removed, added) = (swap.removed.len(), swap.added.len());
            println!("frame {frame}: remove {removed} blocks, add {added}");
        }
    }
    if let Some(hit) = terrain.ray([0.0, 40.0, 0.0], [0.0, -1.0, 0.0], 100.0) {
        println!("{} m down: material {} of voxel {}", hit.distance_m, hit.material, hit.voxel);
    }
    Ok(())
}
