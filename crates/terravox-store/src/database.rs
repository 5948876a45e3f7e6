//! Opening the database file, and its three tables.

use crate::backend::TolerantFile;
use crate::error::StoreError;
use crate::guard::{Fault, GuardedDrop, guarded};
use crate::key::KEY_BYTES;
use redb::backends::FileBackend;
use redb::{
    Builder, Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, TableDefinition,
    WriteTransaction,
};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// The description of the world, and extra data by name.
pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

/// Blocks of 32³ cells, by [`crate::BlockKey`].
pub(crate) const CELLS: TableDefinition<'_, &[u8; KEY_BYTES], &[u8]> =
    TableDefinition::new("cells");

/// Which chunks are stored, by page.
pub(crate) const LISTED: TableDefinition<'_, &[u8; KEY_BYTES - 1], &[u8]> =
    TableDefinition::new("listed");

/// First bytes of every redb file.
const MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";

/// Memory for the database's page cache.
const CACHE_BYTES: usize = 64 << 20;

/// An open database.
///
/// Closing it writes, and may panic on a damaged file like any other call.
pub(crate) struct Db(GuardedDrop<DbHandle>);

enum DbHandle {
    Write(Database),
    Read(ReadOnlyDatabase),
}

impl Db {
    fn new(handle: DbHandle) -> Db {
        Db(GuardedDrop::new(handle))
    }

    pub fn begin_read(&self, path: &Path) -> Result<ReadTransaction, StoreError> {
        let begun = guarded(|| match &*self.0 {
            DbHandle::Write(db) => db.begin_read(),
            DbHandle::Read(db) => db.begin_read(),
        });
        begun.map_err(|fault| fault.at(path, "read"))
    }

    /// A transaction that is on disk when its commit returns, and after which a file left by a
    /// killed process opens without a full scan.
    pub fn begin_write(&self, path: &Path) -> Result<WriteTransaction, StoreError> {
        let DbHandle::Write(db) = &*self.0 else {
            return Err(StoreError::ReadOnly { path: path.to_owned() });
        };
        let begun = guarded(|| -> Result<WriteTransaction, redb::Error> {
            let mut transaction = db.begin_write()?;
            transaction.set_durability(redb::Durability::Immediate)?;
            transaction.set_quick_repair(true);
            Ok(transaction)
        });
        begun.map_err(|fault| fault.at(path, "write"))
    }

    /// The database itself, for maintenance, if it is open for writing.
    pub fn writer(&mut self, path: &Path) -> Result<&mut Database, StoreError> {
        match &mut *self.0 {
            DbHandle::Write(db) => Ok(db),
            DbHandle::Read(_) => Err(StoreError::ReadOnly { path: path.to_owned() }),
        }
    }

    /// Closes it and returns the errors that dropping it ignores.
    pub fn close(self) -> Result<(), Fault> {
        guarded(|| match self.0.release() {
            DbHandle::Write(db) => db.close(),
            DbHandle::Read(db) => db.close(),
        })
    }
}

/// A new database in `file`, which is empty and open for reading and writing.
pub(crate) fn create(file: File, path: &Path) -> Result<Db, StoreError> {
    let made = guarded(|| {
        let backend = TolerantFile(FileBackend::new(file)?);
        Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(backend)
    });
    made.map(|db| Db::new(DbHandle::Write(db))).map_err(|fault| fault.at(path, "create the world"))
}

/// Opens an existing database for reading and writing.
pub(crate) fn open(path: &Path) -> Result<Db, StoreError> {
    let file = open_checked(path, true)?;
    let opened = guarded(|| {
        let backend = TolerantFile(FileBackend::new(file)?);
        Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(backend)
    });
    opened.map(|db| Db::new(DbHandle::Write(db))).map_err(|fault| open_error(fault, path))
}

/// Opens an existing database for reading. One whose last writer was killed is first
/// opened for writing, which repairs it.
pub(crate) fn open_read_only(path: &Path) -> Result<Db, StoreError> {
    let opened = match try_read_only(path)? {
        Err(Fault::Database(redb::Error::RepairAborted)) => {
            drop(open(path)?);
            try_read_only(path)?
        }
        opened => opened,
    };
    opened.map_err(|fault| open_error(fault, path))
}

/// Opens an existing database for reading, if it needs no repair and is not open for writing.
/// Does not change the file.
pub(crate) fn try_read_only(path: &Path) -> Result<Result<Db, Fault>, StoreError> {
    let file = open_checked(path, false)?;
    Ok(guarded(|| {
        let backend = TolerantFile(FileBackend::new(file)?);
        let mut builder = Builder::new();
        let db = builder.set_cache_size(CACHE_BYTES).open_read_only_with_backend(backend)?;
        Ok::<_, redb::DatabaseError>(Db::new(DbHandle::Read(db)))
    }))
}

/// Opens the file if it looks like a database, so that everything else gets a clear message and
/// an empty file is not turned into a database.
fn open_checked(path: &Path, write: bool) -> Result<File, StoreError> {
    let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "open", source };
    let not_a_world = |why: &str| StoreError::NotAWorld { path: path.to_owned(), why: why.into() };
    let metadata = std::fs::metadata(path).map_err(io_error)?;
    if metadata.is_dir() {
        return Err(not_a_world("it is a directory"));
    }
    if !metadata.is_file() {
        return Err(not_a_world("it is not a regular file"));
    }
    let mut file = match OpenOptions::new().read(true).write(write).open(path) {
        Ok(file) => file,
        Err(error) if write && is_refusal(&error) && File::open(path).is_ok() => {
            return Err(StoreError::ReadOnly { path: path.to_owned() });
        }
        Err(error) => return Err(io_error(error)),
    };
    if metadata.len() == 0 {
        return Err(not_a_world("the file is empty"));
    }
    let mut start = [0; MAGIC.len()];
    match file.read_exact(&mut start) {
        Ok(()) if start == MAGIC => Ok(file),
        Ok(()) => Err(not_a_world("byte 0: it is a file of another program")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(not_a_world("it is a file of another program, a few bytes long"))
        }
        Err(error) => Err(io_error(error)),
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn open_error(fault: Fault, path: &Path) -> StoreError {
    let path_buf = path.to_owned();
    match fault {
        Fault::Database(redb::Error::Corrupted(what)) => {
            let truncated = what.contains("truncated");
            let hint = if truncated { "the file was cut off; " } else { "" };
            let what = format!("{hint}the database says: {what}");
            StoreError::Database { path: path_buf, doing: "open the world", what }
        }
        Fault::Database(redb::Error::UpgradeRequired(_)) => StoreError::NotAWorld {
            path: path_buf,
            why: "it is a database of an old format".to_owned(),
        },
        fault => fault.at(path, "open the world"),
    }
}

/// Whether an existing file may be replaced by a world: it is a world (or a damaged one) or empty,
/// and is not open elsewhere.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), StoreError> {
    let file = match open_checked(path, false) {
        Ok(file) => file,
        Err(StoreError::NotAWorld { why, .. }) if why.contains("empty") => return Ok(()),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.to_owned() }),
        _ => Ok(()),
    }
}
