//! Forged files that share, lose or lack parts: what reading them costs, counted by the disk and by
//! the allocator, and what is said of them.

use crate::damage_tests::scratch::{Folder, fill, growing_world};
use crate::damage_tests::{alter, saved_grid};
use crate::database::CELLS;
use crate::work_tests::forge::{
    ForgedFile, block, generated_description, inline, page, sealed, world_in,
};
use crate::work_tests::shapes::{MakeFile, SHAPES, listed_world};
use crate::{
    BadPart, Disk, MemoryDisk, RepairReport, Store, StoreError, StoredPart, ValueError,
    Verification,
};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use terravox::generate::Hills;
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{Cell, DenseBox, MipBlock, Region, VoxelGrid, VoxelPos};

/// A disk that counts the bytes that are read.
struct CountingDisk {
    disk: MemoryDisk,
    read: AtomicU64,
}

impl Disk for CountingDisk {
    fn length(&self) -> io::Result<u64> {
        self.disk.length()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read.fetch_add(out.len() as u64, Ordering::Relaxed);
        self.disk.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }
}

fn open(file: Vec<u8>) -> Store {
    Store::open_on(Arc::new(MemoryDisk::from(file)), "forged").unwrap()
}

fn shape(name: &str) -> MakeFile {
    let found = SHAPES.into_iter().find(|(own, _)| own.contains(name));
    found.unwrap_or_else(|| panic!("no shape {name}")).1
}

/// Verifies a file; returns what is found, the bytes that were read, and the units that its length
/// allows.
fn verify_counting(file: Vec<u8>) -> (Verification, u64, u64) {
    let allowed = (1 << 29) + 512 * file.len() as u64;
    let disk = Arc::new(CountingDisk { disk: MemoryDisk::from(file), read: AtomicU64::new(0) });
    let store = Store::open_on(disk.clone(), "forged").unwrap();
    let found = store.verify().unwrap();
    (found, disk.read.load(Ordering::Relaxed), allowed)
}

fn is_cut_short(found: &Verification) -> bool {
    matches!(found.bad.last(), Some(BadPart { what: ValueError::TooMuchWork { .. }, .. }))
}

#[test]
fn reads_of_shared_values_and_nodes_end_with_the_budget() {
    for (name, n, wanted) in [
        ("coarse blocks of one long value", 12_000, 12_000 * 150_000),
        ("chunks under a damaged index", 12_000, 12_000 * 8 * 14_000),
    ] {
        let file = shape(name)(n);
        let length = file.len() as u64;
        let (found, read, allowed) = verify_counting(file);
        println!("{name}: {read} bytes read, {wanted} wanted, {allowed} units allowed");
        assert!(wanted > allowed, "{name}: the shape is too small to tell");
        assert!(is_cut_short(&found), "{name}: {:?}", found.bad.last());
        // Each walk reads at most the length of the file.
        assert!(read <= allowed + 64 * length, "{name}: {read} bytes read, {allowed} units");
    }
}

#[test]
fn findings_take_some_dozens_of_bytes_each() {
    for (name, n) in [
        ("lost parts of extra data", 20_000),
        ("lost parts with long keys of blocks", 20_000),
        ("damaged extra data with long names", 20_000),
        ("values beyond the end", 20_000),
        ("damaged chunks", 20_000),
        ("listings of missing chunks", 10_000),
    ] {
        let file = shape(name)(n);
        let length = file.len() as u64;
        let store = open(file);
        let mut bad = 0;
        let counted = allocation_counter::measure(|| bad = store.verify().unwrap().bad.len());
        let peak = counted.bytes_max;
        println!("{name}: {length} bytes, {bad} findings, a peak of {peak}");
        assert!(bad > 1000, "{name}: {bad} findings");
        // Lists grow by doubling, and one pass adds to those of another.
        let allowed = (2 << 20) + 320 * bad as u64 + 4 * length;
        assert!(peak <= allowed, "{name}: a peak of {peak} bytes, {allowed} allowed");
    }
}

#[test]
fn parts_that_are_too_many_to_name_are_counted_and_lost() {
    let store = open(shape("lost parts of extra data")(20_000));
    let found = store.verify().unwrap();
    let last = found.bad.last().unwrap().to_string();
    assert!(last.contains("more parts are damaged or lost, too many to name"), "{last}");
    let disk = Arc::new(MemoryDisk::default());
    let report = store.repair_onto(disk.clone(), 1, |_| {}).unwrap();
    assert!(report.lost.iter().any(|lost| lost.to_string() == last));
    assert_eq!(Store::open_on(disk, "repaired").unwrap().verify().unwrap().bad, []);
}

#[test]
fn listings_of_chunks_that_are_not_there_take_no_memory_by_the_chunk() {
    let store = open(shape("listings of missing chunks")(10_000));
    let mut error = None;
    let counted = allocation_counter::measure(|| error = store.chunks().err());
    let error = error.unwrap();
    let is_named = matches!(error, StoreError::Damaged { part: StoredPart::Table("listed"), .. });
    assert!(is_named, "{error}");
    assert!(error.to_string().contains("lists 5120000 chunks, of which at most 0 are"), "{error}");
    // Listings take 64 bytes of the file, and a few times that in memory.
    assert!(counted.bytes_max < 4 << 20, "{} bytes", counted.bytes_max);
    assert_eq!(store.stats().unwrap().chunks, 5_120_000);
    // Some may be missing in a damaged file that is no attack.
    assert_eq!(open(listed_world(1, 0xFF)).chunks().unwrap().len(), 512);
    assert_eq!(open(shape("listings of missing chunks")(128)).chunks().unwrap().len(), 1 << 16);
    assert!(open(shape("listings of missing chunks")(129)).chunks().is_err());
}

