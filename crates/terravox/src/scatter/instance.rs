//! A point of the ground with what stands there, and the order in which blocks keep them.

use crate::voxel::Region;

/// Quanta of a cell, in which points and vertices are integers: twice as fine as vertices, so
/// that points, which are odd, never lie on one.
pub(super) const QUANTA: i32 = 1 << QUANTA_LOG2;
pub(super) const QUANTA_LOG2: u32 = 13;

/// Something that stands on the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Instance {
    /// Identifies the point among those of its rule: the same at all levels of detail, and for
    /// all surfaces above one another. For variants. To remember which trees were felled, take the
    /// height as well, since floors above one another share the id.
    pub id: u64,
    /// Position in voxels from the block's min corner; up to ¾ of a cell outside of the block.
    pub position: [f32; 3],
    /// Unit normal of the ground, pointing out of it.
    pub normal: [f32; 3],
    /// Size, within the range of the rule.
    pub size: f32,
    /// Angle about the vertical axis, radians, 0 to 2π.
    pub yaw_radians: f32,
    /// Rank of the point, 0 to 1: sparser selections keep lower ranks.
    pub rank: f32,
    /// The cell of the ground that it stands on, from the block's min corner.
    pub cell: [u8; 3],
    /// The material of that cell.
    pub material: u8,
    /// The number of the rule.
    pub rule: u8,
}

impl Instance {
    /// Where the instance is in its block, as one number: by rule, x, z and height. Positions are
    /// whole quanta, so it is exact.
    pub(super) fn key(&self, voxels_per_cell: f32) -> u64 {
        // 18 bits an axis: one cell around 32, in half as many quanta. Of x and z the lowest bit
        // is always set, of y never.
        let axis = |v: f32| ((v / voxels_per_cell * QUANTA as f32) as i32 + QUANTA) as u64 >> 1;
        let [x, y, z] = self.position.map(axis);
        u64::from(self.rule) << 54 | x << 36 | z << 18 | y
    }

    /// The whole order: of two surfaces that touch at the point, by cell and normal.
    pub(super) fn tie(&self) -> ([u8; 3], [u32; 3]) {
        (self.cell, self.normal.map(f32::to_bits))
    }

    /// Whether the cell lies in `part`, in cells from the block's min corner.
    pub(super) fn stands_in(&self, part: Region) -> bool {
        part.contains(self.cell.map(i32::from).into())
    }
}
