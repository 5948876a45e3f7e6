//! What to do next: a plan takes the next few steps that the viewers ask for and whose cells
//! are there, and what edits changed, and meshes all that looks different after it.
//!
//! Planning goes in slices: between any two pieces of it the caller may stop, and go on later
//! where it was. What edits change meanwhile is added to the draft.
//!
//! The world near a viewer is shown before the first coarse blocks are there: an island of
//! chunks, while the tiling that will cover all that is seen is chosen unseen.

use super::job::is_dry;
use super::out::Out;
use super::pick::{Picker, Step};
use super::quiet::Change;
use super::residency::is_bare;
use super::steps::Piece;
use super::tiling::Tiling;
use super::{Lod, LodViewer, MAX_CLUSTER_MIP, MeshJob};
use crate::mesh::{NeighbourMips, Shores, shore_depends_on};
use crate::voxel::{ChunkPos, MipBlock, Region, Snapshot, Unlisted, VoxelGrid, VoxelPos};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Blocks that are asked for before the choice is made anew.
const WANTED_AT_ONCE: usize = 256;

/// Share of the near distance within which the land to the horizon has to be as fine as the island
/// that it replaces, if the viewer moves.
const INNER_SHARE: f64 = 0.25;

/// Passes of a choice within one plan: a pass goes one level down.
const MOST_PASSES: usize = 16;

/// Says whether there is time for more.
pub(crate) type More<'a> = &'a mut dyn FnMut() -> bool;

/// A plan in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Leaves to mesh.
    pub rebuild: BTreeSet<MipBlock>,
    /// Blocks that are leaves no longer.
    gone: BTreeSet<MipBlock>,
    /// Blocks whose cells are missing for a step, nearest first.
    pub wanted: Vec<MipBlock>,
    /// Whether leaves can be split for now, as far as that was asked.
    pub ready: FxHashMap<MipBlock, bool>,
}

impl Draft {
    pub fn remove(&mut self, leaf: MipBlock) {
        self.rebuild.remove(&leaf);
        self.gone.insert(leaf);
    }

    pub fn add(&mut self, leaf: MipBlock) {
        self.gone.remove(&leaf);
        self.rebuild.insert(leaf);
    }
}

/// A draft, and how far planning is.
pub(super) struct Planning {
    picker: Picker,
    draft: Draft,
    /// Of the tiling that is chosen unseen.
    unseen: Draft,
    stage: Stage,
    passes: usize,
}

enum Stage {
    Roots,
    /// Looking for steps below these nodes.
    Walk {
        nodes: Vec<MipBlock>,
        steps: Vec<(f64, Step)>,
    },
    /// Taking steps, those that look largest first.
    Take {
        steps: std::vec::IntoIter<(f64, Step)>,
        /// Of the step under way, the next last.
        pieces: Vec<Piece>,
        stepped: bool,
    },
    /// Writing the cells of the tiling that was chosen unseen, the coarsest first, from the end.
    Commit {
        blocks: Vec<MipBlock>,
    },
    Done,
}

impl Lod {
    /// Jobs for what comes next, on a snapshot: none while another plan is out, or if all is
    /// as it should be, or waits for cells. Without viewers all listed chunks are shown at
    /// mip 0. If [`Lod::is_planned`] then, results have to be published, be it of no job.
    pub fn plan(&mut self, grid: &mut VoxelGrid, viewers: &[LodViewer]) -> Vec<MeshJob> {
        if self.out.is_some() {
            return Vec::new();
        }
        self.advance(grid, viewers, &mut || true);
        self.jobs_of_plan()
    }

