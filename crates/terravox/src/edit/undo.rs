//! Undo and redo, by strokes.
//!
//! A stroke is one operation or many: what one press of a button drew. For every box that
//! is written the history keeps the cells that the write changed, as they were; undoing
//! swaps them with what is there, which is then what redoing swaps back ("Voxel Terrain:
//! Storage", Roblox, 2017).
//!
//! Worlds have more than one editor. Undoing a stroke gives the cells *that it changed*
//! what they had before it, whoever has written them since, and touches no other cell.
//! Redoing gives them what the undo found. So undoing and redoing at once changes nothing,
//! and strokes that do not overlap can be undone in any order.

use super::EditError;
use super::apply::check_held;
use super::patch::{Patch, PatchScratch};
use crate::voxel::{Region, VoxelGrid};
use std::collections::VecDeque;

/// The strokes that can be undone and redone, within a budget of bytes.
pub struct History {
    /// Oldest first.
    pub(super) done: VecDeque<Stroke>,
    /// The one to redo next last.
    pub(super) undone: Vec<Stroke>,
    open: Option<Stroke>,
    bytes: usize,
    budget: usize,
    forgotten: u64,
    scratch: PatchScratch,
}

/// The patches of one stroke, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stroke {
    pub patches: Vec<Patch>,
}

/// What a [`History`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

impl Stroke {
    pub fn bytes(&self) -> usize {
        size_of::<Stroke>() + self.patches.iter().map(Patch::bytes).sum::<usize>()
    }
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
        let (done, undone, scratch) = Default::default();
        History { done, undone, open: None, bytes: 0, budget, forgotten: 0, scratch }
    }

    /// What it holds.
    pub fn stats(&self) -> HistoryStats {
        HistoryStats {
            undo: self.done.len() + usize::from(self.open.is_some()),
            redo: self.undone.len(),
            bytes: self.bytes + self.open.as_ref().map_or(0, Stroke::bytes),
            budget: self.budget,
            forgotten: self.forgotten,
        }
    }

    /// Begins a stroke: all operations until [`History::end_stroke`] are undone as one.
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
        self.bytes -= self.undone.drain(..).map(|stroke| stroke.bytes()).sum::<usize>();
        match &mut self.open {
            Some(stroke) => stroke.patches.extend(patches),
            None => self.push(Stroke { patches }),
        }
    }

    pub(super) fn push(&mut self, stroke: Stroke) {
        if !stroke.patches.is_empty() {
            self.bytes += stroke.bytes();
            self.done.push_back(stroke);
            self.keep_budget();
        }
    }

    pub(super) fn push_undone(&mut self, stroke: Stroke) {
        self.bytes += stroke.bytes();
        self.undone.push(stroke);
        self.keep_budget();
    }

    /// Drops the oldest strokes, then those that would be redone last.
    fn keep_budget(&mut self) {
        while self.bytes > self.budget {
            let oldest = match self.done.pop_front() {
                Some(stroke) => stroke,
                None if self.undone.is_empty() => return,
                None => self.undone.remove(0),
            };
            self.bytes -= oldest.bytes();
            self.forgotten += 1;
        }
    }

    /// Undoes the last stroke; answers the region that it is about, or `None` if there is
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

    /// Does the last stroke that was undone again; answers as [`History::undo`].
    ///
    /// # Errors
    /// As [`History::undo`].
    pub fn redo(&mut self, grid: &mut VoxelGrid) -> Result<Option<Region>, EditError> {
        self.end_stroke();
        let Some(mut stroke) = self.undone.pop() else { return Ok(None) };
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
        for patch in &self.patches {
            check_held(grid, patch.region)?;
        }
        let mut region = Region::default();
        let count = self.patches.len();
        for i in 0..count {
            let patch = &mut self.patches[if back { count - 1 - i } else { i }];
            patch.swap(grid, scratch)?;
            region = region.union(patch.region);
        }
        Ok(region)
    }
}
