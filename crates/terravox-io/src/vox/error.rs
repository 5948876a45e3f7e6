//! Errors of `.vox` files. Every message is one line: what is wrong, where, and what to do.

use crate::import_budget::BudgetError;
use terravox::voxel::{LIMIT, NotHeld};

/// Why a `.vox` file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VoxError {
    /// The file is of another format.
    #[error("not a MagicaVoxel file: it starts with bytes {start}, but .vox starts with \"VOX \"")]
    Unknown {
        /// The first bytes, in hexadecimal.
        start: String,
    },
    /// The version is unknown.
    #[error(
        "version {found}, but only 150 to 200 are supported; save the file again with MagicaVoxel \
         0.99, or update terravox"
    )]
    Version {
        /// The version.
        found: u32,
    },
    /// The bytes violate the format.
    #[error("byte {offset}: {what}; the file is damaged or cut short, get another copy")]
    Damaged {
        /// Offset of the error.
        offset: usize,
        /// What is wrong.
        what: String,
    },
    /// A model has an invalid size, or a voxel outside of it.
    #[error("model {model}: {what}; save the file again with MagicaVoxel, or get another copy")]
    Model {
        /// Number of the model in the file, from 0.
        model: usize,
        /// What is wrong.
        what: String,
    },
    /// A node of the scene graph is invalid.
    #[error("scene node {node}: {what}; save the file again with MagicaVoxel, or get another copy")]
    Node {
        /// Id of the node.
        node: u32,
        /// What is wrong.
        what: String,
    },
    /// A node of the scene graph is below itself.
    #[error("scene node {node} is below itself; save the file again with MagicaVoxel")]
    Cycle {
        /// Id of the node.
        node: u32,
    },
    /// The file is valid but holds no model.
    #[error("the file holds no model; save it with at least one")]
    NoModels,
    /// A model lies beyond the limits of a grid.
    #[error(
        "model {model} would reach voxel {voxel} of the world, but only ±{LIMIT} are possible; move \
         it nearer to the origin"
    )]
    BeyondLimits {
        /// Number of the model in the file, from 0.
        model: usize,
        /// The farthest coordinate on an axis that is too far.
        voxel: i64,
    },
    /// An option is out of range.
    #[error("cells_per_voxel is {found}; give 1 to {most}")]
    CellsPerVoxel {
        /// The value.
        found: u32,
        /// The highest value allowed.
        most: u32,
    },
    /// The file would cost more than its [`ImportBudget`](crate::ImportBudget).
    #[error("{0}; raise the limits if you trust the file")]
    OverBudget(#[from] BudgetError),
}

/// Why a world cannot be exported to a `.vox` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VoxExportError {
    /// No cell is at least half full.
    #[error("the world has no cell that is at least half full, and a .vox file needs a voxel")]
    Empty,
    /// The file would be too long: its lengths are signed 32-bit integers.
    #[error(
        "more than {most} voxels do not fit in a .vox file; export a smaller part of the world"
    )]
    TooLong {
        /// Maximum number of voxels that fit.
        most: u64,
    },
    /// A chunk is not held at mip 0.
    #[error("{0}; load the whole world before exporting it")]
    NotHeld(#[from] NotHeld),
    /// The file cannot be written.
    #[error("cannot be written: {what}")]
    Io {
        /// What the system says.
        what: String,
    },
}

impl From<std::io::Error> for VoxExportError {
    fn from(error: std::io::Error) -> VoxExportError {
        VoxExportError::Io { what: error.to_string() }
    }
}
