//! Level of detail: one world to the horizon, fine nearby and coarse far away, without a
//! crack or a hole.
//!
//! The world is shown by blocks of 32³ cells of many mips, each meshed on its own: they fit
//! by construction (see [`mesh`](crate::mesh)). Work is planned, run and published: a plan
//! takes the next few steps (a block in eight parts, eight parts as one block) nearest
//! first, together with all blocks that edits changed and all that touch a block that
//! changed; its jobs may run anywhere; publishing shows all of it at once. So what is shown
//! is always the closed surface of one state of the world.

mod clusters;
mod groups;
mod job;
mod pick;
mod residency;
mod tiling;

pub use clusters::{Clusters, MAX_CLUSTER_MIP};
pub use job::{MeshJob, MeshScratch, MeshedBlock};
pub use pick::LodViewer;

use crate::mesh::{Around, BlockMesh};
use crate::voxel::{ChunkPos, DenseBox, MAX_MIP, MipBlock, Region, Unlisted, VoxelGrid, VoxelPos};
use groups::Groups;
use pick::{Picker, Step};
use residency::{Residency, is_bare};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;
use tiling::{Tiling, neighbours};

/// Blocks that are asked for before the choice is made anew.
const WANTED_AT_ONCE: usize = 256;

/// How much is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct LodOptions {
    /// A block is shown in finer parts from this many times its edge on inward; at least 1.
    /// Time, memory and triangles grow with its square.
    pub detail: f32,
    /// Share by which a block must be farther away to be shown as a whole again.
    pub hysteresis: f32,
    /// Everything within is shown, and held, at mip 0, whether there is a surface or not:
    /// where physics and edits need it. In voxels.
    pub near_voxels: f32,
    /// The coarsest mip that is shown.
    pub max_mip: u8,
    /// Beyond so many triangles less detail is shown.
    pub max_triangles: usize,
    /// Beyond so many bytes of cells, what is not shown leaves memory.
    pub max_bytes: usize,
    /// Blocks that a plan may mesh; more only if they cannot be taken apart.
    pub jobs_per_plan: usize,
    /// Blocks of mips 1 up to this, at most [`MAX_CLUSTER_MIP`], are shown by [`Clusters`]
    /// where all their cells are held at mip 0 when they are meshed; 0 for none. Nearer to
    /// the fine surface, at several times the work.
    pub cluster_mips: u8,
}

impl Default for LodOptions {
    fn default() -> LodOptions {
        LodOptions {
            detail: 3.0,
            hysteresis: 0.1,
            near_voxels: 64.0,
            max_mip: MAX_MIP,
            max_triangles: 4_000_000,
            max_bytes: 256 << 20,
            jobs_per_plan: 48,
            cluster_mips: 0,
        }
    }
}

/// A mesh that is shown.
#[derive(Clone, Debug)]
pub struct ShownMesh {
    /// The block that it covers. Its name until it is removed.
    pub block: MipBlock,
    /// The mip of its cells: a vertex lies at (`mesh.block.min` + its position) · 2^mip
    /// voxels.
    pub mip: u8,
    /// The mesh.
    pub mesh: Arc<BlockMesh>,
}

/// A set of changes to what is drawn. Applied as a whole it leads from one closed surface
/// to another.
#[derive(Clone, Debug, Default)]
pub struct MeshSwap {
    /// Blocks whose mesh is no longer shown, sorted; one that is replaced is among them.
    pub removed: Vec<MipBlock>,
    /// New meshes, sorted by block.
    pub added: Vec<ShownMesh>,
}

impl MeshSwap {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }
}

/// The view: which blocks are shown with which meshes, and what has to be done next.
pub struct Lod {
    options: LodOptions,
    tiling: Tiling,
    residency: Residency,
    shown: FxHashMap<MipBlock, Arc<BlockMesh>>,
    groups: Groups,
    triangles: usize,
    /// Share of the detail asked for that the triangles allow.
    share: f64,
    /// Whom the tiling was last chosen for; none if there is more to choose.
    chosen_for: Option<Picker>,
    /// Regions that changed since the last plan; none for all.
    changed: Option<Vec<Region>>,
    plans: u64,
    /// Leaves of the plan that is out, and blocks that are no longer shown after it.
    out: Option<Out>,
    scratch: DenseBox,
}

