//! Operations of a guest without a reply from its host, in flight or not sent yet, and which of
//! them its terrain shows.

use crate::edit::EditOp;
use crate::voxel::{ChangeCursor, Changes, ChunkPos, Region, VoxelGrid};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of operations in flight: further ones are refused here.
pub(super) const MAX_PREDICTIONS: usize = 256;

/// An operation in flight, or not sent yet.
pub(super) struct Prediction {
    /// The number of its reply, or its order among the unsent.
    pub number: u64,
    /// `None` for undo and redo, which cannot be predicted.
    pub op: Option<EditOp>,
    /// What it may change, in voxels.
    pub write: Region,
    /// What it depends on, in voxels; the second is empty unless it copies cells.
    pub reads: [Region; 2],
}

/// Operations in flight, oldest first; then the unsent, by their order.
#[derive(Default)]
pub(super) struct Predictions {
    in_flight: VecDeque<Prediction>,
    unsent: BTreeMap<u64, Prediction>,
    /// Regions, in voxels, of those that ended or changed their place since the terrain was last
    /// updated.
    ended: Vec<Region>,
    /// How many of all have been applied, from the first on. One whose cells were missing counts,
    /// too: all are applied again when those cells arrive.
    applied: usize,
    /// How far the changes of the terrain have been read.
    cursor: ChangeCursor,
}

/// What makes a terrain show all predictions.
pub(super) enum ViewUpdate {
    /// Apply the operations from this one on.
    Append(usize),
    /// Restore the host's cells in these regions, then apply all operations.
    Rebuild(Vec<Region>),
}

impl Predictions {
    /// Returns the number of operations in flight.
    pub fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns the number of operations that are shown: those in flight and the unsent.
    pub fn shown_count(&self) -> usize {
        self.in_flight.len() + self.unsent.len()
    }

    /// Whether applying all from one on applies any again.
    pub fn reapplies_from(&self, first: usize) -> bool {
        first < self.applied
    }

    /// Whether none is shown, and none ended since the terrain was last updated.
    pub fn is_idle(&self) -> bool {
        self.shown_count() == 0 && self.ended.is_empty()
    }

    /// Returns the number of the oldest operation in flight.
    pub fn oldest(&self) -> Option<u64> {
        self.in_flight.front().map(|entry| entry.number)
    }

    pub fn push(&mut self, prediction: Prediction) {
        if !self.unsent.is_empty() {
            self.ended.push(prediction.write);
        }
        self.in_flight.push_back(prediction);
    }

    /// Adds an unsent operation in its order; replaces one of the same order.
    pub fn put_unsent(&mut self, prediction: Prediction) {
        self.take_unsent(prediction.number);
        let is_last = self.unsent.keys().next_back() < Some(&prediction.number);
        if !is_last {
            self.ended.push(prediction.write);
        }
        self.unsent.insert(prediction.number, prediction);
    }

    /// Removes an unsent operation, if there is one of this order.
    pub fn take_unsent(&mut self, order: u64) {
        let Some(taken) = self.unsent.remove(&order) else { return };
        let at = self.in_flight.len() + self.unsent.range(..order).count();
        self.applied -= usize::from(at < self.applied);
        self.ended.push(taken.write);
    }

    /// Ends an operation in flight, and returns it.
    pub fn end(&mut self, number: u64) -> Option<Prediction> {
        let at = self.in_flight.iter().position(|entry| entry.number == number)?;
        let ended = self.in_flight.remove(at)?;
        self.applied -= usize::from(at < self.applied);
        self.ended.push(ended.write);
        Some(ended)
    }

    /// Ends all operations in flight, and returns them.
    pub fn end_all(&mut self) -> VecDeque<Prediction> {
        self.ended.extend(self.in_flight.iter().map(|prediction| prediction.write));
        self.applied = self.applied.saturating_sub(self.in_flight.len());
        std::mem::take(&mut self.in_flight)
    }

    fn all(&self) -> impl Iterator<Item = &Prediction> {
        self.in_flight.iter().chain(self.unsent.values())
    }

    /// Drops the regions of operations that ended if they pile up because no terrain shows them.
    /// Returns whether it did: everything must then be shown again.
    pub fn forget_if_too_many(&mut self) -> bool {
        let has_too_many = self.ended.len() > MAX_PREDICTIONS;
        if has_too_many {
            self.ended.clear();
        }
        has_too_many
    }

    /// Returns the update after the host's cells changed in these parts of chunks, in voxels. It
    /// only appends new operations if no cells that the shown ones read have changed.
    pub fn plan(&mut self, grid: &VoxelGrid, changed: &BTreeMap<ChunkPos, Region>) -> ViewUpdate {
        let (in_flight, unsent) = (&self.in_flight, &self.unsent);
        let is_read = |region: &Region| {
            let mut reads =
                in_flight.iter().chain(unsent.values()).flat_map(|prediction| prediction.reads);
            reads.any(|read| !read.intersect(*region).is_empty())
        };
        let is_current = match grid.changes_since(&mut self.cursor) {
            Changes::Everything => false,
            Changes::Regions(written) => !written.iter().chain(changed.values()).any(is_read),
        };
        if is_current && self.ended.is_empty() {
            return ViewUpdate::Append(self.applied);
        }
        let mut regions = std::mem::take(&mut self.ended);
        regions.extend(self.all().map(|prediction| prediction.write));
        ViewUpdate::Rebuild(regions)
    }

    /// Returns the operations that can be predicted, from one on, each with what it may change.
    pub fn ops_from(&self, first: usize) -> impl Iterator<Item = (&EditOp, Region)> {
        let shown = self.all().skip(first);
        shown.filter_map(|prediction| Some((prediction.op.as_ref()?, prediction.write)))
    }

    /// Applies the operations from one on by `apply`, which is told what each may change.
    pub fn apply_from(&mut self, first: usize, mut apply: impl FnMut(&EditOp, Region)) {
        self.ops_from(first).for_each(|(op, write)| apply(op, write));
        self.applied = self.shown_count();
    }

    /// Marks the changes of the terrain so far as read.
    pub fn skip_changes(&mut self, grid: &VoxelGrid) {
        grid.changes_since(&mut self.cursor);
    }
}
