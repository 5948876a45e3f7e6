//! Cutting records into groups, packs and leaves.
//!
//! Where to cut depends on the keys that are there, and on sizes only as bounds: after an edit the
//! same borders are found again a little further on, so all but a few packs have the names that
//! they had.
//!
//! Source: A. Muthitacharoen, B. Chen, D. Mazières, "A low-bandwidth network file system" (2001),
//! with keys in place of a window of bytes.

use crate::group::{MAX_GROUP_BYTES, put_record};
use crate::leaf::{
    GroupEntry, PACK_HEADER, PackEntry, group_hash, object_hash, put_pack, start_leaf,
};
use crate::manifest::{IndexTop, LeafEntry};
use terravox_store::WorldRecord;

/// A group ends before one of 32 keys: mixed chunks make about 70 KiB.
const GROUP_BITS: u64 = 0x1f;

/// A pack ends before one of 16 of the keys at which groups end: about 2 MiB.
const PACK_BITS: u64 = 0x1ff;

/// A leaf ends before one of 8 packs: about 100 MB of a world.
const LEAF_BITS: u64 = 7 << 16;

/// Lengths in bytes from which on something may end, and at which it does.
#[derive(Clone, Copy)]
pub(crate) struct CutLimits {
    pub group: (usize, usize),
    pub pack: (usize, usize),
    pub leaf: (usize, usize),
}

impl Default for CutLimits {
    fn default() -> CutLimits {
        CutLimits {
            group: (32 << 10, MAX_GROUP_BYTES),
            pack: (1 << 20, 6 << 20),
            leaf: (32 << 10, 128 << 10),
        }
    }
}

/// A complete pack.
#[derive(Debug)]
pub(crate) struct Pack {
    pub bytes: Vec<u8>,
    pub entry: PackEntry,
}

/// Cuts records, which come in key order, into packs.
#[derive(Default)]
pub(crate) struct Packer {
    limits: CutLimits,
    /// The group under way.
    group: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    /// The pack under way, without that group.
    pack: Vec<u8>,
    groups: Vec<GroupEntry>,
}

impl Packer {
    #[cfg(test)]
    pub fn new(limits: CutLimits) -> Packer {
        Packer { limits, ..Packer::default() }
    }

    /// Adds a record; returns the pack that ends before it.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Option<Pack> {
        let mut ended = None;
        if !self.group.is_empty() {
            let border = WorldRecord::hash_of(key, &[]);
            // Extra data changes more often than cells, and listings are small.
            let is_new_table = self.last.first() != key.first();
            let length = self.group.len() + key.len() + value.len() + 16;
            let CutLimits { group, pack, .. } = self.limits;
            let group_ends = is_new_table
                || length > group.1
                || (self.group.len() >= group.0 && border & GROUP_BITS == 0);
            if group_ends {
                self.end_group();
                let is_border = self.pack.len() >= pack.0 && border & PACK_BITS == 0;
                if is_new_table || is_border || self.pack.len() + value.len() > pack.1 {
                    ended = self.end_pack();
                }
            }
        }
        if self.group.is_empty() {
            self.first = key.to_vec();
            self.last.clear();
        }
        put_record(&mut self.group, &self.last, key, value);
        self.last.clear();
        self.last.extend_from_slice(key);
        ended
    }

    /// Returns the last pack, if there is one.
    pub fn finish(&mut self) -> Option<Pack> {
        self.end_group();
        self.end_pack()
    }

    fn end_group(&mut self) {
        if self.group.is_empty() {
            return;
        }
        if self.pack.is_empty() {
            self.pack.extend_from_slice(&PACK_HEADER);
        }
        let (length, hash) = (self.group.len() as u32, group_hash(&self.group));
        self.groups.push(GroupEntry { first: std::mem::take(&mut self.first), length, hash });
        self.pack.append(&mut self.group);
    }

    fn end_pack(&mut self) -> Option<Pack> {
        let bytes = std::mem::take(&mut self.pack);
        let groups = std::mem::take(&mut self.groups);
        let entry = PackEntry { hash: object_hash(&bytes), groups };
        (!entry.groups.is_empty()).then_some(Pack { bytes, entry })
    }
}

