//! Removes objects that neither the published state nor a recently replaced one needs.

use crate::leaf::{ObjectHash, object_hash};
use crate::manifest::Manifest;
use crate::publish::{MIN_GARBAGE_AGE, named_objects};
use crate::world_objects::{Folder, ListedObject, ObjectName, WorldObjects};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::time::timeout;

/// Number of simultaneous removals.
const REMOVALS: usize = 16;

/// How long after a listing its objects may be removed, and how long a removal may take. Together
/// less than a publication waits before it relies on objects that it has uploaded again.
const SEEN_TIME: Duration = Duration::from_secs(20);

/// What [`S3::collect_garbage`](crate::S3::collect_garbage) keeps.
#[derive(Clone, Debug)]
pub struct CollectOptions {
    /// How many of the last states are kept whole; the published one is the first. At least 1.
    pub states: usize,
    /// How long a state is kept after it was replaced, and anything after it was written. At least
    /// 13 hours: a publication may take 6, and relies on objects up to 6 hours old.
    pub age: Duration,
}

impl Default for CollectOptions {
    fn default() -> CollectOptions {
        CollectOptions { states: 2, age: Duration::from_secs(24 * 3600) }
    }
}

impl CollectOptions {
    /// Returns the message if an option is out of its range.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.states == 0 {
            return Some("states is 0; at least 1 is kept".to_owned());
        }
        (self.age < MIN_GARBAGE_AGE)
            .then(|| format!("age is {:?}; it must be at least 13 hours", self.age))
    }
}

/// What [`S3::collect_garbage`](crate::S3::collect_garbage) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectStats {
    /// States that are kept whole.
    pub states: u64,
    /// Objects that are kept.
    pub kept_objects: u64,
    /// Objects that were removed.
    pub removed_objects: u64,
    /// Their bytes.
    pub removed_bytes: u64,
}

/// A state that is kept, and the hash of its manifest.
struct KeptState {
    hash: ObjectHash,
    manifest: Manifest,
}

/// Reads the manifests of the states to keep, the published one first.
fn kept_states(
    objects: &Arc<WorldObjects>,
    options: &CollectOptions,
    published: KeptState,
    old: &[ListedObject],
    now: SystemTime,
) -> io::Result<Vec<KeptState>> {
    let mut kept = vec![published];
    let mut seen = HashSet::new();
    // The states before it, as long as their manifests exist.
    while let Some(last) = kept.last().filter(|_| kept.len() < options.states) {
        let hash = last.manifest.replaced;
        if !old.iter().any(|object| object.name == ObjectName::OldManifest(hash)) {
            break;
        }
        seen.insert(hash);
        kept.push(read_old(objects, hash)?);
    }
    for object in old.iter().filter(|object| !is_old(object, now, options.age)) {
        if let ObjectName::OldManifest(hash) = object.name
            && seen.insert(hash)
        {
            kept.push(read_old(objects, hash)?);
        }
    }
    Ok(kept)
}

/// Reads the state that is published.
fn published_state(objects: &Arc<WorldObjects>) -> io::Result<KeptState> {
    let Some(stored) = objects.wait(objects.clone().manifest())? else {
        let what = "there is no manifest, so nothing says what is garbage; to remove a world, \
                    remove its folder";
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    };
    let manifest = decode(&stored.bytes, "the manifest")?;
    Ok(KeptState { hash: object_hash(&stored.bytes), manifest })
}

fn read_old(objects: &Arc<WorldObjects>, hash: ObjectHash) -> io::Result<KeptState> {
    let name = ObjectName::OldManifest(hash);
    let bytes = objects.wait(objects.clone().read(name, None))?;
    let name = objects.shown(name);
    match object_hash(&bytes) == hash {
        true => Ok(KeptState { hash, manifest: decode(&bytes, &name)? }),
        false => Err(unsure(&format!("{name} is damaged"))),
    }
}

