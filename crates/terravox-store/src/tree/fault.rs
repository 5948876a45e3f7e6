//! How reading and writing a tree fail.

use std::io;
use thiserror::Error;

/// Why a part of a tree cannot be read or written.
#[derive(Debug, Error)]
pub(crate) enum TreeError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes are not those that were written.
    #[error("{0}")]
    Damaged(&'static str),
    /// The budget of a pass is spent, before this was read.
    #[error("reading it is more work than a file of this length may cost")]
    TooMuchWork,
    /// Free space is unknown, so nothing can be written.
    #[error("{0}; nothing can be written before `terravox repair` or Store::repair")]
    NeedsRepair(&'static str),
    /// The outcome of an earlier commit is unknown.
    #[error("an earlier write failed in its last step; close the world and open it again")]
    Poisoned,
}

impl TreeError {
    /// A failed read: beyond the end it is damage.
    pub fn of_read(error: io::Error) -> TreeError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                TreeError::Damaged("it lies beyond the end of the file, which was cut off")
            }
            _ => TreeError::Io(error),
        }
    }
}

/// Why a commit failed.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// Nothing changed.
    Before(TreeError),
    /// The last step failed: the state on disk is the one before or the one after.
    Unsure(io::Error),
}
