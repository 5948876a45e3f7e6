//! Chunks of one material, which are read, verified and repaired without their cells, against the
//! same with them.

use crate::damage_tests::scratch::{Folder, Numbers, growing_world};
use crate::damage_tests::{alter, saved_grid};
use crate::database::CELLS;
use crate::key::BlockKey;
use crate::value::{SEAL_BYTES, VALUE_VERSION, seal};
use crate::{BadPart, Store, StoredPart, ValueError};
use std::path::Path;
use terravox::generate::Hills;
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{
    Cell, ChunkPos, DenseBox, GridOptions, MAX_MIP, Region, VoxelGrid, VoxelPos,
};

/// Materials of the chunks: air, water and two solids.
const MATERIALS: [u8; 4] = [0, 1, 8, 200];

/// Chunks around the corner of eight pages: most are uniform, with few materials in each octant,
/// and some have one other cell, with water.
fn patchwork(seed: u64) -> VoxelGrid {
    let (mut grid, mut numbers) = (VoxelGrid::default(), Numbers(seed));
    let mut material = 8;
    for i in 0..512 {
        let at = [i, i >> 1, i >> 2].map(|bits| bits & 1 | bits >> 2 & 2 | bits >> 4 & 4);
        if i % 8 == 0 {
            material = MATERIALS[numbers.below(4) as usize];
        }
        let chunk = ChunkPos::new(at[0] - 4, at[1] - 4, at[2] - 4);
        let mut cells = DenseBox::new(chunk.region());
        match numbers.below(20) {
            0 => continue,
            1 => cells.fill(MATERIALS[numbers.below(4) as usize]),
            2 => {
                cells.fill(material);
                let pos = cells.region().min + VoxelPos::new(3, numbers.below(32), 30);
                cells.set(pos, Cell::new(9, 40));
                cells.set_water(pos, Some(90));
            }
            _ => cells.fill(material),
        }
        grid.write(&cells).unwrap();
    }
    grid
}

/// The value of a block of one material as runs, of which not all are as long as they may be.
fn value_of_runs(key: &[u8], material: u8, is_packed: bool) -> Vec<u8> {
    let lead = if material < 63 { vec![material | 0x80] } else { vec![63 | 0x80, material] };
    let whole = [&lead[..], &[255]].concat().repeat(127);
    let half = [&lead[..], &[127]].concat().repeat(2);
    let runs = [whole, half].concat();
    let mut value = vec![VALUE_VERSION];
    value.resize(SEAL_BYTES, 0);
    if is_packed {
        value.push(2);
        value.extend((runs.len() as u32).to_le_bytes());
        value.extend(lz4_flex::block::compress(&runs));
    } else {
        value.push(1);
        value.extend(runs);
    }
    seal(key, &mut value);
    value
}

/// Writes some of the uniform chunks of a closed world in other ways than this program does.
fn rewrite_uniform(path: &Path, seed: u64) {
    let numbers = std::cell::RefCell::new(Numbers(seed));
    let changed = alter(path, CELLS, |key, value| {
        let way = numbers.borrow_mut().below(3);
        if key[0] > 0 || value.len() != SEAL_BYTES + 2 || way == 0 {
            return false;
        }
        *value = value_of_runs(key, value[SEAL_BYTES + 1], way == 1);
        true
    });
    assert!(changed > 100);
}

/// Chunk by chunk, with their cells.
fn load_slowly(store: &Store) -> VoxelGrid {
    let info = store.info();
    let (unlisted, materials) = (info.unlisted, info.materials.clone());
    let mut grid = VoxelGrid::new(GridOptions { unlisted, materials });
    let mut cells = DenseBox::default();
    for chunk in store.chunks().unwrap() {
        store.chunk(chunk, &mut cells).unwrap();
        grid.load(&cells);
    }
    grid
}

/// The cells of all stored coarse blocks.
fn coarse_blocks(store: &Store) -> Vec<(BlockKey, DenseBox)> {
    let mut blocks = Vec::new();
    for mip in 1..=MAX_MIP {
        let all = Region::new([-512; 3], [512; 3]);
        let visit = |key: BlockKey, cells: Result<&DenseBox, &ValueError>| {
            blocks.push((key, cells.unwrap().clone()));
            std::ops::ControlFlow::Continue(())
        };
        store.blocks(all, mip, visit).unwrap();
    }
    blocks
}

