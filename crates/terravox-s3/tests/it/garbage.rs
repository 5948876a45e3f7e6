//! Collecting garbage: never what a reader may hold, or a publication counts on.

use crate::all_stores;
use crate::objects::Objects;
use crate::publishing::{edit, place, publish, world};
use std::time::Duration;
use terravox::voxel::ChunkPos;
use terravox_s3::{CollectOptions, CollectStats};
use terravox_store::{Store, StoreError};

fn collect(objects: &Objects, states: usize) -> CollectStats {
    let options = CollectOptions { states, ..CollectOptions::default() };
    place(objects).collect_garbage(&options).unwrap()
}

/// Publishes the state after one more edit.
fn publish_edit(objects: &Objects, store: &Store, seed: u64) {
    edit(store, ChunkPos::new(1, 1, 1), seed);
    publish(&place(objects), store);
}

/// Whether all that a reader's state has can be read.
fn is_whole(reader: &Store) -> bool {
    reader.load().is_ok_and(|loaded| loaded.bad.is_empty())
}

#[test]
fn states_are_kept_while_they_are_young_or_among_the_last() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    let place = place(&objects);
    for seed in 0..4 {
        // The packs of each state are old when the next one replaces it.
        objects.advance(100);
        publish_edit(&objects, &store, seed);
    }
    let published_is_whole = || is_whole(&place.open_read_only().unwrap());
    // The third was replaced now, the second 100 hours ago.
    let stats = collect(&objects, 1);
    assert_eq!(stats.states, 2);
    assert!(stats.removed_objects > 0 && published_is_whole());
    objects.advance(25);
    let stats = collect(&objects, 2);
    assert_eq!((stats.states, stats.removed_objects), (2, 0), "the state before is kept");
    let stats = collect(&objects, 1);
    assert_eq!(stats.states, 1);
    assert!(stats.removed_objects >= 2 && stats.removed_bytes > 0, "{stats:?}");
    assert!(published_is_whole());
    assert_eq!(collect(&objects, 1).removed_objects, 0);
}

#[test]
fn a_reader_has_a_day_after_its_state_was_replaced() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    publish(&place(&objects), &store);
    let before = all_stores::records_of(&store);
    // Its packs are a year old, and it is replaced three times in an hour.
    objects.advance(365 * 24);
    let reader = place(&objects).open_read_only().unwrap();
    (1..=3).for_each(|seed| publish_edit(&objects, &store, seed));
    objects.advance(23);
    collect(&objects, 1);
    assert!(all_stores::records_of(&reader) == before, "nothing of it was read before");
    objects.advance(2);
    assert!(collect(&objects, 2).removed_objects > 0);
}

#[test]
fn what_an_interrupted_publication_uploaded_stays_for_a_day() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    publish(&place(&objects), &store);
    edit(&store, ChunkPos::new(0, 0, 0), 3);
    objects.fail_after(Some(3));
    assert!(place(&objects).publish(&store, |_, _| {}).is_err());
    objects.fail_after(None);
    let left = objects.packs().len();
    objects.advance(23);
    assert_eq!(collect(&objects, 2).removed_objects, 0);
    objects.advance(2);
    let stats = collect(&objects, 2);
    assert!(stats.removed_objects > 0 && objects.packs().len() < left, "{stats:?}");
    assert!(is_whole(&place(&objects).open_read_only().unwrap()));
}

#[test]
fn a_publication_does_not_count_on_what_may_be_collected_soon() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    objects.fail_after(Some(5));
    assert!(place(&objects).publish(&store, |_, _| {}).is_err());
    objects.fail_after(None);
    let left = objects.packs();
    assert!(!left.is_empty());
    // Seven hours later it is uploaded again, and so young again.
    objects.advance(7);
    let stats = publish(&place(&objects), &store);
    assert_eq!(stats.uploaded_packs, stats.packs);
}

#[test]
fn what_is_collected_while_it_is_uploaded_again_is_not_published() {
    let (objects, first) = (Objects::new(Duration::ZERO), world(1));
    publish(&place(&objects), &first);
    let other = world(2);
    publish(&place(&objects), &other);
    // The packs of the first state are garbage, and a collector is about to remove them.
    objects.advance(100);
    objects.hurry(120);
    objects.collect_packs(true);
    let error = place(&objects).publish(&first, |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    let what = error.to_string();
    assert!(what.contains("was collected as garbage while it was uploaded again"), "{what}");
    let now = place(&objects).open_read_only().unwrap();
    assert!(all_stores::records_of(&now) == all_stores::records_of(&other));
    objects.collect_packs(false);
    let stats = publish(&place(&objects), &first);
    assert!(stats.state == 3 && stats.uploaded_packs > 0, "{stats:?}");
    assert!(is_whole(&place(&objects).open_read_only().unwrap()));
}

#[test]
fn a_publication_that_slept_counts_on_nothing() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    let mut sleeps = true;
    // Only the clock of the service goes on.
    let slept = place(&objects).publish(&store, |_, _| {
        objects.advance(if std::mem::take(&mut sleeps) { 7 } else { 0 });
    });
    let error = slept.unwrap_err().to_string();
    assert!(error.contains("publishing took longer than 6 hours"), "{error}");
    assert!(place(&objects).open_read_only().is_err());
}

#[test]
fn options_that_would_remove_too_much_are_refused() {
    let objects = Objects::new(Duration::ZERO);
    for (options, name) in [
        (CollectOptions { states: 0, ..CollectOptions::default() }, "states is 0"),
        (CollectOptions { age: Duration::from_secs(3600), states: 2 }, "age is 3600s"),
    ] {
        let error = place(&objects).collect_garbage(&options).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn what_cannot_be_read_is_no_garbage() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    publish(&place(&objects), &store);
    publish_edit(&objects, &store, 1);
    objects.advance(30);
    let old = objects.names().into_iter().find(|name| name.contains("/manifests/")).unwrap();
    objects.change(&old, |bytes| bytes[40] ^= 1);
    let error = place(&objects).collect_garbage(&CollectOptions::default()).unwrap_err();
    assert!(error.to_string().contains("nothing was removed"), "{error}");
    assert!(is_whole(&place(&objects).open_read_only().unwrap()));
}
