//! New worlds: written to a partial file, then renamed into place.
//!
//! Until [`Draft::finish`] the world is a file named like the target with `.partial` appended. A
//! save that fails leaves nothing; an old world stays intact until the new one is complete and on
//! disk.

use crate::database::{self, check_replaceable};
use crate::error::StoreError;
use crate::info::WorldInfo;
use crate::store::Store;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// What to do if the file already exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// Refuse.
    #[default]
    No,
    /// Replace it. A file that is not a world is never replaced.
    Yes,
}

/// A world that is being written and is not at its path yet. It dereferences to its [`Store`].
/// Dropping it without [`Draft::finish`] removes the partial file.
pub struct Draft {
    /// `Some` until the draft is finished or dropped.
    store: Option<Store>,
    partial: PathBuf,
    target: PathBuf,
    overwrite: Overwrite,
    /// Whether the partial file was renamed into place.
    placed: bool,
}

impl Store {
    /// Starts a new world; [`Draft::finish`] puts it at `path`.
    ///
    /// # Errors
    /// If a file exists at `path` and `overwrite` is [`Overwrite::No`] or it is not a world; if the
    /// folder cannot be written; if a value of `info` is invalid.
    pub fn create(
        path: impl AsRef<Path>,
        info: &WorldInfo,
        overwrite: Overwrite,
    ) -> Result<Draft, StoreError> {
        let path = path.as_ref();
        let target = followed(path);
        if let Some(what) = info.fault() {
            return Err(StoreError::Refused { path: path.to_owned(), what });
        }
        check_place(&target, overwrite)?;
        let partial = partial_path(&target)?;
        let file = create_partial(&partial, path)?;
        let made = database::create(file, path);
        match made.and_then(|db| Store::from_new_db(db, path, &partial, info)) {
            Ok(store) => {
                Ok(Draft { store: Some(store), partial, target, overwrite, placed: false })
            }
            Err(error) => {
                let _ = fs::remove_file(&partial);
                Err(error)
            }
        }
    }
}

impl Draft {
    /// Compacts the file, flushes it to disk and renames it into place.
    ///
    /// # Errors
    /// If that fails, or a file appeared at the path or the old world was opened meanwhile. Then
    /// the existing file stays, and the partial one is removed.
    pub fn finish(mut self) -> Result<Store, StoreError> {
        let Some(mut store) = self.store.take() else {
            unreachable!("the store is there until the draft ends");
        };
        store.compact()?;
        let path = store.path().to_owned();
        let info = store.info();
        store.into_db().close().map_err(|fault| fault.at(&path, "save"))?;
        let io_error = |source| StoreError::Io { path: path.clone(), doing: "save", source };
        OpenOptions::new()
            .write(true)
            .open(&self.partial)
            .and_then(|file| file.sync_all())
            .map_err(io_error)?;
        check_place(&self.target, self.overwrite)?;
        fs::rename(&self.partial, &self.target).map_err(io_error)?;
        self.placed = true;
        sync_folder(&self.target).map_err(io_error)?;
        let store = Store::open(&path)?;
        debug_assert_eq!(store.info(), info);
        Ok(store)
    }
}

impl Deref for Draft {
    type Target = Store;
    fn deref(&self) -> &Store {
        let Some(store) = &self.store else {
            unreachable!("the store is there until the draft ends");
        };
        store
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Closed first: some systems do not remove open files.
        drop(self.store.take());
        if !self.placed {
            // A `.partial` file that cannot be removed is taken over by the next save to the
            // same path.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// The path with links followed, so that a link stays a link.
fn followed(path: &Path) -> PathBuf {
    let link = fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_symlink());
    let target = if link { fs::canonicalize(path).ok() } else { None };
    target.unwrap_or_else(|| path.to_owned())
}

/// Whether a world may be put at `target`.
fn check_place(target: &Path, overwrite: Overwrite) -> Result<(), StoreError> {
    match (fs::symlink_metadata(target), overwrite) {
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        (Err(source), _) => {
            Err(StoreError::Io { path: target.to_owned(), doing: "create", source })
        }
        (Ok(_), Overwrite::Yes) => {
            check_replaceable(target)?;
            match database::try_read_only(target).map(|db| db.map(|db| Store::from_db(db, target)))
            {
                Ok(Ok(Err(error @ StoreError::NotAWorld { .. }))) => Err(error),
                // A world, or the remains of a damaged one.
                _ => Ok(()),
            }
        }
        (Ok(data), Overwrite::No) if data.is_dir() => check_replaceable(target),
        (Ok(_), Overwrite::No) => Err(StoreError::Exists { path: target.to_owned() }),
    }
}

/// The partial file: in the folder of the target, so that the last step is a rename within one
/// file system.
fn partial_path(target: &Path) -> Result<PathBuf, StoreError> {
    let Some(name) = target.file_name() else {
        let what = "it is not a file name".to_owned();
        return Err(StoreError::Refused { path: target.to_owned(), what });
    };
    let mut partial = OsString::from(name);
    partial.push(".partial");
    Ok(target.with_file_name(partial))
}

/// Creates the partial file, or truncates the one that a killed save left. One that is being
/// written is locked.
fn create_partial(partial: &Path, path: &Path) -> Result<File, StoreError> {
    let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "create", source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(partial).map_err(io_error)?;
    let is_locked = match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(StoreError::InUse { path: path.to_owned() }),
        // A file system without locks: go on without.
        Err(TryLockError::Error(_)) => false,
        Ok(()) => true,
    };
    // Under the lock: after it, another program may have started its own world in the file.
    file.set_len(0).map_err(io_error)?;
    if is_locked {
        // The database takes a lock of its own.
        file.unlock().map_err(io_error)?;
    }
    Ok(file)
}

/// Makes a rename durable.
fn sync_folder(target: &Path) -> io::Result<()> {
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