    /// Plans until `more` returns false, and lists what viewers can touch, which waits for no
    /// plan. Returns whether planning came to an end; [`Lod::is_planned`] then says whether
    /// there is anything to mesh.
    pub(crate) fn advance(
        &mut self,
        grid: &mut VoxelGrid,
        viewers: &[LodViewer],
        more: More<'_>,
    ) -> bool {
        let picker = self.picker(viewers, true);
        let everything = viewers.is_empty();
        if picker.viewers.is_empty() && !everything {
            // None of them is anywhere: what is shown stays.
            return true;
        }
        if !everything {
            self.fills.list_near(grid.as_snapshot(), &picker);
            self.hold_staged_near(grid, more);
        }
        if self.out.is_some() {
            return true;
        }
        let mut planning = match self.planning.take() {
            Some(planning) if planning.picker.viewers.is_empty() == everything => planning,
            other => {
                let mut draft = other.map_or_else(Draft::default, |planning| planning.draft);
                self.set_top(everything, &mut draft);
                Planning {
                    picker: picker.clone(),
                    draft,
                    unseen: Draft::default(),
                    stage: Stage::Roots,
                    passes: 0,
                }
            }
        };
        // The last write before a draft is made whole.
        if !self.take_changes(grid, everything, &mut planning.draft, more) {
            self.planning = Some(planning);
            return false;
        }
        if std::mem::take(&mut self.is_choice_lost) {
            planning.unseen = Draft::default();
            planning.stage = Stage::Roots;
        }
        let stale = self.chosen_for.as_ref().is_none_or(|last| !last.is_near(&picker));
        let news = self.fills.has_news(self.coming.is_some());
        if matches!(planning.stage, Stage::Roots) && (everything || !(stale || news)) {
            planning.stage = Stage::Done;
        }
        let whole = self.choose(grid, &mut planning, more);
        self.residency.skip_own_changes(grid);
        if whole {
            self.set_out(grid, planning.draft, &planning.picker);
        } else {
            self.planning = Some(planning);
        }
        whole
    }

    /// Shows all listed chunks if there are no viewers, starting over; else what is shown
    /// stays until another tiling covers what the viewers see.
    fn set_top(&mut self, everything: bool, draft: &mut Draft) {
        let max_mip = self.options.max_mip;
        if everything && (self.tiling.top() != 0 || self.coming.is_some() || self.is_view) {
            self.tiling.leaves().for_each(|leaf| draft.remove(leaf));
            self.tiling = Tiling::new(0);
            self.coming = None;
            self.chosen_for = None;
            self.changed = None;
        } else if !everything && !self.is_view {
            self.coming = (max_mip > 0).then(|| Tiling::new(max_mip));
            self.is_left = false;
            self.chosen_for = None;
        }
        self.is_view = !everything;
    }

    /// Chooses what to show, as long as there is time; returns whether it came to an end.
    fn choose(&mut self, grid: &mut VoxelGrid, planning: &mut Planning, more: More<'_>) -> bool {
        if self.coming.is_none() {
            return self.choose_steps(grid, planning, more);
        }
        loop {
            match &mut planning.stage {
                Stage::Commit { blocks } => {
                    while let Some(block) = blocks.pop() {
                        self.residency.commit(grid, block);
                        if !more() {
                            return false;
                        }
                    }
                    self.replace_island(&mut planning.draft);
                    planning.stage = Stage::Done;
                    return true;
                }
                Stage::Done => {
                    let Planning { picker, draft, .. } = &mut *planning;
                    let near = picker.near();
                    if !self.choose_island(grid, &near, draft, more) {
                        return false;
                    }
                    if !self.may_replace_island(grid, &near) {
                        return true;
                    }
                    let coming = self.coming.iter().flat_map(Tiling::nodes);
                    let mut blocks: Vec<MipBlock> = coming.collect();
                    blocks.sort_unstable();
                    planning.stage = Stage::Commit { blocks };
                }
                _ => {
                    // Chosen unseen: nothing of it is meshed, or even in the grid, before it
                    // covers what is near.
                    self.swap_coming();
                    std::mem::swap(&mut planning.draft, &mut planning.unseen);
                    self.is_unseen = true;
                    let whole = self.choose_steps(grid, planning, more);
                    self.is_unseen = false;
                    std::mem::swap(&mut planning.draft, &mut planning.unseen);
                    self.swap_coming();
                    if !whole {
                        return false;
                    }
                }
            }
        }
    }

    fn swap_coming(&mut self) {
        if let Some(coming) = &mut self.coming {
            std::mem::swap(&mut self.tiling, coming);
        }
    }

    /// Shows the chunks near the viewers that are held, and removes those that they left, as long
    /// as there is time; returns whether it came to an end.
    fn choose_island(
        &mut self,
        grid: &mut VoxelGrid,
        near: &Picker,
        draft: &mut Draft,
        more: More<'_>,
    ) -> bool {
        for root in near.roots(0) {
            if !self.tiling.has(root) && self.residency.has(grid.as_snapshot(), root) {
                self.show_root(grid, root, draft);
                if !more() {
                    return false;
                }
            }
        }
        let left: Vec<MipBlock> = self.tiling.roots().filter(|&root| near.lost(root)).collect();
        self.is_left |= !left.is_empty();
        for root in left {
            self.tiling.remove(root, &mut |leaf| draft.remove(leaf));
            self.touch(
                grid.as_snapshot(),
                Change { block: root, mip: root.mip, cells: true },
                draft,
            );
            if !more() {
                return false;
            }
        }
        true
    }

