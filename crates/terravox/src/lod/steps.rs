//! The tasks of a step. A split has many: first the coarser leaves beside it are split, roots
//! around it are shown, unless they are unavailable, and the cells of its children go into the grid
//! one block at a time.

use super::draft::{PlanDraft, StepTask};
use super::neighbour_change::NeighbourChange;
use super::tiling::neighbours;
use super::view::LodView;
use crate::voxel::{MipBlock, Snapshot, VoxelGrid};

impl LodView {
    /// Runs a task. May push the tasks that it consists of, the next one last. Returns whether the
    /// tiling changed.
    pub(super) fn run_task(
        &mut self,
        grid: &mut VoxelGrid,
        task: StepTask,
        tasks: &mut Vec<StepTask>,
        draft: &mut PlanDraft,
    ) -> bool {
        match task {
            StepTask::BeginSplit(leaf) => self.begin_split(grid, leaf, tasks, draft),
            StepTask::ShowRoot(root) => self.show_root(grid, root, draft),
            StepTask::BeginLateRoot(root) => {
                self.begin_late_root(grid.as_snapshot(), root, tasks, draft)
            }
            StepTask::EndLateRoot(root) => return self.end_late_root(grid, root, tasks, draft),
            StepTask::MergeBeside(root) => return self.merge_beside(grid, root, tasks, draft),
            StepTask::AddLeaf(leaf) => self.add_leaf(grid.as_snapshot(), leaf, draft),
            StepTask::CommitCells(block) => self.residency.commit(grid, block),
            StepTask::EndSplit(leaf) => return self.end_split(grid, leaf, draft),
            StepTask::Merge(inner) => return self.merge(grid.as_snapshot(), inner, draft),
        }
        false
    }

    /// Begins to split a leaf, once all cells for that are there: pushes tasks to split the coarser
    /// leaves that touch it and to show missing roots, then to commit its children's cells.
    fn begin_split(
        &mut self,
        grid: &mut VoxelGrid,
        leaf: MipBlock,
        tasks: &mut Vec<StepTask>,
        draft: &mut PlanDraft,
    ) {
        // If this leaf cannot be split, splitting its neighbours first would be wasted.
        if !self.tiling.is_leaf(leaf) || !self.is_ready(grid, leaf, draft) {
            return;
        }
        tasks.push(StepTask::EndSplit(leaf));
        if !self.is_choosing_next {
            // Finer cells change the leaf's own: it is meshed even if the split fails.
            draft.add(leaf);
            draft.retiled.add(leaf);
            tasks.extend(leaf.children().map(StepTask::CommitCells));
        }
        for root in self.roots_beside(leaf) {
            tasks.push(match self.is_late_root(root) {
                true => StepTask::BeginLateRoot(root),
                false => StepTask::ShowRoot(root),
            });
        }
        tasks.extend(self.coarser_beside(leaf).into_iter().map(StepTask::BeginSplit));
    }

    /// Splits a leaf. Returns whether everything it requires was still there.
    fn end_split(&mut self, grid: &VoxelGrid, leaf: MipBlock, draft: &mut PlanDraft) -> bool {
        if !self.tiling.is_leaf(leaf) {
            return false;
        }
        let can_split =
            leaf.children().iter().all(|&child| self.residency.has(grid.as_snapshot(), child))
                && self.roots_beside(leaf).iter().all(|&root| self.allows_split(root))
                && self.coarser_beside(leaf).is_empty();
        if can_split {
            self.tiling.split(leaf);
            draft.remove(leaf);
        }
        if self.is_choosing_next {
            return can_split;
        }
        let mip = if can_split {
            leaf.children()
                .into_iter()
                .for_each(|child| self.add_leaf(grid.as_snapshot(), child, draft));
            leaf.mip - 1
        } else {
            leaf.mip
        };
        let change = NeighbourChange { mip, ..NeighbourChange::of(leaf) };
        self.invalidate_neighbours(grid.as_snapshot(), change, draft);
        self.residency.forget_surfaceless(leaf, self.tiling.top());
        can_split
    }

    /// Whether all cells required to split a leaf are there; adds missing ones to the draft.
    fn is_ready(&self, grid: &VoxelGrid, leaf: MipBlock, draft: &mut PlanDraft) -> bool {
        if let Some(&is_ready) = draft.ready.get(&leaf) {
            return is_ready;
        }
        let is_missing = |block: MipBlock| {
            !self.tiling.has(block) && !self.residency.has(grid.as_snapshot(), block)
        };
        let mut is_ready = true;
        for child in leaf.children().into_iter().filter(|&child| is_missing(child)) {
            is_ready = false;
            draft.want(child, self.fills.is_available(child));
        }
        for root in self.roots_beside(leaf) {
            let is_available = self.fills.is_available(root);
            if is_missing(root) {
                is_ready &= !is_available;
                draft.want(root, is_available);
            } else if self.is_late_root(root) {
                is_ready &= self.is_late_root_ready(grid.as_snapshot(), root, draft);
            }
        }
        for other in self.coarser_beside(leaf) {
            is_ready &= self.is_ready(grid, other, draft);
        }
        draft.ready.insert(leaf, is_ready);
        is_ready
    }

    /// Returns the coarser leaves that touch a leaf.
    fn coarser_beside(&self, leaf: MipBlock) -> Vec<MipBlock> {
        let mut coarser = Vec::new();
        self.tiling.touching(leaf, |other| {
            if other.mip > leaf.mip {
                coarser.push(other);
            }
        });
        coarser
    }

    /// Whether a leaf may be split beside a root: if it is shown, or unavailable.
    fn allows_split(&self, root: MipBlock) -> bool {
        self.tiling.has(root) || !self.fills.is_available(root)
    }

    /// Returns the roots beside a leaf, apart from its own. Those that are available must be shown
    /// before it is split.
    pub(super) fn roots_beside(&self, leaf: MipBlock) -> Vec<MipBlock> {
        let top = self.tiling.top();
        let roots = neighbours(leaf).map(|beside| beside.over(top));
        let mut roots: Vec<MipBlock> =
            roots.filter(|&root| root != leaf.over(top) && root.voxels().within_limits()).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// Merges the children of a node, unless it would touch a block two mips finer. Returns whether
    /// it did.
    fn merge(&mut self, grid: &Snapshot, inner: MipBlock, draft: &mut PlanDraft) -> bool {
        let mut can_merge = self.tiling.is_inner(inner)
            && self.residency.has(grid, inner)
            && self.tiling.shows_children(inner);
        self.tiling.touching(inner, |leaf| can_merge &= leaf.mip + 1 >= inner.mip);
        if can_merge {
            self.tiling.merge(inner);
            draft.retiled.add(inner);
            inner.children().into_iter().for_each(|child| draft.remove(child));
            self.add_leaf(grid, inner, draft);
            let change = NeighbourChange { has_new_cells: false, ..NeighbourChange::of(inner) };
            self.invalidate_neighbours(grid, change, draft);
        }
        can_merge
    }
}
