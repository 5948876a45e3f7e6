//! What to do next: a plan takes the next few steps that the viewers ask for and whose cells
//! are there, and what edits changed, and meshes all that looks different after it.

use super::job::is_dry;
use super::pick::{Picker, Step};
use super::quiet::Change;
use super::residency::is_bare;
use super::tiling::{Tiling, neighbours};
use super::{Lod, LodViewer, MAX_CLUSTER_MIP, MeshJob, Out};
use crate::mesh::{Around, Shores, shore_depends_on};
use crate::voxel::{ChunkPos, MipBlock, Region, Snapshot, Unlisted, VoxelGrid, VoxelPos};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Blocks that are asked for before the choice is made anew.
const WANTED_AT_ONCE: usize = 256;

/// A plan in the making.
#[derive(Default)]
pub(super) struct Draft {
    /// Leaves to mesh.
    pub rebuild: BTreeSet<MipBlock>,
    /// Blocks that are leaves no longer.
    gone: BTreeSet<MipBlock>,
    /// Blocks whose cells are missing for a step, nearest first.
    wanted: Vec<MipBlock>,
    /// Whether leaves can be split for now, as far as that was asked.
    ready: FxHashMap<MipBlock, bool>,
}

impl Draft {
    fn remove(&mut self, leaf: MipBlock) {
        self.rebuild.remove(&leaf);
        self.gone.insert(leaf);
    }

    fn add(&mut self, leaf: MipBlock) {
        self.gone.remove(&leaf);
        self.rebuild.insert(leaf);
    }
}

impl Lod {
    /// Jobs for what comes next, on a snapshot: none while another plan is out, or if all is
    /// as it should be, or waits for cells. Without viewers all listed chunks are shown at
    /// mip 0. If [`Lod::is_planned`] then, results have to be published, be it of no job.
    pub fn plan(&mut self, grid: &mut VoxelGrid, viewers: &[LodViewer]) -> Vec<MeshJob> {
        if self.out.is_some() {
            return Vec::new();
        }
        let picker = self.picker(viewers, true);
        let mut draft = Draft::default();
        let everything = picker.viewers.is_empty();
        self.set_top(if everything { 0 } else { self.options.max_mip }, &mut draft);
        self.take_changes(grid, everything, &mut draft);
        let stale = self.chosen_for.as_ref().is_none_or(|last| !last.is_near(&picker));
        if everything || !(stale || self.residency.has_news()) {
            return self.jobs(grid, draft);
        }
        loop {
            let stepped = self.choose(grid, &picker, &mut draft);
            let jobs = self.jobs(grid, std::mem::take(&mut draft));
            // Steps among blocks without a surface show nothing.
            if self.is_planned() || !stepped {
                return jobs;
            }
        }
    }

    /// Starts over if the roots are of another mip.
    fn set_top(&mut self, top: u8, draft: &mut Draft) {
        if self.tiling.top() != top {
            self.tiling.leaves().for_each(|leaf| draft.remove(leaf));
            self.tiling = Tiling::new(top);
            self.chosen_for = None;
        }
    }

    /// Adds what others wrote to what changed.
    pub(super) fn read_changes(&mut self, grid: &VoxelGrid) {
        match (self.residency.changes(grid), &mut self.changed) {
            (Some(regions), Some(changed)) => changed.extend(regions),
            _ => self.changed = None,
        }
    }

