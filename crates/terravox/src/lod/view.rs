//! The state of the view, and what is shown.

use super::active_plan::ActivePlan;
use super::chosen::ChosenFor;
use super::draft::Planning;
use super::fill_queue::FillQueue;
use super::groups::Groups;
use super::morph::MorphRanges;
use super::motion::Motion;
use super::options::LodOptions;
use super::ray::{self, NormalizedRay, ShownHit, ShownSurfaces};
use super::residency::Residency;
use super::selection::{LodStep, LodViewer, Selector};
use super::shown_mesh::{MeshSwap, ShownMesh, ShownMeshes};
use super::simplify_jobs::{SimplifiedMeshes, SimplifyJob};
use super::stuck_roots::StuckRoots;
use super::tiling::Tiling;
use crate::mesh::{BlockMesh, Shores};
use crate::simplify::SimplifyOptions;
use crate::voxel::{DenseBox, LIMIT, MipBlock, Region};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A level-of-detail view of a grid: which blocks are shown with which meshes, and what has to be
/// done next.
///
/// ```
/// use terravox::lod::{LodView, MeshScratch};
/// use terravox::voxel::{DenseBox, Region, VoxelGrid};
///
/// let (mut grid, mut view) = (VoxelGrid::default(), LodView::default());
/// let mut floor = DenseBox::new(Region::new([0; 3], [32, 8, 32]));
/// floor.fill(8);
/// grid.write(&floor)?;
/// let jobs = view.plan(&mut grid, &[]); // without viewers, everything at mip 0
/// let mut scratch = MeshScratch::default(); // keep one per thread
/// let swap = view.publish(jobs.iter().map(|job| job.run(&mut scratch)).collect());
/// assert!(!swap.added.is_empty() && view.triangles() > 2 * 32 * 32);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
pub struct LodView {
    pub(super) options: LodOptions,
    pub(super) tiling: Tiling,
    pub(super) residency: Residency,
    pub(super) shown: ShownMeshes,
    pub(super) groups: Groups,
    pub(super) triangles: usize,
    /// Share of the requested detail that `max_triangles` allows.
    pub(super) detail_share: f64,
    /// The viewers for whom the tiling is complete.
    pub(super) chosen_for: ChosenFor,
    /// Whether all blocks are looked at after an edit, too.
    #[cfg(test)]
    pub(super) looks_everywhere: bool,
    /// Blocks that were looked at.
    #[cfg(test)]
    pub(super) looked_at: usize,
    /// Regions that others changed since the last plan; `None` for all.
    pub(super) changed: Option<Vec<Region>>,
    /// Regions whose cells arrived since the last plan and are in the grid, before a step needed
    /// them.
    pub(super) arrived: Vec<Region>,
    /// Whether a mesh with a liquid surface was ever shown.
    pub(super) has_water: bool,
    pub(super) plan_count: u64,
    pub(super) planning: Option<Planning>,
    pub(super) active_plan: Option<ActivePlan>,
    /// How many times edits were taken into a plan.
    pub(super) edit_count: u64,
    /// The round in which others last changed cells.
    pub(super) edit_round: Option<u64>,
    /// Shows edits, ahead of `active_plan`.
    pub(super) edit_plan: Option<ActivePlan>,
    /// Whether the edits that are waiting cannot be shown ahead of the next plan.
    pub(super) has_late_edits: bool,
    /// Jobs to hand out before the next edit plan, so that endless edits do not stop the stream.
    pub(super) owed_jobs: usize,
    /// Whether the stream is planned before the next edit plan.
    pub(super) owes_planning: bool,
    /// Counts the choices between kinds of work.
    pub(super) turn: u32,
    pub(super) motion: Motion,
    pub(super) fills: FillQueue,
    pub(super) stuck_roots: StuckRoots,
    /// What replaces `tiling` while that is an island of chunks near the viewers.
    pub(super) next_tiling: Option<Tiling>,
    /// Whether cells on which the choice of `next_tiling` relied were dropped, so that it restarts.
    pub(super) is_choice_stale: bool,
    /// Whether a viewer left parts of the island behind.
    pub(super) has_left_island: bool,
    /// The round in which the first viewer came.
    pub(super) first_round: u64,
    /// Whether it is shown for viewers, rather than everything that is listed.
    pub(super) has_viewers: bool,
    /// Whether planning ever began.
    pub(super) has_planned: bool,
    /// Whether `tiling` and `next_tiling` are swapped just now: nothing is meshed.
    pub(super) is_choosing_next: bool,
    /// Whether a chunk near the viewers was written into the grid in this round.
    pub(super) has_held_near: bool,
    pub(super) scratch: DenseBox,
    pub(super) shores: Shores,
}

