//! Worlds in a database: the records that a file has in its tree, by the same keys.
//!
//! A database brings reading at one moment and changing all or nothing; what records mean, and which
//! change with which, is the store's business ([`Store::open_records`](crate::Store::open_records)).
//! `docs/format.md` has the keys and values.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::Xxh3;

/// A key of a world with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldRecord {
    /// The key; keys are ordered by their bytes.
    pub key: Vec<u8>,
    /// The value; empty if only keys were asked for.
    pub value: Vec<u8>,
    /// [`WorldRecord::hash_of`] as it was when the record was written.
    pub hash: u64,
}

impl WorldRecord {
    /// A record with its hash.
    pub fn new(key: Vec<u8>, value: Vec<u8>) -> WorldRecord {
        let hash = WorldRecord::hash_of(&key, &value);
        WorldRecord { key, value, hash }
    }

    /// XXH3-64 of key and value. It shows what changed in a database by itself, and what two stores
    /// have in common.
    pub fn hash_of(key: &[u8], value: &[u8]) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(key);
        hash.update(value);
        hash.digest()
    }

    /// Whether the value is the one that was written.
    pub fn is_whole(&self) -> bool {
        self.hash == WorldRecord::hash_of(&self.key, &self.value)
    }
}

/// New values by key; `None` removes.
pub type RecordChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// What a database holds of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordTotals {
    /// Records.
    pub records: u64,
    /// Bytes of their keys and values.
    pub payload_bytes: u64,
}

/// Why a commit failed.
#[derive(Debug)]
pub enum CommitFailure {
    /// Nothing changed.
    Unchanged(io::Error),
    /// Nothing changed, and nothing ever will from here: this writer has lost the right to write.
    Fenced(String),
    /// The changes are made, all or none, and it is unknown which.
    Unsure(io::Error),
}

impl fmt::Display for CommitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommitFailure::Unchanged(error) | CommitFailure::Unsure(error) => write!(f, "{error}"),
            CommitFailure::Fenced(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for CommitFailure {}

/// The records of one world in a database. Calls may come from several threads, but commits come one
/// after the other, and only one store writes.
pub trait Records: Send + Sync {
    /// The records as they are now; later commits do not change the view.
    ///
    /// # Errors
    /// If the database cannot be read.
    fn view(&self) -> io::Result<Box<dyn RecordsView>>;

    /// Makes all changes, durably.
    ///
    /// # Errors
    /// If none is made, or that is unknown.
    fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure>;
}

/// The records of a world at one moment.
pub trait RecordsView: Send + Sync {
    /// Returns those of `keys` that are there, in any order.
    ///
    /// # Errors
    /// If they cannot be read.
    fn get(&self, keys: &[&[u8]]) -> io::Result<Vec<WorldRecord>>;

    /// Returns the records from `low` up to `high`, which is outside, or to the last, in order of their
    /// keys: at least one if there is any, and at most `limit`. Fewer than `limit` does not mean that
    /// there are no more.
    ///
    /// # Errors
    /// If they cannot be read.
    fn scan(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
        limit: usize,
        with_values: bool,
    ) -> io::Result<Vec<WorldRecord>>;

    /// How many records there are.
    ///
    /// # Errors
    /// If they cannot be counted.
    fn totals(&self) -> io::Result<RecordTotals>;
}

/// Records in memory: what all databases are compared with in tests.
#[derive(Debug, Default)]
pub struct MemoryRecords {
    by_key: Mutex<Arc<BTreeMap<Vec<u8>, WorldRecord>>>,
}

impl MemoryRecords {
    fn lock(&self) -> MutexGuard<'_, Arc<BTreeMap<Vec<u8>, WorldRecord>>> {
        // A panic leaves whole records.
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces a record without its hash, as a database does that is damaged.
    pub fn damage(&self, key: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut records = self.lock();
        Arc::make_mut(&mut records).get_mut(key).map(|record| change(&mut record.value)).is_some()
    }
}

impl Records for MemoryRecords {
    fn view(&self) -> io::Result<Box<dyn RecordsView>> {
        Ok(Box::new(self.lock().clone()))
    }

    fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure> {
        let mut records = self.lock();
        let records = Arc::make_mut(&mut records);
        for (key, value) in changes {
            match value {
                Some(value) => {
                    records.insert(key.clone(), WorldRecord::new(key, value));
                }
                None => drop(records.remove(&key)),
            }
        }
        Ok(())
    }
}

impl RecordsView for Arc<BTreeMap<Vec<u8>, WorldRecord>> {
    fn get(&self, keys: &[&[u8]]) -> io::Result<Vec<WorldRecord>> {
        Ok(keys.iter().filter_map(|&key| BTreeMap::get(self, key)).cloned().collect())
    }

    fn scan(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
        limit: usize,
        _with_values: bool,
    ) -> io::Result<Vec<WorldRecord>> {
        let from = self.range(low.to_vec()..).map(|(_, record)| record);
        let inside = from.take_while(|record| high.is_none_or(|high| &*record.key < high));
        Ok(inside.take(limit).cloned().collect())
    }

    fn totals(&self) -> io::Result<RecordTotals> {
        let bytes = |record: &WorldRecord| (record.key.len() + record.value.len()) as u64;
        let payload_bytes = self.values().map(bytes).sum();
        Ok(RecordTotals { records: self.len() as u64, payload_bytes })
    }
}
