//! Applying an operation to a grid: read, change, compare, remember, write.
//!
//! Small operations are one box and one write. Large ones go chunk by chunk from a
//! snapshot, so that memory stays bounded and a chunk sees its neighbours as they were;
//! chunks of one material that a brush covers whole are never read.

use super::cellwise::{self, CellScratch, padding};
use super::clip::put;
use super::cost;
use super::op::ONE_BOX;
use super::patch::{ChangedRun, Patch, PatchScratch, bounds_of, changed_runs, tally};
use super::rows::{self, Liquids, RowScratch, row_action};
use super::stamp::{Coverage, Stamp};
use super::strokes::Stroke;
use super::volume::Tally;
use super::{Action, BrushOp, Clip, EditError, EditOp, History, PastePose, Volume};
use super::{EditCost, EditLimits};
use crate::voxel::{
    AIR, DenseBox, Kind, MaterialTable, NotHeld, Region, Snapshot, VoxelGrid, VoxelPos,
};

/// The result of an edit: the changed region and the volumes removed and added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EditSummary {
    /// The smallest region that contains all changed cells; empty if none changed.
    pub region: Region,
    /// What was removed, by material.
    pub removed: Volume,
    /// What was added, by material.
    pub added: Volume,
}

/// Applies operations. Holds reusable buffers besides its limits.
#[derive(Default)]
pub struct Editor {
    /// What one operation may cost.
    pub(super) limits: EditLimits,
    pub(super) old: DenseBox,
    new: DenseBox,
    /// The part of `new` that is written.
    part: DenseBox,
    runs: Vec<ChangedRun>,
    rows: RowScratch,
    cells: CellScratch,
    patch: PatchScratch,
    /// The values of a chunk of a channel, before and after.
    pub(super) values: [Vec<u32>; 2],
}

