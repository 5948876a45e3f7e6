//! An open world file: its description, extra data, statistics and maintenance.

use crate::database::{self, CELLS, Db, LISTED, META};
use crate::error::{StoreError, StoredPart};
use crate::guard::guarded;
use crate::info::{INFO_KEY, InfoError, MAX_NAME_BYTES, WorldInfo};
use crate::key::{page_bytes, page_from_bytes};
use crate::listing::{Listing, page_of};
use crate::value::{SEAL_BYTES, ValueError, check_sealed, seal, start_sealed};
use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata, WriteTransaction};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use terravox::voxel::{ChunkPos, PagePos, SaveStamp};

/// Longest extra data under one name.
pub const MAX_EXTRA_BYTES: usize = 64 << 20;

/// Name of the extra data that holds the undo history.
pub(crate) const HISTORY_NAME: &str = "undo";

/// Name of the extra data that holds loose bodies.
pub(crate) const BODIES_NAME: &str = "bodies";

/// Prefix of the keys of extra data.
const EXTRA_PREFIX: &str = "extra/";

/// A world file.
///
/// Reading takes `&self` and goes on while another thread writes; writers wait for each other. A
/// write is on disk when it returns.
///
/// ```
/// use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};
/// use terravox_store::{Overwrite, Store, WorldInfo};
///
/// let mut grid = VoxelGrid::new(GridOptions::default());
/// let mut rock = DenseBox::new(Region::new([-40, -9, 0], [60, 20, 70]));
/// rock.fill(8);
/// grid.write(&rock)?;
///
/// # let folder = std::env::temp_dir().join(format!("terravox-store-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("world.tvx");
/// let world = Store::create(&path, &WorldInfo::default(), Overwrite::Yes)?;
/// world.write_all(grid.as_snapshot(), |_done, _all| {})?;
/// let world = world.finish()?; // now the file exists
///
/// let loaded = world.load()?;
/// assert!(loaded.bad.is_empty());
/// assert_eq!(loaded.grid.digest()?, grid.digest()?);
///
/// let mut far = DenseBox::default();
/// world.cells(Region::new([-3, -1, 0], [4, 2, 5]), 4, &mut far)?; // mip 4: 16 m a cell
/// assert_eq!(far.cell([0, 0, 0].into()).material, 8);
/// # drop(world);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    db: Db,
    /// The path in errors: that of the finished world.
    path: PathBuf,
    /// The open file: a temporary one until the world is finished.
    file: PathBuf,
    /// The stored description.
    info: RwLock<Arc<WorldInfo>>,
    /// The state of the grid that was saved last; see [`WriteLock`].
    last_saved: Mutex<Option<SaveStamp>>,
}

/// The right to write to a world, which one thread has at a time.
///
/// A write reads what it depends on (the description, which chunks are stored, what was saved
/// last) under the lock. All of that changes only under the lock, so it still holds at the commit.
/// The lock is taken before the transaction, never in it.
pub(crate) struct WriteLock<'a> {
    pub store: &'a Store,
    pub last_saved: MutexGuard<'a, Option<SaveStamp>>,
}

/// The file at one moment, and a description whose kinds are those of its cells.
pub(crate) struct ReadView {
    pub transaction: ReadTransaction,
    pub info: Arc<WorldInfo>,
}

/// What a world file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Chunks stored.
    pub chunks: u64,
    /// Blocks of all mips stored, chunks among them.
    pub blocks: u64,
    /// Bytes of all keys and values.
    pub payload_bytes: u64,
    /// Bytes of indexing overhead and of fragmentation in the pages in use. Free pages, which
    /// [`Store::compact`] returns, are not counted.
    pub slack_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// A listing as it is stored, valid or damaged.
pub(crate) struct StoredListing {
    /// `None` if the key is invalid.
    pub page: Option<PagePos>,
    pub listing: Result<Listing, ValueError>,
}

