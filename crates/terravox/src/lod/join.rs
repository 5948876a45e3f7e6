//! Shows a coarsest block beside finer ones. Ground is split beside a block that cannot be had, as at
//! the edge of the world. When that block comes at last, it is split in one step with as much of what
//! touches it as keeps touching blocks within one mip of each other.

use super::draft::{PlanDraft, StepTask};
use super::tiling::Tiling;
use super::view::LodView;
use crate::voxel::{MipBlock, Snapshot, VoxelGrid};

/// A tiling with a root more.
struct Joined {
    tiling: Tiling,
    /// The root, and others that must be shown with it.
    roots: Vec<MipBlock>,
    /// Blocks that are split, the coarsest first.
    splits: Vec<MipBlock>,
}

impl Joined {
    /// Returns the blocks whose cells it needs, coarser ones before those within them.
    fn needed(&self) -> impl Iterator<Item = MipBlock> {
        let children = self.splits.iter().flat_map(|split| split.children());
        self.roots.iter().copied().chain(children)
    }

    /// Calls `visit` with the blocks that are shown and were not before.
    fn new_leaves(&self) -> impl Iterator<Item = MipBlock> {
        self.needed().filter(|&block| self.tiling.is_leaf(block))
    }
}

impl LodView {
    /// Whether a root touches leaves that are too fine to be shown beside it.
    pub(super) fn touches_finer(&self, root: MipBlock) -> bool {
        let mut is_finer = false;
        self.tiling.touching(root, |leaf| is_finer |= leaf.mip + 1 < root.mip);
        is_finer
    }

    /// Begins to show a root beside finer leaves, once all cells for that are there.
    pub(super) fn begin_join(
        &mut self,
        grid: &Snapshot,
        root: MipBlock,
        tasks: &mut Vec<StepTask>,
        draft: &mut PlanDraft,
    ) {
        let Some(joined) = self.joined(grid, root, draft) else { return };
        tasks.push(StepTask::EndJoin(root));
        if self.is_choosing_next {
            return;
        }
        // Cells that are written here change the meshes around them, even if the step fails.
        self.add_all_beside(&joined, draft);
        for &split in joined.splits.iter().filter(|&&split| self.tiling.is_leaf(split)) {
            draft.add(split);
        }
        tasks.extend(joined.needed().map(StepTask::CommitCells));
    }

    /// Shows a root beside finer leaves. Returns whether everything it requires was still there.
    pub(super) fn end_join(
        &mut self,
        grid: &mut VoxelGrid,
        root: MipBlock,
        draft: &mut PlanDraft,
    ) -> bool {
        let Some(joined) = self.joined(grid.as_snapshot(), root, draft) else { return false };
        let last = std::mem::replace(&mut self.tiling, joined.tiling.clone());
        if self.is_choosing_next {
            return true;
        }
        for block in joined.needed() {
            self.residency.commit(grid, block);
        }
        for &split in &joined.splits {
            if last.is_leaf(split) {
                draft.remove(split);
            }
            self.residency.forget_surfaceless(split, self.tiling.top());
        }
        self.add_all_beside(&joined, draft);
        for leaf in joined.new_leaves() {
            self.add_leaf(grid.as_snapshot(), leaf, draft);
        }
        true
    }

    /// Adds the leaves beside a change to the draft.
    fn add_all_beside(&self, joined: &Joined, draft: &mut PlanDraft) {
        for &block in joined.roots.iter().chain(&joined.splits) {
            draft.retiled.add(block);
            self.tiling.touching(block, |leaf| draft.add(leaf));
        }
    }

    /// Returns the tiling with a root more, in which touching leaves differ by at most one mip;
    /// `None` if cells for it are missing, which are added to the draft, or if it has the root.
    fn joined(&self, grid: &Snapshot, root: MipBlock, draft: &mut PlanDraft) -> Option<Joined> {
        if self.tiling.has(root) {
            return None;
        }
        let mut joined =
            Joined { tiling: self.tiling.clone(), roots: Vec::new(), splits: Vec::new() };
        let mut next = vec![root];
        while let Some(root) = next.pop() {
            if joined.tiling.has(root) {
                continue;
            }
            joined.tiling.insert(root);
            joined.roots.push(root);
            let splits = joined.tiling.balance(root);
            let beside = splits.iter().flat_map(|&split| self.roots_beside(split));
            next.extend(beside.filter(|&beside| self.fills.is_available(beside)));
            joined.splits.extend(splits);
        }
        joined.splits.sort_unstable_by_key(|split| (std::cmp::Reverse(split.mip), *split));
        let mut is_ready = true;
        for block in joined.needed() {
            if !self.tiling.has(block) && !self.residency.has(grid, block) {
                is_ready = false;
                draft.want(block, self.fills.is_available(block));
            }
        }
        is_ready.then_some(joined)
    }
}
