//! Why a heightmap cannot be read or imported.

use super::limits::{MAX_EXTENT_VOXELS, MAX_IMPORT_CHUNKS};
use crate::import_budget::BudgetError;

/// Why a heightmap cannot be read or imported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HeightmapError {
    /// The bytes are not a valid PNG.
    #[error("PNG: {0}; the file is damaged or not a PNG, get another copy")]
    Png(String),
    /// The bytes are not a TIFF whose heights can be read.
    #[error("TIFF: {0}")]
    Tiff(String),
    /// The bytes are not a grid of numbers that can be read.
    #[error("grid: {0}")]
    Grid(String),
    /// The bytes are not a point cloud that can be read.
    #[error("point cloud: {0}")]
    Points(String),
    /// A pixel is not grey.
    #[error(
        "pixel ({}, {}) is {}, {}, {}: this is a colour picture, and a heightmap must be grey",
        .pixel[0], .pixel[1], .rgb[0], .rgb[1], .rgb[2]
    )]
    Colours {
        /// The first such pixel: column and row.
        pixel: [usize; 2],
        /// Its red, green and blue, 8 or 16 bits as in the file.
        rgb: [u16; 3],
    },
    /// A PNG or raw file is too large.
    #[error("{what}: {found}, at most {limit}; scale the heightmap down")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        found: u64,
        /// The largest size allowed.
        limit: u64,
    },
    /// The heightmap would cost more than its [`ImportBudget`](crate::ImportBudget).
    #[error("{0}; raise the limits if you trust the file, or scale the heightmap down")]
    OverBudget(#[from] BudgetError),
    /// Raw samples do not fill the given size.
    #[error(
        "the file has {bytes} bytes, but {width} × {depth} samples of 16 bits are {wanted}; give the right width and height"
    )]
    RawSize {
        /// Bytes of the file.
        bytes: usize,
        /// Samples in a row.
        width: usize,
        /// Rows.
        depth: usize,
        /// Bytes that these samples take.
        wanted: u64,
    },
    /// The size of raw samples is not given and they are not a square.
    #[error("{samples} raw samples of 16 bits are not a square; give width and height{hint}")]
    RawNotSquare {
        /// Samples in the file.
        samples: usize,
        /// A suggestion to append to the message; empty if there is none.
        hint: String,
    },
    /// The heightmap has no samples.
    #[error("the heightmap is empty")]
    Empty,
    /// The world would be wider than
    /// [`HeightmapOptions::MAX_EXTENT_VOXELS`](super::HeightmapOptions::MAX_EXTENT_VOXELS).
    #[error(
        "the world would be {voxels} voxels wide, at most {MAX_EXTENT_VOXELS}; lower voxels_per_sample"
    )]
    TooWide {
        /// Voxels along the longer side.
        voxels: u64,
    },
    /// The world would have more than
    /// [`HeightmapImport::MAX_CHUNKS`](super::HeightmapImport::MAX_CHUNKS) chunks.
    #[error(
        "the world would have {chunks} chunks, at most {MAX_IMPORT_CHUNKS} in memory; \
         generate it column by column (HeightmapRelief), or lower voxels_per_sample"
    )]
    TooManyChunks {
        /// Chunks of the whole world, from its lowest ground to its highest.
        chunks: u64,
    },
    /// An option of [`HeightmapOptions`](super::HeightmapOptions) is out of range.
    #[error("{option} is {value}; give {low} to {high}")]
    OutOfRange {
        /// The field.
        option: &'static str,
        /// Its value.
        value: f64,
        /// The lowest value allowed.
        low: f64,
        /// The highest value allowed.
        high: f64,
    },
    /// Ground or water would be beyond the limits of a grid.
    #[error("the world would reach height {height}, at most ±2^30; change base or height")]
    TooHigh {
        /// The height, in voxels.
        height: f64,
    },
    /// Heights or options are invalid; the text says which and why.
    #[error("{0}")]
    Options(String),
}
