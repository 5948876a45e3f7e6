//! Particles that bounce off the ground of a world, whose rays find it by its collider.

use terravox::collide::{Collider, Filter, Ray};
use terravox::particles::{
    Effect, EffectOptions, Emitter, ParticleHit, ParticleRay, PlaneCache, PlaneSource,
};
use terravox::voxel::{VoxelGrid, VoxelPos};
use xxhash_rust::xxh3::Xxh3;

const PARTICLES: usize = 300;
const UPDATES: usize = 60;

/// Digest of the particles after a second; they start above `middle`, which is their origin.
pub fn digest(grid: &VoxelGrid, middle: VoxelPos) -> u128 {
    let mut collider = Collider::default();
    collider.update(grid);
    let origin = middle.to_array().map(f64::from);
    let cast = |ray: &ParticleRay| {
        let from = [0, 1, 2].map(|i| origin[i] + f64::from(ray.origin_m[i]));
        let ray = Ray::new(from, ray.direction.map(f64::from), f64::from(ray.length_m));
        let hit = collider.ray(&ray, &Filter::default()).found?;
        let point_m = [0, 1, 2].map(|i| (hit.point[i] - origin[i]) as f32);
        Some(ParticleHit { point_m, normal: hit.normal, is_moving: false })
    };
    let planes = PlaneSource::Rays { per_update: 10.0, planes: 3 };
    let mut effect = Effect::new(EffectOptions { planes, ..EffectOptions::default() });
    let emitter =
        Emitter { radius_m: 12.0, speed_m_s: [0.0, 20.0], ..Emitter::at([0.0, 9.0, 0.0]) };
    effect.burst(&emitter, PARTICLES);
    let mut cache = PlaneCache::default();
    (0..UPDATES).for_each(|_| effect.update(1.0 / 60.0, &mut cache, cast));
    let mut hash = Xxh3::new();
    for column in effect.positions().into_iter().chain(effect.velocities()) {
        column.iter().for_each(|v| hash.update(&v.to_bits().to_le_bytes()));
    }
    hash.digest128()
}
