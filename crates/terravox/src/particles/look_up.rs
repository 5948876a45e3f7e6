//! Planes for particles from the cache of what other particles' rays hit, for many particles at
//! once.

use super::cache::{CachedPlane, PlaneCache, direction_of, prefetch};
use super::effect::Effect;
use super::plane::CollisionPlane;
use glam::Vec3;

/// Planes that a particle is farther inside than this are ignored: they lie behind it. In metres.
pub(super) const INSIDE_M: f32 = 0.25;

/// Planes of similar normals whose distances differ by less than this are the same. In metres.
const SAME_PLANE_M: f32 = 0.1;

/// A plane that was found this near to where the particle hits it is accurate. In metres.
const ACCURATE_M: f32 = 1.0;

/// A particle with a plane looks up again after travelling this many cells, at the earliest.
const LOOK_UP_CELLS: f32 = 2.0;

/// The same for particles with several planes, which may rest in corners.
const CORNER_LOOK_UP_CELLS: f32 = 0.25;

/// Delay before a particle without a plane looks up again. In seconds.
const NO_PLANE_RETRY_SECONDS: f32 = 0.15;

/// The longest delay between two look-ups. In seconds.
pub(super) const MAX_LOOK_UP_SECONDS: f32 = 1.0;

/// Particles that are looked up together.
const BATCH: usize = 32;

/// A particle that needs a plane.
#[derive(Clone, Copy, Default)]
struct PlaneQuery {
    particle: usize,
    /// World metres.
    position: Vec3,
    /// Displacement over the first chord, in metres.
    heading: Vec3,
    /// Cache direction of `heading`.
    direction: Option<u8>,
    first: PlaneDistance,
}

/// How far ahead a particle hits the first of its planes; both infinite if it hits none.
#[derive(Clone, Copy, Default)]
pub(super) struct PlaneDistance {
    /// As a fraction of the heading.
    pub fraction: f32,
    /// Metres between the hit and the point where the plane was found.
    pub error_m: f32,
}

/// A plane for a particle.
#[derive(Clone, Copy)]
pub(super) struct FoundPlane {
    pub plane: CollisionPlane,
    /// Where a ray hit it, world metres.
    pub point: Vec3,
    pub is_moving: bool,
    /// Whether the particle's own ray found it.
    pub is_own: bool,
}

impl Effect {
    /// Returns a particle's displacement over the first chord, in metres.
    pub(super) fn heading(&self, velocity: Vec3) -> Vec3 {
        self.travel(velocity, self.chord_seconds)
    }

    /// Returns a particle's displacement after `seconds` of free fall, in metres.
    pub(super) fn travel(&self, velocity: Vec3, seconds: f32) -> Vec3 {
        velocity * seconds + Vec3::from(self.options.gravity) * (0.5 * seconds * seconds)
    }

    /// Looks up planes for all of `lookers`, in batches: the memory of a batch is prefetched first,
    /// since the cache is accessed at random.
    pub(super) fn look_up_all(&mut self, cache: &PlaneCache) {
        let lookers = std::mem::take(&mut self.lookers);
        let (mut queries, mut homes) = ([PlaneQuery::default(); BATCH], [[0; 2]; BATCH]);
        for batch in lookers.chunks(BATCH) {
            for &particle in batch {
                cache.prefetch_known(self.columns.position(particle));
                prefetch(&self.columns.plane_points[0], particle);
            }
            let mut count = 0;
            for &particle in batch {
                if self.columns.moving[particle] != 0 {
                    continue;
                }
                let is_known = cache.may_know(self.columns.position(particle));
                // Most particles of a burst that has not hit anything yet.
                if !is_known && self.planes(particle).next().is_none() {
                    let retry = self.clock + NO_PLANE_RETRY_SECONDS;
                    self.columns.look_up_times.set(particle, retry);
                    continue;
                }
                let query = self.query(particle);
                if !is_known {
                    self.schedule_look_up(&query, cache.options().cell_m);
                    continue;
                }
                homes[count] = cache.prefetch_slots(query.position, query.direction);
                queries[count] = query;
                count += 1;
            }
            homes[..count].iter().for_each(|homes| cache.prefetch_entries(homes));
            queries[..count].iter().for_each(|query| self.run_query(*query, cache));
        }
        self.lookers = lookers;
    }

    /// Takes the cached plane for a particle, if it is better than its own.
    pub(super) fn look_up(&mut self, particle: usize, cache: &PlaneCache) {
        self.run_query(self.query(particle), cache);
    }

    fn run_query(&mut self, mut query: PlaneQuery, cache: &PlaneCache) {
        if self.columns.moving[query.particle] != 0 {
            return;
        }
        // A particle in a corner needs the planes of other directions, too.
        if self.columns.planes.len() > 1 {
            for direction in 0..6 {
                let cached = cache.get_at(query.position, Some(direction), 0);
                self.take_if_better(&mut query, cached);
            }
        }
        let direction = query.direction;
        self.look_up_towards(&mut query, direction, cache);
        let down = direction_of(self.options.gravity);
        if down != direction && query.first.error_m > ACCURATE_M {
            self.look_up_towards(&mut query, down, cache);
        }
        self.schedule_look_up(&query, cache.options().cell_m);
    }

    fn query(&self, particle: usize) -> PlaneQuery {
        let position = self.columns.position(particle);
        let heading = self.heading(self.columns.velocity(particle));
        let direction = direction_of(heading.into());
        let first = self.first_plane(particle, position, heading);
        PlaneQuery { particle, position, heading, direction, first }
    }

