//! Worlds as users handle them: saved, read, changed, described.

use crate::scratch::{Folder, Numbers, ball, fill, mark_saved, save, small_world, touch};
use std::ops::ControlFlow;
use terravox::voxel::{
    ChunkPos, DenseBox, GridOptions, Kind, LIMIT, MAX_MIP, MaterialTable, Region, UnlistedChunks,
    VoxelGrid,
};
use terravox_store::{Generator, Overwrite, Store, StoreError, WorldInfo};

fn saved(folder: &Folder, name: &str, grid: &VoxelGrid) -> Store {
    let info = WorldInfo {
        unlisted: grid.unlisted(),
        materials: grid.materials().clone(),
        ..WorldInfo::default()
    };
    let draft = Store::create(folder.file(name), &info, Overwrite::No).unwrap();
    draft.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
    draft.finish().unwrap()
}

/// The stored world equals `grid`: chunks, cells of all mips, and it verifies.
fn assert_holds(store: &mut Store, grid: &VoxelGrid) {
    assert_eq!(store.chunks().unwrap(), grid.chunks());
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad, []);
    assert_eq!(loaded.grid.chunks(), grid.chunks());
    assert_eq!(loaded.grid.digest().unwrap(), grid.digest().unwrap());
    let (mut stored, mut held) = (DenseBox::default(), DenseBox::default());
    let mut numbers = Numbers(grid.chunks().len() as u64);
    for mip in 0..=MAX_MIP {
        let mut regions = vec![Region::new([-70, -70, -40], [80, 40, 75]).coarser(mip.into())];
        regions.push(Region::new([280, -320, -10], [310, -280, 20]).coarser(mip.into()).grow(3));
        for _ in 0..4 {
            let min = [0; 3].map(|_| numbers.below(160) - 100);
            let max = min.map(|v| v + 1 + numbers.below(60));
            regions.push(Region::new(min, max).coarser(mip.into()));
        }
        for region in regions {
            store.cells(region, mip, &mut stored).unwrap();
            grid.read(region, mip, &mut held).unwrap();
            assert!(stored == held, "mip {mip} of {region}");
        }
    }
    let verified = store.verify().unwrap();
    assert_eq!(verified.bad, []);
    assert_eq!(verified.chunks, grid.chunks().len());
}

#[test]
fn a_saved_world_is_read_as_it_was() {
    let folder = Folder::new("as-it-was");
    let mut grid = small_world();
    let mut store = saved(&folder, "world.tvx", &grid);
    assert_holds(&mut store, &grid);
    drop(store);
    assert_eq!(folder.names(), ["world.tvx"]);
    let store = Store::open_read_only(folder.file("world.tvx")).unwrap();
    let second = Store::open_read_only(folder.file("world.tvx")).unwrap();
    assert_eq!(store.load().unwrap().grid.digest(), second.load().unwrap().grid.digest());
    let error = save(&store, &mut grid).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
}

#[test]
fn every_save_keeps_cells_lists_and_mips_right() {
    let folder = Folder::new("every-save");
    let mut grid = small_world();
    let mut store = saved(&folder, "world.tvx", &grid);
    mark_saved(&mut grid);
    let mut numbers = Numbers(5);
    for round in 0..6 {
        for _ in 0..4 {
            let centre = [0; 3].map(|_| numbers.below(120) - 60);
            let material = [0, 1, 2, 8, 200][numbers.below(5) as usize];
            ball(&mut grid, centre, 3 + numbers.below(14), material);
        }
        for _ in 0..3 {
            let chunks = grid.chunks();
            grid.forget(chunks[numbers.below(chunks.len() as i32) as usize]);
        }
        if round == 4 {
            // A table that differs in colour is saved too.
            let mut materials = grid.materials().clone();
            materials.set_colour(8, [1, 2, 3]);
            grid.set_materials(materials);
        }
        let stats = save(&store, &mut grid).unwrap();
        assert!(stats.written > 0 && stats.left == 0);
        assert!(grid.is_saved());
        let again = save(&store, &mut grid).unwrap();
        assert_eq!(again.written, 0);
        if round % 2 == 1 {
            assert_holds(&mut store, &grid);
        }
    }
    assert_eq!(store.info().materials.colour(8), [1, 2, 3]);
    drop(store);
    let mut store = Store::open(folder.file("world.tvx")).unwrap();
    assert_eq!(store.info().materials.colour(8), [1, 2, 3]);
    store.compact().unwrap();
    assert_holds(&mut store, &grid);
}

