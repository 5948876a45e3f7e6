//! Copying a world from one store to another, so that an interrupted copy can resume.
//!
//! Both sides are ordered by the same keys, so a copy is a merge: piece by piece it reads what the
//! target has, writes what differs and removes what the source lacks, a transaction each. Whatever
//! an earlier attempt left, and whatever was saved in the source since, the end is the same. The
//! description comes last: without it there is no world.

use crate::create::{Overwrite, check_place};
use crate::database::{self, Db, EXTRA, INFO_KEYS, damaged_part, part_of, store_error};
use crate::error::{BadPart, StoreError, StoredPart};
use crate::file_names::resolve_symlink;
use crate::in_records::refuse_world;
use crate::partial::{PartialFile, sync_folder};
use crate::reader::{StoreReader, StoreScan};
use crate::records::Records;
use crate::store::Store;
use crate::tree::{ReadTree, TreeDamage};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records of one transaction.
const BATCH_RECORDS: usize = 4096;

/// Bytes of values of one transaction, at which no more are added.
const BATCH_BYTES: usize = 8 << 20;

/// The end of all keys but one of the description.
const LAST: &[u8] = &[255];

/// What a copy did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyStats {
    /// Records of the world, without the description.
    pub records: u64,
    /// Records that an earlier, interrupted copy had written already.
    pub kept: u64,
    /// Bytes of the keys and values that this one wrote.
    pub written_bytes: u64,
}

impl Store {
    /// Copies the world, as it was saved when this was called, to a new file, and now and then
    /// calls `progress` with the number of records done and in all. Until the copy is complete and
    /// on disk it is a file named `NAME.copying`: a copy that was interrupted resumes from that
    /// when it is started again.
    ///
    /// # Errors
    /// If a file is at `path`; if a part of this world is damaged, which leaves nothing behind; if the
    /// copy cannot be written, or another one to the same path is under way. [`StoreError::Unsure`] if it is in place, but
    /// perhaps not after a power cut.
    pub fn copy_to_file(
        &self,
        path: impl AsRef<Path>,
        progress: impl FnMut(u64, u64),
    ) -> Result<(Store, CopyStats), StoreError> {
        let path = path.as_ref();
        let target = resolve_symlink(path);
        check_place(&target, Overwrite::No)?;
        let partial = copying_path(&target);
        let is_resumed = fs::symlink_metadata(&partial).is_ok();
        let db = open_partial(&partial, self.file().unwrap_or(&target), path)?;
        let stats = match is_complete(&db) {
            // Killed before it got its name.
            true if self.is_same_as(&db)? => self.kept_all(progress)?,
            true => return Err(complete_world(&partial, path)),
            false => self.merge_into(&db, path, progress).inspect_err(|error| {
                // It would never be complete. One of before may be, of another state of this world.
                if !is_resumed && self.is_damage(error) {
                    let _ = fs::remove_file(&partial);
                }
            })?,
        };
        db.sync(path)?;
        check_place(&target, Overwrite::No)?;
        let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "save", source };
        fs::rename(&partial, &target).map_err(io_error)?;
        let unsure = |source| StoreError::Unsure { path: path.to_owned(), source };
        sync_folder(&target).map_err(unsure)?;
        let mut store = Store::from_db(db, path, Some(target))?;
        store.compact_if_worth_it()?;
        Ok((store, stats))
    }

    /// The same to records in which there is no world, or a copy that was interrupted; `name` is
    /// the path in errors.
    ///
    /// # Errors
    /// If there is a world; if a part of this world is damaged; if the records cannot be written.
    pub fn copy_to_records(
        &self,
        records: Arc<dyn Records>,
        name: impl AsRef<Path>,
        progress: impl FnMut(u64, u64),
    ) -> Result<(Store, CopyStats), StoreError> {
        let (name, db) = (name.as_ref(), Db::of_records(records, true));
        let stats = self.merge_into(&db, name, progress)?;
        Ok((Store::from_db(db, name, None)?, stats))
    }

    /// Whether an error is damage of this world.
    fn is_damage(&self, error: &StoreError) -> bool {
        let (StoreError::Damaged { path, .. } | StoreError::Index { path, .. }) = error else {
            return false;
        };
        path == self.path()
    }

    /// Whether a world has the description and all records of this one, and no others.
    fn is_same_as(&self, other: &Db) -> Result<bool, StoreError> {
        let (view, snapshot) = (self.begin_read(), other.snapshot());
        let (description, mut value) = (view.info.encode(), Vec::new());
        for key in INFO_KEYS {
            let is_there = matches!(snapshot.get(key, &mut value), Ok(true));
            if !is_there || value != description {
                return Ok(false);
            }
        }
        let mut own = view.tree.scan(&[EXTRA], Some(LAST));
        let mut others = snapshot.scan(&[EXTRA], Some(LAST));
        let mut other_value = Vec::new();
        while let Some(entry) = own.next() {
            let entry = entry.map_err(|lost| self.read_error(lost.what))?;
            if part_of(&entry.key) == StoredPart::Index {
                continue;
            }
            let Some(Ok(same)) = others.next() else { return Ok(false) };
            let is_read = own.value(&entry, &mut value).is_ok()
                && others.value(&same, &mut other_value).is_ok();
            if !is_read || same.key != entry.key || value != other_value {
                return Ok(false);
            }
        }
        Ok(others.next().is_none())
    }

    /// What a copy did that was complete already.
    fn kept_all(&self, mut progress: impl FnMut(u64, u64)) -> Result<CopyStats, StoreError> {
        let view = self.begin_read();
        let all = view.tree.totals().map_err(|error| self.read_error(error))?;
        let records = all.records.saturating_sub(INFO_KEYS.len() as u64);
        progress(records, records);
        Ok(CopyStats { records, kept: records, written_bytes: 0 })
    }

    fn merge_into(
        &self,
        to: &Db,
        path: &Path,
        progress: impl FnMut(u64, u64),
    ) -> Result<CopyStats, StoreError> {
        refuse_world(&to.snapshot(), path)?;
        self.settle()?;
        let view = self.begin_read();
        let mut merge = CopyMerge { from: self, to, path, progress, stats: CopyStats::default() };
        merge.run(&view.tree)?;
        let mut last = to.begin(path)?;
        let bytes = view.info.encode();
        for key in INFO_KEYS {
            last.put(key, &bytes).map_err(|error| store_error(error, path, "copy the world"))?;
        }
        to.commit(last, path)?;
        Ok(merge.stats)
    }
}