fn decode(bytes: &[u8], name: &str) -> io::Result<Manifest> {
    Manifest::decode(bytes).map_err(|fault| unsure(&format!("{name}: {fault}")))
}

/// The error if garbage cannot be determined.
fn unsure(what: &str) -> io::Error {
    let what = format!("{what}; nothing was removed");
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn is_old(object: &ListedObject, now: SystemTime, age: Duration) -> bool {
    now.duration_since(object.written).is_ok_and(|written| written >= age)
}

/// All objects as of the last listing.
struct SeenObjects {
    written: HashMap<ObjectName, SystemTime>,
    at: (Instant, SystemTime),
}

impl SeenObjects {
    fn of(objects: &Arc<WorldObjects>) -> io::Result<SeenObjects> {
        let at = (Instant::now(), SystemTime::now());
        let mut written = HashMap::new();
        for folder in [Folder::OldManifests, Folder::Packs, Folder::Leaves] {
            let listed = objects.wait(objects.clone().list(folder))?;
            written.extend(listed.into_iter().map(|object| (object.name, object.written)));
        }
        Ok(SeenObjects { written, at })
    }

    /// Whether the listing is recent enough for removals, by two clocks: one stops while the
    /// machine sleeps, the other can be set.
    fn are_fresh(&self) -> bool {
        let by_date = self.at.1.elapsed();
        self.at.0.elapsed() < SEEN_TIME && by_date.is_ok_and(|elapsed| elapsed < SEEN_TIME)
    }

    /// Whether an object is there, and was not written again.
    fn have(&self, object: &ListedObject) -> bool {
        self.written.get(&object.name) == Some(&object.written)
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "removing an object takes too long; collect again")
}

/// Removes garbage.
///
/// # Errors
/// If what is kept cannot be read; then nothing is removed. If something cannot be removed.
pub(crate) fn collect(
    objects: &Arc<WorldObjects>,
    options: &CollectOptions,
) -> io::Result<CollectStats> {
    let now = objects.wait(objects.clone().service_time())?;
    let list = |folder| objects.wait(objects.clone().list(folder));
    // Read before the list of replaced manifests, which then has the state before this one.
    let published = published_state(objects)?;
    let mut listed = list(Folder::OldManifests)?;
    let states = kept_states(objects, options, published, &listed, now)?;
    let mut needed: HashSet<ObjectName> = HashSet::new();
    for state in &states {
        needed.extend(named_objects(objects, &state.manifest, true)?.into_keys());
        needed.insert(ObjectName::OldManifest(state.hash));
    }
    listed.extend(list(Folder::Packs)?);
    listed.extend(list(Folder::Leaves)?);
    let is_garbage =
        |object: &ListedObject| !needed.contains(&object.name) && is_old(object, now, options.age);
    let (garbage, kept): (Vec<ListedObject>, Vec<ListedObject>) =
        listed.into_iter().partition(is_garbage);
    let mut stats = CollectStats { states: states.len() as u64, ..CollectStats::default() };
    stats.kept_objects = kept.len() as u64;
    let mut seen: Option<SeenObjects> = None;
    for part in garbage.chunks(REMOVALS) {
        // Objects that a publication has uploaded again meanwhile are needed. It relies on an older
        // listing not being used for removals much later.
        let seen = match seen.take().filter(SeenObjects::are_fresh) {
            Some(fresh) => seen.insert(fresh),
            None => seen.insert(SeenObjects::of(objects)?),
        };
        let part: Vec<&ListedObject> = part.iter().filter(|object| seen.have(object)).collect();
        let remove = |object: &&ListedObject| {
            let removal = objects.clone().remove(object.name);
            async { timeout(SEEN_TIME, removal).await.unwrap_or_else(|_| Err(too_slow())) }
        };
        let requests = part.iter().map(remove).collect();
        for (object, removed) in part.iter().zip(objects.wait_all(requests)?) {
            removed?;
            stats.removed_objects += 1;
            stats.removed_bytes += object.length;
        }
    }
    Ok(stats)
}
