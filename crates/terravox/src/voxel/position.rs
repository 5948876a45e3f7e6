//! Positions of voxels and blocks, and half-open regions of them.
//!
//! Right-handed, Y up; X fastest, then Z, then Y. Voxel `p` fills `[p, p + 1)`.
//! Everything here floors; nothing truncates toward zero.

use std::fmt;
use std::ops::{Add, Sub};

/// Voxel coordinates lie in `-LIMIT..LIMIT` on each axis, at mip 0: 2³⁰ voxels to each side. An
/// i32 holds positions of up to twice as far, so regions around cells at the limits need no care.
pub const LIMIT: i32 = 1 << 30;

/// Integer position of a voxel, in voxels of the mip at hand. The grid has cells within [`LIMIT`];
/// sums and differences of positions beyond it may overflow, as those of integers do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VoxelPos {
    /// East.
    pub x: i32,
    /// Up.
    pub y: i32,
    /// South, for a right-handed frame with Y up.
    pub z: i32,
}

impl VoxelPos {
    /// The origin.
    pub const ZERO: VoxelPos = VoxelPos::new(0, 0, 0);

    /// The position (x, y, z).
    pub const fn new(x: i32, y: i32, z: i32) -> VoxelPos {
        VoxelPos { x, y, z }
    }

    /// The same value on each axis.
    pub const fn splat(v: i32) -> VoxelPos {
        VoxelPos::new(v, v, v)
    }

    /// The block of edge `1 << LOG2` that holds this voxel.
    pub const fn block<const LOG2: u32>(self) -> BlockPos<LOG2> {
        BlockPos { x: self.x >> LOG2, y: self.y >> LOG2, z: self.z >> LOG2 }
    }

    /// The chunk that holds this voxel.
    pub const fn chunk(self) -> ChunkPos {
        self.block::<5>()
    }

    /// The smaller of both on each axis.
    pub fn min(self, other: VoxelPos) -> VoxelPos {
        VoxelPos::new(self.x.min(other.x), self.y.min(other.y), self.z.min(other.z))
    }

    /// The larger of both on each axis.
    pub fn max(self, other: VoxelPos) -> VoxelPos {
        VoxelPos::new(self.x.max(other.x), self.y.max(other.y), self.z.max(other.z))
    }

    /// Floor of each axis divided by `1 << shift`: the coarser cell that covers this one.
    pub const fn coarser(self, shift: u32) -> VoxelPos {
        VoxelPos::new(self.x >> shift, self.y >> shift, self.z >> shift)
    }

    /// Each axis times `1 << shift`: the lowest of the finer cells that this one covers. Wraps where
    /// the result does not fit in an i32.
    pub const fn finer(self, shift: u32) -> VoxelPos {
        VoxelPos::new(self.x << shift, self.y << shift, self.z << shift)
    }

    /// As `[x, y, z]`.
    pub const fn to_array(self) -> [i32; 3] {
        [self.x, self.y, self.z]
    }
}

impl From<[i32; 3]> for VoxelPos {
    fn from([x, y, z]: [i32; 3]) -> VoxelPos {
        VoxelPos::new(x, y, z)
    }
}

impl Add for VoxelPos {
    type Output = VoxelPos;
    fn add(self, o: VoxelPos) -> VoxelPos {
        VoxelPos::new(self.x + o.x, self.y + o.y, self.z + o.z)
    }
}

impl Sub for VoxelPos {
    type Output = VoxelPos;
    fn sub(self, o: VoxelPos) -> VoxelPos {
        VoxelPos::new(self.x - o.x, self.y - o.y, self.z - o.z)
    }
}

impl fmt::Display for VoxelPos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// Position of a block of `1 << LOG2` voxels an edge, in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockPos<const LOG2: u32> {
    /// East.
    pub x: i32,
    /// Up.
    pub y: i32,
    /// South.
    pub z: i32,
}

/// Position of a 32³ chunk. Sorts by x, y, z.
pub type ChunkPos = BlockPos<5>;

/// Position of a page of 8³ chunks.
pub type PagePos = BlockPos<8>;

impl<const LOG2: u32> BlockPos<LOG2> {
    /// Voxels along an edge.
    pub const EDGE: i32 = 1 << LOG2;

    /// The block (x, y, z).
    pub const fn new(x: i32, y: i32, z: i32) -> Self {
        BlockPos { x, y, z }
    }

    /// The block's lowest voxel.
    pub const fn min_voxel(self) -> VoxelPos {
        VoxelPos::new(self.x << LOG2, self.y << LOG2, self.z << LOG2)
    }

    /// The voxels of the block.
    pub const fn region(self) -> Region {
        let min = self.min_voxel();
        let max = VoxelPos::new(
            min.x.saturating_add(Self::EDGE),
            min.y.saturating_add(Self::EDGE),
            min.z.saturating_add(Self::EDGE),
        );
        Region { min, max }
    }

    /// Whether every voxel of the block lies within [`LIMIT`].
    pub const fn within_limits(self) -> bool {
        let limit = LIMIT >> LOG2;
        -limit <= self.x
            && self.x < limit
            && -limit <= self.y
            && self.y < limit
            && -limit <= self.z
            && self.z < limit
    }
}

impl<const LOG2: u32> fmt::Display for BlockPos<LOG2> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// Half-open box of voxels: `min` is inside, `max` is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Region {
    /// Lowest voxel.
    pub min: VoxelPos,
    /// One past the highest voxel, each axis.
    pub max: VoxelPos,
}

impl Region {
    /// The region from `min` up to, not including, `max`.
    pub fn new(min: impl Into<VoxelPos>, max: impl Into<VoxelPos>) -> Region {
        Region { min: min.into(), max: max.into() }
    }

