//! Reading and changing what a store holds, alike for the tree of a file and the records of a
//! database.

use crate::key::EXTRA;
use crate::records::{LostRecords, RecordChanges, RecordTotals, Records, RecordsView, WorldRecord};
use crate::tree::{
    KeySpan, LostSpan, NodeContent, ReadTree, Scan, Transaction, TreeDamage, TreeError,
    TreeSnapshot,
};
use std::collections::HashMap;
use std::io;
use std::sync::OnceLock;

/// Records that a scan asks a database for at once: of blocks and listings, whose values are at
/// most 160 KiB long, and of extra data, of which one may be 64 MiB long.
const SCAN_RECORDS: usize = 256;
const SCAN_EXTRA: usize = 1;

/// The same for keys without values.
const SCAN_KEYS: usize = 1 << 14;

/// What a store holds at one moment.
pub(crate) enum StoreReader {
    File(TreeSnapshot),
    Records(RecordsReader),
}

/// The records of a database at one moment.
pub(crate) struct RecordsReader {
    view: io::Result<Box<dyn RecordsView>>,
    /// Prefetched records; `None` if there is none.
    known: HashMap<Vec<u8>, Option<WorldRecord>>,
    /// The first failure: what was read before and after it may be from two moments.
    failure: OnceLock<(io::ErrorKind, String)>,
}

/// An entry of a scan.
pub(crate) struct StoreEntry {
    pub key: Vec<u8>,
    content: EntryContent,
}

enum EntryContent {
    Node(NodeContent<'static>),
    /// A record, and whether its value was read.
    Record(WorldRecord),
}

/// The entries of a span in order.
pub(crate) enum StoreScan<'a> {
    File(Scan<'a>),
    Records(RecordsScan<'a>),
}

pub(crate) struct RecordsScan<'a> {
    reader: &'a RecordsReader,
    with_values: bool,
    /// Entries that were read.
    read: std::vec::IntoIter<WorldRecord>,
    /// What comes after them; `None` at the end.
    rest: Option<KeySpan>,
}

fn damaged_record() -> TreeError {
    TreeError::Damaged("the hash does not match: the record changed after it was written")
}

impl StoreReader {
    /// The entries from `low` up to `high`, which is outside; up to the last if there is none.
    pub fn scan(&self, low: &[u8], high: Option<&[u8]>) -> StoreScan<'_> {
        match self {
            StoreReader::File(tree) => StoreScan::File(tree.scan(low, high)),
            StoreReader::Records(reader) => {
                StoreScan::Records(RecordsScan::new(reader, low, high, true))
            }
        }
    }

    /// The same without values.
    pub fn scan_keys(&self, low: &[u8], high: Option<&[u8]>) -> StoreScan<'_> {
        match self {
            StoreReader::File(tree) => StoreScan::File(tree.scan(low, high)),
            StoreReader::Records(reader) => {
                StoreScan::Records(RecordsScan::new(reader, low, high, false))
            }
        }
    }

    /// Reads keys that will be needed, all at once where each costs a message to a server.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn prefetch(&mut self, keys: impl Iterator<Item = Vec<u8>>) -> Result<(), TreeError> {
        match self {
            StoreReader::File(_) => Ok(()),
            StoreReader::Records(reader) => reader.prefetch(keys),
        }
    }

    /// Returns the work of reads since the last call. A database has each value once, and no nodes
    /// that others share: what is read of it is as long as what it holds.
    pub fn take_read_work(&self) -> u64 {
        match self {
            StoreReader::File(tree) => tree.take_read_work(),
            StoreReader::Records(_) => 0,
        }
    }

    /// How many entries there are, and their bytes.
    pub fn totals(&self) -> Result<RecordTotals, TreeError> {
        match self {
            StoreReader::File(tree) => {
                let (records, payload_bytes) = (tree.state.entries, tree.state.payload_bytes);
                Ok(RecordTotals { records, payload_bytes })
            }
            StoreReader::Records(reader) => reader.totals(),
        }
    }

    /// Reads everything and reports what is wrong. For a database only extra data; the caller reads
    /// blocks and listings.
    pub fn check(&self, mut report: impl FnMut(TreeDamage)) {
        if let StoreReader::File(tree) = self {
            return tree.check(report);
        }
        let mut value = Vec::new();
        let mut scan = self.scan(&[EXTRA], Some(&[EXTRA + 1]));
        while let Some(entry) = scan.next() {
            match entry {
                Err(lost) => report(TreeDamage::Node(lost)),
                Ok(entry) => {
                    if let Err(what) = scan.value(&entry, &mut value) {
                        report(TreeDamage::Value { key: entry.key, what });
                    }
                }
            }
        }
    }

    /// Why a part could not be read, if a database failed. A file that fails has lost that part.
    pub fn failure(&self) -> Option<TreeError> {
        match self {
            StoreReader::File(_) => None,
            StoreReader::Records(reader) => reader.noted_failure(),
        }
    }
}

