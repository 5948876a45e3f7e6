//! Undo and redo, by strokes.
//!
//! A stroke is one or more operations, such as all that one press of a button drew. The history
//! keeps the cells that each write changed, as they were; undo swaps them with the present ones,
//! which redo swaps back ("Voxel Terrain: Storage", Roblox, 2017).
//!
//! Worlds have more than one editor. Undoing a stroke restores the cells *that it changed* to what
//! they were before it, even if they were written since, and touches no other cell. Redoing
//! restores what the undo found. So an undo followed by a redo changes nothing, and strokes that do
//! not overlap can be undone in any order.

use super::EditError;
use super::changed::ChangedCells;
use super::patch::{Patch, PatchScratch};
use super::strokes::{Stroke, Strokes};
use super::value_patch::ValuePatch;
use super::volume::{Tally, Volume};
use crate::voxel::{ChannelGrid, Region, VoxelGrid};
use std::fmt;
use std::sync::Arc;

/// The strokes that can be undone and redone, within a budget of bytes.
pub struct History {
    /// Oldest first.
    done: Strokes,
    /// The next one to redo comes last.
    undone: Strokes,
    /// The stroke that operations are added to.
    open: Option<Stroke>,
    /// Which history it is, and its state: what saves compare.
    stamp: HistoryStamp,
    /// Size of the ended strokes.
    bytes: usize,
    /// Maximum of `bytes`.
    budget_bytes: usize,
    /// Strokes dropped to stay within the budget.
    dropped: u64,
    /// What the last operation, undo or redo changed.
    last: ChangedCells,
    /// The volumes of the last undo or redo.
    volumes: Option<Tally>,
    scratch: PatchScratch,
    /// The values of a chunk of a channel.
    values: Vec<u32>,
}

/// Identifies a history and its state.
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

/// A copy of a [`History`] at one moment, which any thread can
/// [write](HistoryCopy::to_bytes). Strokes are shared, not copied.
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

/// Numbers and sizes of a [`History`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HistoryStats {
    /// Strokes that can be undone.
    pub undoable: usize,
    /// Strokes that can be redone.
    pub redoable: usize,
    /// Size of all strokes, bytes.
    pub bytes: usize,
    /// Maximum size, bytes.
    pub budget_bytes: usize,
    /// Strokes dropped to stay within the budget.
    pub dropped: u64,
}

/// All cells that can be undone, as one change.
impl From<History> for ChangedCells {
    fn from(history: History) -> ChangedCells {
        let strokes = history.done.iter().chain(&history.open);
        let mut cells = ChangedCells::default();
        strokes.for_each(|stroke| cells.append(ChangedCells { patches: stroke.patches.clone() }));
        cells
    }
}

impl Default for History {
    /// A budget of 64 MiB.
    fn default() -> History {
        History::new(64 << 20)
    }
}

impl History {
    /// An empty history of at most `budget_bytes` bytes; beyond, the oldest strokes are dropped.
    pub fn new(budget_bytes: usize) -> History {
        History {
            done: Strokes::default(),
            undone: Strokes::default(),
            open: None,
            stamp: HistoryStamp::default(),
            bytes: 0,
            budget_bytes,
            dropped: 0,
            last: ChangedCells::default(),
            volumes: None,
            scratch: PatchScratch::default(),
            values: Vec::new(),
        }
    }

    /// All strokes as they are now, for a save on any thread; an open stroke counts as ended
    /// in the copy and stays open here. Takes microseconds: strokes are shared, not copied.
    pub fn copy(&self) -> HistoryCopy {
        let mut done = self.done.clone();
        if let Some(open) = self.open_stroke() {
            done.push_back(open.clone());
        }
        HistoryCopy { done, undone: self.undone.clone(), stamp: self.stamp.clone() }
    }

    pub(crate) fn stamp(&self) -> &HistoryStamp {
        &self.stamp
    }

    /// The open stroke, if it changed anything.
    fn open_stroke(&self) -> Option<&Stroke> {
        self.open.as_ref().filter(|stroke| !stroke.is_empty())
    }

