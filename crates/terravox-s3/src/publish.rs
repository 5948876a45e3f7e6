//! Publishing a world: packs and leaves that are not there yet, then the manifest, by
//! compare-and-set.
//!
//! A copy to records brings all records in key order, the description last
//! ([`Store::copy_to_records`]); what is copied to here cuts them into packs. Nothing is visible
//! before the manifest is changed, so a publication that was killed has changed nothing, and what
//! it uploaded is found by its names.

use crate::leaf::{Leaf, object_hash};
use crate::manifest::{IndexTop, Manifest};
use crate::pack::{Indexer, Pack, Packer};
use crate::records::DESCRIPTION_KEYS;
use crate::world_objects::{Folder, ObjectName, StoredManifest, Swap, WorldObjects};
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use terravox_store::{
    CommitFailure, RecordChanges, RecordTotals, Records, RecordsView, Store, StoreError,
    WorldRecord,
};

/// Uploads at a time.
const UPLOADS: usize = 6;

/// How long objects of an earlier publication that the manifest does not name count as present:
/// later they may be collected.
const TRUSTED_AGE: Duration = Duration::from_secs(6 * 3600);

/// The longest publication: objects that it found at its start may be collected later.
const MAX_PUBLISH_TIME: Duration = Duration::from_secs(6 * 3600);

/// The minimum age of garbage: older than anything that a publication counts as present.
pub(crate) const MIN_GARBAGE_AGE: Duration = Duration::from_secs(13 * 3600);

/// How far the clocks of a service may be apart.
const CLOCK_SLACK: Duration = Duration::from_secs(600);

/// After this time no collector removes objects by an older listing: see
/// [`Publication::check_objects`].
const REMOVAL_GRACE: Duration = Duration::from_secs(60);

/// What [`S3::publish`](crate::S3::publish) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishStats {
    /// The number of the state that is published now. It counts up from 1, and begins again after a
    /// manifest that was damaged.
    pub state: u64,
    /// Whether exactly this state was published already, so that nothing has changed.
    pub is_unchanged: bool,
    /// Records of the world, without the description.
    pub records: u64,
    /// Bytes of the keys and values of the world, with the description.
    pub payload_bytes: u64,
    /// Packs of the world.
    pub packs: u64,
    /// Bytes of the packs, the index and the manifest.
    pub stored_bytes: u64,
    /// Packs that this publication uploaded.
    pub uploaded_packs: u64,
    /// Bytes that it uploaded.
    pub uploaded_bytes: u64,
}

/// The manifest as it was at the start.
struct Base {
    stored: StoredManifest,
    /// `None` if it is damaged and is to be replaced.
    manifest: Option<Manifest>,
}

/// A publication under way, as the records of a world that is being made.
pub(crate) struct Publication {
    objects: Arc<WorldObjects>,
    base: Option<Base>,
    /// Lengths of objects that are there and will stay.
    present: HashMap<ObjectName, u64>,
    /// When other objects that are there were written: they may be collected.
    old: HashMap<ObjectName, SystemTime>,
    /// By the clock of the service: that of this machine may sleep.
    started: SystemTime,
    work: Mutex<Work>,
}

/// What changes with every batch of records.
#[derive(Default)]
struct Work {
    packer: Packer,
    indexer: Indexer,
    stats: PublishStats,
    uploads: VecDeque<Receiver<io::Result<()>>>,
    /// Uploaded in this publication: two packs may be the same.
    uploaded: HashSet<ObjectName>,
    /// The description, once everything is published.
    published: Arc<BTreeMap<Vec<u8>, WorldRecord>>,
}

/// Reads the manifest to start from. A damaged one is an error, unless everything is written anew.
fn read_base(objects: &Arc<WorldObjects>, rewrites_all: bool) -> io::Result<Option<Base>> {
    let Some(stored) = objects.wait(objects.clone().manifest())? else { return Ok(None) };
    match Manifest::decode(&stored.bytes) {
        Ok(manifest) => Ok(Some(Base { stored, manifest: Some(manifest) })),
        Err(crate::manifest::ManifestFault::Damaged(_)) if rewrites_all => {
            Ok(Some(Base { stored, manifest: None }))
        }
        Err(fault) => Err(io::Error::new(io::ErrorKind::InvalidData, fault.to_string())),
    }
}