impl std::fmt::Debug for LodView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LodView")
            .field("options", &self.options)
            .field("meshes", &self.shown.len())
            .field("triangles", &self.triangles)
            .field("is_planned", &self.is_planned())
            .finish_non_exhaustive()
    }
}

impl Default for LodView {
    fn default() -> LodView {
        LodView::new(LodOptions::default())
    }
}

impl LodView {
    /// Creates a view that shows nothing yet.
    ///
    /// # Panics
    /// If an option is out of range.
    pub fn new(options: LodOptions) -> LodView {
        options.assert_valid();
        LodView {
            options,
            tiling: Tiling::default(),
            residency: Residency::default(),
            shown: FxHashMap::default(),
            has_water: false,
            groups: Groups::default(),
            triangles: 0,
            detail_share: 1.0,
            chosen_for: ChosenFor::Unfinished,
            #[cfg(test)]
            looks_everywhere: false,
            #[cfg(test)]
            looked_at: 0,
            changed: None,
            arrived: Vec::new(),
            plan_count: 0,
            planning: None,
            active_plan: None,
            edit_count: 0,
            edit_round: None,
            edit_plan: None,
            has_late_edits: false,
            owed_jobs: 0,
            owes_planning: false,
            turn: 0,
            motion: Motion::default(),
            fills: FillQueue::default(),
            stuck_roots: StuckRoots::default(),
            next_tiling: None,
            is_choice_stale: false,
            has_left_island: false,
            first_round: 0,
            has_viewers: false,
            has_planned: false,
            is_choosing_next: false,
            has_held_near: false,
            scratch: DenseBox::default(),
            shores: Shores::default(),
        }
    }

    /// Returns the options.
    pub fn options(&self) -> &LodOptions {
        &self.options
    }

    /// Whether a plan is waiting to be published.
    pub fn is_planned(&self) -> bool {
        self.active_plan.is_some() || self.edit_plan.is_some()
    }

    /// Whether nothing is left to fill, choose or mesh for the viewers of the last plan; false
    /// before the first, and while cells that are needed are unavailable.
    pub fn is_settled(&self) -> bool {
        let has_news = self.has_viewers && self.fills.has_any_arrivals();
        let is_chosen = !self.has_viewers || self.chosen_for.is_complete();
        let is_idle = !self.is_planned() && self.planning.is_none() && self.next_tiling.is_none();
        self.has_planned && is_chosen && is_idle && !has_news && !self.fills.has_missing()
    }

    /// Whether all meshes that stopped changing are joined, or simplified if that is on.
    pub fn is_at_rest(&self) -> bool {
        self.groups.is_at_rest()
    }

    /// Returns all that is shown, block by block, as a swap to start from.
    pub fn reset_mesh_swaps(&mut self) -> MeshSwap {
        self.groups.part_all(&self.shown);
        let shown = self.shown.iter();
        let mut added: Vec<ShownMesh> = shown
            .map(|(&block, mesh)| ShownMesh { block, mip: block.mip, mesh: mesh.clone() })
            .collect();
        added.sort_unstable_by_key(|shown| shown.block);
        MeshSwap { removed: Vec::new(), added }
    }

    /// Joins the meshes of a few blocks that stopped changing. Call it once a frame if fewer,
    /// larger meshes are better.
    pub fn join(&mut self) -> MeshSwap {
        let tiling = &self.tiling;
        self.groups.join(&self.shown, |parent| tiling.shows_children(parent))
    }

