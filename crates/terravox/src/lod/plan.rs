//! Planning: takes the next steps whose cells are there, and collects every leaf that looks
//! different afterwards or that an edit reaches (`changes`).
//!
//! Planning runs in slices: it can pause between any two tasks and continue later. Edits made
//! meanwhile are added to the draft.

use super::chosen::{ChosenFor, is_touched};
use super::draft::{HasTime, PlanDraft, Planning, Stage};
use super::mesh_job::MeshJob;
use super::neighbour_change::{LeafSurroundings, NeighbourChange};
use super::residency::has_no_faces;
use super::selection::{LodStep, LodViewer, RankedStep, Selector};
use super::tiling::Tiling;
use super::view::LodView;
use crate::voxel::{MipBlock, Region, Snapshot, VoxelGrid};
use rustc_hash::FxHashSet;

/// Blocks requested before the choice is made again.
const MAX_WANTED: usize = 256;

/// Passes of a choice within one plan. Each pass goes one level down.
const MAX_PASSES: usize = 16;

impl LodView {
    /// Returns the jobs of the next plan: none while another plan is active, or if there is nothing
    /// to do, or only cells to wait for. Without viewers all listed chunks are shown at mip 0. If
    /// [`LodView::is_planned`] afterwards, the results must be published, even of no jobs.
    pub fn plan(&mut self, grid: &mut VoxelGrid, viewers: &[LodViewer]) -> Vec<MeshJob> {
        if self.is_planned() {
            return Vec::new();
        }
        self.advance_stream(grid, viewers, &mut || true);
        self.jobs_of_plan()
    }

    /// Plans while there is time: first what was edited, which may be shown before the plan in
    /// progress. Requests the chunks near the viewers, which wait for no plan. Returns whether
    /// planning finished; [`LodView::is_planned`] then says whether there is anything to mesh.
    pub(crate) fn advance(
        &mut self,
        grid: &mut VoxelGrid,
        viewers: &[LodViewer],
        has_time: HasTime<'_>,
    ) -> bool {
        self.begin_edit_plan(grid);
        // A step relies on meshes that are up to date.
        self.edit_plan.is_some() || self.advance_stream(grid, viewers, has_time)
    }

    fn advance_stream(
        &mut self,
        grid: &mut VoxelGrid,
        viewers: &[LodViewer],
        has_time: HasTime<'_>,
    ) -> bool {
        let selector = self.selector(viewers, true);
        let shows_all = viewers.is_empty();
        if selector.viewers.is_empty() && !shows_all {
            // No viewer has a valid position: what is shown stays, and edits of it show.
            self.owes_planning = false;
            self.has_late_edits &= self.active_plan.is_some();
            return true;
        }
        if !shows_all {
            self.fills.list_near(grid.as_snapshot(), &selector);
            self.hold_staged_near(grid, has_time);
        }
        if self.active_plan.is_some() {
            self.owes_planning = false;
            return true;
        }
        let mut planning = match self.planning.take() {
            Some(planning) if planning.selector.viewers.is_empty() == shows_all => planning,
            other => {
                let mut draft = other.map_or_else(PlanDraft::default, |planning| planning.draft);
                self.set_mode(shows_all, &mut draft);
                Planning::new(selector.clone(), draft)
            }
        };
        // Must follow the last write before the draft is finished.
        if !self.take_changes(grid, shows_all, &mut planning.draft, has_time) {
            self.planning = Some(planning);
            return false;
        }
        if std::mem::take(&mut self.is_choice_stale) {
            planning.next_draft = PlanDraft::default();
            planning.stage = Stage::Roots;
        }
        let is_stale = !self.chosen_for.is_complete_for(&selector)
            || self.stuck_roots.is_any_due(self.fills.rounds());
        let has_arrivals = self.fills.has_arrivals(self.next_tiling.is_some());
        if matches!(planning.stage, Stage::Roots) && (shows_all || !(is_stale || has_arrivals)) {
            planning.stage = Stage::Done;
        }
        let is_chosen = self.choose(grid, &mut planning, has_time);
        self.end_planning(grid, planning, is_chosen)
    }

