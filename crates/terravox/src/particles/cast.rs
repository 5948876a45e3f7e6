//! Planes for particles from rays along their paths.
//!
//! A path is a parabola, so it is traced as a chain of up to three chords, each counted as a ray; a
//! sliding particle instead casts one ray from above its plane to the ground ahead. Hits are cached
//! for the cells along the path and around the hit. If a path passes through a plane without
//! hitting anything, the ground is gone; but before the plane that a particle rests on is dropped,
//! a ray out of the plane checks whether the particle is inside the ground, where rays along its
//! path cannot see the surface.

use super::cache::{CachedPlane, PlaneCache, direction_of};
use super::effect::Effect;
use super::look_up::{FoundPlane, INSIDE_M, MAX_LOOK_UP_SECONDS};
use super::plane::{CollisionPlane, ParticleHit, ParticleRay};
use glam::Vec3;

/// The most chords of a path.
const MAX_CHORDS: usize = 3;

/// The shortest look-ahead: enough for a particle at rest to fall through a plane whose ground is
/// gone. In seconds.
pub(super) const MIN_LOOK_AHEAD_SECONDS: f32 = 0.15;

/// The longest look-ahead. In seconds.
pub(super) const MAX_LOOK_AHEAD_SECONDS: f32 = 4.0;

/// Particles nearer to a plane than this touch it. In metres.
const CONTACT_M: f32 = 0.05;

/// Rays start this far above the planes that particles touch. In metres.
const LIFT_M: f32 = 0.02;

/// Particles that touch a plane and are faster than this slide. In metres per second.
const SLIDING_SPEED: f32 = 0.2;

/// The ray of a sliding particle starts this far above its plane. In metres.
const SLIDE_RISE_M: f32 = 0.8;

/// It crosses the plane where the particle will be after this time. In seconds.
const SLIDE_AHEAD_SECONDS: f32 = 0.4;

/// It crosses the plane at most this far ahead. In metres.
const MAX_SLIDE_AHEAD_M: f32 = 3.0;

/// Hits are cached for this many cells to each side.
const CACHE_RING_CELLS: i32 = 2;

/// How long the plane of a moving thing is valid. In seconds.
const MOVING_SECONDS: f32 = 0.25;

/// The most cells along a path for which a hit is cached, besides the last.
const MAX_PATH_SAMPLES: usize = 3;

/// Where a path hits something.
pub(super) struct PathHit {
    pub hit: ParticleHit,
    pub plane: CollisionPlane,
    /// Seconds until the particle is there.
    pub seconds: f32,
    /// Whether the surface was hit from outside.
    pub from_outside: bool,
}

impl PathHit {
    fn found(&self) -> FoundPlane {
        found(&self.hit, self.plane)
    }
}

/// Returns what a particle's own ray found.
pub(super) fn found(hit: &ParticleHit, plane: CollisionPlane) -> FoundPlane {
    FoundPlane { plane, point: Vec3::from(hit.point_m), is_moving: hit.is_moving, is_own: true }
}

impl Effect {
    /// Returns the offset that lifts a particle off the planes that it touches.
    pub(super) fn lift(&self, particle: usize) -> Vec3 {
        let position = self.columns.position(particle);
        let touches = |plane: &CollisionPlane| plane.distance_m(position).abs() < CONTACT_M;
        let touched = self.planes(particle).filter(touches);
        touched.map(|plane| Vec3::from(plane.normal)).sum::<Vec3>() * LIFT_M
    }

