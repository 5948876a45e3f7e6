//! What the tree needs of a file, and how reading and writing fail.

use std::fs::File;
use std::io;
use thiserror::Error;

/// The bytes under a tree. Tests put a disk with faults here.
pub(crate) trait Disk: Send + Sync {
    /// The length in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Fills `out` from `offset` on; [`io::ErrorKind::UnexpectedEof`] beyond the end.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes`, and extends the file if they end beyond it.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written durable.
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|data| data.len())
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, out, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, out, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    offset += read as u64;
                    out = &mut out[read..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_write(self, bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Why a part of a tree cannot be read or written.
#[derive(Debug, Error)]
pub(crate) enum TreeError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes are not those that were written.
    #[error("{0}")]
    Damaged(&'static str),
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
