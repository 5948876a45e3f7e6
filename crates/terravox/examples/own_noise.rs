//! A generator of one's own: hills of public noise with three materials, by their height and by
//! their distance, and what they cost beside the built-in `Hills`.
//!
//! `cargo run --release -p terravox --example own_noise`

use std::time::Instant;

use terravox::generate::{Deep, Fractal, GroundColumn, Hills};
use terravox::terrain::{Budget, FillRequest, Terrain, TerrainOptions, Viewer};

const GRASS: u8 = 2;
const ROCK: u8 = 8;
const SOIL: u8 = 14;

/// From 5 m below the ground on there is nothing but rock.
const DEEP: Deep = Deep { depth: 5.0, material: ROCK };

/// The materials of one column, by the depth below its ground.
fn layers(column: GroundColumn) -> impl Fn(f64, f64) -> u8 {
    let top = if column.normal_y < 0.75 { ROCK } else { GRASS }; // cliffs are bare
    move |_y, depth| match depth {
        d if d < 1.0 => top,
        d if d < 4.0 => SOIL,
        _ => ROCK,
    }
}

/// The whole view of a viewer on the hills; prints what it took.
fn look(name: &str, fill: impl Fn(&mut FillRequest<'_>) + Sync) {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let viewer = Viewer { distance_m: 500.0, ..Viewer::at([0.0, 40.0, 0.0]) };
    let blocks = std::sync::atomic::AtomicU32::new(0);
    let nanos = std::sync::atomic::AtomicU64::new(0);
    terrain.update(&[viewer], Budget::Unlimited, |request| {
        let start = Instant::now();
        fill(request);
        let taken = start.elapsed().as_nanos() as u64;
        nanos.fetch_add(taken, std::sync::atomic::Ordering::Relaxed);
        blocks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    let (blocks, nanos) = (blocks.into_inner(), nanos.into_inner());
    println!(
        "{name:<28} {blocks} blocks, {:>6.1} µs a block, {} triangles",
        nanos as f64 / 1000.0 / f64::from(blocks),
        terrain.lod().triangles()
    );
}

fn main() {
    // Plain data: the same hills on every machine and thread.
    let hills = Fractal::new(7, 200.0, 24.0);
    let max = hills.max_2d();
    look("by height, with its range", |request| {
        let mut near = hills.cursor_2d(); // remembers where it was asked last
        request.fill_height_with(-max..=max, Some(DEEP), |x, z| near.at(x, z), layers);
    });
    look("by distance, with its slope", |request| {
        let mut near = hills.cursor_2d();
        let slope = hills.slope_2d();
        request.fill_sdf_bounded(ROCK, [slope, 1.0, slope], |[x, y, z]| near.at(x, z) - y);
    });
    look("by distance, every cell", |request| {
        let mut near = hills.cursor_2d();
        request.fill_sdf(ROCK, |[x, y, z]| near.at(x, z) - y);
    });
    let built_in = Hills::new(7);
    look("Hills", |request| {
        let mip = request.mip();
        built_in.fill(request.cells(), mip);
    });
}
