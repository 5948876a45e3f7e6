//! Worlds in a database: the records that a file has in its tree, by the same keys.
//!
//! A database brings reading at one moment and changing all or nothing; what records mean, and
//! which change with which, is the store's business
//! ([`Store::open_records`](crate::Store::open_records)). `docs/format.md` has the keys and values.

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
    /// Either all changes were made or none.
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

/// The records of one world in a database. Calls may come from several threads, but commits come
/// one after the other, and only one store writes.
pub trait Records: Send + Sync {
    /// The records as they are now; later commits do not change the view.
    ///
    /// # Errors
    /// If the database cannot be read.
    fn view(&self) -> io::Result<Box<dyn RecordsView>>;

    /// What a writer reads before it commits. It may follow commits: between those of the only
    /// writer nothing changes, and if there is another one, the next commit is fenced.
    ///
    /// # Errors
    /// If the database cannot be read.
    fn latest(&self) -> io::Result<Box<dyn RecordsView>> {
        self.view()
    }

    /// How another writer took the world over, if that is known: then commits are fenced.
    fn taken_over(&self) -> Option<String> {
        None
    }

    /// Makes all changes, durably.
    ///
    /// # Errors
    /// See [`CommitFailure`].
    fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure>;
}

/// The records of a world at one moment.
pub trait RecordsView: Send + Sync {
    /// Returns those of `keys` that are there, in any order.
    ///
    /// # Errors
    /// If they cannot be read.
    fn get(&self, keys: &[&[u8]]) -> io::Result<Vec<WorldRecord>>;

    /// Returns the records from `low` up to `high`, which is outside, or to the last, in order of
    /// their keys: at least one if there is any, and at most `limit`. Fewer than `limit` does not
    /// mean that there are no more. Unless `with_values`, values are empty, and only the keys and
    /// hashes are read.
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

/// Records that are lost: what an [`io::Error`] of a [`RecordsView`] holds if these cannot be read,
/// now or later, but others can. A scan continues after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRecords {
    /// The key at which what comes after them begins; `None` if nothing does.
    pub high: Option<Vec<u8>>,
    /// What is wrong with them, in one line.
    pub what: String,
}

impl LostRecords {
    /// The lost records of an error, if it is about some.
    pub(crate) fn of(error: &io::Error) -> Option<&LostRecords> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for LostRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for LostRecords {}

impl From<LostRecords> for io::Error {
    fn from(lost: LostRecords) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, lost)
    }
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

    /// Changes a value but not its hash. Returns whether the key exists. For tests.
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
        with_values: bool,
    ) -> io::Result<Vec<WorldRecord>> {
        let from = self.range(low.to_vec()..).map(|(_, record)| record);
        let inside = from.take_while(|record| high.is_none_or(|high| &*record.key < high));
        let found = inside.take(limit).map(|record| match with_values {
            true => record.clone(),
            false => WorldRecord { key: record.key.clone(), value: Vec::new(), hash: record.hash },
        });
        Ok(found.collect())
    }

    fn totals(&self) -> io::Result<RecordTotals> {
        let bytes = |record: &WorldRecord| (record.key.len() + record.value.len()) as u64;
        let payload_bytes = self.values().map(bytes).sum();
        Ok(RecordTotals { records: self.len() as u64, payload_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_record_is_fixed() {
        // As published for no bytes.
        assert_eq!(WorldRecord::hash_of(b"", b""), 0x2D06_8005_38D3_94C2);
        assert_eq!(WorldRecord::hash_of(b"ab", b"c"), WorldRecord::hash_of(b"a", b"bc"));
        assert!(WorldRecord::new(b"a".to_vec(), b"b".to_vec()).is_whole());
    }

    #[test]
    fn a_scan_ends_at_its_limits_and_a_view_stays_as_it_was() {
        let records = MemoryRecords::default();
        let all: RecordChanges = (0..9u8).map(|key| (vec![key], Some(vec![key; 3]))).collect();
        records.commit(all).unwrap();
        let view = records.view().unwrap();
        records.commit(RecordChanges::from([(vec![4], None)])).unwrap();
        let keys = |low: u8, high: Option<u8>, limit| -> Vec<u8> {
            let high = high.map(|high| [high]);
            let high = high.as_ref().map(|high| &high[..]);
            let found = view.scan(&[low], high, limit, true).unwrap();
            found.iter().map(|record| record.key[0]).collect()
        };
        assert_eq!(keys(2, Some(6), 9), [2, 3, 4, 5]);
        assert_eq!((keys(7, None, 9), keys(2, None, 1)), (vec![7, 8], vec![2]));
        assert_eq!(keys(6, Some(2), 9), []);
        let record = &view.scan(&[2], None, 1, false).unwrap()[0];
        let hash = WorldRecord::hash_of(&[2], &[2; 3]);
        assert_eq!(*record, WorldRecord { key: vec![2], value: Vec::new(), hash });
        assert_eq!(view.totals().unwrap(), RecordTotals { records: 9, payload_bytes: 36 });
        let now = records.view().unwrap();
        assert_eq!(now.get(&[&[4], &[5], &[77]]).unwrap().len(), 1);
    }
}
