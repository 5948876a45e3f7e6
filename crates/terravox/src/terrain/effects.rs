//! Effects over the ground.

use super::Terrain;
use super::effect_planes::EVERYWHERE;
use crate::collide::{Filter, Ray};
use crate::particles::{Effect, ParticleHit, ParticleRay, PlaneCache, PlaneCacheOptions};
use glam::Vec3;

impl Terrain {
    /// Moves the particles of effects by `seconds`, over the ground as it is now. Planes that
    /// edits made stale are dropped first, then each effect spends its rays. Pass all effects of a
    /// world in every call: effects left out keep stale planes. Particles fall through ground that
    /// is not held at mip 0.
    pub fn update_effects(&mut self, effects: &mut [Effect], seconds: f32) {
        self.update_effects_among(effects, seconds, |_| None);
    }

    /// As [`Terrain::update_effects`], with other obstacles: `others` returns the first hit of a
    /// ray on them. Hits on what moves must set [`ParticleHit::is_moving`].
    ///
    /// ```
    /// use terravox::particles::{Effect, EffectOptions, ParticleHit, ParticleRay};
    ///
    /// # let mut terrain = terravox::Terrain::default();
    /// # let mut effects = [Effect::new(EffectOptions::default())];
    /// # effects[0].emit([0.0, 2.0, 0.0], [0.0; 3]);
    /// let lift = |ray: &ParticleRay| {
    ///     let distance = (1.0 - ray.origin_m[1]) / ray.direction[1]; // its floor is at 1 m
    ///     let point_m = [0, 1, 2].map(|i| ray.origin_m[i] + distance * ray.direction[i]);
    ///     let hit = ParticleHit { point_m, normal: [0.0, 1.0, 0.0], is_moving: true };
    ///     (0.0..ray.length_m).contains(&distance).then_some(hit)
    /// };
    /// terrain.update_effects_among(&mut effects, 1.0 / 60.0, lift);
    /// ```
    pub fn update_effects_among(
        &mut self,
        effects: &mut [Effect],
        seconds: f32,
        mut others: impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        let placement = self.placement;
        self.effects.forget_edited(&self.grid, placement, effects);
        let collider = &self.collider;
        let base = self.effects.origin_m;
        for effect in effects {
            effect.update(seconds, &mut self.effects.cache, |ray| {
                let voxels = f64::from(ray.length_m) / placement.voxel_size_m;
                let from_m = [0, 1, 2].map(|i| f64::from(ray.origin_m[i]) + base[i]);
                let origin = placement.voxel_from_world(from_m);
                let line = Ray::new(origin, ray.direction.map(f64::from), voxels);
                let ground = collider.ray(&line, &Filter::SOLID).found.map(|hit| {
                    let point_m = placement.world_from_voxel(hit.point);
                    let point_m = [0, 1, 2].map(|i| (point_m[i] - base[i]) as f32);
                    ParticleHit { point_m, normal: hit.normal, is_moving: false }
                });
                let from = Vec3::from(ray.origin_m);
                let far = |hit: &ParticleHit| from.distance_squared(Vec3::from(hit.point_m));
                ground.into_iter().chain(others(ray)).min_by(|a, b| far(a).total_cmp(&far(b)))
            });
        }
    }

    /// Sets the origin of the f32 positions of effects, world metres; (0, 0, 0) by default. Set it
    /// near the particles, where f32 is precise. Cached planes are dropped. Particles in flight
    /// are not moved, so let their effects end first.
    ///
    /// # Panics
    /// If the origin is not finite.
    pub fn set_effect_origin(&mut self, origin_m: impl Into<[f64; 3]>) {
        let origin_m = origin_m.into();
        assert!(
            origin_m.iter().all(|v| v.is_finite()),
            "the effect origin is {origin_m:?}; it must be finite"
        );
        self.effects.origin_m = origin_m;
        self.effects.cache.invalidate(EVERYWHERE.0, EVERYWHERE.1);
    }

    /// The origin of the f32 positions of effects, world metres.
    pub fn effect_origin(&self) -> [f64; 3] {
        self.effects.origin_m
    }

    /// The planes that effects share.
    pub fn plane_cache(&self) -> &PlaneCache {
        &self.effects.cache
    }

