//! Damaged files: a bad part costs that part; nothing panics.

#[path = "../tests/it/scratch/mod.rs"]
pub(crate) mod scratch;

use crate::database::{self, CELLS, LISTED};
use crate::tree::ReadTree;
use crate::{BlockKey, Overwrite, Store, StoreError, StoredPart, ValueError, WorldInfo};
use scratch::{Folder, Numbers, ball, few_chunks, mark_saved, save, small_world, touch};
use std::fs;
use std::path::{Path, PathBuf};
use terravox::voxel::{ChunkPos, DenseBox, Region, VoxelGrid, VoxelPos};

/// The small world in a file, closed.
fn saved(folder: &Folder) -> (PathBuf, VoxelGrid) {
    saved_grid(folder, small_world())
}

pub(crate) fn saved_grid(folder: &Folder, grid: VoxelGrid) -> (PathBuf, VoxelGrid) {
    let path = folder.file("world.tvx");
    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    draft.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
    draft.set_extra("roblox", Some(&[3; 300])).unwrap();
    drop(draft.finish().unwrap());
    (path, grid)
}

/// Changes the values of a table of a closed world, with right checksums in the index: `change`
/// gets the key without its table, and the value; an empty value is removed.
pub(crate) fn alter(path: &Path, table: u8, change: impl Fn(&[u8], &mut Vec<u8>) -> bool) -> usize {
    let db = database::open(path).unwrap();
    let mut transaction = db.begin(path).unwrap();
    let (mut changed, mut value) = (0, Vec::new());
    for key in transaction.keys(&[table], &[table + 1]).unwrap() {
        assert!(transaction.get(&key, &mut value).unwrap());
        if change(&key[1..], &mut value) {
            match value.is_empty() {
                true => drop(transaction.remove(&key).unwrap()),
                false => transaction.put(&key, &value).unwrap(),
            }
            changed += 1;
        }
    }
    db.commit(transaction, path).unwrap();
    changed
}

/// Flips the last bit of every value whose place among its mip's keys is `place`.
pub(crate) fn flip_block(path: &Path, mip: u8, place: usize) {
    let seen = std::cell::Cell::new(0);
    let changed = alter(path, CELLS, |key, value| {
        let here = key[0] == mip && seen.replace(seen.get() + usize::from(key[0] == mip)) == place;
        if here {
            *value.last_mut().unwrap() ^= 1;
        }
        here
    });
    assert_eq!(changed, 1);
}

#[test]
fn a_bad_chunk_costs_that_chunk() {
    let folder = Folder::new("bad-chunk");
    let (path, mut grid) = saved(&folder);
    flip_block(&path, 0, 4);
    let store = Store::open(&path).unwrap();
    let loaded = store.load().unwrap();
    let [bad] = &loaded.bad[..] else { panic!("{:?}", loaded.bad) };
    assert_eq!(bad.what, ValueError::Checksum);
    let StoredPart::Chunk(chunk) = bad.part else { panic!("{bad}") };
    grid.forget(chunk);
    assert_eq!(loaded.grid.chunks(), grid.chunks());
    assert_eq!(loaded.grid.digest(), grid.digest());
    let error = store.chunk(chunk, &mut DenseBox::default()).unwrap_err().to_string();
    assert!(error.contains(&format!("world.tvx: chunk {chunk} is damaged: byte 1")), "{error}");
    assert!(store.cells(chunk.region(), 0, &mut DenseBox::default()).is_err());
    store.cells(chunk.region().coarser(1), 1, &mut DenseBox::default()).unwrap();
    assert_eq!(store.verify().unwrap().bad, loaded.bad);
    // Written anew, all is well.
    let mut whole = small_world();
    mark_saved(&mut whole);
    touch(&mut whole, chunk);
    save(&store, &mut whole).unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
    assert_eq!(store.load().unwrap().grid.digest(), whole.digest());
}

#[test]
fn missing_and_surplus_chunks_are_reported() {
    let folder = Folder::new("missing");
    let (path, _) = saved(&folder);
    let gone = BlockKey::chunk(ChunkPos::new(-9, 3, 4));
    let more = ChunkPos::new(77, 0, 0);
    let mut store = Store::open(&path).unwrap();
    let mut other = VoxelGrid::default();
    scratch::fill(&mut other, more.region(), 6);
    save(&store, &mut other).unwrap();
    drop(store);
    // Unlist one page, drop one chunk.
    let page_bits = alter(&path, LISTED, |_, value| {
        let one = value.iter().map(|b| b.count_ones()).sum::<u32>() == 1;
        let at_more = one && value[0] == 1 << (77 & 7);
        if at_more {
            value.clear();
        }
        at_more
    });
    assert_eq!(page_bits, 1);
    let listed_air = alter(&path, CELLS, |key, value| {
        let air = key[0] == 0 && value[9..] == [0, 0];
        if air {
            value.clear();
        }
        air
    });
    assert_eq!(listed_air, 1);
    store = Store::open(&path).unwrap();
    let missing = store.load().unwrap().bad;
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].part, StoredPart::Chunk(gone.pos_chunk()));
    assert_eq!(missing[0].what, ValueError::Missing);
    let bad = store.verify().unwrap().bad;
    assert!(bad.contains(&missing[0]), "{bad:?}");
    assert!(
        bad.iter().any(|b| b.part == StoredPart::Chunk(more) && b.what == ValueError::NotListed)
    );
}

