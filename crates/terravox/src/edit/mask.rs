//! Which cells an operation may change.

use super::EditError;
use crate::voxel::{Cell, VoxelPos};

/// Conditions that a cell must meet to be changed, all of them; the default accepts every cell.
/// They apply to the cells as they were before the operation.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct EditMask {
    /// The cell's material is one of these, at most [`EditMask::MAX_MATERIALS`]; empty accepts any.
    /// Without air (0) a fill adds no new ground.
    pub materials: Vec<u8>,
    /// The height of the cell's centre is between these two, in the unit of the brush.
    pub heights: Option<[f64; 2]>,
    /// The slope of the surface at the cell, rise over run, is between these two: 0 is flat, 1 is
    /// 45°. Cells away from a surface are rejected, and so are overhangs. Not the measure of
    /// [`SlopeRule`](crate::mesh::shade::SlopeRule), which is 1 − n.y, nor
    /// [`Slope`](crate::generate::Slope), which is a Lipschitz constant.
    pub slope: Option<[f64; 2]>,
}

impl EditMask {
    /// Maximum number of listed materials: there are no more, and the list is searched for every cell.
    pub const MAX_MATERIALS: usize = 256;

    /// Returns whether every cell is accepted.
    pub fn accepts_all(&self) -> bool {
        self.materials.is_empty() && self.heights.is_none() && self.slope.is_none()
    }

    pub(super) fn scaled(&self, scale: f64, offset: [f64; 3]) -> EditMask {
        let heights = self.heights.map(|range| range.map(|y| y * scale + offset[1]));
        EditMask { heights, ..self.clone() }
    }

    pub(super) fn check(&self) -> Result<(), EditError> {
        check_materials(&self.materials)?;
        let ordered = |range: Option<[f64; 2]>| range.is_none_or(|[low, high]| low <= high);
        if !ordered(self.heights) {
            return Err(EditError::Invalid("heights must be two numbers, the lower first"));
        }
        if !ordered(self.slope) {
            return Err(EditError::Invalid("slope must be two numbers, the lower first"));
        }
        Ok(())
    }

    /// Whether the cell at `pos` is accepted; `solid_at` returns the solid fill in 256ths of
    /// cells beside it.
    pub(super) fn passes(
        &self,
        pos: VoxelPos,
        cell: Cell,
        solid_at: impl Fn([i32; 3]) -> u16,
    ) -> bool {
        let material = self.materials.is_empty() || self.materials.contains(&cell.material);
        let height = f64::from(pos.y) + 0.5;
        material
            && self.heights.is_none_or(|[low, high]| low <= height && height <= high)
            && self.slope.is_none_or(|range| slope_between(range, solid_at))
    }
}

/// Refuses a list of more than [`EditMask::MAX_MATERIALS`].
pub(super) fn check_materials(materials: &[u8]) -> Result<(), EditError> {
    match materials.len() {
        0..=EditMask::MAX_MATERIALS => Ok(()),
        _ => Err(EditError::Invalid("at most 256 materials can be listed; list each once")),
    }
}

/// Whether the fill decreases upward, with a slope in the range.
fn slope_between([low, high]: [f64; 2], solid_at: impl Fn([i32; 3]) -> u16) -> bool {
    let difference = |a: [i32; 3], b: [i32; 3]| f64::from(solid_at(a)) - f64::from(solid_at(b));
    let up = difference([0, -1, 0], [0, 1, 0]);
    let x = difference([-1, 0, 0], [1, 0, 0]);
    let z = difference([0, 0, -1], [0, 0, 1]);
    let slope = (x * x + z * z).sqrt() / up;
    up > 0.0 && low <= slope && slope <= high
}

#[cfg(test)]
mod tests {
    use crate::edit::{EditOp, Editor};
    use crate::voxel::{GridOptions, VoxelGrid};

    #[test]
    fn longer_lists_of_materials_than_there_are_materials_are_refused() {
        let mut grid = VoxelGrid::new(GridOptions::default());
        for (count, is_allowed) in [(256, true), (257, false), (130_000, false)] {
            let mut op = EditOp::fill_ball(8, [0.0; 3], 4.0);
            let EditOp::Brush(brush) = &mut op else { unreachable!("it is a brush") };
            brush.mask.materials = vec![255; count];
            let applied = Editor::default().apply(&mut grid, &op, None);
            assert_eq!(applied.is_ok(), is_allowed, "{count}");
        }
    }
}