/// A checked operation, ready to apply.
enum PreparedOp<'a> {
    Brush(&'a BrushOp, Stamp),
    Paste(Clip, &'a PastePose),
}

/// What an operation changed so far.
#[derive(Default)]
struct EditProgress {
    region: Region,
    tally: Tally,
    patches: Vec<Patch>,
}

impl Editor {
    /// An editor that refuses operations beyond `limits`; the default has the default limits.
    pub fn new(limits: EditLimits) -> Editor {
        Editor { limits, ..Editor::default() }
    }

    /// Applies an operation, in voxels. `history`, if given, records what was there: in the open
    /// stroke, else as a stroke of its own.
    ///
    /// # Errors
    /// [`EditError`], [`EditError::TooCostly`] before any work on cells; nothing is then changed.
    pub fn apply<'h>(
        &mut self,
        grid: &mut VoxelGrid,
        op: &EditOp,
        history: impl Into<Option<&'h mut History>>,
    ) -> Result<EditSummary, EditError> {
        self.apply_by(ONE_BOX, grid, op, None, history.into())
    }

    /// As [`Editor::apply`], but writes nothing outside of a region, in voxels. Inside, the cells
    /// are those that the whole operation makes.
    pub(crate) fn apply_within(
        &mut self,
        grid: &mut VoxelGrid,
        op: &EditOp,
        within: Region,
        history: Option<&mut History>,
    ) -> Result<EditSummary, EditError> {
        self.apply_by(ONE_BOX, grid, op, Some(within), history)
    }

    /// Returns what an operation in voxels costs, from its numbers and from coarse mips of the
    /// grid: some microseconds for the dig of a game. Ignores the limits of the editor. The number
    /// is the same on every machine; how far it is from measured times is in `docs/benchmarks.md`
    /// (`edit_estimate_error`). Where more than 65,536 chunks are touched, the grid is not read,
    /// and counts as full of ground.
    ///
    /// ```
    /// use terravox::edit::{EditOp, Editor};
    /// use terravox::voxel::VoxelGrid;
    ///
    /// let (editor, grid) = (Editor::default(), VoxelGrid::default());
    /// let cost = editor.estimate(&grid, &EditOp::fill_ball(8, [0.0; 3], 16.0))?;
    /// assert_eq!((cost.cells, cost.chunks), (32 * 32 * 32, 8));
    /// assert!(cost.work < 3_000_000);
    /// # Ok::<(), terravox::edit::EditError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Editor::apply`], without [`EditError::TooCostly`].
    pub fn estimate(&self, grid: &VoxelGrid, op: &EditOp) -> Result<EditCost, EditError> {
        cost::estimate(op, grid.as_snapshot())
    }

    /// Checks an operation, and that its cost is allowed.
    fn check(&self, grid: &VoxelGrid, op: &EditOp) -> Result<(), EditError> {
        self.price(grid, op, u64::MAX).map(drop)
    }

    /// Returns the estimated cost of an operation, or a higher one, of at most `rough` work; if the
    /// limits allow it.
    pub(crate) fn price(
        &self,
        grid: &VoxelGrid,
        op: &EditOp,
        rough: u64,
    ) -> Result<EditCost, EditError> {
        let limits = self.limits;
        if let EditOp::Brush(op) = op {
            op.check(grid.materials())?;
        }
        let is_enough = |bound: &EditCost| limits.allow(bound) && bound.work <= rough;
        if let Some(bound) = cost::upper_bound(op).filter(is_enough) {
            return Ok(bound);
        }
        let cost = self.estimate(grid, op)?;
        match limits.allow(&cost) {
            true => Ok(cost),
            false => Err(EditError::TooCostly { cost, limits }),
        }
    }

    /// As [`Editor::apply`], chunk by chunk at any size.
    #[cfg(test)]
    pub(super) fn apply_in_pieces(
        &mut self,
        grid: &mut VoxelGrid,
        op: &EditOp,
    ) -> Result<EditSummary, EditError> {
        self.apply_by(0, grid, op, None, None)
    }

    /// Applies an operation, or the part of it within a region, as one box if that has at most
    /// `one_box` cells.
    fn apply_by(
        &mut self,
        one_box: u64,
        grid: &mut VoxelGrid,
        op: &EditOp,
        within: Option<Region>,
        history: Option<&mut History>,
    ) -> Result<EditSummary, EditError> {
        self.check(grid, op)?;
        let prepared = PreparedOp::new(op, grid.as_snapshot())?;
        let (whole, padding) = (prepared.region(), prepared.padding());
        let region = within.map_or(whole, |within| whole.intersect(within));
        if region.is_empty() {
            return Ok(EditSummary::default());
        }
        let needed = region.grow(padding);
        grid.as_snapshot().check_held(needed)?;
        let mut progress = EditProgress::default();
        let remember = history.is_some();
        if region.volume() <= one_box {
            grid.read(needed, 0, &mut self.old)?;
            self.change(&prepared, grid.materials());
            self.commit(grid, region, remember, &mut progress)?;
        } else {
            let before = grid.snapshot();
            for chunk in region.blocks::<5>() {
                let piece = chunk.region().intersect(region);
                if self.load(&prepared, &before, piece, padding)? {
                    self.commit(grid, piece, remember, &mut progress)?;
                }
            }
        }
        if let Some(history) = history {
            history.record(Stroke::of_cells(progress.patches));
        }
        let Tally { removed, added } = progress.tally;
        Ok(EditSummary { region: progress.region, removed, added })
    }

    /// Reads a piece of a large operation into `old` and computes `new`. Returns false if they
    /// cannot differ.
    fn load(
        &mut self,
        prepared: &PreparedOp<'_>,
        before: &Snapshot,
        piece: Region,
        padding: i32,
    ) -> Result<bool, NotHeld> {
        if let Some((old, new)) = prepared.uniform(before, piece)? {
            if old != new {
                self.old.reset(piece);
                self.old.fill(old);
                self.new.reset(piece);
                self.new.fill(new);
            }
            return Ok(old != new);
        }
        if prepared.cover(piece) == Coverage::None {
            return Ok(false);
        }
        before.read(piece.grow(padding), 0, &mut self.old)?;
        self.change(prepared, before.materials());
        Ok(true)
    }

    /// Computes `new` from `old`.
    fn change(&mut self, prepared: &PreparedOp<'_>, materials: &MaterialTable) {
        let kinds = materials.kinds();
        copy_box(&self.old, &mut self.new);
        match prepared {
            PreparedOp::Paste(clip, place) => {
                put(clip, place.at.into(), place.blend, &mut self.new, kinds);
            }
            PreparedOp::Brush(op, stamp) => {
                let action = row_action(op, kinds);
                match action.and_then(|action| Some((action, Liquids::of(&self.old, kinds)?))) {
                    Some((action, liquids)) => {
                        rows::apply(action, stamp, &mut self.new, liquids, &mut self.rows);
                    }
                    None => cellwise::apply(op, stamp, &mut self.new, kinds, &mut self.cells),
                }
            }
        }
    }

    /// Writes what differs between `old` and `new` in `piece`.
    fn commit(
        &mut self,
        grid: &mut VoxelGrid,
        piece: Region,
        remember: bool,
        progress: &mut EditProgress,
    ) -> Result<(), NotHeld> {
        changed_runs(&self.old, &self.new, piece, &mut self.runs);
        let region = bounds_of(&self.runs, self.old.region());
        if region.is_empty() {
            return Ok(());
        }
        tally((&self.old).into(), (&self.new).into(), &self.runs, &mut progress.tally);
        if remember {
            progress.patches.push(Patch::of(&self.old, &self.runs, region, &mut self.patch));
        }
        progress.region = progress.region.union(region);
        if region == self.new.region() {
            return grid.write(&self.new);
        }
        crop(&self.new, region, &mut self.part);
        grid.write(&self.part)
    }
}

