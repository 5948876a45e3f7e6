//! Stores on [`Records`]: worlds in a database.

use crate::database::{Db, INFO_KEYS};
use crate::error::StoreError;
use crate::info::WorldInfo;
use crate::reader::StoreReader;
use crate::records::Records;
use crate::store::Store;
use crate::tree::ReadTree;
use std::path::Path;
use std::sync::Arc;

impl Store {
    /// Makes a new world of records; `name` is the path in errors and of [`Store::path`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use terravox_store::{MemoryRecords, Store, WorldInfo};
    ///
    /// let records = Arc::new(MemoryRecords::default());
    /// let store = Store::create_records(records.clone(), "plain", &WorldInfo::default())?;
    /// store.set_extra("player", Some(b"at home"))?;
    /// drop(store);
    ///
    /// let store = Store::open_records(records, "plain")?;
    /// assert_eq!(store.extra("player")?.as_deref(), Some(&b"at home"[..]));
    /// # Ok::<(), terravox_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// If there is a world already, or half a copy of one, a value of `info` is invalid, or the
    /// records cannot be read or written.
    pub fn create_records(
        records: Arc<dyn Records>,
        name: impl AsRef<Path>,
        info: &WorldInfo,
    ) -> Result<Store, StoreError> {
        let name = name.as_ref();
        if let Some(what) = info.fault() {
            return Err(StoreError::Refused { path: name.to_owned(), what });
        }
        let db = Db::of_records(records, true);
        let reader = db.snapshot();
        refuse_world(&reader, name)?;
        refuse_half_copy(&reader, name)?;
        drop(reader);
        Store::from_new_db(db, name, None, info)
    }

    /// Opens a world of records for reading and writing, as [`Store::open`] does with a file. No
    /// other store may write to them meanwhile. [`Store::compact`] and [`Store::repair`] are for
    /// files only.
    ///
    /// # Errors
    /// If there is no world, or it cannot be read.
    pub fn open_records(
        records: Arc<dyn Records>,
        name: impl AsRef<Path>,
    ) -> Result<Store, StoreError> {
        open(Db::of_records(records, true), name.as_ref())
    }

    /// Opens a world of records for reading.
    ///
    /// # Errors
    /// As [`Store::open_records`].
    pub fn open_records_read_only(
        records: Arc<dyn Records>,
        name: impl AsRef<Path>,
    ) -> Result<Store, StoreError> {
        open(Db::of_records(records, false), name.as_ref())
    }
}

/// Opens records, or says that a copy to them may have been interrupted.
fn open(db: Db, name: &Path) -> Result<Store, StoreError> {
    Store::from_db(db, name, None).map_err(|error| match error {
        StoreError::NotAWorld { path, .. } => {
            let why = "it has no description; if a copy to it was interrupted, start that again";
            StoreError::NotAWorld { path, why: why.to_owned() }
        }
        error => error,
    })
}

/// Refuses to write a new world where one is.
pub(crate) fn refuse_world(reader: &StoreReader, path: &Path) -> Result<(), StoreError> {
    for key in INFO_KEYS {
        let found = reader.get(key, &mut Vec::new());
        // A damaged description is one, too.
        if !matches!(found, Ok(false)) {
            if let Some(error) = reader.failure() {
                return Err(crate::database::store_error(error, path, "read"));
            }
            let what = "there is a world of this name already; give another name".to_owned();
            return Err(StoreError::Refused { path: path.to_owned(), what });
        }
    }
    Ok(())
}

/// Refuses to make a new world of what an interrupted copy left.
fn refuse_half_copy(reader: &StoreReader, path: &Path) -> Result<(), StoreError> {
    match reader.scan_keys(&[], None).next() {
        None => Ok(()),
        Some(Err(lost)) => Err(crate::database::store_error(lost.what, path, "read")),
        Some(Ok(_)) => {
            let what = "the database holds an unfinished copy of this name: finish it with \
                        terravox copy, or choose another name";
            Err(StoreError::Refused { path: path.to_owned(), what: what.to_owned() })
        }
    }
}
