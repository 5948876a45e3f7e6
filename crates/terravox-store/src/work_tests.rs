//! Forged files: what passes over them cost, counted, and what is said of what was not compared.

#[path = "../tests/it/forge/mod.rs"]
pub(crate) mod forge;
#[path = "../tests/it/forge/shapes.rs"]
pub(crate) mod shapes;

use crate::damage_tests::saved_grid;
use crate::damage_tests::scratch::{Folder, Numbers, few_chunks, growing_world};
use crate::key::BlockKey;
use crate::pyramid::{empty_grid, rebuild, sources_of};
use crate::read::read_block;
use crate::tree::ReadTree;
use crate::work::PassBudget;
use crate::{
    BadPart, MemoryDisk, Store, StoreError, StoredPart, ValueError, Verification, WorldInfo,
};
use shapes::{SHAPES, listed_world};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use terravox::edit::{EditOp, Editor, History};
use terravox::generate::Hills;
use terravox::terrain::{Placement, UnsavedChanges};
use terravox::voxel::{Cell, ChunkPos, DenseBox, MAX_MIP, Region, VoxelGrid, VoxelPos};

fn open(file: Vec<u8>) -> Store {
    Store::open_on(Arc::new(MemoryDisk::from(file)), "forged").unwrap()
}

/// Verifies without a limit, and returns the units of work.
fn work_of(store: &Store) -> (Verification, u64) {
    let (found, left) = store.verify_spending(PassBudget::of(u64::MAX, 1)).unwrap();
    (found, left.spent())
}

/// The units that a pass over a file may spend.
fn allowed(store: &Store) -> u64 {
    let budget = store.pass_budget(1).unwrap();
    let mut units = 0;
    for step in (0..63).rev().map(|bit| 1 << bit) {
        units += if budget.spend(step) { step } else { 0 };
    }
    units
}

#[test]
fn the_work_of_forged_worlds_is_linear_in_their_length() {
    for (name, file) in SHAPES {
        let [half, whole] = [300, 600].map(|n| work_of(&open(file(n))).1);
        assert!(whole as f64 <= 2.2 * half as f64, "{name}: {half} units, {whole} for twice");
    }
}

#[test]
fn equal_blocks_are_decoded_and_compared_once() {
    let (_, shape) = SHAPES.into_iter().find(|(name, _)| name.contains("equal")).unwrap();
    let [few, many] = [512, 4096].map(|n| work_of(&open(shape(n))).1);
    // Reading the index takes some hundred units a chunk, decoding one 8,000.
    let read = 700 * (4096 - 512);
    assert!(many < few + few / 4 + read, "{few} units, {many} for eight times the chunks");
}

#[test]
fn what_is_not_compared_is_named_and_never_called_whole() {
    let (_, shape) = SHAPES.into_iter().find(|(name, _)| name.contains("rough chunks")).unwrap();
    let store = open(shape(64));
    // With all the work of the world, the coarse blocks are found to be missing.
    let (found, _) = work_of(&store);
    let damaged = found.bad.len();
    assert!(found.bad.iter().any(|bad| bad.what == ValueError::NotTheMip));
    let none = store.verify_within(0).unwrap();
    let Some(BadPart { what: ValueError::TooMuchWork { blocks }, .. }) = none.bad.last() else {
        panic!("{:?}", none.bad.last());
    };
    assert!(*blocks >= 64 && none.bad.len() < damaged, "{blocks} of {damaged}");
    let line = none.bad[none.bad.len() - 1].to_string();
    assert!(line.contains("blocks are not compared"), "{line}");
    assert!(store.verify_within(1).unwrap().bad == found.bad);
}

