//! New worlds: written to a partial file, then renamed into place.
//!
//! Until [`Draft::finish`] the world is a file of a name of its own beside the target. A save that
//! fails leaves nothing; an old world stays intact until the new one is complete and on disk.

use crate::database::check_replaceable;
use crate::error::StoreError;
use crate::file_names::resolve_symlink;
use crate::info::WorldInfo;
use crate::locked_file::LockedFile;
use crate::partial::PartialFile;
use crate::store::Store;
use std::fs;
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
    store: Store,
    /// Dropped after the store: some systems do not remove open files.
    partial: PartialFile,
    target: PathBuf,
    overwrite: Overwrite,
}

impl Store {
    /// Starts a new world; [`Draft::finish`] puts it at `path`. Until then it is a file named
    /// `NAME.NUMBER.partial` beside it, which stays only if the process is killed.
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
        let target = resolve_symlink(path);
        if let Some(what) = info.fault() {
            return Err(StoreError::Refused { path: path.to_owned(), what });
        }
        check_place(&target, overwrite)?;
        let (partial, db) = PartialFile::create(&target, &target, path)?;
        let store = Store::from_new_db(db, path, Some(partial.path()), info)?;
        Ok(Draft { store, partial, target, overwrite })
    }
}

impl Draft {
    /// Flushes the file to disk and renames it into place, compacted if that is worth it.
    ///
    /// # Errors
    /// If that fails, or a file appeared at the path or the old world was opened meanwhile. Then
    /// the existing file stays, and the partial one is removed. [`StoreError::Unsure`] if the new
    /// world is in place, but perhaps not after a power cut.
    pub fn finish(self) -> Result<Store, StoreError> {
        let Draft { mut store, partial, target, overwrite } = self;
        store.compact_if_worth_it()?;
        store.sync()?;
        let _replaced = check_place(&target, overwrite)?;
        partial.place(&target, store.path())?;
        store.set_file(target);
        Ok(store)
    }
}

impl Deref for Draft {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

/// Whether a world may be put at `target`. Returns the file that is there, locked.
pub(crate) fn check_place(
    target: &Path,
    overwrite: Overwrite,
) -> Result<Option<LockedFile>, StoreError> {
    match (fs::symlink_metadata(target), overwrite) {
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        (Err(source), _) => {
            Err(StoreError::Io { path: target.to_owned(), doing: "create", source })
        }
        (Ok(_), Overwrite::Yes) => check_replaceable(target).map(Some),
        (Ok(data), Overwrite::No) if data.is_dir() => check_replaceable(target).map(Some),
        (Ok(_), Overwrite::No) => Err(StoreError::Exists { path: target.to_owned() }),
    }
}
