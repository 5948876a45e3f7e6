//! Channels in files: saved, loaded, copied, damaged and repaired.

use crate::damage_tests::{alter, scratch::Folder};
use crate::database::{CHANNELS, channel_key, channel_of};
use crate::{
    BadPart, MemoryRecords, Overwrite, Records, Store, StoreError, StoredPart, ValueError,
    WorldInfo, Zone,
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terravox::edit::{EditOp, ValueAction, ValueOp};
use terravox::terrain::{Terrain, TerrainOptions, UnsavedChanges};
use terravox::voxel::{
    Channel, ChannelChunk, ChannelGrid, ChannelSnapshot, ChannelWidth, ChunkPos, MipRule, Region,
    UnlistedChunks, VoxelGrid, VoxelPos,
};

const HEAT: u8 = 0;
const SPAWNS: u8 = 1;
const OWNER: u8 = 2;

fn declared() -> [Channel; 3] {
    [
        Channel::values("heat", ChannelWidth::U8, MipRule::MeanPresent),
        Channel::bytes("spawns"),
        Channel::values("owner", ChannelWidth::U32, MipRule::MostFrequent),
    ]
}

fn terrain() -> Terrain {
    let unlisted = UnlistedChunks::Air;
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    for channel in declared() {
        terrain.channels_mut().declare(channel).unwrap();
    }
    terrain
}

fn ball(channel: u8, at: f64, radius: f64, value: u32) -> ValueOp {
    ValueOp::ball(channel, [at, 0.0, 0.0], radius, ValueAction::Set { value })
}

/// Saves all that is unsaved.
fn save(store: &Store, terrain: &mut Terrain) -> crate::SaveStats {
    let unsaved = terrain.unsaved();
    let stats = store.save(&unsaved, |_| {}).unwrap();
    terrain.mark_saved(&unsaved);
    assert!(terrain.is_saved());
    stats
}

fn create(folder: &Folder, name: &str) -> Store {
    let path = folder.file(name);
    Store::create(path, &WorldInfo::default(), Overwrite::No).unwrap().finish().unwrap()
}

/// A world of a rock with all kinds of values in it, closed.
fn saved(folder: &Folder) -> (PathBuf, ChannelSnapshot) {
    let (store, mut terrain) = (create(folder, "world.tvx"), terrain());
    terrain.edit(&EditOp::fill_ball(8, [0.0; 3], 20.0)).unwrap();
    terrain.edit_values(&ball(HEAT, 0.0, 40.0, 7)).unwrap();
    terrain.edit_values(&ball(HEAT, 9.0, 12.0, 200)).unwrap();
    terrain.edit_values(&ball(OWNER, -100_000.0, 9.0, 70_000)).unwrap();
    // Noise that no code makes shorter.
    let noise = Region::new([-9, 5, 40], [30, 30, 70]);
    let values: Vec<u32> =
        (0..noise.volume() as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    terrain.channels_mut().write(OWNER, noise, &values);
    let spawns = [vec![3; 60_000], b"goats".to_vec()];
    for (x, bytes) in spawns.iter().enumerate() {
        terrain.channels_mut().set_bytes(SPAWNS, ChunkPos::new(x as i32, -1, 0), bytes).unwrap();
    }
    let stats = save(&store, &mut terrain);
    assert_eq!(stats.channel_chunks, store.stats().unwrap().channel_chunks as usize);
    (folder.file("world.tvx"), terrain.channels().snapshot())
}

#[test]
fn channels_come_back_with_undo_and_are_copied_everywhere() {
    let folder = Folder::new("channels");
    let (path, held) = saved(&folder);
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.info().channels, declared());
    assert_eq!(store.channels().unwrap().snapshot(), held);
    assert!(store.channels().unwrap().is_saved());
    assert_eq!(store.load().unwrap().channels.snapshot(), held);
    let report = store.verify().unwrap();
    assert_eq!((report.bad.len(), report.channel_chunks > 20), (0, true), "{report:?}");

    // Undo of values, saved in between.
    let mut terrain = store.load_terrain(TerrainOptions::default()).unwrap().0;
    assert!(terrain.is_saved());
    assert_eq!(terrain.value_at(OWNER, [-100_000.0, 0.0, 0.0]), 70_000);
    terrain.undo().unwrap();
    assert_eq!(terrain.value_at(OWNER, [-100_000.0, 0.0, 0.0]), 0);
    assert_eq!(terrain.value_at(HEAT, [9.0, 0.0, 0.0]), 200);
    terrain.undo().unwrap();
    assert_eq!(terrain.value_at(HEAT, [9.0, 0.0, 0.0]), 7);
    save(&store, &mut terrain);
    let undone = terrain.channels().snapshot();
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    assert_eq!(terrain.channels().snapshot(), undone);
    terrain.redo().unwrap();
    terrain.redo().unwrap();
    assert_eq!(terrain.channels().snapshot(), held);
    save(&store, &mut terrain);

    store.compact().unwrap();
    assert_eq!(store.channels().unwrap().snapshot(), held);
    store.back_up(folder.file("backup.tvx"), Overwrite::No).unwrap();
    let (copy, _) = store.copy_to_file(folder.file("copy.tvx"), |_, _| {}).unwrap();
    let records = Arc::new(MemoryRecords::default());
    let (in_records, _) = copy.copy_to_records(records.clone(), "records", |_, _| {}).unwrap();
    for world in [&Store::open(folder.file("backup.tvx")).unwrap(), &copy, &in_records] {
        assert_eq!(world.channels().unwrap().snapshot(), held);
        assert_eq!(world.verify().unwrap().bad, []);
    }
    let anew = create(&folder, "anew.tvx");
    anew.write_channels(&held).unwrap();
    assert_eq!(anew.channels().unwrap().snapshot(), held);
    assert!(anew.write_channels(&ChannelGrid::default().snapshot()).is_ok());
    // Every record belongs to a zone of a world.
    let all = records.view().unwrap().scan(&[], None, usize::MAX, false).unwrap();
    assert!(all.iter().all(|record| Zone::of_record(&record.key).is_some()));
}

#[test]
fn a_world_without_channels_is_written_as_before() {
    let folder = Folder::new("no-channels");
    let (a, b) = (create(&folder, "a.tvx"), create(&folder, "b.tvx"));
    let mut terrain =
        Terrain::new(TerrainOptions { unlisted: UnlistedChunks::Air, ..TerrainOptions::default() });
    terrain.edit(&EditOp::fill_ball(8, [0.0; 3], 9.0)).unwrap();
    let unsaved = terrain.unsaved();
    assert!(unsaved.channels.is_none());
    a.save(&unsaved, |_| {}).unwrap();
    let empty = ChannelGrid::default().unsaved();
    b.save(&unsaved.clone().with_channels(empty), |_| {}).unwrap();
    let records = |store: &Store| {
        let records = Arc::new(MemoryRecords::default());
        store.copy_to_records(records.clone(), "copy", |_, _| {}).unwrap();
        records.view().unwrap().scan(&[], None, usize::MAX, true).unwrap()
    };
    assert_eq!(records(&a), records(&b));
    assert_eq!(a.info().encode()[..2], [3, 0]);
}

#[test]
fn only_what_changed_is_written_and_what_is_removed_goes() {
    let folder = Folder::new("changed");
    let (store, mut terrain) = (create(&folder, "world.tvx"), terrain());
    // Declared only.
    assert_eq!(save(&store, &mut terrain).channel_chunks, 0);
    assert_eq!(store.info().channels, declared());
    terrain.channels_mut().write(HEAT, Region::new([0; 3], [64, 1, 1]), &[1; 64]);
    assert_eq!(save(&store, &mut terrain).channel_chunks, 2);
    terrain.channels_mut().set(HEAT, VoxelPos::ZERO, 9);
    let stats = save(&store, &mut terrain);
    assert_eq!((stats.channel_chunks, stats.written), (1, 0));
    terrain.channels_mut().write(HEAT, Region::new([0; 3], [32, 1, 1]), &[0; 32]);
    save(&store, &mut terrain);
    assert_eq!(store.stats().unwrap().channel_chunks, 1);
    assert_eq!(store.channels().unwrap().snapshot(), terrain.channels().snapshot());
}

#[test]
fn channels_of_another_world_are_refused_and_more_are_added() {
    let folder = Folder::new("declared");
    let store = create(&folder, "world.tvx");
    save(&store, &mut terrain());
    let mut other = ChannelGrid::default();
    let cells = VoxelGrid::default();
    other.declare(Channel::bytes("heat")).unwrap();
    let unsaved = || UnsavedChanges::from(cells.unsaved());
    let error = store.save(&unsaved().with_channels(other.unsaved()), |_| {}).unwrap_err();
    assert!(error.to_string().contains("channel 0 is \"heat\""), "{error}");
    let mut less = ChannelGrid::default();
    less.declare(declared()[0].clone()).unwrap();
    less.set(0, VoxelPos::ZERO, 4);
    store.save(&unsaved().with_channels(less.unsaved()), |_| {}).unwrap();
    assert_eq!(store.info().channels, declared());
    let mut more = store.channels().unwrap();
    assert_eq!(more.declare(Channel::bytes("notes")), Ok(3));
    store.save(&unsaved().with_channels(more.unsaved()), |_| {}).unwrap();
    assert_eq!(store.info().channels.len(), 4);
    assert_eq!(store.channels().unwrap().value(HEAT, VoxelPos::ZERO), 4);
    // A description without them.
    let fewer = WorldInfo { channels: declared().to_vec(), ..(*store.info()).clone() };
    assert!(matches!(store.set_info(&fewer), Err(StoreError::Refused { .. })));
    let twice = WorldInfo { channels: vec![Channel::bytes("a"); 2], ..WorldInfo::default() };
    assert!(Store::create(folder.file("twice.tvx"), &twice, Overwrite::No).is_err());
}

/// Changes the value of one chunk of a channel.
fn damage(path: &Path, channel: u8, chunk: ChunkPos, change: impl Fn(&mut Vec<u8>)) {
    let key = channel_key(channel, chunk);
    let changed = alter(path, CHANNELS, |own, value| {
        let is_it = own == &key[1..];
        if is_it {
            change(value);
        }
        is_it
    });
    assert_eq!(changed, 1);
}

#[test]
fn a_damaged_value_costs_that_chunk_of_that_channel() {
    let folder = Folder::new("channel-damage");
    let (path, held) = saved(&folder);
    let chunk = ChunkPos::new(0, 0, 0);
    damage(&path, HEAT, chunk, |value| *value.last_mut().unwrap() ^= 1);
    let part = StoredPart::Channel { channel: HEAT, chunk };
    let bad = [BadPart { part, what: ValueError::Checksum }];
    let store = Store::open(&path).unwrap();
    assert_eq!(store.verify().unwrap().bad, bad);
    let error = store.terrain(TerrainOptions::default()).unwrap_err().to_string();
    assert!(error.contains("channel 0 of chunk (0, 0, 0) is damaged: byte 1"), "{error}");
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad, bad);
    let mut whole = ChannelGrid::from_snapshot(&held);
    whole.write(HEAT, chunk.region(), &vec![0; 32_768]);
    assert_eq!(loaded.channels.snapshot(), whole.snapshot());
    drop(store);
    let report = Store::repair(&path, |_| {}).unwrap();
    assert_eq!(report.lost, bad);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
    assert_eq!(store.channels().unwrap().snapshot(), whole.snapshot());
    assert_eq!(store.info().channels, declared());
}

