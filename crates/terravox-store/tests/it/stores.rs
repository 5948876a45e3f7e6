//! The suite of all stores, for files and for records in memory; and copies between the two.

use crate::scratch::Folder;
use crate::suite::{self, Place};
use crate::watched_records::{RecordsCall, WatchedRecords};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use terravox_store::{
    CopyStats, MemoryRecords, Overwrite, Store, StoreError, StoredPart, WorldInfo, WorldRecord,
};

/// A file in a folder of its own.
struct FilePlace(Folder);

impl FilePlace {
    fn file(&self) -> std::path::PathBuf {
        self.0.file("world.tvx")
    }
}

impl Place for FilePlace {
    fn create(&self, info: &WorldInfo) -> Result<Store, StoreError> {
        Store::create(self.file(), info, Overwrite::No)?.finish()
    }

    fn open(&self) -> Result<Store, StoreError> {
        Store::open(self.file())
    }

    fn open_read_only(&self) -> Result<Store, StoreError> {
        Store::open_read_only(self.file())
    }

    fn copy(
        &self,
        from: &Store,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Store, CopyStats), StoreError> {
        from.copy_to_file(self.file(), progress)
    }

    fn copies_in_place(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct MemoryPlace(Arc<MemoryRecords>);

impl Place for MemoryPlace {
    fn create(&self, info: &WorldInfo) -> Result<Store, StoreError> {
        Store::create_records(self.0.clone(), "memory", info)
    }

    fn open(&self) -> Result<Store, StoreError> {
        Store::open_records(self.0.clone(), "memory")
    }

    fn open_read_only(&self) -> Result<Store, StoreError> {
        Store::open_records_read_only(self.0.clone(), "memory")
    }

    fn copy(
        &self,
        from: &Store,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Store, CopyStats), StoreError> {
        from.copy_to_records(self.0.clone(), "memory", progress)
    }
}

#[test]
fn files_do_what_every_store_does() {
    suite::run(|name| FilePlace(Folder::new(&format!("suite-{name}"))));
}

#[test]
fn records_in_memory_do_what_every_store_does() {
    suite::run(|_| MemoryPlace::default());
}

#[test]
fn a_world_is_the_same_after_a_copy_to_records_and_back() {
    let folder = Folder::new("round");
    let file = FilePlace(folder).copy_back();
    assert!(file.is_ok());
}

impl FilePlace {
    /// Makes a world in memory, copies it to a file and that to memory again.
    fn copy_back(&self) -> Result<(), StoreError> {
        let source = suite::twin(&WorldInfo::default());
        suite::many_chunks(&source, 3);
        let (file, _) = source.copy_to_file(self.file(), |_, _| {})?;
        assert!(suite::records_of(&file) == suite::records_of(&source));
        assert_eq!(self.0.names(), ["world.tvx"], "nothing is left over");
        // A backup of records is a file, too.
        source.back_up(self.0.file("backup.tvx"), Overwrite::No)?;
        let backup = Store::open(self.0.file("backup.tvx"))?;
        assert!(suite::records_of(&backup) == suite::records_of(&source));
        Ok(())
    }
}

#[test]
fn two_copies_to_one_file_do_not_meet() {
    let folder = Folder::new("two");
    let source = suite::twin(&WorldInfo::default());
    suite::many_chunks(&source, 4);
    let path = folder.file("copy.tvx");
    let mut is_met = false;
    let other = |_: u64, _: u64| {
        let other = source.copy_to_file(&path, |_, _| {});
        is_met |= matches!(other, Err(StoreError::InUse { .. }));
    };
    source.copy_to_file(&path, other).unwrap();
    assert!(is_met, "the second one is refused while the first goes on");
    assert_eq!(folder.names(), ["copy.tvx"]);
    // What is there and is not a copy stays.
    std::fs::write(folder.file("b.tvx.copying"), b"mine").unwrap();
    assert!(source.copy_to_file(folder.file("b.tvx"), |_, _| {}).is_err());
    assert_eq!(std::fs::read(folder.file("b.tvx.copying")).unwrap(), b"mine");
    let world = folder.file("c.tvx.copying");
    drop(Store::create(&world, &WorldInfo::default(), Overwrite::No).unwrap().finish().unwrap());
    assert!(source.copy_to_file(folder.file("c.tvx"), |_, _| {}).is_err());
    assert!(Store::open(&world).is_ok());
    // A copy that was killed before it got its name gets it, unless the source is another since.
    let partial = folder.file("copy.tvx.copying");
    std::fs::rename(&path, &partial).unwrap();
    let (copy, stats) = source.copy_to_file(&path, |_, _| {}).unwrap();
    assert!(stats.kept == stats.records && stats.written_bytes == 0, "{stats:?}");
    assert!(suite::records_of(&copy) == suite::records_of(&source) && !partial.exists());
    drop(copy);
    std::fs::rename(&path, &partial).unwrap();
    source.set_extra("x", Some(b"later")).unwrap();
    let error = source.copy_to_file(&path, |_, _| {}).err().unwrap().to_string();
    assert!(error.contains("copy.tvx.copying") && error.contains("rename it to"), "{error}");
    assert!(Store::open(&partial).is_ok());
}

/// Records of a database that is lost after some reads.
fn lost_records(records: Arc<MemoryRecords>, reads_left: Arc<AtomicI64>) -> WatchedRecords {
    WatchedRecords::new(records, move |call| {
        let is_read = matches!(call, RecordsCall::Get | RecordsCall::Scan);
        match is_read && reads_left.fetch_sub(1, Ordering::Relaxed) <= 0 {
            true => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the connection is lost")),
            false => Ok(()),
        }
    })
}

#[test]
fn a_database_that_is_lost_is_no_damage() {
    let records = Arc::new(MemoryRecords::default());
    let source = Store::create_records(records.clone(), "lost", &WorldInfo::default()).unwrap();
    suite::many_chunks(&source, 3);
    let reads_left = Arc::new(AtomicI64::new(i64::MAX));
    let lost = lost_records(records, reads_left.clone());
    let store = Store::open_records_read_only(Arc::new(lost), "lost").unwrap();
    let whole = i64::MAX - 1_000_000;
    reads_left.store(whole, Ordering::Relaxed);
    assert!(store.verify().unwrap().bad.is_empty());
    let reads = whole - reads_left.load(Ordering::Relaxed);
    for reads in [0, 1, 2, reads / 2, reads - 1] {
        reads_left.store(reads, Ordering::Relaxed);
        let error = store.verify().map(|found| found.bad).unwrap_err().to_string();
        assert!(error.contains("the connection is lost"), "after {reads} reads: {error}");
    }
}

#[test]
fn a_record_that_changes_by_itself_costs_that_record() {
    let records = Arc::new(MemoryRecords::default());
    let store = Store::create_records(records.clone(), "damaged", &WorldInfo::default()).unwrap();
    suite::many_chunks(&store, 2);
    let all = suite::records_of(&store);
    let flip = |value: &mut Vec<u8>| {
        let last = value.len() - 1;
        value[last] ^= 1;
    };
    let chunk = all.iter().find(|record| record.key.starts_with(&[2, 0])).unwrap();
    assert!(records.damage(&chunk.key, flip));
    assert!(records.damage(b"\x01blob", flip));
    let loaded = store.load().unwrap();
    assert_eq!(loaded.bad.len(), 1, "{:?}", loaded.bad);
    assert!(matches!(loaded.bad[0].part, StoredPart::Chunk(_)));
    assert!(store.extra("blob").is_err());
    let bad = store.verify().unwrap().bad;
    let has = |part: fn(&StoredPart) -> bool| bad.iter().any(|bad| part(&bad.part));
    assert!(has(|part| matches!(part, StoredPart::Chunk(_))), "{bad:?}");
    assert!(has(|part| matches!(part, StoredPart::Extra(_))), "{bad:?}");
    // Damage is not copied.
    let copied = store.copy_to_records(Arc::new(MemoryRecords::default()), "copy", |_, _| {});
    assert!(matches!(copied, Err(StoreError::Damaged { .. })));
    // One copy of the description is enough.
    assert!(records.damage(&[0], flip));
    assert!(Store::open_records(records.clone(), "damaged").is_ok());
    assert!(records.damage(&[255], flip));
    assert!(Store::open_records(records, "damaged").is_err());
    assert!(all.iter().all(WorldRecord::is_whole));
}