    /// Makes a plan of what is chosen. If that is not all (`is_chosen`), only if there are edits
    /// among it, which do not wait; the choice goes on later. Returns whether planning finished.
    fn end_planning(
        &mut self,
        grid: &mut VoxelGrid,
        mut planning: Planning,
        is_chosen: bool,
    ) -> bool {
        let is_cut = !is_chosen && planning.draft.edited > 0 && self.next_tiling.is_none();
        if is_cut {
            self.end_step(grid, &mut planning);
        }
        self.residency.skip_own_changes(grid);
        if is_chosen || is_cut {
            let draft = planning.draft.split_off();
            self.active_plan = self.new_plan(grid, draft, &planning.selector);
            self.has_late_edits = false;
            self.owes_planning = false;
        }
        if !is_chosen {
            self.planning = Some(planning);
        }
        is_chosen || is_cut
    }

    /// Ends the step that was begun, whatever time it takes: what is planned so far can then be
    /// shown.
    fn end_step(&mut self, grid: &mut VoxelGrid, planning: &mut Planning) {
        let Planning { draft, stage, .. } = planning;
        if let Stage::Take { tasks, has_stepped, .. } = stage {
            while let Some(task) = tasks.pop() {
                *has_stepped |= self.run_task(grid, task, tasks, draft);
            }
        }
    }

    /// Without viewers, starts over with all listed chunks; with them, keeps what is shown as an
    /// island until the next tiling covers the view.
    fn set_mode(&mut self, shows_all: bool, draft: &mut PlanDraft) {
        let max_mip = self.options.max_mip;
        if shows_all && (self.tiling.top() != 0 || self.next_tiling.is_some() || self.has_viewers) {
            self.tiling.leaves().for_each(|leaf| draft.remove(leaf));
            self.tiling = Tiling::new(0);
            draft.retiled.add_all();
            self.next_tiling = None;
            self.chosen_for = ChosenFor::Unfinished;
            self.changed = None;
        } else if !shows_all && !self.has_viewers {
            self.next_tiling = (max_mip > 0).then(|| Tiling::new(max_mip));
            self.has_left_island = false;
            self.first_round = self.fills.rounds();
            self.chosen_for = ChosenFor::Unfinished;
        }
        self.has_viewers = !shows_all;
        self.has_planned = true;
    }

    /// Chooses what to show, while there is time. Returns whether it finished.
    fn choose(
        &mut self,
        grid: &mut VoxelGrid,
        planning: &mut Planning,
        has_time: HasTime<'_>,
    ) -> bool {
        if self.next_tiling.is_none() {
            return self.choose_steps(grid, planning, has_time);
        }
        loop {
            match &mut planning.stage {
                Stage::Commit { blocks } => {
                    while let Some(block) = blocks.pop() {
                        self.residency.commit(grid, block);
                        if !has_time() {
                            return false;
                        }
                    }
                    self.replace_island(&mut planning.draft);
                    planning.stage = Stage::Done;
                    return true;
                }
                Stage::Done => {
                    let Planning { selector, draft, .. } = &mut *planning;
                    let near = selector.limited_to_near();
                    if self.awaits_roots() {
                        return true;
                    }
                    if !self.needs_no_island(&near) {
                        if !self.update_island(grid, &near, draft, has_time) {
                            return false;
                        }
                        if !self.can_replace_island(grid, &near) {
                            return true;
                        }
                    }
                    let next = self.next_tiling.iter().flat_map(Tiling::nodes);
                    let mut blocks: Vec<MipBlock> = next.collect();
                    blocks.sort_unstable();
                    planning.stage = Stage::Commit { blocks };
                }
                _ => {
                    // Nothing of the next tiling is meshed, or even in the grid, before it covers
                    // the island.
                    self.swap_tilings();
                    std::mem::swap(&mut planning.draft, &mut planning.next_draft);
                    self.is_choosing_next = true;
                    let is_finished = self.choose_steps(grid, planning, has_time);
                    self.is_choosing_next = false;
                    std::mem::swap(&mut planning.draft, &mut planning.next_draft);
                    self.swap_tilings();
                    if !is_finished {
                        return false;
                    }
                }
            }
        }
    }