/// The objects that a state names, but for its manifest, with their lengths. Leaves that cannot be
/// read name nothing.
///
/// # Errors
/// If a leaf is gone or damaged and `is_strict`.
pub(crate) fn named_objects(
    objects: &Arc<WorldObjects>,
    manifest: &Manifest,
    is_strict: bool,
) -> io::Result<HashMap<ObjectName, u64>> {
    let mut named = HashMap::new();
    let mut add = |leaf: Leaf| {
        named.extend(leaf.pack_lengths().map(|(hash, length)| (ObjectName::Pack(hash), length)));
    };
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let entries = match &manifest.index {
        IndexTop::Inline(leaf) => {
            match Leaf::decode(leaf) {
                Ok(leaf) => add(leaf),
                Err(fault) if is_strict => return Err(invalid(fault.to_string())),
                Err(_) => {}
            }
            return Ok(named);
        }
        IndexTop::Leaves(entries) => entries,
    };
    let mut leaves = HashMap::new();
    for entries in entries.chunks(UPLOADS) {
        let names = entries.iter().map(|entry| ObjectName::Leaf(entry.hash));
        let requests = entries.iter().zip(names.clone());
        let requests = requests
            .map(|(entry, name)| objects.clone().read(name, Some(0..u64::from(entry.length))));
        for ((entry, name), read) in
            entries.iter().zip(names).zip(objects.wait_all(requests.collect())?)
        {
            let whole = read.and_then(|bytes| match object_hash(&bytes) == entry.hash {
                true => Leaf::decode(&bytes).map_err(|fault| invalid(fault.to_string())),
                false => Err(invalid(format!("{} is damaged", objects.shown(name)))),
            });
            match whole {
                Ok(leaf) => {
                    leaves.insert(name, u64::from(entry.length));
                    add(leaf);
                }
                Err(error) if is_strict => return Err(error),
                Err(_) => {}
            }
        }
    }
    named.extend(leaves);
    Ok(named)
}

impl Publication {
    /// Reads what is there.
    pub fn begin(objects: Arc<WorldObjects>, rewrites_all: bool) -> io::Result<Publication> {
        // Fails early if nothing may be written.
        let started = objects.wait(objects.clone().service_time())?;
        let base = read_base(&objects, rewrites_all)?;
        let named = match base.as_ref().and_then(|base| base.manifest.as_ref()) {
            Some(manifest) if !rewrites_all => named_objects(&objects, manifest, false)?,
            _ => HashMap::new(),
        };
        let (mut present, mut old) = (HashMap::new(), HashMap::new());
        for folder in [Folder::Packs, Folder::Leaves] {
            for object in objects.wait(objects.clone().list(folder))? {
                let is_kept = named.contains_key(&object.name) || is_young(object.written, started);
                match is_kept && !rewrites_all {
                    true => drop(present.insert(object.name, object.length)),
                    false => drop(old.insert(object.name, object.written)),
                }
            }
        }
        Ok(Publication { objects, base, present, old, started, work: Mutex::default() })
    }

