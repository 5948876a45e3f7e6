//! Opening the file of a world, and the keys of its tables. What is beneath a store.

use crate::disk::Disk;
use crate::error::{BadPart, StoreError, StoredPart};
use crate::file_names::{remove_unfinished_backups, resolve_symlink};
use crate::info::FORMAT_VERSION;
use crate::key::{BlockKey, KEY_BYTES, KeyBytes, page_bytes, page_from_bytes};
pub(crate) use crate::key::{CELLS, CHANNELS, EXTRA};
use crate::locked_file::LockedFile;
use crate::reader::{RecordsReader, RecordsTransaction, StoreReader, StoreTransaction};
use crate::records::{CommitFailure, Records};
use crate::tree::{CommitError, HeaderFault, LostSpan, Tree, TreeDamage, TreeError};
use crate::value::ValueError;
use same_file::Handle;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use terravox::voxel::{ChannelGrid, ChunkPos, PagePos};

/// Both keys of the description, in different parts of the tree and with values of their own: one
/// flipped byte does not cost the world.
pub(crate) const INFO_KEYS: [&[u8]; 2] = [&[0], &[255]];

/// Table of listings: keys are this byte and the Morton number of a page.
pub(crate) const LISTED: u8 = 3;

/// First bytes of worlds before version 3 of the format.
const OLD_MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";

/// Key of extra data.
pub(crate) fn extra_key(name: &str) -> Vec<u8> {
    [&[EXTRA], name.as_bytes()].concat()
}

/// Key of a block.
pub(crate) fn cell_key(block: &KeyBytes) -> [u8; KEY_BYTES + 1] {
    let mut key = [CELLS; KEY_BYTES + 1];
    key[1..].copy_from_slice(block);
    key
}

/// Key of a listing.
pub(crate) fn listing_key(page: PagePos) -> [u8; KEY_BYTES] {
    let mut key = [LISTED; KEY_BYTES];
    key[1..].copy_from_slice(&page_bytes(page));
    key
}

/// Key of what a channel holds in a chunk.
pub(crate) fn channel_key(channel: u8, chunk: ChunkPos) -> [u8; KEY_BYTES + 1] {
    let mut key = [CHANNELS; KEY_BYTES + 1];
    key[1..KEY_BYTES].copy_from_slice(&BlockKey::chunk(chunk).bytes()[1..]);
    key[KEY_BYTES] = channel;
    key
}

/// The channel and the chunk of a key in the table of channels; `None` if the key is not that of a
/// chunk within the limits.
pub(crate) fn channel_of(key: &[u8]) -> Option<(u8, ChunkPos)> {
    let (&channel, position) = key.strip_prefix(&[CHANNELS])?.split_last()?;
    let block = BlockKey::from_bytes(&[&[0], position].concat())?;
    let is_valid = usize::from(channel) < ChannelGrid::MAX_CHANNELS && block.within_limits();
    is_valid.then(|| (channel, block.as_chunk()))
}

/// The block of a key in the table of cells; `None` if the key is not a valid position.
pub(crate) fn block_of(key: &[u8]) -> Option<BlockKey> {
    key.strip_prefix(&[CELLS]).and_then(BlockKey::from_bytes)
}

/// The page of a key in the table of listings; `None` if the key is not a valid position.
pub(crate) fn page_of_key(key: &[u8]) -> Option<PagePos> {
    key.strip_prefix(&[LISTED])?.try_into().ok().and_then(page_from_bytes)
}

/// What a key holds.
pub(crate) fn part_of(key: &[u8]) -> StoredPart {
    if INFO_KEYS.contains(&key) {
        return StoredPart::Info;
    }
    match (key.first(), str::from_utf8(key.get(1..).unwrap_or_default())) {
        (Some(&EXTRA), Ok(name)) => StoredPart::Extra(name.to_owned()),
        (Some(&CELLS), _) => block_of(key).map_or(StoredPart::Table("cells"), StoredPart::block),
        (Some(&LISTED), _) => {
            page_of_key(key).map_or(StoredPart::Table("listed"), StoredPart::Listing)
        }
        (Some(&CHANNELS), _) => {
            channel_of(key).map_or(StoredPart::Table("channels"), |(channel, chunk)| {
                StoredPart::Channel { channel, chunk }
            })
        }
        _ => StoredPart::Index,
    }
}

/// The storage beneath a store: an open file, or records elsewhere.
pub(crate) struct Db {
    backing: Backing,
    is_writable: bool,
}

