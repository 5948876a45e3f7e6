//! What rays found, shared by all particles of a world: (cell, direction) → plane.
//!
//! A cell is 0.5 × 2 × 0.5 m; a direction is the one of ±X, ±Y, ±Z that it follows most. What is
//! found is kept for a cell four times as large as well, for particles that know nothing better:
//! most of a burst, where nobody has flown before. The cache has a bound in bytes; when it is full,
//! the entry that was made longest ago goes. Entries lie in one array, which is written round and
//! round; a table of their numbers finds them (linear probing, deletion by moving back). Most
//! particles that look are where nothing is known; a small table that counts the entries of coarse
//! cells says so, and the rest is not read.
//!
//! Source: Frykholm, "Hack Day Report" (2012). Cells floor, where the published code truncates,
//! which makes cells at 0 twice as large.

use super::plane::CollisionPlane;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(super) use super::simd::prefetch;
use glam::Vec3;

/// How a [`PlaneCache`] is made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
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

impl CachedPlane {
    fn is_valid(&self) -> bool {
        self.plane.is_valid() && Vec3::from(self.point_m).is_finite()
    }
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
    /// [`FORGOTTEN`] if there is none.
    key: Key,
    found: CachedPlane,
}

/// The key of an entry that was forgotten.
const FORGOTTEN: Key = Key { cell: [0; 3], direction: u8::MAX, level: u8::MAX };

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

/// Entries ahead of eviction that are prefetched.
const PREFETCH_DISTANCE: usize = 8;

/// The most bytes of the tables for each entry: four places and a count.
const TABLE_BYTES: usize = 4 * size_of::<Place>() + size_of::<u32>();

/// The planes that rays found in a world.
#[derive(Clone, Debug)]
pub struct PlaneCache {
    options: PlaneCacheOptions,
    capacity: usize,
    /// Cells a metre across and up, by level.
    per_m: [[f32; 2]; 2],
    /// Number of coarse entries, by hash of the cell.
    known: Vec<u32>,
    entries: Vec<Entry>,
    table: Vec<Place>,
    /// Where the next entry goes.
    next: usize,
    len: usize,
}

/// Says that an item will be read soon.
#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
pub(super) fn prefetch<T>(_: &[T], _: usize) {}