    /// Takes the next steps, as many as fit a plan, while there is time. Returns whether it
    /// finished.
    fn choose_steps(
        &mut self,
        grid: &mut VoxelGrid,
        planning: &mut Planning,
        has_time: HasTime<'_>,
    ) -> bool {
        loop {
            let Planning { selector, draft, stage, passes, edits, looks_at, .. } = &mut *planning;
            match stage {
                Stage::Roots => {
                    *edits = self.edit_count;
                    *looks_at = self.regions_to_look_at(selector, *passes);
                    let steps = self.choose_roots(grid, selector, draft);
                    let nodes = self.tiling.roots().collect();
                    *stage = Stage::Collect { nodes, steps };
                }
                Stage::Collect { nodes, steps } => {
                    let Some(node) = nodes.pop() else {
                        let mut steps = std::mem::take(steps);
                        steps.sort_unstable_by(RankedStep::order);
                        let (steps, tasks) = (steps.into_iter(), Vec::new());
                        *stage = Stage::Take { steps, tasks, has_stepped: false };
                        continue;
                    };
                    if looks_at.as_ref().is_some_and(|regions| !is_touched(node, regions)) {
                        continue;
                    }
                    match self.step_at(grid.as_snapshot(), selector, node) {
                        Some(step) => steps.push(step),
                        None if self.tiling.is_leaf(node) => {}
                        None => nodes.extend(node.children()),
                    }
                }
                Stage::Take { steps, tasks, has_stepped } => {
                    let is_full = !self.is_choosing_next
                        && draft.is_full(self.options.jobs_per_plan, self.is_editing());
                    // Farther steps wait until the cells of nearer ones have arrived.
                    let is_waiting = draft.wanted.len() >= MAX_WANTED;
                    if let Some(task) = tasks.pop() {
                        *has_stepped |= self.run_task(grid, task, tasks, draft);
                    } else if !(is_full || is_waiting)
                        && let Some(RankedStep { step, .. }) = steps.next()
                    {
                        tasks.push(step.into());
                    } else {
                        let has_stepped = *has_stepped;
                        planning.stage = self.finish_pass(grid, planning, has_stepped, is_full);
                    }
                }
                Stage::Commit { .. } | Stage::Done => return true,
            }
            if !matches!(planning.stage, Stage::Done) && !has_time() {
                return false;
            }
        }
    }

    /// Ends a pass, in which steps were taken or not and the plan is full or not. Returns what
    /// comes next.
    fn finish_pass(
        &mut self,
        grid: &mut VoxelGrid,
        planning: &mut Planning,
        has_stepped: bool,
        is_full: bool,
    ) -> Stage {
        let Planning { selector, draft, passes, edits, looks_at, .. } = planning;
        *passes += 1;
        let again = has_stepped && !is_full && *passes < MAX_PASSES;
        // Blocks that were split may have to be split further.
        let is_whole = !is_full && !has_stepped && *edits == self.edit_count;
        let Some(regions) = looks_at.take() else {
            self.chosen_for = match is_whole {
                true => ChosenFor::Viewers(selector.clone()),
                false => ChosenFor::Unfinished,
            };
            self.end_pass(grid, selector, draft);
            return if again { Stage::Roots } else { Stage::Done };
        };
        let is_missing = !(draft.wanted.is_empty() && draft.unavailable.is_empty());
        draft.ready.clear();
        match (has_stepped || is_missing, is_full) {
            // A full pass must follow: passes replace all requests, and there are some elsewhere.
            (true, false) => return Stage::Roots,
            (true, true) => self.chosen_for = ChosenFor::Unfinished,
            (false, _) if is_whole => self.chosen_for.complete(&regions),
            (false, _) => {}
        }
        Stage::Done
    }

    /// Returns the regions that a pass of the choice looks at; `None` for all.
    fn regions_to_look_at(&self, selector: &Selector, passes: usize) -> Option<Vec<Region>> {
        #[cfg(test)]
        if self.looks_everywhere {
            return None;
        }
        // Steps may make blocks that need more, and blocks that arrived allow steps anywhere.
        let is_first = passes == 0 && !self.is_choosing_next && !self.fills.has_any_arrivals();
        let regions = self.chosen_for.regions_for(selector).filter(|_| is_first);
        regions.map(<[Region]>::to_vec)
    }

    /// Returns the step that a node of the tiling needs.
    fn step_at(
        &mut self,
        grid: &Snapshot,
        selector: &Selector,
        node: MipBlock,
    ) -> Option<RankedStep> {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let (residency, scratch) = (&mut self.residency, &mut self.scratch);
        // The cells of the next tiling are not in the grid yet; the nearest come first there
        // anyway.
        let skips_check = self.is_choosing_next;
        let surfaceless = |block| skips_check || residency.is_surfaceless(grid, block, scratch);
        selector.step_at(&self.tiling, node, surfaceless)
    }