/// The index of packs, which come in key order.
#[derive(Default)]
pub(crate) struct Indexer {
    limits: CutLimits,
    leaf: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    leaves: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Indexer {
    #[cfg(test)]
    pub fn new(limits: CutLimits) -> Indexer {
        Indexer { limits, ..Indexer::default() }
    }

    pub fn push(&mut self, pack: &PackEntry) {
        let (Some(first), Some(last)) = (pack.groups.first(), pack.groups.last()) else { return };
        let border = WorldRecord::hash_of(&first.first, &[]);
        let is_border = border & LEAF_BITS == 0 && self.leaf.len() >= self.limits.leaf.0;
        if is_border || self.leaf.len() >= self.limits.leaf.1 {
            self.end_leaf();
        }
        if self.leaf.is_empty() {
            (self.leaf, self.first) = (start_leaf(), first.first.clone());
            self.last.clear();
        }
        put_pack(&mut self.leaf, &self.last, pack);
        self.last.clone_from(&last.first);
    }

    fn end_leaf(&mut self) {
        let (leaf, first) = (std::mem::take(&mut self.leaf), std::mem::take(&mut self.first));
        self.leaves.push((first, leaf));
    }

    /// Returns the top of the index and the leaves that are objects.
    pub fn finish(mut self) -> (IndexTop, Vec<Vec<u8>>) {
        if self.leaves.is_empty() {
            let leaf = if self.leaf.is_empty() { start_leaf() } else { self.leaf };
            return (IndexTop::Inline(leaf), Vec::new());
        }
        if !self.leaf.is_empty() {
            self.end_leaf();
        }
        let entry = |(first, leaf): &(Vec<u8>, Vec<u8>)| LeafEntry {
            first: first.clone(),
            length: leaf.len() as u32,
            hash: object_hash(leaf),
        };
        let top = IndexTop::Leaves(self.leaves.iter().map(entry).collect());
        (top, self.leaves.into_iter().map(|(_, leaf)| leaf).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use crate::leaf::Leaf;
    use std::collections::{BTreeMap, BTreeSet};

    type Records = BTreeMap<Vec<u8>, Vec<u8>>;

    /// Blocks in key order with values of about `bytes`.
    fn blocks(count: u32, bytes: usize) -> Records {
        let key = |i: u32| [&[2, 0, 0][..], &(i * 3).to_be_bytes()].concat();
        let value = |i: u32| vec![i as u8; bytes / 2 + (i as usize * 7919) % bytes];
        (0..count).map(|i| (key(i), value(i))).collect()
    }

    fn packs(records: &Records) -> Vec<Pack> {
        let mut packer = Packer::default();
        let mut packs: Vec<Pack> =
            records.iter().filter_map(|(key, value)| packer.push(key, value)).collect();
        packs.extend(packer.finish());
        packs
    }

    /// The records of packs, by their index.
    fn read(packs: &[Pack]) -> Records {
        let mut records = Records::new();
        for Pack { bytes, entry } in packs {
            assert_eq!((object_hash(bytes), bytes.len() as u64), (entry.hash, entry.length()));
            let mut at = PACK_HEADER.len();
            for group in &entry.groups {
                let part = bytes[at..at + group.length as usize].to_vec();
                at += part.len();
                assert_eq!(group_hash(&part), group.hash);
                let group = Group::decode(part, &group.first, None).unwrap();
                let all = (0..group.len()).map(|i| group.record(i, None, true).unwrap());
                records.extend(all.map(|record| (record.key, record.value)));
            }
        }
        records
    }

    #[test]
    fn everything_is_in_packs_of_some_megabytes() {
        let mut records = blocks(30_000, 1200);
        records.insert(vec![1, 97], vec![9; 9 << 20]);
        records.insert(vec![1, 98], vec![]);
        let packs = packs(&records);
        assert!(read(&packs) == records);
        // Extra data has packs of its own, and one that is long has one for itself.
        assert_eq!(packs[0].entry.groups.len(), 1);
        assert_eq!(packs[1].entry.groups.len(), 1);
        let cells = &packs[2..];
        let all: usize = cells.iter().map(|pack| pack.bytes.len()).sum();
        assert!(cells.iter().all(|pack| pack.bytes.len() <= (6 << 20) + MAX_GROUP_BYTES));
        assert!((1 << 20..4 << 20).contains(&(all / cells.len())), "{all} in {}", cells.len());
        let groups: usize = cells.iter().map(|pack| pack.entry.groups.len()).sum();
        assert!((40 << 10..100 << 10).contains(&(all / groups)), "{all} in {groups}");
    }

    #[test]
    fn a_small_edit_changes_few_packs() {
        let mut records = blocks(60_000, 1200);
        let names = |records: &Records| -> BTreeSet<_> {
            packs(records).iter().map(|pack| pack.entry.hash).collect()
        };
        let before = names(&records);
        let keys: Vec<_> = records.keys().cloned().collect();
        // Other cells, a removed block and a new one, near each other.
        records.insert(keys[30_000].clone(), vec![1; 3000]);
        records.remove(&keys[30_001]);
        records.insert([&*keys[30_002], &[0]].concat(), vec![5; 200]);
        let after = names(&records);
        let (new, gone) = (after.difference(&before).count(), before.difference(&after).count());
        assert!((1..=2).contains(&new) && (1..=2).contains(&gone), "{new} new, {gone} gone");
        assert!(before.len() > 20);
    }

    #[test]
    fn a_long_index_has_leaves_that_an_edit_leaves_as_they_are() {
        let pack = |i: u32, seed: u8| PackEntry {
            hash: object_hash(&[&i.to_be_bytes()[..], &[seed]].concat()),
            groups: (0..30u8)
                .map(|g| GroupEntry {
                    first: [&[2][..], &i.to_be_bytes(), &[g]].concat(),
                    length: 9,
                    hash: [g; 16],
                })
                .collect(),
        };
        let index = |changed: u32| {
            let mut indexer = Indexer::default();
            (0..2000).for_each(|i| indexer.push(&pack(i, u8::from(i == changed))));
            indexer.finish()
        };
        let (top, leaves) = index(u32::MAX);
        let IndexTop::Leaves(entries) = &top else { panic!("{top:?}") };
        assert_eq!(entries.len(), leaves.len());
        assert!(leaves.iter().all(|leaf| leaf.len() <= (128 << 10) + 2000));
        let decoded: Vec<Leaf> = leaves.iter().map(|leaf| Leaf::decode(leaf).unwrap()).collect();
        assert_eq!(decoded.iter().map(|leaf| leaf.packs.len()).sum::<usize>(), 2000);
        for (entry, leaf) in entries.iter().zip(&decoded) {
            assert_eq!(entry.first, leaf.groups[0].first);
        }
        let (_, changed) = index(1000);
        let changed = changed.iter().filter(|leaf| !leaves.contains(leaf)).count();
        assert!((1..=3).contains(&changed), "{changed}");
    }

    #[test]
    fn no_records_make_an_empty_index() {
        assert!(Packer::default().finish().is_none());
        let (top, leaves) = Indexer::default().finish();
        let IndexTop::Inline(leaf) = top else { panic!("{top:?}") };
        assert!(leaves.is_empty() && Leaf::decode(&leaf).unwrap().groups.is_empty());
    }
}
