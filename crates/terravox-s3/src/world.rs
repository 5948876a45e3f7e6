//! A published state of a world, read in place.
//!
//! Opening reads the manifest, which has the description and the top of the index. A leaf of the
//! index and the groups of records are read when they are asked for, neighbours with one request,
//! and kept. Nothing is used before its hash was compared with the one that the manifest or a leaf
//! has.

use crate::cache::{Cache, Lookup};
use crate::group::Group;
use crate::leaf::{GroupSpan, Leaf, group_hash, object_hash};
use crate::manifest::{IndexTop, LeafEntry, Manifest};
use crate::world_objects::{ObjectName, WorldObjects};
use bytes::Bytes;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use terravox_store::LostRecords;

/// Gap between two groups, in bytes, up to which one request reads both.
const MAX_GAP_BYTES: u64 = 64 << 10;

/// Bytes of one request, but for a group that is longer.
const MAX_REQUEST_BYTES: u64 = 4 << 20;

/// Requests of one call at a time.
const REQUESTS: usize = 16;

/// Memory for leaves of the index.
const LEAF_CACHE_BYTES: usize = 32 << 20;

/// A published state.
pub(crate) struct PublishedWorld {
    objects: Arc<WorldObjects>,
    pub manifest: Manifest,
    /// The only leaf, if the manifest has it.
    inline: Option<Arc<Leaf>>,
    leaves: Cache<usize, Leaf>,
    /// By leaf and place in it.
    groups: Cache<(usize, usize), Group>,
}

/// Neighbouring groups that one request reads.
struct Run {
    object: ObjectName,
    range: Range<u64>,
    groups: Vec<usize>,
}

/// Entries of a cache that this thread claimed; dropping it gives up those that were not read.
struct Claims<'a> {
    world: &'a PublishedWorld,
    leaf: usize,
    groups: Vec<usize>,
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        for &group in &self.groups {
            self.world.groups.give_up((self.leaf, group));
        }
    }
}

/// The same for a leaf.
struct LeafClaim<'a> {
    world: &'a PublishedWorld,
    leaf: usize,
}

impl Drop for LeafClaim<'_> {
    fn drop(&mut self) {
        self.world.leaves.give_up(self.leaf);
    }
}

/// The error that records up to `high` are damaged.
fn damaged(what: &str, high: Option<&[u8]>) -> io::Error {
    let what = format!(
        "{what}; publish the world again with terravox copy --rewrite (S3Options::rewrites_all)"
    );
    LostRecords { high: high.map(<[u8]>::to_vec), what }.into()
}

impl PublishedWorld {
    pub fn new(
        objects: Arc<WorldObjects>,
        manifest: Manifest,
        cache_bytes: usize,
    ) -> io::Result<PublishedWorld> {
        let inline = manifest.inline_leaf();
        let inline = inline.map_err(|fault| damaged(&fault.to_string(), None))?.map(Arc::new);
        let (leaves, groups) = (Cache::new(LEAF_CACHE_BYTES), Cache::new(cache_bytes));
        Ok(PublishedWorld { objects, manifest, inline, leaves, groups })
    }

    fn leaf_entries(&self) -> &[LeafEntry] {
        match &self.manifest.index {
            IndexTop::Inline(_) => &[],
            IndexTop::Leaves(leaves) => leaves,
        }
    }

    /// How many leaves the index has.
    pub fn leaf_count(&self) -> usize {
        self.leaf_entries().len().max(1)
    }

    /// The leaf that may hold a key, or the first one.
    pub fn leaf_of(&self, key: &[u8]) -> usize {
        self.leaf_entries().partition_point(|leaf| *leaf.first <= *key).saturating_sub(1)
    }

    /// The key at which the next leaf begins.
    fn leaf_end(&self, leaf: usize) -> Option<&[u8]> {
        self.leaf_entries().get(leaf + 1).map(|next| &*next.first)
    }