#[test]
fn a_repair_of_more_work_than_allowed_changes_nothing() {
    let folder = Folder::new("too-much");
    let path = folder.file("world.tvx");
    let (_, shape) = SHAPES.into_iter().find(|(name, _)| name.contains("rough chunks")).unwrap();
    let file = shape(64);
    fs::write(&path, &file).unwrap();
    let error = Store::repair_within(&path, 0, |_| {}).unwrap_err();
    assert!(matches!(error, StoreError::TooMuchWork { .. }), "{error}");
    assert!(error.to_string().contains("world.tvx: repairing it is more work"), "{error}");
    assert_eq!(folder.names(), ["world.tvx"]);
    assert!(fs::read(&path).unwrap() == file);
    let report = Store::repair_within(&path, 1, |_| {}).unwrap();
    assert_eq!((report.chunks, report.rebuilt > 0), (64, true));
    assert_eq!(Store::open(&path).unwrap().verify().unwrap().bad, []);
}

/// Chunks of a world, saved.
fn saved(grid: &VoxelGrid) -> Store {
    let info = WorldInfo::complete(Placement::default());
    let store = Store::create_on(Arc::new(MemoryDisk::default()), "honest", &info).unwrap();
    store.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
    store
}

/// Asserts that a world needs at most a part of what it may, leaving out what is allowed for any
/// file, however short.
fn assert_cheap(name: &str, store: &Store, percent: u64) {
    let (found, units) = work_of(store);
    assert_eq!(found.bad, [], "{name}");
    let by_length = allowed(store) - allowed(&open(listed_world(1, 0xFF)));
    println!("{name}: {units} units of {by_length} for its length");
    let most = by_length / 100 * percent;
    assert!(units <= most, "{name}: {units} units, {by_length} are allowed by its length");
}

/// Balls of a radius below one voxel, each with blocks of all mips of its own.
fn far_balls(count: i32) -> VoxelGrid {
    let (mut grid, mut history) = (VoxelGrid::default(), History::new(0));
    let mut numbers = Numbers(4);
    for i in 0..count {
        // No two have an equal block, or one in common.
        let middle = [i % 10, 0, i / 10]
            .map(|step| f64::from(step * 16384) + f64::from(numbers.below(80_000)) / 10.0);
        let ball = EditOp::fill_ball(5, middle, 0.7);
        Editor::default().apply(&mut grid, &ball, &mut history).unwrap();
    }
    grid
}

#[test]
fn honest_worlds_stay_within_what_they_may_cost() {
    let hills = Hills::new(3);
    let (mut ground, mut flat, mut rough) =
        (VoxelGrid::default(), VoxelGrid::default(), VoxelGrid::default());
    let mut numbers = Numbers(9);
    for (x, y, z) in (0..6 * 3 * 6).map(|i| (i % 6, i / 6 % 3 - 2, i / 18)) {
        let chunk = ChunkPos::new(x, y, z);
        let mut cells = DenseBox::new(chunk.region());
        hills.fill(&mut cells, 0);
        ground.write(&cells).unwrap();
        let positions: Vec<_> = cells.region().voxels().collect();
        for &pos in &positions {
            let full = if pos.y < -40 { Cell::full(8) } else { Cell::AIR };
            cells.set(pos, full);
            cells.set_water(pos, None);
        }
        flat.write(&cells).unwrap();
        for &pos in &positions {
            let bits = numbers.next();
            cells.set(pos, Cell::new(2 + (bits % 20) as u8, (bits >> 32) as u8));
        }
        rough.write(&cells).unwrap();
    }
    assert_cheap("hills", &saved(&ground), 25);
    assert_cheap("noise", &saved(&rough), 25);
    assert_cheap("small balls far apart", &saved(&far_balls(100)), 90);
    // A few bytes a chunk, but they are equal.
    let (found, units) = work_of(&saved(&flat));
    assert_eq!(found.bad, []);
    assert!(units < 40 * 60_000, "flat ground: {units} units");
}

/// What verifying finds without remembering anything.
fn naive_faults(store: &Store) -> BTreeSet<String> {
    let view = store.begin_read();
    let (mut coder, empty) = (view.coder(), empty_grid(&view.info.materials));
    let (mut stored, mut made) = (DenseBox::default(), DenseBox::default());
    let mut faults = BTreeSet::new();
    for mip in 1..=MAX_MIP {
        let over = Region::new([0; 3], [8, 2, 8]).coarser(mip.into());
        for pos in over.voxels() {
            let key = BlockKey { mip, pos };
            read_block(&*view.tree, &mut coder, key, &mut stored).unwrap();
            let read = |key, out: &mut DenseBox| read_block(&*view.tree, &mut coder, key, out);
            assert!(rebuild(key, &empty, sources_of(key), read, &mut made));
            if made != stored {
                faults.insert(StoredPart::Mip(key).to_string());
            }
        }
    }
    faults
}

