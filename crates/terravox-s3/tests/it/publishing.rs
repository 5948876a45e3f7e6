//! Publishing: what is uploaded, resumed, and by whom.

use crate::all_stores::{self, Numbers};
use crate::objects::Objects;
use std::time::Duration;
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{Cell, ChunkPos, DenseBox, Region, VoxelGrid};
use terravox_s3::{PublishStats, S3, S3Options};
use terravox_store::{Store, StoreError, WorldInfo};

pub fn place(objects: &Objects) -> S3 {
    S3::on(objects.shared(), "worlds/hills", &S3Options::default()).unwrap()
}

/// Fills a chunk with cells that do not compress.
pub fn noise(grid: &mut VoxelGrid, chunk: ChunkPos, numbers: &mut Numbers) {
    let mut cells = DenseBox::new(chunk.region());
    for pos in chunk.region().voxels() {
        let number = numbers.next();
        cells.set(pos, Cell::new(2 + (number % 9) as u8, (number >> 8) as u8));
    }
    grid.write(&cells).unwrap();
}

/// A world of several packs, with everything in it.
pub fn world(seed: u64) -> Store {
    let store = all_stores::twin(&WorldInfo::default());
    let (mut grid, mut numbers) = (all_stores::empty_grid(&store.info()), Numbers(seed));
    for at in Region::new([-3, -3, -3], [3, 3, 3]).voxels() {
        noise(&mut grid, ChunkPos::new(at.x, at.y, at.z), &mut numbers);
    }
    store.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
    store.set_extra("blob", Some(&[9; 100])).unwrap();
    store
}

pub fn publish(place: &S3, store: &Store) -> PublishStats {
    place.publish(store, |_, _| {}).unwrap()
}

/// Changes one chunk.
pub fn edit(store: &Store, chunk: ChunkPos, seed: u64) {
    let mut grid = store.load().unwrap().grid;
    noise(&mut grid, chunk, &mut Numbers(seed));
    store.save(&UnsavedChanges::from(grid.unsaved()), |_| {}).unwrap();
}

#[test]
fn a_publication_counts_what_it_did() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    let place = place(&objects);
    let mut last = (0, 0);
    let stats = place.publish(&store, |done, all| last = (done, all)).unwrap();
    let records = all_stores::records_of(&store);
    assert_eq!(last, (stats.records, stats.records));
    assert_eq!(stats.records + 2, records.len() as u64);
    let payload: usize = records.iter().map(|record| record.key.len() + record.value.len()).sum();
    assert_eq!(stats.payload_bytes, payload as u64);
    assert_eq!((stats.state, stats.is_unchanged), (1, false));
    assert_eq!((stats.packs, stats.uploaded_packs), (stats.packs, stats.packs));
    assert_eq!(stats.packs, objects.packs().len() as u64);
    assert_eq!(stats.stored_bytes, objects.stored_bytes());
    assert_eq!(stats.uploaded_bytes, objects.put_bytes());
    assert!(stats.packs > 3 && stats.stored_bytes < payload as u64 * 103 / 100, "{stats:?}");
    let again = publish(&place, &store);
    assert!(again.is_unchanged && again.state == 1 && again.uploaded_bytes == 0, "{again:?}");
    assert_eq!(again.stored_bytes, stats.stored_bytes);
}

#[test]
fn publishing_an_edit_uploads_few_packs_and_readers_keep_their_state() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    let place = place(&objects);
    let first = publish(&place, &store);
    let before = all_stores::records_of(&store);
    let reader = place.open_read_only().unwrap();
    edit(&store, ChunkPos::new(1, 1, 1), 5);
    let second = publish(&place, &store);
    assert_eq!(second.state, 2);
    assert!((1..=4).contains(&second.uploaded_packs), "{second:?} after {first:?}");
    assert!(all_stores::records_of(&reader) == before);
    let now = place.open_read_only().unwrap();
    assert!(all_stores::records_of(&now) == all_stores::records_of(&store));
}

