//! Anchors: cells that never fall, as plain data.

use crate::voxel::{ChunkPos, Region, VoxelPos};

/// Where solid cells are anchored; everything connected to them stays. Cells beside a chunk that is
/// not held at mip 0 are anchored, too, since what they are connected to is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Anchors {
    /// Cells below this height in voxels are anchored: the floor of the world.
    pub below_y: Option<i32>,
    /// Cells in these regions of voxels are anchored.
    pub regions: Vec<Region>,
}

impl Anchors {
    /// Anchors all cells below a height in voxels.
    pub fn below(y: i32) -> Anchors {
        Anchors { below_y: Some(y), regions: Vec::new() }
    }

    /// Anchors the outermost layer of a region except its top, for a world that ends there.
    ///
    /// ```
    /// use terravox::bodies::Anchors;
    /// use terravox::voxel::{Region, VoxelPos};
    ///
    /// let arena = Anchors::border_of(Region::new([-64, -16, -64], [64, 48, 64]));
    /// assert!(arena.holds(VoxelPos::new(0, -16, 0)) && arena.holds(VoxelPos::new(63, 20, 0)));
    /// assert!(!arena.holds(VoxelPos::new(0, 47, 0)));
    /// ```
    pub fn border_of(region: Region) -> Anchors {
        let Region { min, max } = region;
        let one = VoxelPos::splat(1);
        let [low, high] = [min + one, max - one];
        let sides = [
            Region { min, max: VoxelPos::new(low.x, max.y, max.z) },
            Region { min: VoxelPos::new(high.x, min.y, min.z), max },
            Region { min, max: VoxelPos::new(max.x, low.y, max.z) },
            Region { min, max: VoxelPos::new(max.x, max.y, low.z) },
            Region { min: VoxelPos::new(min.x, min.y, high.z), max },
        ];
        Anchors { below_y: None, regions: sides.to_vec() }
    }

    /// Whether a solid cell at `voxel` is anchored.
    pub fn holds(&self, voxel: VoxelPos) -> bool {
        self.below_y.is_some_and(|y| voxel.y < y)
            || self.regions.iter().any(|region| region.contains(voxel))
    }

    /// Returns the parts of a region in which cells are anchored.
    pub(super) fn parts(&self, region: Region) -> impl Iterator<Item = Region> + '_ {
        let floor = self.below_y.map(|y| {
            let max = VoxelPos::new(region.max.x, region.max.y.min(y), region.max.z);
            Region { min: region.min, max }
        });
        let others = self.regions.iter().map(move |other| other.intersect(region));
        floor.into_iter().chain(others).filter(|part| !part.is_empty())
    }

    /// Returns the distance from a chunk to the nearest anchor, in chunks summed over the axes; 0
    /// without anchors.
    pub(super) fn distance(&self, chunk: ChunkPos) -> u32 {
        let floor = self.below_y.map(|y| 0.max(chunk.y.saturating_sub((y - 1) >> 5)) as u32);
        let to = |region: &Region| {
            let chunks = region.coarser(5);
            let along = |at: i32, min: i32, max: i32| {
                0.max(min.saturating_sub(at)).max(at.saturating_sub(max - 1)) as u32
            };
            along(chunk.x, chunks.min.x, chunks.max.x)
                .saturating_add(along(chunk.y, chunks.min.y, chunks.max.y))
                .saturating_add(along(chunk.z, chunks.min.z, chunks.max.z))
        };
        let regions = self.regions.iter().filter(|region| !region.is_empty()).map(to);
        floor.into_iter().chain(regions).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_border_is_every_side_but_the_top() {
        let region = Region::new([-2, -3, -2], [3, 2, 4]);
        let anchors = Anchors::border_of(region);
        for voxel in region.grow(1).voxels() {
            let Region { min, max } = region;
            let side = voxel.x == min.x || voxel.x == max.x - 1 || voxel.y == min.y;
            let side = side || voxel.z == min.z || voxel.z == max.z - 1;
            assert_eq!(anchors.holds(voxel), side && region.contains(voxel), "{voxel}");
        }
    }

    #[test]
    fn distances_are_counted_in_chunks() {
        let floor = Anchors::below(-32);
        assert_eq!(floor.distance(ChunkPos::new(9, 3, 9)), 5);
        assert_eq!(floor.distance(ChunkPos::new(9, -2, 9)), 0);
        assert_eq!(floor.distance(ChunkPos::new(9, -7, 9)), 0);
        let cells = Anchors { below_y: None, regions: vec![Region::new([64; 3], [65; 3])] };
        assert_eq!(cells.distance(ChunkPos::new(0, 2, 5)), 2 + 3);
        assert_eq!(Anchors::default().distance(ChunkPos::new(1, 1, 1)), 0);
    }
}