    pub fn stats(&self) -> PublishStats {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).stats
    }

    /// Uploads an object if it is not there; returns whether it does.
    fn upload(&self, work: &mut Work, name: ObjectName, bytes: Vec<u8>) -> io::Result<bool> {
        let length = bytes.len() as u64;
        work.stats.stored_bytes += length;
        if self.present.get(&name) == Some(&length) || !work.uploaded.insert(name) {
            return Ok(false);
        }
        while work.uploads.len() >= UPLOADS {
            wait_for_upload(work)?;
        }
        let (sender, receiver) = mpsc::channel();
        let write = self.objects.clone().write(name, Bytes::from(bytes));
        self.objects.background.spawn(async move {
            // A publication that failed does not wait any more.
            let _ = sender.send(write.await);
        });
        work.uploads.push_back(receiver);
        work.stats.uploaded_bytes += length;
        Ok(true)
    }

    fn add_pack(&self, work: &mut Work, pack: Pack) -> io::Result<()> {
        work.indexer.push(&pack.entry);
        work.stats.packs += 1;
        let name = ObjectName::Pack(pack.entry.hash);
        work.stats.uploaded_packs += u64::from(self.upload(work, name, pack.bytes)?);
        Ok(())
    }

    fn add_record(&self, work: &mut Work, key: &[u8], value: &[u8]) -> io::Result<()> {
        work.stats.records += 1;
        work.stats.payload_bytes += (key.len() + value.len()) as u64;
        match work.packer.push(key, value) {
            Some(pack) => self.add_pack(work, pack),
            None => Ok(()),
        }
    }

    /// Uploads what is left of the packs and the index; returns the top of that.
    fn finish_objects(&self, work: &mut Work) -> io::Result<IndexTop> {
        if let Some(pack) = work.packer.finish() {
            self.add_pack(work, pack)?;
        }
        let (index, leaves) = std::mem::take(&mut work.indexer).finish();
        for leaf in leaves {
            self.upload(work, ObjectName::Leaf(object_hash(&leaf)), leaf)?;
        }
        while !work.uploads.is_empty() {
            wait_for_upload(work)?;
        }
        Ok(index)
    }

    /// Checks that no collector can have removed what the manifest will name.
    ///
    /// Collectors remove for a short time what they saw to be old. So what was garbage, and was
    /// uploaded again, is only certain to stay once that time is over and it is still there.
    fn check_objects(&self, work: &Work) -> io::Result<()> {
        let objects = &self.objects;
        let now = objects.wait(objects.clone().service_time())?;
        if now.duration_since(self.started).is_ok_and(|took| took > MAX_PUBLISH_TIME) {
            let what =
                "publishing took longer than 6 hours; publish again, which goes on from here";
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        let may_be_garbage = |written: &SystemTime| {
            now.duration_since(*written).is_ok_and(|age| age + CLOCK_SLACK >= MIN_GARBAGE_AGE)
        };
        let is_revived = |name: &&ObjectName| self.old.get(name).is_some_and(may_be_garbage);
        let revived: Vec<ObjectName> = work.uploaded.iter().filter(is_revived).copied().collect();
        if revived.is_empty() {
            return Ok(());
        }
        let (mut pause, began) = (Duration::from_millis(10), Instant::now());
        while objects.wait(objects.clone().service_time())? < now + REMOVAL_GRACE {
            if began.elapsed() > 5 * REMOVAL_GRACE {
                let what = "the clock of the service stands still; publish again";
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_secs(1));
        }
        let mut there = HashSet::new();
        for folder in [Folder::Packs, Folder::Leaves] {
            let listed = objects.wait(objects.clone().list(folder))?;
            there.extend(listed.into_iter().map(|object| object.name));
        }
        match revived.iter().find(|name| !there.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let name = objects.shown(*name);
                let what = format!(
                    "{name} was collected as garbage while it was uploaded again; publish again, \
                     which goes on from here"
                );
                Err(io::Error::new(io::ErrorKind::NotFound, what))
            }
        }
    }

    /// Publishes what was added.
    fn finish(&self, work: &mut Work, description: Vec<u8>) -> Result<(), CommitFailure> {
        let index = self.finish_objects(work).map_err(CommitFailure::Unchanged)?;
        self.check_objects(work).map_err(CommitFailure::Unchanged)?;
        self.publish_manifest(work, description, index)
    }

    /// Replaces the manifest by that of the uploaded state, if the world has changed.
    fn publish_manifest(
        &self,
        work: &mut Work,
        description: Vec<u8>,
        index: IndexTop,
    ) -> Result<(), CommitFailure> {
        for key in DESCRIPTION_KEYS {
            work.stats.payload_bytes += (key.len() + description.len()) as u64;
        }
        let records = work.stats.records + DESCRIPTION_KEYS.len() as u64;
        let totals = RecordTotals { records, payload_bytes: work.stats.payload_bytes };
        let before = self.base.as_ref().and_then(|base| base.manifest.as_ref());
        // Not a damaged state: the garbage collector could not read it.
        let replaced = self.base.as_ref().filter(|base| base.manifest.is_some());
        let replaced = replaced.map(|base| object_hash(&base.stored.bytes));
        let manifest = Manifest {
            state: before.map_or(0, |before| before.state).saturating_add(1),
            time_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()),
            replaced: replaced.unwrap_or_default(),
            totals,
            description,
            index,
        };
        let bytes = manifest.encode();
        work.stats.stored_bytes += bytes.len() as u64;
        work.stats.state = manifest.state;
        if let Some(before) = before.filter(|before| before.is_same_world(&manifest)) {
            (work.stats.state, work.stats.is_unchanged) = (before.state, true);
            return self.check_base(before.state).map_err(CommitFailure::Unchanged);
        }
        work.stats.uploaded_bytes += bytes.len() as u64;
        self.swap(manifest.state, bytes)
    }

    /// Checks that the manifest is still the one of the start.
    fn check_base(&self, state: u64) -> io::Result<()> {
        let now = self.objects.wait(self.objects.clone().manifest())?;
        let base = self.base.as_ref().map(|base| &base.stored.bytes);
        match now.as_ref().map(|now| &now.bytes) == base {
            true => Ok(()),
            false => Err(lost(state)),
        }
    }

    /// Replaces the manifest, and keeps a copy of the old one.
    fn swap(&self, state: u64, bytes: Vec<u8>) -> Result<(), CommitFailure> {
        let objects = &self.objects;
        let old = self.base.as_ref().map(|base| base.stored.clone());
        let is_state = self.base.as_ref().is_some_and(|base| base.manifest.is_some());
        if let Some(old) = old.as_ref().filter(|_| is_state) {
            // Its time says when it was replaced, so it is written again if it is there.
            let name = ObjectName::OldManifest(object_hash(&old.bytes));
            let written = objects.wait(objects.clone().write(name, old.bytes.clone()));
            written.map_err(CommitFailure::Unchanged)?;
        }
        let version = old.map(|old| old.version);
        match objects.wait(objects.clone().swap_manifest(version, bytes.into())) {
            Ok(Swap::Done) => Ok(()),
            Ok(Swap::Lost) => Err(CommitFailure::Unchanged(lost(state))),
            Ok(Swap::Refused(error)) => Err(CommitFailure::Unchanged(error)),
            Err(error) => Err(CommitFailure::Unsure(error)),
        }
    }
}