#[test]
fn keys_that_are_no_chunk_of_a_channel_are_reported_and_dropped() {
    let folder = Folder::new("channel-keys");
    let (path, held) = saved(&folder);
    let db = crate::database::open(&path).unwrap();
    let mut change = db.begin(&path).unwrap();
    for key in [&channel_key(9, ChunkPos::new(0, 0, 0))[..], &[CHANNELS], &[CHANNELS; 12]] {
        change.put(key, &[1; 20]).unwrap();
    }
    db.commit(change, &path).unwrap();
    drop(db);
    let store = Store::open(&path).unwrap();
    let bad = store.verify().unwrap().bad;
    assert!(bad.iter().all(|bad| bad.part == StoredPart::Table("channels")), "{bad:?}");
    assert!(!bad.is_empty());
    drop(store);
    let report = Store::repair(&path, |_| {}).unwrap();
    assert_eq!(report.lost, bad);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
    assert_eq!(store.channels().unwrap().snapshot(), held);
}

#[test]
fn a_reader_of_a_database_that_was_opened_before_the_first_channels_copies_them() {
    let records = Arc::new(MemoryRecords::default());
    let writer = Store::create_records(records.clone(), "world", &WorldInfo::default()).unwrap();
    let reader = Store::open_records_read_only(records, "world").unwrap();
    let mut terrain = terrain();
    terrain.edit_values(&ball(OWNER, 3.0, 9.0, 70_000)).unwrap();
    save(&writer, &mut terrain);
    let held = terrain.channels().snapshot();
    let copies = Arc::new(MemoryRecords::default());
    let (copy, _) = reader.copy_to_records(copies, "copy", |_, _| {}).unwrap();
    for store in [&reader, &copy] {
        assert_eq!(store.verify().unwrap().bad, []);
        assert_eq!(store.channels().unwrap().snapshot(), held);
        assert_eq!(store.info().channels, declared());
    }
}