enum Backing {
    File(Box<Tree>),
    Records {
        records: Arc<dyn Records>,
        /// Why nothing is written any more.
        stop: Mutex<Option<WriteStop>>,
    },
}

/// Why a database is no longer written to.
#[derive(Clone)]
enum WriteStop {
    /// The outcome of a commit is unknown.
    Unsure,
    /// Another writer took the world over, and how.
    Fenced(String),
}

impl Db {
    /// Records that are elsewhere.
    pub fn of_records(records: Arc<dyn Records>, is_writable: bool) -> Db {
        Db { backing: Backing::Records { records, stop: Mutex::default() }, is_writable }
    }

    /// Whether it is records, and no file.
    pub fn is_of_records(&self) -> bool {
        matches!(self.backing, Backing::Records { .. })
    }

    /// Whether it is records that another program may write to.
    pub fn is_read_only_records(&self) -> bool {
        self.is_of_records() && !self.is_writable
    }

    /// What it holds now.
    pub fn snapshot(&self) -> Box<StoreReader> {
        Box::new(match &self.backing {
            Backing::File(tree) => StoreReader::File(tree.snapshot()),
            Backing::Records { records, .. } => {
                StoreReader::Records(RecordsReader::new(records.view()))
            }
        })
    }

    /// What it holds at each read, of records that only this store writes to: a message less.
    pub fn latest(&self) -> Option<Box<StoreReader>> {
        match &self.backing {
            Backing::Records { records, .. } if self.is_writable => {
                Some(Box::new(StoreReader::Records(RecordsReader::new(records.latest()))))
            }
            _ => None,
        }
    }

    /// Bytes of the file, or of the records.
    pub fn stored_bytes(&self) -> Result<u64, TreeError> {
        match &self.backing {
            Backing::File(tree) => Ok(tree.length()?),
            Backing::Records { .. } => Ok(self.snapshot().totals()?.payload_bytes),
        }
    }

    /// Bytes of a file up to the end of what is in use.
    pub fn used_bytes(&self) -> u64 {
        match &self.backing {
            Backing::File(tree) => tree.snapshot().state.end,
            Backing::Records { .. } => 0,
        }
    }

    /// Bytes that are free, as far as that is known.
    pub fn spare_bytes(&self) -> u64 {
        match &self.backing {
            Backing::File(tree) => tree.spare_bytes(),
            Backing::Records { .. } => 0,
        }
    }

    /// Makes what was written durable; commits do so themselves.
    pub fn sync(&self, path: &Path) -> Result<(), StoreError> {
        let Backing::File(tree) = &self.backing else { return Ok(()) };
        let synced = tree.sync();
        synced.map_err(|source| StoreError::Io { path: path.to_owned(), doing: "save", source })
    }

    pub fn check_writable(&self, path: &Path) -> Result<(), StoreError> {
        match self.is_writable {
            true => Ok(()),
            false => Err(StoreError::ReadOnly { path: path.to_owned() }),
        }
    }

    /// Returns an error if it is known that nothing more can be written from here.
    pub fn check_writer(&self, path: &Path) -> Result<(), StoreError> {
        self.check_writable(path)?;
        let Backing::Records { records, stop } = &self.backing else { return Ok(()) };
        let stopped = stop.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match stopped.or_else(|| records.taken_over().map(WriteStop::Fenced)) {
            None => Ok(()),
            Some(WriteStop::Unsure) => Err(store_error(TreeError::Poisoned, path, "write")),
            Some(WriteStop::Fenced(what)) => {
                Err(StoreError::Fenced { path: path.to_owned(), what })
            }
        }
    }

    /// Completes a change whose outcome is unknown, before what is stored is copied.
    pub fn settle(&self, path: &Path) -> Result<(), StoreError> {
        match &self.backing {
            Backing::File(tree) if tree.is_unsure() => self.begin(path).map(drop),
            _ => Ok(()),
        }
    }

