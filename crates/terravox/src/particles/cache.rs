//! What rays found, shared by all particles of a world: (cell, direction) → plane.
//!
//! A cell is 0.5 × 2 × 0.5 m; a direction is the one of ±X, ±Y, ±Z that it follows most. What
//! is found is kept for a cell four times as large as well, for particles that know nothing
//! better: most of a burst, where nobody has flown before. The
//! cache has a bound in bytes; when it is full, the entry that was written longest ago goes.
//! Entries lie in one array, chained by age; a table of their numbers finds them (linear
//! probing, deletion by moving back).
//!
//! Source: Frykholm, "Hack Day Report" (2012). Cells floor, where the published code
//! truncates, which makes cells at 0 twice as large.

use super::plane::CollisionPlane;
use glam::Vec3;

/// How a [`PlaneCache`] is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneCacheOptions {
    /// Bytes that it may use.
    pub max_bytes: usize,
    /// Edge of cells on X and Z, metres. Positive and finite.
    pub cell_m: f32,
    /// Height of cells, metres. Positive and finite.
    pub cell_height_m: f32,
}

impl Default for PlaneCacheOptions {
    /// 8 MiB; cells of 0.5 × 2 × 0.5 m.
    fn default() -> PlaneCacheOptions {
        PlaneCacheOptions { max_bytes: 8 << 20, cell_m: 0.5, cell_height_m: 2.0 }
    }
}

/// A plane and where it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachedPlane {
    /// The plane.
    pub plane: CollisionPlane,
    /// Where the ray met it, world metres.
    pub point_m: [f32; 3],
}

/// Cell and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub cell: [i32; 3],
    pub direction: u8,
    /// Cells are larger by [`COARSER`] to the power of this.
    pub level: u8,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    found: CachedPlane,
    /// Numbers of the entries that were written before and after; of free ones, `older` is
    /// the next free one.
    older: u32,
    newer: u32,
}

/// How much larger coarse cells are, on every axis.
const COARSER: f32 = 4.0;

/// A place of the table: an entry's number and the hash of its key, so that another entry is
/// hardly ever looked at.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: u32,
    hash: u32,
}

/// A place that names none.
const EMPTY: Place = Place { number: NONE, hash: 0 };

/// No entry.
const NONE: u32 = u32::MAX;

/// The most bytes of the table for each entry: at most four places.
const TABLE_BYTES: usize = 4 * size_of::<Place>();

/// The planes that rays found in a world.
#[derive(Clone, Debug)]
pub struct PlaneCache {
    options: PlaneCacheOptions,
    capacity: usize,
    entries: Vec<Entry>,
    table: Vec<Place>,
    oldest: u32,
    newest: u32,
    free: u32,
    len: usize,
}

/// Which of ±X, ±Y, ±Z a direction follows most; `None` for what is none.
pub(super) fn direction_of(direction: [f32; 3]) -> Option<u8> {
    let magnitude = direction.map(f32::abs);
    let axis = match magnitude {
        [x, y, z] if x >= y && x >= z => 0,
        [_, y, z] if y >= z => 1,
        _ => 2,
    };
    (magnitude[axis] > 0.0).then(|| 2 * axis as u8 + u8::from(direction[axis] < 0.0))
}

impl Default for PlaneCache {
    fn default() -> PlaneCache {
        PlaneCache::new(PlaneCacheOptions::default())
    }
}

impl PlaneCache {
    /// An empty cache. One of too few bytes for an entry stays empty.
    ///
    /// # Panics
    /// If the cells are not positive and finite.
    pub fn new(options: PlaneCacheOptions) -> PlaneCache {
        for size in [options.cell_m, options.cell_height_m] {
            assert!(size > 0.0 && size.is_finite(), "cells of {size} metres");
        }
        let capacity = options.max_bytes / (size_of::<Entry>() + TABLE_BYTES);
        PlaneCache {
            options,
            // Numbers of entries have 31 bits, so that the table's size has 32.
            capacity: capacity.min(1 << 30),
            entries: Vec::new(),
            table: Vec::new(),
            oldest: NONE,
            newest: NONE,
            free: NONE,
            len: 0,
        }
    }

    /// Its options.
    pub fn options(&self) -> PlaneCacheOptions {
        self.options
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The most entries that it can have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.table.capacity() * size_of::<Place>()
    }

    /// What was found from about this place, world metres, in about this direction.
    pub fn look_up(
        &self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
    ) -> Option<CachedPlane> {
        self.get(&self.key(position_m.into(), direction.into(), 0)?)
    }

    /// As [`PlaneCache::look_up`], from cells four times as large: about right, for those who
    /// know nothing else.
    pub fn look_up_coarsely(
        &self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
    ) -> Option<CachedPlane> {
        self.get(&self.key(position_m.into(), direction.into(), 1)?)
    }

    /// Remembers what was found from a place, world metres, in a direction of any length,
    /// unless what is known there was found nearer by. What is no number is not remembered.
    pub fn insert(
        &mut self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        found: CachedPlane,
    ) {
        let (position, direction) = (position_m.into(), direction.into());
        let valid = found.plane.is_valid() && Vec3::from(found.point_m).is_finite();
        for level in 0..2 {
            if let Some(key) = self.key(position, direction, level).filter(|_| valid) {
                self.put_nearer(key, found);
            }
        }
    }

