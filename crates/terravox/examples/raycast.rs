//! Rays: what is under a point, where a shot lands, how deep the water is.
//!
//! `cargo run --release -p terravox --example raycast`

use terravox::collide::Filter;
use terravox::terrain::{RayHit, Terrain, TerrainError, TerrainOptions};

const WATER: u8 = 1;
const GRASS: u8 = 2;

fn main() -> Result<(), TerrainError> {
    let mut terrain = Terrain::new(TerrainOptions::default()); // 1 m voxels
    let hills = |p: [f64; 3]| 6.0 * ((p[0] * 0.1).sin() + (p[2] * 0.08).cos()) - p[1];
    let lake = move |p: [f64; 3]| f64::max(hills(p), -2.0 - p[1]); // water up to 2 m below 0
    let material = move |p: [f64; 3]| if hills(p) > -0.5 { GRASS } else { WATER };
    terrain.fill([-48.0; 3], [48.0; 3], |request| request.fill_sdf_with(lake, material))?;

    let down = [0.0, -1.0, 0.0];
    show("down, onto a hill", terrain.ray([16.0, 40.0, 0.0], down, 100.0).hit());
    show("a shot over the hills", terrain.ray([-40.0, 14.0, 0.0], [1.0, -0.1, 0.2], 200.0).hit());
    show("up, into the sky", terrain.ray([16.0, 40.0, 0.0], [0.0, 1.0, 0.0], 100.0).hit());

    // The same ray sees the water, or the bottom through it.
    let from = [-16.0, 20.0, 38.0];
    let surface = terrain.ray_filtered(from, down, 100.0, &Filter::LIQUID).hit();
    let bottom = terrain.ray_filtered(from, down, 100.0, &Filter::SOLID).hit();
    show("down, onto the lake", surface);
    show("and to its bottom", bottom);
    if let (Some(surface), Some(bottom)) = (surface, bottom) {
        println!("the water is {:.2} m deep", bottom.distance_m - surface.distance_m);
    }
    Ok(())
}

fn show(what: &str, hit: Option<RayHit>) {
    match hit {
        Some(RayHit { distance_m, point_m: point, normal, material, voxel, .. }) => println!(
            "{what}: {distance_m:.2} m to {point:.2?}, normal {normal:.2?}, material {material}, \
             voxel {voxel}"
        ),
        None => println!("{what}: nothing"),
    }
}
