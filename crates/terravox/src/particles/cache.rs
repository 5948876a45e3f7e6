//! Ray hits shared by all particles of a world: (cell, direction) → plane.
//!
//! A fine cell is 0.5 × 2 × 0.5 m; a direction is the one of ±X, ±Y, ±Z nearest to the ray. Each
//! hit is also stored for a coarse cell, four times as large on every axis, for particles where the
//! fine cell is empty: most of a burst. Memory is bounded; when the cache is full, the oldest entry
//! is evicted. Entries are a ring buffer, indexed by a hash table (linear probing, backward shift
//! deletion). Most look-ups are in cells without entries; a small table of counts by coarse cell
//! settles those without touching the rest.
//!
//! Source: Frykholm, "Hack Day Report" (2012). Cells are floored here; the published code
//! truncates, which makes the cells at 0 twice as large.

use super::plane::CollisionPlane;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(super) use super::simd::prefetch;
use glam::Vec3;

/// Size and resolution of a [`PlaneCache`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct PlaneCacheOptions {
    /// Maximum number of bytes that it uses.
    pub max_bytes: usize,
    /// Edge of fine cells on X and Z, in metres. Positive and finite.
    pub cell_m: f32,
    /// Height of fine cells, in metres. Positive and finite.
    pub cell_height_m: f32,
}

impl Default for PlaneCacheOptions {
    /// 8 MiB; cells of 0.5 × 2 × 0.5 m.
    fn default() -> PlaneCacheOptions {
        PlaneCacheOptions { max_bytes: 8 << 20, cell_m: 0.5, cell_height_m: 2.0 }
    }
}

/// A plane and the hit that it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachedPlane {
    /// The plane.
    pub plane: CollisionPlane,
    /// Where the ray hit, in world metres.
    pub point_m: [f32; 3],
}

impl CachedPlane {
    fn is_valid(&self) -> bool {
        self.plane.is_valid() && Vec3::from(self.point_m).is_finite()
    }
}

/// Cell and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    pub cell: [i32; 3],
    pub direction: u8,
    /// 0 for fine cells, 1 for coarse cells.
    pub level: u8,
}

#[derive(Clone, Copy, Debug)]
struct CacheEntry {
    /// [`REMOVED`] if the entry was invalidated.
    key: CacheKey,
    cached: CachedPlane,
}

/// The key of an invalidated entry.
const REMOVED: CacheKey = CacheKey { cell: [0; 3], direction: u8::MAX, level: u8::MAX };

/// Edge of a coarse cell in fine cells.
const COARSE_CELL_SCALE: f32 = 4.0;

/// A slot of the hash table: the index of an entry and the hash of its key, so that other entries
/// are rarely read.
#[derive(Clone, Copy, Debug)]
struct TableSlot {
    index: u32,
    hash: u32,
}

const EMPTY_SLOT: TableSlot = TableSlot { index: NO_ENTRY, hash: 0 };

/// The index of an empty slot.
const NO_ENTRY: u32 = u32::MAX;

/// Entries ahead of eviction that are prefetched.
const PREFETCH_DISTANCE: usize = 8;

/// The most table bytes per entry: four slots and a count.
const TABLE_BYTES: usize = 4 * size_of::<TableSlot>() + size_of::<u32>();

/// Planes that rays hit in a world.
#[derive(Clone, Debug)]
pub struct PlaneCache {
    options: PlaneCacheOptions,
    capacity: usize,
    /// By level: cells per metre, horizontally and vertically.
    per_m: [[f32; 2]; 2],
    /// By hash of the cell: the number of coarse entries.
    coarse_counts: Vec<u32>,
    entries: Vec<CacheEntry>,
    table: Vec<TableSlot>,
    /// Index of the next entry.
    next: usize,
    len: usize,
}

/// Prefetches an item.
#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
pub(super) fn prefetch<T>(_: &[T], _: usize) {}

