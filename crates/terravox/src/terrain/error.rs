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
///     Err(TerrainError { reason: EditError::NotHeld(_), .. }) => {} // not filled yet
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
                write!(f, " has {cells} voxels; one call takes {max_cells}, so split it")
            }
            EditError::NotHeld(error) => {
                self.write_box(f, error.chunk.region())?;
                f.write_str(" is not held at mip 0; call Terrain::hold for it first")
            }
            EditError::NotFilled(chunk) => {
                self.write_box(f, chunk.region())?;
                f.write_str(" is not held: the function that fills it did not provide its cells")
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

impl std::error::Error for TerrainError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}

impl TerrainError {
    /// Returns the error of an edit in voxels, for messages in metres.
    pub fn new(reason: EditError, placement: Placement) -> TerrainError {
        TerrainError { reason, placement }
    }

    fn write_box(&self, f: &mut fmt::Formatter<'_>, region: Region) -> fmt::Result {
        let corner = |v: VoxelPos| self.placement.world_from_voxel(v.to_array().map(f64::from));
        let (min, max) = (corner(region.min), corner(region.max));
        write!(f, "the box from {min:?} to {max:?} m")
    }
}
