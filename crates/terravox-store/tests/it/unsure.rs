//! A save that fails in any step, also in its last one: the same program goes on and loses nothing.

use crate::failing_disk::FullDisk;
use crate::scratch::Folder;
use std::sync::Arc;
use terravox::edit::EditOp;
use terravox::terrain::{Placement, Terrain, TerrainOptions};
use terravox::voxel::{Channel, ChannelWidth, MipRule, UnlistedChunks, VoxelPos};
use terravox_store::{MemoryDisk, Overwrite, Store, StoreError, WorldInfo};

fn save(store: &Store, terrain: &mut Terrain) -> Result<(), StoreError> {
    let unsaved = terrain.unsaved();
    store.save(&unsaved, |_| {})?;
    terrain.mark_saved(&unsaved);
    Ok(())
}

#[test]
fn a_save_that_fails_anywhere_is_made_up_for_by_the_next_one() {
    let (mut failed, mut unsure, mut copies) = (0, 0, 0);
    let folder = Folder::new("unsure");
    let copy = folder.file("copy.tvx");
    for (after, count) in (0..40).flat_map(|after| [(after, 1), (after, 3)]) {
        let disk = Arc::new(FullDisk::default());
        let info = WorldInfo::complete(Placement::default());
        let store = Store::create_on(disk.clone(), "world", &info).unwrap();
        let unlisted = UnlistedChunks::Air;
        let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
        terrain.edit(&EditOp::fill_ball(8, [0.0; 3], 9.0)).unwrap();
        save(&store, &mut terrain).unwrap();
        // The save that fails also changes the description.
        let heat = Channel::values("heat", ChannelWidth::U8, MipRule::Max);
        let heat = terrain.channels_mut().declare(heat).unwrap();
        terrain.channels_mut().set(heat, VoxelPos::ZERO, 7);
        terrain.edit(&EditOp::dig_ball([9.0, 0.0, 0.0], 5.0)).unwrap();
        disk.fail(after, count);
        let mut tries = 0;
        while let Err(error) = save(&store, &mut terrain) {
            (failed, tries) = (failed + 1, tries + 1);
            unsure += u32::from(matches!(error, StoreError::Unsure { .. }));
            assert!(store.check_writer().is_ok() && tries <= 3, "{error}");
            // What can be read meanwhile is one state or the other.
            assert_eq!(store.load().unwrap().bad, []);
            // A copy has all of a save that may have been made, or is refused as the disk is full.
            if matches!(error, StoreError::Unsure { .. })
                && store.back_up(&copy, Overwrite::Yes).is_ok()
            {
                let copied = Store::open(&copy).unwrap().load().unwrap();
                assert_eq!(copied.grid.digest(), terrain.grid().digest());
                copies += 1;
            }
            terrain.edit(&EditOp::fill_ball(9, [0.0, 20.0, 0.0], f64::from(tries))).unwrap();
        }
        assert_eq!(store.info().channels.len(), 1);
        assert_eq!(store.verify().unwrap().bad, []);
        drop(store);
        let bytes = disk.disk.to_bytes();
        let store = Store::open_on(Arc::new(MemoryDisk::from(bytes)), "world").unwrap();
        let loaded = store.load().unwrap();
        assert_eq!((loaded.bad.len(), loaded.grid.digest()), (0, terrain.grid().digest()));
        assert_eq!(loaded.channels.snapshot(), terrain.channels().snapshot());
    }
    assert!(failed > 40 && unsure > 4, "{failed} failed, {unsure} of them in the last step");
    assert!(copies > 2, "{copies}");
}
