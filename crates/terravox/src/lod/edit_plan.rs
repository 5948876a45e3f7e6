//! Edits ahead of the stream: while a plan of many steps is meshed, what a player digs elsewhere
//! gets a plan of its own, which is shown first.
//!
//! Such a plan changes no block's mip, only meshes. It is right at once, whatever the other plan
//! has yet to show, if nothing depends on both: no block that the edit reaches is reached by a step
//! of the other plan, or the other way round. Where that fails, the edit waits for the next plan.

use super::active_plan::ActivePlan;
use super::draft::{PlanDraft, Planning, Stage};
use super::tiling::Tiling;
use super::view::LodView;
use crate::voxel::{MipBlock, Region, VoxelGrid};

/// The most changed regions for which a plan of their own is tried.
const MAX_EDIT_REGIONS: usize = 32;

impl LodView {
    /// Begins a plan of what edits changed since the last plan, if it can be shown before the plan
    /// in progress.
    pub(crate) fn begin_edit_plan(&mut self, grid: &VoxelGrid) {
        if self.edit_plan.is_some() {
            return;
        }
        if grid.version() != self.residency.version() {
            self.read_changes(grid);
        }
        let is_waiting = self.changed.as_ref().is_none_or(|regions| !regions.is_empty());
        if !is_waiting || self.has_late_edits || self.owes_stream() {
            return;
        }
        let Some((draft, regions)) = self.plan_edits(grid) else {
            self.has_late_edits = true;
            return;
        };
        self.changed = Some(Vec::new());
        self.chosen_for.add_written(&regions);
        self.edit_count += 1;
        self.edit_plan = self.new_plan(grid, draft, &self.selector(&[], false));
        self.owed_jobs = self.edit_plan.as_ref().map_or(0, |plan| plan.blocks.len());
        self.owes_planning = self.edit_plan.is_some();
    }

    /// Counts a job of anything but the edit plan.
    pub(super) fn pay_job(&mut self) {
        self.owed_jobs = self.owed_jobs.saturating_sub(1);
    }

    /// Whether streaming must go on before the next edit plan.
    fn owes_stream(&self) -> bool {
        let has_queue = |plan: &ActivePlan| !plan.queue.is_empty();
        let has_jobs = self.active_plan.as_ref().is_some_and(has_queue) || self.fills.has_queued();
        self.owes_planning || (self.owed_jobs > 0 && has_jobs)
    }

    /// Returns what the waiting edits change, and where; `None` if they have to wait for the next
    /// plan, together with its steps.
    fn plan_edits(&mut self, grid: &VoxelGrid) -> Option<(PlanDraft, Vec<Region>)> {
        let mut regions = self.changed.clone()?;
        // Without viewers, an edit may list a chunk, which is then a new leaf.
        if !self.has_viewers || self.is_committing() {
            return None;
        }
        let (mut draft, mut planned) = (PlanDraft::default(), 0);
        // Chunks that arrived nearby are shown with them, and so on.
        while planned < regions.len() {
            if regions.len() > MAX_EDIT_REGIONS {
                return None;
            }
            self.add_reached(grid, &mut regions[planned..].to_vec(), &mut draft, &mut || true);
            planned = regions.len();
            let extra_mips = self.extra_mips();
            let meets = |region: &&Region| {
                let reaches = |&block| Tiling::may_reach(**region, block, extra_mips);
                !regions.contains(region) && draft.rebuild.iter().any(reaches)
            };
            let more: Vec<Region> = self.arrived.iter().filter(meets).copied().collect();
            regions.extend(more);
        }
        if draft.rebuild.len() > self.options.jobs_per_plan || self.depends(&draft, &regions) {
            return None;
        }
        self.arrived.retain(|region| !regions.contains(region));
        Some((draft, regions))
    }

    /// Whether cells of the next tiling are being written.
    fn is_committing(&self) -> bool {
        let is_commit = |planning: &Planning| matches!(planning.stage, Stage::Commit { .. });
        self.planning.as_ref().is_some_and(is_commit)
    }

    /// Whether the blocks that edits of `regions` reach depend on what is planned but not shown, or
    /// vice versa.
    fn depends(&self, edits: &PlanDraft, regions: &[Region]) -> bool {
        let extra_mips = self.extra_mips();
        let reaches = |region: Region, block| Tiling::may_reach(region, block, extra_mips);
        let meets = |unshown: Region| edits.rebuild.iter().any(|&block| reaches(unshown, block));
        let is_changed = |&block: &MipBlock| {
            meets(block.voxels()) || regions.iter().any(|&region| reaches(region, block))
        };
        let is_rebuilt = |block: &MipBlock| edits.rebuild.contains(block);
        let planning = self.planning.as_ref().map(|planning| &planning.draft);
        let is_in_draft = |draft: &PlanDraft| {
            draft.rebuild.iter().any(is_rebuilt) || draft.retiled.any(is_changed)
        };
        let is_in_plan =
            |plan: &ActivePlan| plan.blocks.iter().any(is_rebuilt) || plan.retiled.any(is_changed);
        planning.is_some_and(is_in_draft) || self.active_plan.as_ref().is_some_and(is_in_plan)
    }
}