    /// The region of one voxel.
    pub fn one(pos: VoxelPos) -> Region {
        Region { min: pos, max: pos + VoxelPos::splat(1) }
    }

    /// Whether no voxel is inside.
    pub const fn is_empty(self) -> bool {
        self.min.x >= self.max.x || self.min.y >= self.max.y || self.min.z >= self.max.z
    }

    /// Edge lengths in voxels, `[x, y, z]`; 0 where empty.
    pub fn size(self) -> [usize; 3] {
        let edge = |a: i32, b: i32| (i64::from(b) - i64::from(a)).max(0) as usize;
        [edge(self.min.x, self.max.x), edge(self.min.y, self.max.y), edge(self.min.z, self.max.z)]
    }

    /// Number of voxels inside.
    pub fn volume(self) -> u64 {
        let [x, y, z] = self.size();
        (x as u64).saturating_mul(y as u64).saturating_mul(z as u64)
    }

    /// Whether `pos` is inside.
    pub const fn contains(self, pos: VoxelPos) -> bool {
        self.min.x <= pos.x
            && pos.x < self.max.x
            && self.min.y <= pos.y
            && pos.y < self.max.y
            && self.min.z <= pos.z
            && pos.z < self.max.z
    }

    /// Whether all of `inner` is inside (an empty region is inside any).
    pub fn contains_region(self, inner: Region) -> bool {
        inner.is_empty() || self.intersect(inner) == inner
    }

    /// What both hold; empty if they do not meet.
    pub fn intersect(self, other: Region) -> Region {
        Region { min: self.min.max(other.min), max: self.max.min(other.max) }
    }

    /// The smallest region that holds both; an empty one adds nothing.
    pub fn union(self, other: Region) -> Region {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Region { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Grown by `voxels` on all six sides, saturating at the integer range.
    pub fn grow(self, voxels: i32) -> Region {
        let add = |p: VoxelPos, v: i32| {
            VoxelPos::new(p.x.saturating_add(v), p.y.saturating_add(v), p.z.saturating_add(v))
        };
        Region { min: add(self.min, -voxels), max: add(self.max, voxels) }
    }

    /// The cells `shift` mips coarser that cover any voxel of this region.
    pub fn coarser(self, shift: u32) -> Region {
        if self.is_empty() {
            let min = self.min.coarser(shift);
            return Region { min, max: min };
        }
        let last = self.max - VoxelPos::splat(1);
        Region { min: self.min.coarser(shift), max: last.coarser(shift) + VoxelPos::splat(1) }
    }

    /// The voxels `shift` mips finer that these cells cover.
    pub fn finer(self, shift: u32) -> Region {
        Region { min: self.min.finer(shift), max: self.max.finer(shift) }
    }

    /// Positions of all blocks of edge `1 << LOG2` that hold a voxel of this region,
    /// x fastest, then z, then y.
    pub fn blocks<const LOG2: u32>(self) -> impl Iterator<Item = BlockPos<LOG2>> {
        self.coarser(LOG2).voxels().map(|p| BlockPos::new(p.x, p.y, p.z))
    }

    /// All voxels, x fastest, then z, then y.
    pub fn voxels(self) -> impl Iterator<Item = VoxelPos> {
        let Region { min, max } = if self.is_empty() { Region::default() } else { self };
        (min.y..max.y).flat_map(move |y| {
            (min.z..max.z).flat_map(move |z| (min.x..max.x).map(move |x| VoxelPos::new(x, y, z)))
        })
    }

    /// Whether every voxel lies within [`LIMIT`].
    pub fn within_limits(self) -> bool {
        self.is_empty()
            || (self.min.x >= -LIMIT
                && self.min.y >= -LIMIT
                && self.min.z >= -LIMIT
                && self.max.x <= LIMIT
                && self.max.y <= LIMIT
                && self.max.z <= LIMIT)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_voxels_floor_to_their_block() {
        assert_eq!(VoxelPos::new(-1, -32, -33).chunk(), ChunkPos::new(-1, -1, -2));
        assert_eq!(VoxelPos::new(31, 32, 0).chunk(), ChunkPos::new(0, 1, 0));
        assert_eq!(ChunkPos::new(-1, 0, 2).min_voxel(), VoxelPos::new(-32, 0, 64));
    }

    #[test]
    fn a_coarser_region_covers_and_a_finer_one_is_exact() {
        let region = Region::new([-3, 0, 5], [1, 1, 8]);
        assert_eq!(region.coarser(1), Region::new([-2, 0, 2], [1, 1, 4]));
        assert!(region.coarser(3).finer(3).contains_region(region));
        assert_eq!(Region::new([2, 2, 2], [2, 5, 5]).coarser(1).volume(), 0);
    }

    #[test]
    fn voxels_run_x_then_z_then_y() {
        let order: Vec<_> =
            Region::new([0, 0, 0], [2, 2, 2]).voxels().map(|p| p.to_array()).collect();
        assert_eq!(order[1], [1, 0, 0]);
        assert_eq!(order[2], [0, 0, 1]);
        assert_eq!(order[4], [0, 1, 0]);
        assert_eq!(Region::new([3, 0, 0], [1, 5, 5]).voxels().count(), 0);
    }

    #[test]
    fn limits_are_half_open() {
        assert!(Region::new([-LIMIT; 3], [LIMIT; 3]).within_limits());
        assert!(!Region::new([0; 3], [LIMIT + 1, 1, 1]).within_limits());
        assert!(ChunkPos::new(-(1 << 25), 0, (1 << 25) - 1).within_limits());
        assert!(!ChunkPos::new(1 << 25, 0, 0).within_limits());
    }
}
