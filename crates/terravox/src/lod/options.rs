//! Options of the view.

use super::clusters::ClusterFitter;
use crate::voxel::MAX_MIP;

/// Options of the level of detail.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct LodOptions {
    /// A block is split into eight finer ones when a viewer is nearer than this many times its edge
    /// length; at least 1. Time, memory and triangles grow with its square. 3 by default.
    pub detail: f32,
    /// Eight blocks are merged again when all viewers are farther than the split distance of their
    /// parent by this fraction. 0 or more; 0.1 (10 %) by default.
    pub hysteresis: f32,
    /// Everything within this distance of a viewer is held and shown at mip 0, for physics and
    /// edits, also where there is no surface. In voxels; 64 by default.
    pub near_voxels: f32,
    /// The coarsest mip shown, 0 to [`MAX_MIP`] (8, the default).
    pub max_mip: u8,
    /// Triangle budget of all viewers together. Above it, the detail drops by 3 % per plan, to no
    /// less than 1. 4,000,000 by default.
    pub max_triangles: usize,
    /// Above this many bytes of cells, cells that are not shown are evicted, but never unsaved
    /// chunks. 256 MiB by default.
    pub max_bytes: usize,
    /// Maximum number of blocks meshed per plan; exceeded only if a single step needs more. 1 or
    /// more; 48 by default.
    pub jobs_per_plan: usize,
    /// Whether meshes have morph targets
    /// ([`Surface::targets`](crate::mesh::Surface::targets)), so that blocks can be split and
    /// merged without popping ([`LodView::morph`](super::LodView::morph)). Meshing takes longer,
    /// and shores do not extend into the ground ([`Shores`](crate::mesh::Shores)): water ends with
    /// its own cells. Off by default.
    pub morph: bool,
    /// Blocks of mips 1 to this, at most [`ClusterFitter::MAX_MIP`], have their vertices fitted to
    /// the mip 0 surface ([`ClusterFitter`](super::ClusterFitter)) where all their cells are held
    /// at mip 0. They are then nearer to the fine surface, at several times the work. 0 (the
    /// default) for none.
    pub cluster_mips: u8,
    /// Meshes that did not change for 60 updates are simplified to within this error, in cells of
    /// their blocks ([`SimplifyOptions::error`](crate::simplify::SimplifyOptions::error)), at
    /// several times the work of meshing them. Finite and above 0; `None` (the default)
    /// keeps all triangles.
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
    /// Panics if an option is out of range.
    pub(super) fn assert_valid(&self) {
        let LodOptions { detail, hysteresis, near_voxels, max_mip, cluster_mips, .. } = *self;
        let finite = |v: f32, least: f32| v.is_finite() && v >= least;
        assert!(
            finite(detail, 1.0),
            "LodOptions::detail is {detail}; it must be 1 or more, and finite"
        );
        assert!(
            finite(hysteresis, 0.0),
            "LodOptions::hysteresis is {hysteresis}; it must be 0 or more, and finite"
        );
        assert!(
            finite(near_voxels, 0.0),
            "LodOptions::near_voxels is {near_voxels}; it must be 0 or more, and finite"
        );
        assert!(max_mip <= MAX_MIP, "LodOptions::max_mip is {max_mip}; it must be 0 to {MAX_MIP}");
        assert!(
            cluster_mips <= ClusterFitter::MAX_MIP,
            "LodOptions::cluster_mips is {cluster_mips}; it must be 0 to {}",
            ClusterFitter::MAX_MIP
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