#[test]
fn only_written_chunks_change_and_the_mips_follow_them_not_the_snapshot() {
    let folder = Folder::new("only-written");
    let mut grid = VoxelGrid::new(GridOptions::default());
    fill(&mut grid, Region::new([0, 0, 0], [64, 32, 32]), 8);
    let mut store = saved(&folder, "world.tvx", &grid);
    let mut expected = VoxelGrid::new(GridOptions::default());
    fill(&mut expected, Region::new([0, 0, 0], [64, 32, 32]), 8);
    // Both chunks change; one is unsaved.
    fill(&mut grid, Region::new([32, 0, 0], [64, 32, 32]), 12);
    mark_saved(&mut grid);
    for grid in [&mut grid, &mut expected] {
        fill(grid, Region::new([0, 0, 0], [32, 31, 32]), 0);
    }
    save(&store, &mut grid).unwrap();
    assert_holds(&mut store, &expected);
    touch(&mut grid, ChunkPos::new(1, 0, 0));
    save(&store, &mut grid).unwrap();
    assert_holds(&mut store, &grid);
}

#[test]
fn far_blocks_come_without_fine_cells_and_in_order() {
    let folder = Folder::new("far");
    let grid = small_world();
    let store = saved(&folder, "world.tvx", &grid);
    let mut keys = Vec::new();
    let all = Region::new([-LIMIT; 3], [LIMIT; 3]);
    for mip in 0..=MAX_MIP {
        let mut blocks = 0;
        store
            .blocks(all.coarser(mip.into()), mip, |key, cells| {
                assert_eq!(key.mip, mip);
                let cells = cells.unwrap();
                assert_eq!(cells.region(), key.region());
                let mut held = DenseBox::default();
                grid.read(key.region(), mip, &mut held).unwrap();
                assert!(*cells == held, "{key:?}");
                keys.push(key);
                blocks += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        if mip == 0 {
            assert_eq!(blocks, grid.chunks().len());
        }
        assert!(blocks > 0);
    }
    let mut stopped = 0;
    store
        .blocks(all, 0, |_, _| {
            stopped += 1;
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(stopped, 1);
    let mut cells = DenseBox::default();
    assert!(store.chunk(ChunkPos::new(0, -1, 0), &mut cells).unwrap());
    assert!(store.chunk(ChunkPos::new(-9, 3, 4), &mut cells).unwrap(), "listed air");
    assert!(!store.chunk(ChunkPos::new(99, 3, 4), &mut cells).unwrap());
    assert!(cells.materials().iter().all(|&m| m == 0));
    assert!(store.is_listed(ChunkPos::new(-9, 3, 4)).unwrap());
    assert!(!store.is_listed(ChunkPos::new(99, 3, 4)).unwrap());
    store.cells(Region::default(), 3, &mut cells).unwrap();
    assert!(cells.is_empty());
}

#[test]
fn a_world_of_unknown_says_what_it_does_not_have_and_keeps_what_left_memory() {
    let folder = Folder::new("unknown");
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let home = ChunkPos::new(-1, 0, 0);
    let mut cells = DenseBox::new(Region::new([-32, 0, 0], [256, 256, 256]));
    cells.fill(5);
    grid.write(&cells).unwrap();
    let store = saved(&folder, "world.tvx", &grid);
    let mut out = DenseBox::default();
    store.cells(home.region(), 0, &mut out).unwrap();
    let error = store.cells(home.region().grow(1), 0, &mut out).unwrap_err();
    assert!(matches!(error, StoreError::NotHeld { .. }), "{error}");
    store.cells(Region::new([-1, 0, 0], [8, 8, 8]), 5, &mut out).unwrap();
    store.cells(Region::new([0; 3], [1; 3]), 8, &mut out).unwrap();
    for (region, mip) in [
        (Region::new([-1, 0, 0], [0, 1, 1]), 6),
        (Region::new([-1, 0, 0], [0, 1, 1]), 8),
        (Region::new([-2, 0, 0], [0, 1, 1]), 5),
    ] {
        let error = store.cells(region, mip, &mut out).unwrap_err();
        assert!(matches!(error, StoreError::NotHeld { .. }), "{error}");
    }
    // A chunk leaves memory, another is known from afar only, a third is edited.
    mark_saved(&mut grid);
    let far = ChunkPos::new(0, 3, 3);
    let mut coarse = DenseBox::default();
    grid.read(far.region().coarser(3), 3, &mut coarse).unwrap();
    grid.forget(home);
    grid.forget(far);
    grid.write_mip(3, &coarse);
    fill(&mut grid, ChunkPos::new(2, 2, 2).region(), 0);
    let unsaved = grid.unsaved().into();
    let stats = store.save(&unsaved, |_| {}).unwrap();
    assert_eq!((stats.written, stats.left, stats.removed), (1, 0, 0));
    assert!(store.is_listed(home).unwrap());
    store.cells(far.region(), 0, &mut out).unwrap();
    assert!(out.materials().iter().all(|&m| m == 5));
    assert_eq!(store.verify().unwrap().bad, []);
    let error = store.write_all(grid.as_snapshot(), |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::NotHeld { .. }), "a save must not lose cells: {error}");
    assert_eq!(store.load().unwrap().grid.unlisted(), UnlistedChunks::Unknown);
}

#[test]
fn descriptions_and_extra_data_are_kept() {
    let folder = Folder::new("description");
    let path = folder.file("world.tvx");
    let info = WorldInfo {
        voxel_size_m: 4.0,
        origin_m: [1.5, -2.5, 1e9],
        generator: Some(Generator {
            name: "hills".into(),
            version: 7,
            seed: u64::MAX,
            saved_region: Some(Region::new([-5; 3], [5; 3])),
        }),
        ..WorldInfo::default()
    };
    let draft = Store::create(&path, &info, Overwrite::No).unwrap();
    draft.set_extra("roblox", Some(&[7; 100_000])).unwrap();
    draft.set_extra("a", Some(&[])).unwrap();
    draft.set_extra("gone", Some(&[1])).unwrap();
    draft.set_extra("gone", None).unwrap();
    drop(draft.finish().unwrap());
    let store = Store::open(&path).unwrap();
    assert_eq!(*store.info(), info);
    assert_eq!(store.extra_names().unwrap(), ["a", "roblox"]);
    assert_eq!(store.extra("roblox").unwrap(), Some(vec![7; 100_000]));
    assert_eq!(store.extra("a").unwrap(), Some(vec![]));
    assert_eq!(store.extra("gone").unwrap(), None);
    assert_eq!(store.chunks().unwrap(), []);
    assert!(store.set_extra("", Some(&[])).is_err());
    assert!(store.set_extra(&"x".repeat(256), Some(&[])).is_err());
    let other = WorldInfo { voxel_size_m: 2.0, ..info.clone() };
    store.set_info(&other).unwrap();
    assert_eq!(*store.info(), other);
    assert!(store.set_info(&WorldInfo { voxel_size_m: -1.0, ..info }).is_err());
    assert_eq!(*store.info(), other);
}

#[test]
fn a_kind_never_changes_under_data() {
    let folder = Folder::new("kinds");
    let mut grid = VoxelGrid::new(GridOptions::default());
    fill(&mut grid, Region::new([0; 3], [3; 3]), 5);
    let store = saved(&folder, "world.tvx", &grid);
    let mut materials = MaterialTable::default().materials().to_vec();
    materials[5].kind = Kind::Liquid;
    let materials = MaterialTable::new(materials);
    let info = WorldInfo { materials: materials.clone(), ..WorldInfo::default() };
    let error = store.set_info(&info).unwrap_err();
    assert!(matches!(error, StoreError::KindsDiffer { material: 5, .. }), "{error}");
    let mut other = VoxelGrid::new(GridOptions { materials, ..GridOptions::default() });
    fill(&mut other, Region::new([0; 3], [3; 3]), 8);
    let error = save(&store, &mut other).unwrap_err();
    assert!(matches!(error, StoreError::KindsDiffer { material: 5, .. }), "{error}");
    assert!(!other.is_saved(), "what failed stays unsaved");
}

#[test]
fn a_small_world_is_a_small_file() {
    let folder = Folder::new("small-file");
    let mut grid = VoxelGrid::new(GridOptions::default());
    fill(&mut grid, Region::new([-256, -64, -256], [256, 0, 256]), 8);
    ball(&mut grid, [0, 0, 0], 12, 2);
    let store = saved(&folder, "world.tvx", &grid);
    let stats = store.stats().unwrap();
    assert_eq!(stats.chunks, grid.chunks().len() as u64);
    assert!(stats.payload_bytes < 40_000, "{stats:?}");
    assert!(stats.file_bytes < 120_000, "{stats:?}");
    let chunks: Vec<_> = (0..2000).map(|i| ChunkPos::new(i % 13, i / 169, i / 13 % 13)).collect();
    mark_saved(&mut grid);
    for &chunk in &chunks {
        fill(&mut grid, chunk.region(), 9);
    }
    let before = store.stats().unwrap().payload_bytes;
    save(&store, &mut grid).unwrap();
    let grown = store.stats().unwrap().payload_bytes - before;
    assert!(grown < 2000 * 40, "{} bytes a uniform chunk, mips included", grown / 2000);
}

#[test]
fn readers_go_on_while_a_writer_writes() {
    let folder = Folder::new("readers");
    let mut grid = VoxelGrid::new(GridOptions::default());
    fill(&mut grid, Region::new([0; 3], [64; 3]), 2);
    let store = saved(&folder, "world.tvx", &grid);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut cells = DenseBox::default();
                    for _ in 0..40 {
                        store.cells(Region::new([0; 3], [64; 3]), 0, &mut cells).unwrap();
                        let first = cells.materials()[0];
                        assert!(cells.materials().iter().all(|&m| m == first), "half a write");
                    }
                })
            })
            .collect();
        for material in 3..15 {
            fill(&mut grid, Region::new([0; 3], [64; 3]), material);
            save(&store, &mut grid).unwrap();
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
