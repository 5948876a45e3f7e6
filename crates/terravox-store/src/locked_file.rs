//! The file of a world, with a lock that other programs see.

use crate::disk::Disk;
use crate::error::StoreError;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// A locked file. The process that locked it unlocks it when it drops it: closing it would not be
/// enough, since a process that was forked meanwhile has the same file open, and keeps the lock.
/// Dropped there, it stays locked.
pub(crate) struct LockedFile {
    file: File,
    process: u32,
}

impl LockedFile {
    /// Takes a lock by `take`; errors name `path`.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another program has it.
    pub fn lock(
        file: File,
        path: &Path,
        take: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<LockedFile, StoreError> {
        match take(&file) {
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::InUse { path: path.to_owned(), writer: None })
            }
            // A file system without locks: go on without.
            Ok(()) | Err(TryLockError::Error(_)) => {
                Ok(LockedFile { file, process: std::process::id() })
            }
        }
    }

    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // Closing it unlocks it, too, if no other process has it.
            let _ = self.file.unlock();
        }
    }
}

impl Disk for LockedFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overwrite, Store, WorldInfo};

    #[test]
    fn a_closed_file_is_unlocked_though_a_forked_process_has_it_open() {
        let path = std::env::temp_dir().join(format!("terravox-forked-{}", std::process::id()));
        drop(Store::create(&path, &WorldInfo::default(), Overwrite::Yes).unwrap().finish());
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let forked = file.try_clone().unwrap(); // As a fork copies it.
        let mut locked = LockedFile::lock(file, &path, File::try_lock).unwrap();
        assert!(matches!(Store::open(&path), Err(StoreError::InUse { .. })));
        drop(locked);
        Store::open(&path).unwrap();

        // What the forked process closes stays locked, as long as the other one has it.
        let file = forked.try_clone().unwrap();
        locked = LockedFile::lock(file, &path, File::try_lock).unwrap();
        locked.process = locked.process.wrapping_add(1);
        drop(locked);
        assert!(matches!(Store::open(&path), Err(StoreError::InUse { .. })));
        drop(forked);
        Store::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}
