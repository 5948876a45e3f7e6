//! What every kind of store must do alike: in a file, in memory, in a database.
//!
//! Each test drives the store and, beside it, one on [`MemoryRecords`], which is so simple that it
//! is unlikely to be wrong; afterwards both must hold the same records, byte for byte.

#![allow(dead_code)]

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terravox::edit::{EditOp, Editor, ValueAction, ValueOp};
use terravox::terrain::{FillRequest, Placement, Terrain, TerrainOptions, UnsavedChanges};
use terravox::voxel::{
    Channel, ChannelWidth, ChunkPos, DenseBox, GridOptions, Kind, Material, MaterialTable,
    MipBlock, MipRule, Region, UnlistedChunks, VoxelGrid,
};
use terravox_store::{
    CopyStats, Generator, MemoryRecords, Records, Store, StoreError, WorldInfo, WorldRecord,
};

/// A place for one world of a kind of store.
pub trait Place {
    /// Makes a new world.
    fn create(&self, info: &WorldInfo) -> Result<Store, StoreError>;

    /// Opens it for reading and writing.
    fn open(&self) -> Result<Store, StoreError>;

    /// Opens it for reading.
    fn open_read_only(&self) -> Result<Store, StoreError>;

    /// Copies another world there.
    fn copy(
        &self,
        from: &Store,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Store, CopyStats), StoreError>;

    /// Whether half a copy is where the world will be, and not in a file beside it.
    fn copies_in_place(&self) -> bool {
        true
    }
}

/// Runs everything; `place` gives an empty place for each part by its name.
pub fn run<P: Place>(mut place: impl FnMut(&str) -> P) {
    random_edits_come_back(&place("edits"), 5);
    a_world_that_grows_comes_back(&place("grown"));
    a_game_goes_on(&place("game"));
    channels_come_back(&place("channels"));
    readers_see_one_state(&place("readers"));
    what_is_wrong_is_refused(&place("refused"));
    beyond_the_limits_nothing_is_stored(&place("limits"));
    a_copy_goes_on_where_it_stopped(&place("copy"));
    a_world_without_description_is_none(&place("undescribed"));
}

/// SplitMix64, as everywhere in our tests.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// All records of a store.
pub fn records_of(store: &Store) -> Vec<WorldRecord> {
    let records = Arc::new(MemoryRecords::default());
    store.copy_to_records(records.clone(), "copy", |_, _| {}).unwrap();
    records.view().unwrap().scan(&[], None, usize::MAX, true).unwrap()
}

/// A store in memory, the twin of another.
pub fn twin(info: &WorldInfo) -> Store {
    Store::create_records(Arc::new(MemoryRecords::default()), "twin", info).unwrap()
}

pub fn empty_grid(info: &WorldInfo) -> VoxelGrid {
    let (unlisted, materials) = (UnlistedChunks::Air, info.materials.clone());
    VoxelGrid::new(GridOptions { unlisted, materials })
}

/// Saves what is unsaved in both stores.
fn save_both(grid: &mut VoxelGrid, stores: [&Store; 2], data: &[u8]) {
    let unsaved = UnsavedChanges::from(grid.unsaved()).with_data("state", data.to_vec());
    let [a, b] = stores.map(|store| store.save(&unsaved, |_| {}).unwrap());
    assert_eq!(a, b);
    grid.mark_saved(&unsaved.chunks);
}

/// An edit near the origin, where eight zones meet, or far away.
pub fn random_edit(grid: &mut VoxelGrid, numbers: &mut Numbers) {
    let near = [0, 0, 0, 8192, -100_000][numbers.below(5) as usize];
    let centre = [0; 3].map(|_| (numbers.below(120) as i64 - 60 + near) as f64);
    let radius = 3.0 + numbers.below(20) as f64;
    let material = 2 + numbers.below(12) as u8;
    let operation = match numbers.below(3) {
        0 => EditOp::dig_ball(centre, radius),
        _ => EditOp::fill_ball(material, centre, radius),
    };
    Editor::default().apply(grid, &operation, None).unwrap();
}

