//! A hole is dug, and the collider is asked about it at once: a ray, a box, the closest
//! point, and a ball that moves. Nothing is rebuilt but what the questions need.
//!
//! `cargo run --release -p terravox --example edit_and_query`

use std::time::Instant;
use terravox::collide::{Filter, Ray};
use terravox::geometry::Shape;
use terravox::math::Aabb;
use terravox::terrain::{Terrain, TerrainError, TerrainOptions};
use terravox::voxel::Cell;

fn main() -> Result<(), TerrainError> {
    let mut terrain = Terrain::new(TerrainOptions::default()); // 1 m voxels: metres are voxels
    let hills = |p: [f64; 3]| 5.0 * (p[0] * 0.07).sin() * (p[2] * 0.09).cos() - p[1];
    terrain.fill([-96.0; 3], [96.0; 3], |request| request.fill_sdf(8, hills))?;
    terrain.collider(); // masks of the whole world, once

    for step in 0..5 {
        let x = 12.0 * f64::from(step) - 24.0;
        let top = hills([x, 0.0, 0.0]);
        let (low, high) = ([x - 3.0, top - 4.0, -3.0], [x + 3.0, top + 6.0, 3.0]);
        let start = Instant::now();
        terrain.edit_cells(low, high, |_, _| Cell::AIR)?;
        let dug = start.elapsed();
        ask(&mut terrain, [x, top + 3.0, 0.0]);
        let answered = start.elapsed();
        println!("  dug in {} µs, answered after {} µs", dug.as_micros(), answered.as_micros());
    }
    let stats = terrain.collider().stats();
    println!("{} of {} blocks built, {} bytes", stats.built, stats.blocks, stats.built_bytes);
    Ok(())
}

/// Four questions about what is below a point.
fn ask(terrain: &mut Terrain, above: [f64; 3]) {
    let collider = terrain.collider();
    let seen = Filter::SOLID;
    let ray = collider.ray(&Ray::new(above, [0.0, -1.0, 0.0], 50.0), &seen).found;
    let floor = ray.map_or(f64::NAN, |hit| hit.point[1]);
    let there = Aabb::around([above[0], floor, above[2]], [0.5; 3]);
    let mut triangles = 0;
    collider.triangles_in(&there, &seen, |_| triangles += 1);
    let closest = collider.closest_point(above, 20.0, &seen).found;
    let ball = Shape::Sphere { radius: 0.5 };
    let cast = collider.cast(&ball, above, [0.0, -20.0, 0.0], &seen).found;
    println!(
        "floor at {floor:.2}, {triangles} triangles there, wall {:.2} away, a ball falls {:.2}",
        closest.map_or(f64::NAN, |hit| hit.distance),
        cast.map_or(f64::NAN, |hit| hit.distance),
    );
}
