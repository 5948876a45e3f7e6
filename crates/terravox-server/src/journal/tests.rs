//! Segments of a journal in a world file.

use super::*;
use std::path::PathBuf;
use terravox::edit::{EditOp, Editor, History};
use terravox::terrain::{Placement, UnsavedChanges};
use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_store::{Overwrite, WorldInfo};

/// A world file that is removed at the end.
struct World {
    path: PathBuf,
    store: Store,
}

impl World {
    fn new(name: &str) -> World {
        let file = format!("terravox-journal-{name}-{}.tvx", std::process::id());
        let path = std::env::temp_dir().join(file);
        let info = WorldInfo::complete(Placement::default());
        let store = Store::create(&path, &info, Overwrite::Yes).expect("a folder for files");
        World { path, store: store.finish().expect("a world") }
    }

    fn read(&self, budget: usize) -> StoredJournal {
        let shared = Arc::new(Mutex::new(Journal::new(budget)));
        StoredJournal::read(&self.store, shared, "test").expect("it is read")
    }

    /// Saves as the world's thread does.
    fn save(&self, journal: &mut StoredJournal) {
        let mut unsaved = UnsavedChanges::from(VoxelGrid::default().unsaved());
        unsaved.data = journal.begin_save();
        assert!(journal.is_saved());
        for (name, bytes) in unsaved.data {
            self.store.set_extra(&name, bytes.as_deref()).expect("it is written");
        }
        journal.end_save(true);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[test]
fn what_is_forgotten_is_written_again_and_read_back() {
    let world = World::new("forgotten");
    let mut journal = world.read(2 << 20);
    let change = change_of_noise();
    journal.record(JournalKind::Edit, "ada", change.clone());
    let count = 2 * (2 << 20) / change.bytes();
    for number in 0..count {
        journal.record(JournalKind::Edit, "eve", change.clone());
        if number % 50 == 0 {
            world.save(&mut journal);
        }
    }
    world.save(&mut journal);
    let names = world.store.extra_names().expect("names");
    let size = |name: &String| world.store.extra(name).expect("it is read").map_or(0, |b| b.len());
    let stored: usize = names.iter().map(size).sum();
    assert!(stored < 2 << 20, "{stored} bytes");
    let again = world.read(2 << 20);
    assert!(again.is_saved());
    assert!(oldest_first(&again.shared) == oldest_first(&journal.shared));
    let known = |author: &str| {
        let entries = oldest_first(&again.shared);
        entries.iter().filter(|entry| &*entry.author == author && !entry.is_forgotten()).count()
    };
    assert_eq!(known("ada"), 1);
    assert!(known("eve") > 20 && known("eve") < count, "{} of {count}", known("eve"));
}

/// What an edit of a ball changed.
fn change(radius: f64) -> ChangedCells {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut history = History::new(0);
    let op = EditOp::fill_ball(8, [0.5; 3], radius);
    Editor::default().apply(&mut grid, &op, &mut history).expect("a sound edit");
    history.take_last_change()
}

/// What a dig changed in ground of many small pieces: what was there before is most of it.
fn change_of_noise() -> ChangedCells {
    let (mut grid, mut history) = (VoxelGrid::new(GridOptions::default()), History::new(0));
    let (mut editor, mut state) = (Editor::default(), 1_u64);
    for material in [5, 7, 8, 10].repeat(600) {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let at = [16, 30, 44].map(|shift| f64::from((state >> shift) as u8 % 40) - 20.0);
        let piece = EditOp::fill_ball(material, at, 2.0);
        editor.apply(&mut grid, &piece, &mut history).expect("a sound edit");
    }
    editor.apply(&mut grid, &EditOp::dig_ball([0.5; 3], 20.0), &mut history).expect("a sound edit");
    history.take_last_change()
}

fn numbers(journal: &StoredJournal) -> Vec<u64> {
    journal.lock().entries(..).map(|entry| entry.number).collect()
}

#[test]
fn segments_are_sealed_saved_once_and_read_back() {
    let world = World::new("segments");
    let mut journal = world.read(64 << 20);
    let change = change(20.0);
    let count = 3 * SEGMENT_BYTES / change.bytes();
    for number in 0..count {
        let author = if number % 2 == 0 { "ada" } else { "bob" };
        journal.record(JournalKind::Edit, author, change.clone());
    }
    assert!(!journal.is_saved());
    world.save(&mut journal);
    let names = world.store.extra_names().expect("names");
    assert!(names.len() >= 3 && names[0] == "journal/0000000000000001", "{names:?}");
    for name in &names {
        let bytes = world.store.extra(name).expect("it is read").expect("it is there");
        assert!(bytes.len() <= SEGMENT_BYTES + 1024, "{}", bytes.len());
    }
    // Only the open segment is written again.
    journal.record(JournalKind::Edit, "ada", change.clone());
    let data = journal.begin_save();
    assert_eq!((data.len(), Some(&data[0].0)), (1, names.last()));
    // A save that fails is repeated.
    journal.end_save(false);
    assert!(!journal.is_saved());
    world.save(&mut journal);
    let again = world.read(64 << 20);
    assert!(again.is_saved());
    assert_eq!(numbers(&again), Vec::from_iter(1..=count as u64 + 1));
    assert!(oldest_first(&again.shared) == oldest_first(&journal.shared));
    let reversed = Vec::from_iter(newest_first(&again.shared));
    assert!(reversed.into_iter().rev().eq(oldest_first(&again.shared)));
}

#[test]
fn the_oldest_segments_are_removed_beyond_the_budget() {
    let world = World::new("budget");
    let mut journal = world.read(1 << 20);
    let change = change(20.0);
    for _ in 0..12 * SEGMENT_BYTES / change.bytes() {
        journal.record(JournalKind::Edit, "ada", change.clone());
        if journal.lock().entries(..).next().is_some_and(|entry| entry.number % 16 == 0) {
            world.save(&mut journal);
        }
    }
    world.save(&mut journal);
    let names = world.store.extra_names().expect("names");
    assert!((4..=6).contains(&names.len()), "{names:?}");
    let again = world.read(1 << 20);
    assert_eq!(numbers(&again), numbers(&journal));
    // A smaller budget removes more with the next save.
    let mut small = world.read(0);
    assert!(numbers(&small).is_empty() && !small.is_saved());
    small.record(JournalKind::Edit, "ada", change);
    world.save(&mut small);
    assert_eq!(world.store.extra_names().expect("names"), Vec::<String>::new());
}

#[test]
fn damaged_segments_are_left_out_and_numbers_go_on() {
    let world = World::new("damaged");
    let mut journal = world.read(64 << 20);
    let change = change(20.0);
    for _ in 0..3 * SEGMENT_BYTES / change.bytes() {
        journal.record(JournalKind::Edit, "ada", change.clone());
    }
    world.save(&mut journal);
    let names = world.store.extra_names().expect("names");
    let all = numbers(&journal);
    for damaged in [&names[1], names.last().expect("several")] {
        let mut bytes = world.store.extra(damaged).expect("it is read").expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        world.store.set_extra(damaged, Some(&bytes)).expect("it is written");
    }
    world.store.set_extra("journal/other", Some(b"not ours")).expect("it is written");
    world.store.set_extra("journal/7", Some(b"not ours")).expect("it is written");
    let mut again = world.read(64 << 20);
    let left = numbers(&again);
    assert!(left.len() < all.len() && left[0] == 1, "{left:?}");
    let last = *left.last().expect("some");
    again.record(JournalKind::Edit, "bob", change);
    assert!(*numbers(&again).last().expect("some") > last + 1, "numbers are not used again");
    world.save(&mut again);
    let third = world.read(64 << 20);
    assert_eq!(numbers(&third), numbers(&again));
}

#[test]
fn segments_with_numbers_that_no_entry_has_are_left_alone() {
    let world = World::new("numbers");
    for name in ["journal/4000000000000000", "journal/ffffffffffffffff"] {
        world.store.set_extra(name, Some(&[1, 2, 3])).expect("it is written");
    }
    let mut journal = world.read(64 << 20);
    assert_eq!(journal.record(JournalKind::Edit, "ada", change(3.0)), Some(1));
    world.save(&mut journal);
    assert_eq!(numbers(&world.read(64 << 20)), [1]);
    assert_eq!(oldest_first(&journal.shared).len(), 1);
    // The largest that one has.
    world.store.set_extra("journal/3fffffffffffffff", Some(&[1])).expect("it is written");
    assert_eq!(numbers(&world.read(64 << 20)), [1]);
}
