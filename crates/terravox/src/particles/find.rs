//! Finds planes for particles: by a ray along the way that a particle will take, and from
//! what other rays found.
//!
//! The way is a parabola, so a ray is a chain of up to three chords, each counted as a ray.
//! What it meets is remembered for the cells all along the way. A chain that passes through
//! a plane without meeting anything shows that there is no ground any more; but before a
//! plane that the particle lies on is dropped, a ray out of the plane asks whether the
//! particle is inside the ground, where rays along its way are blind.

use super::cache::{CachedPlane, PlaneCache};
use super::effect::Effect;
use super::plane::{CollisionPlane, ParticleHit, ParticleRay};
use glam::Vec3;

/// A chord leaves the parabola by so much at most, for the first one, metres.
const CHORD_ERROR_M: f32 = 0.25;

/// The most chords of a ray.
const CHORDS: usize = 3;

/// How far ahead rays look at least: so far that a particle at rest would fall through a
/// plane where there is no ground any more, seconds.
pub(super) const SHORTEST_LOOK_SECONDS: f32 = 0.15;

/// How far ahead rays look at most, seconds.
pub(super) const LONGEST_LOOK_SECONDS: f32 = 4.0;

/// Particles that are nearer to a plane lie on it, metres.
const CONTACT_M: f32 = 0.05;

/// Rays start so far above planes that particles lie on, metres.
const LIFT_M: f32 = 0.02;

/// A plane is not taken by a particle that is farther inside: it lies behind it, metres.
const INSIDE_M: f32 = 0.25;

/// Planes of about the same normal whose distances differ by less are the same, metres.
const ALIKE_M: f32 = 0.1;

/// A plane that was found so near to where a particle meets it is right, metres.
const NEAR_M: f32 = 1.0;

/// How long the plane of a moving thing holds, seconds.
const MOVING_SECONDS: f32 = 0.25;

/// Seconds for which a particle without a plane waits at least.
const SHORTEST_SLEEP_SECONDS: f32 = 0.03;

/// Seconds after which a particle looks for a better plane at the latest.
const LONGEST_SLEEP_SECONDS: f32 = 1.0;

/// The most cells along its way for which a ray is remembered, the last one aside.
const SAMPLES: usize = 6;

/// One direction of each kind that the cache tells apart.
const AROUND: [Vec3; 6] = [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];

/// Where a ray met something.
struct Met {
    hit: ParticleHit,
    plane: CollisionPlane,
    /// Seconds until the particle is there.
    seconds: f32,
    /// Whether it was met from outside.
    outside: bool,
}

impl Effect {
    /// Seconds of the first chord, and how far ahead [`Effect::heading`] looks.
    fn chord_seconds(&self) -> f32 {
        let gravity = Vec3::from(self.options.gravity).length();
        (8.0 * CHORD_ERROR_M / gravity).sqrt().min(1.0)
    }

    /// Where a particle gets from here in [`Effect::chord_seconds`], metres.
    pub(super) fn heading(&self, velocity: Vec3) -> Vec3 {
        self.travel(velocity, self.chord_seconds())
    }

    fn travel(&self, velocity: Vec3, seconds: f32) -> Vec3 {
        velocity * seconds + Vec3::from(self.options.gravity) * (0.5 * seconds * seconds)
    }

    /// Takes the plane that the cache has for a particle, if it is better.
    pub(super) fn look_up(&mut self, particle: usize, cache: &PlaneCache) {
        if self.columns.moving[particle] != 0 {
            return;
        }
        let position = self.columns.position(particle);
        let heading = self.heading(self.columns.velocity(particle));
        // What lies in a corner needs what was found in other directions, too.
        let around = if self.columns.planes.len() > 1 { &AROUND[..] } else { &[] };
        for direction in around.iter().copied().chain([heading]) {
            let found = cache.look_up(position, direction);
            self.take(particle, found, heading);
        }
        if self.distance_off(particle, heading) > NEAR_M {
            let found = cache.look_up_coarsely(position, heading);
            self.take(particle, found, heading);
        }
        if self.distance_off(particle, heading) > NEAR_M {
            let down = Vec3::from(self.options.gravity);
            let found = cache.look_up(position, down);
            let found = found.or_else(|| cache.look_up_coarsely(position, down));
            self.take(particle, found, heading);
        }
        self.sleep(particle, cache.options().cell_m);
    }

    /// Takes an answer of the cache, if it is better than what the particle has.
    fn take(&mut self, particle: usize, found: Option<CachedPlane>, heading: Vec3) {
        self.stats.look_ups += 1;
        if let Some(found) = found.filter(|found| self.is_better(particle, found, heading)) {
            self.put_plane(particle, found.plane, Vec3::from(found.point_m), false);
            self.stats.taken += 1;
        }
    }