/// Whether there is a whole world: a copy that was killed before it got its name, or another one.
fn is_complete(db: &Db) -> bool {
    let is_there = |key: &[u8]| matches!(db.snapshot().get(key, &mut Vec::new()), Ok(true));
    INFO_KEYS.into_iter().any(is_there)
}

/// The refusal to write over a whole world that is not the same as the source.
fn complete_world(partial: &Path, path: &Path) -> StoreError {
    let (path, name) = (partial.to_owned(), path.display());
    let what =
        format!("it is a complete world; rename it to {name} if it is the copy, or remove it");
    StoreError::Refused { path, what }
}

/// Where a copy is until it is complete.
fn copying_path(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".copying");
    target.with_file_name(name)
}

/// Opens what an interrupted copy left, or makes an empty file with the permissions of `like`.
fn open_partial(partial: &Path, like: &Path, path: &Path) -> Result<Db, StoreError> {
    if fs::symlink_metadata(partial).is_ok() {
        return database::open(partial);
    }
    let (file, db) = PartialFile::create(partial, like, path)?;
    file.place(partial, path)?;
    Ok(db)
}

/// A record of the source.
struct SourceRecord {
    key: Vec<u8>,
    value: Vec<u8>,
}

struct CopyMerge<'a, P> {
    from: &'a Store,
    to: &'a Db,
    path: &'a Path,
    progress: P,
    stats: CopyStats,
}

impl<P: FnMut(u64, u64)> CopyMerge<'_, P> {
    fn run(&mut self, from: &StoreReader) -> Result<(), StoreError> {
        let all = from.totals().map_err(|error| self.from.read_error(error))?;
        let all = all.records.saturating_sub(INFO_KEYS.len() as u64);
        let mut scan = from.scan(&[EXTRA], Some(LAST));
        let mut low = vec![EXTRA];
        loop {
            (self.progress)(self.stats.records, all);
            let batch = self.next_batch(&mut scan)?;
            let high = match batch.last() {
                Some(last) => [&*last.key, &[0]].concat(),
                None => LAST.to_vec(),
            };
            self.write(&batch, &low, &high)?;
            self.stats.records += batch.len() as u64;
            if batch.is_empty() {
                (self.progress)(all, all);
                return Ok(());
            }
            low = high;
        }
    }

    /// Reads the next records of the source; none at the end.
    fn next_batch(&self, scan: &mut StoreScan<'_>) -> Result<Vec<SourceRecord>, StoreError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_RECORDS && bytes < BATCH_BYTES {
            let Some(entry) = scan.next() else { break };
            let entry = entry.map_err(|lost| self.damaged(&TreeDamage::Node(lost)))?;
            // A valid world has no other keys.
            if part_of(&entry.key) == StoredPart::Index {
                continue;
            }
            let mut value = Vec::new();
            if let Err(what) = scan.value(&entry, &mut value) {
                return Err(self.damaged(&TreeDamage::Value { key: entry.key, what }));
            }
            bytes += value.len();
            batch.push(SourceRecord { key: entry.key, value });
        }
        Ok(batch)
    }

    fn damaged(&self, damage: &TreeDamage) -> StoreError {
        let BadPart { part, what } = damaged_part(damage);
        self.from.damaged_error(part, what)
    }

    /// Makes what the target has from `low` up to `high` the same as `batch`.
    fn write(&mut self, batch: &[SourceRecord], low: &[u8], high: &[u8]) -> Result<(), StoreError> {
        let failed = |error| store_error(error, self.path, "copy the world");
        let mut change = self.to.begin(self.path)?;
        let reader = self.to.snapshot();
        let mut held = reader.scan(low, Some(high));
        let mut next_held = held.next();
        let mut held_value = Vec::new();
        for record in batch {
            let mut is_same = false;
            while let Some(entry) = next_held.take() {
                let entry = entry.map_err(|lost| failed(lost.what))?;
                if entry.key > record.key {
                    next_held = Some(Ok(entry));
                    break;
                }
                let is_this = entry.key == record.key;
                // A damaged one is written again.
                is_same = is_this
                    && held.value(&entry, &mut held_value).is_ok()
                    && held_value == record.value;
                if !is_this {
                    change.remove(&entry.key).map_err(failed)?;
                }
                next_held = held.next();
                if is_this {
                    break;
                }
            }
            match is_same {
                true => self.stats.kept += 1,
                false => {
                    change.put(&record.key, &record.value).map_err(failed)?;
                    self.stats.written_bytes += (record.key.len() + record.value.len()) as u64;
                }
            }
        }
        while let Some(entry) = next_held.take() {
            let entry = entry.map_err(|lost| failed(lost.what))?;
            change.remove(&entry.key).map_err(failed)?;
            next_held = held.next();
        }
        self.to.commit(change, self.path)
    }
}
