//! Exact collisions, for effects with at least one ray per particle: each particle is traced in
//! every update, so none can pass through the ground.
//!
//! A flying particle is moved without planes. A ray from its old to its new position then finds
//! what it hit; it is put there, with the plane that it bounces off in the next update. A particle
//! that touches a plane is cast along its free fall before the step as well, so that stale planes
//! are dropped; since its planes may redirect it, it is traced afterwards in the same way. Rays
//! start and end lifted off the planes that particles touch, where the ray before has shown that
//! there is air.

use super::FAR_M;
use super::cache::PlaneCache;
use super::cast::{MIN_LOOK_AHEAD_SECONDS, PathHit, found};
use super::effect::Effect;
use super::look_up::INSIDE_M;
use super::plane::{ParticleHit, ParticleRay};
use glam::Vec3;

/// The most rays per particle in one update, besides those before the step.
const MAX_TRACE_RAYS: usize = 4;

/// Shorter displacements are not traced. In metres.
const MIN_TRACE_M: f32 = 1e-5;

impl Effect {
    /// Before the step: stores where each particle starts, and casts those that touch a plane.
    pub(super) fn prepare_traces(
        &mut self,
        seconds: f32,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        // Each is cast again soon, so a short look-ahead is enough.
        let look_ahead = MIN_LOOK_AHEAD_SECONDS.max(4.0 * seconds);
        self.starts.clear();
        for particle in 0..self.columns.count {
            let lift = self.lift(particle);
            self.starts.push(self.columns.position(particle) + lift);
            if lift != Vec3::ZERO {
                self.cast(particle, look_ahead, cache, ray);
                continue;
            }
            for slot in 0..self.columns.planes.len() {
                self.columns.clear_plane(slot, particle);
            }
            self.columns.look_up_times.set(particle, self.clock);
        }
    }

    /// After the step: moves each particle back to the first hit on its way.
    pub(super) fn finish_traces(
        &mut self,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        (0..self.columns.count).for_each(|particle| self.trace_step(particle, cache, ray));
    }

    fn trace_step(
        &mut self,
        particle: usize,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        let start = self.starts[particle];
        for _ in 0..MAX_TRACE_RAYS {
            let position = self.columns.position(particle);
            let (direction, length) =
                (position + self.lift(particle) - start).normalize_and_length();
            // Particles that are too far away die anyway.
            if !(length > MIN_TRACE_M && length < FAR_M) {
                return;
            }
            let Some((hit, plane)) = self.cast_ray(start, direction, length, ray) else { return };
            let (point, from_outside) = (Vec3::from(hit.point_m), plane.faces(direction));
            if from_outside {
                self.columns.set_position(particle, point);
            } else if plane.distance_m(position) < -INSIDE_M {
                return;
            }
            self.put_plane(particle, found(&hit, plane));
            if !from_outside {
                return;
            }
            if !hit.is_moving {
                let hit = PathHit { hit, plane, seconds: 0.0, from_outside };
                self.cache_hit(particle, &hit, cache);
            }
        }
        // Something is in the way of every position.
        self.columns.set_position(particle, start);
    }
}