/// Which of ±X, ±Y, ±Z a direction follows most; `None` for what is none.
pub(super) fn direction_of(direction: [f32; 3]) -> Option<u8> {
    let [x, y, z] = direction.map(f32::abs);
    // Selections, since branches would be unpredictable.
    let (yz, yz_axis) = if y >= z { (y, 1) } else { (z, 2) };
    let (most, axis) = if x >= y && x >= z { (x, 0) } else { (yz, yz_axis) };
    let [x, y, z] = direction.map(|v| u8::from(v < 0.0));
    (most > 0.0).then_some(2 * axis + ((x | y << 1 | z << 2) >> axis & 1))
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
        let [wide, high] = [options.cell_m, options.cell_height_m].map(f32::recip);
        PlaneCache {
            options,
            per_m: [[wide, high], [wide / COARSER, high / COARSER]],
            known: Vec::new(),
            // Numbers of entries have 31 bits, so that the table's size has 32.
            capacity: capacity.min(1 << 30),
            entries: Vec::new(),
            table: Vec::new(),
            next: 0,
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
        self.entries.capacity() * size_of::<Entry>()
            + self.table.capacity() * size_of::<Place>()
            + self.known.capacity() * size_of::<u32>()
    }

    /// What was found from about this place, world metres, in about this direction.
    pub fn look_up(
        &self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
    ) -> Option<CachedPlane> {
        self.get_at(position_m.into().into(), direction_of(direction.into()), 0)
    }

    /// As [`PlaneCache::look_up`], from cells four times as large: about right, for those who
    /// know nothing else.
    pub fn look_up_coarsely(
        &self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
    ) -> Option<CachedPlane> {
        self.get_at(position_m.into().into(), direction_of(direction.into()), 1)
    }

    /// Remembers what was found from a place, world metres, in a direction of any length,
    /// unless what is known there was found nearer by. Non-finite hits are not remembered.
    pub fn insert(
        &mut self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        found: CachedPlane,
    ) {
        let (position, direction) = (position_m.into().into(), direction_of(direction.into()));
        for level in 0..2 {
            let key = self.key(position, direction, level).filter(|_| found.is_valid());
            if let Some(key) = key {
                self.put_nearer(key, found);
            }
        }
    }

    /// Remembers what was found in a direction for the cells around the place where it is, so
    /// many to each side, and for coarse cells around it.
    pub(super) fn insert_around(&mut self, direction: Vec3, found: CachedPlane, beside: i32) {
        let (point, direction) = (Vec3::from(found.point_m), direction_of(direction.into()));
        let Some(middle) = self.key(point, direction, 0).filter(|_| found.is_valid()) else {
            return;
        };
        let [x, y, z] = middle.cell;
        let row = |z: i32| (-beside..=beside).map(move |off| [x.saturating_add(off), y, z]);
        let rows = (-beside..=beside).map(|off| z.saturating_add(off));
        let keys = rows.flat_map(row).map(|cell| Key { cell, ..middle });
        // Memory is slow, and the table has no order.
        for key in keys.clone() {
            self.fetch_place(&key);
        }
        keys.for_each(|key| self.put_nearer(key, found));
        // Of coarse cells no more than two lie side by side.
        let off = beside as f32 * self.options.cell_m;
        for (x, z) in [(-off, -off), (off, -off), (-off, off), (off, off)] {
            if let Some(key) = self.key(point + Vec3::new(x, 0.0, z), direction, 1) {
                self.put_nearer(key, found);
            }
        }
    }

    /// Keeps the one that was found nearer to the cell; of two in it, the newer.
    fn put_nearer(&mut self, key: Key, found: CachedPlane) {
        let off = |found: &CachedPlane| self.off_cell(&key, found.point_m);
        match self.number(&key) {
            None => self.add(key, found),
            Some(number) => {
                if off(&found) <= off(&self.entries[number].found) {
                    self.entries[number].found = found;
                }
            }
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
        for number in 0..self.entries.len() {
            let Entry { key, found } = self.entries[number];
            let apart = (0..3).any(|i| {
                let size = self.size(i, key.level);
                let low = key.cell[i] as f32 * size;
                let high = low + size;
                low.min(found.point_m[i]) > max[i] || high.max(found.point_m[i]) < min[i]
            });
            if !apart && key != FORGOTTEN {
                self.remove(number);
            }
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.table.fill(EMPTY);
        self.known.fill(0);
        (self.next, self.len) = (0, 0);
    }

    /// Edge of a cell along an axis, metres.
    fn size(&self, axis: usize, level: u8) -> f32 {
        let size = if axis == 1 { self.options.cell_height_m } else { self.options.cell_m };
        if level == 0 { size } else { size * COARSER }
    }

    /// None for what has no place or no direction.
    #[inline]
    pub(super) fn key(&self, position: Vec3, direction: Option<u8>, level: u8) -> Option<Key> {
        let direction = direction?;
        let [wide, high] = self.per_m[usize::from(level)];
        let [x, y, z] = position.to_array();
        let cell = [floor(x * wide), floor(y * high), floor(z * wide)];
        (x + y + z).is_finite().then_some(Key { cell, direction, level })
    }

    /// What is known in a direction.
    #[inline]
    pub(super) fn get_at(
        &self,
        position: Vec3,
        direction: Option<u8>,
        level: u8,
    ) -> Option<CachedPlane> {
        self.get(&self.key(position, direction, level)?)
    }

    /// Whether anything may be known here, in any direction.
    pub(super) fn may_know(&self, position: Vec3) -> bool {
        self.len > 0
            && self.key(position, Some(0), 1).is_some_and(|key| self.known[self.known_at(&key)] > 0)
    }

    /// Where a coarse cell is counted, whatever the direction.
    fn known_at(&self, key: &Key) -> usize {
        hash(&Key { direction: 0, ..*key }) as usize & self.known.len().wrapping_sub(1)
    }

    /// Says that [`PlaneCache::may_know`] will be asked here.
    pub(super) fn fetch_known(&self, position: Vec3) {
        if let Some(key) = self.key(position, Some(0), 1) {
            prefetch(&self.known, self.known_at(&key));
        }
    }

    /// Says that what is known here will be asked for soon, in both sizes of cells. Returns
    /// where in the table that begins.
    pub(super) fn fetch_places(&self, position: Vec3, direction: Option<u8>) -> [usize; 2] {
        let key = |level| self.key(position, direction, level).unwrap_or_default();
        [0, 1].map(|level| self.fetch_place(&key(level)))
    }

    #[inline]
    fn fetch_place(&self, key: &Key) -> usize {
        let home = hash(key) as usize & self.table.len().wrapping_sub(1);
        prefetch(&self.table, home);
        home
    }

    /// As above, for the entries of those places.
    pub(super) fn fetch_entries(&self, homes: &[usize; 2]) {
        for place in homes.iter().filter_map(|home| self.table.get(*home)) {
            // An entry may lie across two lines of memory.
            prefetch(&self.entries, place.number as usize);
            prefetch(&self.entries, place.number as usize + 1);
        }
    }

    #[inline]
    pub(super) fn get(&self, key: &Key) -> Option<CachedPlane> {
        Some(self.entries[self.number(key)?].found)
    }

    /// Sets what is known for a key.
    #[cfg(test)]
    pub(super) fn put(&mut self, key: Key, found: CachedPlane) {
        match self.number(&key) {
            None => self.add(key, found),
            Some(number) => self.entries[number].found = found,
        }
    }

    /// Adds an entry for a key that has none.
    fn add(&mut self, key: Key, found: CachedPlane) {
        if self.capacity == 0 {
            return;
        }
        if self.table.is_empty() {
            self.table = vec![EMPTY; (2 * self.capacity).next_power_of_two()];
            self.entries.reserve_exact(self.capacity);
            // Few enough to stay at hand.
            self.known = vec![0; (self.capacity.next_power_of_two() / 4).max(1)];
        }
        let (number, entry) = (self.next, Entry { key, found });
        self.next = (number + 1) % self.capacity;
        match self.entries.get(number) {
            None => self.entries.push(entry),
            Some(old) => {
                if old.key != FORGOTTEN {
                    self.remove(number);
                }
                self.entries[number] = entry;
                self.fetch_oldest();
            }
        }
        self.len += 1;
        if key.level > 0 {
            let count = self.known_at(&key);
            self.known[count] += 1;
        }
        let (hash, mask) = (hash(&key), self.table.len() - 1);
        let mut place = hash as usize & mask;
        while self.table[place].number != NONE {
            place = (place + 1) & mask;
        }
        self.table[place] = Place { number: number as u32, hash };
    }

    /// Says that an entry will have to go soon.
    fn fetch_oldest(&self) {
        if let Some(entry) = self.entries.get(self.next + PREFETCH_DISTANCE) {
            prefetch(&self.table, hash(&entry.key) as usize & (self.table.len() - 1));
        }
    }

    /// The number of the entry of a key.
    #[inline]
    fn number(&self, key: &Key) -> Option<usize> {
        Some(self.table[self.place(key)?].number as usize)
    }

    /// Where the table names the entry of a key.
    #[inline]
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

    fn remove(&mut self, number: usize) {
        let key = self.entries[number].key;
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
        if key.level > 0 {
            let count = self.known_at(&key);
            self.known[count] -= 1;
        }
        self.entries[number].key = FORGOTTEN;
        self.len -= 1;
    }
}

/// The next lower whole number; saturates.
#[inline]
fn floor(value: f32) -> i32 {
    // Cheaper than the function where the processor has no instruction for it.
    let whole = value as i32;
    whole.saturating_sub(i32::from(whole as f32 > value))
}

#[inline]
fn hash(key: &Key) -> u32 {
    let [x, y, z] = key.cell.map(|v| u64::from(v as u32));
    let mut hash = (x | y << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 29) ^ z ^ u64::from(key.direction | key.level << 3) << 40)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (hash >> 32) as u32
}