    /// Whether a particle should take a plane that others found: if it was found nearer to
    /// where the particle would meet it than the plane that the particle has, or is met
    /// before that one near where it was found.
    fn is_better(&self, particle: usize, found: &CachedPlane, heading: Vec3) -> bool {
        let position = self.columns.position(particle);
        let share = found.plane.share_before(position, heading);
        if !share.is_finite() || found.plane.distance_m(position) < -INSIDE_M {
            return false;
        }
        let meets = position + share * heading;
        let off = meets.distance(Vec3::from(found.point_m));
        // Who keeps several loses none that matters.
        let beside = self.columns.planes.len() > 1
            && Vec3::from(found.point_m).distance_squared(position) < NEAR_M * NEAR_M;
        beside
            || off < self.distance_off(particle, heading)
            || off < NEAR_M && share < self.share_before_planes(particle, heading)
    }

    /// How far from where its newest plane was found a particle would meet its planes, metres;
    /// infinite if it meets none.
    fn distance_off(&self, particle: usize, heading: Vec3) -> f32 {
        let share = self.share_before_planes(particle, heading);
        if !share.is_finite() {
            return f32::INFINITY;
        }
        let meets = self.columns.position(particle) + share * heading;
        meets.distance(self.columns.found_at[particle])
    }

    /// What share of the way ahead lies before the first plane that a particle has.
    fn share_before_planes(&self, particle: usize, heading: Vec3) -> f32 {
        let position = self.columns.position(particle);
        let share = |plane: CollisionPlane| plane.share_before(position, heading);
        self.planes(particle).map(share).fold(f32::INFINITY, f32::min)
    }

    /// Says when a particle looks again: without a plane, about when it enters another cell;
    /// with one, half way to it, for what is known there is known better.
    fn sleep(&mut self, particle: usize, cell_m: f32) {
        let velocity = self.columns.velocity(particle);
        let cell_seconds = cell_m / velocity.length();
        let share = self.share_before_planes(particle, self.heading(velocity));
        let seconds = match share.is_finite() {
            true => (0.5 * share * self.chord_seconds()).max(cell_seconds),
            // It may fall sooner than fly.
            false => {
                let gravity = Vec3::from(self.options.gravity).length();
                (0.5 * cell_seconds).min((cell_m / gravity).sqrt()).max(SHORTEST_SLEEP_SECONDS)
            }
        };
        self.columns.wakes.set(particle, self.clock + seconds.min(LONGEST_SLEEP_SECONDS));
    }

    /// Drops planes of moving things.
    pub(super) fn drop_moving(&mut self, particle: usize) {
        for slot in 0..self.columns.planes.len() {
            if self.columns.moving[particle] >> slot & 1 == 1 {
                self.columns.set_plane(slot, particle, CollisionPlane::NONE, false);
            }
        }
    }

    /// Gives a particle a plane: in place of one much like it, else of none, else of the one
    /// that it is farthest from.
    fn put_plane(&mut self, particle: usize, plane: CollisionPlane, found_at: Vec3, moving: bool) {
        self.columns.found_at[particle] = found_at;
        let position = self.columns.position(particle);
        let (normal, distance) = (Vec3::from(plane.normal), plane.distance_m(position));
        let mut best = (0, f32::NEG_INFINITY);
        for slot in 0..self.columns.planes.len() {
            let old = self.columns.plane(slot, particle);
            let old_distance = old.distance_m(position);
            let alike = normal.dot(Vec3::from(old.normal)) > 0.98
                && (old_distance - distance).abs() < ALIKE_M;
            let fit = match (alike, old.is_none()) {
                (true, _) => f32::INFINITY,
                (_, true) => f32::MAX,
                _ => old_distance.abs(),
            };
            if fit > best.1 {
                best = (slot, fit);
            }
        }
        self.columns.set_plane(best.0, particle, plane, moving);
    }

    /// Casts a ray along the way that a particle will take within `horizon` seconds.
    pub(super) fn cast(
        &mut self,
        particle: usize,
        horizon: f32,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        let position = self.columns.position(particle);
        let lies_on = |plane: &CollisionPlane| plane.distance_m(position).abs() < CONTACT_M;
        let touched = self.planes(particle).filter(lies_on);
        let lift = touched.map(|plane| Vec3::from(plane.normal)).sum::<Vec3>() * LIFT_M;
        let (met, end) = self.follow_chords(particle, lift, horizon, ray);
        let from = position + lift;
        let seen = met.as_ref().map_or(end, |met| Vec3::from(met.hit.point_m));
        let deep = |met: &Met| met.plane.distance_m(position) < -INSIDE_M;
        if met.as_ref().is_some_and(|met| !met.outside && deep(met)) {
            // Too deep inside: says nothing about where the particle goes.
            return;
        }
        let mut held = self.refute(particle, from, seen, ray);
        if met.is_none() && !held && horizon == LONGEST_LOOK_SECONDS {
            // No ground far and wide: perhaps the particle is in it.
            if let Some((hit, plane)) = self.ask_upwards(particle, ray) {
                self.put_plane(particle, plane, Vec3::from(hit.point_m), hit.moving);
                held = true;
            }
        }
        let Some(met) = met.filter(|_| !held) else {
            let sleep = LONGEST_SLEEP_SECONDS.min(0.5 * horizon);
            self.columns.wakes.set(particle, self.clock + sleep);
            return;
        };
        self.put_plane(particle, met.plane, Vec3::from(met.hit.point_m), met.hit.moving);
        // What was found for this particle is right until it bounces.
        let sleep = if met.hit.moving { MOVING_SECONDS } else { 1.25 * met.seconds + 0.1 };
        self.columns.wakes.set(particle, self.clock + sleep);
        if met.outside && !met.hit.moving {
            self.remember(particle, &met, cache);
        }
    }