    /// A leaf of the index.
    pub fn leaf(&self, i: usize) -> io::Result<Arc<Leaf>> {
        if let Some(leaf) = &self.inline {
            return Ok(leaf.clone());
        }
        loop {
            match self.leaves.look_up(i) {
                Lookup::Held(leaf) => return Ok(leaf),
                Lookup::Elsewhere => self.leaves.wait(i),
                Lookup::Claimed => {
                    let _claim = LeafClaim { world: self, leaf: i };
                    let leaf = Arc::new(self.read_leaf(i)?);
                    self.leaves.insert(i, leaf.clone(), leaf.weight());
                    return Ok(leaf);
                }
            }
        }
    }

    fn read_leaf(&self, i: usize) -> io::Result<Leaf> {
        let entry = &self.leaf_entries()[i];
        let name = ObjectName::Leaf(entry.hash);
        // One byte more shows that it is too long, and bounds what is read.
        let range = 0..u64::from(entry.length) + 1;
        let read = self.objects.wait(self.objects.clone().read(name, Some(range)));
        let bytes = read.map_err(|error| self.explain(error, name))?;
        let is_whole = bytes.len() == entry.length as usize && object_hash(&bytes) == entry.hash;
        let decoded = is_whole.then(|| Leaf::decode(&bytes).ok()).flatten();
        let leaf =
            decoded.filter(|leaf| leaf.groups.first().is_some_and(|g| g.first == entry.first));
        leaf.ok_or_else(|| {
            damaged(&format!("{} is damaged", self.objects.shown(name)), self.leaf_end(i))
        })
    }

    /// Whether a group is cached or being read.
    pub fn has_group(&self, i: usize, group: usize) -> bool {
        self.groups.has((i, group))
    }

    /// Some groups of a leaf, in order.
    pub fn groups(&self, i: usize, leaf: &Leaf, wanted: &[usize]) -> io::Result<Vec<Arc<Group>>> {
        let mut found: Vec<Option<Arc<Group>>> = vec![None; wanted.len()];
        loop {
            let mut claims = Claims { world: self, leaf: i, groups: Vec::new() };
            let mut elsewhere = Vec::new();
            for (slot, &group) in found.iter_mut().zip(wanted).filter(|(slot, _)| slot.is_none()) {
                match self.groups.look_up((i, group)) {
                    Lookup::Held(value) => *slot = Some(value),
                    Lookup::Claimed => claims.groups.push(group),
                    Lookup::Elsewhere => elsewhere.push(group),
                }
            }
            // What others wait for is read before this thread waits.
            for (group, value) in self.read_groups(i, leaf, &claims.groups)? {
                for (slot, _) in
                    found.iter_mut().zip(wanted).filter(|(_, wanted)| **wanted == group)
                {
                    *slot = Some(value.clone());
                }
            }
            drop(claims);
            elsewhere.iter().for_each(|&group| self.groups.wait((i, group)));
            if let Some(found) = found.iter().cloned().collect() {
                return Ok(found);
            }
        }
    }

