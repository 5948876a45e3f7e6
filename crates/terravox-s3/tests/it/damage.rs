//! Buckets that forget, and objects that are not what was published.

use crate::all_stores;
use crate::objects::Objects;
use crate::publishing::{edit, place, publish, world};
use std::time::Duration;
use terravox::voxel::{ChunkPos, DenseBox};
use terravox_s3::{CollectOptions, S3, S3Options};
use terravox_store::{Store, StoreError, StoredPart};

fn published() -> (Objects, Store) {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    publish(&place(&objects), &store);
    (objects, store)
}

/// Which chunks cannot be read, and why the first one cannot.
fn lost_chunks(reader: &Store, all: &[ChunkPos]) -> (usize, String) {
    let (mut lost, mut why, mut cells) = (0, String::new(), DenseBox::default());
    for &chunk in all {
        match reader.chunk(chunk, &mut cells) {
            Ok(is_there) => assert!(is_there, "{chunk} is not air"),
            Err(error) => {
                why = if lost == 0 { error.to_string() } else { why };
                lost += 1;
            }
        }
    }
    (lost, why)
}

/// The longest packs: those of cells.
fn longest_pack(objects: &Objects) -> String {
    let packs = objects.packs();
    packs.into_iter().max_by_key(|name| objects.bytes(name).len()).unwrap()
}

#[test]
fn a_bucket_that_forgets_a_pack_is_named_and_mended() {
    let (objects, store) = published();
    let pack = longest_pack(&objects);
    objects.remove(&pack);
    let reader = place(&objects).open_read_only().unwrap();
    let chunks = store.chunks().unwrap();
    let (lost, why) = lost_chunks(&reader, &chunks);
    assert!(lost > 0 && lost < chunks.len(), "{lost}");
    assert!(why.contains(&pack) && why.contains("the bucket lost it; publish the world"), "{why}");
    let error = reader.load().err().unwrap().to_string();
    assert!(error.contains(&pack), "{error}");
    // Publishing the same again brings it back.
    let stats = publish(&place(&objects), &store);
    assert!(stats.is_unchanged && stats.uploaded_packs == 1, "{stats:?}");
    assert_eq!(lost_chunks(&reader, &chunks).0, 0);
}

#[test]
fn a_poisoned_pack_costs_the_groups_that_changed_and_is_mended() {
    let (objects, store) = published();
    let pack = longest_pack(&objects);
    let middle = objects.bytes(&pack).len() / 2;
    objects.change(&pack, |bytes| bytes[middle] ^= 1);
    let reader = place(&objects).open_read_only().unwrap();
    let chunks = store.chunks().unwrap();
    let (lost, why) = lost_chunks(&reader, &chunks);
    assert!((1..=4).contains(&lost), "{lost}");
    assert!(why.contains(&pack) && why.contains("the hash does not match"), "{why}");
    assert!(why.contains("is damaged") && why.contains("rewrites_all"), "{why}");
    // The rest can be read, and what is missing is named.
    let loaded = reader.load().unwrap();
    assert_eq!(loaded.grid.as_snapshot().chunks().len(), chunks.len() - lost);
    let named = loaded.bad.iter().filter(|bad| matches!(bad.part, StoredPart::Chunk(_))).count();
    assert_eq!(named, lost);
    assert!(loaded.bad.iter().any(|bad| bad.to_string().contains(&pack)), "{:?}", loaded.bad);
    assert!(reader.verify().unwrap().bad.len() >= lost);
    // A plain publication sees that it is there. One that writes all anew mends it.
    assert_eq!(publish(&place(&objects), &store).uploaded_packs, 0);
    let options = S3Options { rewrites_all: true, ..S3Options::default() };
    let anew = S3::on(objects.shared(), "worlds/hills", &options).unwrap();
    let stats = publish(&anew, &store);
    assert_eq!(stats.uploaded_packs, stats.packs);
    assert_eq!(lost_chunks(&reader, &chunks).0, 0);
    let whole = all_stores::records_of(&reader);
    assert!(whole == all_stores::records_of(&store));
}