/// The error that another program was first.
fn lost(state: u64) -> io::Error {
    let what = format!(
        "another program published the world meanwhile, so nothing was published over state \
         {state}; publish again to replace what is there"
    );
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}

/// Whether an object that no manifest names is too young to be collected soon.
fn is_young(written: SystemTime, now: SystemTime) -> bool {
    // What is newer than now was written since.
    now.duration_since(written).is_ok_and(|age| age < TRUSTED_AGE) || written > now
}

/// Waits for the first upload.
fn wait_for_upload(work: &mut Work) -> io::Result<()> {
    let Some(upload) = work.uploads.pop_front() else { return Ok(()) };
    upload.recv().unwrap_or_else(|_| Err(io::Error::other("the thread of the requests has failed")))
}

impl Records for Publication {
    fn view(&self) -> io::Result<Box<dyn RecordsView>> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Box::new(work.published.clone()))
    }

    fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure> {
        let mut guard = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let work = &mut *guard;
        let mut description = BTreeMap::new();
        for (key, value) in changes {
            let Some(value) = value else { continue };
            if DESCRIPTION_KEYS.contains(&&*key) {
                description.insert(key.clone(), WorldRecord::new(key, value));
            } else {
                let added = self.add_record(work, &key, &value);
                added.map_err(CommitFailure::Unchanged)?;
            }
        }
        if let Some(record) = description.values().next() {
            self.finish(work, record.value.clone())?;
            work.published = Arc::new(description);
        }
        Ok(())
    }
}

/// Publishes a world.
///
/// # Errors
/// If it cannot be read, or not be published.
pub(crate) fn publish(
    from: &Store,
    objects: Arc<WorldObjects>,
    rewrites_all: bool,
    progress: impl FnMut(u64, u64),
) -> Result<PublishStats, StoreError> {
    let shown = objects.shown.clone();
    let failed = |source| StoreError::Io { path: shown.clone(), doing: "publish", source };
    let publication = Arc::new(Publication::begin(objects, rewrites_all).map_err(failed)?);
    from.copy_to_records(publication.clone(), &shown, progress)?;
    Ok(publication.stats())
}