    /// Whether the tiling that is coming may take the island's place.
    fn may_replace_island(&self, grid: &VoxelGrid, near: &Picker) -> bool {
        let Some(coming) = &self.coming else { return false };
        let listed = self.fills.has_no_near_left() || grid.unlisted() == Unlisted::Air;
        // What is chosen follows a moving viewer by some frames: then the nearest is enough.
        let share = if self.is_left { INNER_SHARE } else { 1.0 };
        let matters = |leaf: &MipBlock| near.distance(*leaf) <= share * near.near;
        let covers = listed && self.tiling.leaves().filter(matters).all(|leaf| coming.has(leaf));
        // Where near cells cannot be had, what is there is shown all the same.
        let stuck = listed && !self.fills.is_asking();
        coming.len() > 0 && (covers || stuck)
    }

    /// Shows the tiling that was chosen unseen in the place of the island.
    fn replace_island(&mut self, draft: &mut Draft) {
        self.tiling.leaves().for_each(|leaf| draft.remove(leaf));
        self.tiling = self.coming.take().unwrap_or_default();
        self.is_left = false;
        self.tiling.leaves().for_each(|leaf| draft.add(leaf));
        self.chosen_for = None;
        self.residency.forget_all_plain();
    }

    /// Adds what others wrote to what changed.
    pub(super) fn read_changes(&mut self, grid: &VoxelGrid) {
        match (self.residency.changes(grid, self.coming.is_some()), &mut self.changed) {
            (Some(regions), Some(changed)) => changed.extend(regions),
            _ => self.changed = None,
        }
        if self.residency.take_dropped() {
            self.chosen_for = None;
            if let Some(coming) = &mut self.coming {
                // It may count on what was dropped.
                *coming = Tiling::new(coming.top());
                self.is_choice_lost = true;
            }
        }
    }

    /// Has the leaves meshed anew that edits reach, as long as there is time; returns whether it
    /// came to an end. With `everything` the listed chunks become leaves.
    fn take_changes(
        &mut self,
        grid: &VoxelGrid,
        everything: bool,
        draft: &mut Draft,
        more: More<'_>,
    ) -> bool {
        self.read_changes(grid);
        let changes = self.changed.replace(Vec::new());
        if changes.as_ref().is_none_or(|regions| !regions.is_empty()) {
            self.chosen_for = None;
        }
        if everything {
            let changed: BTreeSet<MipBlock> = match &changes {
                Some(regions) => {
                    regions.iter().flat_map(|r| r.blocks::<5>()).map(MipBlock::from).collect()
                }
                None => grid
                    .chunks()
                    .into_iter()
                    .map(MipBlock::from)
                    .chain(self.tiling.leaves())
                    .collect(),
            };
            changed.into_iter().for_each(|chunk| self.list(grid, chunk, draft));
        }
        let Some(mut regions) = changes else {
            self.tiling.leaves().for_each(|leaf| draft.add(leaf));
            return true;
        };
        let coarser = 1 + u8::from(self.options.morph);
        let is_wet = self.has_water || is_wet_at(grid.as_snapshot(), &regions);
        let (snapshot, mut dry) = (grid.snapshot(), DryLeaves::default());
        while let Some(region) = regions.pop() {
            if is_wet {
                let (shown, tiling) = (&self.shown, &self.tiling);
                // What has a shore no longer is known by what is shown.
                let was_wet =
                    |leaf: &MipBlock| shown.get(leaf).is_some_and(|mesh| !mesh.liquid.is_empty());
                tiling.shores_at(region, coarser, &mut |leaf, near| {
                    if near
                        || draft.rebuild.contains(&leaf)
                        || was_wet(&leaf)
                        || !dry.has(&snapshot, tiling, leaf)
                    {
                        draft.add(leaf);
                    }
                });
            } else {
                self.tiling.reached_by(region, coarser, &mut |leaf| draft.add(leaf));
            }
            if !regions.is_empty() && !more() {
                self.changed = Some(regions);
                return false;
            }
        }
        true
    }

    /// Makes a chunk a leaf if and only if it is listed.
    fn list(&mut self, grid: &VoxelGrid, chunk: MipBlock, draft: &mut Draft) {
        let VoxelPos { x, y, z } = chunk.pos;
        let listed = grid.is_listed(ChunkPos::new(x, y, z));
        if listed == self.tiling.has(chunk) {
            return;
        }
        if listed {
            self.tiling.insert(chunk);
            self.add(grid.as_snapshot(), chunk, draft);
        } else {
            self.tiling.remove(chunk, &mut |leaf| draft.remove(leaf));
        }
        self.touch(grid.as_snapshot(), Change { block: chunk, mip: 0, cells: true }, draft);
    }