/// Edits, saves and openings at random: cells at all mips, listings, bytes of the game.
pub fn random_edits_come_back(place: &impl Place, seed: u64) {
    let info = WorldInfo::complete(Placement::default());
    let twin = twin(&info);
    let mut store = place.create(&info).unwrap();
    let (mut grid, mut numbers) = (empty_grid(&info), Numbers(seed));
    for round in 0..30u64 {
        for _ in 0..1 + numbers.below(3) {
            random_edit(&mut grid, &mut numbers);
        }
        save_both(&mut grid, [&store, &twin], &round.to_le_bytes());
        if numbers.below(5) == 0 {
            drop(store);
            store = place.open().unwrap();
        }
        if numbers.below(4) == 0 {
            let bytes = vec![round as u8; numbers.below(5000) as usize];
            let bytes = (numbers.below(3) > 0).then_some(&*bytes);
            [&store, &twin].iter().for_each(|store| store.set_extra("blob", bytes).unwrap());
        }
        assert_eq!(store.extra("state").unwrap(), Some(round.to_le_bytes().to_vec()));
    }
    compare(&store, &twin, &grid);
    drop(store);
    compare(&place.open().unwrap(), &twin, &grid);
    compare(&place.open_read_only().unwrap(), &twin, &grid);
}

/// Compares a store with its twin and with what was saved.
fn compare(store: &Store, twin: &Store, grid: &VoxelGrid) {
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad, []);
    assert_eq!(loaded.grid.digest().unwrap(), grid.digest().unwrap());
    assert_eq!(store.chunks().unwrap(), grid.as_snapshot().chunks());
    assert_eq!(store.verify().unwrap().bad, []);
    assert_eq!(store.extra_names().unwrap(), twin.extra_names().unwrap());
    let (mut held, mut read) = (DenseBox::default(), DenseBox::default());
    for mip in [0u8, 3, 5, 7] {
        let region = Region::new([-70, -20, -60], [64, 20, 90]).coarser(mip.into());
        grid.as_snapshot().read(region, mip, &mut held).unwrap();
        store.cells(region, mip, &mut read).unwrap();
        assert!(held == read, "mip {mip}");
        let mut blocks = 0;
        let counted = store.blocks(region, mip, |_, block| {
            blocks += usize::from(block.is_ok());
            ControlFlow::Continue(())
        });
        counted.unwrap();
        assert!(blocks > 0, "mip {mip}");
        let around = region.coarser(5).grow(1).voxels();
        compare_blocks(store, &Vec::from_iter(around.map(|pos| MipBlock { mip, pos })));
    }
    let records = records_of(store);
    assert!(records.iter().all(WorldRecord::is_whole));
    assert!(records == records_of(twin), "the records differ");
    let [a, b] = [store, twin].map(|store| store.stats().unwrap());
    assert_eq!((a.chunks, a.blocks, a.payload_bytes), (b.chunks, b.blocks, b.payload_bytes));
}

/// Compares blocks that are read at once with the same ones, read by themselves.
fn compare_blocks(store: &Store, blocks: &[MipBlock]) {
    let mut read = Vec::new();
    store.read_blocks(blocks, |block, found| read.push((block, found.unwrap()))).unwrap();
    assert!(read.iter().map(|(block, _)| block).eq(blocks));
    let mut cells = DenseBox::default();
    for (block, found) in read {
        let is_stored = store.block(block, &mut cells).unwrap();
        assert!(found == is_stored.then(|| cells.clone()), "{block}");
    }
}

/// Rock below, air above.
fn generate(request: &mut FillRequest<'_>) {
    if request.block().pos.y < 0 {
        request.cells().fill(8);
    }
}