    /// Returns at most `max_jobs` jobs for meshes that did not change for 60 calls, one per group
    /// of up to eight blocks. Call it once a frame, in place of [`LodView::join`], if
    /// [`LodOptions::simplify`] is set; otherwise it returns none.
    pub fn plan_simplified(&mut self, max_jobs: usize) -> Vec<SimplifyJob> {
        let Some(error) = self.options.simplify else { return Vec::new() };
        let options = SimplifyOptions::within(error);
        self.groups.plan_simplified(&self.tiling, &self.shown, options, max_jobs)
    }

    /// Draws simplified meshes in place of their sources, if those are still shown. Groups that
    /// changed meanwhile are simplified again when they are idle.
    pub fn publish_simplified(&mut self, results: Vec<SimplifiedMeshes>) -> MeshSwap {
        self.groups.publish_simplified(&self.tiling, &self.shown, results)
    }

    /// Returns the nearest hit of a ray on the shown `surfaces` within `max_distance`; all in
    /// voxels. `direction` may have any length. Invalid rays (NaN, infinite, zero direction, an
    /// origin more than 2⁴⁰ voxels away on an axis) never hit.
    pub fn ray(
        &self,
        origin: [f64; 3],
        direction: [f64; 3],
        max_distance: f64,
        surfaces: ShownSurfaces,
    ) -> Option<ShownHit> {
        if max_distance.is_nan() {
            return None;
        }
        let ray = NormalizedRay::new(origin, direction)?;
        ray::cast(&self.tiling, &self.shown, &ray, max_distance, surfaces)
    }

    /// Returns how far vertices have morphed to the next coarser mip, by their distance from the
    /// nearest viewer.
    pub fn morph(&self) -> MorphRanges {
        let Selector { detail, hysteresis, near_voxels, .. } = self.selector(&[], false);
        MorphRanges { detail, hysteresis, near_voxels, top: self.tiling.top() }
    }

    /// Returns the mesh shown for a block.
    pub fn mesh(&self, block: MipBlock) -> Option<&Arc<BlockMesh>> {
        self.shown.get(&block)
    }

    /// Returns the blocks that have a mesh, sorted.
    pub fn meshed_blocks(&self) -> Vec<MipBlock> {
        let mut blocks: Vec<_> = self.shown.keys().copied().collect();
        blocks.sort_unstable();
        blocks
    }

    /// Returns all blocks that are shown, with or without a surface, sorted.
    pub fn blocks(&self) -> Vec<MipBlock> {
        let mut blocks: Vec<_> = self.tiling.leaves().collect();
        blocks.sort_unstable();
        blocks
    }

    /// Returns the blocks that should be split but are not yet.
    pub fn overdue_splits(&self, viewers: &[LodViewer]) -> Vec<MipBlock> {
        let surfaceless = |block| self.residency.is_known_surfaceless(block);
        let steps = self.selector(viewers, false).steps(&self.tiling, surfaceless);
        let split = |step| if let LodStep::Split(block) = step { Some(block) } else { None };
        steps.into_iter().filter_map(split).collect()
    }

    /// Returns the number of triangles shown.
    pub fn triangles(&self) -> usize {
        self.triangles
    }

    /// Records where the viewers are in this round: blocks ahead of those that move are chosen as well.
    /// Without any, none is taken to move.
    pub(crate) fn note_motion(&mut self, viewers: &[LodViewer]) {
        self.motion.note(viewers);
    }

    pub(super) fn selector(&self, viewers: &[LodViewer], looks_ahead: bool) -> Selector {
        let valid = |viewer: LodViewer| {
            let is_finite = viewer.position_voxels.iter().all(|v| v.is_finite());
            // No farther than the grid reaches.
            let distance_voxels = viewer.distance_voxels.clamp(0.0, 2.0 * f64::from(LIMIT));
            let viewer = LodViewer { distance_voxels, ..viewer };
            (is_finite && !distance_voxels.is_nan()).then_some(viewer)
        };
        let ahead = self.motion.ahead(viewers).filter(|_| looks_ahead);
        Selector {
            viewers: viewers.iter().copied().filter_map(valid).collect(),
            ahead: ahead.filter_map(valid).collect(),
            detail: f64::from(self.options.detail) * self.detail_share,
            hysteresis: self.options.hysteresis.into(),
            near_voxels: self.options.near_voxels.into(),
            looks_ahead,
        }
    }
}