    /// Takes the next steps, as many as a plan may hold, as long as there is time; returns
    /// whether it came to an end.
    fn choose_steps(
        &mut self,
        grid: &mut VoxelGrid,
        planning: &mut Planning,
        more: More<'_>,
    ) -> bool {
        let Planning { picker, draft, stage, passes, .. } = planning;
        loop {
            match stage {
                Stage::Roots => {
                    self.choose_roots(grid, picker, draft);
                    let nodes = self.tiling.roots().collect();
                    *stage = Stage::Walk { nodes, steps: Vec::new() };
                }
                Stage::Walk { nodes, steps } => {
                    let Some(node) = nodes.pop() else {
                        let order = |(a, x): &(f64, Step), (b, y): &(f64, Step)| {
                            a.total_cmp(b).then(x.block().cmp(&y.block()))
                        };
                        let mut steps = std::mem::take(steps);
                        steps.sort_unstable_by(order);
                        let (steps, pieces) = (steps.into_iter(), Vec::new());
                        *stage = Stage::Take { steps, pieces, stepped: false };
                        continue;
                    };
                    let (residency, scratch) = (&mut self.residency, &mut self.scratch);
                    // Unseen cells are not in the grid; what is near matters first.
                    let unseen = self.is_unseen;
                    let plain =
                        |block| unseen || residency.is_plain(grid.as_snapshot(), block, scratch);
                    match picker.step_at(&self.tiling, node, plain) {
                        Some(step) => steps.push(step),
                        None if self.tiling.is_leaf(node) => {}
                        None => nodes.extend(node.children()),
                    }
                }
                Stage::Take { steps, pieces, stepped } => {
                    let full = !self.is_unseen && draft.rebuild.len() >= self.options.jobs_per_plan;
                    // The nearest come first; farther ones are not looked at before they did.
                    let asked = draft.wanted.len() >= WANTED_AT_ONCE;
                    if let Some(piece) = pieces.pop() {
                        *stepped |= self.take_piece(grid, piece, pieces, draft);
                    } else if !(full || asked)
                        && let Some((_, step)) = steps.next()
                    {
                        pieces.push(step.into());
                    } else {
                        *passes += 1;
                        let again = *stepped && !full && *passes < MOST_PASSES;
                        // What was split may have to be split further.
                        self.chosen_for = (!full && !*stepped).then(|| picker.clone());
                        self.end_pass(grid, picker, draft);
                        *stage = if again { Stage::Roots } else { Stage::Done };
                    }
                }
                Stage::Commit { .. } | Stage::Done => return true,
            }
            if !matches!(stage, Stage::Done) && !more() {
                return false;
            }
        }
    }

    /// Asks for what is missing, and lets go of what nothing shows.
    fn end_pass(&mut self, grid: &mut VoxelGrid, picker: &Picker, draft: &mut Draft) {
        let mut seen = FxHashSet::default();
        draft.wanted.retain(|&block| seen.insert(block));
        self.fills.want(std::mem::take(&mut draft.wanted));
        draft.ready.clear();
        if self.coming.is_none() {
            self.residency.evict(grid, &self.tiling, picker, self.options.max_bytes);
        }
    }

    /// Shows the roots that are seen and takes those away that are no longer.
    fn choose_roots(&mut self, grid: &mut VoxelGrid, picker: &Picker, draft: &mut Draft) {
        for root in picker.roots(self.tiling.top()) {
            self.show_root(grid, root, draft);
        }
        let unseen: Vec<_> = self.tiling.roots().filter(|&root| picker.lost(root)).collect();
        for root in unseen {
            // Others may be shown in parts only beside it.
            let mut spare = true;
            self.tiling.touching(root, |leaf| spare &= leaf.mip == root.mip);
            if spare {
                self.tiling.remove(root, &mut |leaf| draft.remove(leaf));
                self.touch(
                    grid.as_snapshot(),
                    Change { block: root, mip: root.mip, cells: true },
                    draft,
                );
            }
        }
    }

