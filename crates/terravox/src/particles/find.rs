//! Finds planes for particles: by a ray along the way that a particle will take, and from
//! what other rays found, for many particles at once.
//!
//! The way is a parabola, so a ray is a chain of up to three chords, each counted as a ray;
//! one that slides asks from above its plane what it comes to. What is met is remembered for
//! the cells all along the way, and for those around the end. A chain that passes through
//! a plane without meeting anything shows that there is no ground any more; but before a
//! plane that the particle lies on is dropped, a ray out of the plane asks whether the
//! particle is inside the ground, where rays along its way are blind.

use super::cache::{CachedPlane, PlaneCache, direction_of, prefetch};
use super::effect::Effect;
use super::plane::{CollisionPlane, ParticleHit, ParticleRay};
use glam::Vec3;

/// The first chord leaves the parabola by so much at most, metres. Less would cost more rays
/// than it is worth.
const CHORD_ERROR_M: f32 = 1.0;

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
pub(super) const INSIDE_M: f32 = 0.25;

/// Planes of about the same normal whose distances differ by less are the same, metres.
const ALIKE_M: f32 = 0.1;

/// A plane that was found so near to where a particle meets it is right, metres.
const NEAR_M: f32 = 1.0;

/// Particles that touch a plane and are faster slide, metres a second.
const SLIDING_SPEED: f32 = 0.2;

/// The ray of one that slides starts so far above its plane, metres.
const RISE_M: f32 = 0.8;

/// And crosses that plane where the particle is so many seconds later.
const AHEAD_SECONDS: f32 = 0.4;

/// But not farther away, metres.
const FARTHEST_AHEAD_M: f32 = 3.0;

/// A particle that has a plane looks again when it has gone so many cells, at the soonest.
const CELLS: f32 = 2.0;

/// One that keeps several planes lies in corners, and looks more often.
const CLOSE_CELLS: f32 = 0.25;

/// What was met is kept for cells so many to each side of where it was met.
const BESIDE: i32 = 2;

/// How long the plane of a moving thing holds, seconds.
const MOVING_SECONDS: f32 = 0.25;

/// Seconds after which a particle without a plane looks again.
const NO_PLANE_RETRY_SECONDS: f32 = 0.15;

/// Seconds after which a particle looks for a better plane at the latest.
const LONGEST_SLEEP_SECONDS: f32 = 1.0;

/// The most cells along its way for which a ray is remembered, the last one aside.
const SAMPLES: usize = 3;

/// So many particles look at once.
const RUN: usize = 32;

/// A particle that looks for a plane.
#[derive(Clone, Copy, Default)]
struct Look {
    particle: usize,
    /// World metres.
    position: Vec3,
    /// Where it gets from there in the time of the first chord, metres.
    heading: Vec3,
    /// As the cache tells them apart.
    direction: Option<u8>,
    /// What share of that lies before the first of its planes; may be infinite.
    share: f32,
    /// How far from there that plane was found, metres; may be infinite.
    off: f32,
}

/// Where a ray met something.
pub(super) struct Met {
    pub hit: ParticleHit,
    pub plane: CollisionPlane,
    /// Seconds until the particle is there.
    pub seconds: f32,
    /// Whether it was met from outside.
    pub outside: bool,
}

/// How long the first chord is under such a gravity, seconds.
pub(super) fn chord_seconds(gravity: [f32; 3]) -> f32 {
    (8.0 * CHORD_ERROR_M / Vec3::from(gravity).length()).sqrt().min(1.0)
}

impl Effect {
    /// Where a particle gets from here in the time of the first chord, metres.
    pub(super) fn heading(&self, velocity: Vec3) -> Vec3 {
        self.travel(velocity, self.chord_seconds)
    }

    fn travel(&self, velocity: Vec3, seconds: f32) -> Vec3 {
        velocity * seconds + Vec3::from(self.options.gravity) * (0.5 * seconds * seconds)
    }