#[test]
fn packs_that_are_swapped_or_cut_are_found() {
    let (objects, store) = published();
    let chunks = store.chunks().unwrap();
    let packs = objects.packs();
    let [one, other] = [&packs[0], &packs[1]];
    let (a, b) = (objects.bytes(one), objects.bytes(other));
    objects.change(one, |bytes| *bytes = b);
    objects.change(other, |bytes| *bytes = a);
    let reader = place(&objects).open_read_only().unwrap();
    assert!(lost_chunks(&reader, &chunks).0 > 0);
    let (objects, _) = published();
    objects.change(&longest_pack(&objects), |bytes| bytes.truncate(20));
    let reader = place(&objects).open_read_only().unwrap();
    assert!(lost_chunks(&reader, &chunks).0 > 0);
}

#[test]
fn manifests_of_other_versions_and_damaged_ones_are_refused_by_name() {
    let (objects, store) = published();
    let name = "worlds/hills/manifest";
    let refused = |objects: &Objects| -> [String; 3] {
        let place = place(objects);
        let opened = place.open_read_only().err().unwrap().to_string();
        let published = place.publish(&store, |_, _| {}).unwrap_err().to_string();
        let collected = place.collect_garbage(&CollectOptions::default());
        [opened, published, collected.unwrap_err().to_string()]
    };
    objects.change(name, |bytes| bytes[8] = 2);
    for error in refused(&objects) {
        assert!(error.contains("of version 2, this program reads 1; use a newer"), "{error}");
    }
    let options = S3Options { rewrites_all: true, ..S3Options::default() };
    let anew = S3::on(objects.shared(), "worlds/hills", &options).unwrap();
    assert!(anew.publish(&store, |_, _| {}).is_err(), "nothing overwrites a newer version");
    objects.change(name, |bytes| (bytes[8], bytes[50]) = (1, bytes[50] ^ 1));
    for error in refused(&objects) {
        assert!(error.contains("the manifest is damaged"), "{error}");
    }
    assert_eq!(publish(&anew, &store).state, 1);
    assert!(lost_chunks(&anew.open_read_only().unwrap(), &store.chunks().unwrap()).0 == 0);
    objects.change(name, |bytes| *bytes = b"<html>".to_vec());
    for error in refused(&objects) {
        assert!(error.contains("an object of another program"), "{error}");
    }
}

#[test]
fn nothing_is_published_there_says_so() {
    let objects = Objects::new(Duration::ZERO);
    let error = place(&objects).open_read_only().err().unwrap();
    assert!(matches!(error, StoreError::NotAWorld { .. }));
    assert!(error.to_string().contains("nothing is published there"));
    let error = place(&objects).collect_garbage(&CollectOptions::default()).unwrap_err();
    assert!(error.to_string().contains("there is no manifest"));
}

#[test]
fn a_damaged_source_is_not_published() {
    let objects = Objects::new(Duration::ZERO);
    let (source, _) = published();
    let pack = longest_pack(&source);
    source.change(&pack, |bytes| bytes[500] ^= 1);
    let reader = place(&source).open_read_only().unwrap();
    let error = place(&objects).publish(&reader, |_, _| {}).unwrap_err().to_string();
    assert!(error.contains(&pack), "{error}");
    assert!(place(&objects).open_read_only().is_err());
}

#[test]
fn a_reader_of_a_collected_state_is_told_to_open_again() {
    let (objects, store) = published();
    let chunk = ChunkPos::new(1, 1, 1);
    let reader = place(&objects).open_read_only().unwrap();
    for seed in 1..=3 {
        edit(&store, chunk, seed);
        publish(&place(&objects), &store);
    }
    objects.advance(25);
    let stats = place(&objects).collect_garbage(&CollectOptions::default()).unwrap();
    assert!(stats.removed_objects > 0);
    let error = reader.chunk(chunk, &mut DenseBox::default()).unwrap_err().to_string();
    assert!(error.contains("published again since it was opened here (state 4, this one is 1)"));
    assert!(error.contains("open it again"), "{error}");
}
