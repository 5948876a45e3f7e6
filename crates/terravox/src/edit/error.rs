//! Why an edit cannot be done.

use super::{MAX_CLIP_CELLS, MAX_EDIT_CELLS};
use crate::voxel::{NotHeld, Region};
use std::fmt;

/// An edit that cannot be done. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditError {
    /// A value of the operation makes no sense; the text says which and what would.
    Invalid(&'static str),
    /// The edit reaches beyond the limits of the grid.
    BeyondLimits(Region),
    /// The edit reaches over more than [`MAX_EDIT_CELLS`] cells.
    TooLarge(Region),
    /// A copy of this region has more than [`MAX_CLIP_CELLS`] cells.
    ClipTooLarge(Region),
    /// A material is of a kind that the operation has no use for.
    WrongKind {
        /// The material.
        material: u8,
        /// What was asked for: `solid` or `liquid`.
        needed: &'static str,
    },
    /// A chunk that the edit needs is not held at mip 0. In a world that is streamed in,
    /// [`Terrain::hold`](crate::terrain::Terrain::hold) gets it.
    NotHeld(NotHeld),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Invalid(what) => f.write_str(what),
            EditError::BeyondLimits(region) => {
                write!(f, "voxels {region} are beyond the limits of ±2^30 voxels")
            }
            EditError::TooLarge(region) => {
                write!(f, "voxels {region} are more than the {MAX_EDIT_CELLS} of one edit")
            }
            EditError::ClipTooLarge(region) => {
                write!(f, "voxels {region} are more than the {MAX_CLIP_CELLS} of one copy")
            }
            EditError::WrongKind { material, needed } => {
                write!(f, "material {material} is not {needed}")
            }
            EditError::NotHeld(error) => {
                write!(f, "{error}; Terrain::hold fills what is far away")
            }
        }
    }
}

impl std::error::Error for EditError {}

impl From<NotHeld> for EditError {
    fn from(error: NotHeld) -> EditError {
        EditError::NotHeld(error)
    }
}