    /// Numbers and sizes.
    pub fn stats(&self) -> HistoryStats {
        let open = self.open_stroke();
        HistoryStats {
            undoable: self.done.len() + usize::from(open.is_some()),
            redoable: self.undone.len(),
            bytes: self.bytes + open.map_or(0, Stroke::bytes),
            budget_bytes: self.budget_bytes,
            dropped: self.dropped,
        }
    }

    /// Begins a stroke: all operations until [`History::end_stroke`] are undone as one. Ends an
    /// open stroke first.
    ///
    /// ```
    /// # use terravox::{EditOp, Terrain};
    /// # let mut terrain = Terrain::default();
    /// # terrain.hold([-9.0; 3], [9.0; 3], |request| request.fill_sdf(8, |p| -p[1]))?;
    /// terrain.history_mut().begin_stroke();
    /// terrain.edit(&EditOp::dig_ball([0.0; 3], 3.0))?;
    /// terrain.edit(&EditOp::dig_ball([4.0, 0.0, 0.0], 3.0))?;
    /// terrain.history_mut().end_stroke();
    /// terrain.undo()?; // both
    /// assert_eq!(terrain.history_mut().stats().undoable, 0);
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    pub fn begin_stroke(&mut self) {
        self.end_stroke();
        self.open = Some(Stroke::default());
    }

    /// Whether a stroke is open.
    pub fn is_stroke_open(&self) -> bool {
        self.open.is_some()
    }

    /// Ends the open stroke, if any. Strokes without changes are dropped.
    pub fn end_stroke(&mut self) {
        if let Some(stroke) = self.open.take() {
            self.push(stroke);
        }
    }

    /// Drops all strokes, also an open one, which is then closed. Saves treat it as a new history.
    pub fn clear(&mut self) {
        *self = History::new(self.budget_bytes);
    }

    /// Drops the strokes that changed something in a region, in voxels, also an open one. The
    /// others stay: strokes are undone without what was done since.
    pub(crate) fn drop_strokes_in(&mut self, region: Region) {
        self.end_stroke();
        let touches =
            |stroke: &Stroke| stroke.regions().any(|part| !part.intersect(region).is_empty());
        for strokes in [&mut self.done, &mut self.undone] {
            if !strokes.iter().any(touches) {
                continue;
            }
            self.stamp.version += 1;
            let mut kept = Strokes::default();
            for stroke in strokes.iter() {
                match touches(stroke) {
                    true => self.bytes -= stroke.bytes(),
                    false => kept.push_back(stroke.clone()),
                }
            }
            *strokes = kept;
        }
    }

