//! Errors of region files. Every message is one line: what is wrong, where, and what to do.

use crate::import_budget::BudgetError;
use crate::inflate::InflateError;
use terravox::voxel::LIMIT;

/// Why a region file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnvilError {
    /// The file is too short for its two tables, or a place in them is wrong.
    #[error("{what}; the file is damaged, cut short or no region file (.mca), get another copy")]
    Region {
        /// What is wrong.
        what: String,
    },
    /// A chunk cannot be unpacked or read.
    #[error(
        "chunk {}, {} of the region: {what}; the file is damaged, get another copy or let the game \
         repair it",
        .chunk[0], .chunk[1]
    )]
    Chunk {
        /// x and z of the chunk in its region, 0 to 31.
        chunk: [u8; 2],
        /// What is wrong.
        what: String,
    },
    /// A chunk lies beyond the limits of a grid.
    #[error("chunk {}, {} lies beyond the world, whose limit is ±{LIMIT} blocks", .position[0], .position[1])]
    BeyondLimits {
        /// x and z of the chunk in its world.
        position: [i32; 2],
    },
    /// A line of a table of blocks is wrong.
    #[error("line {line}: {what}")]
    Table {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong, and what to give.
        what: String,
    },
    /// The file would cost more than its [`ImportBudget`](crate::ImportBudget).
    #[error("{0}; raise the limits if you trust the file")]
    OverBudget(#[from] BudgetError),
}

/// What is wrong with a chunk that is being read.
#[derive(Debug)]
pub(super) enum ChunkFault {
    Damaged(String),
    OverBudget(BudgetError),
}

impl ChunkFault {
    /// A fault of the bytes.
    pub fn damaged<T>(what: impl Into<String>) -> Result<T, ChunkFault> {
        Err(ChunkFault::Damaged(what.into()))
    }

    /// The error of a file that has this chunk.
    pub fn at(self, chunk: [u8; 2]) -> AnvilError {
        match self {
            ChunkFault::Damaged(what) => AnvilError::Chunk { chunk, what },
            ChunkFault::OverBudget(error) => AnvilError::OverBudget(error),
        }
    }
}

impl From<BudgetError> for ChunkFault {
    fn from(error: BudgetError) -> ChunkFault {
        ChunkFault::OverBudget(error)
    }
}

impl From<InflateError> for ChunkFault {
    fn from(error: InflateError) -> ChunkFault {
        match error {
            InflateError::Damaged => ChunkFault::Damaged("its bytes cannot be unpacked".to_owned()),
            InflateError::OverBudget(error) => ChunkFault::OverBudget(error),
        }
    }
}