/// The cells that an operation may write and reads, in voxels.
pub(crate) struct EditReach {
    pub write: Region,
    /// What it writes, and the cells beside it that the result depends on.
    pub read: Region,
    /// What a copy copies.
    pub source: Option<Region>,
}

impl EditReach {
    /// All that has to be held.
    pub fn regions(&self) -> impl Iterator<Item = Region> {
        [Some(self.read), self.source].into_iter().flatten()
    }
}

impl Editor {
    /// Returns the regions of cells, in voxels, that have to be held to apply an operation in
    /// voxels: what it may write, the cells beside that on which the result depends, and what a
    /// copy copies. For programs that make or load the ground of an edit first.
    ///
    /// ```
    /// use terravox::edit::{EditOp, Editor};
    /// use terravox::voxel::VoxelGrid;
    ///
    /// let dig = EditOp::dig_ball([0.0; 3], 16.0);
    /// let needed = Editor::default().cells_needed(&VoxelGrid::default(), &dig)?;
    /// assert!(needed[0].contains_region(dig.region()?));
    /// # Ok::<(), terravox::edit::EditError>(())
    /// ```
    ///
    /// # Errors
    /// If the operation is invalid, or has more cells or chunks than the limits of the editor
    /// allow.
    pub fn cells_needed(&self, grid: &VoxelGrid, op: &EditOp) -> Result<Vec<Region>, EditError> {
        Ok(self.reach(grid, op)?.regions().collect())
    }

    /// Returns what an operation in voxels reaches, without a look at cells; within the limits on
    /// cells and chunks.
    pub(crate) fn reach(&self, grid: &VoxelGrid, op: &EditOp) -> Result<EditReach, EditError> {
        if let EditOp::Brush(op) = op {
            op.check(grid.materials())?;
        }
        let write = op.region()?;
        let (padding, source) = match op {
            EditOp::Brush(op) => (padding(op), None),
            EditOp::Copy(op) => (0, Some(Region::new(op.from, op.to))),
            EditOp::Paste(_) => (0, None),
        };
        let read = write.grow(padding);
        let reach = EditReach { write, read, source };
        let cost = EditCost {
            cells: reach.regions().map(Region::volume).fold(0, u64::saturating_add),
            chunks: reach.regions().map(|r| r.coarser(5).volume()).fold(0, u64::saturating_add),
            work: 0,
        };
        match self.limits.allow(&cost) {
            true if read.within_limits() => Ok(reach),
            true => Err(EditError::BeyondLimits(read)),
            false => Err(EditError::TooCostly { cost, limits: self.limits }),
        }
    }
}

