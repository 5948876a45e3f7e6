//! A group: records in key order, as many as are read at once.
//!
//! `docs/format.md` has every byte. A group has no hash of its own; that is in the index, so one
//! that is not as it was written is found before it is decoded.

use crate::coding::{FormatFault, Input, put_key, put_number};
use terravox_store::WorldRecord;

/// A group that is longer has one record.
pub(crate) const MAX_GROUP_BYTES: usize = 128 << 10;

/// The longest value: that of a world file.
pub(crate) const MAX_RECORD_BYTES: u64 = 128 << 20;

/// Adds a record to a group whose last key is `before`; it is empty in a new one.
pub(crate) fn put_record(out: &mut Vec<u8>, before: &[u8], key: &[u8], value: &[u8]) {
    put_key(out, before, key);
    put_number(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// One key in this many is kept whole. Keeping all would let a forged group take a hundred times
/// the memory, since keys may be a hundred times as long as their encoding.
const WHOLE_KEY_STEP: usize = 16;

/// Where a record is.
struct RecordSpan {
    start: u32,
    value_start: u32,
    value_end: u32,
}

/// The records of a group.
pub(crate) struct Group {
    bytes: Vec<u8>,
    spans: Vec<RecordSpan>,
    /// Every sixteenth key, one after the other, and where they end.
    whole_keys: Vec<u8>,
    whole_ends: Vec<u32>,
}

impl Group {
    /// Decodes a group whose first key is `first` and are below `high`.
    pub fn decode(bytes: Vec<u8>, first: &[u8], high: Option<&[u8]>) -> Result<Group, FormatFault> {
        let (mut whole_keys, mut whole_ends, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        let (mut key, mut input) = (Vec::new(), Input::new(&bytes));
        while !input.is_at_end() {
            let start = input.at();
            if bytes.len() > MAX_GROUP_BYTES && start > 0 {
                return input.fault("a second record in a group that is too long for two");
            }
            input.next_key(&mut key, start == 0)?;
            if start == 0 && key != first {
                return input.fault("the first key is not the one of the index");
            }
            let length = input.number(MAX_RECORD_BYTES)? as usize;
            let value_start = input.at() as u32;
            input.take(length)?;
            if spans.len().is_multiple_of(WHOLE_KEY_STEP) {
                whole_keys.extend_from_slice(&key);
                whole_ends.push(whole_keys.len() as u32);
            }
            let (start, value_end) = (start as u32, input.at() as u32);
            spans.push(RecordSpan { start, value_start, value_end });
        }
        if spans.is_empty() || high.is_some_and(|high| *key >= *high) {
            return input.fault("it is empty, or its keys are not below those of the next group");
        }
        Ok(Group { bytes, spans, whole_keys, whole_ends })
    }

    /// Bytes that it takes in memory.
    pub fn weight(&self) -> usize {
        let ends = self.whole_ends.len() * size_of::<u32>();
        let spans = self.spans.len() * size_of::<RecordSpan>();
        self.bytes.len() + self.whole_keys.len() + ends + spans
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The key of record `i * WHOLE_KEY_STEP`.
    fn whole_key(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.whole_ends[before] as usize);
        &self.whole_keys[start..self.whole_ends[i] as usize]
    }

    /// Makes `key` that of record `i`, of which it is the one before.
    fn advance(&self, i: usize, key: &mut Vec<u8>) {
        let next = Input::new(&self.bytes[self.spans[i].start as usize..]).next_key(key, false);
        debug_assert!(next.is_ok(), "it was decoded before");
    }

    fn key(&self, i: usize) -> Vec<u8> {
        let whole = i / WHOLE_KEY_STEP;
        let mut key = self.whole_key(whole).to_vec();
        (whole * WHOLE_KEY_STEP + 1..=i).for_each(|i| self.advance(i, &mut key));
        key
    }

    /// The first record whose key is not below `low`.
    pub fn position(&self, low: &[u8]) -> usize {
        let (mut start, mut end) = (0, self.whole_ends.len());
        while start < end {
            let middle = start.midpoint(end);
            match self.whole_key(middle) < low {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        // It is behind the last whole key that is below, up to the next one.
        let Some(below) = start.checked_sub(1) else { return 0 };
        let mut key = self.whole_key(below).to_vec();
        let first = below * WHOLE_KEY_STEP + 1;
        let end = self.spans.len().min(first + WHOLE_KEY_STEP - 1);
        (first..end)
            .find(|&i| {
                self.advance(i, &mut key);
                *key >= *low
            })
            .unwrap_or(end)
    }

    /// A record if its key is below `high`. Its hash was not stored: the group's was right.
    pub fn record(&self, i: usize, high: Option<&[u8]>, with_value: bool) -> Option<WorldRecord> {
        let key = self.key(i);
        if high.is_some_and(|high| *key >= *high) {
            return None;
        }
        let RecordSpan { value_start, value_end, .. } = self.spans[i];
        let value = &self.bytes[value_start as usize..value_end as usize];
        let hash = WorldRecord::hash_of(&key, value);
        let value = if with_value { value.to_vec() } else { Vec::new() };
        Some(WorldRecord { key, value, hash })
    }

    /// The record of a key.
    pub fn get(&self, key: &[u8]) -> Option<WorldRecord> {
        let i = self.position(key);
        (i < self.len() && self.key(i) == key).then(|| self.record(i, None, true)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Model = BTreeMap<Vec<u8>, Vec<u8>>;

    fn encode(records: &Model) -> Vec<u8> {
        let (mut bytes, mut before) = (Vec::new(), Vec::new());
        for (key, value) in records {
            put_record(&mut bytes, &before, key, value);
            before.clone_from(key);
        }
        bytes
    }

    fn models() -> impl Strategy<Value = Model> {
        let key = prop::collection::vec(0..4u8, 1..9);
        prop::collection::btree_map(key, prop::collection::vec(any::<u8>(), 0..40), 1..90)
    }

    #[test]
    fn the_bytes_of_a_group_are_fixed() {
        let records = Model::from([
            (vec![2, 0, 7], vec![0xaa, 0xbb]),
            (vec![2, 0, 7, 1], vec![]),
            (vec![2, 1], vec![9; 130]),
        ]);
        let bytes = encode(&records);
        assert_eq!(bytes[..8], [0, 3, 2, 0, 7, 2, 0xaa, 0xbb]);
        assert_eq!(bytes[8..12], [3, 1, 1, 0]);
        assert_eq!(bytes[12..17], [1, 1, 1, 0x82, 1]);
        assert_eq!(bytes[17..], [9; 130]);
    }

    #[test]
    fn a_long_group_has_one_record() {
        let long = vec![7; MAX_GROUP_BYTES];
        let one = encode(&Model::from([(vec![1, 97], long.clone())]));
        let group = Group::decode(one, &[1, 97], None).unwrap();
        assert_eq!(group.get(&[1, 97]).unwrap().value, long);
        let two = encode(&Model::from([(vec![1, 97], long), (vec![1, 98], vec![])]));
        assert!(Group::decode(two, &[1, 97], None).is_err());
    }

    #[test]
    fn keys_beyond_the_bounds_of_the_index_are_refused() {
        let bytes = encode(&Model::from([(vec![5], vec![1]), (vec![7], vec![2])]));
        assert!(Group::decode(bytes.clone(), &[5], Some(&[8])).is_ok());
        assert!(Group::decode(bytes.clone(), &[4], None).is_err());
        assert!(Group::decode(bytes, &[5], Some(&[7])).is_err());
        assert!(Group::decode(Vec::new(), &[5], None).is_err());
    }

    #[test]
    fn long_keys_that_share_their_start_take_memory_as_their_bytes_do() {
        let name = |i: u16| [&[1; 200][..], &i.to_be_bytes()].concat();
        let records: Model = (0..20_000).map(|i| (name(i), vec![])).collect();
        let bytes = encode(&records);
        let (length, first) = (bytes.len(), name(0));
        assert!(length < 128 << 10);
        let group = Group::decode(bytes, &first, None).unwrap();
        assert!(group.weight() < 8 * length, "{} of {length}", group.weight());
        for i in [0, 1, 15, 16, 17, 4000, 19_999] {
            assert_eq!((group.position(&name(i)), group.key(i.into())), (i.into(), name(i)));
            assert_eq!(group.position(&[&*name(i), &[0]].concat()), usize::from(i) + 1);
        }
    }

    proptest! {
        #[test]
        fn groups_come_back(records in models(), low in prop::collection::vec(0..4u8, 0..9)) {
            let first = records.keys().next().unwrap();
            let group = Group::decode(encode(&records), first, None).unwrap();
            prop_assert_eq!(group.len(), records.len());
            for (i, (key, value)) in records.iter().enumerate() {
                let record = group.record(i, None, true).unwrap();
                prop_assert!(record.is_whole());
                prop_assert_eq!((&record.key, &record.value), (key, value));
                prop_assert_eq!(group.get(key), Some(record));
            }
            let position = records.range(..low.clone()).count();
            prop_assert_eq!(group.position(&low), position);
            let found = group.get(&low).map(|record| record.value);
            prop_assert_eq!(found.as_ref(), records.get(&low));
        }

        #[test]
        fn any_bytes_are_safe_to_decode(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(group) = Group::decode(bytes.clone(), bytes.get(2..3).unwrap_or(&[]), None) {
                prop_assert!(group.weight() <= (bytes.len() + 20) * 12);
                let all = (0..group.len()).map(|i| group.record(i, None, true).unwrap());
                prop_assert!(all.map(|record| record.key).is_sorted());
            }
        }

        #[test]
        fn changed_and_cut_groups_are_safe_to_decode(
            records in models(), at in any::<prop::sample::Index>(), bits in 1..=255u8,
            is_cut in any::<bool>(),
        ) {
            let mut bytes = encode(&records);
            let at = at.index(bytes.len());
            match is_cut {
                true => bytes.truncate(at),
                false => bytes[at] ^= bits,
            }
            if let Ok(group) = Group::decode(bytes, records.keys().next().unwrap(), None) {
                let all = (0..group.len()).map(|i| group.record(i, None, true).unwrap());
                prop_assert!(all.map(|record| record.key).is_sorted());
            }
        }
    }
}