#[test]
fn remembered_blocks_are_compared_as_all_others_are() {
    let mut numbers = Numbers(5);
    for round in 0..6 {
        // Three kinds of chunks, often side by side.
        let mut grid = VoxelGrid::default();
        for (x, y, z) in (0..128).map(|i| (i % 8, i / 8 % 2, i / 16)) {
            let mut cells = DenseBox::new(ChunkPos::new(x, y, z).region());
            let kind = numbers.below(4);
            let low = cells.region().min + VoxelPos::new(3, 0, 0);
            match kind {
                0 => cells.fill(8),
                1 => cells.set(low, Cell::new(8, 40)),
                2 => cells.set(low, Cell::full(5)),
                _ => {}
            }
            grid.write(&cells).unwrap();
        }
        let store = saved(&grid);
        assert_eq!(work_of(&store).0.bad, []);
        // Values of some coarse blocks go to others.
        let view = store.begin_read();
        let keys = view.tree.keys(&[2, 1], &[2, 9]).unwrap();
        let db = store.db();
        let mut transaction = db.begin(store.path()).unwrap();
        let mut value = Vec::new();
        for _ in 0..=round {
            let [from, to] = [0, 1].map(|_| &keys[numbers.below(keys.len() as i32) as usize]);
            view.tree.get(from, &mut value).unwrap();
            let key = crate::database::block_of(to).unwrap();
            crate::value::seal(&key.bytes(), &mut value);
            transaction.put(to, &value).unwrap();
        }
        db.commit(transaction, store.path()).unwrap();
        drop(view);
        let found: BTreeSet<_> =
            work_of(&store).0.bad.iter().map(|bad| bad.part.to_string()).collect();
        assert_eq!(found, naive_faults(&store));
    }
}

#[test]
fn only_what_may_differ_is_made_again() {
    let folder = Folder::new("suspects");
    let (path, _) = saved_grid(&folder, few_chunks());
    let store = Store::open(&path).unwrap();
    let whole = work_of(&store).1;
    let disk = Arc::new(MemoryDisk::default());
    let report = store.repair_onto(disk.clone(), 1, |_| {}).unwrap();
    assert_eq!((report.rebuilt, report.lost), (0, vec![]));
    let copy = Store::open_on(disk, "copy").unwrap();
    assert_eq!(work_of(&copy), (store.verify().unwrap(), whole));
    assert_eq!(copy.load().unwrap().grid.digest(), store.load().unwrap().grid.digest());
    assert_eq!(copy.extra("roblox").unwrap(), Some(vec![3; 300]));
}

#[test]
fn equal_edits_in_a_world_that_grows_are_compared_once() {
    let folder = Folder::new("grows-flat");
    let store = growing_world(&folder.file("world.tvx"), 4);
    let flat = |request: &mut terravox::terrain::FillRequest<'_>| {
        request.fill_height(8, 0.5..=0.5, |_, _| 0.5);
    };
    let work = |edits: i32| {
        let mut grid = VoxelGrid::default();
        for i in 0..edits {
            let mut cells = DenseBox::new(ChunkPos::new(64 * i, 0, 0).region());
            cells.set(cells.region().min + VoxelPos::new(3, 3, 3), Cell::full(5));
            grid.write(&cells).unwrap();
        }
        store.save(&UnsavedChanges::from(grid.unsaved()), flat).unwrap();
        let (found, units) = work_of(&store);
        assert_eq!(found.bad, []);
        units
    };
    let few = work(4);
    let many = work(16);
    assert!(many < 3 * few, "{few} units for 4 edits, {many} for 16");
}
