//! The changes of a commit, as the statements take them.

use crate::log::log_key;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use terravox_store::{Column, RecordChanges, WorldRecord, Zone};

/// Bytes of values in one statement, unless one value has more.
const STATEMENT_BYTES: usize = 4 << 20;

/// Changed records and the zones that they are in.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub put_keys: Vec<Vec<u8>>,
    pub put_values: Vec<Vec<u8>>,
    pub put_hashes: Vec<i64>,
    pub removed_keys: Vec<Vec<u8>>,
    /// What the log says of each zone, and always of that of the world, or, of a shared world, of
    /// each column: its changed keys, each after its length in two bytes.
    pub log_keys: BTreeMap<Zone, Vec<u8>>,
}

impl Batch {
    /// The changes of a writer that has the world, or columns of a world that is shared.
    ///
    /// # Errors
    /// If a key is not one of a world, or of no column of a shared one.
    pub fn of(changes: RecordChanges, is_shared: bool) -> Result<Batch, io::Error> {
        let mut batch = Batch::default();
        if !is_shared {
            // Always, also if nothing in it changes: who opens a world takes this zone alone, and
            // the writer before it must then write nothing in its other zones.
            batch.log_keys.entry(Zone::WORLD).or_default();
        }
        for (key, value) in changes {
            let mut zone = Zone::of_record(&key).ok_or_else(|| {
                let what = format!("a key of no world: {key:02x?}");
                io::Error::new(io::ErrorKind::InvalidInput, what)
            })?;
            if is_shared {
                zone = zone.column().and_then(Column::zone).ok_or_else(of_no_column)?;
            }
            let log = batch.log_keys.entry(zone).or_default();
            log_key(log, &key);
            match value {
                Some(value) => {
                    batch.put_hashes.push(WorldRecord::hash_of(&key, &value) as i64);
                    batch.put_keys.push(key);
                    batch.put_values.push(value);
                }
                None => batch.removed_keys.push(key),
            }
        }
        Ok(batch)
    }

    /// Parts of what is put, each for one statement.
    pub fn put_parts(&self) -> Vec<Range<usize>> {
        let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0);
        for (i, value) in self.put_values.iter().enumerate() {
            if i > start && bytes + value.len() > STATEMENT_BYTES {
                parts.push(start..i);
                (start, bytes) = (i, 0);
            }
            bytes += value.len();
        }
        if start < self.put_values.len() {
            parts.push(start..self.put_values.len());
        }
        parts
    }

    /// The most bytes that one statement may have.
    pub fn largest_statement(&self) -> usize {
        let value = self.put_values.iter().map(Vec::len).max().unwrap_or(0);
        let all: usize = self.put_values.iter().map(Vec::len).sum();
        value.max(all.min(STATEMENT_BYTES)).max(self.log_bytes())
    }

    /// The bytes of the keys in the log.
    pub fn log_bytes(&self) -> usize {
        self.log_keys.values().map(Vec::len).sum()
    }

    /// The zones, sorted.
    pub fn zones(&self) -> Vec<i64> {
        self.log_keys.keys().map(|zone| zone.0).collect()
    }
}

fn of_no_column() -> io::Error {
    let what = "the description and extra data of a world that several servers share cannot be changed: stop \
                them first";
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::logged_keys;

    #[test]
    fn a_batch_knows_its_zones_and_what_it_changed() {
        let changes = RecordChanges::from([
            (b"\x01undo".to_vec(), Some(b"history".to_vec())),
            (b"\x01bodies".to_vec(), None),
            (vec![0], Some(vec![7])),
        ]);
        let batch = Batch::of(changes, false).unwrap();
        assert_eq!(batch.zones(), [Zone::WORLD.0]);
        assert_eq!(batch.put_keys, [vec![0], b"\x01undo".to_vec()]);
        assert_eq!(batch.removed_keys, [b"\x01bodies".to_vec()]);
        let logged = logged_keys(&batch.log_keys[&Zone::WORLD]).unwrap();
        assert_eq!(logged, [vec![0], b"\x01bodies".to_vec(), b"\x01undo".to_vec()]);
        let bytes = b"\x01\x00\x00\x07\x00\x01bodies\x05\x00\x01undo";
        assert_eq!(batch.log_keys[&Zone::WORLD], bytes, "the bytes of the log are fixed");
        assert_eq!((logged_keys(&[1]), logged_keys(&[9, 0, 1])), (None, None));
        assert!(Batch::of(RecordChanges::from([(vec![9], None)]), false).is_err());
        assert_eq!(Batch::of(RecordChanges::new(), false).unwrap().zones(), [Zone::WORLD.0]);
    }
    #[test]
    fn a_batch_of_a_shared_world_knows_its_columns_and_changes_nothing_else() {
        let column = Column { x: 0, z: -1 };
        let bodies = [&b"\x01"[..], column.data_name("bodies").as_bytes()].concat();
        let changes = RecordChanges::from([(bodies.clone(), Some(vec![7]))]);
        let batch = Batch::of(changes, true).unwrap();
        assert_eq!(batch.zones(), [column.zone().unwrap().0]);
        assert_eq!(logged_keys(batch.log_keys.values().next().unwrap()).unwrap(), [bodies]);
        assert_eq!(Batch::of(RecordChanges::new(), true).unwrap().zones(), []);
        for key in [vec![0], b"\x01undo".to_vec()] {
            let error = Batch::of(RecordChanges::from([(key, None)]), true).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
    }
}
