//! Undo and redo, by strokes.
//!
//! A stroke is one operation or many: what one press of a button drew. For every box that
//! is written the history keeps the cells that the write changed, as they were; undoing
//! swaps them with what is there, which is then what redoing swaps back ("Voxel Terrain:
//! Storage", Roblox, 2017).
//!
//! Worlds have more than one editor. Undoing a stroke gives the cells *that it changed*
//! what they had before it, whatever was written to them since, and touches no other cell.
//! Redoing gives them what the undo found. So undoing and redoing at once changes nothing,
//! and strokes that do not overlap can be undone in any order.

use super::EditError;
use super::apply::check_held;
use super::patch::{Patch, PatchScratch};
use super::strokes::{Stroke, Strokes};
use crate::voxel::{Region, VoxelGrid};
use std::fmt;
use std::sync::Arc;

/// The strokes that can be undone and redone, within a budget of bytes.
pub struct History {
    /// Oldest first.
    done: Strokes,
    /// The one to redo next last.
    undone: Strokes,
    open: Option<Stroke>,
    stamp: HistoryStamp,
    bytes: usize,
    budget: usize,
    forgotten: u64,
    scratch: PatchScratch,
}

/// Which history, and how often it has changed.
#[derive(Clone, Default)]
pub(crate) struct HistoryStamp {
    history: Arc<()>,
    version: u64,
}

impl HistoryStamp {
    /// Whether this is the same history, at the same state or a later one than `other`.
    pub fn is_same_or_later(&self, other: &HistoryStamp) -> bool {
        Arc::ptr_eq(&self.history, &other.history) && self.version >= other.version
    }
}

/// What can be undone and redone at one moment: plain data that shares its strokes with the
/// [`History`], to be [written](HistoryCopy::to_bytes) by any thread.
#[derive(Clone)]
pub struct HistoryCopy {
    pub(super) done: Strokes,
    pub(super) undone: Strokes,
    pub(crate) stamp: HistoryStamp,
}

impl fmt::Debug for HistoryCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("HistoryCopy");
        debug.field("undo", &self.done.len()).field("redo", &self.undone.len()).finish()
    }
}

/// What a [`History`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HistoryStats {
    /// Strokes that can be undone.
    pub undo: usize,
    /// Strokes that can be redone.
    pub redo: usize,
    /// Bytes of all of them.
    pub bytes: usize,
    /// Bytes that they may take.
    pub budget: usize,
    /// Strokes that were dropped as the budget was full.
    pub forgotten: u64,
}

impl Default for History {
    /// A budget of 64 MiB.
    fn default() -> History {
        History::new(64 << 20)
    }
}

impl History {
    /// An empty history of at most `budget` bytes; the oldest strokes go first.
    pub fn new(budget: usize) -> History {
        let (done, undone, stamp, scratch) = Default::default();
        History { done, undone, open: None, stamp, bytes: 0, budget, forgotten: 0, scratch }
    }

    /// All strokes as they are now, for a save on any thread; an open stroke counts as ended
    /// in the copy and stays open here. Takes microseconds: strokes are shared, not copied.
    pub fn copy(&self) -> HistoryCopy {
        let mut done = self.done.clone();
        if let Some(open) = self.open.as_ref().filter(|stroke| !stroke.patches.is_empty()) {
            done.push_back(open.clone());
        }
        HistoryCopy { done, undone: self.undone.clone(), stamp: self.stamp.clone() }
    }

    pub(crate) fn stamp(&self) -> &HistoryStamp {
        &self.stamp
    }

    /// What it holds.
    pub fn stats(&self) -> HistoryStats {
        // One that changed nothing is no stroke.
        let open = self.open.as_ref().filter(|stroke| !stroke.patches.is_empty());
        HistoryStats {
            undo: self.done.len() + usize::from(open.is_some()),
            redo: self.undone.len(),
            bytes: self.bytes + open.map_or(0, Stroke::bytes),
            budget: self.budget,
            forgotten: self.forgotten,
        }
    }

