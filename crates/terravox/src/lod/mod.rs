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
mod fills;
mod groups;
mod job;
mod morph;
mod out;
mod pick;
mod plan;
mod quiet;
mod ray;
mod residency;
mod rest;
mod shown;
mod steps;
mod tiling;

pub use clusters::{Clusters, MAX_CLUSTER_MIP};
pub(crate) use fills::Ticket as FillTicket;
pub use job::{MeshJob, MeshScratch, MeshedBlock};
pub use morph::Morph;
pub use pick::LodViewer;
pub use ray::{ShownHit, ShownSurfaces};
pub use rest::{SimplifiedMeshes, SimplifyJob};
pub use shown::MeshTransform;

use crate::mesh::BlockMesh;
use crate::voxel::{DenseBox, LIMIT, MAX_MIP, MipBlock, Region, Snapshot, Unlisted, VoxelGrid};
use fills::{Fills, Ticket};
use groups::Groups;
use out::Out;
use pick::{Picker, Step};
use plan::{More, Planning};
use residency::Residency;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use tiling::Tiling;

/// How much is shown.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
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
    /// Whether meshes say where each vertex lies one level up
    /// ([`Surface::targets`](crate::mesh::Surface::targets)), so that blocks can be split and
    /// merged without a jump ([`Lod::morph`]). Meshing takes longer, and no shore is carried
    /// into the ground ([`Shores`](crate::mesh::Shores)): water ends with its own cells.
    pub morph: bool,
    /// Blocks of mips 1 up to this, at most [`MAX_CLUSTER_MIP`], are shown by [`Clusters`]
    /// where all their cells are held at mip 0 when they are meshed; 0 for none. Nearer to
    /// the fine surface, at several times the work.
    pub cluster_mips: u8,
    /// Meshes that did not change for 60 updates are drawn by as few triangles as may be
    /// within so many cells of their blocks ([`SimplifyOptions::error`](crate::simplify::SimplifyOptions::error)), at several times the work
    /// of meshing them. Finite and above 0; none for all triangles.
    pub simplify: Option<f32>,
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
            morph: false,
            cluster_mips: 0,
            simplify: None,
        }
    }
}

