//! Where a world's voxels lie in the game's space.

use crate::voxel::{Region, VoxelPos};

/// World metres from voxels: a scale and an offset, applied last and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Edge of a voxel, metres. Positive and finite.
    pub voxel_size_m: f32,
    /// World position of the lowest corner of voxel (0, 0, 0), metres.
    pub origin_m: [f32; 3],
}

impl Default for Placement {
    /// Voxels of one metre, the origin at the origin.
    fn default() -> Placement {
        Placement { voxel_size_m: 1.0, origin_m: [0.0; 3] }
    }
}

impl Placement {
    /// A point in voxels as world metres.
    pub fn world_from_voxel(&self, point: [f32; 3]) -> [f32; 3] {
        [0, 1, 2].map(|i| point[i] * self.voxel_size_m + self.origin_m[i])
    }

    /// World metres as a point in voxels.
    pub fn voxel_from_world(&self, point: impl Into<[f32; 3]>) -> [f32; 3] {
        let point = point.into();
        [0, 1, 2].map(|i| (point[i] - self.origin_m[i]) / self.voxel_size_m)
    }

    /// A point in voxels as world metres, rounded to f32 at the end.
    pub fn world_from_voxel_f64(&self, point: [f64; 3]) -> [f32; 3] {
        let size = f64::from(self.voxel_size_m);
        [0, 1, 2].map(|i| (point[i] * size + f64::from(self.origin_m[i])) as f32)
    }

    /// World metres as a point in voxels, without loss.
    pub fn voxel_from_world_f64(&self, point: impl Into<[f32; 3]>) -> [f64; 3] {
        let (point, size) = (point.into(), f64::from(self.voxel_size_m));
        [0, 1, 2].map(|i| (f64::from(point[i]) - f64::from(self.origin_m[i])) / size)
    }

    /// The voxel that holds a world position; coordinates saturate, NaN gives 0.
    pub fn voxel_at(&self, point: impl Into<[f32; 3]>) -> VoxelPos {
        // The cast saturates.
        let [x, y, z] = self.voxel_from_world(point).map(|v| v.floor() as i32);
        VoxelPos::new(x, y, z)
    }

    /// Centre of a voxel in world metres.
    pub fn voxel_centre(&self, voxel: VoxelPos) -> [f32; 3] {
        self.world_from_voxel(voxel.to_array().map(|v| v as f32 + 0.5))
    }

    /// The voxels that a box in world metres touches; empty where the box is inside out
    /// or not a number.
    pub fn region(&self, min_m: impl Into<[f32; 3]>, max_m: impl Into<[f32; 3]>) -> Region {
        let (min_m, max_m) = (min_m.into(), max_m.into());
        let ordered = (0..3).all(|i| min_m[i] < max_m[i]);
        if !ordered {
            return Region::default();
        }
        let [x, y, z] = self.voxel_from_world(max_m).map(|v| v.ceil() as i32);
        Region { min: self.voxel_at(min_m), max: VoxelPos::new(x, y, z) }
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
    fn boxes_that_are_no_boxes_are_empty() {
        let placement = Placement::default();
        assert!(placement.region([f32::NAN, 0.0, 0.0], [1.0; 3]).is_empty());
        assert!(placement.region([1.0; 3], [0.0; 3]).is_empty());
        assert!(!placement.region([0.0; 3], [f32::INFINITY; 3]).within_limits());
    }
}