    /// Begins a change.
    pub fn begin(&self, path: &Path) -> Result<StoreTransaction<'_>, StoreError> {
        self.check_writer(path)?;
        match &self.backing {
            Backing::File(tree) => {
                let begun = tree.begin().map_err(|error| store_error(error, path, "write"));
                Ok(StoreTransaction::File(begun?))
            }
            Backing::Records { records, .. } => {
                Ok(StoreTransaction::Records(RecordsTransaction::new(&**records)))
            }
        }
    }

    /// Makes a change durable.
    pub fn commit(&self, change: StoreTransaction<'_>, path: &Path) -> Result<(), StoreError> {
        match (&self.backing, change) {
            (Backing::File(tree), StoreTransaction::File(transaction)) => {
                tree.commit(transaction).map_err(|error| match error {
                    CommitError::Before(error) => store_error(error, path, "write"),
                    CommitError::Unsure(source) => {
                        StoreError::Unsure { path: path.to_owned(), source }
                    }
                })
            }
            (Backing::Records { records, stop }, StoreTransaction::Records(change)) => {
                if change.changes.is_empty() {
                    return Ok(());
                }
                let set = |why| *stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                let path = path.to_owned();
                records.commit(change.changes).map_err(|failure| match failure {
                    CommitFailure::Unchanged(source) => {
                        StoreError::Io { path, doing: "write", source }
                    }
                    CommitFailure::Fenced(what) => {
                        set(WriteStop::Fenced(what.clone()));
                        StoreError::Fenced { path, what }
                    }
                    CommitFailure::Unsure(source) => {
                        set(WriteStop::Unsure);
                        StoreError::Unsure { path, source }
                    }
                })
            }
            _ => unreachable!("a change is committed where it was begun"),
        }
    }
}

/// The error for `path` while `doing` something.
pub(crate) fn store_error(error: TreeError, path: &Path, doing: &'static str) -> StoreError {
    let path = path.to_owned();
    match error {
        TreeError::Io(source) => StoreError::Io { path, doing, source },
        TreeError::Damaged(what) => {
            let what =
                format!("{what}; `terravox repair` or Store::repair keeps all that is whole");
            StoreError::Index { path, doing, what }
        }
        error => StoreError::Index { path, doing, what: error.to_string() },
    }
}

/// What is wrong with a part that the tree cannot read.
pub(crate) fn value_error(error: &TreeError) -> ValueError {
    match *error {
        TreeError::Damaged(what) => ValueError::Unreadable(what.into()),
        TreeError::TooMuchWork => ValueError::TooMuchWork { blocks: 1 },
        ref error => ValueError::Unreadable(error.to_string().into()),
    }
}

/// The part for a lost span of keys.
pub(crate) fn lost_part(lost: &LostSpan) -> BadPart {
    let name = |key: &[u8]| part_of(key).to_string();
    let from = if lost.span.low.is_empty() { "the start".to_owned() } else { name(&lost.span.low) };
    let to = lost.span.high.as_deref().map_or("the end".to_owned(), name);
    let what = format!("{}; what it held is lost: {from} to {to}", lost.what);
    BadPart { part: StoredPart::Index, what: ValueError::Unreadable(what.into()) }
}

/// The part for damage to the file's structure.
pub(crate) fn damaged_part(damage: &TreeDamage) -> BadPart {
    let index = |what| BadPart { part: StoredPart::Index, what };
    match damage {
        TreeDamage::HeaderCopy | TreeDamage::NodeCopy => index(ValueError::OneCopy),
        TreeDamage::Space(what) => index(ValueError::Unreadable((*what).into())),
        TreeDamage::Node(lost) => lost_part(lost),
        TreeDamage::Value { key, what } => BadPart { part: part_of(key), what: value_error(what) },
    }
}

/// A new world on a disk, which nothing else uses.
pub(crate) fn create(disk: Arc<dyn Disk>, path: &Path) -> Result<Db, StoreError> {
    let made = Tree::create(disk);
    made.map(|tree| Db { backing: Backing::File(Box::new(tree)), is_writable: true }).map_err(
        |source| StoreError::Io { path: path.to_owned(), doing: "create the world", source },
    )
}

/// Opens an existing world for reading and writing.
pub(crate) fn open(path: &Path) -> Result<Db, StoreError> {
    let file = open_locked(path, true, File::try_lock)?;
    remove_unfinished_backups(&resolve_symlink(path), |backup| is_at(file.file(), backup));
    open_on(Arc::new(file), path)
}

/// Opens the world on a disk, which nothing else uses, for reading and writing.
pub(crate) fn open_on(disk: Arc<dyn Disk>, path: &Path) -> Result<Db, StoreError> {
    Ok(Db { backing: Backing::File(Box::new(open_tree(disk, path)?)), is_writable: true })
}