    /// Asks along the chords of the way ahead; answers what was met and where the way ends.
    fn follow_chords(
        &mut self,
        particle: usize,
        lift: Vec3,
        horizon: f32,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> (Option<Met>, Vec3) {
        let velocity = self.columns.velocity(particle);
        let start = self.columns.position(particle) + lift;
        let (mut from, mut begin, mut span) = (start, 0.0_f32, self.chord_seconds());
        for chord in 1..=CHORDS {
            let end = match chord {
                CHORDS => horizon,
                _ => (begin + span).min(horizon),
            };
            let to = start + self.travel(velocity, end);
            let leg = to - from;
            // Farther by the lift, or a particle at rest would not see what it lies on.
            let length = leg.length() + 3.0 * LIFT_M;
            let direction = leg.normalize_or_zero();
            if direction == Vec3::ZERO {
                break;
            }
            if let Some((hit, plane)) = self.ask(from, direction, length, ray) {
                let share = Vec3::from(hit.point_m).distance(from) / length;
                let seconds = begin + share * (end - begin);
                let outside = Vec3::from(hit.normal).dot(direction) < 0.0;
                return (Some(Met { hit, plane, seconds, outside }), to);
            }
            (from, begin, span) = (to, end, 2.0 * span);
            if end >= horizon {
                break;
            }
        }
        (None, from)
    }

    /// Asks one ray. Answers that are no numbers are none.
    fn ask(
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

    /// What is above a particle, if it is inside the ground and not deep.
    fn ask_upwards(
        &mut self,
        particle: usize,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> Option<(ParticleHit, CollisionPlane)> {
        let up = (-Vec3::from(self.options.gravity)).try_normalize()?;
        self.ask_from_inside(self.columns.position(particle), up, ray)
    }

    /// The surface through which a line leaves the ground, if it starts inside and not deep.
    fn ask_from_inside(
        &mut self,
        origin: Vec3,
        direction: Vec3,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> Option<(ParticleHit, CollisionPlane)> {
        let met = self.ask(origin, direction, 2.0 * INSIDE_M, ray);
        met.filter(|(hit, _)| Vec3::from(hit.normal).dot(direction) > 0.0)
    }

    /// Drops planes that the way from `from` to `to` passed without meeting anything. Answers
    /// whether one of them holds all the same: the particle lies on it.
    fn refute(
        &mut self,
        particle: usize,
        from: Vec3,
        to: Vec3,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> bool {
        let position = self.columns.position(particle);
        let mut held = false;
        for slot in 0..self.columns.planes.len() {
            let plane = self.columns.plane(slot, particle);
            if plane.is_none() || plane.distance_m(to) > -CONTACT_M {
                continue;
            }
            let mut really = None;
            if plane.distance_m(position).abs() < INSIDE_M {
                let normal = Vec3::from(plane.normal);
                really = self.ask_from_inside(position - CONTACT_M * normal, normal, ray);
                really = really.or_else(|| self.ask_upwards(particle, ray));
            } else if plane.distance_m(from) < 0.0 {
                continue;
            }
            self.columns.set_plane(slot, particle, CollisionPlane::NONE, false);
            if let Some((hit, plane)) = really {
                self.put_plane(particle, plane, Vec3::from(hit.point_m), hit.moving);
                held = true;
            }
        }
        held
    }

    /// Remembers what was met, for the cells along the way.
    fn remember(&self, particle: usize, met: &Met, cache: &mut PlaneCache) {
        let position = self.columns.position(particle);
        let velocity = self.columns.velocity(particle);
        let gravity = Vec3::from(self.options.gravity);
        let point_m = met.hit.point_m;
        let found = CachedPlane { plane: met.plane, point_m };
        let cells = position.distance(Vec3::from(point_m)) / cache.options().cell_m;
        // The cast saturates.
        let samples = (cells.ceil() as usize).clamp(1, SAMPLES);
        for sample in 0..=samples {
            let seconds = met.seconds * sample as f32 / samples as f32;
            let heading = self.heading(velocity + gravity * seconds);
            cache.insert(position + self.travel(velocity, seconds), heading, found);
        }
    }
}