    /// Looks up planes for all of `lookers`, a run at a time: what a run will read is fetched
    /// first, for memory is slow and the cache has no order.
    pub(super) fn look_up_all(&mut self, cache: &PlaneCache) {
        let lookers = std::mem::take(&mut self.lookers);
        let (mut looks, mut homes) = ([Look::default(); RUN], [[0; 2]; RUN]);
        for run in lookers.chunks(RUN) {
            for &particle in run {
                cache.fetch_known(self.columns.position(particle));
                prefetch(&self.columns.found_at[0], particle);
            }
            let mut count = 0;
            for &particle in run {
                if self.columns.moving[particle] != 0 {
                    continue;
                }
                let known = cache.may_know(self.columns.position(particle));
                // Nearly all of a burst that has not met anything yet.
                if !known && self.planes(particle).next().is_none() {
                    self.columns.wakes.set(particle, self.clock + NO_PLANE_RETRY_SECONDS);
                    continue;
                }
                let look = self.look(particle);
                if !known {
                    self.sleep(&look, cache.options().cell_m);
                    continue;
                }
                homes[count] = cache.fetch_places(look.position, look.direction);
                looks[count] = look;
                count += 1;
            }
            homes[..count].iter().for_each(|homes| cache.fetch_entries(homes));
            looks[..count].iter().for_each(|look| self.look_up_from(*look, cache));
        }
        self.lookers = lookers;
    }

    /// Takes the plane that the cache has for a particle, if it is better.
    pub(super) fn look_up(&mut self, particle: usize, cache: &PlaneCache) {
        self.look_up_from(self.look(particle), cache);
    }

    fn look_up_from(&mut self, mut look: Look, cache: &PlaneCache) {
        if self.columns.moving[look.particle] != 0 {
            return;
        }
        // What lies in a corner needs what was found in other directions, too.
        if self.columns.planes.len() > 1 {
            for direction in 0..6 {
                let found = cache.get_at(look.position, Some(direction), 0);
                self.take(&mut look, found);
            }
        }
        let direction = look.direction;
        self.look_towards(&mut look, direction, cache);
        let down = direction_of(self.options.gravity);
        if down != direction && look.off > NEAR_M {
            self.look_towards(&mut look, down, cache);
        }
        self.sleep(&look, cache.options().cell_m);
    }

    /// Where a particle is, where it goes, and what it meets there.
    fn look(&self, particle: usize) -> Look {
        let position = self.columns.position(particle);
        let heading = self.heading(self.columns.velocity(particle));
        let direction = direction_of(heading.into());
        let (share, off) = self.first_met(particle, position, heading);
        Look { particle, position, heading, direction, share, off }
    }

    /// Takes what was found in one direction: from its cell, else from the coarse one. Where
    /// that has nothing, the other has nothing either.
    fn look_towards(&mut self, look: &mut Look, direction: Option<u8>, cache: &PlaneCache) {
        let mut coarse = None;
        if look.off > NEAR_M {
            coarse = cache.get_at(look.position, direction, 1);
            if coarse.is_none() {
                self.stats.look_ups += 1;
                return;
            }
        }
        let fine = cache.get_at(look.position, direction, 0);
        self.take(look, fine);
        if look.off > NEAR_M {
            self.take(look, coarse);
        }
    }

    /// Takes an answer of the cache, if it is better than what the particle has.
    fn take(&mut self, look: &mut Look, found: Option<CachedPlane>) {
        self.stats.look_ups += 1;
        if let Some(found) = found.filter(|found| self.is_better(look, found)) {
            let particle = look.particle;
            self.put_plane(particle, found.plane, Vec3::from(found.point_m), false, false);
            (look.share, look.off) = self.first_met(particle, look.position, look.heading);
            self.stats.taken += 1;
        }
    }

    /// Whether a particle should take a plane that others found: if it was found nearer to
    /// where the particle would meet it than the plane that the particle has, or is met
    /// before that one near where it was found.
    fn is_better(&self, look: &Look, found: &CachedPlane) -> bool {
        let share = found.plane.share_before(look.position, look.heading);
        if !share.is_finite() || found.plane.distance_m(look.position) < -INSIDE_M {
            return false;
        }
        let meets = look.position + share * look.heading;
        let off = meets.distance(Vec3::from(found.point_m));
        // With several slots, no important plane is lost.
        let beside = self.columns.planes.len() > 1
            && Vec3::from(found.point_m).distance_squared(look.position) < NEAR_M * NEAR_M;
        beside || off < look.off || off < NEAR_M && share < look.share
    }