    /// Traces the path of a particle over the next `look_ahead` seconds and updates its planes.
    pub(super) fn cast(
        &mut self,
        particle: usize,
        look_ahead: f32,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        let position = self.columns.position(particle);
        let lift = self.lift(particle);
        // A particle that casts again soon need not look far ahead.
        let is_far = look_ahead == MAX_LOOK_AHEAD_SECONDS;
        if is_far && lift != Vec3::ZERO && self.cast_slide(particle, lift.normalize(), cache, ray) {
            return;
        }
        let (hit, end) = self.trace_chords(particle, lift, look_ahead, ray);
        let from = position + lift;
        let to = hit.as_ref().map_or(end, |hit| Vec3::from(hit.hit.point_m));
        let is_deep = |hit: &PathHit| hit.plane.distance_m(position) < -INSIDE_M;
        if hit.as_ref().is_some_and(|hit| !hit.from_outside && is_deep(hit)) {
            // Too deep inside: the hit says nothing about where the particle goes.
            self.columns.known_until[particle] = self.clock + MAX_LOOK_UP_SECONDS;
            return;
        }
        let mut is_held = self.drop_passed_planes(particle, from, to, ray);
        if hit.is_none() && !is_held && is_far {
            // No ground anywhere ahead: the particle may be inside it.
            if let Some((hit, plane)) = self.cast_upwards(particle, ray) {
                self.put_plane(particle, found(&hit, plane));
                is_held = true;
            }
        }
        let Some(hit) = hit.filter(|_| !is_held) else {
            self.columns.known_until[particle] =
                self.clock + if is_held { 0.0 } else { 0.5 * look_ahead };
            let delay = MAX_LOOK_UP_SECONDS.min(0.5 * look_ahead);
            self.columns.look_up_times.set(particle, self.clock + delay);
            return;
        };
        self.put_plane(particle, hit.found());
        self.columns.known_until[particle] = self.clock + hit.seconds;
        // A plane found for this particle is right until it bounces.
        let delay = if hit.hit.is_moving { MOVING_SECONDS } else { 1.25 * hit.seconds + 0.1 };
        self.columns.look_up_times.set(particle, self.clock + delay);
        if hit.from_outside && !hit.hit.is_moving {
            self.cache_hit(particle, &hit, cache);
        }
    }