impl<'a> PreparedOp<'a> {
    /// Prepares an operation that was estimated, and so checked.
    fn new(op: &'a EditOp, grid: &Snapshot) -> Result<PreparedOp<'a>, EditError> {
        let paste = |clip: &Clip, place: &'a PastePose| -> Result<PreparedOp<'a>, EditError> {
            Ok(PreparedOp::Paste(clip.placed(place)?, place))
        };
        match op {
            EditOp::Brush(op) => {
                // Paint is all or nothing.
                let whole = matches!(op.action, Action::Paint { .. } | Action::Replace { .. });
                let strength = if whole { 1.0 } else { op.strength };
                Ok(PreparedOp::Brush(op, Stamp::new(&op.brush, op.falloff, strength)?))
            }
            EditOp::Copy(op) => paste(&Clip::copy(grid, Region::new(op.from, op.to))?, &op.pose),
            EditOp::Paste(op) => paste(&op.clip, &op.pose),
        }
    }

    fn region(&self) -> Region {
        match self {
            PreparedOp::Brush(_, stamp) => stamp.region,
            PreparedOp::Paste(clip, place) => {
                let min = VoxelPos::from(place.at);
                Region { min, max: min + clip.cells().region().max }
            }
        }
    }

    fn padding(&self) -> i32 {
        match self {
            PreparedOp::Brush(op, _) => padding(op),
            PreparedOp::Paste(..) => 0,
        }
    }

    fn cover(&self, piece: Region) -> Coverage {
        match self {
            PreparedOp::Brush(_, stamp) => stamp.cover(piece),
            PreparedOp::Paste(..) => Coverage::Some,
        }
    }

    /// For a chunk of one material that the brush covers completely: the material before and
    /// after. `None` if the cells have to be read.
    fn uniform(&self, before: &Snapshot, piece: Region) -> Result<Option<(u8, u8)>, NotHeld> {
        let PreparedOp::Brush(op, stamp) = self else { return Ok(None) };
        let chunk = piece.min.chunk();
        let Some(old) = before.chunk(chunk)?.uniform_material() else { return Ok(None) };
        let solid = |material| before.materials().kind(material) == Kind::Solid;
        if chunk.region() != piece || !op.mask.accepts_all() || stamp.cover(piece) != Coverage::All
        {
            return Ok(None);
        }
        Ok(match op.action {
            Action::Fill { material } if solid(material) && !solid(old) => Some((old, material)),
            Action::Fill { material } if solid(material) => Some((old, old)),
            Action::Dig if solid(old) => Some((old, AIR)),
            Action::Dig => Some((old, old)),
            _ => None,
        })
    }
}

/// Copies `from` to `to`, reusing its memory.
fn copy_box(from: &DenseBox, to: &mut DenseBox) {
    if to.region().size() != from.region().size() {
        to.reset(from.region());
    }
    to.move_to(from.region().min);
    let (material, occupancy) = to.arrays_mut();
    material.copy_from_slice(from.materials());
    occupancy.copy_from_slice(from.occupancies());
    if !(to.water().is_empty() && from.water().is_empty()) {
        to.set_all_water(from.water().to_vec());
    }
}

/// Copies the part of `from` in `region` to `to`.
fn crop(from: &DenseBox, region: Region, to: &mut DenseBox) {
    if to.region().size() != region.size() {
        to.reset(region);
    }
    to.move_to(region.min);
    let (width, [row, _, depth]) = (region.size()[0], from.region().size());
    let off = region.min - from.region().min;
    let (material, occupancy) = to.arrays_mut();
    let targets = material.chunks_exact_mut(width).zip(occupancy.chunks_exact_mut(width));
    for ((m, o), at) in targets.zip(region_rows(region)) {
        let start =
            off.x as usize + row * ((off.z + at[1]) as usize + depth * (off.y + at[0]) as usize);
        m.copy_from_slice(&from.materials()[start..start + width]);
        o.copy_from_slice(&from.occupancies()[start..start + width]);
    }
    if !(to.water().is_empty() && from.water().is_empty()) {
        let held = from.water().iter().filter_map(|&(i, held)| {
            let (i, slice) = (i as usize, row * depth);
            let at = [i % row, i / slice, i / row % depth].map(|v| v as i32);
            let pos = from.region().min + VoxelPos::from(at);
            region.contains(pos).then(|| (to.index(pos) as u32, held))
        });
        let held = held.collect();
        to.set_all_water(held);
    }
}

/// (y, z) of the rows of a region, from its min corner.
fn region_rows(region: Region) -> impl Iterator<Item = [i32; 2]> {
    let [_, high, deep] = region.size().map(|v| v as i32);
    (0..high).flat_map(move |y| (0..deep).map(move |z| [y, z]))
}