    /// Takes the plane cached for one direction: that of the fine cell, else of the coarse cell. An
    /// empty coarse cell means that the fine one is empty, too.
    fn look_up_towards(
        &mut self,
        query: &mut PlaneQuery,
        direction: Option<u8>,
        cache: &PlaneCache,
    ) {
        let mut coarse = None;
        if query.first.error_m > ACCURATE_M {
            coarse = cache.get_at(query.position, direction, 1);
            if coarse.is_none() {
                self.stats.look_ups += 1;
                return;
            }
        }
        let fine = cache.get_at(query.position, direction, 0);
        self.take_if_better(query, fine);
        if query.first.error_m > ACCURATE_M {
            self.take_if_better(query, coarse);
        }
    }

    fn take_if_better(&mut self, query: &mut PlaneQuery, cached: Option<CachedPlane>) {
        self.stats.look_ups += 1;
        if let Some(cached) = cached.filter(|cached| self.is_better(query, cached)) {
            let CachedPlane { plane, point_m } = cached;
            let point = Vec3::from(point_m);
            let found = FoundPlane { plane, point, is_moving: false, is_own: false };
            self.put_plane(query.particle, found);
            query.first = self.first_plane(query.particle, query.position, query.heading);
            self.stats.taken += 1;
        }
    }

    /// Whether a cached plane is better than those of the particle: it was found nearer to where
    /// the particle would hit it, or the particle hits it earlier and near where it was found.
    fn is_better(&self, query: &PlaneQuery, cached: &CachedPlane) -> bool {
        let fraction = cached.plane.fraction_before(query.position, query.heading);
        if !fraction.is_finite() || cached.plane.distance_m(query.position) < -INSIDE_M {
            return false;
        }
        let hit = query.position + fraction * query.heading;
        let error_m = hit.distance(Vec3::from(cached.point_m));
        // With several slots, no important plane is lost.
        let is_close = self.columns.planes.len() > 1
            && Vec3::from(cached.point_m).distance_squared(query.position)
                < ACCURATE_M * ACCURATE_M;
        is_close
            || error_m < query.first.error_m
            || error_m < ACCURATE_M && fraction < query.first.fraction
    }

    /// Returns how far ahead a particle hits the first of its planes.
    pub(super) fn first_plane(
        &self,
        particle: usize,
        position: Vec3,
        heading: Vec3,
    ) -> PlaneDistance {
        let (mut least, mut slot) = (f32::INFINITY, 0);
        for other in 0..self.columns.planes.len() {
            let fraction = self.columns.plane(other, particle).fraction_before(position, heading);
            if fraction < least {
                (least, slot) = (fraction, other);
            }
        }
        if least == f32::INFINITY {
            return PlaneDistance { fraction: least, error_m: least };
        }
        let hit = position + least * heading;
        let error_m = hit.distance(self.columns.plane_points[slot][particle]);
        PlaneDistance { fraction: least, error_m }
    }

    /// Schedules the next look-up: soon without a plane, else half-way to it, where more is known
    /// about it.
    fn schedule_look_up(&mut self, query: &PlaneQuery, cell_m: f32) {
        let mut seconds = NO_PLANE_RETRY_SECONDS;
        if query.first.fraction.is_finite() {
            let has_several = self.columns.planes.len() > 1;
            let cells = if has_several { CORNER_LOOK_UP_CELLS } else { LOOK_UP_CELLS };
            let cell_seconds = cell_m / self.columns.velocity(query.particle).length();
            let half_way = 0.5 * query.first.fraction * self.chord_seconds;
            seconds = half_way.max(cells * cell_seconds);
        }
        let time = self.clock + seconds.min(MAX_LOOK_UP_SECONDS);
        self.columns.look_up_times.set(query.particle, time);
    }

    /// Drops a particle's planes of moving things.
    pub(super) fn drop_moving(&mut self, particle: usize) {
        if self.columns.moving[particle] == 0 {
            return;
        }
        for slot in 0..self.columns.planes.len() {
            if self.columns.moving[particle] >> slot & 1 == 1 {
                self.columns.clear_plane(slot, particle);
            }
        }
    }

    /// Gives a particle a plane. It replaces a similar one, else fills an empty slot, else replaces
    /// the plane that the particle is farthest from.
    pub(super) fn put_plane(&mut self, particle: usize, found: FoundPlane) {
        let position = self.columns.position(particle);
        let normal = Vec3::from(found.plane.normal);
        let distance = found.plane.distance_m(position);
        let mut best = (0, f32::NEG_INFINITY);
        for slot in 0..self.columns.planes.len() {
            let old = self.columns.plane(slot, particle);
            let old_distance = old.distance_m(position);
            let is_similar = normal.dot(Vec3::from(old.normal)) > 0.98
                && (old_distance - distance).abs() < SAME_PLANE_M;
            let old_point = self.columns.plane_points[slot][particle];
            if is_similar
                && !found.is_own
                && position.distance(old_point) <= position.distance(found.point)
            {
                // Otherwise the two would alternate, and a particle at rest would slowly sink.
                return;
            }
            let score = match (is_similar, old.is_none()) {
                (true, _) => f32::INFINITY,
                (_, true) => f32::MAX,
                _ => old_distance.abs(),
            };
            if score > best.1 {
                best = (slot, score);
            }
        }
        self.columns.set_plane(best.0, particle, found.plane, found.is_moving);
        self.columns.plane_points[best.0][particle] = found.point;
    }
}
