//! Operations of a guest that its host has not answered, or not been sent yet, and which of them
//! its terrain shows.

use crate::edit::EditOp;
use crate::voxel::{ChangeCursor, Changes, ChunkPos, Region, VoxelGrid};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of operations that wait for the host: further ones are refused here.
pub(super) const MAX_PREDICTIONS: usize = 256;

/// An operation that the host has not answered, or that is not sent yet.
pub(super) struct Prediction {
    /// The number of its reply, or its order among those that are not sent.
    pub number: u64,
    /// `None` for undo and redo, which cannot be predicted.
    pub op: Option<EditOp>,
    /// What it may change, in voxels.
    pub write: Region,
    /// What it depends on, in voxels; the second is empty unless it copies cells.
    pub reads: [Region; 2],
}

/// Operations that wait, oldest first; then those that are not sent.
#[derive(Default)]
pub(super) struct Predictions {
    waiting: VecDeque<Prediction>,
    unsent: BTreeMap<u64, Prediction>,
    /// Regions, in voxels, of those that ended or changed their place since the terrain was last
    /// brought up to date.
    ended: Vec<Region>,
    /// How many of all have been applied, from the first on. One whose cells were missing counts,
    /// too: all are applied again when they come.
    applied: usize,
    /// How far the changes of the terrain have been read.
    cursor: ChangeCursor,
}

/// What is to be done so that a terrain shows all that waits.
pub(super) enum Showing {
    /// The operations from this one on are applied.
    From(usize),
    /// These regions become the host's cells, then all operations are applied.
    Again(Vec<Region>),
}

impl Predictions {
    /// How many wait for the host.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// How many are shown: those that wait, and those that are not sent.
    pub fn shown_count(&self) -> usize {
        self.waiting.len() + self.unsent.len()
    }

    /// Whether any has been applied.
    pub fn has_applied(&self) -> bool {
        self.applied > 0
    }

    /// Whether none is shown, and none ended since the terrain was last brought up to date.
    pub fn is_idle(&self) -> bool {
        self.shown_count() == 0 && self.ended.is_empty()
    }

    /// The number of the oldest that waits.
    pub fn oldest(&self) -> Option<u64> {
        self.waiting.front().map(|entry| entry.number)
    }

    pub fn push(&mut self, prediction: Prediction) {
        if !self.unsent.is_empty() {
            self.ended.push(prediction.write);
        }
        self.waiting.push_back(prediction);
    }

    /// Adds one that is not sent, in its order, in place of one of the same order.
    pub fn put_unsent(&mut self, prediction: Prediction) {
        self.take_unsent(prediction.number);
        let is_last = self.unsent.keys().next_back() < Some(&prediction.number);
        if !is_last {
            self.ended.push(prediction.write);
        }
        self.unsent.insert(prediction.number, prediction);
    }

    /// Removes one that is not sent, if it is there.
    pub fn take_unsent(&mut self, order: u64) {
        let Some(taken) = self.unsent.remove(&order) else { return };
        let at = self.waiting.len() + self.unsent.range(..order).count();
        self.applied -= usize::from(at < self.applied);
        self.ended.push(taken.write);
    }

    /// Ends one, and returns it.
    pub fn end(&mut self, number: u64) -> Option<Prediction> {
        let at = self.waiting.iter().position(|entry| entry.number == number)?;
        let ended = self.waiting.remove(at)?;
        self.applied -= usize::from(at < self.applied);
        self.ended.push(ended.write);
        Some(ended)
    }

    /// Ends all that wait, and returns them.
    pub fn end_all(&mut self) -> VecDeque<Prediction> {
        self.ended.extend(self.waiting.iter().map(|prediction| prediction.write));
        self.applied = self.applied.saturating_sub(self.waiting.len());
        std::mem::take(&mut self.waiting)
    }

    fn all(&self) -> impl Iterator<Item = &Prediction> {
        self.waiting.iter().chain(self.unsent.values())
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

    /// Returns what is to be done after the host's cells changed in these parts of chunks, in
    /// voxels. Only new operations are applied if nothing below those that are shown changed.
    pub fn plan(&mut self, grid: &VoxelGrid, changed: &BTreeMap<ChunkPos, Region>) -> Showing {
        let (waiting, unsent) = (&self.waiting, &self.unsent);
        let is_read = |region: &Region| {
            let mut reads =
                waiting.iter().chain(unsent.values()).flat_map(|prediction| prediction.reads);
            reads.any(|read| !read.intersect(*region).is_empty())
        };
        let is_current = match grid.changes_since(&mut self.cursor) {
            Changes::Everything => false,
            Changes::Regions(written) => !written.iter().chain(changed.values()).any(is_read),
        };
        if is_current && self.ended.is_empty() {
            return Showing::From(self.applied);
        }
        let mut regions = std::mem::take(&mut self.ended);
        regions.extend(self.all().map(|prediction| prediction.write));
        Showing::Again(regions)
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

    /// Notes that the changes of the terrain so far are known.
    pub fn skip_changes(&mut self, grid: &VoxelGrid) {
        grid.changes_since(&mut self.cursor);
    }
}
