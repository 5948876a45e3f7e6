//! Where a node of the scene lies: a signed permutation of the axes, then a translation.

use terravox::voxel::{LIMIT, Region, VoxelPos};

/// Maps points of a node to those of the world: coordinate `i` is `signs[i]` times coordinate
/// `axes[i]` of the node, plus `translation[i]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pose {
    axes: [u8; 3],
    signs: [i8; 3],
    translation: [i64; 3],
}

/// The rotation of a file without one.
pub(super) const NO_ROTATION: u8 = 1 << 2;

impl Pose {
    /// From Z up to Y up: (x, y, z) becomes (x, z, −y).
    pub const Y_UP: Pose = Pose { axes: [0, 2, 1], signs: [1, 1, -1], translation: [0; 3] };

    /// The pose of a byte of `_r`, which has rows: bits 0 and 1 say which entry of the first row is
    /// not 0, bits 2 and 3 which of the second, bits 4 to 6 which rows are negative. `None` if two
    /// rows have the same entry, or a fourth one.
    pub fn from_packed(rotation: u8, translation: [i32; 3]) -> Option<Pose> {
        let [first, second] = [rotation & 3, rotation >> 2 & 3];
        if first == 3 || second == 3 || first == second || rotation > 127 {
            return None;
        }
        let signs = [4, 5, 6].map(|bit| if rotation >> bit & 1 == 1 { -1 } else { 1 });
        let axes = [first, second, 3 - first - second];
        Some(Pose { axes, signs, translation: translation.map(i64::from) })
    }

    /// Returns the pose of a child, whose own one is `local`, below this one.
    pub fn then(&self, local: &Pose) -> Pose {
        let from = self.axes.map(usize::from);
        let translation = std::array::from_fn(|i| {
            let turned = i64::from(self.signs[i]) * local.translation[from[i]];
            self.translation[i].saturating_add(turned)
        });
        Pose {
            axes: from.map(|axis| local.axes[axis]),
            signs: std::array::from_fn(|i| self.signs[i] * local.signs[from[i]]),
            translation,
        }
    }

    /// Returns where the voxels of a model of this size lie, which turns about floor(size / 2).
    ///
    /// # Errors
    /// The coordinate that is beyond the limits of a grid, in cells.
    pub fn place(&self, size: [u16; 3], cells_per_voxel: i32) -> Result<ModelPlace, i64> {
        let scale = i64::from(cells_per_voxel);
        let (mut offsets, mut min, mut max) = ([0; 3], [0; 3], [0; 3]);
        for i in 0..3 {
            let edge = i64::from(size[usize::from(self.axes[i])]);
            let pivot = edge / 2;
            // The centre of voxel v is v + ½ − pivot from where the model turns.
            let at = self.translation[i];
            let (offset, low) = match self.signs[i] {
                1 => (at.saturating_sub(pivot), at.saturating_sub(pivot)),
                _ => (at.saturating_add(pivot - 1), at.saturating_add(pivot - edge)),
            };
            let bounds = [low, low.saturating_add(edge)].map(|v| v.saturating_mul(scale));
            let limit = i64::from(LIMIT);
            if let Some(&beyond) = bounds.iter().find(|v| v.abs() > limit) {
                return Err(beyond);
            }
            offsets[i] = offset as i32;
            [min[i], max[i]] = bounds.map(|v| v as i32);
        }
        let region = Region::new(min, max);
        Ok(ModelPlace { axes: self.axes, signs: self.signs.map(i32::from), offsets, region })
    }
}

/// Where the voxels of a model lie in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModelPlace {
    axes: [u8; 3],
    signs: [i32; 3],
    offsets: [i32; 3],
    /// All of the model, in cells.
    pub region: Region,
}

impl ModelPlace {
    /// Returns the position of a voxel of the model, in voxels of the file.
    #[inline]
    pub fn voxel(&self, at: [u8; 3]) -> VoxelPos {
        let from = self.axes.map(|axis| i32::from(at[usize::from(axis)]));
        let pos: [i32; 3] = std::array::from_fn(|i| self.signs[i] * from[i] + self.offsets[i]);
        pos.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 48 rotations and mirrors.
    fn poses() -> Vec<Pose> {
        (0..128).filter_map(|byte| Pose::from_packed(byte, [3, -70, 1000])).collect()
    }

    /// Maps a point, doubled so that the centres of voxels are integers.
    fn mapped(pose: &Pose, doubled: [i64; 3]) -> [i64; 3] {
        std::array::from_fn(|i| {
            let turned = i64::from(pose.signs[i]) * doubled[usize::from(pose.axes[i])];
            turned + 2 * pose.translation[i]
        })
    }

    #[test]
    fn the_byte_of_the_description_is_its_matrix() {
        // The rows are 0 1 0, 0 0 −1 and −1 0 0.
        let byte = 1 | 2 << 2 | 1 << 5 | 1 << 6;
        let pose = Pose::from_packed(byte, [0; 3]).expect("a rotation");
        assert_eq!(mapped(&pose, [1, 10, 100]), [10, -100, -1]);
        assert_eq!(poses().len(), 48);
        assert_eq!([0, 5, 3, 12, 15].map(|byte| Pose::from_packed(byte, [0; 3])), [None; 5]);
        let identity = Pose::from_packed(NO_ROTATION, [0; 3]).expect("no rotation");
        assert!(poses().iter().all(|pose| pose.then(&identity) == *pose));
    }

    #[test]
    fn a_pose_below_another_maps_as_both_do() {
        for outer in poses() {
            for inner in poses() {
                let point = [5, -2, 17];
                let both = mapped(&outer, mapped(&inner, point));
                assert_eq!(mapped(&outer.then(&inner), point), both);
            }
        }
    }

    #[test]
    fn voxels_lie_where_their_centres_are_mapped_to() {
        let size = [3_u16, 4, 1];
        for pose in poses() {
            let place = pose.place(size, 1).expect("within the limits");
            let mut all = Region::default();
            for pos in Region::new([0; 3], size.map(i32::from)).voxels() {
                let at = pos.to_array();
                let centre =
                    std::array::from_fn(|i| i64::from(2 * (at[i] - i32::from(size[i] / 2)) + 1));
                let corner = mapped(&pose, centre).map(|v| ((v - 1) / 2) as i32);
                assert!(mapped(&pose, centre).iter().all(|v| v.rem_euclid(2) == 1));
                let voxel = place.voxel(at.map(|v| v as u8));
                assert_eq!(voxel.to_array().map(|v| 2 * v), corner.map(|v| 2 * v));
                all = all.union(Region::one(voxel));
            }
            assert_eq!(all, place.region);
        }
    }

    #[test]
    fn what_is_beyond_the_limits_is_refused_and_nothing_overflows() {
        let at = |x: i32| Pose::from_packed(NO_ROTATION, [x, 0, 0]).expect("no rotation");
        assert!(at(LIMIT - 2).place([4, 1, 1], 1).is_ok());
        assert_eq!(at(LIMIT - 1).place([4, 1, 1], 1), Err(i64::from(LIMIT) + 1));
        assert_eq!(at(-LIMIT).place([4, 1, 1], 1), Err(-i64::from(LIMIT) - 2));
        assert!(at(LIMIT / 2).place([4, 1, 1], 3).is_err());
        let mut far = at(i32::MAX);
        for _ in 0..70 {
            let twice = Pose { translation: far.translation, ..far };
            far = far.then(&twice);
        }
        assert_eq!(far.translation[0], i64::MAX);
        assert!(far.place([256; 3], 256).is_err());
    }
}