    /// What share of the way ahead lies before the first plane that a particle has, and how
    /// many metres that is from where the plane was found; both infinite if it meets none.
    pub(super) fn first_met(&self, particle: usize, position: Vec3, heading: Vec3) -> (f32, f32) {
        let (mut least, mut slot) = (f32::INFINITY, 0);
        for other in 0..self.columns.planes.len() {
            let share = self.columns.plane(other, particle).share_before(position, heading);
            if share < least {
                (least, slot) = (share, other);
            }
        }
        if least == f32::INFINITY {
            return (least, least);
        }
        let meets = position + least * heading;
        (least, meets.distance(self.columns.found_at[slot][particle]))
    }

    /// Says when a particle looks again: soon without a plane; with one, half way to it, for
    /// what is known there is known better.
    fn sleep(&mut self, look: &Look, cell_m: f32) {
        let mut seconds = NO_PLANE_RETRY_SECONDS;
        if look.share.is_finite() {
            let cells = if self.columns.planes.len() > 1 { CLOSE_CELLS } else { CELLS };
            let cell_seconds = cell_m / self.columns.velocity(look.particle).length();
            seconds = (0.5 * look.share * self.chord_seconds).max(cells * cell_seconds);
        }
        self.columns.wakes.set(look.particle, self.clock + seconds.min(LONGEST_SLEEP_SECONDS));
    }

    /// Drops planes of moving things.
    pub(super) fn drop_moving(&mut self, particle: usize) {
        if self.columns.moving[particle] == 0 {
            return;
        }
        for slot in 0..self.columns.planes.len() {
            if self.columns.moving[particle] >> slot & 1 == 1 {
                self.columns.set_plane(slot, particle, CollisionPlane::NONE, false);
            }
        }
    }

