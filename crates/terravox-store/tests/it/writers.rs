//! Two threads that write: each write sees what the other committed.

use crate::scratch::{Folder, fill, save};
use std::sync::Barrier;
use terravox::bodies::{BodyPose, SavedBody};
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{GridOptions, Kind, MaterialTable, Region, VoxelGrid};
use terravox_store::{Overwrite, Store, StoreError, WorldInfo};

/// Races between a save and a new description, each in a world of its own.
const KIND_ROUNDS: usize = 30;

/// Writes of each thread to the same world.
const WRITES: usize = 100;

/// The default materials, but material 5 is a liquid.
fn other_kinds() -> MaterialTable {
    let mut materials = MaterialTable::default().materials().to_vec();
    materials[5].kind = Kind::Liquid;
    MaterialTable::new(materials)
}

#[test]
fn a_kind_and_the_first_chunks_never_change_at_once() {
    let folder = Folder::new("racing-kinds");
    let (mut saves, mut changes) = (0, 0);
    for round in 0..KIND_ROUNDS {
        let path = folder.file(&format!("{round}.tvx"));
        let draft = Store::create(path, &WorldInfo::default(), Overwrite::No).unwrap();
        let mut grid = VoxelGrid::default();
        fill(&mut grid, Region::new([0; 3], [3; 3]), 5);
        let info = WorldInfo { materials: other_kinds(), ..WorldInfo::default() };
        let start = Barrier::new(2);
        let (saved, changed) = std::thread::scope(|scope| {
            let saving = scope.spawn(|| {
                start.wait();
                save(&draft, &mut grid)
            });
            start.wait();
            let changed = draft.set_info(&info);
            (saving.join().unwrap(), changed)
        });
        let error = match (saved, changed) {
            (Ok(_), Err(error)) => {
                saves += 1;
                error
            }
            (Err(error), Ok(())) => {
                changes += 1;
                error
            }
            (saved, changed) => panic!("round {round}: {saved:?}, {changed:?}"),
        };
        assert!(matches!(error, StoreError::KindsDiffer { material: 5, .. }), "{error}");
        let store = draft.finish().unwrap();
        let loaded = store.load().unwrap();
        assert_eq!(loaded.bad, []);
        assert_eq!(loaded.grid.materials().kinds(), store.info().materials.kinds());
        assert_eq!(loaded.grid.chunks().is_empty(), grid.unsaved().chunks().count() > 0);
    }
    println!("{saves} saves and {changes} changes of kinds were first");
}

#[test]
fn a_save_keeps_a_description_that_is_written_meanwhile() {
    let folder = Folder::new("racing-descriptions");
    let path = folder.file("world.tvx");
    let store = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    let store = store.finish().unwrap();
    let origin_of = |i: usize| [i as f64, 0.0, 0.0];
    let name_of = |i: usize| format!("rock {i}");
    let mut grid = std::thread::scope(|scope| {
        let saving = scope.spawn(|| {
            let mut last = VoxelGrid::default();
            for i in 0..WRITES {
                let mut materials = MaterialTable::default().materials().to_vec();
                materials[8].name = name_of(i);
                let materials = MaterialTable::new(materials);
                let mut grid = VoxelGrid::new(GridOptions { materials, ..GridOptions::default() });
                fill(&mut grid, Region::one([4 * i as i32, 0, 0].into()).grow(2), 8);
                save(&store, &mut grid).unwrap();
                last = grid;
            }
            last
        });
        for i in 0..WRITES {
            let info = WorldInfo { origin_m: origin_of(i), ..(*store.info()).clone() };
            store.set_info(&info).unwrap();
            // Saves change the materials only.
            assert_eq!(store.info().origin_m, origin_of(i), "write {i} is lost");
        }
        saving.join().unwrap()
    });
    // Without a race for the last name.
    fill(&mut grid, Region::one([0; 3].into()), 8);
    save(&store, &mut grid).unwrap();
    let expected = store.info();
    assert_eq!(expected.origin_m, origin_of(WRITES - 1), "the last one is lost");
    assert_eq!(expected.materials.materials()[8].name, name_of(WRITES - 1));
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.info(), expected, "what is read is what is stored");
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad, []);
    let chunks = (4 * WRITES).div_ceil(32);
    assert!(loaded.grid.chunks().len() >= chunks, "every save is there");
}

#[test]
fn a_kind_never_changes_under_loose_bodies() {
    let folder = Folder::new("kinds-of-bodies");
    let store = Store::create(folder.file("w.tvx"), &WorldInfo::default(), Overwrite::No).unwrap();
    let mut cells = VoxelGrid::default();
    fill(&mut cells, Region::new([0; 3], [3; 3]), 5);
    let body = SavedBody {
        cells: cells.snapshot(),
        origin_voxel: [0; 3].into(),
        pose: BodyPose { position_voxels: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] },
        linear_velocity_m_s: [0.0; 3],
        angular_velocity_rad_s: [0.0; 3],
    };
    let save_bodies = |bodies| {
        let unsaved = UnsavedChanges::from(VoxelGrid::default().unsaved()).with_bodies(bodies);
        store.save(&unsaved, |_| {}).unwrap();
    };
    save_bodies(vec![body]);
    assert_eq!(store.chunks().unwrap(), []);
    let info = WorldInfo { materials: other_kinds(), ..WorldInfo::default() };
    let error = store.set_info(&info).unwrap_err();
    assert!(matches!(error, StoreError::KindsDiffer { material: 5, .. }), "{error}");
    assert_eq!(store.bodies().unwrap().len(), 1);
    save_bodies(Vec::new());
    store.set_info(&info).unwrap();
}
