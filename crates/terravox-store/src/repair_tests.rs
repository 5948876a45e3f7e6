//! Verifying, repairing and compacting: what is found, what is kept, what stays small.

use crate::damage_tests::scratch::{
    Folder, Numbers, ball, few_chunks, fill, growing_world, mark_saved, save,
};
use crate::damage_tests::{flip_block, saved_grid};
use crate::{BadPart, RepairReport, Store, StoreError, StoredPart, ValueError};
use std::fs;
use std::path::Path;
use terravox::generate::Hills;
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{ChunkPos, DenseBox, Region, VoxelGrid, VoxelPos};

fn repaired(path: &Path) -> RepairReport {
    Store::repair(path, |request| request.set_missing()).unwrap()
}

/// Asserts that a repair of a file with one changed byte loses at most one chunk.
fn assert_repairs(path: &Path, what: &str) -> bool {
    let store = Store::open(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    let loaded = store.load().unwrap();
    let found = store.verify().unwrap().bad;
    let extra = store.extra("roblox");
    let is_extra_whole = matches!(&extra, Ok(Some(bytes)) if *bytes == [3; 300]);
    let is_whole = loaded.bad.is_empty() && is_extra_whole;
    assert!(is_extra_whole || extra.is_err(), "{what}: other extra data");
    assert!(is_whole || !found.is_empty(), "{what}: not found");
    assert!(loaded.bad.len() <= 1, "{what}: {:?}", loaded.bad);
    drop(store);
    let report = repaired(path);
    assert_eq!(report.backup.is_some(), !found.is_empty(), "{what}: {found:?}");
    assert!(report.lost.len() <= 1, "{what}: {:?}", report.lost);
    let mut expected = few_chunks();
    if let [BadPart { part: StoredPart::Chunk(chunk), .. }] = report.lost[..] {
        assert!(expected.forget(chunk));
    }
    let store = Store::open(path).unwrap();
    assert_eq!(store.verify().unwrap().bad, [], "{what}");
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad, []);
    assert!(loaded.grid.digest() == expected.digest(), "{what}: other cells");
    assert!(loaded.grid.chunks() == expected.chunks(), "{what}: other chunks");
    if let Some(backup) = report.backup {
        fs::remove_file(backup).unwrap();
    }
    !found.is_empty()
}

fn flip_some(samples: usize, name: &str) {
    let folder = Folder::new(name);
    let (path, _) = saved_grid(&folder, few_chunks());
    let whole = fs::read(&path).unwrap();
    let (mut tried, mut found) = (0, 0);
    let places: Vec<_> = (0..whole.len()).filter(|at| at % 4096 < 96 || *at >= 16384).collect();
    // An odd step, so that all kinds of bytes come up.
    for &at in places.iter().step_by((places.len() / samples) | 1) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        fs::write(&path, &bytes).unwrap();
        found += usize::from(assert_repairs(&path, &format!("byte {at}")));
        tried += 1;
        assert_eq!(folder.names(), ["world.tvx"]);
    }
    println!("{found} of {tried} changed bytes matter, of {} in the file", whole.len());
    assert!(found > 0);
}

#[test]
fn slow_many_flipped_bytes_are_found_and_repaired_and_cost_at_most_one_chunk() {
    flip_some(24, "flips");
}

#[test]
fn a_repair_keeps_the_damaged_file_and_names_what_is_lost() {
    let folder = Folder::new("keeps");
    let (path, mut grid) = saved_grid(&folder, few_chunks());
    assert_eq!(repaired(&path), RepairReport { chunks: grid.chunks().len(), ..Default::default() });
    assert_eq!(folder.names(), ["world.tvx"], "an intact world is left alone");
    for round in 1..=2 {
        flip_block(&path, 0, 1);
        flip_block(&path, 2, 0);
        let damaged = fs::read(&path).unwrap();
        let report = repaired(&path);
        let [BadPart { part: StoredPart::Chunk(chunk), what }] = &report.lost[..] else {
            panic!("{report:?}");
        };
        assert_eq!(*what, ValueError::Checksum);
        assert!(grid.forget(*chunk));
        assert!(report.rebuilt >= 1 && report.chunks == grid.chunks().len());
        let backup = report.backup.unwrap();
        assert!(fs::read(&backup).unwrap() == damaged);
        assert_eq!(folder.names().len(), 1 + round);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.verify().unwrap().bad, []);
        assert_eq!(store.load().unwrap().grid.digest(), grid.digest());
        assert_eq!(store.extra("roblox").unwrap(), Some(vec![3; 300]));
    }
    let error = Store::repair(folder.file("none.tvx"), |_| {}).unwrap_err();
    assert!(error.to_string().contains("none.tvx: cannot open"), "{error}");
}

