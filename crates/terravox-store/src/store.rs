//! An open world file: its description, extra data, statistics and maintenance.

use crate::database::{
    self, CELLS, CHANNELS, Db, EXTRA, INFO_KEYS, LISTED, extra_key, listing_key, lost_part,
    page_of_key, store_error, value_error,
};
use crate::description::{Description, ReadView, read_info};
use crate::error::{BadPart, StoreError, StoredPart};
use crate::file_names::resolve_symlink;
use crate::findings::Findings;
use crate::info::{MAX_NAME_BYTES, WorldInfo};
use crate::listing::{Listing, check_listed_count, page_of};
use crate::reader::{StoreReader, StoreTransaction};
use crate::tree::{ReadTree, TreeError};
use crate::value::ValueError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terravox::voxel::{ChunkPos, PagePos, SaveStamp};

/// Maximum size of the extra data under one name, in bytes.
pub const MAX_EXTRA_BYTES: usize = 64 << 20;

/// Name of the extra data that holds the undo history.
pub(crate) const HISTORY_NAME: &str = "undo";

/// Name of the extra data that holds loose bodies.
pub(crate) const BODIES_NAME: &str = "bodies";

/// A new world whose file has one spare byte in this many is compacted.
const COMPACT_SPARE_DIVISOR: u64 = 8;

/// A world file, or a world in a database or in S3.
///
/// Reads and saves take `&self`, from any thread. Reading goes on while another thread writes;
/// writers wait for each other. A write is on disk when it returns.
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
    /// The open file: a temporary one until the world is finished; `None` on a
    /// [`Disk`](crate::Disk).
    file: Option<PathBuf>,
    description: Description,
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

/// What a world file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Chunks stored.
    pub chunks: u64,
    /// Blocks of all mips stored, chunks among them.
    pub blocks: u64,
    /// Chunks in which channels hold something, counted for each channel separately.
    pub channel_chunks: u64,
    /// Bytes of all keys and values.
    pub payload_bytes: u64,
    /// Bytes of the file: payload, index, header, and free space that later writes use.
    /// [`Store::compact`] removes the free space. In a database, the payload.
    pub file_bytes: u64,
}

/// A listing as it is stored, valid or damaged.
pub(crate) struct StoredListing {
    /// `None` if the key is invalid.
    pub page: Option<PagePos>,
    pub listing: Result<Listing, ValueError>,
}

