//! Cutting records into groups, packs and pages.
//!
//! Where to cut depends on the keys that are there, and on sizes only as bounds: after an edit the same
//! borders are found again a little further on, so all but a few packs have the names that they had.
//!
//! Source: A. Muthitacharoen, B. Chen, D. Mazières, "A low-bandwidth network file system" (2001), with
//! keys in place of a window of bytes.

use crate::group::{MAX_GROUP_BYTES, put_record};
use crate::manifest::{IndexTop, PageEntry};
use crate::page::{
    GroupEntry, PACK_HEADER, PackEntry, group_hash, object_hash, put_pack, start_page,
};
use terravox_store::WorldRecord;

/// A group from this length on ends before one of 32 keys: mixed chunks make about 70 KiB.
const MIN_GROUP_BYTES: usize = 32 << 10;
const GROUP_BITS: u64 = 0x1f;

/// A pack from this length on ends before one of 16 of the keys at which groups end: about 2 MiB.
const MIN_PACK_BYTES: usize = 1 << 20;
const PACK_BITS: u64 = 0x1ff;

/// A pack of several groups is not longer.
const MAX_PACK_BYTES: usize = 6 << 20;

/// A page from this length on ends before one of 8 packs: about 150 MB of a world.
const MIN_PAGE_BYTES: usize = 32 << 10;
const PAGE_BITS: u64 = 7 << 16;
const MAX_PAGE_BYTES: usize = 128 << 10;

/// A complete pack.
#[derive(Debug)]
pub(crate) struct Pack {
    pub bytes: Vec<u8>,
    pub entry: PackEntry,
}

/// Cuts records, which come in key order, into packs.
#[derive(Default)]
pub(crate) struct Packer {
    /// The group under way.
    group: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    /// The pack under way, without that group.
    pack: Vec<u8>,
    groups: Vec<GroupEntry>,
}

impl Packer {
    /// Adds a record; returns the pack that ends before it.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Option<Pack> {
        let mut ended = None;
        if !self.group.is_empty() {
            let border = WorldRecord::hash_of(key, &[]);
            // Extra data changes more often than cells, and listings are small.
            let is_new_table = self.last.first() != key.first();
            let length = self.group.len() + key.len() + value.len() + 16;
            let group_ends = is_new_table
                || length > MAX_GROUP_BYTES
                || (self.group.len() >= MIN_GROUP_BYTES && border & GROUP_BITS == 0);
            if group_ends {
                self.end_group();
                let is_border = self.pack.len() >= MIN_PACK_BYTES && border & PACK_BITS == 0;
                if is_new_table || is_border || self.pack.len() + value.len() > MAX_PACK_BYTES {
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
pub(crate) struct Pager {
    page: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    pages: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Pager {
    pub fn push(&mut self, pack: &PackEntry) {
        let (Some(first), Some(last)) = (pack.groups.first(), pack.groups.last()) else { return };
        let border = WorldRecord::hash_of(&first.first, &[]);
        let is_border = border & PAGE_BITS == 0 && self.page.len() >= MIN_PAGE_BYTES;
        if is_border || self.page.len() >= MAX_PAGE_BYTES {
            self.end_page();
        }
        if self.page.is_empty() {
            (self.page, self.first) = (start_page(), first.first.clone());
            self.last.clear();
        }
        put_pack(&mut self.page, &self.last, pack);
        self.last.clone_from(&last.first);
    }

    fn end_page(&mut self) {
        let (page, first) = (std::mem::take(&mut self.page), std::mem::take(&mut self.first));
        self.pages.push((first, page));
    }

    /// Returns the top of the index and the pages that are objects.
    pub fn finish(mut self) -> (IndexTop, Vec<Vec<u8>>) {
        if self.pages.is_empty() {
            let page = if self.page.is_empty() { start_page() } else { self.page };
            return (IndexTop::Inline(page), Vec::new());
        }
        if !self.page.is_empty() {
            self.end_page();
        }
        let entry = |(first, page): &(Vec<u8>, Vec<u8>)| PageEntry {
            first: first.clone(),
            length: page.len() as u32,
            hash: object_hash(page),
        };
        let top = IndexTop::Pages(self.pages.iter().map(entry).collect());
        (top, self.pages.into_iter().map(|(_, page)| page).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use crate::page::Page;
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
        assert!(cells.iter().all(|pack| pack.bytes.len() <= MAX_PACK_BYTES + MAX_GROUP_BYTES));
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
    fn a_long_index_has_pages_that_an_edit_leaves_as_they_are() {
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
            let mut pager = Pager::default();
            (0..2000).for_each(|i| pager.push(&pack(i, u8::from(i == changed))));
            pager.finish()
        };
        let (top, pages) = index(u32::MAX);
        let IndexTop::Pages(entries) = &top else { panic!("{top:?}") };
        assert_eq!(entries.len(), pages.len());
        assert!(pages.iter().all(|page| page.len() <= MAX_PAGE_BYTES + 2000));
        let decoded: Vec<Page> = pages.iter().map(|page| Page::decode(page).unwrap()).collect();
        assert_eq!(decoded.iter().map(|page| page.packs.len()).sum::<usize>(), 2000);
        for (entry, page) in entries.iter().zip(&decoded) {
            assert_eq!(entry.first, page.groups[0].first);
        }
        let (_, changed) = index(1000);
        let changed = changed.iter().filter(|page| !pages.contains(page)).count();
        assert!((1..=3).contains(&changed), "{changed}");
    }

    #[test]
    fn no_records_make_an_empty_index() {
        assert!(Packer::default().finish().is_none());
        let (top, pages) = Pager::default().finish();
        let IndexTop::Inline(page) = top else { panic!("{top:?}") };
        assert!(pages.is_empty() && Page::decode(&page).unwrap().groups.is_empty());
    }
}
