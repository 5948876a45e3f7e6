//! Shows a root beside finer leaves. Ground beside an unavailable root is split as at the edge of
//! the world. When that root arrives at last, one step shows it and splits it, and as much of what
//! touches it, until touching leaves differ by at most one mip. If finer cells for that stay
//! unavailable, what is beside it is merged instead: coarse ground is better than a hole.

use super::draft::{PlanDraft, StepTask};
use super::tiling::Tiling;
use super::view::LodView;
use crate::voxel::{MipBlock, Snapshot, VoxelGrid};

/// Why a late root cannot be shown and split yet.
struct MissingCells {
    /// Whether some of them were unavailable when last requested.
    is_any_unavailable: bool,
}

/// What showing a late root changes in the tiling.
struct LateRootChange {
    /// The root, and others that must be shown with it.
    roots: Vec<MipBlock>,
    /// Blocks that are split, the coarsest first.
    splits: Vec<MipBlock>,
}

impl LateRootChange {
    /// Returns all roots and splits.
    fn blocks(&self) -> impl Iterator<Item = MipBlock> {
        self.roots.iter().chain(&self.splits).copied()
    }

    /// Returns the blocks whose cells must be there, coarser ones before those within them.
    fn needed_blocks(&self) -> impl Iterator<Item = MipBlock> {
        let children = self.splits.iter().flat_map(|split| split.children());
        self.roots.iter().copied().chain(children)
    }
}

impl LodView {
    /// Whether a root is not shown, and touches leaves that are too fine to be shown beside it.
    pub(super) fn is_late_root(&self, root: MipBlock) -> bool {
        if self.tiling.has(root) {
            return false;
        }
        let mut is_finer = false;
        self.tiling.touching(root, |leaf| is_finer |= leaf.mip + 1 < root.mip);
        is_finer
    }

    /// Whether all cells to show a root beside finer leaves are there; adds missing ones to the
    /// draft.
    pub(super) fn is_late_root_ready(
        &self,
        grid: &Snapshot,
        root: MipBlock,
        draft: &mut PlanDraft,
    ) -> bool {
        if let Some(&is_ready) = draft.ready.get(&root) {
            return is_ready;
        }
        let is_ready = self.tiling_with_root(grid, root, draft).is_ok();
        draft.ready.insert(root, is_ready);
        is_ready
    }

    /// Begins to show a root beside finer leaves, once all cells for that are there, or if some
    /// have been unavailable for long.
    pub(super) fn begin_late_root(
        &mut self,
        grid: &Snapshot,
        root: MipBlock,
        tasks: &mut Vec<StepTask>,
        draft: &mut PlanDraft,
    ) {
        let change = match self.tiling_with_root(grid, root, draft) {
            Ok((_, change)) => change,
            Err(missing) => {
                let round = self.fills.rounds();
                if missing.is_any_unavailable && self.stuck_roots.is_due(root, round) {
                    tasks.push(StepTask::MergeBeside(root));
                }
                return;
            }
        };
        tasks.push(StepTask::EndLateRoot(root));
        if self.is_choosing_next {
            return;
        }
        // Cells that are written here change the meshes around them, even if the step fails.
        self.retile(change.blocks(), draft);
        for &split in change.splits.iter().filter(|&&split| self.tiling.is_leaf(split)) {
            draft.add(split);
        }
        tasks.extend(change.needed_blocks().map(StepTask::CommitCells));
    }

