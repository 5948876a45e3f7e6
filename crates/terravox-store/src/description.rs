//! The description of a world in memory, and reading with the one that the records read have.
//!
//! Values are decoded by the description: the kinds of materials, the widths of channels. A commit
//! that changes it may change values, too, so a read has to take both from one moment.

use crate::database::{Db, INFO_KEYS, store_error, value_error};
use crate::error::{StoreError, StoredPart};
use crate::info::{InfoError, MAX_INFO_BYTES, WorldInfo};
use crate::reader::StoreReader;
use crate::tree::{ReadTree, TreeError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The description of a world as it was last read or written.
pub(crate) struct Description {
    info: RwLock<Arc<WorldInfo>>,
    /// Changes that began and changes that ended: odd during a change.
    steps: AtomicU64,
    /// Whether the last change may be stored although its commit failed.
    is_unsure: AtomicBool,
}

/// What is stored at one moment, and the description at that moment.
pub(crate) struct ReadView {
    pub tree: Box<StoreReader>,
    pub info: Arc<WorldInfo>,
}

impl Description {
    pub fn new(info: WorldInfo) -> Description {
        let info = RwLock::new(Arc::new(info));
        Description { info, steps: AtomicU64::new(0), is_unsure: AtomicBool::new(false) }
    }

    pub fn get(&self) -> Arc<WorldInfo> {
        self.info.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, info: Arc<WorldInfo>) {
        *self.info.write().unwrap_or_else(PoisonError::into_inner) = info;
    }

    /// Replaces the description if `commit` makes it durable. Changes come one after the other.
    pub fn change(
        &self,
        info: WorldInfo,
        commit: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.steps.fetch_add(1, Ordering::SeqCst);
        let committed = commit();
        match &committed {
            Ok(()) => self.set(Arc::new(info)),
            Err(StoreError::Unsure { .. }) => self.is_unsure.store(true, Ordering::SeqCst),
            Err(_) => {}
        }
        self.steps.fetch_add(1, Ordering::SeqCst);
        committed
    }

    /// Reads the description anew if the outcome of the last change was unknown and can be known now.
    pub fn resolve(&self, db: &Db, path: &Path) {
        if !self.is_unsure.load(Ordering::SeqCst) {
            return;
        }
        self.steps.fetch_add(1, Ordering::SeqCst);
        if db.begin(path).is_ok()
            && let Ok(info) = read_info(&db.snapshot(), path)
        {
            self.set(Arc::new(info));
            self.is_unsure.store(false, Ordering::SeqCst);
        }
        self.steps.fetch_add(1, Ordering::SeqCst);
    }

    /// Begins to read. If the description in memory may be of another moment, it is read anew: while
    /// a commit changes it, and where another program writes.
    pub fn begin_read(&self, db: &Db, path: &Path) -> ReadView {
        let before = self.steps.load(Ordering::SeqCst);
        let info = self.get();
        let tree = db.snapshot();
        let is_unchanged = before.is_multiple_of(2) && self.steps.load(Ordering::SeqCst) == before;
        let has_other_writers = db.is_read_only_records();
        if is_unchanged && !has_other_writers {
            return ReadView { tree, info };
        }
        // One that cannot be read now was read when the world was opened; a database that failed
        // fails what is read next, too.
        let info = read_info(&tree, path).map_or(info, Arc::new);
        if has_other_writers {
            self.set(info.clone());
        }
        ReadView { tree, info }
    }
}

/// Reads the description of a world, from the first of its places where it is whole.
pub(crate) fn read_info(tree: &StoreReader, path: &Path) -> Result<WorldInfo, StoreError> {
    let mut first_error = None;
    for key in INFO_KEYS {
        match read_info_at(tree, key, path) {
            Ok(Some(info)) => return Ok(info),
            Ok(None) => {}
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    let (why, path) = ("it has no description".to_owned(), path.to_owned());
    Err(first_error.unwrap_or(StoreError::NotAWorld { path, why }))
}

/// Reads the description in one of its places; `None` if it is not there.
pub(crate) fn read_info_at(
    tree: &StoreReader,
    key: &[u8],
    path: &Path,
) -> Result<Option<WorldInfo>, StoreError> {
    let path = path.to_owned();
    let damaged = |path, what| StoreError::Damaged { path, part: StoredPart::Info, what };
    let mut bytes = Vec::with_capacity(MAX_INFO_BYTES);
    match tree.get(key, &mut bytes) {
        Ok(false) => return Ok(None),
        Ok(true) => {}
        Err(TreeError::Io(error)) => return Err(store_error(error.into(), &path, "read")),
        Err(error) => return Err(damaged(path, value_error(&error))),
    }
    WorldInfo::decode(&bytes).map(Some).map_err(|error| match error {
        InfoError::Version(version) => StoreError::TooNew { path, version },
        InfoError::Value(what) => damaged(path, what),
    })
}