#[test]
fn chunks_of_one_material_are_loaded_as_if_by_their_cells() {
    for seed in 0..4 {
        let folder = Folder::new("uniform-load");
        let (path, grid) = saved_grid(&folder, patchwork(seed));
        rewrite_uniform(&path, seed);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.verify().unwrap().bad, []);
        let (loaded, slow) = (store.load().unwrap(), load_slowly(&store));
        assert_eq!(loaded.bad, []);
        assert_eq!(loaded.grid.chunks(), grid.chunks());
        assert_eq!(loaded.grid.digest(), grid.digest());
        assert_eq!(slow.digest(), grid.digest());
        assert!(loaded.grid.is_saved());
        assert_eq!(loaded.grid.memory().uniform_chunks, slow.memory().uniform_chunks);
        let (mut fast_cells, mut slow_cells) = (DenseBox::default(), DenseBox::default());
        for mip in 0..=MAX_MIP {
            let region = grid.bounds().coarser(mip.into());
            loaded.grid.read(region, mip, &mut fast_cells).unwrap();
            slow.read(region, mip, &mut slow_cells).unwrap();
            assert!(fast_cells == slow_cells, "mip {mip} of seed {seed}");
        }
        // The limit on memory counts them, too.
        let error = store.load_with(8 * 2048 + 64 * 300, |_, _| {}).err().unwrap();
        assert!(error.to_string().contains("bytes of memory already"), "{error}");
    }
}

#[test]
fn coarse_blocks_that_are_lost_are_made_of_uniform_ones_as_a_save_makes_them() {
    for seed in 0..4 {
        let folder = Folder::new("uniform-repair");
        let (path, grid) = saved_grid(&folder, patchwork(seed));
        let before = coarse_blocks(&Store::open(&path).unwrap());
        rewrite_uniform(&path, seed);
        let mut numbers = Numbers(seed);
        let lost: Vec<bool> = before.iter().map(|_| numbers.below(3) == 0).collect();
        let is_lost = |key: &[u8]| {
            let place = before.iter().position(|(block, _)| block.bytes()[..] == *key);
            place.is_some_and(|place| lost[place])
        };
        alter(&path, CELLS, |key, value| {
            let is_lost = is_lost(key);
            if is_lost {
                value.clear();
            }
            is_lost
        });
        assert_ne!(Store::open(&path).unwrap().verify().unwrap().bad, []);
        let report = Store::repair(&path, |_| panic!("a complete world")).unwrap();
        // Those above are not of the finer ones any more, and are made again, too.
        assert!(report.rebuilt >= lost.iter().filter(|lost| **lost).count());
        assert_eq!(report.lost, []);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.verify().unwrap().bad, []);
        assert!(coarse_blocks(&store) == before);
        assert_eq!(store.load().unwrap().grid.digest(), grid.digest());
    }
}

#[test]
fn a_block_over_stored_chunks_only_needs_no_generator() {
    let folder = Folder::new("uniform-grows");
    let path = folder.file("world.tvx");
    let store = growing_world(&path, 5);
    let mut grid = VoxelGrid::default();
    // One page, and a chunk beside it.
    for i in 0..513 {
        let mut cells = DenseBox::new(ChunkPos::new(i % 8, i / 8 % 8, i / 64).region());
        cells.fill(if i % 64 < 24 { 8 } else { 0 });
        grid.write(&cells).unwrap();
    }
    let hills = Hills::new(5);
    let generate = |request: &mut FillRequest<'_>| {
        let mip = request.block().mip;
        hills.fill(request.cells(), mip);
    };
    store.save(&UnsavedChanges::from(grid.unsaved()), generate).unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
    let before = coarse_blocks(&store);
    drop(store);
    let page = |key: &[u8]| {
        BlockKey::from_bytes(key)
            .is_some_and(|key| (1..=3).contains(&key.mip) && key.coarser(3).pos == VoxelPos::ZERO)
    };
    // Missing ones and wrong ones.
    let changed = alter(&path, CELLS, |key, value| {
        let is_page = page(key);
        match is_page {
            true if key[1..].iter().fold(0, |sum, byte| sum ^ byte) & 1 == 0 => value.clear(),
            true => *value = value_of_runs(key, 200, true),
            false => {}
        }
        is_page
    });
    assert_eq!(changed, 64 + 8 + 1);
    let found = Store::open(&path).unwrap().verify().unwrap().bad;
    let is_page = |bad: &&BadPart| match bad.part {
        StoredPart::Mip(key) => page(&key.bytes()),
        _ => false,
    };
    // And what is over a wrong one.
    assert_eq!((found.iter().filter(is_page).count(), found.len()), (changed, changed + 1));
    let report = Store::repair(&path, |request| request.set_missing()).unwrap();
    assert_eq!((report.rebuilt, report.lost), (changed, vec![]));
    let store = Store::open(&path).unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
    assert!(coarse_blocks(&store) == before);
}