impl Default for Lod {
    fn default() -> Lod {
        Lod::new(LodOptions::default())
    }
}

#[derive(Default)]
struct Out {
    blocks: Vec<MipBlock>,
    gone: Vec<MipBlock>,
}

/// A plan in the making.
#[derive(Default)]
struct Draft {
    /// Leaves to mesh.
    rebuild: BTreeSet<MipBlock>,
    /// Blocks that are leaves no longer.
    gone: BTreeSet<MipBlock>,
    /// Blocks whose cells are missing for a step, nearest first.
    wanted: Vec<MipBlock>,
    /// Leaves that cannot be split for now.
    stuck: FxHashSet<MipBlock>,
}

impl Draft {
    /// Takes down that the tiling changes in `block`: all that touches it is made anew.
    fn touch(&mut self, tiling: &Tiling, block: MipBlock) {
        tiling.touching(block, |leaf| {
            self.rebuild.insert(leaf);
        });
    }

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
    /// Nothing is shown yet.
    ///
    /// # Panics
    /// If an option is out of its range.
    pub fn new(options: LodOptions) -> Lod {
        assert!(options.detail >= 1.0, "a detail of {}; the least is 1", options.detail);
        assert!(options.hysteresis >= 0.0, "a hysteresis of {}", options.hysteresis);
        assert!(options.max_mip <= MAX_MIP, "mip {}; the coarsest is {MAX_MIP}", options.max_mip);
        Lod {
            options,
            tiling: Tiling::default(),
            residency: Residency::default(),
            shown: FxHashMap::default(),
            groups: Groups::default(),
            triangles: 0,
            share: 1.0,
            chosen_for: None,
            changed: None,
            plans: 0,
            out: None,
            scratch: DenseBox::default(),
        }
    }

    /// How much is shown.
    pub fn options(&self) -> &LodOptions {
        &self.options
    }

    /// Jobs for what comes next, on a snapshot: none while another plan is out, or if all is
    /// as it should be, or waits for cells. Without viewers all listed chunks are shown at
    /// mip 0. If [`Lod::is_planned`] then, results have to be published, be it of no job.
    pub fn plan(&mut self, grid: &mut VoxelGrid, viewers: &[LodViewer]) -> Vec<MeshJob> {
        if self.out.is_some() {
            return Vec::new();
        }
        let picker = self.picker(viewers);
        let mut draft = Draft::default();
        let everything = picker.viewers.is_empty();
        self.set_top(if everything { 0 } else { self.options.max_mip }, &mut draft);
        self.take_changes(grid, everything, &mut draft);
        let stale = self.chosen_for.as_ref().is_none_or(|last| !last.is_near(&picker));
        if !everything && (stale || self.residency.has_news()) {
            self.choose(grid, picker, &mut draft);
        }
        self.jobs(grid, draft)
    }

    /// Whether a plan is out.
    pub fn is_planned(&self) -> bool {
        self.out.is_some()
    }

