//! The records of a published world, for a store that only reads.

use crate::group::Group;
use crate::leaf::Leaf;
use crate::world::PublishedWorld;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use terravox_store::{
    CommitFailure, RecordChanges, RecordTotals, Records, RecordsView, WorldRecord,
};

/// Keys of the description, which the manifest has.
pub(crate) const DESCRIPTION_KEYS: [&[u8]; 2] = [&[0], &[255]];

/// Bytes of groups that a scan reads at once, within the requested keys.
const READ_AHEAD_BYTES: u64 = 2 << 20;

/// A published state as records.
#[derive(Clone)]
pub(crate) struct PublishedRecords(pub Arc<PublishedWorld>);

impl Records for PublishedRecords {
    fn view(&self) -> io::Result<Box<dyn RecordsView>> {
        // A state never changes.
        Ok(Box::new(self.clone()))
    }

    fn commit(&self, _changes: RecordChanges) -> Result<(), CommitFailure> {
        let what = "a published world is only read";
        Err(CommitFailure::Unchanged(io::Error::new(io::ErrorKind::PermissionDenied, what)))
    }
}

impl PublishedRecords {
    fn description(&self, key: &[u8], with_value: bool) -> WorldRecord {
        let mut record = WorldRecord::new(key.to_vec(), self.0.manifest.description.clone());
        if !with_value {
            record.value.clear();
        }
        record
    }

    /// The groups of a leaf from `low` up to `high` that a scan reads at once: at least one, if the
    /// leaf has one there.
    fn groups_ahead(leaf: &Leaf, low: &[u8], high: Option<&[u8]>) -> Range<usize> {
        let start = leaf.group_of(low);
        let (mut end, mut bytes) = (start, 0);
        for group in &leaf.groups[start..] {
            let is_inside = end == start || high.is_none_or(|high| *group.first < *high);
            bytes += u64::from(group.length);
            if !is_inside || (end > start && bytes > READ_AHEAD_BYTES) {
                break;
            }
            end += 1;
        }
        start..end
    }

    /// The records of the packs from `low` up to `high`: at least one, if there is one.
    fn scan_packs(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
        limit: usize,
        with_values: bool,
    ) -> io::Result<Vec<WorldRecord>> {
        let (mut i, mut low) = (self.0.leaf_of(low), low.to_vec());
        while i < self.0.leaf_count() {
            let leaf = self.0.leaf(i)?;
            let mut wanted = Self::groups_ahead(&leaf, &low, high);
            // Else each step would read the one group that comes in reach.
            if self.0.has_group(i, wanted.start) {
                wanted.end = wanted.end.min(wanted.start + 1);
            }
            let indices: Vec<usize> = wanted.clone().collect();
            let groups = match self.0.groups(i, &leaf, &indices) {
                // If it is another one that is damaged, the first one is whole.
                Err(error) if error.kind() == io::ErrorKind::InvalidData && indices.len() > 1 => {
                    wanted.end = wanted.start + 1;
                    self.0.groups(i, &leaf, &indices[..1])?
                }
                groups => groups?,
            };
            let found = records_in(&groups, &low, high, limit, with_values);
            if !found.is_empty() {
                return Ok(found);
            }
            // There may be some in what follows.
            match leaf.groups.get(wanted.end) {
                Some(next) if high.is_some_and(|high| *next.first >= *high) => break,
                Some(next) => low.clone_from(&next.first),
                None => i += 1,
            }
        }
        Ok(Vec::new())
    }
}

fn records_in(
    groups: &[Arc<Group>],
    low: &[u8],
    high: Option<&[u8]>,
    limit: usize,
    with_values: bool,
) -> Vec<WorldRecord> {
    let mut found = Vec::new();
    for group in groups {
        for i in group.position(low)..group.len() {
            match group.record(i, high, with_values) {
                Some(record) if found.len() < limit => found.push(record),
                _ => return found,
            }
        }
    }
    found
}

impl RecordsView for PublishedRecords {
    fn get(&self, keys: &[&[u8]]) -> io::Result<Vec<WorldRecord>> {
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        for &key in keys {
            match DESCRIPTION_KEYS.contains(&key) {
                true => found.push(self.description(key, true)),
                false => wanted.push(key),
            }
        }
        wanted.sort_unstable();
        for keys in wanted.chunk_by(|a, b| self.0.leaf_of(a) == self.0.leaf_of(b)) {
            let i = self.0.leaf_of(keys[0]);
            let leaf = self.0.leaf(i)?;
            if leaf.groups.is_empty() {
                continue;
            }
            let holders: Vec<usize> = keys.iter().map(|key| leaf.group_of(key)).collect();
            let mut indices = holders.clone();
            indices.dedup();
            let groups = self.0.groups(i, &leaf, &indices)?;
            for (key, holder) in keys.iter().zip(holders) {
                let group = indices.binary_search(&holder).map(|at| &groups[at]);
                found.extend(group.ok().and_then(|group| group.get(key)));
            }
        }
        Ok(found)
    }

    fn scan(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
        limit: usize,
        with_values: bool,
    ) -> io::Result<Vec<WorldRecord>> {
        let is_inside = |key: &[u8]| low <= key && high.is_none_or(|high| key < high);
        let [first, last] = DESCRIPTION_KEYS;
        if limit > 0 && is_inside(first) {
            return Ok(vec![self.description(first, with_values)]);
        }
        if high.is_some_and(|high| high <= low) {
            return Ok(Vec::new());
        }
        let mut found = self.scan_packs(low, high, limit, with_values)?;
        if found.is_empty() && limit > 0 && is_inside(last) {
            found.push(self.description(last, with_values));
        }
        Ok(found)
    }

    fn totals(&self) -> io::Result<RecordTotals> {
        Ok(self.0.manifest.totals)
    }
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
