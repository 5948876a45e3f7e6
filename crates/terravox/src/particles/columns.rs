//! Particles as a structure of arrays, in blocks of eight.

use super::plane::CollisionPlane;
use glam::Vec3;

/// Particles that are moved at once.
pub(super) const LANES: usize = 8;

/// One number of every particle. The last block may be partly unused; what is there is any
/// number.
#[derive(Clone, Debug, Default)]
pub(super) struct Column(pub Vec<[f32; LANES]>);

impl Column {
    #[inline(always)]
    pub fn get(&self, at: usize) -> f32 {
        self.0[at / LANES][at % LANES]
    }

    pub fn set(&mut self, at: usize, value: f32) {
        self.0[at / LANES][at % LANES] = value;
    }

    /// Adds a number as that of particle `count`, the first that there is not yet.
    fn push(&mut self, count: usize, value: f32) {
        if count.is_multiple_of(LANES) {
            self.0.push([0.0; LANES]);
        }
        self.set(count, value);
    }

    /// Puts the number of the last particle in the place of another.
    fn move_last(&mut self, last: usize, to: usize) {
        self.set(to, self.get(last));
        self.0.truncate(last.div_ceil(LANES));
    }
}

fn vector([x, y, z]: &[Column; 3], at: usize) -> Vec3 {
    Vec3::new(x.get(at), y.get(at), z.get(at))
}

/// All that is known of particles. Columns that an effect does not use are absent.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub count: usize,
    /// World metres.
    pub position: [Column; 3],
    /// Metres a second.
    pub velocity: [Column; 3],
    /// Normals and offsets, slot by slot.
    pub planes: Vec<[Column; 4]>,
    /// When it dies, on the effect's clock.
    pub ends: Option<Column>,
    /// When it looks for a plane again, on the effect's clock; if there are planes.
    pub wakes: Column,
    /// Until when its own ray said where it goes, on the effect's clock; if there are planes.
    pub known_until: Vec<f32>,
    /// Bit per slot: its plane belongs to something that moves; if there are planes.
    pub moving: Vec<u8>,
    /// Where its planes were found, world metres, slot by slot.
    pub found_at: Vec<Vec<Vec3>>,
}

impl Columns {
    /// None, of the kind that has so many planes and may have an end.
    pub fn new(slots: usize, mortal: bool) -> Columns {
        let planes = (0..slots).map(|_| Default::default()).collect();
        let found_at = vec![Vec::new(); slots];
        Columns { planes, found_at, ends: mortal.then(Column::default), ..Columns::default() }
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
        let [x, y, z, offset] = &self.planes[slot];
        let normal = [x.get(at), y.get(at), z.get(at)];
        CollisionPlane { normal, offset_m: offset.get(at) }
    }

    pub fn set_plane(&mut self, slot: usize, at: usize, plane: CollisionPlane, moving: bool) {
        let [x, y, z] = plane.normal;
        for (column, value) in self.planes[slot].iter_mut().zip([x, y, z, plane.offset_m]) {
            column.set(at, value);
        }
        self.moving[at] = self.moving[at] & !(1 << slot) | u8::from(moving) << slot;
    }

    /// Adds a particle without planes, which ends at `end` if particles do.
    pub fn push(&mut self, position: Vec3, velocity: Vec3, end: f32) {
        let count = self.count;
        for (i, (place, speed)) in self.position.iter_mut().zip(&mut self.velocity).enumerate() {
            place.push(count, position[i]);
            speed.push(count, velocity[i]);
        }
        if let Some(ends) = &mut self.ends {
            ends.push(count, end);
        }
        let CollisionPlane { normal: [x, y, z], offset_m } = CollisionPlane::NONE;
        for slot in &mut self.planes {
            for (column, value) in slot.iter_mut().zip([x, y, z, offset_m]) {
                column.push(count, value);
            }
        }
        if !self.planes.is_empty() {
            self.wakes.push(count, f32::INFINITY);
            self.known_until.push(f32::NEG_INFINITY);
            self.moving.push(0);
            self.found_at.iter_mut().for_each(|places| places.push(Vec3::ZERO));
        }
        self.count += 1;
    }

    /// Removes a particle; the last one takes its place.
    pub fn remove(&mut self, at: usize) {
        self.count -= 1;
        let last = self.count;
        let columns = self.position.iter_mut().chain(&mut self.velocity).chain(&mut self.ends);
        let planes = self.planes.iter_mut().flatten();
        columns.chain(planes).for_each(|column| column.move_last(last, at));
        if !self.planes.is_empty() {
            self.wakes.move_last(last, at);
            self.known_until.swap_remove(at);
            self.moving.swap_remove(at);
            for places in &mut self.found_at {
                places.swap_remove(at);
            }
        }
    }

    /// Turns the clock back by so many seconds.
    pub fn rewind(&mut self, seconds: f32) {
        let columns = self.ends.iter_mut().chain([&mut self.wakes]);
        for value in columns.flat_map(|column| column.0.as_flattened_mut()) {
            *value -= seconds;
        }
        self.known_until.iter_mut().for_each(|value| *value -= seconds);
    }
}
