//! The changes that others made to the grid: which leaves look different after them.

use super::chosen::ChosenFor;
use super::draft::{HasTime, PlanDraft};
use super::dry::{DryLeaves, is_any_wet};
use super::neighbour_change::NeighbourChange;
use super::view::LodView;
use crate::voxel::{ChunkPos, MipBlock, Region, VoxelGrid, VoxelPos};
use std::collections::BTreeSet;

/// Rounds after an edit in which another is likely.
const EDITING_ROUNDS: u64 = 120;

impl LodView {
    /// Reads the changes that others made to the grid.
    pub(super) fn read_changes(&mut self, grid: &VoxelGrid) {
        match (self.residency.changes(grid, self.next_tiling.is_some()), &mut self.changed) {
            (Some(regions), Some(changed)) => {
                if !regions.is_empty() {
                    self.edit_round = Some(self.fills.rounds());
                }
                changed.extend(regions);
            }
            _ => self.changed = None,
        }
        if self.residency.take_dropped() {
            self.chosen_for = ChosenFor::Unfinished;
            self.restart_next_tiling();
        }
    }

    /// Whether all changes of the grid were taken into plans.
    pub(crate) fn has_read_changes(&self, grid: &VoxelGrid) -> bool {
        let is_planned = self.changed.as_ref().is_some_and(Vec::is_empty);
        is_planned && self.arrived.is_empty() && grid.version() == self.residency.version()
    }

    /// Whether others changed cells a moment ago.
    pub(super) fn is_editing(&self) -> bool {
        self.edit_round.is_some_and(|round| self.fills.rounds() - round < EDITING_ROUNDS)
    }

    /// Adds the leaves that edits reach to the draft, while there is time. Returns whether it
    /// finished. With `shows_all`, listed chunks become leaves.
    pub(super) fn take_changes(
        &mut self,
        grid: &VoxelGrid,
        shows_all: bool,
        draft: &mut PlanDraft,
        has_time: HasTime<'_>,
    ) -> bool {
        self.read_changes(grid);
        let edits = self.changed.replace(Vec::new());
        let mut held = std::mem::take(&mut self.arrived);
        let has_edits = edits.as_ref().is_some_and(|regions| !regions.is_empty());
        self.edit_count += u64::from(has_edits);
        match &edits {
            None => self.chosen_for = ChosenFor::Unfinished,
            Some(edits) if has_edits || !held.is_empty() => {
                self.chosen_for.add_written(&[&edits[..], &held].concat());
            }
            _ => {}
        }
        if shows_all {
            let changed: BTreeSet<MipBlock> = match &edits {
                Some(edits) => {
                    let regions = edits.iter().chain(&held);
                    regions.flat_map(|r| r.blocks::<5>()).map(MipBlock::from).collect()
                }
                None => grid
                    .chunks()
                    .into_iter()
                    .map(MipBlock::from)
                    .chain(self.tiling.leaves())
                    .collect(),
            };
            changed.into_iter().for_each(|chunk| self.update_listed(grid, chunk, draft));
        }
        let Some(mut edits) = edits else {
            self.tiling.leaves().for_each(|leaf| draft.add(leaf));
            return true;
        };
        let leaves = draft.rebuild.len();
        let mut is_finished = self.add_reached(grid, &mut edits, draft, has_time);
        draft.edited += draft.rebuild.len() - leaves;
        is_finished = is_finished && self.add_reached(grid, &mut held, draft, has_time);
        // What there was no time for comes next.
        (self.changed, self.arrived) = (Some(edits), held);
        is_finished
    }

    /// Returns how many mips coarser than its own the cells may be on which a mesh depends.
    pub(super) fn extra_mips(&self) -> u8 {
        1 + u8::from(self.options.morph)
    }

    /// Adds the leaves whose mesh depends on changed regions to the draft, while there is time, and
    /// takes those regions away. Returns whether it finished.
    pub(super) fn add_reached(
        &self,
        grid: &VoxelGrid,
        regions: &mut Vec<Region>,
        draft: &mut PlanDraft,
        has_time: HasTime<'_>,
    ) -> bool {
        let extra_mips = self.extra_mips();
        let is_wet = self.has_water || is_any_wet(grid.as_snapshot(), regions);
        let (snapshot, mut dry) = (grid.snapshot(), DryLeaves::default());
        while let Some(region) = regions.pop() {
            if is_wet {
                let (shown, tiling) = (&self.shown, &self.tiling);
                // A shore that is gone is still in the mesh that is shown.
                let was_wet =
                    |leaf: &MipBlock| shown.get(leaf).is_some_and(|mesh| !mesh.liquid.is_empty());
                tiling.reached_by_shores(region, extra_mips, &mut |leaf, is_near| {
                    if is_near
                        || draft.rebuild.contains(&leaf)
                        || was_wet(&leaf)
                        || !dry.contains(&snapshot, tiling, leaf)
                    {
                        draft.add(leaf);
                    }
                });
            } else {
                self.tiling.reached_by(region, extra_mips, &mut |leaf| draft.add(leaf));
            }
            if !regions.is_empty() && !has_time() {
                return false;
            }
        }
        true
    }

    /// Makes a chunk a leaf if it is listed, and removes it if not.
    fn update_listed(&mut self, grid: &VoxelGrid, chunk: MipBlock, draft: &mut PlanDraft) {
        let VoxelPos { x, y, z } = chunk.pos;
        let is_listed = grid.is_listed(ChunkPos::new(x, y, z));
        if is_listed == self.tiling.has(chunk) {
            return;
        }
        if is_listed {
            self.tiling.insert(chunk);
            self.add_leaf(grid.as_snapshot(), chunk, draft);
        } else {
            self.tiling.remove(chunk, &mut |leaf| draft.remove(leaf));
        }
        self.invalidate_neighbours(grid.as_snapshot(), NeighbourChange::of(chunk), draft);
    }
}