#[test]
fn a_missing_coarse_block_over_stored_air_is_found_and_made_again() {
    let key = block(0, 0);
    let air = inline(&sealed(&key, &[0, 0]));
    let mut listing = [0; 64];
    listing[0] = 1;
    let items = vec![(key, air), (page(0), inline(&listing))];
    let file = world_in(ForgedFile::new(true), &generated_description(), items);
    let store = open(file);
    let found = store.verify().unwrap().bad;
    // One of each mip: without them, the ground of the generator would be shown from afar.
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(found.iter().all(|bad| bad.what == ValueError::Missing), "{found:?}");
    let disk = Arc::new(MemoryDisk::default());
    let hills = Hills::new(4);
    let report = store.repair_onto(disk.clone(), 1, |request| make(&hills, request)).unwrap();
    assert_eq!((report.rebuilt, report.lost), (8, vec![]));
    let repaired = Store::open_on(disk, "repaired").unwrap();
    assert_eq!(repaired.verify().unwrap().bad, []);
    let (mut cells, mut ground) = (DenseBox::default(), DenseBox::default());
    let over = MipBlock { mip: 1, pos: VoxelPos::ZERO };
    assert!(repaired.block(over, &mut cells).unwrap());
    ground.reset(cells.region());
    hills.fill(&mut ground, 1);
    let of_chunk = Region::new([0; 3], [16; 3]);
    for pos in cells.region().voxels() {
        let is_air = of_chunk.contains(pos);
        assert_eq!(cells.cell(pos), if is_air { Cell::AIR } else { ground.cell(pos) }, "{pos}");
    }
}

fn make(hills: &Hills, request: &mut FillRequest<'_>) {
    let mip = request.block().mip;
    hills.fill(request.cells(), mip);
}

/// A world of hills with a few edited chunks; a coarse block of `mip` says that the first cell over
/// a chunk is another one, with right checksums. Returns that block as it was.
fn with_wrong_block(path: &Path, hills: &Hills, mip: u8) -> (MipBlock, DenseBox) {
    let store = growing_world(path, 4);
    let mut grid = VoxelGrid::default();
    fill(&mut grid, Region::new([0; 3], [64, 32, 32]), 5);
    store.save(&UnsavedChanges::from(grid.unsaved()), |request| make(hills, request)).unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
    let over = MipBlock { mip, pos: VoxelPos::ZERO };
    let mut cells = DenseBox::default();
    assert!(store.block(over, &mut cells).unwrap());
    let before = cells.clone();
    cells.set(VoxelPos::ZERO, Cell::new(3, 77));
    let (mut coder, mut wrong) = (store.begin_read().coder(), Vec::new());
    coder.encode(over.into(), &cells, &mut wrong);
    drop(store);
    let changed = alter(path, CELLS, |key, value| {
        let is_it = *key == crate::BlockKey::from(over).bytes();
        if is_it {
            value.clone_from(&wrong);
        }
        is_it
    });
    assert_eq!(changed, 1);
    (over, before)
}

#[test]
fn a_wrong_coarse_block_keeps_its_cells_beside_chunks_without_the_generator() {
    let folder = Folder::new("wrong-block");
    let path = folder.file("world.tvx");
    let hills = Hills::new(4);
    let missing = |request: &mut FillRequest<'_>| request.set_missing();
    let with_hills = |request: &mut FillRequest<'_>| make(&hills, request);
    let generators: [&dyn Fn(&mut FillRequest<'_>); 2] = [&missing, &with_hills];
    for mip in [1, 4, 7] {
        for generate in generators {
            let (over, before) = with_wrong_block(&path, &hills, mip);
            let store = Store::open(&path).unwrap();
            let found = store.verify().unwrap().bad;
            let part = StoredPart::Mip(over.into());
            assert!(found.contains(&BadPart { part, what: ValueError::NotTheMip }), "{found:?}");
            drop(store);
            let RepairReport { lost, rebuilt, .. } = Store::repair(&path, generate).unwrap();
            assert_eq!((lost, rebuilt > 0), (vec![], true), "mip {mip}");
            let store = Store::open(&path).unwrap();
            assert_eq!(store.verify().unwrap().bad, []);
            let mut after = DenseBox::default();
            assert!(store.block(over, &mut after).unwrap() && after == before, "mip {mip}");
            drop(store);
            folder.names().iter().for_each(|name| std::fs::remove_file(folder.file(name)).unwrap());
        }
    }
}

#[test]
fn verifying_any_shape_spends_within_what_its_length_allows() {
    for (name, file) in SHAPES {
        let file = file(2000);
        let length = file.len() as u64;
        let (_, read, allowed) = verify_counting(file);
        assert!(read <= allowed + 64 * length, "{name}: {read} bytes read, {allowed} units");
    }
}

#[test]
fn a_saved_copy_of_saved_grids_is_still_whole() {
    // The checks above must not find fault with what the store writes itself.
    let folder = Folder::new("still-whole");
    let mut grid = VoxelGrid::default();
    fill(&mut grid, Region::new([-40; 3], [70, 20, 33]), 0);
    fill(&mut grid, Region::new([300, 0, 0], [332, 32, 32]), 5);
    let (path, _) = saved_grid(&folder, grid);
    assert_eq!(Store::open(&path).unwrap().verify().unwrap().bad, []);
    let grown = folder.file("grown.tvx");
    let store = growing_world(&grown, 4);
    let mut dug = VoxelGrid::default();
    fill(&mut dug, Region::new([0; 3], [64; 3]), 0);
    let hills = Hills::new(4);
    store.save(&UnsavedChanges::from(dug.unsaved()), |request| make(&hills, request)).unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
}