    fn picker(&self, viewers: &[LodViewer]) -> Picker {
        let finite = |viewer: &&LodViewer| {
            viewer.position_voxels.iter().chain([&viewer.distance_voxels]).all(|v| v.is_finite())
        };
        Picker {
            viewers: viewers.iter().filter(finite).copied().collect(),
            detail: f64::from(self.options.detail) * self.share,
            hysteresis: self.options.hysteresis.into(),
            near: self.options.near_voxels.into(),
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
    fn read_changes(&mut self, grid: &VoxelGrid) {
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
        match &changes {
            Some(regions) => regions.iter().for_each(|&region| {
                self.tiling.reached_by(region, &mut |leaf| {
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
        draft.touch(&self.tiling, chunk);
        if listed {
            self.tiling.insert(chunk);
            draft.add(chunk);
        } else {
            self.tiling.remove(chunk, &mut |leaf| draft.remove(leaf));
        }
    }

    /// Takes the next steps, as many as a plan may hold.
    fn choose(&mut self, grid: &mut VoxelGrid, picker: Picker, draft: &mut Draft) {
        self.choose_roots(grid, &picker, draft);
        let mut done = true;
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
            match step {
                Step::Split(leaf) => {
                    self.split(grid, leaf, draft);
                }
                Step::Merge(inner) => self.merge(inner, draft),
            }
        }
        let mut seen = FxHashSet::default();
        draft.wanted.retain(|&block| seen.insert(block));
        self.residency.want(std::mem::take(&mut draft.wanted));
        self.residency.evict(grid, &self.tiling, &picker, self.options.max_bytes);
        self.residency.skip_own_changes(grid);
        self.chosen_for = done.then_some(picker);
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
                draft.touch(&self.tiling, root);
                self.tiling.remove(root, &mut |leaf| draft.remove(leaf));
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
        draft.touch(&self.tiling, root);
        self.tiling.insert(root);
        draft.add(root);
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
        draft.touch(&self.tiling, leaf);
        self.tiling.split(leaf);
        draft.remove(leaf);
        for child in leaf.children() {
            self.residency.commit(grid, child);
            draft.add(child);
        }
        self.residency.forget_plain(leaf, self.tiling.top());
        true
    }

    /// Whether all cells are there that it takes to split a leaf; asks for those that are
    /// not.
    fn ready(&self, grid: &VoxelGrid, leaf: MipBlock, draft: &mut Draft) -> bool {
        if draft.stuck.contains(&leaf) {
            return false;
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
        if !ready {
            draft.stuck.insert(leaf);
        }
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
    /// finer.
    fn merge(&mut self, inner: MipBlock, draft: &mut Draft) {
        let mut fits = self.tiling.is_inner(inner)
            && inner.children().iter().all(|&child| self.tiling.is_leaf(child));
        self.tiling.touching(inner, |leaf| fits &= leaf.mip + 1 >= inner.mip);
        if fits {
            draft.touch(&self.tiling, inner);
            self.tiling.merge(inner);
            inner.children().into_iter().for_each(|child| draft.remove(child));
            draft.add(inner);
        }
    }

    fn jobs(&mut self, grid: &VoxelGrid, mut draft: Draft) -> Vec<MeshJob> {
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
        let job = |&block: &MipBlock| {
            let beyond = if known { block.mip } else { Around::NONE };
            let around = self.tiling.around(block, beyond);
            let most = self.options.cluster_mips.min(MAX_CLUSTER_MIP);
            let clusters = (1..=most).contains(&block.mip);
            MeshJob { plan: self.plans, block, around, clusters, snapshot: snapshot.clone() }
        };
        let jobs = blocks.iter().map(job).collect();
        self.out = Some(Out { blocks, gone: draft.gone.into_iter().collect() });
        jobs
    }

    /// Shows the results of a whole plan.
    ///
    /// # Panics
    /// If they are not the results of every job of the last plan, in any order.
    pub fn publish(&mut self, mut results: Vec<MeshedBlock>) -> MeshSwap {
        results.sort_unstable_by_key(|result| result.block);
        let out = self.out.take().unwrap_or_default();
        let complete = results.iter().map(|result| result.block).eq(out.blocks.iter().copied())
            && results.iter().all(|result| result.plan == self.plans);
        assert!(complete, "a plan is published whole: every job of the last plan once");
        let mut swap = MeshSwap::default();
        for block in out.gone {
            self.hide(block, &mut swap);
        }
        for MeshedBlock { block, mesh, .. } in results {
            if self.shown.get(&block) == mesh.as_ref() {
                continue;
            }
            self.hide(block, &mut swap);
            if let Some(mesh) = mesh {
                self.triangles += triangle_count(&mesh);
                self.shown.insert(block, mesh.clone());
                swap.added.push(ShownMesh { block, mip: block.mip, mesh });
            }
        }
        self.keep_triangles();
        self.groups.apply(swap, &self.shown)
    }

    /// Joins the meshes of a few blocks that did not change for a while: to be called once
    /// a frame by those who like fewer meshes better.
    pub fn join(&mut self) -> MeshSwap {
        let tiling = &self.tiling;
        self.groups.join(&self.shown, |parent| {
            parent.children().into_iter().all(|child| tiling.is_leaf(child))
        })
    }

    fn hide(&mut self, block: MipBlock, swap: &mut MeshSwap) {
        if let Some(mesh) = self.shown.remove(&block) {
            self.triangles -= triangle_count(&mesh);
            swap.removed.push(block);
        }
    }

    /// Shows less if there are too many triangles, more again if there are few.
    fn keep_triangles(&mut self) {
        let most = self.options.max_triangles;
        let share = if self.triangles > most {
            self.share * 0.97
        } else if self.triangles < most / 5 * 4 {
            self.share * 1.01
        } else {
            self.share
        };
        self.share = share.clamp(1.0 / f64::from(self.options.detail), 1.0);
    }

    /// The mesh that is shown of a block.
    pub fn mesh(&self, block: MipBlock) -> Option<&Arc<BlockMesh>> {
        self.shown.get(&block)
    }

    /// Blocks that have a mesh, sorted.
    pub fn meshed_blocks(&self) -> Vec<MipBlock> {
        let mut blocks: Vec<_> = self.shown.keys().copied().collect();
        blocks.sort_unstable();
        blocks
    }

    /// All blocks that are shown, be it without a surface, sorted.
    pub fn blocks(&self) -> Vec<MipBlock> {
        let mut blocks: Vec<_> = self.tiling.leaves().collect();
        blocks.sort_unstable();
        blocks
    }

    /// Blocks that are shown as a whole but ought to be shown in parts.
    pub fn late(&self, viewers: &[LodViewer]) -> Vec<MipBlock> {
        let plain = |block| self.residency.known_plain(block);
        let steps = self.picker(viewers).steps(&self.tiling, plain);
        let split = |step| if let Step::Split(block) = step { Some(block) } else { None };
        steps.into_iter().filter_map(split).collect()
    }

    /// Triangles that are shown.
    pub fn triangles(&self) -> usize {
        self.triangles
    }

    /// The next few blocks whose cells are missing, nearest first. They are to be given to
    /// [`Lod::supply`]; those that are not are asked for again.
    pub fn take_wanted(&mut self, most: usize) -> Vec<MipBlock> {
        self.residency.take_wanted(most)
    }

    /// Takes in the cells of a block, 32³ of its mip.
    ///
    /// # Panics
    /// If they are not the block's.
    pub fn supply(&mut self, block: MipBlock, cells: DenseBox) {
        self.residency.supply(block, cells);
    }

    /// Blocks whose cells are missing to hold `region`, in voxels, at mip 0: for each mip,
    /// the coarsest first.
    pub fn missing(&mut self, grid: &mut VoxelGrid, region: Region) -> Vec<Vec<MipBlock>> {
        let over = |mip: u8| {
            let blocks = region.coarser(5 + u32::from(mip)).voxels();
            blocks.map(move |pos| MipBlock::new(mip, pos))
        };
        let mips = (0..=self.tiling.top()).rev();
        for block in mips.clone().flat_map(over) {
            if let Some(cells) = self.residency.take_staged(block) {
                self.hold(grid, block, cells);
            }
        }
        mips.map(|mip| over(mip).filter(|&b| !self.residency.has(grid, b)).collect()).collect()
    }

    /// Takes in the cells of a block and writes them into the grid, whether it is shown or
    /// not.
    ///
    /// # Panics
    /// If they are not the block's.
    pub fn hold(&mut self, grid: &mut VoxelGrid, block: MipBlock, cells: DenseBox) {
        self.read_changes(grid);
        self.residency.supply(block, cells);
        self.residency.commit(grid, block);
        self.residency.forget_plain(block, self.tiling.top());
        self.residency.skip_own_changes(grid);
        if let Some(changed) = &mut self.changed {
            changed.push(block.voxels());
        }
    }

    /// Chunks that were edited and not saved since, sorted. They do not leave memory.
    pub fn edited_chunks(&self) -> Vec<ChunkPos> {
        self.residency.edited()
    }

    /// Notes that chunks are saved as they are now, and may leave memory.
    pub fn chunks_saved(&mut self, chunks: &[ChunkPos]) {
        self.residency.saved(chunks);
    }
}

fn triangle_count(mesh: &BlockMesh) -> usize {
    mesh.solid.triangle_count() + mesh.liquid.triangle_count()
}

#[cfg(test)]
mod tests;