#[test]
fn a_read_during_the_first_save_of_channels_knows_all_that_it_reads() {
    let folder = Folder::new("first-channels");
    for round in 0..8 {
        let store = create(&folder, &format!("world-{round}.tvx"));
        let mut terrain = terrain();
        terrain.edit_values(&ball(HEAT, 0.0, 9.0, 7)).unwrap();
        let is_saved = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            let reading = threads.spawn(|| {
                while !is_saved.load(std::sync::atomic::Ordering::Relaxed) {
                    assert_eq!(store.load().unwrap().bad, []);
                }
            });
            save(&store, &mut terrain);
            is_saved.store(true, std::sync::atomic::Ordering::Relaxed);
            reading.join().unwrap();
        });
        assert_eq!(store.channels().unwrap().snapshot(), terrain.channels().snapshot());
    }
}

#[test]
fn the_bytes_of_a_value_are_fixed() {
    let folder = Folder::new("channel-golden");
    let (store, mut terrain) = (create(&folder, "world.tvx"), terrain());
    let chunk = ChunkPos::new(1, 0, 0);
    terrain.channels_mut().set(HEAT, chunk.min_voxel(), 9);
    terrain.channels_mut().set_bytes(SPAWNS, chunk, b"ab").unwrap();
    save(&store, &mut terrain);
    let key = [4, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    assert_eq!(channel_key(HEAT, chunk), key);
    assert_eq!(channel_of(&key), Some((HEAT, chunk)));
    assert_eq!(channel_of(&[4; 12]).map(|key| key.0), Some(4));
    let mut values = Vec::new();
    let path = folder.file("world.tvx");
    drop(store);
    let taken = std::cell::RefCell::new(&mut values);
    alter(&path, CHANNELS, |_, value| {
        taken.borrow_mut().push(value.clone());
        false
    });
    let sum = |key: &[u8], value: &[u8]| crate::value::checksum(key, value).to_le_bytes();
    let heat = [&[1][..], &sum(&key[1..], &values[0]), &[1, 0, 9, 0xff, 0x7d, 0x7f, 0]].concat();
    assert_eq!(values[0], heat);
    assert_eq!(values[1][9..], [1, b'a', b'b']);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_value_is_a_chunk_or_an_error(
        body in proptest::collection::vec(any::<u8>(), 0..200), channel in 0..3u8, codec in 0..4u8,
    ) {
        let declared = declared();
        let (mut coder, chunk) = (crate::channels::ChannelCoder::default(), ChunkPos::new(0, 0, 0));
        let mut value = Vec::new();
        crate::value::start_block(codec, &mut value);
        value.extend(&body);
        crate::value::seal(&channel_key(channel, chunk)[1..], &mut value);
        let read = crate::channels::decode(&mut coder, &declared, (channel, chunk), &value);
        if let Ok(held) = read {
            let bytes: &ChannelChunk = &held;
            prop_assert!(bytes.memory_bytes() <= 8 * 256 * body.len().max(1));
        }
        value[0] ^= 1;
        let other = crate::channels::decode(&mut coder, &declared, (channel, chunk), &value);
        let is_version = matches!(other, Err(ValueError::Version { .. }));
        prop_assert!(is_version);
    }
}