/// Opens an existing world for reading. Does not change the file.
pub(crate) fn open_read_only(path: &Path) -> Result<Db, StoreError> {
    let file = open_locked(path, false, File::try_lock_shared)?;
    let backing = Backing::File(Box::new(open_tree(Arc::new(file), path)?));
    Ok(Db { backing, is_writable: false })
}

/// Times that a file is opened again because another one took its place meanwhile.
const OPEN_ATTEMPTS: u32 = 16;

/// Opens a regular file and takes a lock. Another program may put a new file in place between the
/// two; then that is opened.
fn open_locked(
    path: &Path,
    write: bool,
    take: fn(&File) -> Result<(), TryLockError>,
) -> Result<LockedFile, StoreError> {
    for _ in 0..OPEN_ATTEMPTS {
        let file = LockedFile::lock(open_regular(path, write)?, path, take)?;
        if is_at(file.file(), path) {
            return Ok(file);
        }
    }
    Err(StoreError::InUse { path: path.to_owned(), writer: None })
}

/// Whether `path` names this file.
fn is_at(file: &File, path: &Path) -> bool {
    let held = file.try_clone().and_then(Handle::from_file);
    held.is_ok_and(|held| Handle::from_path(path).is_ok_and(|named| held == named))
}

fn open_tree(disk: Arc<dyn Disk>, path: &Path) -> Result<Tree, StoreError> {
    let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "open", source };
    let length = disk.length().map_err(io_error)?;
    let mut start = vec![0; OLD_MAGIC.len().min(length as usize)];
    disk.read_at(0, &mut start).map_err(io_error)?;
    let not_a_world = |why: &str| StoreError::NotAWorld { path: path.to_owned(), why: why.into() };
    match Tree::open(disk) {
        Ok(tree) => Ok(tree),
        Err(HeaderFault::Io(source)) => Err(io_error(source)),
        Err(HeaderFault::TooNew(version)) => {
            debug_assert!(version > FORMAT_VERSION);
            Err(StoreError::TooNew { path: path.to_owned(), version })
        }
        Err(HeaderFault::Damaged) => Err(StoreError::Index {
            path: path.to_owned(),
            doing: "open the world",
            what: "its header is damaged in all copies, or was cut off; restore a backup".into(),
        }),
        Err(HeaderFault::Foreign) if start == OLD_MAGIC => {
            Err(StoreError::OldFormat { path: path.to_owned() })
        }
        Err(HeaderFault::Foreign) if start.is_empty() => Err(not_a_world("the file is empty")),
        Err(HeaderFault::Foreign) => Err(not_a_world("byte 0: it is a file of another program")),
    }
}

/// Opens a regular file.
fn open_regular(path: &Path, write: bool) -> Result<File, StoreError> {
    let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "open", source };
    let not_a_world = |why: &str| StoreError::NotAWorld { path: path.to_owned(), why: why.into() };
    let metadata = std::fs::metadata(path).map_err(io_error)?;
    if metadata.is_dir() {
        return Err(not_a_world("it is a directory"));
    }
    if !metadata.is_file() {
        return Err(not_a_world("it is not a regular file"));
    }
    match OpenOptions::new().read(true).write(write).open(path) {
        Ok(file) => Ok(file),
        Err(error) if write && is_refusal(&error) && File::open(path).is_ok() => {
            Err(StoreError::ReadOnly { path: path.to_owned() })
        }
        Err(error) => Err(io_error(error)),
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Whether an existing file may be replaced by a world: it is a world (or a damaged one) or empty,
/// and is not open elsewhere. It stays locked as long as the returned file lives.
pub(crate) fn check_replaceable(path: &Path) -> Result<LockedFile, StoreError> {
    let file = open_locked(path, false, File::try_lock)?;
    let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "open", source };
    if file.length().map_err(io_error)? == 0 {
        return Ok(file);
    }
    match open_tree(Arc::new(file.file().try_clone().map_err(io_error)?), path) {
        Err(error @ (StoreError::NotAWorld { .. } | StoreError::OldFormat { .. })) => Err(error),
        // A world, or the remains of a damaged one.
        _ => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_place_another_took_is_noticed() {
        let folder = std::env::temp_dir();
        let [path, other] = ["a", "b"]
            .map(|name| folder.join(format!("terravox-place-{}-{name}", std::process::id())));
        let file = File::create(&path).unwrap();
        assert!(is_at(&file, &path));
        File::create(&other).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(!is_at(&file, &path));
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path));
    }
}