    /// Has the leaves meshed anew that edits reach; with `everything` the listed chunks
    /// become leaves.
    fn take_changes(&mut self, grid: &VoxelGrid, everything: bool, draft: &mut Draft) {
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
        let rebuild = &mut draft.rebuild;
        let coarser = 1 + u8::from(self.options.morph);
        match &changes {
            Some(regions) if self.has_water || is_wet_at(grid, regions) => {
                let (snapshot, shown) = (grid.snapshot(), &self.shown);
                // What has a shore no longer is known by what is shown.
                let was_wet =
                    |leaf: &MipBlock| shown.get(leaf).is_some_and(|mesh| !mesh.liquid.is_empty());
                let mut shores = Shores::default();
                for &region in regions {
                    self.tiling.shores_at(region, coarser, &mut |leaf, near| {
                        if near || was_wet(&leaf) || !is_dry(&mut shores, &snapshot, leaf) {
                            rebuild.insert(leaf);
                        }
                    });
                }
            }
            Some(regions) => regions.iter().for_each(|&region| {
                self.tiling.reached_by(region, coarser, &mut |leaf| {
                    rebuild.insert(leaf);
                });
            }),
            None => rebuild.extend(self.tiling.leaves()),
        }
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
            self.add(grid, chunk, draft);
        } else {
            self.tiling.remove(chunk, &mut |leaf| draft.remove(leaf));
        }
        self.touch(grid, Change { block: chunk, mip: 0, cells: true }, draft);
    }

    /// Takes the next steps, as many as a plan may hold; says whether it took any.
    fn choose(&mut self, grid: &mut VoxelGrid, picker: &Picker, draft: &mut Draft) -> bool {
        self.choose_roots(grid, picker, draft);
        let (mut done, mut stepped) = (true, false);
        let (residency, scratch) = (&mut self.residency, &mut self.scratch);
        let steps = picker.steps(&self.tiling, |block| residency.is_plain(grid, block, scratch));
        for step in steps {
            if draft.rebuild.len() >= self.options.jobs_per_plan {
                done = false;
                break;
            }
            // The nearest come first; farther ones are not looked at before they did.
            if draft.wanted.len() >= WANTED_AT_ONCE {
                break;
            }
            stepped |= match step {
                Step::Split(leaf) => self.split(grid, leaf, draft),
                Step::Merge(inner) => self.merge(grid, inner, draft),
            };
        }
        let mut seen = FxHashSet::default();
        draft.wanted.retain(|&block| seen.insert(block));
        self.residency.want(std::mem::take(&mut draft.wanted));
        self.residency.evict(grid, &self.tiling, picker, self.options.max_bytes);
        self.residency.skip_own_changes(grid);
        // What was split may have to be split further.
        self.chosen_for = (done && !stepped).then(|| picker.clone());
        stepped
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
                self.touch(grid, Change { block: root, mip: root.mip, cells: true }, draft);
            }
        }
    }

    /// Shows a root; says whether its cells were there.
    fn show_root(&mut self, grid: &mut VoxelGrid, root: MipBlock, draft: &mut Draft) -> bool {
        if self.tiling.has(root) {
            return true;
        }
        if !self.residency.has(grid, root) {
            draft.wanted.push(root);
            return false;
        }
        self.residency.commit(grid, root);
        self.tiling.insert(root);
        self.add(grid, root, draft);
        self.touch(grid, Change { block: root, mip: root.mip, cells: true }, draft);
        true
    }

    /// Shows a leaf in eight parts, and first, whole, what touches it and is coarser or not
    /// shown at all; nothing of it before all cells for that are there. Says whether they
    /// were.
    fn split(&mut self, grid: &mut VoxelGrid, leaf: MipBlock, draft: &mut Draft) -> bool {
        if !self.tiling.is_leaf(leaf) {
            return self.tiling.is_inner(leaf);
        }
        // What is split for a leaf that then is not would be merged, and split again.
        if !self.ready(grid, leaf, draft) {
            return false;
        }
        for other in self.coarser_beside(leaf) {
            self.split(grid, other, draft);
        }
        for root in self.roots_beside(leaf) {
            self.show_root(grid, root, draft);
        }
        self.tiling.split(leaf);
        draft.remove(leaf);
        leaf.children().into_iter().for_each(|child| self.residency.commit(grid, child));
        leaf.children().into_iter().for_each(|child| self.add(grid, child, draft));
        self.touch(grid, Change { block: leaf, mip: leaf.mip - 1, cells: true }, draft);
        self.residency.forget_plain(leaf, self.tiling.top());
        true
    }

    /// Whether all cells are there that it takes to split a leaf; asks for those that are
    /// not.
    fn ready(&self, grid: &VoxelGrid, leaf: MipBlock, draft: &mut Draft) -> bool {
        if let Some(&ready) = draft.ready.get(&leaf) {
            return ready;
        }
        let before = draft.wanted.len();
        let blocks = leaf.children().into_iter().chain(self.roots_beside(leaf));
        let missing =
            |block: &MipBlock| !self.tiling.has(*block) && !self.residency.has(grid, *block);
        draft.wanted.extend(blocks.filter(missing));
        let mut ready = draft.wanted.len() == before;
        for other in self.coarser_beside(leaf) {
            ready &= self.ready(grid, other, draft);
        }
        draft.ready.insert(leaf, ready);
        ready
    }

    /// Leaves that touch a leaf and are coarser.
    fn coarser_beside(&self, leaf: MipBlock) -> Vec<MipBlock> {
        let mut coarser = Vec::new();
        self.tiling.touching(leaf, |other| {
            if other.mip > leaf.mip {
                coarser.push(other);
            }
        });
        coarser
    }

    /// Roots around the one of a leaf that have to be shown for it to be split.
    fn roots_beside(&self, leaf: MipBlock) -> impl Iterator<Item = MipBlock> + use<> {
        let top = self.tiling.top();
        let roots = neighbours(leaf).map(move |beside| beside.over(top));
        roots.filter(move |&root| root != leaf.over(top) && root.voxels().within_limits())
    }

    /// Shows a node in the place of its children, unless that would touch a block two mips
    /// finer; says whether it did.
    fn merge(&mut self, grid: &Snapshot, inner: MipBlock, draft: &mut Draft) -> bool {
        let mut fits = self.tiling.is_inner(inner)
            && inner.children().iter().all(|&child| self.tiling.is_leaf(child));
        self.tiling.touching(inner, |leaf| fits &= leaf.mip + 1 >= inner.mip);
        if fits {
            self.tiling.merge(inner);
            inner.children().into_iter().for_each(|child| draft.remove(child));
            self.add(grid, inner, draft);
            self.touch(grid, Change { block: inner, mip: inner.mip, cells: false }, draft);
        }
        fits
    }

    /// Has a new leaf meshed, if it has a surface.
    fn add(&mut self, grid: &Snapshot, leaf: MipBlock, draft: &mut Draft) {
        match is_bare(grid, leaf, &mut self.scratch) {
            true => draft.remove(leaf),
            false => draft.add(leaf),
        }
    }

    /// Has all leaves meshed anew that touch what changed and look different for it. What
    /// is shown of them must be of their cells as they are, or they be in the draft.
    fn touch(&mut self, grid: &Snapshot, change: Change, draft: &mut Draft) {
        let (shown, scratch) = (&self.shown, &mut self.scratch);
        self.tiling.touching(change.block, |leaf| {
            let mesh = shown.get(&leaf).map(|mesh| &**mesh);
            if !draft.rebuild.contains(&leaf) && !change.leaves_alone(leaf, mesh, grid, scratch) {
                draft.rebuild.insert(leaf);
            }
        });
    }

    pub(super) fn jobs(&mut self, grid: &VoxelGrid, mut draft: Draft) -> Vec<MeshJob> {
        let scratch = &mut self.scratch;
        let bare = draft.rebuild.extract_if(.., |block| is_bare(grid, *block, scratch));
        draft.gone.extend(bare);
        draft.gone.retain(|block| self.shown.contains_key(block));
        if draft.rebuild.is_empty() && draft.gone.is_empty() {
            return Vec::new();
        }
        self.plans += 1;
        let blocks: Vec<_> =
            draft.rebuild.into_iter().filter(|&block| self.tiling.is_leaf(block)).collect();
        let snapshot = grid.snapshot();
        let known = snapshot.unlisted() == Unlisted::Air;
        let morph_to = self.options.morph.then(|| self.tiling.top());
        let most = self.options.cluster_mips.min(MAX_CLUSTER_MIP);
        let job = |&block: &MipBlock| {
            let beyond = if known { block.mip } else { Around::NONE };
            let around = self.tiling.around(block, beyond);
            let clusters = (1..=most).contains(&block.mip);
            let snapshot = snapshot.clone();
            MeshJob { plan: self.plans, block, around, clusters, snapshot, morph_to }
        };
        let jobs = blocks.iter().map(job).collect();
        self.out = Some(Out { blocks, gone: draft.gone.into_iter().collect() });
        jobs
    }
}

/// Whether there is water near a region of voxels.
fn is_wet_at(grid: &Snapshot, regions: &[Region]) -> bool {
    let mut shores = Shores::default();
    regions.iter().any(|&region| !shores.is_dry(grid, 0, shore_depends_on(region)))
}
