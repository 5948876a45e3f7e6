//! Sparks that rain on hills: what they do, and what they cost in rays.
//!
//! `cargo run --release -p terravox --example sparks`

use terravox::particles::{Effect, EffectOptions, Emitter};
use terravox::terrain::{Terrain, TerrainError, TerrainOptions};

/// Seconds.
const STEP: f32 = 1.0 / 60.0;

fn hills(p: [f64; 3]) -> f64 {
    3.0 * (p[0] * 0.2).sin() * (p[2] * 0.15).cos() - p[1]
}

fn main() -> Result<(), TerrainError> {
    let mut terrain = Terrain::new(TerrainOptions::default());
    terrain.fill([-32.0; 3], [32.0; 3], |request| request.fill_sdf(8, hills))?;
    let hit = terrain.ray([3.0, 20.0, 4.0], [0.0, -1.0, 0.0], 100.0);
    let hit = hit.hit().expect("there are hills");

    // A grinder throws 600 sparks a second for two seconds.
    let mut effects = [Effect::new(EffectOptions { seed: 7, ..EffectOptions::sparks() })];
    let grinder = Emitter::sparks(hit.point_m.map(|v| v as f32), hit.normal);
    println!("second  sparks  bounces    rays  cached planes  below ground");
    for frame in 1..=180 {
        if frame <= 120 {
            effects[0].stream(&grinder, 600.0, STEP);
        }
        terrain.update_effects(&mut effects, STEP);
        if frame % 20 == 0 {
            let (sparks, stats) = (&effects[0], effects[0].stats());
            let [x, y, z] = sparks.positions();
            let below = (0..sparks.len())
                .filter(|&i| hills([x[i], y[i], z[i]].map(f64::from)) > 0.3)
                .count();
            println!(
                "{:6.2} {:7} {:8} {:7} {:14} {below:13}",
                frame as f32 * STEP,
                sparks.len(),
                stats.bounces,
                stats.rays,
                terrain.plane_cache().len(),
            );
        }
    }
    Ok(())
}