    /// Gives a particle a plane, `own` if its own ray found it: in place of one much like it,
    /// else of none, else of the one that it is farthest from.
    pub(super) fn put_plane(
        &mut self,
        particle: usize,
        plane: CollisionPlane,
        found_at: Vec3,
        moving: bool,
        own: bool,
    ) {
        let position = self.columns.position(particle);
        let (normal, distance) = (Vec3::from(plane.normal), plane.distance_m(position));
        let mut best = (0, f32::NEG_INFINITY);
        for slot in 0..self.columns.planes.len() {
            let old = self.columns.plane(slot, particle);
            let old_distance = old.distance_m(position);
            let alike = normal.dot(Vec3::from(old.normal)) > 0.98
                && (old_distance - distance).abs() < ALIKE_M;
            let old_at = self.columns.found_at[slot][particle];
            if alike && !own && position.distance(old_at) <= position.distance(found_at) {
                // Or a particle at rest would sink, little by little, as they take turns.
                return;
            }
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
        self.columns.found_at[best.0][particle] = found_at;
    }

    /// What takes a particle off the planes that it touches.
    pub(super) fn lift(&self, particle: usize) -> Vec3 {
        let position = self.columns.position(particle);
        let touches = |plane: &CollisionPlane| plane.distance_m(position).abs() < CONTACT_M;
        let touched = self.planes(particle).filter(touches);
        touched.map(|plane| Vec3::from(plane.normal)).sum::<Vec3>() * LIFT_M
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
        let lift = self.lift(particle);
        // A particle that asks again soon need not ask far ahead.
        let far = horizon == LONGEST_LOOK_SECONDS;
        if far && lift != Vec3::ZERO && self.look_ahead(particle, lift.normalize(), cache, ray) {
            return;
        }
        let (met, end) = self.follow_chords(particle, lift, horizon, ray);
        let from = position + lift;
        let seen = met.as_ref().map_or(end, |met| Vec3::from(met.hit.point_m));
        let deep = |met: &Met| met.plane.distance_m(position) < -INSIDE_M;
        if met.as_ref().is_some_and(|met| !met.outside && deep(met)) {
            // Too deep inside: says nothing about where the particle goes.
            self.columns.known_until[particle] = self.clock + LONGEST_SLEEP_SECONDS;
            return;
        }
        let mut held = self.refute(particle, from, seen, ray);
        if met.is_none() && !held && far {
            // No ground far and wide: perhaps the particle is in it.
            if let Some((hit, plane)) = self.ask_upwards(particle, ray) {
                self.put_plane(particle, plane, Vec3::from(hit.point_m), hit.moving, true);
                held = true;
            }
        }
        let Some(met) = met.filter(|_| !held) else {
            self.columns.known_until[particle] =
                self.clock + if held { 0.0 } else { 0.5 * horizon };
            let sleep = LONGEST_SLEEP_SECONDS.min(0.5 * horizon);
            self.columns.wakes.set(particle, self.clock + sleep);
            return;
        };
        self.put_plane(particle, met.plane, Vec3::from(met.hit.point_m), met.hit.moving, true);
        self.columns.known_until[particle] = self.clock + met.seconds;
        // What was found for this particle is right until it bounces.
        let sleep = if met.hit.moving { MOVING_SECONDS } else { 1.25 * met.seconds + 0.1 };
        self.columns.wakes.set(particle, self.clock + sleep);
        if met.outside && !met.hit.moving {
            self.remember(particle, &met, cache);
        }
    }

    /// Asks what ground a particle that slides on a plane comes to, from above that plane;
    /// returns whether there is any. The way that a particle falls would find what lies
    /// beneath it, which it leaves soon.
    fn look_ahead(
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
        let rise = RISE_M * normal;
        let ahead = (AHEAD_SECONDS * velocity).clamp_length_max(FARTHEST_AHEAD_M);
        let (direction, length_m) = (2.0 * (ahead - rise)).normalize_and_length();
        let Some((hit, plane)) = self.ask(position + rise, direction, length_m, ray) else {
            return false;
        };
        let outside = Vec3::from(hit.normal).dot(direction) < 0.0;
        if !outside || plane.distance_m(position) < -INSIDE_M {
            return false;
        }
        let seconds = position.distance(Vec3::from(hit.point_m)) / speed;
        self.put_plane(particle, plane, Vec3::from(hit.point_m), hit.moving, true);
        self.columns.known_until[particle] = self.clock + seconds;
        let sleep = if hit.moving { MOVING_SECONDS } else { seconds.min(MOVING_SECONDS) };
        self.columns.wakes.set(particle, self.clock + sleep);
        if !hit.moving {
            self.remember(particle, &Met { hit, plane, seconds, outside }, cache);
        }
        true
    }

    /// Asks along the chords of the way ahead; returns what was met and where the way ends.
    fn follow_chords(
        &mut self,
        particle: usize,
        lift: Vec3,
        horizon: f32,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) -> (Option<Met>, Vec3) {
        let velocity = self.columns.velocity(particle);
        let start = self.columns.position(particle) + lift;
        let (mut from, mut begin, mut span) = (start, 0.0_f32, self.chord_seconds);
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

    /// Asks one ray. Non-finite hits are discarded.
    pub(super) fn ask(
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

    /// Drops planes that the way from `from` to `to` passed without meeting anything. Returns
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
                self.put_plane(particle, plane, Vec3::from(hit.point_m), hit.moving, true);
                held = true;
            }
        }
        held
    }

    /// Remembers what was met, for the cells along the way.
    pub(super) fn remember(&self, particle: usize, met: &Met, cache: &mut PlaneCache) {
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
        self.remember_around(met, self.heading(velocity + gravity * met.seconds), cache);
    }

    /// Remembers what was met for those who come down beside it, and for those who go into it
    /// from other directions.
    fn remember_around(&self, met: &Met, heading: Vec3, cache: &mut PlaneCache) {
        let found = CachedPlane { plane: met.plane, point_m: met.hit.point_m };
        let into = -Vec3::from(met.plane.normal);
        cache.insert_around(heading, found, BESIDE);
        if direction_of(into.into()) != direction_of(heading.into()) {
            cache.insert_around(into, found, BESIDE);
        }
    }
}