    /// Takes the cells that the last operation, undo or redo changed, as they were before it; none
    /// if it was taken before or changed nothing. The budget does not matter.
    ///
    /// ```
    /// use terravox::edit::{EditOp, Editor, History};
    /// use terravox::voxel::{GridOptions, VoxelGrid};
    ///
    /// let (mut grid, mut history) = (VoxelGrid::new(GridOptions::default()), History::new(0));
    /// let rock = EditOp::fill_ball(8, [0.0; 3], 6.0);
    /// let filled = Editor::default().apply(&mut grid, &rock, &mut history)?;
    /// let before = history.take_last_change();
    /// assert_eq!(before.region(), filled.region);
    /// assert!(history.take_last_change().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_last_change(&mut self) -> ChangedCells {
        std::mem::take(&mut self.last)
    }

    /// Takes the volumes that the last undo or redo removed and added, in this order; empty if there was
    /// none since they were taken.
    pub fn take_last_volumes(&mut self) -> [Volume; 2] {
        let Tally { removed, added } = self.volumes.take().unwrap_or_default();
        [removed, added]
    }

    /// Records what an operation changed. Clears what could be redone.
    pub(super) fn record(&mut self, stroke: Stroke) {
        self.last = ChangedCells { patches: stroke.patches.clone() };
        if stroke.is_empty() {
            return;
        }
        self.stamp.version += 1;
        self.bytes -= std::mem::take(&mut self.undone).iter().map(Stroke::bytes).sum::<usize>();
        match &mut self.open {
            Some(open) => open.append(stroke),
            None => self.push(stroke),
        }
    }

    pub(super) fn push(&mut self, stroke: Stroke) {
        if !stroke.is_empty() {
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
        while self.bytes > self.budget_bytes {
            let Some(oldest) = self.done.pop_front().or_else(|| self.undone.pop_front()) else {
                return;
            };
            self.bytes -= oldest.bytes();
            self.dropped += 1;
        }
    }

    /// The region of the stroke that is undone, or redone, next; empty if there is none.
    pub(crate) fn next_region(&self, is_redo: bool) -> Region {
        let stroke = match is_redo {
            true => self.undone.back(),
            false => self.open_stroke().or(self.done.back()),
        };
        let regions = stroke.iter().flat_map(|stroke| stroke.regions());
        regions.fold(Region::default(), Region::union)
    }

    /// Undoes the last stroke. Returns its region, or `None` if there is nothing to undo. Ends an
    /// open stroke first.
    ///
    /// The cells that the stroke changed get their earlier values, even where others changed them
    /// since; [`Rollback`](super::Rollback) keeps what others did.
    ///
    /// # Errors
    /// [`EditError::NotHeld`] if a chunk is no longer held at mip 0; [`EditError::Invalid`] if the
    /// stroke changed channels, which [`History::undo_with`] takes. Nothing is changed, and the
    /// stroke can be undone later.
    pub fn undo(&mut self, grid: &mut VoxelGrid) -> Result<Option<Region>, EditError> {
        self.swap_last(grid, None, SwapOrder::Backward)
    }

    /// As [`History::undo`], in a world that has channels: the values that the stroke changed become
    /// what they were, too.
    ///
    /// ```
    /// use terravox::edit::{Editor, History, ValueAction, ValueOp};
    /// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelGrid};
    ///
    /// let (mut grid, mut channels) = (VoxelGrid::default(), ChannelGrid::default());
    /// let owner = Channel::values("owner", ChannelWidth::U16, MipRule::MostFrequent);
    /// let owner = channels.declare(owner)?;
    /// let before = channels.snapshot();
    /// let claim = ValueOp::ball(owner, [0.0; 3], 9.0, ValueAction::Set { value: 1207 });
    /// let mut history = History::default();
    /// Editor::default().apply_values(&grid, &mut channels, &claim, &mut history)?;
    /// assert!(history.undo(&mut grid).is_err(), "the values would be lost");
    /// history.undo_with(&mut grid, &mut channels)?;
    /// assert_eq!(channels.snapshot(), before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EditError::NotHeld`] as there; [`EditError::NoChannel`] or [`EditError::Invalid`] if a
    /// channel is not the one that the stroke changed. Nothing is changed.
    pub fn undo_with(
        &mut self,
        grid: &mut VoxelGrid,
        channels: &mut ChannelGrid,
    ) -> Result<Option<Region>, EditError> {
        self.swap_last(grid, Some(channels), SwapOrder::Backward)
    }

    /// As [`History::redo`], in a world that has channels.
    ///
    /// # Errors
    /// As [`History::undo_with`].
    pub fn redo_with(
        &mut self,
        grid: &mut VoxelGrid,
        channels: &mut ChannelGrid,
    ) -> Result<Option<Region>, EditError> {
        self.swap_last(grid, Some(channels), SwapOrder::Forward)
    }

    /// Redoes the last stroke that was undone. Returns as [`History::undo`].
    ///
    /// # Errors
    /// As [`History::undo`].
    pub fn redo(&mut self, grid: &mut VoxelGrid) -> Result<Option<Region>, EditError> {
        self.swap_last(grid, None, SwapOrder::Forward)
    }

    /// Swaps the last stroke with the cells of the grid and the values of channels, and moves it to
    /// the other list.
    fn swap_last(
        &mut self,
        grid: &mut VoxelGrid,
        channels: Option<&mut ChannelGrid>,
        order: SwapOrder,
    ) -> Result<Option<Region>, EditError> {
        self.end_stroke();
        let strokes = match order {
            SwapOrder::Backward => &mut self.done,
            SwapOrder::Forward => &mut self.undone,
        };
        let Some(mut stroke) = strokes.pop_back() else {
            self.last = ChangedCells::default();
            return Ok(None);
        };
        let bytes = stroke.bytes();
        let swapped = stroke.check_values(channels.as_deref()).and_then(|()| {
            let mut volumes = Tally::default();
            let cells = stroke.swap(grid, order, &mut self.scratch, &mut volumes)?;
            self.volumes = Some(volumes);
            // Nothing can fail any more.
            let values =
                channels.map(|channels| stroke.swap_values(channels, order, &mut self.values));
            Ok(cells.union(values.unwrap_or_default()))
        });
        match swapped {
            Ok(region) => {
                self.bytes -= bytes;
                self.last = ChangedCells { patches: stroke.in_order(order) };
                match order {
                    SwapOrder::Backward => self.push_undone(stroke),
                    SwapOrder::Forward => self.push(stroke),
                }
                Ok(Some(region))
            }
            Err(error) => {
                strokes.push_back(stroke);
                Err(error)
            }
        }
    }
}

