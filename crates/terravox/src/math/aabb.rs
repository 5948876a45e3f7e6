//! Axis-aligned boxes.

use crate::voxel::{Region, VoxelPos};

/// A closed axis-aligned box, in the unit of the caller: voxels in [`collide`](crate::collide) and
/// [`ShownMesh::bounds_voxels`](crate::lod::ShownMesh::bounds_voxels), metres in
/// [`ShownMesh::bounds`](crate::lod::ShownMesh::bounds). f64, since a world has 2³¹ voxels along
/// an axis and f32 tells only 2²⁴ apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Aabb {
    /// Min corner.
    pub min: [f64; 3],
    /// Max corner.
    pub max: [f64; 3],
}

impl Aabb {
    /// The box from `min` to `max`.
    pub fn new(min: impl Into<[f64; 3]>, max: impl Into<[f64; 3]>) -> Aabb {
        Aabb { min: min.into(), max: max.into() }
    }

    /// The box around `centre` that reaches `half` to each side.
    pub fn around(centre: impl Into<[f64; 3]>, half: impl Into<[f64; 3]>) -> Aabb {
        let (centre, half) = (centre.into(), half.into());
        Aabb {
            min: [0, 1, 2].map(|i| centre[i] - half[i]),
            max: [0, 1, 2].map(|i| centre[i] + half[i]),
        }
    }

    /// The space that the voxels of `region` fill.
    pub fn of_region(region: Region) -> Aabb {
        let corner = |p: VoxelPos| p.to_array().map(f64::from);
        Aabb { min: corner(region.min), max: corner(region.max) }
    }

    /// Grown by `by`, in the same unit, on all six sides.
    pub fn grow(self, by: f64) -> Aabb {
        Aabb { min: self.min.map(|v| v - by), max: self.max.map(|v| v + by) }
    }

    /// The smallest box that holds both.
    pub fn union(self, other: Aabb) -> Aabb {
        Aabb {
            min: [0, 1, 2].map(|i| self.min[i].min(other.min[i])),
            max: [0, 1, 2].map(|i| self.max[i].max(other.max[i])),
        }
    }

    /// Whether the two share a point; sides that touch do.
    pub fn meets(self, other: Aabb) -> bool {
        (0..3).all(|i| self.min[i] <= other.max[i] && self.max[i] >= other.min[i])
    }

    /// Whether the corners are finite and in order. Queries with other boxes find nothing.
    pub fn is_valid(self) -> bool {
        (0..3).all(|i| {
            self.min[i].is_finite() && self.max[i].is_finite() && self.min[i] <= self.max[i]
        })
    }

    /// The voxels that the box touches. Coordinates saturate; a side that lies on a border
    /// between voxels touches both.
    pub fn voxels(self) -> Region {
        // Casts saturate.
        let [x0, y0, z0] = self.min.map(|v| (v.ceil() - 1.0) as i32);
        let [x1, y1, z1] = self.max.map(|v| (v.floor() as i32).saturating_add(1));
        Region { min: VoxelPos::new(x0, y0, z0), max: VoxelPos::new(x1, y1, z1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_touch_the_voxels_on_both_sides_of_a_border() {
        let boxed = Aabb::new([0.0, -0.5, 1.25], [1.0, 0.5, 1.5]);
        assert_eq!(boxed.voxels(), Region::new([-1, -1, 1], [2, 1, 2]));
        assert!(boxed.meets(Aabb::new([1.0; 3], [2.0; 3]).grow(0.5)));
        assert!(!boxed.meets(Aabb::new([1.0; 3], [2.0; 3])));
    }

    #[test]
    fn invalid_boxes_are_detected() {
        assert!(!Aabb::new([f64::NAN; 3], [1.0; 3]).is_valid());
        assert!(!Aabb::new([0.0; 3], [f64::INFINITY; 3]).is_valid());
        assert!(!Aabb::new([1.0; 3], [0.0; 3]).is_valid());
        assert!(Aabb::new([1.0; 3], [1.0; 3]).is_valid());
        let far = Aabb::new([-1e300; 3], [1e300; 3]).voxels();
        assert_eq!((far.min.x, far.max.x), (i32::MIN, i32::MAX));
    }
}