#[test]
fn a_growing_world_is_repaired_with_its_generator() {
    let folder = Folder::new("grows");
    let path = folder.file("world.tvx");
    let hills = Hills::new(4);
    let generate = |request: &mut FillRequest<'_>| {
        let mip = request.block().mip;
        hills.fill(request.cells(), mip);
    };
    for mip in [0, 1, 8] {
        let store = growing_world(&path, 4);
        let mut grid = VoxelGrid::default();
        fill(&mut grid, Region::new([0; 3], [64, 32, 32]), 5);
        fill(&mut grid, Region::new([640, 0, 0], [672, 32, 32]), 6);
        store.save(&UnsavedChanges::from(grid.unsaved()), generate).unwrap();
        assert_eq!(store.verify().unwrap().bad, []);
        let (mut before, mut after) = (DenseBox::default(), DenseBox::default());
        let block = terravox::voxel::MipBlock { mip: 8, pos: VoxelPos::ZERO };
        store.block(block, &mut before).unwrap();
        drop(store);
        flip_block(&path, mip, 0);
        let report = Store::repair(&path, generate).unwrap();
        assert_eq!(report.lost.len(), usize::from(mip == 0), "{report:?}");
        let store = Store::open(&path).unwrap();
        assert_eq!(store.verify().unwrap().bad, [], "mip {mip}");
        store.block(block, &mut after).unwrap();
        assert!(before == after || mip == 0, "mip {mip}");
        drop(store);
        flip_block(&path, 3, 0);
        let without = repaired(&path);
        assert_eq!(without.lost.len(), 1, "only the generator can make it: {without:?}");
        folder.names().into_iter().for_each(|name| fs::remove_file(folder.file(&name)).unwrap());
    }
}

#[test]
fn slow_a_file_stays_small_through_a_thousand_saves() {
    let folder = Folder::new("thousand");
    let mut grid = VoxelGrid::default();
    let hills = Hills::new(2);
    for chunk in Region::new([-4, -2, -4], [4, 2, 4]).voxels() {
        let mut cells = DenseBox::new(ChunkPos::new(chunk.x, chunk.y, chunk.z).region());
        hills.fill(&mut cells, 0);
        grid.write(&cells).unwrap();
    }
    let (path, mut grid) = saved_grid(&folder, grid);
    let mut store = Store::open(&path).unwrap();
    let ratio = |store: &Store| {
        let stats = store.stats().unwrap();
        stats.file_bytes as f64 / stats.payload_bytes as f64
    };
    mark_saved(&mut grid);
    let mut numbers = Numbers(9);
    let (new, mut first) = (ratio(&store), 0.0);
    for stroke in 0..1000 {
        let centre = [0; 3].map(|_| numbers.below(100) - 50);
        ball(&mut grid, centre, 3 + numbers.below(5), [0, 2, 8][numbers.below(3) as usize]);
        save(&store, &mut grid).unwrap();
        if stroke == 0 {
            first = ratio(&store);
        }
    }
    let strokes = ratio(&store);
    store.compact().unwrap();
    let compact = ratio(&store);
    println!("new {new:.3}, first commit {first:.3}, strokes {strokes:.3}, compact {compact:.3}");
    assert!(first <= new * 1.2, "{first} after the first commit, {new} before");
    assert!(strokes <= 2.0 && compact <= 1.3, "{strokes}, {compact}");
    assert_eq!(store.verify().unwrap().bad, []);
    assert_eq!(store.load().unwrap().grid.digest(), grid.digest());
}