impl ReadTree for StoreReader {
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError> {
        match self {
            StoreReader::File(tree) => tree.get(key, out),
            StoreReader::Records(reader) => reader.get(key, out),
        }
    }

    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError> {
        match self {
            StoreReader::File(tree) => tree.keys(low, high),
            StoreReader::Records(reader) => reader.keys(low, high),
        }
    }
}

impl RecordsReader {
    pub fn new(view: io::Result<Box<dyn RecordsView>>) -> RecordsReader {
        RecordsReader { view, known: HashMap::new(), failure: OnceLock::new() }
    }

    /// Reads keys that will be needed, all at once. Where some are lost, each is read by itself later.
    fn prefetch(&mut self, keys: impl Iterator<Item = Vec<u8>>) -> Result<(), TreeError> {
        let mut keys: Vec<Vec<u8>> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let found = match self.read(|view| view.get(&wanted)) {
            Err(TreeError::Io(error)) if LostRecords::of(&error).is_some() => return Ok(()),
            found => found?,
        };
        self.known.extend(found.into_iter().map(|record| (record.key.clone(), Some(record))));
        for key in keys {
            self.known.entry(key).or_insert(None);
        }
        Ok(())
    }

    fn noted_failure(&self) -> Option<TreeError> {
        let (kind, what) = self.failure.get()?;
        Some(TreeError::Io(io::Error::new(*kind, what.clone())))
    }

    /// Reads from the view and notes a failure.
    fn read<T>(
        &self,
        read: impl FnOnce(&dyn RecordsView) -> io::Result<T>,
    ) -> Result<T, TreeError> {
        let copy = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
        let result = match &self.view {
            Ok(view) => read(&**view),
            Err(error) => Err(copy(error)),
        };
        result.map_err(|error| {
            if LostRecords::of(&error).is_none() {
                self.failure.get_or_init(|| (error.kind(), error.to_string()));
            }
            TreeError::Io(error)
        })
    }

    fn totals(&self) -> Result<RecordTotals, TreeError> {
        self.read(|view| view.totals())
    }
}

impl ReadTree for RecordsReader {
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError> {
        let read = match self.known.get(key) {
            Some(_) => None,
            None => self.read(|view| view.get(&[key]))?.pop(),
        };
        match self.known.get(key).map_or(read.as_ref(), Option::as_ref) {
            Some(record) if !record.is_whole() => Err(damaged_record()),
            Some(record) => {
                out.clear();
                out.extend_from_slice(&record.value);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError> {
        let scan = RecordsScan::new(self, low, Some(high), false);
        scan.map(|record| record.map(|record| record.key).map_err(|lost| lost.what)).collect()
    }
}

impl StoreScan<'_> {
    /// Replaces `out` with the value of an entry.
    pub fn value(&mut self, entry: &StoreEntry, out: &mut Vec<u8>) -> Result<(), TreeError> {
        match (self, &entry.content) {
            (StoreScan::File(scan), EntryContent::Node(content)) => {
                scan.value(&entry.key, content, out)
            }
            (_, EntryContent::Record(record)) if record.is_whole() => {
                out.clear();
                out.extend_from_slice(&record.value);
                Ok(())
            }
            _ => Err(damaged_record()),
        }
    }
}

impl Iterator for StoreScan<'_> {
    type Item = Result<StoreEntry, LostSpan>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            StoreScan::File(scan) => {
                let item = scan.next()?;
                Some(item.map(|item| {
                    let content = EntryContent::Node(item.content);
                    StoreEntry { key: item.key, content }
                }))
            }
            StoreScan::Records(scan) => {
                let record = scan.next()?;
                Some(record.map(|mut record| {
                    // Without values the hash is not checked, so the key is moved instead of
                    // cloned.
                    let key = match scan.with_values {
                        true => record.key.clone(),
                        false => std::mem::take(&mut record.key),
                    };
                    StoreEntry { key, content: EntryContent::Record(record) }
                }))
            }
        }
    }
}

impl RecordsScan<'_> {
    fn new<'a>(
        reader: &'a RecordsReader,
        low: &[u8],
        high: Option<&[u8]>,
        with_values: bool,
    ) -> RecordsScan<'a> {
        let span = KeySpan { low: low.to_owned(), high: high.map(<[u8]>::to_owned) };
        RecordsScan { reader, with_values, read: Vec::new().into_iter(), rest: Some(span) }
    }
}