    /// Reads groups, in ascending order, and keeps those that are whole.
    fn read_groups(
        &self,
        i: usize,
        leaf: &Leaf,
        groups: &[usize],
    ) -> io::Result<Vec<(usize, Arc<Group>)>> {
        let (mut read, mut failure) = (Vec::new(), None);
        for runs in runs(leaf, groups).chunks(REQUESTS) {
            let requests = runs
                .iter()
                .map(|run| self.objects.clone().read(run.object, Some(run.range.clone())))
                .collect();
            for (run, result) in runs.iter().zip(self.objects.wait_all(requests)?) {
                let bytes = match result {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        failure.get_or_insert(self.explain(error, run.object));
                        continue;
                    }
                };
                for &group in &run.groups {
                    match self.decode(i, leaf, group, run, &bytes) {
                        Err(error) => drop(failure.get_or_insert(error)),
                        Ok(value) => {
                            self.groups.insert((i, group), value.clone(), value.weight());
                            read.push((group, value));
                        }
                    }
                }
            }
        }
        failure.map_or(Ok(read), Err)
    }

    /// Decodes a group of a run that was read.
    fn decode(
        &self,
        i: usize,
        leaf: &Leaf,
        group: usize,
        run: &Run,
        bytes: &Bytes,
    ) -> io::Result<Arc<Group>> {
        let entry = &leaf.groups[group];
        let start = (entry.offset - run.range.start) as usize;
        let part = bytes.get(start..start + entry.length as usize);
        let high = leaf.groups.get(group + 1).map(|next| &*next.first).or(self.leaf_end(i));
        let what = match part {
            Some(part) if group_hash(part) == entry.hash => {
                match Group::decode(part.to_vec(), &entry.first, high) {
                    Ok(group) => return Ok(Arc::new(group)),
                    Err(fault) => fault.to_string(),
                }
            }
            Some(_) => "the hash does not match".to_owned(),
            None => "it ends early".to_owned(),
        };
        let (name, from) = (self.objects.shown(run.object), entry.offset);
        let to = from + u64::from(entry.length);
        Err(damaged(&format!("{name} is damaged from byte {from} to {to}: {what}"), high))
    }

    /// The error that an object cannot be read, with what to do if it is gone.
    fn explain(&self, error: io::Error, object: ObjectName) -> io::Error {
        if error.kind() != io::ErrorKind::NotFound {
            return error;
        }
        let name = self.objects.shown(object);
        let now = self.objects.wait(self.objects.clone().manifest());
        let now = now.map(|now| now.map(|stored| Manifest::decode(&stored.bytes)));
        let own = self.manifest.state;
        let what = match now {
            Err(_) => return error,
            Ok(Some(Err(fault))) => {
                format!("{name} is gone, and the manifest cannot be read: {fault}")
            }
            Ok(Some(Ok(now))) if now == self.manifest => format!(
                "{name} is gone, though the manifest names it: the bucket lost it; publish the \
                 world again, which uploads what is missing"
            ),
            Ok(Some(Ok(Manifest { state, .. }))) => format!(
                "{name} is gone: the world was published again since it was opened here (state \
                 {state}, this one is {own}) and collected; open it again"
            ),
            Ok(None) => format!("{name} is gone, and so is the manifest: the world was removed"),
        };
        io::Error::new(io::ErrorKind::NotFound, what)
    }
}

/// Neighbours among groups, in ascending order, that one request reads.
fn runs(leaf: &Leaf, groups: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &group in groups {
        let GroupSpan { pack, offset, length, .. } = leaf.groups[group];
        let object = ObjectName::Pack(leaf.packs[pack]);
        let end = offset + u64::from(length);
        match runs.last_mut() {
            Some(run)
                if run.object == object
                    && offset <= run.range.end + MAX_GAP_BYTES
                    && end - run.range.start <= MAX_REQUEST_BYTES =>
            {
                run.range.end = end;
                run.groups.push(group);
            }
            _ => runs.push(Run { object, range: offset..end, groups: vec![group] }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaf::tests::{encode, pack};

    #[test]
    fn neighbours_are_read_with_one_request() {
        let firsts: Vec<[u8; 2]> = (0..240).map(|i| [2, i]).collect();
        let firsts: Vec<&[u8]> = firsts.iter().map(|first| &first[..]).collect();
        let packs = [pack(1, &firsts[..220]), pack(2, &firsts[220..])];
        let mut leaf = Leaf::decode(&encode(&packs)).unwrap();
        for (i, group) in leaf.groups.iter_mut().enumerate() {
            let i = if i < 220 { i } else { i - 220 } as u64;
            (group.offset, group.length) = (8 + i * 50_000, 50_000);
        }
        let of = |groups: &[usize]| -> Vec<(u64, usize)> {
            let length = |run: &Run| run.range.end - run.range.start;
            runs(&leaf, groups).iter().map(|run| (length(run), run.groups.len())).collect()
        };
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[3, 4, 5]), [(150_000, 3)]);
        // A gap of one group is read along, one of two is not.
        assert_eq!(of(&[3, 5, 8]), [(150_000, 2), (50_000, 1)]);
        assert_eq!(of(&[219, 220]), [(50_000, 1), (50_000, 1)], "two packs");
        let all: Vec<usize> = (0..220).collect();
        assert_eq!(of(&all), [(4_150_000, 83), (4_150_000, 83), (2_700_000, 54)]);
    }
}
