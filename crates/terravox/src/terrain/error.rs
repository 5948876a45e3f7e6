//! Errors of edits, fills and undo, in metres.

use super::placement::Placement;
use crate::edit::{CellCount, EditError, PlainNumber};
use crate::voxel::{Region, VoxelPos};
use std::fmt;

/// Why a [`Terrain`](super::Terrain) refused an edit, a fill or an undo. Nothing was changed,
/// except by [`Terrain::hold`](super::Terrain::hold), which keeps what it could get.
///
/// ```
/// use terravox::edit::{EditError, EditOp};
/// use terravox::terrain::{Terrain, TerrainError};
///
/// let mut terrain = Terrain::default();
/// match terrain.edit(&EditOp::dig_ball([0.0; 3], 4.0)) {
///     Err(TerrainError { reason: EditError::NotHeld(_), .. }) => {} // not loaded yet
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TerrainError {
    /// What was refused; lengths are voxels.
    pub reason: EditError,
    /// Where the voxels lie in world metres.
    pub placement: Placement,
}

impl fmt::Display for TerrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.placement.voxel_size_m;
        match &self.reason {
            EditError::BeyondLimits(region) => {
                // Corners that were clamped are not those that were given.
                let corners = [region.min, region.max].map(VoxelPos::to_array);
                let is_clamped = |v: &i32| matches!(*v, i32::MIN | i32::MAX);
                match region.is_empty() || corners.as_flattened().iter().any(is_clamped) {
                    true => f.write_str("the box")?,
                    false => self.write_box(f, *region)?,
                }
                write!(f, " is not finite, or not within ±2^30 voxels of {size} m")
            }
            EditError::TooLarge { region, max_cells } => {
                self.write_box(f, *region)?;
                let cells = CellCount(region.volume());
                write!(
                    f,
                    " has {cells} voxels; one call may touch at most {max_cells}, so split it"
                )
            }
            EditError::NotHeld(error) => {
                self.write_box(f, error.chunk.region())?;
                f.write_str(" is not held at mip 0; call Terrain::hold for it first")
            }
            EditError::NotFilled(chunk) => {
                self.write_box(f, chunk.region())?;
                f.write_str(
                    " is not held: the function that fills it did not provide its cells; provide \
                     them in the closure, or ask for a smaller box",
                )
            }
            EditError::OutOfRange { name, given, allowed, is_length: true, axis } => {
                let metres = given * size + axis.map_or(0.0, |axis| self.placement.origin_m[axis]);
                write!(f, "{name} is {} m; it must be {allowed}", PlainNumber(metres))?;
                match allowed.contains("voxel") && size != 1.0 {
                    true => write!(f, " of {size} m"),
                    false => Ok(()),
                }
            }
            reason => reason.fmt(f),
        }
    }
}

// Without a source: the message has the reason already, in metres.
impl std::error::Error for TerrainError {}

impl TerrainError {
    /// Returns the error of an edit in voxels, for messages in metres.
    pub fn new(reason: EditError, placement: Placement) -> TerrainError {
        TerrainError { reason, placement }
    }

    fn write_box(&self, f: &mut fmt::Formatter<'_>, region: Region) -> fmt::Result {
        let corner = |v: VoxelPos| {
            let metres = self.placement.world_from_voxel(v.to_array().map(f64::from));
            metres.map(|v| PlainNumber(self.rounded(v)))
        };
        let ([x, y, z], [to_x, to_y, to_z]) = (corner(region.min), corner(region.max));
        write!(f, "the box from [{x}, {y}, {z}] to [{to_x}, {to_y}, {to_z}] m")
    }

    /// Rounds metres to decimals that are at most 1e-6 of a voxel.
    fn rounded(&self, metres: f64) -> f64 {
        let decimals = (6.0 - self.placement.voxel_size_m.log10()).ceil().clamp(0.0, 15.0);
        let scale = 10f64.powi(decimals as i32);
        // Plus 0, so that it is not written as -0.
        (metres * scale).round() / scale + 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::ChunkPos;

    #[test]
    fn corners_of_boxes_are_written_without_errors_of_rounding() {
        let text = |voxel_size_m, origin_m, region| {
            let placement = Placement { voxel_size_m, origin_m };
            TerrainError::new(EditError::TooLarge { region, max_cells: 8 }, placement).to_string()
        };
        let text_of_three = text(0.1, [0.0; 3], Region::new([3, -3, 0], [7, 6, 9]));
        assert!(text_of_three.starts_with("the box from [0.3, -0.3, 0] to [0.7, 0.6, 0.9] m has "));
        assert!(text_of_three.ends_with("voxels; one call may touch at most 8, so split it"));
        let fine = text(1e-3, [0.1, 0.2, -0.001], Region::new([200, 100, 1], [201, 101, 2]));
        assert!(
            fine.starts_with("the box from [0.3, 0.3, 0] to [0.301, 0.301, 0.001] m"),
            "{fine}"
        );
    }

    #[test]
    fn a_chunk_that_was_not_filled_names_a_remedy_and_no_source_repeats_it() {
        let reason = EditError::NotFilled(ChunkPos::new(0, 0, 0));
        let error = TerrainError::new(reason, Placement::default());
        let text = error.to_string();
        assert!(text.starts_with("the box from [0, 0, 0] to [32, 32, 32] m"), "{text}");
        assert!(text.ends_with("or ask for a smaller box"), "{text}");
        assert!(std::error::Error::source(&error).is_none());
    }
}
