//! Slow twins: particles moved one at a time, and a cache made of a map and a list.

use super::FAR_M;
use super::cache::{CacheKey, CachedPlane};
use super::columns::ParticleColumns;
use super::plane::CollisionPlane;
use super::step::StepParams;
use glam::Vec3;
use std::collections::{HashMap, VecDeque};

/// A particle.
#[derive(Clone, Debug)]
pub(super) struct NaiveParticle {
    pub position: Vec3,
    pub velocity: Vec3,
    pub planes: Vec<CollisionPlane>,
    pub end: Option<f32>,
    pub look_up_time: Option<f32>,
}

/// What happened to a particle in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StepResult {
    pub bounced: bool,
    pub awake: bool,
    pub dead: bool,
}

/// Copies a particle from columns.
pub(super) fn particle(columns: &ParticleColumns, at: usize) -> NaiveParticle {
    let slots = columns.planes.len();
    NaiveParticle {
        position: columns.position(at),
        velocity: columns.velocity(at),
        planes: (0..slots).map(|slot| columns.plane(slot, at)).collect(),
        end: columns.ends.as_ref().map(|ends| ends.get(at)),
        look_up_time: (slots > 0).then(|| columns.look_up_times.get(at)),
    }
}

/// Moves one particle.
pub(super) fn step(particle: &mut NaiveParticle, step: &StepParams) -> StepResult {
    let mut result = StepResult::default();
    particle.velocity = (particle.velocity + Vec3::from(step.gravity_speed)) * step.speed_kept;
    particle.position += particle.velocity * step.seconds;
    let planes = match step.fixed {
        Some(plane) => vec![plane],
        None => particle.planes.clone(),
    };
    for _ in 0..planes.len() {
        for plane in &planes {
            result.bounced |= respond(particle, plane, step);
        }
    }
    let Vec3 { x, y, z } = particle.position;
    let near = x.abs() + y.abs() + z.abs() < FAR_M;
    result.dead = !near || y < step.kill_below || particle.end.is_some_and(|t| t < step.clock);
    result.awake = particle.look_up_time.is_some_and(|t| t < step.clock);
    result
}

/// Moves a particle out of a plane. Returns whether it bounced.
fn respond(particle: &mut NaiveParticle, plane: &CollisionPlane, step: &StepParams) -> bool {
    let normal = Vec3::from(plane.normal);
    let distance = plane.distance_m(particle.position);
    if distance.is_nan() || distance >= 0.0 {
        return false;
    }
    particle.position -= normal * distance;
    let along = normal.dot(particle.velocity);
    if along.is_nan() || along >= 0.0 {
        return false;
    }
    let impact = -along;
    let lively = impact > step.rest_speed;
    let turned = if lively { step.restitution * impact } else { 0.0 };
    let slide = particle.velocity - normal * along;
    let speed = slide.length();
    let lost = step.friction * (impact + turned);
    let kept = if speed > 0.0 && lost < speed { 1.0 - lost / speed } else { 0.0 };
    particle.velocity = slide * kept + normal * turned;
    lively
}

/// The slow twin of the cache.
pub(super) struct NaiveCache {
    pub capacity: usize,
    pub planes: HashMap<CacheKey, CachedPlane>,
    /// Keys by age, the oldest first; `None` for invalidated entries.
    pub order: VecDeque<Option<CacheKey>>,
}

impl NaiveCache {
    pub fn put(&mut self, key: CacheKey, cached: CachedPlane) {
        if self.capacity == 0 || self.planes.insert(key, cached).is_some() {
            return;
        }
        if self.order.len() == self.capacity
            && let Some(oldest) = self.order.pop_front().flatten()
        {
            self.planes.remove(&oldest);
        }
        self.order.push_back(Some(key));
    }

    pub fn invalidate(&mut self, is_stale: impl Fn(&CacheKey, &CachedPlane) -> bool) {
        self.planes.retain(|key, cached| !is_stale(key, cached));
        for made in &mut self.order {
            *made = made.filter(|key| self.planes.contains_key(key));
        }
    }
}
