//! Why an edit, a fill or a read was refused.

use super::limits::{EditCost, EditLimits};
use crate::voxel::{ChunkPos, Kind, NotHeld, Region};
use std::fmt;

/// Why an edit, a copy or an undo was refused. Nothing was changed. Lengths are voxels;
/// [`TerrainError`](crate::terrain::TerrainError) has the same in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EditError {
    /// A number of the operation is out of its range, or NaN.
    OutOfRange {
        /// What the number is.
        name: &'static str,
        /// The number.
        given: f64,
        /// Its range, in words.
        allowed: &'static str,
        /// Whether it is a length or a coordinate, in voxels.
        is_length: bool,
        /// The axis (0, 1, 2 for x, y, z) if it is a coordinate, from voxel (0, 0, 0).
        axis: Option<usize>,
    },
    /// The operation is invalid in another way; the text says what is allowed.
    Invalid(&'static str),
    /// The region reaches beyond the [limits](crate::voxel::LIMIT) of the grid. Corners outside the
    /// i32 range are clamped; a box with NaN gives an empty region.
    BeyondLimits(Region),
    /// The region has more cells than one operation may touch.
    TooLarge {
        /// The region.
        region: Region,
        /// How many cells it may have.
        max_cells: u64,
    },
    /// The operation would cost more than the limits allow.
    TooCostly {
        /// What it would cost.
        cost: EditCost,
        /// What it may cost.
        limits: EditLimits,
    },
    /// A material is of the wrong kind for the operation.
    WrongKind {
        /// The material.
        material: u8,
        /// The kind that the operation needs.
        needed: Kind,
    },
    /// The operation is on a channel that is not declared.
    NoChannel {
        /// The number of the channel.
        channel: u8,
        /// How many channels there are; their numbers are below that.
        declared: u8,
    },
    /// A chunk that the operation needs is not held at mip 0.
    NotHeld(NotHeld),
    /// The function that was to fill a chunk did not.
    NotFilled(ChunkPos),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::OutOfRange { name, given, allowed, .. } => {
                write!(f, "{name} is {}; it must be {allowed}", PlainNumber(*given))
            }
            EditError::Invalid(what) => f.write_str(what),
            EditError::BeyondLimits(region) => {
                write!(f, "voxels {region} are not within the limits of the grid, ±2^30 voxels")
            }
            EditError::TooLarge { region, max_cells } => {
                let cells = CellCount(region.volume());
                write!(f, "voxels {region} are {cells} cells; one operation may touch {max_cells}")
            }
            EditError::TooCostly { cost, limits } => {
                write!(f, "the operation would cost {}, so split it", Excess(cost, limits))
            }
            EditError::WrongKind { material, needed } => {
                let needed = match needed {
                    Kind::Air => "air",
                    Kind::Liquid => "a liquid",
                    Kind::Solid => "a solid",
                };
                write!(f, "material {material} is not {needed}; pass one that is")
            }
            EditError::NoChannel { channel, declared } => write!(
                f,
                "there is no channel {channel}; {declared} are declared, with numbers from 0 on"
            ),
            EditError::NotHeld(error) => error.fmt(f),
            EditError::NotFilled(chunk) => write!(
                f,
                "chunk {chunk} is needed, and the fill function set it missing; edit when it is there"
            ),
        }
    }
}

/// A number, as it is written in errors: without three hundred digits.
pub(crate) struct PlainNumber(pub f64);

impl fmt::Display for PlainNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() {
            1e15.. | ..1e-5 if self.0 != 0.0 && self.0.is_finite() => write!(f, "{:e}", self.0),
            _ => write!(f, "{}", self.0),
        }
    }
}

/// Number of cells, as it is written in errors: [`Region::volume`] saturates.
pub(crate) struct CellCount(pub u64);

impl fmt::Display for CellCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u64::MAX => f.write_str("over 2^64"),
            cells => write!(f, "{cells}"),
        }
    }
}

/// The first limit that a cost exceeds, as it is written in errors.
struct Excess<'a>(&'a EditCost, &'a EditLimits);

impl fmt::Display for Excess<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excess(cost, limits) = self;
        if cost.cells > limits.max_cells {
            write!(f, "{} cells, more than the {} allowed", cost.cells, limits.max_cells)
        } else if cost.chunks > limits.max_chunks {
            write!(f, "{} chunks, more than the {} allowed", cost.chunks, limits.max_chunks)
        } else {
            write!(f, "{} units of work, more than the {} allowed", cost.work, limits.max_work)
        }
    }
}

impl std::error::Error for EditError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            EditError::NotHeld(error) => Some(error),
            _ => None,
        }
    }
}

impl From<NotHeld> for EditError {
    fn from(error: NotHeld) -> EditError {
        EditError::NotHeld(error)
    }
}

/// A number of an operation, to be checked.
pub(super) struct NamedNumber {
    name: &'static str,
    given: f64,
    is_length: bool,
    axis: Option<usize>,
}

impl NamedNumber {
    /// A length in voxels.
    pub fn length(name: &'static str, given: f64) -> NamedNumber {
        NamedNumber { name, given, is_length: true, axis: None }
    }

    /// A coordinate on an axis in voxels.
    pub fn coordinate(name: &'static str, axis: usize, given: f64) -> NamedNumber {
        NamedNumber { name, given, is_length: true, axis: Some(axis) }
    }

    /// Any other number.
    pub fn plain(name: &'static str, given: f64) -> NamedNumber {
        NamedNumber { name, given, is_length: false, axis: None }
    }

    /// Returns an error that says what is allowed, unless the number is.
    pub fn check(self, is_allowed: bool, allowed: &'static str) -> Result<(), EditError> {
        let NamedNumber { name, given, is_length, axis } = self;
        match is_allowed {
            true => Ok(()),
            false => Err(EditError::OutOfRange { name, given, allowed, is_length, axis }),
        }
    }
}
