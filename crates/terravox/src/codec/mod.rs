//! Run-length coding of cells: for files, undo and disk.
//!
//! A box of cells becomes runs of equal cells, in the order of the box. A run is one
//! to five bytes:
//!
//! ```text
//! lead        bits 0–5 material, bit 6: occupancy follows, bit 7: count follows
//! [material]  only after a lead material of 63, in the wide dialect
//! [occupancy] if bit 6; else 255, or 0 for air
//! [count]     if bit 7: cells − 1, so 2 to 256; 0 = one cell, water follows
//! [water]     if count is 0: stored water that this solid cell holds
//! ```
//!
//! There is no length and no checksum: decoding stops when the box is full; file formats add
//! lengths and checksums.
//!
//! Source: Roblox's "Voxel Terrain: Storage" (2017), "Disk format". Count 0 is the
//! extension that the article reserved, with the meaning it has in real terrain
//! files; the material byte after 63 is ours, so that 256 materials fit.

mod decode;
mod encode;
#[cfg(test)]
mod naive;

use crate::voxel::{DenseBox, Kind};
use std::fmt;

/// Material in the lead byte after which, in the wide dialect, the material follows.
const ESCAPE: u8 = 63;
const HAS_OCCUPANCY: u8 = 0x40;
const HAS_COUNT: u8 = 0x80;

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

    /// Appends the runs of `material` and `occupancy`, with the `water` held by solid
    /// cells as (cell index, stored water) by ascending index, to `out`.
    ///
    /// The bytes are canonical: of all that decode to these cells they are the ones that a
    /// greedy coder writes, so equal cells give equal bytes. Occupancy of air, and
    /// water listed for a cell that is not solid, are ignored. At most 3
    /// bytes a cell and 2 more for a cell with water are appended.
    ///
    /// # Panics
    /// If the two slices differ in length, `water` is not strictly ascending or names a
    /// cell outside, or a material is above [`Dialect::max_material`].
    pub fn encode(self, material: &[u8], occupancy: &[u8], water: &[(u32, u8)], out: &mut Vec<u8>) {
        encode::encode(self, material, occupancy, water, out);
    }

    /// Appends the runs of a box; [`Rle::encode`] with its arrays.
    pub fn encode_box(self, cells: &DenseBox, out: &mut Vec<u8>) {
        self.encode(cells.materials(), cells.occupancies(), cells.water(), out);
    }

    /// Fills `material` and `occupancy` from the runs at the start of `bytes`, replaces
    /// `water` with the water held by solid cells, ascending, and returns how many bytes
    /// the runs took. Cells come in the order of the box: x fastest, then z, then y. Safe for
    /// untrusted input: any bytes return cells or an error. Memory grows by at most 8 bytes for
    /// every 3 bytes read. An occupancy byte on air is read and dropped.
    ///
    /// # Errors
    /// If the bytes end early, a run does not fit what is left of the arrays, or water
    /// follows air or a liquid. The arrays then hold unspecified cells.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn decode(
        self,
        bytes: &[u8],
        material: &mut [u8],
        occupancy: &mut [u8],
        water: &mut Vec<(u32, u8)>,
    ) -> Result<usize, DecodeError> {
        decode::decode(self, bytes, material, occupancy, water)
    }

    /// Fills all cells of a box, as large as it is, from the runs at the start of
    /// `bytes`; [`Rle::decode`] with its arrays.
    ///
    /// # Errors
    /// As [`Rle::decode`].
    pub fn decode_box(self, bytes: &[u8], cells: &mut DenseBox) -> Result<usize, DecodeError> {
        let mut water = std::mem::take(cells.water_mut());
        let (material, occupancy) = cells.arrays_mut();
        let read = self.decode(bytes, material, occupancy, &mut water);
        *cells.water_mut() = water;
        read
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
        }
    }
}

impl std::error::Error for DecodeError {}

#[cfg(test)]
mod tests;
