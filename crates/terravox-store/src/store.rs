//! An open world file: its description, extra data, statistics and maintenance.

use crate::database::{self, CELLS, Db, LISTED, META};
use crate::error::{StoreError, StoredPart};
use crate::guard::guarded;
use crate::info::{INFO_KEY, InfoError, MAX_NAME_BYTES, WorldInfo};
use crate::key::{page_bytes, page_from_bytes};
use crate::listing::{Listing, page_of};
use crate::value::{ValueCoder, ValueError, check_sealed, checksum};
use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata, WriteTransaction};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use terravox::voxel::{ChunkPos, PagePos, SaveStamp};

/// Longest extra data under one name.
pub const MAX_EXTRA_BYTES: usize = 64 << 20;

/// Prefix of the keys of extra data.
const EXTRA_PREFIX: &str = "extra/";

/// Version byte and checksum.
const EXTRA_HEADER_BYTES: usize = 9;

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
    info: RwLock<Arc<WorldInfo>>,
    /// The last saved state; locked during a save.
    pub(crate) saving: Mutex<Option<SaveStamp>>,
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

/// A page and its listing, each valid or damaged.
pub(crate) type StoredListing = (Option<PagePos>, Result<Listing, ValueError>);

impl Store {
    /// Opens a world for reading and writing.
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
        Ok(Store { db, path, file, info: RwLock::new(Arc::new(info)), saving: Mutex::default() })
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
        let store = Store { db, path, file, info: info_lock, saving: Mutex::default() };
        store.set_info(info)?;
        Ok(store)
    }

    /// The path of the world, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
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

    pub(crate) fn remember_info(&self, info: WorldInfo) {
        *self.info.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(info);
    }

    /// Replaces the description of the world, durably.
    ///
    /// # Errors
    /// If a value in it is invalid, a material changes its kind while chunks are stored, or the
    /// file cannot be written.
    pub fn set_info(&self, info: &WorldInfo) -> Result<(), StoreError> {
        if let Some(what) = info.fault() {
            return Err(StoreError::Refused { path: self.path.clone(), what });
        }
        let kinds_change = self.info().materials.kinds() != info.materials.kinds();
        if kinds_change && !self.chunks()?.is_empty() {
            return Err(self.kinds_differ(info.materials.kinds()));
        }
        let bytes = info.encode();
        self.transact(|transaction| {
            let written = guarded(|| -> Result<(), redb::Error> {
                // All tables exist in a world file.
                transaction.open_table(CELLS)?;
                transaction.open_table(LISTED)?;
                transaction.open_table(META)?.insert(INFO_KEY, &*bytes)?;
                Ok(())
            });
            written.map_err(|fault| fault.at(&self.path, "write"))
        })?;
        self.remember_info(info.clone());
        Ok(())
    }

    pub(crate) fn kinds_differ(&self, kinds: &[terravox::voxel::Kind; 256]) -> StoreError {
        let info = self.info();
        let own = info.materials.kinds();
        let first = own.iter().zip(kinds).position(|(a, b)| a != b);
        StoreError::KindsDiffer { path: self.path.clone(), material: first.unwrap_or(0) as u8 }
    }

    /// Runs `write` in a transaction that is durable when this returns; an error rolls it back.
    pub(crate) fn transact<T>(
        &self,
        write: impl FnOnce(&WriteTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transaction = self.db.begin_write(&self.path)?;
        match write(&transaction) {
            Ok(answer) => {
                let committed = guarded(|| transaction.commit());
                committed.map_err(|fault| fault.at(&self.path, "write"))?;
                Ok(answer)
            }
            Err(error) => {
                // The first error is the cause.
                let _ = guarded(|| transaction.abort());
                Err(error)
            }
        }
    }

    /// Bytes that an importer or a program stored under a name; `None` if there are none.
    ///
    /// # Errors
    /// If they cannot be read or are damaged.
    pub fn extra(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let key = format!("{EXTRA_PREFIX}{name}");
        let transaction = self.db.begin_read(&self.path)?;
        let read = guarded(|| -> Result<Option<Vec<u8>>, redb::Error> {
            let table = transaction.open_table(META)?;
            Ok(table.get(&*key)?.map(|value| value.value().to_vec()))
        });
        let Some(mut value) = read.map_err(|fault| fault.at(&self.path, "read"))? else {
            return Ok(None);
        };
        let limit = MAX_EXTRA_BYTES + EXTRA_HEADER_BYTES;
        check_sealed(key.as_bytes(), &value, EXTRA_HEADER_BYTES, limit)
            .map_err(|what| self.damaged(StoredPart::Extra(name.to_owned()), what))?;
        value.drain(..EXTRA_HEADER_BYTES);
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
        self.transact(|transaction| self.put_extra(transaction, name, bytes))
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

    pub(crate) fn damaged(&self, part: StoredPart, what: ValueError) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), part, what }
    }

    pub(crate) fn coder(&self) -> ValueCoder {
        ValueCoder::new(self.info().materials.kinds())
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
            Some(listing) => listing.map_err(|what| self.damaged(StoredPart::Listing(page), what)),
        }
    }

    /// All listings, by page.
    fn listings(&self) -> Result<Vec<(PagePos, Listing)>, StoreError> {
        let transaction = self.db.begin_read(&self.path)?;
        let mut listings = Vec::new();
        for (page, listing) in self.listings_as_stored(&transaction)? {
            let page =
                page.ok_or_else(|| self.damaged(StoredPart::Table("listed"), ValueError::Key))?;
            let listing = listing.map_err(|what| self.damaged(StoredPart::Listing(page), what))?;
            listings.push((page, listing));
        }
        Ok(listings)
    }

    /// All listings, by page (`None` for an invalid key), valid or damaged.
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
                listings.push((page_from_bytes(key), Listing::decode(key, value.value())));
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
                file_bytes: 0,
            })
        });
        let stats = read.map_err(|fault| fault.at(&self.path, "read"))?;
        let metadata = std::fs::metadata(&self.file).map_err(|source| StoreError::Io {
            path: self.path.clone(),
            doing: "read",
            source,
        })?;
        Ok(StoreStats { file_bytes: metadata.len(), ..stats })
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
    let mut value = vec![0; EXTRA_HEADER_BYTES];
    value[0] = crate::value::VALUE_VERSION;
    value.extend_from_slice(bytes);
    let sum = checksum(key.as_bytes(), &value);
    value[1..9].copy_from_slice(&sum.to_le_bytes());
    value
}