impl Store {
    /// Opens a world for reading and writing. A damaged world opens if its description is
    /// undamaged, and its undamaged parts can be read. While a part of its index is lost, writes
    /// fail: see [`Store::repair`].
    ///
    /// # Errors
    /// If the file cannot be opened or is not a world of a known version; see [`StoreError`].
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        Store::from_db(database::open(path)?, path, Some(resolve_symlink(path)))
    }

    /// Opens a world for reading only. Other programs can read it at the same time, and the file is
    /// not changed.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        Store::from_db(database::open_read_only(path)?, path, Some(resolve_symlink(path)))
    }

    /// The store of a database that has a description.
    pub(crate) fn from_db(db: Db, path: &Path, file: Option<PathBuf>) -> Result<Store, StoreError> {
        let description = Description::new(read_info(&db.snapshot(), path)?);
        let path = path.to_owned();
        Ok(Store { db, path, file, description, last_saved: Mutex::default() })
    }

    /// A store of a new world that is, or will be, at `path`.
    pub(crate) fn from_new_db(
        db: Db,
        path: &Path,
        file: Option<&Path>,
        info: &WorldInfo,
    ) -> Result<Store, StoreError> {
        let (path, file) = (path.to_owned(), file.map(Path::to_owned));
        let description = Description::new(info.clone());
        let store = Store { db, path, file, description, last_saved: Mutex::default() };
        store.set_info(info)?;
        Ok(store)
    }

    /// The path of the world, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an error if it is already known that this store can save nothing more. Does no I/O.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] if the world was opened for reading, [`StoreError::Fenced`] if
    /// another writer of a database took it over, and [`StoreError::Index`] if the outcome of a
    /// write to a database is unknown: open it again. In a file, the next write finds out.
    pub fn check_writer(&self) -> Result<(), StoreError> {
        self.db.check_writer(&self.path)
    }

    /// Returns an error if nothing can be saved before the world is repaired, for programs that
    /// would otherwise learn it at their first save. In a file, the first call, or the first save,
    /// reads the whole index. Waits for saves of other threads.
    ///
    /// # Errors
    /// As [`Store::check_writer`], and [`StoreError::Index`] if the index of a file is damaged.
    pub fn check_index(&self) -> Result<(), StoreError> {
        self.db.begin(&self.path).map(drop)
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// Whether the world is in [`Records`](crate::Records), such as those of a database: then reads
    /// may take long.
    pub fn is_in_records(&self) -> bool {
        self.db.is_of_records()
    }

    /// Where the file is that the world was opened from, with symbolic links resolved.
    ///
    /// # Errors
    /// If the world is on a disk.
    pub(crate) fn file(&self) -> Result<&Path, StoreError> {
        self.file.as_deref().ok_or_else(|| {
            let what = "it is not a file of its own, so it cannot be replaced".to_owned();
            StoreError::Refused { path: self.path.clone(), what }
        })
    }

    /// Notes that the file was renamed.
    pub(crate) fn set_file(&mut self, file: PathBuf) {
        self.file = Some(file);
    }

    /// Makes what was written durable; writes do so themselves.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.db.sync(&self.path)
    }

    /// The description of the world. A store of [`Records`](crate::Records) that was opened for
    /// reading has it as it was at the last read.
    pub fn info(&self) -> Arc<WorldInfo> {
        self.description.get()
    }

    /// Waits until no other thread writes.
    pub(crate) fn lock_writes(&self) -> WriteLock<'_> {
        let last_saved = self.last_saved.lock().unwrap_or_else(PoisonError::into_inner);
        self.description.resolve(&self.db, &self.path);
        WriteLock { store: self, last_saved }
    }

    /// Completes a save whose outcome is unknown, before what is stored is copied.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        drop(self.lock_writes());
        self.db.settle(&self.path)
    }

    /// Begins to read cells and channels.
    pub(crate) fn begin_read(&self) -> ReadView {
        self.description.begin_read(&self.db, &self.path)
    }

    /// Replaces the description of the world, durably.
    ///
    /// # Errors
    /// If a value in it is invalid, if a material changes its kind while chunks or loose bodies are
    /// stored, if a channel was removed or changed, or if the file cannot be written.
    pub fn set_info(&self, info: &WorldInfo) -> Result<(), StoreError> {
        if let Some(what) = info.fault() {
            return Err(StoreError::Refused { path: self.path.clone(), what });
        }
        let lock = self.lock_writes();
        let kinds_change = self.info().materials.kinds() != info.materials.kinds();
        let is_empty = || -> Result<bool, StoreError> {
            let listings = self.listings(&self.db.snapshot())?;
            let has_chunks = listings.iter().any(|(_, listing)| !listing.is_empty());
            Ok(!has_chunks && self.extra(BODIES_NAME)?.is_none())
        };
        if kinds_change && !is_empty()? {
            return Err(self.kinds_differ_error(info.materials.kinds()));
        }
        let stored = self.info();
        // A new world has none of them yet, only its description.
        if !info.channels.starts_with(&stored.channels) {
            let what =
                "channels of a world cannot be removed or changed; declare others after them";
            return Err(StoreError::Refused { path: self.path.clone(), what: what.to_owned() });
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
        self.extra_in(&self.db.snapshot(), name)
    }

    pub(crate) fn extra_in(
        &self,
        tree: &StoreReader,
        name: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let mut value = Vec::new();
        if name.len() > MAX_NAME_BYTES {
            return Ok(None);
        }
        let part = || StoredPart::Extra(name.to_owned());
        match tree.get(&extra_key(name), &mut value) {
            Ok(is_there) => Ok(is_there.then_some(value)),
            Err(TreeError::Io(error)) => Err(self.read_error(TreeError::Io(error))),
            Err(error) => Err(self.damaged_error(part(), value_error(&error))),
        }
    }

    /// The error that reading failed.
    pub(crate) fn read_error(&self, error: TreeError) -> StoreError {
        store_error(error, &self.path, "read")
    }

    /// Names of all extra data, sorted.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn extra_names(&self) -> Result<Vec<String>, StoreError> {
        let keys = self.db.snapshot().keys(&[EXTRA], &[EXTRA + 1]);
        let keys = keys.map_err(|error| self.read_error(error))?;
        let name = |key: &Vec<u8>| String::from_utf8_lossy(&key[1..]).into_owned();
        Ok(keys.iter().map(name).collect())
    }

    /// Stores `bytes` under `name`, durably, or removes them if `None`. The undo history and the
    /// loose bodies of a terrain are extra data, too, and can only be removed here.
    ///
    /// # Errors
    /// If the name or the bytes are too long ([`MAX_NAME_BYTES`], [`MAX_EXTRA_BYTES`]), bytes are
    /// given for a name that terravox stores its own data under (`undo`, `bodies`), or the file
    /// cannot be written.
    pub fn set_extra(&self, name: &str, bytes: Option<&[u8]>) -> Result<(), StoreError> {
        if bytes.is_some() {
            self.check_unreserved(name)?;
        }
        self.check_extra(name, bytes)?;
        self.lock_writes().transact(None, |transaction| self.put_extra(transaction, name, bytes))
    }

    /// Rejects the names that terravox stores its own data under.
    pub(crate) fn check_unreserved(&self, name: &str) -> Result<(), StoreError> {
        if [HISTORY_NAME, BODIES_NAME].contains(&name) {
            let what =
                format!("the name \"{name}\" is reserved for terravox's own data; use another");
            return Err(StoreError::Refused { path: self.path.clone(), what });
        }
        Ok(())
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
        transaction: &mut StoreTransaction<'_>,
        name: &str,
        bytes: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let key = extra_key(name);
        let written = match bytes {
            Some(bytes) => transaction.put(&key, bytes),
            None => transaction.remove(&key).map(drop),
        };
        written.map_err(|error| self.write_error(error))
    }

    /// The error that writing failed.
    pub(crate) fn write_error(&self, error: TreeError) -> StoreError {
        store_error(error, &self.path, "write")
    }

    /// The error that a part of the file is damaged.
    pub(crate) fn damaged_error(&self, part: StoredPart, what: ValueError) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), part, what }
    }

    /// Positions of all listed chunks, sorted by x, y, z. Reads no cells. Up to 65,536 of them may
    /// be missing in a damaged file, so memory is bounded by what is there.
    ///
    /// # Errors
    /// If a listing is damaged or more chunks are missing; [`Store::load`] and [`Store::verify`] go
    /// on without it.
    pub fn chunks(&self) -> Result<Vec<ChunkPos>, StoreError> {
        let tree = self.db.snapshot();
        let listings = self.listings(&tree)?;
        check_listed_count(&tree, &listings)
            .map_err(|what| self.damaged_error(StoredPart::Table("listed"), what))?;
        let mut chunks = Vec::new();
        for (page, listing) in listings {
            chunks.extend(listing.chunks(page));
        }
        chunks.sort_unstable();
        Ok(chunks)
    }

    /// Whether a chunk is stored. A stored chunk may be air; chunks beyond the limits of a grid are
    /// not stored.
    ///
    /// # Errors
    /// If the list is damaged.
    pub fn is_listed(&self, chunk: ChunkPos) -> Result<bool, StoreError> {
        Ok(chunk.within_limits()
            && self.listing(&self.db.snapshot(), page_of(chunk))?.contains(chunk))
    }

    /// The listing of a page, empty if it has none.
    pub(crate) fn listing(&self, tree: &StoreReader, page: PagePos) -> Result<Listing, StoreError> {
        let damaged = |what| self.damaged_error(StoredPart::Listing(page), what);
        let mut value = Vec::new();
        match tree.get(&listing_key(page), &mut value) {
            Ok(false) => Ok(Listing::default()),
            Ok(true) => Listing::decode(&value).map_err(damaged),
            Err(TreeError::Io(error)) => Err(self.read_error(TreeError::Io(error))),
            Err(error) => Err(damaged(value_error(&error))),
        }
    }

    /// All listings, by page.
    fn listings(&self, tree: &StoreReader) -> Result<Vec<(PagePos, Listing)>, StoreError> {
        let (stored, lost) = self.listings_as_stored(tree);
        if let Some(BadPart { part, what }) = lost.into_iter().next() {
            return Err(self.damaged_error(part, what));
        }
        let mut listings = Vec::with_capacity(stored.len());
        for StoredListing { page, listing } in stored {
            let page = page
                .ok_or_else(|| self.damaged_error(StoredPart::Table("listed"), ValueError::Key))?;
            let listing =
                listing.map_err(|what| self.damaged_error(StoredPart::Listing(page), what))?;
            listings.push((page, listing));
        }
        Ok(listings)
    }

    /// All listings, sorted by key, valid or damaged, and where some are lost.
    pub(crate) fn listings_as_stored(
        &self,
        tree: &StoreReader,
    ) -> (Vec<StoredListing>, Vec<BadPart>) {
        let (mut listings, mut lost) = (Vec::new(), Findings::default());
        let mut value = Vec::new();
        let mut scan = tree.scan(&[LISTED], Some(&[LISTED + 1]));
        while let Some(entry) = scan.next() {
            match entry {
                Err(span) => lost.push(lost_part(&span)),
                Ok(entry) => {
                    let read = scan.value(&entry, &mut value);
                    let listing = read.map_err(|error| value_error(&error));
                    let listing = listing.and_then(|()| Listing::decode(&value));
                    listings.push(StoredListing { page: page_of_key(&entry.key), listing });
                }
            }
        }
        (listings, lost.into_parts())
    }

    /// The length of the file.
    pub(crate) fn file_bytes(&self) -> Result<u64, StoreError> {
        self.db.stored_bytes().map_err(|error| self.read_error(error))
    }

    /// What the file holds, and how many bytes that takes.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn stats(&self) -> Result<StoreStats, StoreError> {
        let file_bytes = self.file_bytes()?;
        let tree = self.db.snapshot();
        let chunks = self.listings(&tree)?.iter().map(|(_, listing)| listing.len() as u64).sum();
        let count = |table: u8| -> Result<u64, StoreError> {
            let keys = tree.scan_keys(&[table], Some(&[table + 1]));
            keys.map(|entry| entry.map(|_| 1).map_err(|lost| self.read_error(lost.what))).sum()
        };
        let (blocks, channel_chunks) = (count(CELLS)?, count(CHANNELS)?);
        let payload_bytes = tree.totals().map_err(|error| self.read_error(error))?.payload_bytes;
        Ok(StoreStats { chunks, blocks, channel_chunks, payload_bytes, file_bytes })
    }

    /// Compacts the file: writes a new one without free space beside it and renames that into its
    /// place. Takes about as long as copying the file. A process that is killed meanwhile leaves
    /// the world as it was, and a file named `NAME.NUMBER.partial`, which may be deleted.
    ///
    /// # Errors
    /// If the world is on a [`Disk`](crate::Disk) or was opened for reading, a part of it is
    /// damaged ([`Store::repair`] helps), or the new file cannot be written; then the world is as
    /// it was. [`StoreError::Unsure`] if the new file is in place, but perhaps not after a power
    /// cut.
    pub fn compact(&mut self) -> Result<(), StoreError> {
        self.db.check_writable(&self.path)?;
        let file = self.file()?;
        let (partial, db) = self.write_copy(file, &self.path)?;
        db.sync(&self.path)?;
        let placed = partial.place(file, &self.path);
        if matches!(placed, Ok(()) | Err(StoreError::Unsure { .. })) {
            self.db = db;
        }
        placed
    }

    /// Compacts a new file if much of it is free.
    pub(crate) fn compact_if_worth_it(&mut self) -> Result<(), StoreError> {
        let is_worth_it =
            self.db.spare_bytes().saturating_mul(COMPACT_SPARE_DIVISOR) > self.db.used_bytes();
        if is_worth_it { self.compact() } else { Ok(()) }
    }
}

impl WriteLock<'_> {
    /// Runs `write` in a transaction that is durable when this returns, and replaces the
    /// description of the world if there is a new one; an error rolls both back.
    pub fn transact<T>(
        &self,
        new_info: Option<WorldInfo>,
        write: impl FnOnce(&mut StoreTransaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Store { db, path, description, .. } = self.store;
        let mut transaction = db.begin(path)?;
        if let Some(info) = &new_info {
            let bytes = info.encode();
            for key in INFO_KEYS {
                let put = transaction.put(key, &bytes);
                put.map_err(|error| self.store.write_error(error))?;
            }
        }
        let result = write(&mut transaction)?;
        match new_info {
            None => db.commit(transaction, path)?,
            Some(info) => description.change(info, || db.commit(transaction, path))?,
        }
        Ok(result)
    }
}
