//! Ground for an engine's world.

use std::sync::Arc;

use terravox::collide::{BuildPolicy, CollisionBlock};
use terravox::terrain::{Terrain, TerrainOptions};
use terravox::voxel::Region;
use terravox_rapier::{BlockGround, GroundScratch, grounds};

/// Soft hills.
pub fn hills(x: f32, z: f32) -> f32 {
    1.5 * (x * 0.2).sin() * (z * 0.2).cos()
}

/// The grounds of all blocks within 24 m, with their corners.
pub fn blocks() -> Vec<([f32; 3], Arc<BlockGround>)> {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let inside = |p: [f64; 3]| f64::from(hills(p[0] as f32, p[2] as f32)) - p[1];
    terrain.fill([-32.0; 3], [32.0; 3], |request| request.fill_sdf(8, inside)).unwrap();
    let collider = terrain.collider();
    let mut scratch = GroundScratch::default();
    let mut all = Vec::new();
    for block in Region::new([-24; 3], [24; 3]).blocks::<3>() {
        let Ok(Some(surfaces)) = collider.block(block, BuildPolicy::Build) else { continue };
        let Some(tree) = surfaces.solid else { continue };
        let corner = corner(block);
        let made = grounds(tree, block, collider.snapshot(), 1.0, &mut scratch);
        all.extend(made.into_iter().map(|(_, ground)| (corner, Arc::new(ground))));
    }
    all
}

fn corner(block: CollisionBlock) -> [f32; 3] {
    block.min_voxel().to_array().map(|v| v as f32)
}