/// Edits alone are stored; near and far cells come from them or from the generator.
pub fn a_world_that_grows_comes_back(place: &impl Place) {
    let generator = Generator { name: "flat".into(), version: 3, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let (twin, store) = (twin(&info), place.create(&info).unwrap());
    let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    for step in 0..6 {
        let centre = [f64::from(step) * 37.0 - 90.0, f64::from(step % 3) - 1.0, 0.0];
        terrain.hold(centre.map(|v| v - 10.0), centre.map(|v| v + 10.0), fill).unwrap();
        terrain.edit(&EditOp::dig_ball(centre, 6.0)).unwrap();
        let unsaved = terrain.unsaved();
        let [a, b] = [&store, &twin]
            .map(|store| store.save(&unsaved, |request| store.fill(request, generate)).unwrap());
        assert_eq!(a, b);
        terrain.mark_saved(&unsaved);
    }
    assert!(
        store.check_generator("flat", 3, 0).is_ok() && store.check_generator("x", 3, 0).is_err()
    );
    let never = |_: &mut FillRequest<'_>| unreachable!("it is stored");
    let mut again = store.terrain(TerrainOptions::default()).unwrap();
    let stored = |request: &mut FillRequest<'_>| store.fill(request, never);
    again
        .hold([-92.0, -2.0, -2.0], [90.0, 2.0, 2.0], |request| {
            match store.is_listed(ChunkPos::new(
                request.block().pos.x,
                request.block().pos.y,
                request.block().pos.z,
            )) {
                Ok(true) => stored(request),
                _ => generate(request),
            }
        })
        .unwrap();
    assert_eq!(store.verify().unwrap().bad, []);
    assert!(records_of(&store) == records_of(&twin));
}

/// Undo history, loose bodies and the bytes of a game.
pub fn a_game_goes_on(place: &impl Place) {
    let info = WorldInfo::complete(Placement::default());
    let store = place.create(&info).unwrap();
    let mut terrain = Terrain::from_grid(empty_grid(&info), Placement::default());
    terrain.edit(&EditOp::fill_ball(8, [0.0; 3], 12.0)).unwrap();
    let before = terrain.grid().digest().unwrap();
    terrain.edit(&EditOp::dig_ball([4.0; 3], 5.0)).unwrap();
    let mut unsaved = terrain.unsaved().with_data("player", *b"at home");
    let body = terravox::bodies::SavedBody {
        cells: terrain.grid().snapshot(),
        origin_voxel: [1, 2, 3].into(),
        pose: terravox::bodies::BodyPose {
            position_voxels: [0.5, 6.0, 7.0],
            rotation: [0.0, 0.0, 0.0, 1.0],
        },
        linear_velocity_m_s: [0.0, -9.0, 0.0],
        angular_velocity_rad_s: [0.0; 3],
    };
    unsaved.bodies = Some(vec![body.clone()]);
    store.save(&unsaved, |_| {}).unwrap();
    terrain.mark_saved(&unsaved);
    assert!(terrain.is_saved());
    drop(store);
    let store = place.open().unwrap();
    assert_eq!(store.extra("player").unwrap().as_deref(), Some(&b"at home"[..]));
    let bodies = store.bodies().unwrap();
    assert_eq!(bodies.len(), 1);
    assert_eq!((bodies[0].pose, bodies[0].origin_voxel), (body.pose, body.origin_voxel));
    let (mut again, bad) = store.load_terrain(TerrainOptions::default()).unwrap();
    assert_eq!(bad, []);
    assert_eq!(again.grid().digest().unwrap(), terrain.grid().digest().unwrap());
    assert!(again.undo().unwrap().is_some());
    assert_eq!(again.grid().digest().unwrap(), before);
    let mut changed = (*store.info()).clone();
    changed.origin_m = [1.0, 2.0, 3.0];
    store.set_info(&changed).unwrap();
    drop(store);
    assert_eq!(*place.open().unwrap().info(), changed);
}

/// Values of channels near and far, changed and removed, with undo and by direct writes.
pub fn channels_come_back(place: &impl Place) {
    let info = WorldInfo::complete(Placement::default());
    let (twin, mut store) = (twin(&info), place.create(&info).unwrap());
    let (mut terrain, mut numbers) =
        (Terrain::from_grid(empty_grid(&info), Placement::default()), Numbers(9));
    let heat = Channel::values("heat", ChannelWidth::U16, MipRule::Max);
    let heat = terrain.channels_mut().declare(heat).unwrap();
    let spawns = terrain.channels_mut().declare(Channel::bytes("spawns")).unwrap();
    for round in 0..12u32 {
        let near = [0.0, 0.0, 8192.0, -100_000.0][numbers.below(4) as usize];
        let at = [0; 3].map(|_| near + numbers.below(90) as f64 - 45.0);
        let radius = 2.0 + numbers.below(30) as f64;
        let action = match numbers.below(3) {
            0 => ValueAction::Set { value: 0 },
            _ => ValueAction::Add { amount: 1 + 977 * round },
        };
        terrain.edit_values(&ValueOp::ball(heat, at, radius, action)).unwrap();
        if numbers.below(3) == 0 {
            terrain.undo().unwrap();
        }
        let chunk = ChunkPos::new(numbers.below(2) as i32, 0, -1);
        let bytes = vec![round as u8; numbers.below(3) as usize * 20_000];
        terrain.channels_mut().set_bytes(spawns, chunk, &bytes).unwrap();
        let unsaved = terrain.unsaved();
        let [a, b] = [&store, &twin].map(|store| store.save(&unsaved, |_| {}).unwrap());
        assert_eq!(a, b);
        terrain.mark_saved(&unsaved);
        assert!(terrain.is_saved());
        if numbers.below(4) == 0 {
            drop(store);
            store = place.open().unwrap();
        }
        assert_eq!(store.channels().unwrap().snapshot(), terrain.channels().snapshot());
    }
    assert!(terrain.channels().chunks(heat).len() > 5);
    assert_eq!(store.verify().unwrap().bad, []);
    assert!(records_of(&store) == records_of(&twin), "the records differ");
    drop(store);
    let store = place.open_read_only().unwrap();
    let terrain = store.load_terrain(TerrainOptions::default()).unwrap().0;
    assert_eq!(terrain.channels().snapshot(), twin.channels().unwrap().snapshot());
}

/// Readers beside a thread that saves see the state before or after, whole.
pub fn readers_see_one_state(place: &impl Place) {
    let info = WorldInfo::complete(Placement::default());
    let store = place.create(&info).unwrap();
    let mut grid = empty_grid(&info);
    let mut cells = DenseBox::default();
    // Every state has one material in all eight chunks around the origin.
    let all = Region::new([-32; 3], [32; 3]);
    cells.reset(all);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut read = DenseBox::default();
                let mut states = 0;
                while !is_done.load(Ordering::Relaxed) || states == 0 {
                    for mip in [0, 2] {
                        store.cells(all.coarser(mip), mip as u8, &mut read).unwrap();
                        let first = read.materials()[0];
                        assert!(read.materials().iter().all(|&material| material == first));
                    }
                    states += 1;
                }
            });
        }
        for state in 0..20u8 {
            cells.fill(2 + state % 9);
            grid.write(&cells).unwrap();
            let unsaved = UnsavedChanges::from(grid.unsaved());
            store.save(&unsaved, |_| {}).unwrap();
            grid.mark_saved(&unsaved.chunks);
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

/// Errors, after which the world is as it was.
pub fn what_is_wrong_is_refused(place: &impl Place) {
    let info = WorldInfo::complete(Placement::default());
    assert!(place.open().is_err() && place.open_read_only().is_err());
    let store = place.create(&info).unwrap();
    let mut grid = empty_grid(&info);
    Editor::default().apply(&mut grid, &EditOp::fill_ball(8, [0.0; 3], 9.0), None).unwrap();
    let old = UnsavedChanges::from(grid.unsaved());
    store.save(&old, |_| {}).unwrap();
    grid.mark_saved(&old.chunks);
    // A newer state is saved already.
    Editor::default().apply(&mut grid, &EditOp::fill_ball(9, [0.0; 3], 9.0), None).unwrap();
    store.save(&UnsavedChanges::from(grid.unsaved()), |_| {}).unwrap();
    assert!(matches!(store.save(&old, |_| {}), Err(StoreError::Outdated { .. })));
    let before = records_of(&store);
    let wet: Vec<Material> = (0..=8)
        .map(|id: u8| Material {
            kind: if id == 0 { Kind::Air } else { Kind::Liquid },
            ..info.materials.get(id).expect("it has so many").clone()
        })
        .collect();
    let materials = MaterialTable::try_from(wet).unwrap();
    let other = WorldInfo { materials, ..info.clone() };
    assert!(matches!(store.set_info(&other), Err(StoreError::KindsDiffer { .. })));
    assert!(store.set_extra(&"x".repeat(256), Some(&[1])).is_err());
    assert!(store.set_extra("", Some(&[1])).is_err());
    assert!(store.set_extra("undo", Some(&[1])).is_err(), "a reserved name");
    assert!(store.set_extra("bodies", Some(&[1])).is_err(), "a reserved name");
    let unsaved = UnsavedChanges::from(grid.unsaved()).with_data("undo", [1]);
    assert!(store.save(&unsaved, |_| {}).is_err(), "a reserved name");
    assert!(records_of(&store) == before);
    drop(store);
    assert!(place.create(&info).is_err(), "there is a world");
    let read_only = place.open_read_only().unwrap();
    assert!(matches!(read_only.set_extra("a", Some(&[1])), Err(StoreError::ReadOnly { .. })));
    assert!(records_of(&read_only) == before);
}

/// Positions whose keys would be those of stored blocks.
pub fn beyond_the_limits_nothing_is_stored(place: &impl Place) {
    let info = WorldInfo::complete(Placement::default());
    let store = place.create(&info).unwrap();
    let mut grid = empty_grid(&info);
    for chunk in [[0; 3], [-(1 << 25), 0, 0], [(1 << 25) - 1, 0, 0]] {
        let mut cells = DenseBox::default();
        cells.reset(ChunkPos::new(chunk[0], chunk[1], chunk[2]).region());
        cells.fill(8);
        grid.write(&cells).unwrap();
    }
    store.save(&UnsavedChanges::from(grid.unsaved()), |_| {}).unwrap();
    let mut cells = DenseBox::default();
    for x in [0, -(1 << 25), (1 << 25) - 1] {
        assert!(store.block(MipBlock::new(0, [x, 0, 0]), &mut cells).unwrap(), "{x}");
        assert!(store.is_listed(ChunkPos::new(x, 0, 0)).unwrap(), "{x}");
    }
    for x in [1 << 25, -(1 << 25) - 1, 1 << 26, -(1 << 26), i32::MIN, i32::MAX] {
        assert!(!store.block(MipBlock::new(0, [x, 0, 0]), &mut cells).unwrap(), "{x}");
        assert!(!store.is_listed(ChunkPos::new(x, 0, 0)).unwrap(), "{x}");
    }
    for mip in 1..=8 {
        let edge = (1 << 25) >> mip;
        assert!(store.block(MipBlock::new(mip, [edge - 1, 0, 0]), &mut cells).unwrap(), "{mip}");
        assert!(!store.block(MipBlock::new(mip, [edge, 0, 0]), &mut cells).unwrap(), "{mip}");
    }
    let edges = [0, -(1 << 25), (1 << 25) - 1, 1 << 25, 1 << 26, i32::MIN, i32::MAX];
    let blocks = (0..=12).flat_map(|mip| edges.map(|x| MipBlock::new(mip, [x >> mip, 0, 0])));
    compare_blocks(
        &store,
        &blocks.chain(edges.map(|x| MipBlock::new(9, [x, x, x]))).collect::<Vec<_>>(),
    );
    compare_blocks(&store, &[]);
}

/// A world of more records than a transaction of a copy has.
pub fn many_chunks(store: &Store, seed: u64) {
    let info = store.info();
    let mut grid = empty_grid(&info);
    let mut cells = DenseBox::default();
    let mut numbers = Numbers(seed);
    for chunk in Region::new([-9, -9, -9], [9, 9, 9]).voxels() {
        cells.reset(ChunkPos::new(chunk.x, chunk.y, chunk.z).region());
        cells.fill(2 + numbers.below(10) as u8);
        grid.write(&cells).unwrap();
    }
    random_edit(&mut grid, &mut numbers);
    store.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
    store.set_extra("blob", Some(&[9; 100])).unwrap();
}

/// Copies stop half way and go on, also after the source has changed.
pub fn a_copy_goes_on_where_it_stopped(place: &impl Place) {
    let info = WorldInfo::complete(Placement::default());
    let source = twin(&info);
    many_chunks(&source, 1);
    let stop_at = |limit: u64| {
        let mut stop = |done: u64, _: u64| assert!(done < limit, "stopped");
        let copied = catch_unwind(AssertUnwindSafe(|| place.copy(&source, &mut stop).is_ok()));
        assert!(copied.is_err(), "it stops at {limit}");
    };
    stop_at(1);
    assert!(place.open().is_err(), "half a world cannot be opened");
    assert!(place.open_read_only().is_err());
    // Other cells and less bytes since.
    let mut grid = source.load().unwrap().grid;
    random_edit(&mut grid, &mut Numbers(5));
    source.save(&UnsavedChanges::from(grid.unsaved()), |_| {}).unwrap();
    source.set_extra("blob", None).unwrap();
    source.set_extra("more", Some(b"bytes")).unwrap();
    stop_at(4096);
    if place.copies_in_place() {
        let error = place.create(&info).err().expect("what is there is part of no new world");
        assert!(error.to_string().contains("finish it with terravox copy"), "{error}");
    }
    let mut last = (0, 0);
    let mut note = |done, all| {
        assert!(done <= all && done >= last.0);
        last = (done, all);
    };
    let (copy, stats) = place.copy(&source, &mut note).unwrap();
    assert!(stats.kept > 4000 && stats.kept < stats.records, "{stats:?}");
    assert!(last.0 == last.1 && last.1 == stats.records, "{last:?} of {stats:?}");
    let expected = records_of(&source);
    assert_eq!(stats.records + 2, expected.len() as u64);
    assert!(records_of(&copy) == expected);
    assert_eq!(copy.load().unwrap().grid.digest().unwrap(), grid.digest().unwrap());
    assert_eq!(copy.verify().unwrap().bad, []);
    drop(copy);
    assert!(place.copy(&source, &mut |_, _| {}).is_err(), "nothing is overwritten");
    assert!(records_of(&place.open().unwrap()) == expected);
}

/// A place without a description is no world, whatever else is there.
fn a_world_without_description_is_none(place: &impl Place) {
    let error = place.open().err().expect("there is nothing").to_string();
    assert_eq!(error.lines().count(), 1);
    let info = WorldInfo { voxel_size_m: f64::NAN, ..WorldInfo::default() };
    assert!(place.create(&info).is_err() && place.open().is_err());
}
