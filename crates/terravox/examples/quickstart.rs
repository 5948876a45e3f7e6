//! Hills, a hole dug into them, and the meshes that changed.
//!
//! `cargo run --release -p terravox --example quickstart`

use terravox::terrain::{Budget, Terrain, TerrainError, TerrainOptions};
use terravox::voxel::Cell;

const ROCK: u8 = 8;

fn main() -> Result<(), TerrainError> {
    let mut terrain = Terrain::new(TerrainOptions::default()); // 1 m voxels, no files, no threads
    let hills = |p: [f32; 3]| 8.0 * (p[0] * 0.05).sin() - p[1]; // metres, inside positive
    terrain.fill([-64.0; 3], [64.0; 3], |part| part.fill_sdf(ROCK, hills))?;
    let ball = |p: [f32; 3]| 6.0 - (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
    for _frame in 0..3 {
        terrain.update(Budget::Millis(3.0));
        for swap in terrain.mesh_swaps() {
            println!("remove {} blocks, add {}", swap.removed.len(), swap.added.len());
        }
    }
    terrain.update(Budget::Unlimited);
    terrain.mesh_swaps().for_each(drop); // to the graphics card
    terrain.edit_cells(
        [-7.0; 3],
        [7.0; 3],
        |p, cell| if ball(p) > 0.0 { Cell::AIR } else { cell },
    )?;
    terrain.update(Budget::Unlimited);
    for swap in terrain.mesh_swaps() {
        println!("the hole: remove {} blocks, add {}", swap.removed.len(), swap.added.len());
    }
    Ok(())
}
