//! Files that are written under another name and renamed into place when they are complete.

use crate::database;
use crate::error::StoreError;
use crate::locked_file::LockedFile;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names that are tried before giving up.
const NAME_ATTEMPTS: u32 = 16;

/// All that are not in place.
static PARTIAL_FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn partial_files() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTIAL_FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all files of this process that would become worlds, for a program that is about to end: they
/// are never completed. Until the guard is dropped, no other is made. Copies that can be
/// [resumed](crate::Store::copy_to_file) stay.
pub fn remove_partial_files() -> MutexGuard<'static, Vec<PathBuf>> {
    let all = partial_files();
    for path in all.iter() {
        // Best effort: there is no caller to report to.
        let _ = fs::remove_file(path);
    }
    all
}

/// A file beside its target, named `TARGET.NUMBER.partial` with a random number. Dropping it
/// removes the file, unless it was put in place. A file that exists is never touched: it may be
/// another program's.
pub(crate) struct PartialFile {
    path: PathBuf,
    is_placed: bool,
}

impl PartialFile {
    /// Creates an empty world for `target`, with the permissions of the file `like` if that exists;
    /// errors name `path`.
    pub fn create(
        target: &Path,
        like: &Path,
        path: &Path,
    ) -> Result<(PartialFile, database::Db), StoreError> {
        let Some(name) = target.file_name() else {
            let what = "it is not a file name".to_owned();
            return Err(StoreError::Refused { path: path.to_owned(), what });
        };
        let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "create", source };
        for _ in 0..NAME_ATTEMPTS {
            let mut partial = OsString::from(name);
            partial.push(format!(".{:08x}.partial", random_number()));
            let partial = target.with_file_name(partial);
            let mut all = partial_files();
            let mut options = OpenOptions::new();
            match options.read(true).write(true).create_new(true).open(&partial) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error(error)),
                Ok(file) => {
                    all.push(partial.clone());
                    drop(all);
                    let partial = PartialFile { path: partial, is_placed: false };
                    // A private world stays private. Best effort.
                    if let Ok(like) = fs::metadata(like) {
                        let _ = fs::set_permissions(&partial.path, like.permissions());
                    }
                    // Kept when the file is in place: then the world is open.
                    let file = LockedFile::lock(file, path, File::try_lock)?;
                    return Ok((partial, database::create(Arc::new(file), path)?));
                }
            }
        }
        Err(io_error(io::ErrorKind::AlreadyExists.into()))
    }

    /// Where it is meanwhile.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames it to `target`, in place of what is there; errors name `path`.
    ///
    /// # Errors
    /// [`StoreError::Unsure`] if it is in place, but perhaps not after a power cut.
    pub fn place(mut self, target: &Path, path: &Path) -> Result<(), StoreError> {
        let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "save", source };
        fs::rename(&self.path, target).map_err(io_error)?;
        self.is_placed = true;
        partial_files().retain(|path| *path != self.path);
        let unsure = |source| StoreError::Unsure { path: path.to_owned(), source };
        sync_folder(target).map_err(unsure)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_placed {
            // Best effort: there is no caller to report to.
            let _ = fs::remove_file(&self.path);
            partial_files().retain(|path| *path != self.path);
        }
    }
}

fn random_number() -> u32 {
    let mut hash = RandomState::new().build_hasher();
    hash.write_u32(std::process::id());
    hash.finish() as u32
}

/// Makes a rename durable.
pub(crate) fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Folders cannot be opened on some systems; there the rename is durable by itself.
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()),
    }
}
