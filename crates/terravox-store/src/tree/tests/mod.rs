//! Trees on disks in memory, against maps.

mod damage;
mod faults;
mod hostile;
mod model;

use super::node::NodeContent;
use super::{ReadTree, Tree, TreeDamage, TreeReader};
use crate::disk::Disk;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a tree should hold.
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A disk without faults. Counts what is read.
#[derive(Default)]
struct CountingDisk {
    bytes: Mutex<Vec<u8>>,
    read: AtomicU64,
    syncs: AtomicU64,
}

impl CountingDisk {
    fn of(bytes: Vec<u8>) -> Arc<CountingDisk> {
        Arc::new(CountingDisk { bytes: Mutex::new(bytes), ..CountingDisk::default() })
    }

    fn copy(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    fn flip(&self, at: usize) {
        self.bytes.lock().unwrap()[at] ^= 0x20;
    }
}

/// Overwrites a part of `to`, which grows if that is needed.
fn write_into(to: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let (from, end) = (offset as usize, offset as usize + bytes.len());
    to.resize(to.len().max(end), 0);
    to[from..end].copy_from_slice(bytes);
}

fn read_from(from: &[u8], offset: u64, out: &mut [u8]) -> io::Result<()> {
    let part = usize::try_from(offset).ok().and_then(|at| from.get(at..at.checked_add(out.len())?));
    let part = part.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
    out.copy_from_slice(part);
    Ok(())
}

impl Disk for CountingDisk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read.fetch_add(out.len() as u64, Ordering::Relaxed);
        read_from(&self.bytes.lock().unwrap(), offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_into(&mut self.bytes.lock().unwrap(), offset, bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Numbers that look random, the same on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    /// A value: mostly short, sometimes long.
    fn value(&mut self) -> Vec<u8> {
        let length = match self.below(5) {
            0 => 97 + self.below(3000),
            1 => self.below(97),
            _ => self.below(20),
        };
        let first = self.roll() as u8;
        (0..length).map(|i| first.wrapping_add(i as u8)).collect()
    }
}

/// A key like those of cells: table, mip, a number.
fn key_of(number: u64) -> Vec<u8> {
    let mut key = vec![3, (number % 3) as u8, 0x38];
    key.extend((number / 3).to_be_bytes());
    key
}

/// Applies changes to a tree and a model in one commit.
fn commit(tree: &Tree, model: &mut Model, changes: &[(Vec<u8>, Option<Vec<u8>>)]) {
    let mut transaction = tree.begin().unwrap();
    for (key, value) in changes {
        match value {
            Some(value) => {
                transaction.put(key, value).unwrap();
                model.insert(key.clone(), value.clone());
            }
            None => {
                let was = transaction.remove(key).unwrap();
                assert_eq!(was, model.remove(key).is_some());
            }
        }
    }
    tree.commit(transaction).unwrap();
}

/// Some changes of which about a third are removals.
fn some_changes(dice: &mut Dice, count: u64, keys: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let change = |dice: &mut Dice| {
        let key = key_of(dice.below(keys));
        let value = (dice.below(3) > 0).then(|| dice.value());
        (key, value)
    };
    (0..1 + dice.below(count)).map(|_| change(dice)).collect()
}

/// What can be read, and the number of parts that cannot.
fn read_all(reader: &TreeReader) -> (Model, usize) {
    let (mut model, mut lost, mut value) = (Model::new(), 0, Vec::new());
    let mut scan = reader.scan(&[], None);
    while let Some(entry) = scan.next() {
        match entry {
            Ok(entry) => match scan.value(&entry.key, &entry.content, &mut value) {
                Ok(()) => drop(model.insert(entry.key, value.clone())),
                Err(_) => lost += 1,
            },
            Err(_) => lost += 1,
        }
    }
    (model, lost)
}

/// Asserts that a tree holds the model, by order and by key, and nothing is wrong with it.
fn assert_holds(reader: &TreeReader, model: &Model) {
    let (held, lost) = read_all(reader);
    assert_eq!(lost, 0);
    assert!(held == *model, "{} entries, not {}", held.len(), model.len());
    let mut value = Vec::new();
    for (key, expected) in model.iter().step_by(7) {
        assert!(reader.get(key, &mut value).unwrap() && value == *expected);
        assert!(!reader.get(&[&key[..], &[0]].concat(), &mut value).unwrap());
    }
    assert_eq!(reader.state.entries, model.len() as u64);
    let payload: usize = model.iter().map(|(key, value)| key.len() + value.len()).sum();
    assert_eq!(reader.state.payload_bytes, payload as u64);
    // A fault may leave one copy of the header behind; the next commit writes both.
    reader.check(|damage| assert!(matches!(damage, TreeDamage::HeaderCopy), "{damage:?}"));
}

fn damage_of(reader: &TreeReader) -> Vec<TreeDamage> {
    let mut all = Vec::new();
    reader.check(|damage| all.push(damage));
    all
}
