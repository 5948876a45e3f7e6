//! Stores on a [`Disk`].

use crate::database;
use crate::disk::Disk;
use crate::error::StoreError;
use crate::info::WorldInfo;
use crate::store::Store;
use std::path::Path;
use std::sync::Arc;

impl Store {
    /// Makes a new world on a disk, in place of what is there; `name` is the path in errors and of
    /// [`Store::path`]. [`Store::compact`] is refused on it: freed space is used again, and stays.
    ///
    /// # Errors
    /// If the disk cannot be written, or a value of `info` is invalid.
    pub fn create_on(
        disk: Arc<dyn Disk>,
        name: impl AsRef<Path>,
        info: &WorldInfo,
    ) -> Result<Store, StoreError> {
        let name = name.as_ref();
        if let Some(what) = info.fault() {
            return Err(StoreError::Refused { path: name.to_owned(), what });
        }
        Store::from_new_db(database::create(disk, name)?, name, None, info)
    }

    /// Opens a world that is on a disk for reading and writing, as [`Store::open`] does with a
    /// file.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_on(disk: Arc<dyn Disk>, name: impl AsRef<Path>) -> Result<Store, StoreError> {
        let name = name.as_ref();
        Store::from_db(database::open_on(disk, name)?, name, None)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Disk, MemoryDisk, Store, WorldInfo};
    use std::sync::Arc;
    use terravox::terrain::{Placement, Terrain, TerrainOptions};
    use terravox::voxel::UnlistedChunks;

    fn digest(store: &Store) -> u128 {
        store.load().unwrap().grid.digest().unwrap()
    }

    #[test]
    fn a_world_on_a_disk_is_saved_and_opened_as_one_in_a_file_is() {
        let unlisted = UnlistedChunks::Air;
        let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
        terrain.edit(&terravox::edit::EditOp::fill_ball(8, [3.0; 3], 9.0)).unwrap();
        let disk = Arc::new(MemoryDisk::default());
        let info = WorldInfo::complete(Placement::default());
        let mut store = Store::create_on(disk.clone(), "mine", &info).unwrap();
        let unsaved = terrain.unsaved();
        store.save(&unsaved, |_| {}).unwrap();
        let saved = terrain.grid().digest().unwrap();
        assert_eq!(digest(&store), saved);
        assert_eq!(store.stats().unwrap().file_bytes, disk.length().unwrap());
        let refused = store.compact().unwrap_err().to_string();
        assert!(refused.contains("mine") && refused.contains("not a file"), "{refused}");
        assert_eq!(digest(&store), saved);
        drop(store);
        let bytes = disk.to_bytes();
        assert_eq!(digest(&Store::open_on(disk, "mine").unwrap()), saved);

        let path = std::env::temp_dir().join(format!("terravox-disk-{}", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(digest(&Store::open_read_only(&path).unwrap()), saved);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_on_a_disk_and_is_no_world_is_refused_with_its_name() {
        for bytes in
            [Vec::new(), b"hello".to_vec(), vec![0; 5000], b"redb\x1a\x0a\xa9\x0d\x0a".to_vec()]
        {
            let opened = Store::open_on(Arc::new(MemoryDisk::from(bytes)), "dropped");
            let error = opened.err().expect("it is no world").to_string();
            assert!(error.starts_with("dropped: "), "{error}");
        }
    }
}