impl Store {
    /// Opens a world for reading and writing.
    ///
    /// A damaged file can make the database panic. That is caught and becomes an error, so build
    /// with unwinding (the default of `panic`); the panic hook still runs, see
    /// [`panics_are_caught`](crate::panics_are_caught).
    ///
    /// # Errors
    /// If the file cannot be opened or is not a world of a known version; see [`StoreError`].
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        // Opening for writing changes the file, which must not happen to another program's.
        if let Ok(db) = database::try_read_only(path)? {
            drop(Store::from_db(db, path)?);
        }
        Store::from_db(database::open(path)?, path)
    }

    /// Opens a world for reading: others can read it, too, and the file is not changed. Only a
    /// world whose last writer was killed is repaired first, which needs write permission.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        Store::from_db(database::open_read_only(path)?, path)
    }

    /// A store on a database that has a description.
    pub(crate) fn from_db(db: Db, path: &Path) -> Result<Store, StoreError> {
        let transaction = db.begin_read(path)?;
        let info = read_info(&transaction, path)?;
        drop(transaction);
        let (file, path) = (path.to_owned(), path.to_owned());
        Ok(Store {
            db,
            path,
            file,
            info: RwLock::new(Arc::new(info)),
            last_saved: Mutex::default(),
        })
    }

    /// A store on a new database in `file`, for a world that will be at `path`.
    pub(crate) fn from_new_db(
        db: Db,
        path: &Path,
        file: &Path,
        info: &WorldInfo,
    ) -> Result<Store, StoreError> {
        let (path, file) = (path.to_owned(), file.to_owned());
        let info_lock = RwLock::new(Arc::new(info.clone()));
        let store = Store { db, path, file, info: info_lock, last_saved: Mutex::default() };
        store.set_info(info)?;
        Ok(store)
    }

    /// The path of the world, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn db_mut(&mut self) -> &mut Db {
        &mut self.db
    }

    pub(crate) fn into_db(self) -> Db {
        self.db
    }

    /// The description of the world.
    pub fn info(&self) -> Arc<WorldInfo> {
        self.info.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until no other thread writes.
    pub(crate) fn lock_writes(&self) -> WriteLock<'_> {
        let last_saved = self.last_saved.lock().unwrap_or_else(PoisonError::into_inner);
        WriteLock { store: self, last_saved }
    }

    /// Begins to read cells.
    pub(crate) fn begin_read(&self) -> Result<ReadView, StoreError> {
        loop {
            let info = self.info();
            let transaction = self.db.begin_read(&self.path)?;
            // A kind changes only while no cells are stored, and cells are written only after the
            // new description can be read: if it is the same before and after, its kinds fit.
            if Arc::ptr_eq(&info, &self.info()) {
                return Ok(ReadView { transaction, info });
            }
        }
    }

    /// Replaces the description of the world, durably.
    ///
    /// # Errors
    /// If a value in it is invalid, a material changes its kind while chunks or loose bodies are
    /// stored, or the file cannot be written.
    pub fn set_info(&self, info: &WorldInfo) -> Result<(), StoreError> {
        if let Some(what) = info.fault() {
            return Err(StoreError::Refused { path: self.path.clone(), what });
        }
        let lock = self.lock_writes();
        let kinds_change = self.info().materials.kinds() != info.materials.kinds();
        if kinds_change && !(self.chunks()?.is_empty() && self.extra(BODIES_NAME)?.is_none()) {
            return Err(self.kinds_differ_error(info.materials.kinds()));
        }
        lock.transact(Some(info.clone()), |_| Ok(()))
    }

    /// The error that `kinds` are not those of the world.
    pub(crate) fn kinds_differ_error(&self, kinds: &[terravox::voxel::Kind; 256]) -> StoreError {
        let info = self.info();
        let own = info.materials.kinds();
        let first = own.iter().zip(kinds).position(|(a, b)| a != b);
        StoreError::KindsDiffer { path: self.path.clone(), material: first.unwrap_or(0) as u8 }
    }

    /// Bytes that an importer or a program stored under a name; `None` if there are none.
    ///
    /// # Errors
    /// If they cannot be read or are damaged.
    pub fn extra(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.extra_in(&self.db.begin_read(&self.path)?, name)
    }

    pub(crate) fn extra_in(
        &self,
        transaction: &ReadTransaction,
        name: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = format!("{EXTRA_PREFIX}{name}");
        let read = guarded(|| -> Result<Option<Vec<u8>>, redb::Error> {
            let table = transaction.open_table(META)?;
            Ok(table.get(&*key)?.map(|value| value.value().to_vec()))
        });
        let Some(mut value) = read.map_err(|fault| fault.at(&self.path, "read"))? else {
            return Ok(None);
        };
        let limit = MAX_EXTRA_BYTES + SEAL_BYTES;
        check_sealed(key.as_bytes(), &value, SEAL_BYTES, limit)
            .map_err(|what| self.damaged_error(StoredPart::Extra(name.to_owned()), what))?;
        value.drain(..SEAL_BYTES);
        Ok(Some(value))
    }

    /// Names of all extra data, sorted.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn extra_names(&self) -> Result<Vec<String>, StoreError> {
        let transaction = self.db.begin_read(&self.path)?;
        let read = guarded(|| -> Result<Vec<String>, redb::Error> {
            let table = transaction.open_table(META)?;
            let mut names = Vec::new();
            for entry in table.range(EXTRA_PREFIX..)? {
                let Some(name) = entry?.0.value().strip_prefix(EXTRA_PREFIX).map(str::to_owned)
                else {
                    break;
                };
                names.push(name);
            }
            Ok(names)
        });
        read.map_err(|fault| fault.at(&self.path, "read"))
    }

    /// Stores `bytes` under `name`, durably, or removes them if `None`.
    ///
    /// # Errors
    /// If the name or the bytes are too long ([`MAX_NAME_BYTES`], [`MAX_EXTRA_BYTES`]), or
    /// the file cannot be written.
    pub fn set_extra(&self, name: &str, bytes: Option<&[u8]>) -> Result<(), StoreError> {
        self.check_extra(name, bytes)?;
        self.lock_writes().transact(None, |transaction| self.put_extra(transaction, name, bytes))
    }

    /// Rejects names and bytes that are too long.
    pub(crate) fn check_extra(&self, name: &str, bytes: Option<&[u8]>) -> Result<(), StoreError> {
        let refused = |what| Err(StoreError::Refused { path: self.path.clone(), what });
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return refused(format!(
                "the name has {} bytes; it must have 1 to {MAX_NAME_BYTES}",
                name.len()
            ));
        }
        let length = bytes.map_or(0, <[u8]>::len);
        if length > MAX_EXTRA_BYTES {
            return refused(format!(
                "extra data of {length} bytes; at most {MAX_EXTRA_BYTES} are stored"
            ));
        }
        Ok(())
    }

    /// Writes checked extra data in a transaction, or removes it.
    pub(crate) fn put_extra(
        &self,
        transaction: &WriteTransaction,
        name: &str,
        bytes: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let key = format!("{EXTRA_PREFIX}{name}");
        let value = bytes.map(|bytes| seal_extra(&key, bytes));
        let written = guarded(|| -> Result<(), redb::Error> {
            let mut table = transaction.open_table(META)?;
            match &value {
                Some(value) => drop(table.insert(&*key, &**value)?),
                None => drop(table.remove(&*key)?),
            }
            Ok(())
        });
        written.map_err(|fault| fault.at(&self.path, "write"))
    }

    /// The error that a part of the file is damaged.
    pub(crate) fn damaged_error(&self, part: StoredPart, what: ValueError) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), part, what }
    }

    /// Positions of all stored chunks, sorted by x, y, z. Reads no cells.
    ///
    /// # Errors
    /// If a listing is damaged; [`Store::load`] and [`Store::verify`] go on without it.
    pub fn chunks(&self) -> Result<Vec<ChunkPos>, StoreError> {
        let mut chunks = Vec::new();
        for (page, listing) in self.listings()? {
            chunks.extend(listing.chunks(page));
        }
        chunks.sort_unstable();
        Ok(chunks)
    }

    /// Whether a chunk is stored. A stored chunk may be air.
    ///
    /// # Errors
    /// If the list is damaged.
    pub fn is_listed(&self, chunk: ChunkPos) -> Result<bool, StoreError> {
        let transaction = self.db.begin_read(&self.path)?;
        Ok(self.listing(&transaction, page_of(chunk))?.contains(chunk))
    }

    /// The listing of a page, empty if it has none.
    pub(crate) fn listing(
        &self,
        transaction: &ReadTransaction,
        page: PagePos,
    ) -> Result<Listing, StoreError> {
        let key = page_bytes(page);
        let read = guarded(|| -> Result<_, redb::Error> {
            let table = transaction.open_table(LISTED)?;
            Ok(table.get(&key)?.map(|value| Listing::decode(&key, value.value())))
        });
        match read.map_err(|fault| fault.at(&self.path, "read"))? {
            None => Ok(Listing::default()),
            Some(listing) => {
                listing.map_err(|what| self.damaged_error(StoredPart::Listing(page), what))
            }
        }
    }

    /// All listings, by page.
    fn listings(&self) -> Result<Vec<(PagePos, Listing)>, StoreError> {
        let transaction = self.db.begin_read(&self.path)?;
        let mut listings = Vec::new();
        for StoredListing { page, listing } in self.listings_as_stored(&transaction)? {
            let page = page
                .ok_or_else(|| self.damaged_error(StoredPart::Table("listed"), ValueError::Key))?;
            let listing =
                listing.map_err(|what| self.damaged_error(StoredPart::Listing(page), what))?;
            listings.push((page, listing));
        }
        Ok(listings)
    }

    /// All listings, sorted by key, valid or damaged.
    pub(crate) fn listings_as_stored(
        &self,
        transaction: &ReadTransaction,
    ) -> Result<Vec<StoredListing>, StoreError> {
        let read = guarded(|| -> Result<Vec<_>, redb::Error> {
            let table = transaction.open_table(LISTED)?;
            let mut listings = Vec::new();
            for entry in table.iter()? {
                let (key, value) = entry?;
                let key = key.value();
                listings.push(StoredListing {
                    page: page_from_bytes(key),
                    listing: Listing::decode(key, value.value()),
                });
            }
            Ok(listings)
        });
        read.map_err(|fault| fault.at(&self.path, "read"))
    }

    /// What the file holds, and how many bytes that takes.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn stats(&self) -> Result<StoreStats, StoreError> {
        let chunks = self.listings()?.iter().map(|(_, listing)| listing.len() as u64).sum();
        let metadata = std::fs::metadata(&self.file).map_err(|source| StoreError::Io {
            path: self.path.clone(),
            doing: "read",
            source,
        })?;
        let transaction = self.db.begin_read(&self.path)?;
        let read = guarded(|| -> Result<StoreStats, redb::Error> {
            let cells = transaction.open_table(CELLS)?;
            let tables = [
                cells.stats()?,
                transaction.open_table(META)?.stats()?,
                transaction.open_table(LISTED)?.stats()?,
            ];
            let total = |field: fn(&redb::TableStats) -> u64| tables.iter().map(field).sum();
            Ok(StoreStats {
                chunks,
                blocks: cells.len()?,
                payload_bytes: total(redb::TableStats::stored_bytes),
                slack_bytes: total(|t| t.metadata_bytes() + t.fragmented_bytes()),
                file_bytes: metadata.len(),
            })
        });
        read.map_err(|fault| fault.at(&self.path, "read"))
    }

    /// Compacts the file: after many edits up to half of it is free pages. Takes about as long as
    /// copying the file. A process that is killed meanwhile leaves an intact world, which the next
    /// open repairs with a full scan.
    ///
    /// # Errors
    /// If the file cannot be written or was opened for reading.
    pub fn compact(&mut self) -> Result<(), StoreError> {
        let db = self.db.writer(&self.path)?;
        let done = guarded(|| db.compact());
        done.map(drop).map_err(|fault| fault.at(&self.path, "compact the world"))
    }
}