    /// Replaces the cache of planes by an empty one with these options.
    ///
    /// # Panics
    /// If the cells are not positive and finite.
    pub fn set_plane_cache(&mut self, options: PlaneCacheOptions) {
        self.effects.cache = PlaneCache::new(options);
    }
}

#[cfg(test)]
mod tests {
    use crate::particles::{CollisionPlane, Effect, EffectOptions, Emitter, PlaneSource};
    use crate::particles::{ParticleHit, ParticleRay};
    use crate::terrain::{Placement, Terrain, TerrainOptions};
    use crate::voxel::Cell;

    const STEP: f32 = 1.0 / 60.0;

    /// Flat ground at height 0.
    fn flat(placement: Placement) -> Terrain {
        let mut terrain = Terrain::new(TerrainOptions { placement, ..Default::default() });
        terrain.fill([-8.0; 3], [8.0; 3], |request| request.fill_sdf(8, |p| -p[1])).unwrap();
        terrain
    }

    fn heights(effect: &Effect) -> Vec<f32> {
        effect.positions()[1].to_vec()
    }

    #[test]
    fn debris_rests_on_the_ground_and_falls_when_it_is_dug_away() {
        let placement = Placement { voxel_size_m: 0.5, origin_m: [0.25, 0.0, 0.0] };
        let mut terrain = flat(placement);
        let options = EffectOptions { lifetime_s: None, ..EffectOptions::debris() };
        let mut effects = [Effect::new(options)];
        effects[0].burst(&Emitter::debris([0.0, 0.5, 0.0], [0.0, 1.0, 0.0], 0.2), 50);
        for _ in 0..240 {
            terrain.update_effects(&mut effects, STEP);
        }
        let resting = heights(&effects[0]).iter().filter(|y| y.abs() < 0.02).count();
        assert!(resting >= 45, "{resting} of 50 rest");
        assert!(!terrain.plane_cache().is_empty());
        terrain.edit_cells([-7.0, -4.0, -7.0], [7.0, 4.0, 7.0], |_, _| Cell::AIR).unwrap();
        terrain.update_effects(&mut effects, STEP);
        let known = terrain.plane_cache().look_up([0.1, 0.1, 0.1], [0.0, -1.0, 0.0]);
        let gone = known.filter(|known| known.point_m[1] > -1.0);
        assert_eq!(gone, None, "no plane of ground that is gone is left");
        for _ in 0..120 {
            terrain.update_effects(&mut effects, STEP);
        }
        assert!(heights(&effects[0]).iter().all(|y| *y < -3.5), "all fall into the pit");
    }

    #[test]
    fn moving_things_are_never_shared() {
        let mut terrain = flat(Placement::default());
        terrain.update_effects(&mut [], STEP);
        let lift = |ray: &ParticleRay| {
            let distance = (1.0 - ray.origin_m[1]) / ray.direction[1];
            let point_m = [0, 1, 2].map(|i| ray.origin_m[i] + distance * ray.direction[i]);
            let hit = ParticleHit { point_m, normal: [0.0, 1.0, 0.0], is_moving: true };
            (0.0..ray.length_m).contains(&distance).then_some(hit)
        };
        let options = EffectOptions {
            planes: PlaneSource::Rays { per_update: 100.0, planes: 1 },
            restitution: 0.0,
            ..EffectOptions::default()
        };
        let mut effects = [Effect::new(options)];
        effects[0].burst(&Emitter { speed_m_s: [0.0; 2], ..Emitter::at([0.0, 2.0, 0.0]) }, 10);
        for _ in 0..90 {
            terrain.update_effects_among(&mut effects, STEP, lift);
        }
        assert!(heights(&effects[0]).iter().all(|y| (y - 1.0).abs() < 1e-3), "on the lift");
        assert!(terrain.plane_cache().is_empty());
        // It is gone: its planes expire, and the ground is what is left.
        for _ in 0..90 {
            terrain.update_effects(&mut effects, STEP);
        }
        let planes: Vec<CollisionPlane> = effects[0].planes(0).collect();
        assert!(heights(&effects[0]).iter().all(|y| y.abs() < 1e-3), "{planes:?}");
    }
}