    /// Shows a root beside finer leaves. Returns whether everything it requires was still there.
    pub(super) fn end_late_root(
        &mut self,
        grid: &mut VoxelGrid,
        root: MipBlock,
        tasks: &mut Vec<StepTask>,
        draft: &mut PlanDraft,
    ) -> bool {
        let Ok((tiling, change)) = self.tiling_with_root(grid.as_snapshot(), root, draft) else {
            return false;
        };
        let old_tiling = std::mem::replace(&mut self.tiling, tiling);
        if self.is_choosing_next {
            return true;
        }
        for block in change.needed_blocks() {
            self.residency.commit(grid, block);
        }
        for &split in &change.splits {
            if old_tiling.is_leaf(split) {
                draft.remove(split);
            }
            self.residency.forget_surfaceless(split, self.tiling.top());
        }
        self.retile(change.blocks(), draft);
        let leaves = change.needed_blocks().filter(|&block| self.tiling.is_leaf(block));
        tasks.extend(leaves.map(StepTask::AddLeaf));
        true
    }

    /// Shows a root, and merges what is beside it until touching leaves differ by at most one mip.
    /// Returns whether everything it requires was still there.
    pub(super) fn merge_beside(
        &mut self,
        grid: &mut VoxelGrid,
        root: MipBlock,
        tasks: &mut Vec<StepTask>,
        draft: &mut PlanDraft,
    ) -> bool {
        if self.tiling.has(root) || !self.residency.has(grid.as_snapshot(), root) {
            return false;
        }
        let (mut tiling, mut removed) = (self.tiling.clone(), Vec::new());
        tiling.insert(root);
        let merged = tiling.coarsen(root, &mut |leaf| removed.push(leaf));
        // The blocks over all that is shown are in memory.
        debug_assert!(merged.iter().all(|&node| self.residency.has(grid.as_snapshot(), node)));
        self.tiling = tiling;
        if self.is_choosing_next {
            return true;
        }
        self.residency.commit(grid, root);
        removed.into_iter().for_each(|leaf| draft.remove(leaf));
        let leaves = merged.into_iter().chain([root]);
        self.retile(leaves.clone(), draft);
        tasks.extend(leaves.map(StepTask::AddLeaf));
        true
    }

    /// Adds blocks whose tiling changes to the draft, with the leaves that touch them. The leaves
    /// among the blocks themselves are tasks of their own ([`StepTask::AddLeaf`]): there may be
    /// hundreds.
    fn retile(&self, blocks: impl Iterator<Item = MipBlock>, draft: &mut PlanDraft) {
        for block in blocks {
            draft.retiled.add(block);
            self.tiling.touching(block, |leaf| draft.add(leaf));
        }
    }

    /// Returns the tiling plus one root, in which touching leaves differ by at most one mip, and
    /// what changes. Copies the whole tiling, a tenth of a millisecond for some thousand blocks:
    /// only called while a root is late.
    ///
    /// # Errors
    /// If cells are missing, which are added to the draft, or if the tiling has the root already.
    fn tiling_with_root(
        &self,
        grid: &Snapshot,
        root: MipBlock,
        draft: &mut PlanDraft,
    ) -> Result<(Tiling, LateRootChange), MissingCells> {
        if self.tiling.has(root) {
            return Err(MissingCells { is_any_unavailable: false });
        }
        let mut tiling = self.tiling.clone();
        let mut change = LateRootChange { roots: Vec::new(), splits: Vec::new() };
        let mut next = vec![root];
        while let Some(root) = next.pop() {
            if tiling.has(root) {
                continue;
            }
            tiling.insert(root);
            change.roots.push(root);
            let splits = tiling.balance(root);
            let beside = splits.iter().flat_map(|&split| self.roots_beside(split));
            next.extend(beside.filter(|&beside| self.fills.is_available(beside)));
            change.splits.extend(splits);
        }
        change.splits.sort_unstable_by_key(|split| (std::cmp::Reverse(split.mip), *split));
        let mut missing: Option<MissingCells> = None;
        for block in change.needed_blocks() {
            if !self.tiling.has(block) && !self.residency.has(grid, block) {
                let is_available = self.fills.is_available(block);
                draft.want(block, is_available);
                let before = missing.is_some_and(|missing| missing.is_any_unavailable);
                missing = Some(MissingCells { is_any_unavailable: before || !is_available });
            }
        }
        missing.map_or(Ok((tiling, change)), Err)
    }
}
