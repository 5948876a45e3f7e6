//! Reading against a map, in worlds of many small groups, packs and leaves.

use super::*;
use crate::background::Background;
use crate::leaf::object_hash;
use crate::manifest::{IndexTop, Manifest};
use crate::pack::{CutLimits, Indexer, Packer};
use crate::world_objects::{ObjectName, WorldObjects};
use object_store::memory::InMemory;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const LIMITS: CutLimits = CutLimits { group: (40, 200), pack: (150, 900), leaf: (120, 600) };

/// Publishes records, and opens what was published with a cache of so many bytes.
fn published(records: &Model, cache_bytes: usize) -> PublishedRecords {
    let objects = Arc::new(WorldObjects {
        store: Arc::new(InMemory::new()),
        prefix: "world".to_owned(),
        shown: PathBuf::from("world"),
        background: Background::start().unwrap(),
    });
    let write = |name, bytes: Vec<u8>| {
        objects.wait(objects.clone().write(name, bytes.into())).unwrap();
    };
    let mut packer = Packer::new(LIMITS);
    let mut indexer = Indexer::new(LIMITS);
    let mut packs: Vec<_> =
        records.iter().filter_map(|(key, value)| packer.push(key, value)).collect();
    packs.extend(packer.finish());
    for pack in packs {
        indexer.push(&pack.entry);
        write(ObjectName::Pack(pack.entry.hash), pack.bytes);
    }
    let (index, leaves) = indexer.finish();
    assert!(matches!(index, IndexTop::Inline(_)) == leaves.is_empty());
    leaves.into_iter().for_each(|leaf| write(ObjectName::Leaf(object_hash(&leaf)), leaf));
    let bytes = records.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum();
    let manifest = Manifest {
        state: 1,
        time_unix_s: 0,
        replaced: [0; 32],
        totals: RecordTotals { records: records.len() as u64, payload_bytes: bytes },
        description: vec![7; 9],
        index,
    };
    PublishedRecords(Arc::new(PublishedWorld::new(objects, manifest, cache_bytes).unwrap()))
}

/// Everything from `low` up to `high`, by several scans.
fn scan_all(
    records: &PublishedRecords,
    low: &[u8],
    high: Option<&[u8]>,
    limit: usize,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut found, mut low) = (Vec::new(), low.to_vec());
    loop {
        let batch = records.scan(&low, high, limit, true).unwrap();
        assert!(batch.len() <= limit && batch.iter().all(WorldRecord::is_whole));
        let Some(last) = batch.last() else { return found };
        low = [&*last.key, &[0]].concat();
        let keys = records.scan(&batch[0].key, Some(&low), limit, false).unwrap();
        assert!(keys.iter().all(|record| record.value.is_empty()));
        assert_eq!((&keys[0].key, keys[0].hash), (&batch[0].key, batch[0].hash));
        found.extend(batch.into_iter().map(|record| (record.key, record.value)));
    }
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    (1..4u8, prop::collection::vec(0..7u8, 0..6))
        .prop_map(|(table, rest)| [vec![table], rest].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_read_is_what_a_map_has(
        records in prop::collection::btree_map(key(), prop::collection::vec(any::<u8>(), 0..60), 0..400),
        bounds in prop::collection::vec((key(), prop::option::of(key()), 1..9usize), 1..8),
        keys in prop::collection::vec(key(), 1..20),
        is_cached in any::<bool>(),
    ) {
        let world = published(&records, if is_cached { 1 << 20 } else { 1 });
        let mut all = records.clone();
        for key in DESCRIPTION_KEYS {
            all.insert(key.to_vec(), vec![7; 9]);
        }
        prop_assert_eq!(scan_all(&world, &[], None, 100), all.clone().into_iter().collect::<Vec<_>>());
        for (low, high, limit) in bounds {
            let inside = all.range(low.clone()..).filter(|(key, _)| high.as_ref().is_none_or(|h| *key < h));
            let expected: Vec<_> = inside.map(|(k, v)| (k.clone(), v.clone())).collect();
            prop_assert_eq!(scan_all(&world, &low, high.as_deref(), limit), expected);
        }
        let wanted: Vec<&[u8]> =
            keys.iter().chain(records.keys().step_by(7)).map(Vec::as_slice).chain([&[0][..]]).collect();
        let mut found: Vec<_> =
            world.get(&wanted).unwrap().into_iter().map(|record| (record.key, record.value)).collect();
        found.sort();
        let mut expected: Vec<_> =
            wanted.iter().filter_map(|&key| all.get_key_value(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_world_of_many_leaves_has_leaves_that_are_objects() {
    let records: Model =
        (0..2000u32).map(|i| ([&[2][..], &i.to_be_bytes()].concat(), vec![i as u8; 30])).collect();
    let world = published(&records, 1 << 20);
    assert!(world.0.leaf_count() > 20, "{}", world.0.leaf_count());
    let found = world.get(&[&[2, 0, 0, 3, 9], &[2, 0, 0, 3, 9, 9], &[2, 0, 1, 0, 0]]).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].value, vec![9; 30]);
}