    /// Keeps the one that was found nearer to the cell; of two in it, the newer.
    fn put_nearer(&mut self, key: Key, found: CachedPlane) {
        let off = |found: &CachedPlane| self.off_cell(&key, found.point_m);
        if self.get(&key).is_none_or(|old| off(&found) <= off(&old)) {
            self.put(key, found);
        }
    }

    /// Square of the metres from a point to a cell.
    fn off_cell(&self, key: &Key, point_m: [f32; 3]) -> f32 {
        let beyond = |i: usize| {
            let size = self.size(i, key.level);
            let low = key.cell[i] as f32 * size;
            (low - point_m[i]).max(point_m[i] - low - size).max(0.0)
        };
        (0..3).map(|i| beyond(i) * beyond(i)).sum()
    }

    /// Forgets what a change in a box, world metres, may have made wrong: every plane whose
    /// cell, or the way from there to the plane, touches it.
    pub fn forget(&mut self, min_m: impl Into<[f32; 3]>, max_m: impl Into<[f32; 3]>) {
        let (min, max) = (min_m.into(), max_m.into());
        let mut number = self.oldest;
        while number != NONE {
            let Entry { key, found, newer, .. } = self.entries[number as usize];
            let apart = (0..3).any(|i| {
                let size = self.size(i, key.level);
                let low = key.cell[i] as f32 * size;
                let high = low + size;
                low.min(found.point_m[i]) > max[i] || high.max(found.point_m[i]) < min[i]
            });
            if !apart {
                self.remove(number);
            }
            number = newer;
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.table.fill(EMPTY);
        (self.oldest, self.newest, self.free, self.len) = (NONE, NONE, NONE, 0);
    }

    /// Edge of a cell along an axis, metres.
    fn size(&self, axis: usize, level: u8) -> f32 {
        let size = if axis == 1 { self.options.cell_height_m } else { self.options.cell_m };
        if level == 0 { size } else { size * COARSER }
    }

    /// None for what has no place or no direction.
    pub(super) fn key(&self, position: [f32; 3], direction: [f32; 3], level: u8) -> Option<Key> {
        let direction = direction_of(direction)?;
        let valid = (0..3).all(|i| position[i].is_finite());
        valid.then(|| Key {
            // The casts saturate.
            cell: [0, 1, 2].map(|i| (position[i] / self.size(i, level)).floor() as i32),
            direction,
            level,
        })
    }

    pub(super) fn get(&self, key: &Key) -> Option<CachedPlane> {
        let place = self.place(key)?;
        Some(self.entries[self.table[place].number as usize].found)
    }

    pub(super) fn put(&mut self, key: Key, found: CachedPlane) {
        if self.capacity == 0 {
            return;
        }
        if let Some(place) = self.place(&key) {
            let number = self.table[place].number;
            self.entries[number as usize].found = found;
            if number != self.newest {
                self.unchain(number);
                self.chain(number);
            }
            return;
        }
        if self.len == self.capacity {
            self.remove(self.oldest);
        }
        let number = self.take_free(Entry { key, found, older: NONE, newer: NONE });
        self.chain(number);
        self.len += 1;
        let (hash, mask) = (hash(&key), self.table.len() - 1);
        let mut place = hash as usize & mask;
        while self.table[place].number != NONE {
            place = (place + 1) & mask;
        }
        self.table[place] = Place { number, hash };
    }

    /// A number for an entry, and room in the table.
    fn take_free(&mut self, entry: Entry) -> u32 {
        if self.table.is_empty() {
            self.table = vec![EMPTY; (2 * self.capacity).next_power_of_two()];
            self.entries.reserve_exact(self.capacity);
        }
        if self.free == NONE {
            self.entries.push(entry);
            return self.entries.len() as u32 - 1;
        }
        let number = self.free;
        self.free = self.entries[number as usize].older;
        self.entries[number as usize] = entry;
        number
    }

    /// Where the table names the entry of a key.
    fn place(&self, key: &Key) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let (hash, mask) = (hash(key), self.table.len() - 1);
        let mut place = hash as usize & mask;
        while self.table[place].number != NONE {
            let named = self.table[place];
            if named.hash == hash && self.entries[named.number as usize].key == *key {
                return Some(place);
            }
            place = (place + 1) & mask;
        }
        None
    }

    fn remove(&mut self, number: u32) {
        let key = self.entries[number as usize].key;
        let Some(mut hole) = self.place(&key) else { unreachable!("entries are in the table") };
        let mask = self.table.len() - 1;
        let mut place = hole;
        loop {
            place = (place + 1) & mask;
            let other = self.table[place];
            if other.number == NONE {
                break;
            }
            // It may move back unless its home lies behind the hole.
            let home = other.hash as usize;
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.table[hole] = other;
                hole = place;
            }
        }
        self.table[hole] = EMPTY;
        self.unchain(number);
        self.entries[number as usize].older = self.free;
        self.free = number;
        self.len -= 1;
    }

    fn unchain(&mut self, number: u32) {
        let Entry { older, newer, .. } = self.entries[number as usize];
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
    }

    /// Makes it the newest.
    fn chain(&mut self, number: u32) {
        let entry = &mut self.entries[number as usize];
        (entry.older, entry.newer) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = number,
            newest => self.entries[newest as usize].newer = number,
        }
        self.newest = number;
    }
}

fn hash(key: &Key) -> u32 {
    let [x, y, z] = key.cell.map(|v| u64::from(v as u32));
    let mut hash = (x | y << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 29) ^ z ^ u64::from(key.direction | key.level << 3) << 40)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (hash >> 32) as u32
}