#[test]
fn a_publication_that_failed_changes_nothing_and_goes_on() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    let place = place(&objects);
    objects.fail_after(Some(4));
    let error = place.publish(&store, |_, _| {}).unwrap_err().to_string();
    assert!(error.contains("worlds/hills: cannot") && error.contains("the network is down"));
    assert!(matches!(place.open_read_only(), Err(StoreError::NotAWorld { .. })));
    let left = objects.packs().len() as u64;
    assert!(left > 0);
    objects.fail_after(None);
    let stats = publish(&place, &store);
    assert_eq!(stats.uploaded_packs, stats.packs - left);
    // The same after a state was published: it stays until the next one is complete.
    let before = all_stores::records_of(&store);
    edit(&store, ChunkPos::new(0, 0, 0), 6);
    let stats = (0..).find_map(|puts| {
        objects.fail_after(Some(puts));
        let published = place.publish(&store, |_, _| {}).ok();
        let now = all_stores::records_of(&place.open_read_only().unwrap());
        assert_eq!(now == before, published.is_none(), "after {puts} requests");
        published
    });
    assert_eq!(stats.map(|stats| stats.state), Some(2));
    let now = all_stores::records_of(&place.open_read_only().unwrap());
    assert!(now == all_stores::records_of(&store));
}

/// Tries to publish with one more request each time until that succeeds; returns the errors before.
fn publish_at_last(objects: &Objects, store: &Store) -> Vec<StoreError> {
    let place = place(objects);
    let mut errors = Vec::new();
    for puts in 0.. {
        objects.fail_after(Some(puts));
        match place.publish(store, |_, _| {}) {
            Ok(_) => break,
            Err(error) => errors.push(error),
        }
    }
    objects.fail_after(None);
    errors
}

#[test]
fn a_change_of_the_manifest_without_an_answer_is_unsure_unless_it_is_seen() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    publish(&place(&objects), &store);
    edit(&store, ChunkPos::new(1, 1, 1), 5);
    let errors = publish_at_last(&objects, &store);
    // The last of its requests changes the manifest.
    let Some((StoreError::Unsure { .. }, before)) = errors.split_last() else {
        panic!("{errors:?}")
    };
    assert!(before.iter().all(|error| matches!(error, StoreError::Io { .. })), "{before:?}");
    // If it was done, that is seen.
    edit(&store, ChunkPos::new(1, 1, 1), 6);
    objects.lose_answers(true);
    let errors = publish_at_last(&objects, &store);
    assert!(errors.iter().all(|error| matches!(error, StoreError::Io { .. })), "{errors:?}");
    let now = all_stores::records_of(&place(&objects).open_read_only().unwrap());
    assert!(now == all_stores::records_of(&store));
}

#[test]
fn of_two_publishers_one_wins_and_the_other_changes_nothing() {
    let objects = Objects::new(Duration::ZERO);
    let (ours, theirs) = (world(1), world(2));
    let place = place(&objects);
    for state in [1, 3] {
        let mut is_other_done = false;
        let lost = place.publish(&ours, |done, all| {
            if done == all && !is_other_done {
                is_other_done = true;
                assert_eq!(publish(&place, &theirs).state, state);
            }
        });
        let error = lost.unwrap_err().to_string();
        assert!(error.contains("another program published the world meanwhile"), "{error}");
        let now = all_stores::records_of(&place.open_read_only().unwrap());
        assert!(now == all_stores::records_of(&theirs));
        assert_eq!(publish(&place, &ours).state, state + 1);
    }
}

#[test]
fn many_threads_read_each_group_once() {
    let (objects, store) = (Objects::new(Duration::from_millis(2)), world(1));
    let place = place(&objects);
    publish(&place, &store);
    let reader = place.open_read_only().unwrap();
    let before = objects.gets();
    let chunks = store.chunks().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut cells = DenseBox::default();
                for &chunk in &chunks {
                    assert!(reader.chunk(chunk, &mut cells).unwrap());
                }
            });
        }
    });
    let gets = objects.gets() - before;
    // Chunks of noise are a group for two or three.
    assert!(gets <= chunks.len() as u64, "{gets} requests for {} chunks", chunks.len());
}

#[test]
fn a_small_cache_reads_again_but_right() {
    let (objects, store) = (Objects::new(Duration::ZERO), world(1));
    publish(&place(&objects), &store);
    let options = S3Options { cache_bytes: 1, ..S3Options::default() };
    let place = S3::on(objects.shared(), "worlds/hills", &options).unwrap();
    let reader = place.open_read_only().unwrap();
    assert!(all_stores::records_of(&reader) == all_stores::records_of(&store));
    assert_eq!(reader.verify().unwrap().bad, []);
}