/// Returns the index of the nearest of ±X, ±Y, ±Z; `None` for zero and NaN.
pub(super) fn direction_of(direction: [f32; 3]) -> Option<u8> {
    let [x, y, z] = direction.map(f32::abs);
    // Selects instead of branches, which would be unpredictable.
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
    /// Creates an empty cache. With too few bytes for an entry it stays empty.
    ///
    /// # Panics
    /// If a cell size is not positive and finite.
    pub fn new(options: PlaneCacheOptions) -> PlaneCache {
        for size in [options.cell_m, options.cell_height_m] {
            assert!(
                size > 0.0 && size.is_finite(),
                "cells are {size} m; sizes must be positive and finite"
            );
        }
        let capacity = options.max_bytes / (size_of::<CacheEntry>() + TABLE_BYTES);
        let [wide, high] = [options.cell_m, options.cell_height_m].map(f32::recip);
        PlaneCache {
            options,
            per_m: [[wide, high], [wide / COARSE_CELL_SCALE, high / COARSE_CELL_SCALE]],
            coarse_counts: Vec::new(),
            // Indices have 31 bits, so that the size of the table fits in 32.
            capacity: capacity.min(1 << 30),
            entries: Vec::new(),
            table: Vec::new(),
            next: 0,
            len: 0,
        }
    }

    /// Returns the options.
    pub fn options(&self) -> PlaneCacheOptions {
        self.options
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the maximum number of entries.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the bytes in use.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<CacheEntry>()
            + self.table.capacity() * size_of::<TableSlot>()
            + self.coarse_counts.capacity() * size_of::<u32>()
    }

    /// Returns the plane cached for rays from about this position, in world metres, in about this
    /// direction.
    pub fn look_up(
        &self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
    ) -> Option<CachedPlane> {
        self.get_at(position_m.into().into(), direction_of(direction.into()), 0)
    }

    /// As [`PlaneCache::look_up`], from coarse cells: less accurate, but more often known.
    pub fn look_up_coarse(
        &self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
    ) -> Option<CachedPlane> {
        self.get_at(position_m.into().into(), direction_of(direction.into()), 1)
    }

    /// Caches a hit of a ray from a position, in world metres, in a direction of any length, unless
    /// the cached hit is nearer to the cell. Non-finite hits are ignored.
    pub fn insert(
        &mut self,
        position_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        cached: CachedPlane,
    ) {
        let (position, direction) = (position_m.into().into(), direction_of(direction.into()));
        for level in 0..2 {
            let key = self.key(position, direction, level).filter(|_| cached.is_valid());
            if let Some(key) = key {
                self.put_nearer(key, cached);
            }
        }
    }

    /// Caches a hit for the fine cells around it, `ring` to each side, and for the coarse cells
    /// around it.
    pub(super) fn insert_around(&mut self, direction: Vec3, cached: CachedPlane, ring: i32) {
        let (point, direction) = (Vec3::from(cached.point_m), direction_of(direction.into()));
        let Some(middle) = self.key(point, direction, 0).filter(|_| cached.is_valid()) else {
            return;
        };
        let [x, y, z] = middle.cell;
        let row = |z: i32| (-ring..=ring).map(move |off| [x.saturating_add(off), y, z]);
        let rows = (-ring..=ring).map(|off| z.saturating_add(off));
        let keys = rows.flat_map(row).map(|cell| CacheKey { cell, ..middle });
        // The table is accessed at random.
        for key in keys.clone() {
            self.prefetch_slot(&key);
        }
        keys.for_each(|key| self.put_nearer(key, cached));
        // At most two coarse cells on each axis.
        let off = ring as f32 * self.options.cell_m;
        for (x, z) in [(-off, -off), (off, -off), (-off, off), (off, off)] {
            if let Some(key) = self.key(point + Vec3::new(x, 0.0, z), direction, 1) {
                self.put_nearer(key, cached);
            }
        }
    }

    /// Keeps the hit that is nearer to the cell; of two inside it, the newer.
    fn put_nearer(&mut self, key: CacheKey, cached: CachedPlane) {
        let off = |cached: &CachedPlane| self.distance_squared(&key, cached.point_m);
        match self.index(&key) {
            None => self.add(key, cached),
            Some(index) => {
                if off(&cached) <= off(&self.entries[index].cached) {
                    self.entries[index].cached = cached;
                }
            }
        }
    }

    /// Returns the squared distance in metres between a point and a cell.
    fn distance_squared(&self, key: &CacheKey, point_m: [f32; 3]) -> f32 {
        let beyond = |i: usize| {
            let size = self.size(i, key.level);
            let low = key.cell[i] as f32 * size;
            (low - point_m[i]).max(point_m[i] - low - size).max(0.0)
        };
        (0..3).map(|i| beyond(i) * beyond(i)).sum()
    }

    /// Drops planes that a change inside a box, in world metres, may have made stale: those whose
    /// cell, or whose way from the cell to the hit, touches the box.
    pub fn invalidate(&mut self, min_m: impl Into<[f32; 3]>, max_m: impl Into<[f32; 3]>) {
        let (min, max) = (min_m.into(), max_m.into());
        for index in 0..self.entries.len() {
            let CacheEntry { key, cached } = self.entries[index];
            let apart = (0..3).any(|i| {
                let size = self.size(i, key.level);
                let low = key.cell[i] as f32 * size;
                let high = low + size;
                low.min(cached.point_m[i]) > max[i] || high.max(cached.point_m[i]) < min[i]
            });
            if !apart && key != REMOVED {
                self.remove(index);
            }
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.table.fill(EMPTY_SLOT);
        self.coarse_counts.fill(0);
        (self.next, self.len) = (0, 0);
    }

    /// Returns the edge of a cell along an axis, in metres.
    fn size(&self, axis: usize, level: u8) -> f32 {
        let size = if axis == 1 { self.options.cell_height_m } else { self.options.cell_m };
        if level == 0 { size } else { size * COARSE_CELL_SCALE }
    }

    /// Returns `None` for non-finite positions and without a direction.
    #[inline]
    pub(super) fn key(&self, position: Vec3, direction: Option<u8>, level: u8) -> Option<CacheKey> {
        let direction = direction?;
        let [wide, high] = self.per_m[usize::from(level)];
        let [x, y, z] = position.to_array();
        let cell = [floor(x * wide), floor(y * high), floor(z * wide)];
        (x + y + z).is_finite().then_some(CacheKey { cell, direction, level })
    }

    #[inline]
    pub(super) fn get_at(
        &self,
        position: Vec3,
        direction: Option<u8>,
        level: u8,
    ) -> Option<CachedPlane> {
        self.get(&self.key(position, direction, level)?)
    }

    /// Whether there may be an entry here, in any direction and at any level.
    pub(super) fn may_know(&self, position: Vec3) -> bool {
        self.len > 0
            && self
                .key(position, Some(0), 1)
                .is_some_and(|key| self.coarse_counts[self.count_index(&key)] > 0)
    }

    /// Returns the index of the count of a coarse cell.
    fn count_index(&self, key: &CacheKey) -> usize {
        hash(&CacheKey { direction: 0, ..*key }) as usize & self.coarse_counts.len().wrapping_sub(1)
    }

    /// Prefetches for [`PlaneCache::may_know`].
    pub(super) fn prefetch_known(&self, position: Vec3) {
        if let Some(key) = self.key(position, Some(0), 1) {
            prefetch(&self.coarse_counts, self.count_index(&key));
        }
    }

    /// Prefetches the table slots of both levels. Returns their indices.
    pub(super) fn prefetch_slots(&self, position: Vec3, direction: Option<u8>) -> [usize; 2] {
        let key = |level| self.key(position, direction, level).unwrap_or_default();
        [0, 1].map(|level| self.prefetch_slot(&key(level)))
    }

    #[inline]
    fn prefetch_slot(&self, key: &CacheKey) -> usize {
        let home = hash(key) as usize & self.table.len().wrapping_sub(1);
        prefetch(&self.table, home);
        home
    }

    /// Prefetches the entries of these slots.
    pub(super) fn prefetch_entries(&self, homes: &[usize; 2]) {
        for slot in homes.iter().filter_map(|home| self.table.get(*home)) {
            // An entry may span two cache lines. After NO_ENTRY there is none in 32 bits.
            prefetch(&self.entries, slot.index as usize);
            prefetch(&self.entries, (slot.index as usize).wrapping_add(1));
        }
    }

    #[inline]
    pub(super) fn get(&self, key: &CacheKey) -> Option<CachedPlane> {
        Some(self.entries[self.index(key)?].cached)
    }

    #[cfg(test)]
    pub(super) fn put(&mut self, key: CacheKey, cached: CachedPlane) {
        match self.index(&key) {
            None => self.add(key, cached),
            Some(index) => self.entries[index].cached = cached,
        }
    }

    /// Adds an entry for a key that has none. Evicts the oldest if the cache is full.
    fn add(&mut self, key: CacheKey, cached: CachedPlane) {
        if self.capacity == 0 {
            return;
        }
        if self.table.is_empty() {
            self.table = vec![EMPTY_SLOT; (2 * self.capacity).next_power_of_two()];
            self.entries.reserve_exact(self.capacity);
            // Small enough to stay in the CPU's cache.
            self.coarse_counts = vec![0; (self.capacity.next_power_of_two() / 4).max(1)];
        }
        let (index, entry) = (self.next, CacheEntry { key, cached });
        self.next = (index + 1) % self.capacity;
        match self.entries.get(index) {
            None => self.entries.push(entry),
            Some(old) => {
                if old.key != REMOVED {
                    self.remove(index);
                }
                self.entries[index] = entry;
                self.prefetch_oldest();
            }
        }
        self.len += 1;
        if key.level > 0 {
            let count = self.count_index(&key);
            self.coarse_counts[count] += 1;
        }
        let (hash, mask) = (hash(&key), self.table.len() - 1);
        let mut slot = hash as usize & mask;
        while self.table[slot].index != NO_ENTRY {
            slot = (slot + 1) & mask;
        }
        self.table[slot] = TableSlot { index: index as u32, hash };
    }

    /// Prefetches the slot of an entry that will be evicted soon.
    fn prefetch_oldest(&self) {
        if let Some(entry) = self.entries.get(self.next + PREFETCH_DISTANCE) {
            prefetch(&self.table, hash(&entry.key) as usize & (self.table.len() - 1));
        }
    }

    /// Returns the index of the entry of a key.
    #[inline]
    fn index(&self, key: &CacheKey) -> Option<usize> {
        Some(self.table[self.slot(key)?].index as usize)
    }

    /// Returns the slot of a key.
    #[inline]
    fn slot(&self, key: &CacheKey) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let (hash, mask) = (hash(key), self.table.len() - 1);
        let mut slot = hash as usize & mask;
        while self.table[slot].index != NO_ENTRY {
            let named = self.table[slot];
            if named.hash == hash && self.entries[named.index as usize].key == *key {
                return Some(slot);
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    fn remove(&mut self, index: usize) {
        let key = self.entries[index].key;
        let Some(mut hole) = self.slot(&key) else { unreachable!("entries are in the table") };
        let mask = self.table.len() - 1;
        let mut slot = hole;
        loop {
            slot = (slot + 1) & mask;
            let other = self.table[slot];
            if other.index == NO_ENTRY {
                break;
            }
            // It can move back unless its home lies behind the hole.
            let home = other.hash as usize;
            if slot.wrapping_sub(home) & mask >= slot.wrapping_sub(hole) & mask {
                self.table[hole] = other;
                hole = slot;
            }
        }
        self.table[hole] = EMPTY_SLOT;
        if key.level > 0 {
            let count = self.count_index(&key);
            self.coarse_counts[count] -= 1;
        }
        self.entries[index].key = REMOVED;
        self.len -= 1;
    }
}

/// Rounds down; saturates.
#[inline]
fn floor(value: f32) -> i32 {
    // Faster than `f32::floor` where the CPU has no instruction for it.
    let whole = value as i32;
    whole.saturating_sub(i32::from(whole as f32 > value))
}

#[inline]
fn hash(key: &CacheKey) -> u32 {
    let [x, y, z] = key.cell.map(|v| u64::from(v as u32));
    let mut hash = (x | y << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 29) ^ z ^ u64::from(key.direction | key.level << 3) << 40)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (hash >> 32) as u32
}