    /// Casts a ray from above the plane on which a particle slides to the ground ahead. Returns
    /// whether it hit. A ray along the free fall would hit the ground below, which the particle
    /// leaves soon.
    fn cast_slide(
        &mut self,
        particle: usize,
        normal: Vec3,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> bool {
        let position = self.columns.position(particle);
        let velocity = self.columns.velocity(particle);
        let speed = velocity.length();
        if speed < SLIDING_SPEED {
            return false;
        }
        let rise = SLIDE_RISE_M * normal;
        let ahead = (SLIDE_AHEAD_SECONDS * velocity).clamp_length_max(MAX_SLIDE_AHEAD_M);
        let (direction, length_m) = (2.0 * (ahead - rise)).normalize_and_length();
        let Some((hit, plane)) = self.cast_ray(position + rise, direction, length_m, ray) else {
            return false;
        };
        let from_outside = Vec3::from(hit.normal).dot(direction) < 0.0;
        if !from_outside || plane.distance_m(position) < -INSIDE_M {
            return false;
        }
        let seconds = position.distance(Vec3::from(hit.point_m)) / speed;
        self.put_plane(particle, found(&hit, plane));
        self.columns.known_until[particle] = self.clock + seconds;
        let delay = if hit.is_moving { MOVING_SECONDS } else { seconds.min(MOVING_SECONDS) };
        self.columns.look_up_times.set(particle, self.clock + delay);
        if !hit.is_moving {
            self.cache_hit(particle, &PathHit { hit, plane, seconds, from_outside }, cache);
        }
        true
    }

    /// Casts rays along the chords of the path. Returns the first hit and the end of the last
    /// chord.
    fn trace_chords(
        &mut self,
        particle: usize,
        lift: Vec3,
        look_ahead: f32,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> (Option<PathHit>, Vec3) {
        let velocity = self.columns.velocity(particle);
        let start = self.columns.position(particle) + lift;
        let (mut from, mut begin, mut span) = (start, 0.0_f32, self.chord_seconds);
        for chord in 1..=MAX_CHORDS {
            let end = match chord {
                MAX_CHORDS => look_ahead,
                _ => (begin + span).min(look_ahead),
            };
            let to = start + self.travel(velocity, end);
            let leg = to - from;
            // Longer than the lift, or a particle at rest would miss the ground below it.
            let length = leg.length() + 3.0 * LIFT_M;
            let direction = leg.normalize_or_zero();
            if direction == Vec3::ZERO {
                break;
            }
            if let Some((hit, plane)) = self.cast_ray(from, direction, length, ray) {
                let fraction = Vec3::from(hit.point_m).distance(from) / length;
                let seconds = begin + fraction * (end - begin);
                let from_outside = Vec3::from(hit.normal).dot(direction) < 0.0;
                return (Some(PathHit { hit, plane, seconds, from_outside }), to);
            }
            (from, begin, span) = (to, end, 2.0 * span);
            if end >= look_ahead {
                break;
            }
        }
        (None, from)
    }

    /// Casts one ray. Non-finite hits are discarded.
    pub(super) fn cast_ray(
        &mut self,
        origin: Vec3,
        direction: Vec3,
        length_m: f32,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> Option<(ParticleHit, CollisionPlane)> {
        self.saved_rays -= 1.0;
        self.stats.rays += 1;
        let (origin_m, direction) = (origin.to_array(), direction.to_array());
        let hit = ray(&ParticleRay { origin_m, direction, length_m })?;
        let plane = CollisionPlane::through(hit.point_m, hit.normal);
        self.stats.hits += u64::from(plane.is_valid());
        plane.is_valid().then_some((hit, plane))
    }

    /// Returns the surface above a particle, if the particle is inside the ground and not deep.
    fn cast_upwards(
        &mut self,
        particle: usize,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> Option<(ParticleHit, CollisionPlane)> {
        let up = (-Vec3::from(self.options.gravity)).try_normalize()?;
        self.cast_from_inside(self.columns.position(particle), up, ray)
    }

    /// Returns the surface through which a ray leaves the ground, if it starts inside and not deep.
    fn cast_from_inside(
        &mut self,
        origin: Vec3,
        direction: Vec3,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> Option<(ParticleHit, CollisionPlane)> {
        let hit = self.cast_ray(origin, direction, 2.0 * INSIDE_M, ray);
        hit.filter(|(hit, _)| Vec3::from(hit.normal).dot(direction) > 0.0)
    }

    /// Drops planes through which the path passed from `from` to `to` without a hit. Returns
    /// whether one of them was confirmed after all, because the particle rests on it.
    fn drop_passed_planes(
        &mut self,
        particle: usize,
        from: Vec3,
        to: Vec3,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> bool {
        let position = self.columns.position(particle);
        let mut is_held = false;
        for slot in 0..self.columns.planes.len() {
            let plane = self.columns.plane(slot, particle);
            if plane.is_none() || plane.distance_m(to) > -CONTACT_M {
                continue;
            }
            let mut confirmed = None;
            if plane.distance_m(position).abs() < INSIDE_M {
                let normal = Vec3::from(plane.normal);
                confirmed = self.cast_from_inside(position - CONTACT_M * normal, normal, ray);
                confirmed = confirmed.or_else(|| self.cast_upwards(particle, ray));
            } else if plane.distance_m(from) < 0.0 {
                continue;
            }
            self.columns.clear_plane(slot, particle);
            if let Some((hit, plane)) = confirmed {
                self.put_plane(particle, found(&hit, plane));
                is_held = true;
            }
        }
        is_held
    }

    /// Caches a hit for the cells along the path and around the hit.
    pub(super) fn cache_hit(&self, particle: usize, hit: &PathHit, cache: &mut PlaneCache) {
        let position = self.columns.position(particle);
        let velocity = self.columns.velocity(particle);
        let gravity = Vec3::from(self.options.gravity);
        let point_m = hit.hit.point_m;
        let cached = CachedPlane { plane: hit.plane, point_m };
        let cells = position.distance(Vec3::from(point_m)) / cache.options().cell_m;
        // The cast saturates.
        let samples = (cells.ceil() as usize).clamp(1, MAX_PATH_SAMPLES);
        for sample in 0..=samples {
            let seconds = hit.seconds * sample as f32 / samples as f32;
            let heading = self.heading(velocity + gravity * seconds);
            cache.insert(position + self.travel(velocity, seconds), heading, cached);
        }
        // Around the hit, for particles that land beside it, and for those that arrive from other
        // directions.
        let heading = self.heading(velocity + gravity * hit.seconds);
        let inwards = -Vec3::from(hit.plane.normal);
        cache.insert_around(heading, cached, CACHE_RING_CELLS);
        if direction_of(inwards.into()) != direction_of(heading.into()) {
            cache.insert_around(inwards, cached, CACHE_RING_CELLS);
        }
    }
}
