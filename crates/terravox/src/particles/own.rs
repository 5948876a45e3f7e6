//! Particles with rays enough: each is traced in every update, so none can pass the ground.
//!
//! One that flies is moved without planes. Then a ray from where it was to where it is asks
//! what it met; there it stays, with the plane that it bounces off in the next update. One
//! that lies or slides asks before the step, too, along the way that it would fall, so that
//! planes that end are dropped, and is asked after in the same way: planes may have led it
//! elsewhere. Rays start and end off the planes that particles touch, where the ray before
//! has shown that there is air.

use super::FAR_M;
use super::cache::PlaneCache;
use super::effect::Effect;
use super::find::{INSIDE_M, Met, SHORTEST_LOOK_SECONDS};
use super::plane::{CollisionPlane, ParticleHit, ParticleRay};
use glam::Vec3;

/// How often a way is asked again that met something, at most.
const TURNS: usize = 4;

/// Ways that are shorter are not asked, metres.
const STILL_M: f32 = 1e-5;

impl Effect {
    /// Before the step: remembers where each starts, and asks what those come to that touch
    /// a plane.
    pub(super) fn ask_for_each(
        &mut self,
        seconds: f32,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        // Each has a turn again soon, so a short look is enough.
        let horizon = SHORTEST_LOOK_SECONDS.max(4.0 * seconds);
        self.starts.clear();
        for particle in 0..self.columns.count {
            let lift = self.lift(particle);
            self.starts.push(self.columns.position(particle) + lift);
            if lift != Vec3::ZERO {
                self.cast(particle, horizon, cache, ray);
                continue;
            }
            for slot in 0..self.columns.planes.len() {
                self.columns.set_plane(slot, particle, CollisionPlane::NONE, false);
            }
            self.columns.wakes.set(particle, self.clock);
        }
    }

    /// After the step: asks what was in the way of each.
    pub(super) fn check_each(
        &mut self,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        (0..self.columns.count).for_each(|particle| self.check_way(particle, cache, ray));
    }

    fn check_way(
        &mut self,
        particle: usize,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        let start = self.starts[particle];
        for _ in 0..TURNS {
            let position = self.columns.position(particle);
            let (direction, length) =
                (position + self.lift(particle) - start).normalize_and_length();
            // A particle that is too far away dies.
            if !(length > STILL_M && length < FAR_M) {
                return;
            }
            let Some((hit, plane)) = self.ask(start, direction, length, ray) else { return };
            let (point, outside) = (Vec3::from(hit.point_m), plane.leads_inside(direction));
            if outside {
                self.columns.set_position(particle, point);
            } else if plane.distance_m(position) < -INSIDE_M {
                return;
            }
            self.put_plane(particle, plane, point, hit.moving, true);
            if !outside {
                return;
            }
            if !hit.moving {
                self.remember(particle, &Met { hit, plane, seconds: 0.0, outside }, cache);
            }
        }
        // Something is in the way wherever it would lie.
        self.columns.set_position(particle, start);
    }
}
