//! Slow twins: one particle moved at a time, and a cache that is a map and a list.

use super::FAR_M;
use super::cache::{CachedPlane, Key};
use super::columns::Columns;
use super::plane::CollisionPlane;
use super::step::Step;
use glam::Vec3;
use std::collections::{HashMap, VecDeque};

/// One particle with all that belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Particle {
    pub position: Vec3,
    pub velocity: Vec3,
    pub planes: Vec<CollisionPlane>,
    pub end: Option<f32>,
    pub wake: Option<f32>,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Became {
    pub bounced: bool,
    pub awake: bool,
    pub dead: bool,
}

/// A particle of columns.
pub(super) fn particle(columns: &Columns, at: usize) -> Particle {
    let slots = columns.planes.len();
    Particle {
        position: columns.position(at),
        velocity: columns.velocity(at),
        planes: (0..slots).map(|slot| columns.plane(slot, at)).collect(),
        end: columns.ends.as_ref().map(|ends| ends.get(at)),
        wake: (slots > 0).then(|| columns.wakes.get(at)),
    }
}

/// Moves one particle.
pub(super) fn step(particle: &mut Particle, step: &Step) -> Became {
    let mut became = Became::default();
    particle.velocity = (particle.velocity + Vec3::from(step.pull)) * step.keep;
    particle.position += particle.velocity * step.seconds;
    let planes = match step.fixed {
        Some(plane) => vec![plane],
        None => particle.planes.clone(),
    };
    for _ in 0..planes.len() {
        for plane in &planes {
            became.bounced |= respond(particle, plane, step);
        }
    }
    let Vec3 { x, y, z } = particle.position;
    let near = x.abs() + y.abs() + z.abs() < FAR_M;
    became.dead = !near || y < step.kill_below || particle.end.is_some_and(|t| t < step.clock);
    became.awake = particle.wake.is_some_and(|t| t < step.clock);
    became
}

/// Takes a particle out of a plane; returns whether it bounced.
fn respond(particle: &mut Particle, plane: &CollisionPlane, step: &Step) -> bool {
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

/// A cache in the plainest form.
pub(super) struct Cache {
    pub capacity: usize,
    pub planes: HashMap<Key, CachedPlane>,
    /// In the order in which they were made; none for those that were forgotten.
    pub order: VecDeque<Option<Key>>,
}

impl Cache {
    pub fn put(&mut self, key: Key, found: CachedPlane) {
        if self.capacity == 0 || self.planes.insert(key, found).is_some() {
            return;
        }
        if self.order.len() == self.capacity
            && let Some(oldest) = self.order.pop_front().flatten()
        {
            self.planes.remove(&oldest);
        }
        self.order.push_back(Some(key));
    }

    pub fn forget(&mut self, gone: impl Fn(&Key, &CachedPlane) -> bool) {
        self.planes.retain(|key, found| !gone(key, found));
        for made in &mut self.order {
            *made = made.filter(|key| self.planes.contains_key(key));
        }
    }
}
