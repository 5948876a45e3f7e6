//! The share of casings that come to rest in a V and in a corner.

use terravox::generate::fill_sdf;
use terravox::particles::{Effect, EffectOptions, Emitter, PlaneCache, PlaneSource};
use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};

use super::ground::{Ground, STEP_S};
use crate::report::{AreaReport, detail};
use crate::worlds::World;

/// Casings in the V, and in the corner.
const CASINGS: usize = 500;

/// Updates: ten seconds.
const UPDATES: usize = 600;

/// A casing that is slower rests.
const MAX_REST_SPEED_M_S: f32 = 0.05;

/// A casing that is farther from the surface does not rest on it.
const MAX_REST_DISTANCE_M: f64 = 0.05;

/// Measures `v_rest`.
pub fn run(report: &mut AreaReport) {
    // Two slopes of 45° that meet along Z, and three that meet in a point.
    let v = ground(&[[0.707, 0.707, 0.0], [-0.707, 0.707, 0.0]]);
    let corner = ground(&[[0.8, 0.6, 0.0], [-0.4, 0.6, 0.693], [-0.4, 0.6, -0.693]]);
    let share = |slots: u8| [&v, &corner].map(|ground| at_rest(ground, slots));
    let [in_v, in_corner] = share(3);
    let note =
        format!("slow and within 0.05 m; V {in_v:.3}, corner {in_corner:.3}; 50 rays an update");
    report.set("v_rest", 0.5 * (in_v + in_corner), note);
    let rows = (1..=3).map(|slots| {
        let [in_v, in_corner] = share(slots);
        detail(format!("{slots} planes each"), 0.5 * (in_v + in_corner), "share")
            .note(format!("V {in_v:.3}, corner {in_corner:.3}"))
    });
    report.details("casings at rest in a V and a corner", rows.collect());
}

/// Ground inside of any plane through a point; normals point out of it.
fn ground(normals: &[[f32; 3]]) -> Ground {
    let mut cells = DenseBox::new(Region::new([-12, -4, -12], [12, 16, 12]));
    let middle = [0.3, 0.2, -0.4];
    let inside = |p: [f64; 3]| {
        let along =
            |n: &[f32; 3]| -(0..3).map(|i| f64::from(n[i]) * (p[i] - middle[i])).sum::<f64>();
        normals.iter().map(along).fold(f64::NEG_INFINITY, f64::max)
    };
    fill_sdf(&mut cells, 0, inside, |_| 8);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    Ground::new(&World::new("slopes", grid))
}

/// The share of casings that rest on the surface at the end.
fn at_rest(ground: &Ground, planes: u8) -> f64 {
    let mut effect = Effect::new(EffectOptions {
        lifetime_s: None,
        planes: PlaneSource::Rays { per_update: 0.1 * CASINGS as f32, planes },
        ..EffectOptions::shell_casings()
    });
    let emitter = Emitter { radius_m: 1.0, speed_m_s: [0.0, 2.0], ..Emitter::at([0.3, 3.0, -0.4]) };
    effect.burst(&emitter, CASINGS);
    let mut cache = PlaneCache::default();
    for _ in 0..UPDATES {
        effect.update(STEP_S, &mut cache, |ray| ground.ray(ray));
    }
    let ([x, y, z], [u, v, w]) = (effect.positions(), effect.velocities());
    let rests = |at: &usize| {
        let speed = [u[*at], v[*at], w[*at]].iter().map(|v| v * v).sum::<f32>().sqrt();
        let position = [x[*at], y[*at], z[*at]].map(f64::from);
        speed < MAX_REST_SPEED_M_S && ground.distance_m(position) < MAX_REST_DISTANCE_M
    };
    (0..CASINGS).filter(rests).count() as f64 / CASINGS as f64
}
