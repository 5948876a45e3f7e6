//! Errors of Roblox files. Every message is one line: what is wrong, where, and what to do.

use super::limits::MAX_CHUNK_COORDINATE;
use crate::import_budget::BudgetError;
use std::fmt;
use terravox::codec::DecodeError;
use terravox::voxel::ChunkPos;

/// The part of a file in which an offset counts bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePart {
    /// The file itself.
    File,
    /// The decompressed SmoothGrid value.
    SmoothGrid,
    /// Metadata from [`RobloxMetadata::to_bytes`](super::RobloxMetadata::to_bytes).
    Metadata,
}

impl fmt::Display for FilePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FilePart::File => "file",
            FilePart::SmoothGrid => "SmoothGrid",
            FilePart::Metadata => "Roblox metadata",
        })
    }
}

/// Why an import or export failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RobloxError {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The container is unknown.
    #[error(
        "not a Roblox file: it starts with bytes {start}, but .rbxm and .rbxl start with \
         \"<roblox!\", .rbxmx and .rbxlx with \"<roblox\", a SmoothGrid with 01 05"
    )]
    Unknown {
        /// The first bytes, in hexadecimal.
        start: String,
    },
    /// The version is unknown.
    #[error(
        "{part}, byte {offset}: version {found}, but only version {known} is supported; \
         save the file again with a current program"
    )]
    Version {
        /// The part that the offset is in.
        part: FilePart,
        /// Offset of the version.
        offset: usize,
        /// The version.
        found: String,
        /// The known version.
        known: u32,
    },
    /// The chunks have another edge than 32 voxels.
    #[error(
        "SmoothGrid, byte 1: chunks have an edge of 2^{log2} voxels, but only 2^5 is supported; \
         the file is damaged or of a newer format"
    )]
    ChunkEdge {
        /// Log2 of the edge that the file claims.
        log2: u8,
    },
    /// The bytes violate the format.
    #[error("{part}, byte {offset}: {what}; the file is damaged or cut short, get another copy")]
    Damaged {
        /// The part that the offset is in.
        part: FilePart,
        /// Offset of the error.
        offset: usize,
        /// What is wrong.
        what: String,
    },
    /// A run of cells is invalid.
    #[error(
        "SmoothGrid, chunk {chunk}, {error}; the file is damaged or cut short, get another copy"
    )]
    Cells {
        /// The chunk that holds the run.
        chunk: ChunkPos,
        /// The error; its offset counts from the start of the SmoothGrid.
        error: DecodeError,
    },
    /// A chunk is listed twice.
    #[error(
        "SmoothGrid, byte {offset}: chunk {chunk} is listed twice; the file is damaged, get another copy"
    )]
    DuplicateChunk {
        /// The chunk.
        chunk: ChunkPos,
        /// Offset of the second listing.
        offset: usize,
    },
    /// A chunk is farther from the origin than Roblox allows.
    #[error(
        "SmoothGrid: chunk ({}, {}, {}) lies beyond the limit of {} chunks from the origin",
        chunk[0], chunk[1], chunk[2], MAX_CHUNK_COORDINATE
    )]
    BeyondLimits {
        /// The chunk.
        chunk: [i64; 3],
    },
    /// The file would cost more than its [`ImportBudget`](crate::ImportBudget).
    #[error("{part}, byte {offset}: {error}; raise the limits if you trust the file")]
    OverBudget {
        /// The part that the offset is in.
        part: FilePart,
        /// Offset of what would cost too much.
        offset: usize,
        /// What it would cost, and the limit.
        error: BudgetError,
    },
    /// The file is valid but holds no terrain.
    #[error(
        "the file holds no Terrain: {instances} instances of {classes} classes, none of them \
         Terrain; save the place, or the Terrain in its Workspace, and import that"
    )]
    NoTerrain {
        /// Instances in the file.
        instances: u64,
        /// Classes in the file.
        classes: u64,
    },
    /// The terrain is too large for a model.
    #[error("SmoothGrids of {bytes} bytes do not fit in a file; export fewer chunks")]
    TooLong {
        /// Bytes of the SmoothGrid, with those of other Terrains that share its chunk.
        bytes: usize,
    },
    /// A cell's material has no id in Roblox files.
    #[error(
        "chunk {chunk}: material {material} has no id in Roblox files, which allow 0 to 63; \
         replace it first"
    )]
    Material {
        /// The chunk that holds the cell.
        chunk: ChunkPos,
        /// The material.
        material: u8,
    },
}

impl RobloxError {
    pub(super) fn damaged(part: FilePart, offset: usize, what: impl Into<String>) -> RobloxError {
        RobloxError::Damaged { part, offset, what: what.into() }
    }
}