#[test]
fn compacting_leaves_other_files_alone_and_refuses_damage() {
    let folder = Folder::new("compact");
    let (path, grid) = saved_grid(&folder, few_chunks());
    let others = folder.file("world.tvx.partial");
    fs::write(&others, b"of another program").unwrap();
    let mut store = Store::open(&path).unwrap();
    store.compact().unwrap();
    assert_eq!(store.load().unwrap().grid.digest(), grid.digest());
    store.set_extra("after", Some(b"compacting")).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::InUse { .. })), "it is locked still");
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.extra("after").unwrap(), Some(b"compacting".to_vec()));
    drop(store);
    assert_eq!(folder.names(), ["world.tvx", "world.tvx.partial"]);
    assert_eq!(fs::read(&others).unwrap(), b"of another program");
    // Damage in a long value, found by its bytes.
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(300).position(|window| window == [3; 300]).unwrap();
    bytes[at] = 4;
    fs::write(&path, &bytes).unwrap();
    let error = Store::open(&path).unwrap().compact().unwrap_err().to_string();
    assert!(error.contains("the extra data \"roblox\" is damaged"), "{error}");
    assert!(fs::read(&path).unwrap() == bytes);
    assert_eq!(folder.names(), ["world.tvx", "world.tvx.partial"]);
    let mut store = Store::open_read_only(&path).unwrap();
    assert!(matches!(store.compact(), Err(StoreError::ReadOnly { .. })));
}

#[test]
fn one_damaged_description_is_read_from_the_other() {
    let folder = Folder::new("descriptions");
    let (path, grid) = saved_grid(&folder, few_chunks());
    let whole = fs::read(&path).unwrap();
    let places = find_all(&whole, b"Basalt");
    assert_eq!(places.len(), 2, "a value for each key");
    for &at in &places {
        let mut bytes = whole.clone();
        bytes[at + 2] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let store = Store::open(&path).unwrap();
        let bad = store.verify().unwrap().bad;
        assert!(bad.iter().all(|bad| bad.part == StoredPart::Info) && bad.len() == 1, "{bad:?}");
        drop(store);
        assert_eq!(repaired(&path).lost, []);
        assert_eq!(Store::open(&path).unwrap().load().unwrap().grid.digest(), grid.digest());
    }
    let mut bytes = whole;
    places.iter().for_each(|at| bytes[at + 2] ^= 1);
    fs::write(&path, &bytes).unwrap();
    let error = Store::open(&path).err().unwrap().to_string();
    assert!(error.contains("the description of the world is damaged"), "{error}");
}

fn find_all(bytes: &[u8], text: &[u8]) -> Vec<usize> {
    (0..bytes.len() - text.len()).filter(|&at| bytes[at..].starts_with(text)).collect()
}

#[test]
fn worlds_of_the_old_format_are_named_and_left_alone() {
    let folder = Folder::new("old-format");
    let path = folder.file("old.tvx");
    let mut bytes = b"redb\x1a\x0a\xa9\x0d\x0a".to_vec();
    bytes.resize(4096, 7);
    fs::write(&path, &bytes).unwrap();
    for error in [
        Store::open(&path).err().unwrap(),
        Store::open_read_only(&path).err().unwrap(),
        Store::repair(&path, |_| {}).err().unwrap(),
        Store::create(&path, &Default::default(), crate::Overwrite::Yes).err().unwrap(),
    ] {
        let text = error.to_string();
        assert!(text.contains("old.tvx: the world is of the format before 0.1"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
    assert!(fs::read(&path).unwrap() == bytes);
}

#[test]
fn a_backup_name_of_a_killed_repair_is_no_second_name_of_the_world() {
    let folder = Folder::new("killed-repair");
    let (path, _) = saved_grid(&folder, few_chunks());
    let [first, second] =
        ["damaged", "damaged-2"].map(|end| path.with_file_name(format!("world.tvx.{end}")));
    assert_eq!(path.file_name().unwrap(), "world.tvx");
    fs::write(&first, b"of an earlier repair").unwrap();
    if fs::hard_link(&path, &second).is_err() {
        // A file system without links.
        return;
    }
    let before = fs::read(&path).unwrap();
    Store::open_read_only(&path).unwrap();
    assert!(second.exists(), "reading changes nothing");
    Store::open(&path).unwrap();
    assert!(!second.exists() && fs::read(&path).unwrap() == before);
    assert_eq!(fs::read(&first).unwrap(), b"of an earlier repair");
}
