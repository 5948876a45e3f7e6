//! Where a world's voxels lie in the game's space.

use crate::voxel::{Region, VoxelPos};

/// World metres from voxels: a scale and an offset, applied last and nowhere else.
///
/// ```
/// use terravox::terrain::Placement;
///
/// let placement = Placement { voxel_size_m: 0.5, origin_m: [1e7, 0.0, 0.0] };
/// assert_eq!(placement.voxel_from_world([1e7 + 1.0, 0.0, -0.5]), [2.0, 0.0, -1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Placement {
    /// Edge of a voxel, metres. Positive and finite.
    pub voxel_size_m: f64,
    /// World position of the min corner of voxel (0, 0, 0), metres. Finite.
    pub origin_m: [f64; 3],
}

impl Default for Placement {
    /// Voxels of one metre, the origin at the origin.
    fn default() -> Placement {
        Placement { voxel_size_m: 1.0, origin_m: [0.0; 3] }
    }
}

impl Placement {
    /// Returns a point in voxels as world metres.
    pub fn world_from_voxel(&self, point: impl Into<[f64; 3]>) -> [f64; 3] {
        let point = point.into();
        [0, 1, 2].map(|i| point[i] * self.voxel_size_m + self.origin_m[i])
    }

    /// Returns a point in world metres as voxels.
    pub fn voxel_from_world(&self, point: impl Into<[f64; 3]>) -> [f64; 3] {
        let point = point.into();
        [0, 1, 2].map(|i| (point[i] - self.origin_m[i]) / self.voxel_size_m)
    }

    /// Returns the voxel that holds a world position. Coordinates saturate; NaN becomes 0.
    ///
    /// ```
    /// use terravox::terrain::{Placement, Terrain};
    ///
    /// let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
    /// let terrain = Terrain::from_grid(terravox::VoxelGrid::default(), placement);
    /// let player_m = [3.2, 10.0, -0.1];
    /// let cell = terrain.grid().cell(terrain.placement().voxel_at(player_m));
    /// assert!(cell.is_ok_and(|cell| cell.material == 0), "the player is in air");
    /// ```
    pub fn voxel_at(&self, point: impl Into<[f64; 3]>) -> VoxelPos {
        // The cast saturates.
        let [x, y, z] = self.voxel_from_world(point).map(|v| v.floor() as i32);
        VoxelPos::new(x, y, z)
    }

    /// Returns the centre of a voxel in world metres.
    pub fn voxel_centre(&self, voxel: VoxelPos) -> [f64; 3] {
        self.world_from_voxel(voxel.to_array().map(|v| f64::from(v) + 0.5))
    }

    /// Returns the voxels that a box in world metres touches; empty if the box is inverted or
    /// has a NaN.
    pub fn region(&self, min_m: impl Into<[f64; 3]>, max_m: impl Into<[f64; 3]>) -> Region {
        let (min_m, max_m) = (min_m.into(), max_m.into());
        let ordered = (0..3).all(|i| min_m[i] < max_m[i]);
        if !ordered {
            return Region::default();
        }
        let [x, y, z] = self.voxel_from_world(max_m).map(|v| v.ceil() as i32);
        Region { min: self.voxel_at(min_m), max: VoxelPos::new(x, y, z) }
    }

    /// Panics unless the voxel size is positive and finite and the origin finite.
    pub(super) fn assert_valid(&self) {
        let Placement { voxel_size_m: size, origin_m } = self;
        assert!(
            *size > 0.0 && size.is_finite(),
            "Placement::voxel_size_m is {size}; it must be positive and finite"
        );
        assert!(
            origin_m.iter().all(|v| v.is_finite()),
            "Placement::origin_m is {origin_m:?}; it must be finite"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metres_floor_to_voxels_on_both_sides_of_the_origin() {
        let placement = Placement { voxel_size_m: 0.5, origin_m: [10.0, 0.0, 0.0] };
        assert_eq!(placement.voxel_at([10.0, -0.1, 0.6]), VoxelPos::new(0, -1, 1));
        assert_eq!(placement.voxel_at([9.9, 0.0, -1.0]), VoxelPos::new(-1, 0, -2));
        assert_eq!(placement.voxel_centre(VoxelPos::new(-1, 0, 0)), [9.75, 0.25, 0.25]);
        let region = placement.region([9.9, 0.0, 0.0], [10.6, 0.5, 1.0]);
        assert_eq!(region, Region::new([-1, 0, 0], [2, 1, 2]));
    }

    #[test]
    fn invalid_boxes_are_empty() {
        let placement = Placement::default();
        assert!(placement.region([f64::NAN, 0.0, 0.0], [1.0; 3]).is_empty());
        assert!(placement.region([1.0; 3], [0.0; 3]).is_empty());
        assert!(!placement.region([0.0; 3], [f64::INFINITY; 3]).within_limits());
    }
}