impl LodOptions {
    /// Panics unless each option is in its range.
    fn assert_valid(&self) {
        let LodOptions { detail, hysteresis, near_voxels, max_mip, cluster_mips, .. } = *self;
        let finite = |v: f32, least: f32| v.is_finite() && v >= least;
        assert!(finite(detail, 1.0), "LodOptions::detail is {detail}; it must be 1 or more");
        assert!(
            finite(hysteresis, 0.0),
            "LodOptions::hysteresis is {hysteresis}; it must be 0 or more"
        );
        assert!(
            finite(near_voxels, 0.0),
            "LodOptions::near_voxels is {near_voxels}; it must be 0 or more, and finite"
        );
        assert!(max_mip <= MAX_MIP, "LodOptions::max_mip is {max_mip}; it must be 0 to {MAX_MIP}");
        assert!(
            cluster_mips <= MAX_CLUSTER_MIP,
            "LodOptions::cluster_mips is {cluster_mips}; it must be 0 to {MAX_CLUSTER_MIP}"
        );
        assert!(self.jobs_per_plan > 0, "LodOptions::jobs_per_plan is 0; it must be 1 or more");
        if let Some(error) = self.simplify {
            assert!(
                error.is_finite() && error > 0.0,
                "LodOptions::simplify is {error} cells; it must be finite and above 0"
            );
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

    /// Adds the changes that follow these, so that both are one: meshes that come and go again
    /// are in neither list.
    pub(crate) fn extend(&mut self, next: MeshSwap) {
        let mut added: BTreeMap<MipBlock, ShownMesh> =
            self.added.drain(..).map(|shown| (shown.block, shown)).collect();
        let was_shown = |block: &MipBlock| added.remove(block).is_none();
        self.removed.extend(next.removed.into_iter().filter(was_shown));
        self.removed.sort_unstable();
        added.extend(next.added.into_iter().map(|shown| (shown.block, shown)));
        self.added.extend(added.into_values());
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
    /// Whether a mesh with a liquid surface was ever shown.
    has_water: bool,
    plans: u64,
    /// A plan in the making.
    planning: Option<Planning>,
    out: Option<Out>,
    fills: Fills,
    /// While `tiling` is an island near the viewers: what is to take its place.
    coming: Option<Tiling>,
    /// Whether cells that the choice of `coming` counted on were dropped, so that it starts over.
    is_choice_lost: bool,
    /// Whether a viewer left parts of the island behind.
    is_left: bool,
    /// Whether it is shown for viewers, not all that is listed.
    is_view: bool,
    /// Whether `tiling` is just now the one that is coming: nothing of it is meshed.
    is_unseen: bool,
    /// Whether a chunk near the viewers was written into the grid in this round.
    has_held: bool,
    scratch: DenseBox,
}

impl std::fmt::Debug for Lod {
    /// Says how much is shown, not what.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lod")
            .field("options", &self.options)
            .field("meshes", &self.shown.len())
            .field("triangles", &self.triangles)
            .field("is_planned", &self.is_planned())
            .finish_non_exhaustive()
    }
}

impl Default for Lod {
    fn default() -> Lod {
        Lod::new(LodOptions::default())
    }
}

impl Lod {
    /// Nothing is shown yet.
    ///
    /// # Panics
    /// If an option is out of its range.
    pub fn new(options: LodOptions) -> Lod {
        options.assert_valid();
        Lod {
            options,
            tiling: Tiling::default(),
            residency: Residency::default(),
            shown: FxHashMap::default(),
            has_water: false,
            groups: Groups::default(),
            triangles: 0,
            share: 1.0,
            chosen_for: None,
            changed: None,
            plans: 0,
            planning: None,
            out: None,
            fills: Fills::default(),
            coming: None,
            is_choice_lost: false,
            is_left: false,
            is_view: false,
            is_unseen: false,
            has_held: false,
            scratch: DenseBox::default(),
        }
    }

    /// How much is shown.
    pub fn options(&self) -> &LodOptions {
        &self.options
    }

    /// Whether a plan is out.
    pub fn is_planned(&self) -> bool {
        self.out.is_some()
    }

    fn picker(&self, viewers: &[LodViewer], looks_ahead: bool) -> Picker {
        let finite = |viewer: &&LodViewer| {
            viewer.position_voxels.iter().all(|v| v.is_finite()) && !viewer.distance_voxels.is_nan()
        };
        // Nobody sees farther than the grid reaches.
        let within = |viewer: &LodViewer| LodViewer {
            distance_voxels: viewer.distance_voxels.clamp(0.0, 2.0 * f64::from(LIMIT)),
            ..*viewer
        };
        Picker {
            viewers: viewers.iter().filter(finite).map(within).collect(),
            detail: f64::from(self.options.detail) * self.share,
            hysteresis: self.options.hysteresis.into(),
            near: self.options.near_voxels.into(),
            looks_ahead,
        }
    }

    /// Shows the results of a whole plan.
    ///
    /// # Panics
    /// If they are not the results of every job of the last plan, in any order.
    pub fn publish(&mut self, mut results: Vec<MeshedBlock>) -> MeshSwap {
        let out = self.out.take();
        let (blocks, gone, done) =
            out.map_or_else(Default::default, |out| (out.blocks, out.gone, out.done));
        results.extend(done);
        results.sort_unstable_by_key(|result| result.block);
        let complete = results.iter().map(|result| result.block).eq(blocks)
            && results.iter().all(|result| result.plan == self.plans);
        assert!(complete, "a plan is published whole: every job of the last plan once");
        let mut swap = MeshSwap::default();
        for block in gone {
            self.hide(block, &mut swap);
        }
        for MeshedBlock { block, mesh, .. } in results {
            if is_same(self.shown.get(&block), mesh.as_ref()) {
                continue;
            }
            self.hide(block, &mut swap);
            if let Some(mesh) = mesh {
                self.triangles += triangle_count(&mesh);
                self.has_water |= !mesh.liquid.is_empty();
                self.shown.insert(block, mesh.clone());
                swap.added.push(ShownMesh { block, mip: block.mip, mesh });
            }
        }
        self.keep_triangles();
        self.groups.apply(swap, &self.shown)
    }

    /// Joins the meshes of a few blocks that did not change for a while: to be called once
    /// a frame where fewer meshes are worth it.
    pub fn join(&mut self) -> MeshSwap {
        let tiling = &self.tiling;
        self.groups.join(&self.shown, |parent| is_whole(tiling, parent))
    }

    /// Whether nothing is to be filled, chosen or meshed for the viewers of the last plan.
    pub fn is_settled(&self) -> bool {
        let chosen = !self.is_view || self.chosen_for.is_some();
        let idle = self.out.is_none() && self.planning.is_none() && self.coming.is_none();
        chosen && idle && !self.fills.is_asking()
    }

    /// Returns all that is shown, block by block, as a swap to start from.
    pub fn redraw(&mut self) -> MeshSwap {
        self.groups.part_all(&self.shown);
        let shown = self.shown.iter();
        let mut added: Vec<ShownMesh> = shown
            .map(|(&block, mesh)| ShownMesh { block, mip: block.mip, mesh: mesh.clone() })
            .collect();
        added.sort_unstable_by_key(|shown| shown.block);
        MeshSwap { removed: Vec::new(), added }
    }

    /// Whether all meshes that rest are joined, or simplified if they are to be.
    pub fn is_at_rest(&self) -> bool {
        self.groups.is_at_rest()
    }

    fn is_whole(&self, parent: MipBlock) -> bool {
        is_whole(&self.tiling, parent)
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

    /// How far vertices are on their way to the next coarser level, by their distance from
    /// the nearest viewer.
    pub fn morph(&self) -> Morph {
        let Picker { detail, hysteresis, near, .. } = self.picker(&[], false);
        Morph { detail, hysteresis, near, top: self.tiling.top() }
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
        let steps = self.picker(viewers, false).steps(&self.tiling, plain);
        let split = |step| if let Step::Split(block) = step { Some(block) } else { None };
        steps.into_iter().filter_map(split).collect()
    }

    /// Triangles that are shown.
    pub fn triangles(&self) -> usize {
        self.triangles
    }

    /// The next few blocks whose cells are missing, nearest first. They are to be given to
    /// [`Lod::supply`]; those that are not are asked for again.
    pub fn take_wanted(&mut self, grid: &Snapshot, most: usize) -> Vec<MipBlock> {
        self.fills.begin_round();
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some((block, _)) = self.take_near_fill(grid).or_else(|| self.take_far_fill(grid))
        {
            taken.push(block);
        }
        taken
    }

    /// Hands out the chunk near a viewer whose cells are asked for next.
    pub(crate) fn take_near_fill(&mut self, grid: &Snapshot) -> Option<(MipBlock, Ticket)> {
        let residency = &self.residency;
        self.fills.take_near(residency.version(), |block| residency.has(grid, block))
    }

    /// Hands out the block whose cells are asked for next by what is to be shown.
    pub(crate) fn take_far_fill(&mut self, grid: &Snapshot) -> Option<(MipBlock, Ticket)> {
        let residency = &self.residency;
        self.fills.take_wanted(residency.version(), |block| residency.has(grid, block))
    }

    /// Takes the cells of a block back that was handed out, none if they cannot be had now.
    /// What comes too late, or twice, changes nothing.
    pub(crate) fn finish_fill(
        &mut self,
        block: MipBlock,
        ticket: &Ticket,
        cells: Option<DenseBox>,
    ) {
        match cells {
            None => self.fills.refuse(block, ticket),
            Some(cells) => {
                let Some(version) = self.fills.arrive(block, Some(ticket)) else { return };
                self.residency.stage(block, cells, version);
            }
        }
    }

    /// Holds chunks that came and are near the viewers: one in each round, more as long as there
    /// is time.
    fn hold_staged_near(&mut self, grid: &mut VoxelGrid, more: More<'_>) {
        for block in self.residency.staged_chunks() {
            if self.fills.is_near(block) {
                if self.has_held && !more() {
                    return;
                }
                self.has_held = true;
                self.hold_staged(grid, block);
            }
        }
    }

    /// Takes in the cells of a block, 32³ of its mip.
    ///
    /// # Panics
    /// If they are not the block's.
    pub fn supply(&mut self, block: MipBlock, cells: DenseBox) {
        let version = self.fills.arrive(block, None).unwrap_or_default();
        self.residency.stage(block, cells, version);
    }

    /// Blocks whose cells are missing to hold `region`, in voxels, at mip 0: for each mip,
    /// the coarsest first.
    pub fn missing(&mut self, grid: &mut VoxelGrid, region: Region) -> Vec<Vec<MipBlock>> {
        // What came before a save and waits may lack what was edited.
        self.read_changes(grid);
        let over = |mip: u8| {
            let blocks = region.coarser(5 + u32::from(mip)).voxels();
            blocks.map(move |pos| MipBlock::new(mip, pos))
        };
        // Whatever mip is shown later has to know of edits here.
        let top = match grid.unlisted() {
            Unlisted::Air => self.tiling.top(),
            Unlisted::Unknown => self.options.max_mip.max(self.tiling.top()),
        };
        let mips = (0..=top).rev();
        for block in mips.clone().flat_map(over) {
            if let Some(cells) = self.residency.take_staged(block) {
                self.hold(grid, block, cells);
            }
        }
        mips.map(|mip| over(mip).filter(|&b| !self.residency.has(grid.as_snapshot(), b)).collect())
            .collect()
    }

    /// Takes in the cells of a block and writes them into the grid, whether it is shown or
    /// not.
    ///
    /// # Panics
    /// If they are not the block's.
    pub fn hold(&mut self, grid: &mut VoxelGrid, block: MipBlock, cells: DenseBox) {
        assert_eq!(cells.region(), block.cells(), "a block is held as a whole");
        self.read_changes(grid);
        self.residency.put(grid, block, &cells);
        self.note_held(grid, block);
    }

    /// Writes a block that came into the grid, unless it went stale meanwhile.
    fn hold_staged(&mut self, grid: &mut VoxelGrid, block: MipBlock) {
        self.read_changes(grid);
        self.residency.commit(grid, block);
        self.note_held(grid, block);
        if !self.residency.has(grid.as_snapshot(), block) {
            self.fills.ask_again(block);
        }
    }

    fn note_held(&mut self, grid: &mut VoxelGrid, block: MipBlock) {
        self.residency.forget_plain(block, self.tiling.top());
        self.residency.skip_own_changes(grid);
        if let Some(changed) = &mut self.changed {
            changed.push(block.voxels());
        }
    }
}

/// Whether all eight children of a block are shown.
fn is_whole(tiling: &Tiling, parent: MipBlock) -> bool {
    parent.children().into_iter().all(|child| tiling.is_leaf(child))
}

/// Whether two meshes are the same, or none is there.
fn is_same(a: Option<&Arc<BlockMesh>>, b: Option<&Arc<BlockMesh>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn triangle_count(mesh: &BlockMesh) -> usize {
    mesh.solid.triangle_count() + mesh.liquid.triangle_count()
}

#[cfg(test)]
mod tests;