    /// Requests missing cells and evicts cells that are not shown.
    fn end_pass(&mut self, grid: &mut VoxelGrid, selector: &Selector, draft: &mut PlanDraft) {
        let mut seen = FxHashSet::default();
        draft.wanted.retain(|&block| seen.insert(block));
        let unavailable = std::mem::take(&mut draft.unavailable);
        self.fills.request(std::mem::take(&mut draft.wanted), unavailable);
        let stopped = draft.ready.drain().filter(|(_, is_ready)| !is_ready).map(|(block, _)| block);
        let is_late = |block: &MipBlock| block.mip == self.tiling.top() && !self.tiling.has(*block);
        let mut blocking: Vec<MipBlock> = stopped.filter(is_late).collect();
        blocking.sort_unstable();
        self.stuck_roots.set_blocking(blocking);
        if self.next_tiling.is_none() {
            self.residency.evict(grid, &self.tiling, selector, self.options.max_bytes);
        }
    }

    /// Shows the roots in view and removes those that are not. Returns the steps that show those
    /// beside which finer leaves are shown.
    fn choose_roots(
        &mut self,
        grid: &mut VoxelGrid,
        selector: &Selector,
        draft: &mut PlanDraft,
    ) -> Vec<RankedStep> {
        let mut roots = selector.roots(self.tiling.top());
        roots.iter().for_each(|&root| self.show_root(grid, root, draft));
        roots.extend(self.stuck_roots.blocking());
        let mut seen = FxHashSet::default();
        roots.retain(|&root| {
            let is_late = !self.tiling.has(root) && self.residency.has(grid.as_snapshot(), root);
            is_late && seen.insert(root)
        });
        self.stuck_roots.retain(|root| seen.contains(&root));
        let late_roots = roots.into_iter().map(|root| RankedStep {
            distance_edges: selector.distance_edges(root),
            step: LodStep::ShowLateRoot(root),
        });
        let late_roots = late_roots.collect();
        let out_of_view: Vec<_> =
            self.tiling.roots().filter(|&root| selector.is_out_of_view(root)).collect();
        for root in out_of_view {
            // Finer leaves may only be shown while it is beside them.
            let mut is_unneeded = true;
            self.tiling.touching(root, |leaf| is_unneeded &= leaf.mip == root.mip);
            if is_unneeded {
                self.tiling.remove(root, &mut |leaf| draft.remove(leaf));
                draft.retiled.add(root);
                self.invalidate_neighbours(grid.as_snapshot(), NeighbourChange::of(root), draft);
            }
        }
        late_roots
    }

    /// Shows a root if its cells are there, else requests them. One beside finer leaves is shown by
    /// [`LodStep::ShowLateRoot`].
    pub(super) fn show_root(
        &mut self,
        grid: &mut VoxelGrid,
        root: MipBlock,
        draft: &mut PlanDraft,
    ) {
        if self.tiling.has(root) {
            return;
        }
        if !self.residency.has(grid.as_snapshot(), root) {
            draft.want(root, self.fills.is_available(root));
            return;
        }
        if self.is_late_root(root) {
            return;
        }
        self.tiling.insert(root);
        if self.is_choosing_next {
            return;
        }
        draft.retiled.add(root);
        self.residency.commit(grid, root);
        self.add_leaf(grid.as_snapshot(), root, draft);
        self.invalidate_neighbours(grid.as_snapshot(), NeighbourChange::of(root), draft);
    }

    /// Adds a new leaf to the draft, if it has faces.
    pub(super) fn add_leaf(&mut self, grid: &Snapshot, leaf: MipBlock, draft: &mut PlanDraft) {
        match has_no_faces(grid, leaf, &mut self.scratch) {
            true => draft.remove(leaf),
            false => draft.add(leaf),
        }
    }

    /// Adds all leaves that touch a change and look different after it to the draft. The mesh that
    /// is shown for each must be up to date with its own cells, unless it is in the draft.
    pub(super) fn invalidate_neighbours(
        &mut self,
        grid: &Snapshot,
        change: NeighbourChange,
        draft: &mut PlanDraft,
    ) {
        if self.is_choosing_next {
            return;
        }
        let (tiling, shown) = (&self.tiling, &self.shown);
        let mut around = LeafSurroundings {
            tiling,
            grid,
            has_water: self.has_water,
            shores: &mut self.shores,
            cells: &mut self.scratch,
        };
        tiling.touching(change.block, |leaf| {
            let mesh = shown.get(&leaf).map(|mesh| &**mesh);
            if !draft.rebuild.contains(&leaf) && !change.keeps_mesh(leaf, mesh, &mut around) {
                draft.add(leaf);
            }
        });
    }
}