    /// Shows a root; says whether its cells were there.
    pub(super) fn show_root(
        &mut self,
        grid: &mut VoxelGrid,
        root: MipBlock,
        draft: &mut Draft,
    ) -> bool {
        if self.tiling.has(root) {
            return true;
        }
        if !self.residency.has(grid.as_snapshot(), root) {
            draft.wanted.push(root);
            return false;
        }
        self.tiling.insert(root);
        if self.is_unseen {
            return true;
        }
        self.residency.commit(grid, root);
        self.add(grid.as_snapshot(), root, draft);
        self.touch(grid.as_snapshot(), Change { block: root, mip: root.mip, cells: true }, draft);
        true
    }

    /// Has a new leaf meshed, if it has a surface.
    pub(super) fn add(&mut self, grid: &Snapshot, leaf: MipBlock, draft: &mut Draft) {
        match is_bare(grid, leaf, &mut self.scratch) {
            true => draft.remove(leaf),
            false => draft.add(leaf),
        }
    }

    /// Has all leaves meshed anew that touch what changed and look different for it. What
    /// is shown of them must be of their cells as they are, or they are in the draft.
    pub(super) fn touch(&mut self, grid: &Snapshot, change: Change, draft: &mut Draft) {
        if self.is_unseen {
            return;
        }
        let (shown, has_water, scratch) = (&self.shown, self.has_water, &mut self.scratch);
        self.tiling.touching(change.block, |leaf| {
            let mesh = shown.get(&leaf).map(|mesh| &**mesh);
            if !draft.rebuild.contains(&leaf)
                && !change.leaves_alone(leaf, mesh, has_water, grid, scratch)
            {
                draft.add(leaf);
            }
        });
    }

    /// Makes a draft the plan, if there is anything to do in it.
    pub(super) fn set_out(&mut self, grid: &VoxelGrid, mut draft: Draft, picker: &Picker) {
        draft.gone.retain(|block| self.shown.contains_key(block));
        draft.rebuild.retain(|&block| self.tiling.is_leaf(block));
        if draft.rebuild.is_empty() && draft.gone.is_empty() {
            return;
        }
        self.plans += 1;
        let blocks: Vec<MipBlock> = draft.rebuild.into_iter().collect();
        let gone = draft.gone.into_iter().collect();
        let mut todo: Vec<(f64, MipBlock)> =
            blocks.iter().map(|&block| (picker.edges(block), block)).collect();
        todo.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let todo = todo.into_iter().map(|(_, block)| block).collect();
        self.out = Some(Out::new(self.plans, grid.snapshot(), blocks, gone, todo));
    }

    /// The job for a block of the plan that is out; `None` if it has no surface.
    pub(super) fn job(&mut self, snapshot: &Snapshot, block: MipBlock) -> Option<MeshJob> {
        if is_bare(snapshot, block, &mut self.scratch) {
            return None;
        }
        let known = snapshot.unlisted() == Unlisted::Air;
        let morph_to = self.options.morph.then(|| self.tiling.top());
        let most = self.options.cluster_mips.min(MAX_CLUSTER_MIP);
        let beyond = if known { block.mip } else { NeighbourMips::UNKNOWN };
        let around = self.tiling.around(block, beyond);
        let clusters = (1..=most).contains(&block.mip);
        let (plan, snapshot) = (self.plans, snapshot.clone());
        Some(MeshJob { plan, block, around, clusters, snapshot, morph_to, ticket: None })
    }

    /// All jobs of the plan that is out, to be published together.
    pub(super) fn jobs_of_plan(&mut self) -> Vec<MeshJob> {
        let Some(mut out) = self.out.take() else { return Vec::new() };
        let mut jobs = Vec::new();
        for block in std::mem::take(&mut out.todo) {
            match self.job(&out.snapshot, block) {
                Some(job) => jobs.push(job),
                None => out.finish_bare(block),
            }
        }
        jobs.sort_unstable_by_key(MeshJob::block);
        self.out = Some(out);
        jobs
    }
}

/// Leaves near which there is no water, and those near which there is, of one snapshot.
#[derive(Default)]
struct DryLeaves {
    shores: Shores,
    known: FxHashMap<MipBlock, bool>,
}

impl DryLeaves {
    fn has(&mut self, grid: &Snapshot, tiling: &Tiling, leaf: MipBlock) -> bool {
        let shores = &mut self.shores;
        let find = || is_dry(shores, grid, leaf, tiling.coarsest_at(leaf));
        *self.known.entry(leaf).or_insert_with(find)
    }
}

/// Whether there is water near a region of voxels.
fn is_wet_at(grid: &Snapshot, regions: &[Region]) -> bool {
    let mut shores = Shores::default();
    regions.iter().any(|&region| !shores.is_dry(grid, 0, shore_depends_on(region, 0)))
}
