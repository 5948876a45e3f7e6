//! The coder, the parts of a lead byte, and what can be wrong with bytes.

use crate::voxel::Kind;
use std::fmt;

/// Material in the lead byte after which, in the wide dialect, the material follows.
pub(super) const ESCAPE: u8 = 63;
pub(super) const HAS_OCCUPANCY: u8 = 0x40;
pub(super) const HAS_COUNT: u8 = 0x80;

/// How materials are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// All 256: a lead material of 63 says that the material follows in its own byte.
    #[default]
    Wide,
    /// 0 to 63, all in the lead byte, as in Roblox files, which use 0 to 22.
    Narrow,
}

impl Dialect {
    /// Largest material id that can be written.
    pub const fn max_material(self) -> u8 {
        match self {
            Dialect::Wide => 255,
            Dialect::Narrow => 63,
        }
    }
}

/// The coder: which materials are solid, and how they are written.
///
/// Kinds matter for water only: solid cells can hold it, air and liquid cannot.
#[derive(Clone, Copy, Debug)]
pub struct Rle<'a> {
    /// Kinds of all material ids, as [`crate::voxel::MaterialTable::kinds`] gives them.
    pub kinds: &'a [Kind; 256],
    /// How materials are written.
    pub dialect: Dialect,
}

impl<'a> Rle<'a> {
    /// The coder of our own files, of undo and of disk: any of 256 materials.
    pub fn wide(kinds: &'a [Kind; 256]) -> Rle<'a> {
        Rle { kinds, dialect: Dialect::Wide }
    }

    /// The coder of Roblox files: materials 0 to 63, no escape.
    pub fn narrow(kinds: &'a [Kind; 256]) -> Rle<'a> {
        Rle { kinds, dialect: Dialect::Narrow }
    }
}

/// Why bytes are not valid runs of a box, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Offset of the invalid run (its lead byte).
    pub offset: usize,
    /// Index of the cell at which that run starts.
    pub cell: usize,
    /// What is wrong with it.
    pub kind: DecodeErrorKind,
}

/// What can be wrong with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes end before the cells are complete.
    Truncated {
        /// Cells still missing.
        missing: usize,
    },
    /// The run is longer than what is left of the box.
    RunTooLong {
        /// Cells in the run.
        run: usize,
        /// Cells left.
        left: usize,
    },
    /// Water in a cell that is not solid.
    WaterNotInSolid {
        /// The cell's material.
        material: u8,
    },
    /// No encoder writes this; the text says what is wrong. Only [`BitRle`](super::BitRle) asks.
    NotCanonical(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run at byte {}, cell {}: ", self.offset, self.cell)?;
        match self.kind {
            DecodeErrorKind::Truncated { missing } => {
                write!(f, "the data ends while {missing} cells are missing")
            }
            DecodeErrorKind::RunTooLong { run, left } => {
                write!(f, "a run of {run} cells where only {left} are left")
            }
            DecodeErrorKind::WaterNotInSolid { material } => {
                write!(f, "water in material {material}, which is not solid")
            }
            DecodeErrorKind::NotCanonical(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for DecodeError {}
