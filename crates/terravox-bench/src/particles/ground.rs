//! Ground that particles fly over, with voxels of a metre, and exact checks for particles inside.

use terravox::collide::{Collider, Filter, Ray};
use terravox::particles::{Effect, ParticleHit, ParticleRay};
use terravox::voxel::{ChunkPos, VoxelPos};

use crate::worlds::World;
use crate::worlds::random::Rng;

/// Seconds of an update.
pub const STEP_S: f32 = 1.0 / 60.0;

/// A particle that is deeper inside has fallen through.
const DEEP_M: f64 = 0.25;

/// A world with its collider.
pub struct Ground {
    collider: Collider,
    chunks: Vec<ChunkPos>,
}

impl Ground {
    /// The ground of a world.
    pub fn new(world: &World) -> Ground {
        let mut collider = Collider::default();
        collider.update(&world.grid);
        Ground { collider, chunks: world.chunks.clone() }
    }

    /// Casts the rays of particles.
    pub fn ray(&self, ray: &ParticleRay) -> Option<ParticleHit> {
        let direction = ray.direction.map(f64::from);
        let ray = Ray::new(ray.origin_m.map(f64::from), direction, f64::from(ray.length_m));
        let hit = self.collider.ray(&ray, &Filter::SOLID).found?;
        let point_m = hit.point.map(|v| v as f32);
        Some(ParticleHit { point_m, normal: hit.normal, is_moving: false })
    }

    /// Metres to the nearest surface; infinite beyond two.
    pub fn distance_m(&self, point: [f64; 3]) -> f64 {
        let near = self.collider.closest_point(point, 2.0, &Filter::SOLID).found;
        near.map_or(f64::INFINITY, |near| near.distance)
    }

    /// Returns whether a point is inside the ground, by the first surface above it.
    fn is_inside(&self, point: [f64; 3]) -> bool {
        let up = Ray::new(point, [0.0, 1.0, 0.0], f64::INFINITY);
        let hit = self.collider.ray(&up, &Filter::SOLID).found;
        hit.is_some_and(|hit| hit.normal[1] > 0.0)
    }

    /// Returns whether a point is deep inside.
    pub fn is_deep(&self, point: [f64; 3]) -> bool {
        self.is_inside(point) && self.distance_m(point) > DEEP_M
    }

    /// A random point in the air half a metre above ground, under the sky or in a cave.
    pub fn free_spot(&self, rng: &mut Rng) -> [f32; 3] {
        loop {
            let chunk = self.chunks[rng.below(self.chunks.len() as u32) as usize];
            let VoxelPos { x, y, z } = chunk.region().min;
            let at = rng.point().to_array().map(|v| 32.0 * v);
            let point = [f64::from(x) + at[0], f64::from(y) + at[1], f64::from(z) + at[2]];
            let down = Ray::new(point, [0.0, -1.0, 0.0], 32.0);
            let Some(hit) = self.collider.ray(&down, &Filter::SOLID).found else { continue };
            let spot = [hit.point[0], hit.point[1] + 0.5, hit.point[2]];
            if hit.normal[1] > 0.3 && hit.distance > 0.5 && self.distance_m(spot) > 0.2 {
                return spot.map(|v| v as f32);
            }
        }
    }
}

/// Particles that fell through so far; particles must not die.
#[derive(Default)]
pub struct FallCounts {
    fallen: Vec<bool>,
}

impl FallCounts {
    /// Checks all particles.
    pub fn check(&mut self, ground: &Ground, effect: &Effect) {
        let [x, y, z] = effect.positions();
        self.fallen.resize(x.len(), false);
        for (at, fallen) in self.fallen.iter_mut().enumerate() {
            let point = [x[at], y[at], z[at]].map(f64::from);
            *fallen = *fallen || ground.is_deep(point);
        }
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.fallen.iter().filter(|fallen| **fallen).count()
    }
}
