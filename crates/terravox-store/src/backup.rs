//! Copies of worlds that are in use.

use crate::StoredPart;
use crate::copy::copy_whole;
use crate::create::{Overwrite, check_place};
use crate::database::{Db, damaged_part, part_of};
use crate::error::{BadPart, StoreError};
use crate::file_names::resolve_symlink;
use crate::partial::PartialFile;
use crate::store::Store;
use std::path::Path;

impl Store {
    /// Writes a copy of the world to another file: what was saved when this was called. It may be
    /// called while other threads read and save. The copy is compacted and has the permissions of
    /// the world. Until it is complete and on disk it is a file named `NAME.NUMBER.partial`, which
    /// stays only if the process ends before.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("terravox-back-up-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// use terravox::terrain::Placement;
    /// use terravox_store::{Overwrite, Store, WorldInfo};
    ///
    /// let info = WorldInfo::complete(Placement::default());
    /// let store = Store::create(folder.join("caves.tvx"), &info, Overwrite::No)?.finish()?;
    /// store.back_up(folder.join("monday.tvx"), Overwrite::No)?;
    /// assert!(Store::open(folder.join("monday.tvx"))?.verify()?.bad.is_empty());
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a file is at `path` and `overwrite` is [`Overwrite::No`]; if that file is not a world, or
    /// is open, as this one is; if a part of this world is damaged ([`Store::repair`] helps); if
    /// the copy cannot be written. What is at `path` then stays. [`StoreError::Unsure`] if the copy
    /// is in place, but perhaps not after a power cut.
    pub fn back_up(&self, path: impl AsRef<Path>, overwrite: Overwrite) -> Result<(), StoreError> {
        let path = path.as_ref();
        let target = resolve_symlink(path);
        check_place(&target, overwrite)?;
        let (partial, copy) = self.write_copy(&target, path)?;
        copy.sync(path)?;
        // Again, since the copy took its time. What is replaced stays locked until it is.
        let _replaced = check_place(&target, overwrite)?;
        partial.place(&target, path)
    }

    /// Writes all that is saved to a file beside `target`; errors about it name `path`.
    pub(crate) fn write_copy(
        &self,
        target: &Path,
        path: &Path,
    ) -> Result<(PartialFile, Db), StoreError> {
        self.settle()?;
        let (partial, db) = PartialFile::create(target, self.file().unwrap_or(target), path)?;
        let mut damage = None;
        let copied = copy_whole(
            &self.db().snapshot(),
            &db,
            path,
            // A valid file has no other keys.
            |key| part_of(key) != StoredPart::Index,
            |part| {
                damage.get_or_insert(part);
            },
        );
        copied?;
        match damage {
            None => Ok((partial, db)),
            Some(damage) => {
                let BadPart { part, what } = damaged_part(&damage);
                Err(self.damaged_error(part, what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overwrite, Store, StoreError, WorldInfo};
    use std::path::PathBuf;
    use terravox::edit::{EditOp, Editor};
    use terravox::terrain::{Placement, UnsavedChanges};
    use terravox::voxel::{GridOptions, UnlistedChunks, VoxelGrid};

    /// A folder that is removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("terravox-back-up-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn save_ball(store: &Store, grid: &mut VoxelGrid, at: f64) {
        let ball = EditOp::fill_ball(8, [at, 0.0, 0.0], 9.0);
        Editor::default().apply(grid, &ball, None).unwrap();
        let unsaved = UnsavedChanges::from(grid.unsaved());
        store.save(&unsaved, |request| request.set_missing()).unwrap();
        grid.mark_saved(&unsaved.chunks);
    }

    fn world(folder: &Folder) -> (Store, VoxelGrid) {
        let info = WorldInfo::complete(Placement::default());
        let store = Store::create(folder.0.join("world.tvx"), &info, Overwrite::No).unwrap();
        let materials = info.materials.clone();
        let grid = VoxelGrid::new(GridOptions { unlisted: UnlistedChunks::Air, materials });
        (store.finish().unwrap(), grid)
    }

    #[test]
    fn a_copy_has_what_was_saved_before_it_and_the_world_goes_on() {
        let folder = Folder::new("goes-on");
        let (store, mut grid) = world(&folder);
        save_ball(&store, &mut grid, 0.0);
        let then = grid.digest().unwrap();
        let copy = folder.0.join("copy.tvx");
        store.back_up(&copy, Overwrite::No).unwrap();
        save_ball(&store, &mut grid, 100.0);
        assert_eq!(Store::open(&copy).unwrap().load().unwrap().grid.digest().unwrap(), then);
        assert!(Store::open(&copy).unwrap().verify().unwrap().bad.is_empty());
        assert!(matches!(store.back_up(&copy, Overwrite::No), Err(StoreError::Exists { .. })));
        store.back_up(&copy, Overwrite::Yes).unwrap();
        let now = grid.digest().unwrap();
        assert_eq!(Store::open(&copy).unwrap().load().unwrap().grid.digest().unwrap(), now);
        // Not over itself, and nothing is left behind.
        assert!(store.back_up(store.path(), Overwrite::Yes).is_err());
        assert_eq!(store.load().unwrap().grid.digest().unwrap(), now);
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
    }

    #[test]
    fn saves_while_a_copy_is_written_are_whole_in_the_world_and_absent_or_whole_in_the_copy() {
        let folder = Folder::new("meanwhile");
        let (store, mut grid) = world(&folder);
        let mut digests = vec![grid.digest().unwrap()];
        std::thread::scope(|scope| {
            let copies = scope.spawn(|| {
                for number in 0..6 {
                    let path = folder.0.join(format!("{number}.tvx"));
                    store.back_up(path, Overwrite::No).unwrap();
                }
            });
            for ball in 0..40 {
                save_ball(&store, &mut grid, f64::from(ball) * 25.0);
                digests.push(grid.digest().unwrap());
            }
            copies.join().unwrap();
        });
        for number in 0..6 {
            let copy = Store::open(folder.0.join(format!("{number}.tvx"))).unwrap();
            let digest = copy.load().unwrap().grid.digest().unwrap();
            assert!(digests.contains(&digest), "copy {number} is a state of the world");
        }
    }
}