trait PosChunk {
    fn pos_chunk(self) -> ChunkPos;
}

impl PosChunk for BlockKey {
    fn pos_chunk(self) -> ChunkPos {
        ChunkPos::new(self.pos.x, self.pos.y, self.pos.z)
    }
}

#[test]
fn a_bad_list_is_made_again_from_the_keys() {
    let folder = Folder::new("bad-list");
    let (path, mut grid) = saved(&folder);
    let lists = alter(&path, LISTED, |_, value| {
        value.pop();
        true
    });
    let store = Store::open(&path).unwrap();
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad.len(), lists);
    assert!(loaded.bad.iter().all(|bad| matches!(bad.part, StoredPart::Listing(_))));
    assert_eq!(loaded.grid.chunks(), grid.chunks());
    assert_eq!(loaded.grid.digest(), grid.digest());
    let error = store.chunks().unwrap_err().to_string();
    assert!(error.contains("the list of chunks of page"), "{error}");
    mark_saved(&mut grid);
    for chunk in grid.chunks() {
        let pos = chunk.min_voxel() + VoxelPos::splat(3);
        scratch::fill(&mut grid, Region::one(pos), 4);
    }
    let stats = save(&store, &mut grid).unwrap();
    assert_eq!(stats.repaired, lists);
    assert_eq!(store.verify().unwrap().bad, []);
    assert_eq!(store.chunks().unwrap(), grid.chunks());
}

