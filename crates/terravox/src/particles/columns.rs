//! Particles as a structure of arrays, in blocks of eight.

use super::cache::prefetch;
use super::plane::CollisionPlane;
use glam::Vec3;

/// Particles per block.
pub(super) const LANES: usize = 8;

/// One value per particle. Unused lanes of the last block hold arbitrary values.
#[derive(Clone, Debug, Default)]
pub(super) struct ParticleColumn(pub Vec<[f32; LANES]>);

impl ParticleColumn {
    #[inline(always)]
    pub fn get(&self, at: usize) -> f32 {
        self.0[at / LANES][at % LANES]
    }

    pub fn set(&mut self, at: usize, value: f32) {
        self.0[at / LANES][at % LANES] = value;
    }

    /// Appends a value to the first `count`.
    fn push(&mut self, count: usize, value: f32) {
        if count.is_multiple_of(LANES) {
            self.0.push([0.0; LANES]);
        }
        self.set(count, value);
    }

    /// Replaces a value by the last one, which is removed.
    fn move_last(&mut self, last: usize, to: usize) {
        self.set(to, self.get(last));
        self.0.truncate(last.div_ceil(LANES));
    }
}

fn vector([x, y, z]: &[ParticleColumn; 3], at: usize) -> Vec3 {
    Vec3::new(x.get(at), y.get(at), z.get(at))
}

/// The state of all particles. ParticleColumns that an effect does not use are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct ParticleColumns {
    pub count: usize,
    /// In world metres.
    pub position: [ParticleColumn; 3],
    /// In metres per second.
    pub velocity: [ParticleColumn; 3],
    /// By slot: the [factors](CollisionPlane::factors) of planes.
    pub planes: Vec<[ParticleColumn; 4]>,
    /// When the particle dies, on the effect's clock.
    pub ends: Option<ParticleColumn>,
    /// When the particle looks up a plane again, on the effect's clock. Empty without planes, as
    /// are the columns below.
    pub look_up_times: ParticleColumn,
    /// Until when the particle's own ray covers its path, on the effect's clock.
    pub known_until: Vec<f32>,
    /// A bit per slot: whether its plane belongs to something that moves.
    pub moving: Vec<u8>,
    /// By slot: where the plane was found, in world metres.
    pub plane_points: Vec<Vec<Vec3>>,
}

impl ParticleColumns {
    /// Creates columns for particles with this many planes, with or without a limited lifetime.
    pub fn new(slots: usize, has_lifetime: bool) -> ParticleColumns {
        let planes = (0..slots).map(|_| Default::default()).collect();
        let plane_points = vec![Vec::new(); slots];
        ParticleColumns {
            planes,
            plane_points,
            ends: has_lifetime.then(ParticleColumn::default),
            ..ParticleColumns::default()
        }
    }

    pub fn position(&self, at: usize) -> Vec3 {
        vector(&self.position, at)
    }

    pub fn set_position(&mut self, at: usize, position: Vec3) {
        for (i, column) in self.position.iter_mut().enumerate() {
            column.set(at, position[i]);
        }
    }

    pub fn velocity(&self, at: usize) -> Vec3 {
        vector(&self.velocity, at)
    }

    pub fn plane(&self, slot: usize, at: usize) -> CollisionPlane {
        CollisionPlane::from_factors(self.planes[slot].each_ref().map(|column| column.get(at)))
    }

    pub fn set_plane(&mut self, slot: usize, at: usize, plane: CollisionPlane, moving: bool) {
        for (column, value) in self.planes[slot].iter_mut().zip(plane.factors()) {
            column.set(at, value);
        }
        self.moving[at] = self.moving[at] & !(1 << slot) | u8::from(moving) << slot;
    }

    pub fn clear_plane(&mut self, slot: usize, at: usize) {
        self.set_plane(slot, at, CollisionPlane::NONE, false);
    }

    /// Prefetches the paths of `count` particles from `at`.
    pub fn prefetch_run(&self, at: usize, count: usize) {
        let last = at + count - 1;
        let columns = self.position.iter().chain(&self.velocity);
        for column in columns.chain(self.planes.iter().flatten()) {
            prefetch(&column.0, at / LANES);
            prefetch(&column.0, last / LANES);
        }
        prefetch(&self.known_until, at);
        for points in &self.plane_points {
            prefetch(points, at);
            prefetch(points, last);
        }
    }

    /// Adds a particle without planes. `end` is when it dies, if lifetimes are limited.
    pub fn push(&mut self, position: Vec3, velocity: Vec3, end: f32) {
        let count = self.count;
        for (i, (coordinate, speed)) in self.position.iter_mut().zip(&mut self.velocity).enumerate()
        {
            coordinate.push(count, position[i]);
            speed.push(count, velocity[i]);
        }
        if let Some(ends) = &mut self.ends {
            ends.push(count, end);
        }
        for slot in &mut self.planes {
            for (column, value) in slot.iter_mut().zip(CollisionPlane::NONE.factors()) {
                column.push(count, value);
            }
        }
        if !self.planes.is_empty() {
            self.look_up_times.push(count, f32::INFINITY);
            self.known_until.push(f32::NEG_INFINITY);
            self.moving.push(0);
            self.plane_points.iter_mut().for_each(|points| points.push(Vec3::ZERO));
        }
        self.count += 1;
    }

    /// Removes a particle; the last one takes its index.
    pub fn remove(&mut self, at: usize) {
        self.count -= 1;
        let last = self.count;
        let columns = self.position.iter_mut().chain(&mut self.velocity).chain(&mut self.ends);
        let planes = self.planes.iter_mut().flatten();
        columns.chain(planes).for_each(|column| column.move_last(last, at));
        if !self.planes.is_empty() {
            self.look_up_times.move_last(last, at);
            self.known_until.swap_remove(at);
            self.moving.swap_remove(at);
            for points in &mut self.plane_points {
                points.swap_remove(at);
            }
        }
    }

    /// Sets the clock back by `seconds`.
    pub fn rewind(&mut self, seconds: f32) {
        let columns = self.ends.iter_mut().chain([&mut self.look_up_times]);
        for value in columns.flat_map(|column| column.0.as_flattened_mut()) {
            *value -= seconds;
        }
        self.known_until.iter_mut().for_each(|value| *value -= seconds);
    }
}