/// The order in which the patches of a stroke are swapped.
#[derive(Clone, Copy)]
enum SwapOrder {
    /// As they were made: redo.
    Forward,
    /// The last one first: undo.
    Backward,
}

impl Stroke {
    /// The patches in the order in which they were swapped.
    fn in_order(&self, order: SwapOrder) -> Arc<Vec<Patch>> {
        match order {
            SwapOrder::Backward if self.patches.len() > 1 => {
                Arc::new(self.patches.iter().rev().cloned().collect())
            }
            _ => self.patches.clone(),
        }
    }

    /// Returns an error unless there are the channels that the stroke changed.
    fn check_values(&self, channels: Option<&ChannelGrid>) -> Result<(), EditError> {
        match channels {
            Some(channels) => self.values.iter().try_for_each(|patch| patch.check(channels)),
            None if self.values.is_empty() => Ok(()),
            None => Err(EditError::Invalid(
                "the stroke changed channels, which have to be passed: undo_with, redo_with",
            )),
        }
    }

    /// Swaps all patches of channels, which were checked. Returns their region.
    fn swap_values(
        &mut self,
        channels: &mut ChannelGrid,
        order: SwapOrder,
        values: &mut Vec<u32>,
    ) -> Region {
        if self.values.is_empty() {
            return Region::default();
        }
        let patches = Arc::make_mut(&mut self.values);
        match order {
            SwapOrder::Forward => patches.iter_mut().for_each(|p| p.swap(channels, values)),
            SwapOrder::Backward => patches.iter_mut().rev().for_each(|p| p.swap(channels, values)),
        }
        patches.iter().map(ValuePatch::region).fold(Region::default(), Region::union)
    }

    /// Swaps all patches with the cells of the grid, and adds the volumes that this changes to
    /// `volumes`. On an error nothing is changed.
    fn swap(
        &mut self,
        grid: &mut VoxelGrid,
        order: SwapOrder,
        scratch: &mut PatchScratch,
        volumes: &mut Tally,
    ) -> Result<Region, EditError> {
        for patch in self.patches.iter() {
            patch.check_held(grid, scratch)?;
        }
        let mut region = Region::default();
        let patches = Arc::make_mut(&mut self.patches);
        let count = patches.len();
        for i in 0..count {
            let at = match order {
                SwapOrder::Forward => i,
                SwapOrder::Backward => count - 1 - i,
            };
            let patch = &mut patches[at];
            patch.swap_counted(grid, scratch, Some(volumes))?;
            region = region.union(patch.region);
        }
        Ok(region)
    }
}