impl WriteLock<'_> {
    /// Runs `write` in a transaction that is durable when this returns, and replaces the
    /// description of the world if there is a new one; an error rolls both back.
    pub fn transact<T>(
        &self,
        new_info: Option<WorldInfo>,
        write: impl FnOnce(&WriteTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Store { db, path, info, .. } = self.store;
        let transaction = db.begin_write(path)?;
        let put = new_info.as_ref().map_or(Ok(()), |info| put_info(&transaction, path, info));
        match put.and_then(|()| write(&transaction)) {
            Ok(result) => {
                let committed = guarded(|| transaction.commit());
                committed.map_err(|fault| fault.at(path, "write"))?;
                if let Some(new_info) = new_info {
                    *info.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new_info);
                }
                Ok(result)
            }
            Err(error) => {
                // The first error is the cause.
                let _ = guarded(|| transaction.abort());
                Err(error)
            }
        }
    }
}

/// Writes the description of a world.
fn put_info(
    transaction: &WriteTransaction,
    path: &Path,
    info: &WorldInfo,
) -> Result<(), StoreError> {
    let written = guarded(|| -> Result<(), redb::Error> {
        // Every world file has all tables.
        transaction.open_table(CELLS)?;
        transaction.open_table(LISTED)?;
        transaction.open_table(META)?.insert(INFO_KEY, &*info.encode())?;
        Ok(())
    });
    written.map_err(|fault| fault.at(path, "write"))
}

/// Reads the description of a world.
fn read_info(transaction: &ReadTransaction, path: &Path) -> Result<WorldInfo, StoreError> {
    let read = guarded(|| -> Result<Option<Vec<u8>>, redb::Error> {
        let table = match transaction.open_table(META) {
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            table => table?,
        };
        Ok(table.get(INFO_KEY)?.map(|value| value.value().to_vec()))
    });
    let path = path.to_owned();
    let Some(bytes) = read.map_err(|fault| fault.at(&path, "read"))? else {
        let why = "it is a redb database of another program".to_owned();
        return Err(StoreError::NotAWorld { path, why });
    };
    WorldInfo::decode(&bytes).map_err(|error| match error {
        InfoError::Version(version) => StoreError::TooNew { path, version },
        InfoError::Value(what) => StoreError::Damaged { path, part: StoredPart::Info, what },
    })
}

fn seal_extra(key: &str, bytes: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(SEAL_BYTES + bytes.len());
    start_sealed(&mut value);
    value.extend_from_slice(bytes);
    seal(key.as_bytes(), &mut value);
    value
}
