//! A plan in the making.

use super::selection::{LodStep, RankedStep, Selector};
use crate::voxel::{MipBlock, Region};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Returns whether there is time left.
pub(crate) type HasTime<'a> = &'a mut dyn FnMut() -> bool;

/// What a plan will mesh and remove.
#[derive(Debug, Default)]
pub(super) struct PlanDraft {
    /// Leaves to mesh.
    pub rebuild: BTreeSet<MipBlock>,
    /// Blocks that are no longer leaves.
    pub removed: BTreeSet<MipBlock>,
    /// Blocks whose cells are missing for a step, nearest first.
    pub wanted: Vec<MipBlock>,
    /// Such blocks that were not available when last requested.
    pub unavailable: FxHashSet<MipBlock>,
    /// Caches whether the cells to split a leaf are there.
    pub ready: FxHashMap<MipBlock, bool>,
    /// Where other blocks will be shown than before.
    pub retiled: RetiledBlocks,
    /// Number of leaves that were added because others changed cells.
    pub edited: usize,
}

/// Where a plan changes the tiling.
#[derive(Debug, Default)]
pub(super) struct RetiledBlocks {
    /// The largest blocks that are shown before or after it.
    blocks: Vec<MipBlock>,
    is_everywhere: bool,
}

impl RetiledBlocks {
    pub fn add(&mut self, block: MipBlock) {
        self.blocks.push(block);
    }

    pub fn add_all(&mut self) {
        self.is_everywhere = true;
    }

    /// Whether it changes everywhere, or where `matters` returns true.
    pub fn any(&self, matters: impl Fn(&MipBlock) -> bool) -> bool {
        self.is_everywhere || self.blocks.iter().any(matters)
    }
}

impl PlanDraft {
    /// Whether the plan takes no further step. While a player edits, plans are a quarter as long,
    /// so that edits show soon; but half of each, and always a quarter of a plan, are steps, so
    /// that endless edits do not stop the stream.
    pub fn is_full(&self, jobs_per_plan: usize, is_editing: bool) -> bool {
        let quarter = (jobs_per_plan / 4).max(1);
        let most = match is_editing {
            true => quarter.max(2 * self.edited).min(jobs_per_plan).max(self.edited + quarter),
            false => jobs_per_plan,
        };
        self.rebuild.len() >= most
    }

    /// Returns what to mesh and to remove so far; keeps the progress of the choice.
    pub fn split_off(&mut self) -> PlanDraft {
        let (wanted, ready) = (std::mem::take(&mut self.wanted), std::mem::take(&mut self.ready));
        let unavailable = std::mem::take(&mut self.unavailable);
        std::mem::replace(self, PlanDraft { wanted, unavailable, ready, ..PlanDraft::default() })
    }

    /// Requests the cells of a block.
    pub fn want(&mut self, block: MipBlock, is_available: bool) {
        if is_available {
            self.wanted.push(block);
        } else {
            self.unavailable.insert(block);
        }
    }

    pub fn remove(&mut self, leaf: MipBlock) {
        self.rebuild.remove(&leaf);
        self.removed.insert(leaf);
    }

    pub fn add(&mut self, leaf: MipBlock) {
        self.removed.remove(&leaf);
        self.rebuild.insert(leaf);
    }
}

/// A part of a step. Planning can pause between any two.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepTask {
    /// Begins to split a leaf.
    BeginSplit(MipBlock),
    /// Shows a root.
    ShowRoot(MipBlock),
    /// Begins to show a root beside finer leaves.
    BeginLateRoot(MipBlock),
    /// Shows a root, and splits it and what touches it.
    EndLateRoot(MipBlock),
    /// Shows a root, and merges what is beside it.
    MergeBeside(MipBlock),
    /// Adds a leaf that such a step made to the draft.
    AddLeaf(MipBlock),
    /// Writes the staged cells of a block into the grid.
    CommitCells(MipBlock),
    /// Splits a leaf whose children's cells are in the grid.
    EndSplit(MipBlock),
    /// Merges the children of a node.
    Merge(MipBlock),
}

impl From<LodStep> for StepTask {
    fn from(step: LodStep) -> StepTask {
        match step {
            LodStep::Split(leaf) => StepTask::BeginSplit(leaf),
            LodStep::Merge(inner) => StepTask::Merge(inner),
            LodStep::ShowLateRoot(root) => StepTask::BeginLateRoot(root),
        }
    }
}

/// A draft and the progress of planning.
pub(super) struct Planning {
    pub selector: Selector,
    pub draft: PlanDraft,
    /// Of the next tiling, while the island is shown.
    pub next_draft: PlanDraft,
    pub stage: Stage,
    pub passes: usize,
    /// The regions that the pass looks at; `None` for all.
    pub looks_at: Option<Vec<Region>>,
    /// [`LodView::edit_count`](super::view::LodView) when the choice began: it must be made again
    /// if that changed.
    pub edits: u64,
}

impl Planning {
    pub fn new(selector: Selector, draft: PlanDraft) -> Planning {
        Planning {
            selector,
            draft,
            next_draft: PlanDraft::default(),
            stage: Stage::Roots,
            passes: 0,
            looks_at: None,
            edits: 0,
        }
    }
}

pub(super) enum Stage {
    Roots,
    /// Collecting steps below these nodes.
    Collect {
        nodes: Vec<MipBlock>,
        steps: Vec<RankedStep>,
    },
    /// Taking steps, nearest first.
    Take {
        steps: std::vec::IntoIter<RankedStep>,
        /// Of the current step; the next is last.
        tasks: Vec<StepTask>,
        has_stepped: bool,
    },
    /// Writing the staged cells of the next tiling, from the end: the coarsest first.
    Commit {
        blocks: Vec<MipBlock>,
    },
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_room_for_steps_however_much_is_edited() {
        for edited in [0, 3, 32, 48, 64, 500] {
            let leaf = |x| MipBlock::new(0, crate::voxel::VoxelPos::new(x, 0, 0));
            let rebuild = (0..edited).map(leaf).collect();
            let edited = usize::try_from(edited).unwrap();
            let mut draft = PlanDraft { rebuild, edited, ..PlanDraft::default() };
            assert!(!draft.is_full(64, true), "{edited}");
            (0..64).for_each(|x| draft.add(leaf(1000 + x)));
            assert!(draft.is_full(64, true), "{edited}");
        }
    }
}