    /// Begins a stroke: all operations until [`History::end_stroke`] are undone as one. Ends the
    /// one that is open, if any.
    pub fn begin_stroke(&mut self) {
        self.end_stroke();
        self.open = Some(Stroke::default());
    }

    /// Whether a stroke is open.
    pub fn is_stroke_open(&self) -> bool {
        self.open.is_some()
    }

    /// Ends the stroke that is open, if one is. One that changed nothing is no stroke.
    pub fn end_stroke(&mut self) {
        if let Some(stroke) = self.open.take() {
            self.push(stroke);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = History::new(self.budget);
    }

    /// Adds what an operation changed. What was undone cannot be redone after that.
    pub(super) fn record(&mut self, patches: Vec<Patch>) {
        if patches.is_empty() {
            return;
        }
        self.stamp.version += 1;
        self.bytes -= std::mem::take(&mut self.undone).iter().map(Stroke::bytes).sum::<usize>();
        match &mut self.open {
            Some(stroke) => Arc::make_mut(&mut stroke.patches).extend(patches),
            None => self.push(Stroke::new(patches)),
        }
    }

    pub(super) fn push(&mut self, stroke: Stroke) {
        if !stroke.patches.is_empty() {
            self.stamp.version += 1;
            self.bytes += stroke.bytes();
            self.done.push_back(stroke);
            self.keep_budget();
        }
    }

    pub(super) fn push_undone(&mut self, stroke: Stroke) {
        self.stamp.version += 1;
        self.bytes += stroke.bytes();
        self.undone.push_back(stroke);
        self.keep_budget();
    }

    /// Drops the oldest strokes, then those that would be redone last.
    fn keep_budget(&mut self) {
        while self.bytes > self.budget {
            let Some(oldest) = self.done.pop_front().or_else(|| self.undone.pop_front()) else {
                return;
            };
            self.bytes -= oldest.bytes();
            self.forgotten += 1;
        }
    }

    /// Undoes the last stroke; returns the region that it is about, or `None` if there is
    /// nothing to undo. Ends the stroke that is open.
    ///
    /// # Errors
    /// [`EditError::NotHeld`] if a chunk is not held at mip 0 any more; then nothing is
    /// changed and the stroke stays.
    pub fn undo(&mut self, grid: &mut VoxelGrid) -> Result<Option<Region>, EditError> {
        self.end_stroke();
        let Some(mut stroke) = self.done.pop_back() else { return Ok(None) };
        self.bytes -= stroke.bytes();
        let swapped = stroke.swap(grid, true, &mut self.scratch);
        match swapped {
            Ok(_) => self.push_undone(stroke),
            Err(_) => self.push(stroke),
        }
        swapped.map(Some)
    }

    /// Does the last stroke that was undone again; returns as [`History::undo`].
    ///
    /// # Errors
    /// As [`History::undo`].
    pub fn redo(&mut self, grid: &mut VoxelGrid) -> Result<Option<Region>, EditError> {
        self.end_stroke();
        let Some(mut stroke) = self.undone.pop_back() else { return Ok(None) };
        self.bytes -= stroke.bytes();
        let swapped = stroke.swap(grid, false, &mut self.scratch);
        match swapped {
            Ok(_) => self.push(stroke),
            Err(_) => self.push_undone(stroke),
        }
        swapped.map(Some)
    }
}

impl Stroke {
    /// Swaps all patches with what is there, the last first if it goes `back`.
    fn swap(
        &mut self,
        grid: &mut VoxelGrid,
        back: bool,
        scratch: &mut PatchScratch,
    ) -> Result<Region, EditError> {
        for patch in self.patches.iter() {
            check_held(grid.as_snapshot(), patch.region)?;
        }
        let mut region = Region::default();
        let patches = Arc::make_mut(&mut self.patches);
        let count = patches.len();
        for i in 0..count {
            let patch = &mut patches[if back { count - 1 - i } else { i }];
            patch.swap(grid, scratch)?;
            region = region.union(patch.region);
        }
        Ok(region)
    }
}
