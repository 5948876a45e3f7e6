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

/// A tiling plus one root.
struct TilingWithRoot {
    tiling: Tiling,
    /// The root, and others that must be shown with it.
    roots: Vec<MipBlock>,
    /// Blocks that are split, the coarsest first.
    splits: Vec<MipBlock>,
}

impl TilingWithRoot {
    /// Returns the blocks whose cells it needs, coarser ones before those within them.
    fn needed(&self) -> impl Iterator<Item = MipBlock> {
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
        let is_ready = self.with_root(grid, root, draft).is_ok();
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
        let changed = match self.with_root(grid, root, draft) {
            Ok(changed) => changed,
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
        self.add_all_beside(&changed, draft);
        for &split in changed.splits.iter().filter(|&&split| self.tiling.is_leaf(split)) {
            draft.add(split);
        }
        tasks.extend(changed.needed().map(StepTask::CommitCells));
    }

    /// Shows a root beside finer leaves. Returns whether everything it requires was still there.
    pub(super) fn end_late_root(
        &mut self,
        grid: &mut VoxelGrid,
        root: MipBlock,
        tasks: &mut Vec<StepTask>,
        draft: &mut PlanDraft,
    ) -> bool {
        let Ok(mut changed) = self.with_root(grid.as_snapshot(), root, draft) else {
            return false;
        };
        // From here on `changed` has the tiling before.
        std::mem::swap(&mut self.tiling, &mut changed.tiling);
        if self.is_choosing_next {
            return true;
        }
        for block in changed.needed() {
            self.residency.commit(grid, block);
        }
        for &split in &changed.splits {
            if changed.tiling.is_leaf(split) {
                draft.remove(split);
            }
            self.residency.forget_surfaceless(split, self.tiling.top());
        }
        self.add_all_beside(&changed, draft);
        // One by one: there may be hundreds.
        let leaves = changed.needed().filter(|&block| self.tiling.is_leaf(block));
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
        for block in merged.into_iter().chain([root]) {
            draft.retiled.add(block);
            self.tiling.touching(block, |leaf| draft.add(leaf));
            tasks.push(StepTask::AddLeaf(block));
        }
        true
    }

    /// Adds the leaves beside a change to the draft.
    fn add_all_beside(&self, changed: &TilingWithRoot, draft: &mut PlanDraft) {
        for &block in changed.roots.iter().chain(&changed.splits) {
            draft.retiled.add(block);
            self.tiling.touching(block, |leaf| draft.add(leaf));
        }
    }

    /// Returns the tiling plus one root, in which touching leaves differ by at most one mip. Copies
    /// the whole tiling, a tenth of a millisecond for some thousand blocks: it is asked only while
    /// a root is late.
    ///
    /// # Errors
    /// If cells for it are missing, which are added to the draft, or if the tiling has the root.
    fn with_root(
        &self,
        grid: &Snapshot,
        root: MipBlock,
        draft: &mut PlanDraft,
    ) -> Result<TilingWithRoot, MissingCells> {
        if self.tiling.has(root) {
            return Err(MissingCells { is_any_unavailable: false });
        }
        let mut changed =
            TilingWithRoot { tiling: self.tiling.clone(), roots: Vec::new(), splits: Vec::new() };
        let mut next = vec![root];
        while let Some(root) = next.pop() {
            if changed.tiling.has(root) {
                continue;
            }
            changed.tiling.insert(root);
            changed.roots.push(root);
            let splits = changed.tiling.balance(root);
            let beside = splits.iter().flat_map(|&split| self.roots_beside(split));
            next.extend(beside.filter(|&beside| self.fills.is_available(beside)));
            changed.splits.extend(splits);
        }
        changed.splits.sort_unstable_by_key(|split| (std::cmp::Reverse(split.mip), *split));
        let mut missing: Option<MissingCells> = None;
        for block in changed.needed() {
            if !self.tiling.has(block) && !self.residency.has(grid, block) {
                let is_available = self.fills.is_available(block);
                draft.want(block, is_available);
                let before = missing.is_some_and(|missing| missing.is_any_unavailable);
                missing = Some(MissingCells { is_any_unavailable: before || !is_available });
            }
        }
        missing.map_or(Ok(changed), Err)
    }
}