impl RecordsScan<'_> {
    /// Returns what is lost of a span that cannot be read. If the database says where that ends,
    /// the scan continues there.
    fn lose(&mut self, mut span: KeySpan, what: TreeError) -> LostSpan {
        let lost = match &what {
            TreeError::Io(error) => LostRecords::of(error),
            _ => None,
        };
        if let Some(high) = lost.and_then(|lost| lost.high.clone())
            && high > span.low
            && span.high.as_ref().is_none_or(|end| high < *end)
        {
            let end = span.high.replace(high.clone());
            self.rest = Some(KeySpan { low: high, high: end });
        }
        LostSpan { span, what }
    }
}

impl Iterator for RecordsScan<'_> {
    type Item = Result<WorldRecord, LostSpan>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(record) = self.read.next() {
            return Some(Ok(record));
        }
        let span = self.rest.take()?;
        let limit = match self.with_values {
            true if span.low.first() == Some(&EXTRA) => SCAN_EXTRA,
            true => SCAN_RECORDS,
            false => SCAN_KEYS,
        };
        let (low, high) = (&span.low, span.high.as_deref());
        match self.reader.read(|view| view.scan(low, high, limit, self.with_values)) {
            Err(what) => Some(Err(self.lose(span, what))),
            Ok(records) => {
                // The next key that there may be.
                let next = records.last().map(|last| [&*last.key, &[0]].concat());
                self.rest = next.map(|low| KeySpan { low, high: span.high });
                self.read = records.into_iter();
                self.read.next().map(Ok)
            }
        }
    }
}

/// Changes to what a store holds. Dropping it forgets them.
pub(crate) enum StoreTransaction<'a> {
    File(Transaction<'a>),
    Records(RecordsTransaction),
}

/// Changes to the records of a database, which it does not know of before the commit.
pub(crate) struct RecordsTransaction {
    reader: RecordsReader,
    pub changes: RecordChanges,
}

impl RecordsTransaction {
    pub fn new(records: &dyn Records) -> RecordsTransaction {
        let reader = RecordsReader::new(records.latest());
        RecordsTransaction { reader, changes: RecordChanges::new() }
    }
}

impl StoreTransaction<'_> {
    /// Stores a value under a key.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), TreeError> {
        match self {
            StoreTransaction::File(transaction) => transaction.put(key, value),
            StoreTransaction::Records(records) => {
                records.changes.insert(key.to_owned(), Some(value.to_owned()));
                Ok(())
            }
        }
    }

    /// Removes a key; returns whether it was there.
    ///
    /// # Errors
    /// If that cannot be read.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool, TreeError> {
        match self {
            StoreTransaction::File(transaction) => transaction.remove(key),
            StoreTransaction::Records(records) => {
                // A damaged one is there, too.
                let found = match records.get(key, &mut Vec::new()) {
                    Err(TreeError::Damaged(_)) => true,
                    found => found?,
                };
                if found {
                    records.changes.insert(key.to_owned(), None);
                }
                Ok(found)
            }
        }
    }

    /// Reads keys that will be needed, all at once where each costs a message to a server.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn prefetch(&mut self, keys: impl Iterator<Item = Vec<u8>>) -> Result<(), TreeError> {
        match self {
            StoreTransaction::File(_) => Ok(()),
            StoreTransaction::Records(records) => records.reader.prefetch(keys),
        }
    }
}

impl ReadTree for RecordsTransaction {
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError> {
        if let Some(change) = self.changes.get(key) {
            out.clear();
            out.extend_from_slice(change.as_deref().unwrap_or_default());
            return Ok(change.is_some());
        }
        self.reader.get(key, out)
    }

    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError> {
        let mut keys = self.reader.keys(low, high)?;
        keys.retain(|key| !self.changes.contains_key(key));
        if low < high {
            let changed = self.changes.range(low.to_vec()..high.to_vec());
            keys.extend(changed.filter(|(_, value)| value.is_some()).map(|(key, _)| key.clone()));
        }
        keys.sort_unstable();
        Ok(keys)
    }
}

impl ReadTree for StoreTransaction<'_> {
    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, TreeError> {
        match self {
            StoreTransaction::File(transaction) => transaction.get(key, out),
            StoreTransaction::Records(records) => records.get(key, out),
        }
    }

    fn keys(&self, low: &[u8], high: &[u8]) -> Result<Vec<Vec<u8>>, TreeError> {
        match self {
            StoreTransaction::File(transaction) => transaction.keys(low, high),
            StoreTransaction::Records(records) => records.keys(low, high),
        }
    }
}