#[test]
fn a_bad_coarse_block_is_made_again_by_the_next_save_over_it() {
    let folder = Folder::new("bad-mip");
    for mip in 1..=8 {
        let (path, mut grid) = saved_grid(&folder, few_chunks());
        flip_block(&path, mip, 0);
        let store = Store::open(&path).unwrap();
        let bad = store.verify().unwrap().bad;
        let [bad] = &bad[..] else { panic!("{bad:?}") };
        let StoredPart::Mip(key) = bad.part else { panic!("{bad}") };
        assert_eq!((key.mip, &bad.what), (mip, &ValueError::Checksum));
        assert!(store.load().unwrap().bad.is_empty());
        let error = store.cells(key.region(), mip, &mut DenseBox::default()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        let under = key.region().finer(mip.into());
        let chunk = grid.chunks().into_iter().find(|c| under.contains(c.min_voxel())).unwrap();
        mark_saved(&mut grid);
        ball(&mut grid, (chunk.min_voxel() + VoxelPos::splat(16)).to_array(), 9, 14);
        let stats = save(&store, &mut grid).unwrap();
        assert!(stats.repaired >= 1);
        assert_eq!(store.verify().unwrap().bad, [], "mip {mip}");
        drop(store);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn coarse_cells_that_do_not_fit_the_fine_ones_are_found() {
    let folder = Folder::new("not-the-mip");
    let (path, _) = saved(&folder);
    let dropped = alter(&path, CELLS, |key, value| {
        let here = key[0] == 3;
        if here {
            value.clear();
        }
        here
    });
    let bad = Store::open(&path).unwrap().verify().unwrap().bad;
    assert!(dropped > 0 && bad.len() >= dropped);
    assert!(bad.iter().all(|bad| bad.what == ValueError::NotTheMip), "{bad:?}");
}

#[test]
fn a_world_that_would_fill_the_memory_is_refused() {
    let folder = Folder::new("bomb");
    let path = folder.file("world.tvx");
    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    let mut bomb = VoxelGrid::default();
    for x in 0..200 {
        let mut cells = DenseBox::new(ChunkPos::new(x, 0, 0).region());
        cells.fill(5);
        cells.arrays_mut().1.fill(100);
        bomb.write(&cells).unwrap();
    }
    draft.write_all(bomb.as_snapshot(), |_, _| {}).unwrap();
    let stats = draft.stats().unwrap();
    assert!(stats.payload_bytes < 30_000, "a hundred bytes hold 64 kB: {stats:?}");
    let store = draft.finish().unwrap();
    assert!(store.load().is_ok());
    let mut told = Vec::new();
    let error = store.load_with(2 << 20, |done, all| told.push((done, all))).err().unwrap();
    assert!(error.to_string().contains("of 200 chunks need 2097152 bytes"), "{error}");
    assert_eq!(told, [(0, 200)]);
}

/// Uses a file in every way; returns the first error. What is read without complaint is
/// right.
fn try_all(path: &Path, digest: u128, verify: bool) -> Result<usize, StoreError> {
    let mut cells = DenseBox::default();
    let read_only = Store::open_read_only(path)?;
    let _ = read_only.stats();
    let _ = read_only.extra("roblox");
    let _ = read_only.cells(Region::new([-3; 3], [3; 3]), 5, &mut cells);
    drop(read_only);
    let store = Store::open(path)?;
    let loaded = store.load()?;
    if loaded.bad.is_empty() {
        assert_eq!(loaded.grid.digest(), Ok(digest), "damage that was not noticed");
    }
    let mut grid = few_chunks();
    mark_saved(&mut grid);
    ball(&mut grid, [0, 0, 0], 10, 3);
    if save(&store, &mut grid).is_ok() {
        let again = store.load().unwrap();
        assert!(again.bad.len() <= loaded.bad.len(), "a write made it worse: {:?}", again.bad);
        let is_equal = again.grid.digest() == grid.digest();
        assert!(is_equal || !loaded.bad.is_empty(), "damage that was not noticed");
    }
    if verify {
        let _ = store.verify();
    }
    Ok(loaded.bad.len())
}

#[test]
fn slow_cut_and_altered_files_give_one_line_and_never_panic() {
    let folder = Folder::new("altered");
    let (path, grid) = saved_grid(&folder, few_chunks());
    let digest = grid.digest().unwrap();
    let whole = fs::read(&path).unwrap();
    let mut numbers = Numbers(11);
    let (mut errors, mut partly, mut unhurt) = (0, 0, 0);
    for round in 0..120 {
        let mut bytes = whole.clone();
        match round % 4 {
            0 => bytes.truncate(numbers.below(whole.len() as i32) as usize),
            1 => {
                let at = numbers.below(512) as usize;
                bytes[at] ^= 1 << numbers.below(8);
            }
            _ => {
                for _ in 0..1 + numbers.below(4) {
                    let at = numbers.below(whole.len() as i32) as usize;
                    bytes[at] = numbers.next() as u8;
                }
            }
        }
        fs::write(&path, &bytes).unwrap();
        match try_all(&path, digest, round % 8 == 7) {
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("world.tvx: "), "{text}");
                assert_eq!(text.lines().count(), 1, "{text}");
                errors += 1;
            }
            Ok(0) => unhurt += 1,
            Ok(_) => partly += 1,
        }
    }
    println!("{errors} refused, {partly} read in part, {unhurt} unhurt");
    assert!(errors > 5 && partly > 5 && unhurt > 5);
}

#[test]
fn any_number_of_wrong_keys_is_one_part() {
    let folder = Folder::new("wrong-keys");
    let (path, _) = saved(&folder);
    let db = database::open(&path).unwrap();
    let mut transaction = db.begin(&path).unwrap();
    for i in 0..2000_u32 {
        let mut key = vec![0xaa; 256];
        (key[0], key[1]) = (CELLS, 0);
        key[252..].copy_from_slice(&i.to_be_bytes());
        transaction.put(&key, &[]).unwrap();
    }
    db.commit(transaction, &path).unwrap();
    drop(db);
    let found = Store::open_read_only(&path).unwrap().verify().unwrap();
    let wrong = |bad: &&crate::BadPart| bad.what == ValueError::Key;
    assert_eq!(found.bad.iter().filter(wrong).count(), 1);
}

#[test]
fn keys_that_need_more_memory_than_those_of_a_world_are_refused() {
    let folder = Folder::new("many-keys");
    let (path, _) = saved(&folder);
    let db = database::open(&path).unwrap();
    let mut transaction = db.begin(&path).unwrap();
    for i in 0..250_000_u32 {
        let mut key = vec![b'a'; 256];
        key[0] = database::EXTRA;
        key[248..].copy_from_slice(format!("{i:08}").as_bytes());
        transaction.put(&key, &[]).unwrap();
    }
    db.commit(transaction, &path).unwrap();
    drop(db);
    let error = Store::open_read_only(&path).unwrap().extra_names().unwrap_err().to_string();
    assert!(error.contains("more keys than any world"), "{error}");
}

#[test]
fn listings_of_more_chunks_than_there_are_show_in_the_statistics() {
    let folder = Folder::new("forged-list");
    let (path, _) = saved(&folder);
    let honest = Store::open(&path).unwrap().stats().unwrap();
    assert!(honest.chunks <= honest.blocks);
    let pages = alter(&path, LISTED, |_, value| {
        value.fill(0xFF);
        true
    });
    let forged = Store::open(&path).unwrap().stats().unwrap();
    assert_eq!(forged.chunks, 512 * pages as u64);
    assert!(forged.chunks > forged.blocks && forged.blocks == honest.blocks);
}
