//! Where a world's voxels lie in the game's space.

use crate::edit::PlainNumber;
use crate::voxel::{Region, VoxelPos};
use std::fmt;

/// The size of a voxel and the position of voxel (0, 0, 0), in world metres: the scale and the
/// offset from voxels to metres.
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
    /// Edge of a voxel, metres: 10⁻⁶ to 10⁹.
    pub voxel_size_m: f64,
    /// World position of the min corner of voxel (0, 0, 0), metres: at most
    /// [`Placement::MAX_ORIGIN_VOXELS`] times the voxel size on each axis.
    pub origin_m: [f64; 3],
}

/// Why a [`Placement`] is invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlacementError {
    /// The size of a voxel is out of its range, or NaN.
    VoxelSize(f64),
    /// A coordinate of the origin is too far away for f64 to tell positions within a voxel apart,
    /// or NaN.
    Origin {
        /// The coordinate, metres.
        given_m: f64,
        /// The farthest that is allowed with voxels of this size, metres.
        max_m: f64,
    },
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacementError::VoxelSize(given) => {
                write!(f, "the voxel size is {} m; it must be 1e-6 to 1e9", PlainNumber(*given))
            }
            PlacementError::Origin { given_m, max_m } => write!(
                f,
                "a coordinate of the origin is {} m; with voxels of this size it must be finite \
                 and within ±{max_m} m",
                PlainNumber(*given_m)
            ),
        }
    }
}

impl std::error::Error for PlacementError {}

impl Default for Placement {
    /// Voxels of one metre, the origin at the origin.
    fn default() -> Placement {
        Placement { voxel_size_m: 1.0, origin_m: [0.0; 3] }
    }
}

impl Placement {
    /// The farthest that voxel (0, 0, 0) may lie from the origin of the game's space on each axis,
    /// in voxels: 2⁴³. f64 metres tell 1/512 of a voxel apart there, and more nearer by.
    pub const MAX_ORIGIN_VOXELS: f64 = 8_796_093_022_208.0;

    /// Returns an error unless the voxel size and the origin are in their ranges.
    ///
    /// ```
    /// use terravox::terrain::Placement;
    ///
    /// let placement = Placement { voxel_size_m: 1e-9, ..Placement::default() };
    /// let error = placement.check().expect_err("a nanometre");
    /// assert_eq!(error.to_string(), "the voxel size is 1e-9 m; it must be 1e-6 to 1e9");
    /// ```
    ///
    /// # Errors
    /// [`PlacementError`].
    pub fn check(&self) -> Result<(), PlacementError> {
        let Placement { voxel_size_m, origin_m } = *self;
        if !(1e-6..=1e9).contains(&voxel_size_m) {
            return Err(PlacementError::VoxelSize(voxel_size_m));
        }
        let max_m = Placement::MAX_ORIGIN_VOXELS * voxel_size_m;
        let is_near = |v: &f64| v.abs() <= max_m; // NaN is not
        match origin_m.into_iter().find(|v| !is_near(v)) {
            Some(given_m) => Err(PlacementError::Origin { given_m, max_m }),
            None => Ok(()),
        }
    }

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

    /// Panics unless the voxel size and the origin are in their ranges.
    pub(super) fn assert_valid(&self) {
        if let Err(error) = self.check() {
            panic!("Placement: {error}");
        }
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
