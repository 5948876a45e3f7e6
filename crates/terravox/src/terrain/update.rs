//! The work of a frame, within a budget: cells for what is to be shown, then its meshes.

use super::budget::{Budget, JOIN_MILLIS, JobClass, Meter, at_once, each};
use super::fill_request::filled;
use super::jobs::Job;
use super::{FillRequest, Placement, Terrain, TerrainError};
use crate::lod::{LodViewer, MeshSwap};
use crate::voxel::{DenseBox, MipBlock};

/// A point from which the world is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Viewer {
    /// Position, world metres. Viewers with a non-finite position are ignored.
    pub position_m: [f64; 3],
    /// View distance, metres. Infinity counts as 16 blocks of
    /// [`LodOptions::max_mip`](crate::lod::LodOptions::max_mip) (131,072 voxels by default, which
    /// take long to fill). Viewers with NaN are ignored.
    pub distance_m: f64,
}

impl Viewer {
    /// A viewer with a view distance of eight kilometres.
    pub fn at(position_m: impl Into<[f64; 3]>) -> Viewer {
        Viewer { position_m: position_m.into(), distance_m: 8192.0 }
    }
}

impl Terrain {
    /// Fills and meshes what the viewers can see, within the budget. Ground within
    /// [`LodOptions::near_voxels`](crate::lod::LodOptions::near_voxels) of a viewer is filled by
    /// `fill` first, and can be hit by rays and edited from then on; then it is shown, then the
    /// rest, nearest first, in multiples of the block's edge length. An edit is shown once every
    /// block that it affects is meshed; later edits follow in the next plan.
    ///
    /// Without viewers all chunks that are held are shown at mip 0, and `fill` is not called.
    /// Nor is it called in a world whose unlisted chunks are air
    /// ([`UnlistedChunks::Air`](crate::voxel::UnlistedChunks)). Eight blocks of a mip that did not change
    /// for 60 updates are drawn as one mesh. With `LodOptions::simplify`, idle meshes are
    /// simplified with what is left of the budget; never with `Budget::Millis`, since one takes
    /// several frames: use [`Terrain::take_jobs`]. Without it, blocks are then neither simplified
    /// nor joined.
    ///
    /// `fill` must give a block the same cells each time it is called, with all edits that were
    /// [saved](Terrain::mark_saved). Cells with unsaved changes never leave memory.
    ///
    /// ```
    /// use terravox::terrain::{Budget, Terrain, Viewer};
    ///
    /// let mut terrain = Terrain::default();
    /// let viewer = Viewer { position_m: [0.0, 10.0, 0.0], distance_m: 200.0 };
    /// terrain.update(&[viewer], Budget::Unlimited, |request| {
    ///     request.fill_height(8, -4.0..=4.0, |x, _z| 4.0 * (x * 0.1).sin());
    /// });
    /// assert!(terrain.ray([0.5, 10.0, 0.5], [0.0, -1.0, 0.0], 50.0).hit().is_some());
    /// ```
    ///
    /// # Panics
    /// If `fill` changes the region of the cells.
    pub fn update(
        &mut self,
        viewers: &[Viewer],
        budget: Budget,
        fill: impl Fn(&mut FillRequest<'_>) + Sync,
    ) {
        let mut meter = Meter::new(budget, self.clock);
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        self.begin_frame();
        let deferred = self.runner.take_deferred();
        self.run_jobs(deferred, &mut meter, &fill);
        while self.advance(&viewers, &meter) {
            let most = meter.left().min(at_once(budget));
            let jobs: Vec<Job> = std::iter::from_fn(|| self.next_job(&meter)).take(most).collect();
            if jobs.is_empty() {
                if most > 0 && self.publish_whole() {
                    continue;
                }
                break;
            }
            if !meter.may_begin(self.runner.longest_millis(&jobs)) {
                self.runner.defer(jobs);
                break;
            }
            self.run_jobs(jobs, &mut meter, &fill);
        }
        self.rest(&meter);
        let start = meter.elapsed();
        self.follow_edits();
        self.runner.note_follow(meter.elapsed() - start);
    }

    fn run_jobs(
        &mut self,
        jobs: Vec<Job>,
        meter: &mut Meter,
        fill: &(impl Fn(&mut FillRequest<'_>) + Sync),
    ) {
        meter.spend(jobs.len());
        let classes: Vec<_> = jobs.iter().map(JobClass::of).collect();
        let done = each(jobs, |job| {
            let start = meter.elapsed();
            let done = self.runner.scratch.lend(|scratch| job.run(scratch, fill));
            (done, meter.elapsed() - start)
        });
        for (class, (done, millis)) in classes.into_iter().zip(done) {
            let start = meter.elapsed();
            self.finish_job(done);
            self.runner.note(class, millis + meter.elapsed() - start);
        }
    }

    /// Joins and simplifies meshes that did not change for a while, with what is left of the
    /// budget. Simplifying a group takes many times a frame, so a time budget leaves it to other
    /// threads.
    fn rest(&mut self, meter: &Meter) {
        let swap = if self.lod.options().simplify.is_some() {
            let is_idle = !meter.is_timed() && !self.lod.is_planned();
            let most = if is_idle { meter.left() } else { 0 };
            let jobs = self.lod.plan_simplified(most.min(at_once(meter.budget())));
            let done = each(jobs, |job| self.runner.scratch.lend(|scratch| scratch.simplify(job)));
            self.lod.publish_simplified(done)
        } else if meter.may_begin(JOIN_MILLIS) {
            self.lod.join()
        } else {
            return;
        };
        self.show(swap);
    }

    /// Begins a frame: requests again what was dropped or could not be filled.
    pub(super) fn begin_frame(&mut self) {
        self.lod.begin_round();
    }

    pub(super) fn show(&mut self, swap: MeshSwap) {
        self.swaps.push(swap);
    }

    pub(super) fn lod_viewer(&self, viewer: &Viewer) -> LodViewer {
        LodViewer {
            position_voxels: self.placement.voxel_from_world(viewer.position_m),
            distance_voxels: viewer.distance_m / self.placement.voxel_size_m,
        }
    }

    /// Fills all chunks of a box in world metres that are not held at mip 0 yet, so that they can
    /// be edited at any distance. The next update with viewers may drop them again where no viewer
    /// is near, unless they have unsaved changes. At most 2³⁰ voxels ([`DenseBox::MAX_CELLS`]).
    ///
    /// ```
    /// use terravox::{EditOp, Terrain};
    ///
    /// let mut terrain = Terrain::default();
    /// let (min, max) = ([4990.0, -10.0, -10.0], [5010.0, 10.0, 10.0]); // no viewer is near
    /// terrain.hold(min, max, |request| request.fill_sdf(8, |p| -p[1]))?;
    /// let dug = terrain.edit(&EditOp::dig_ball([5000.0, 0.0, 0.0], 4.0))?;
    /// assert!(dug.removed.voxels(8) > 90.0);
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    ///
    /// # Errors
    /// [`TerrainError`]: beyond the limits of the world, too large, or not held
    /// if `fill` cannot provide all of them: those that it can are then held.
    pub fn hold(
        &mut self,
        min_m: impl Into<[f64; 3]>,
        max_m: impl Into<[f64; 3]>,
        fill: impl Fn(&mut FillRequest<'_>) + Sync,
    ) -> Result<(), TerrainError> {
        let region = self.checked_region(min_m, max_m, DenseBox::MAX_CELLS)?;
        for blocks in self.lod.missing(&mut self.grid, region) {
            for (block, cells) in fill_all(blocks, self.original_placement, &fill) {
                if let Some(cells) = cells {
                    self.lod.hold(&mut self.grid, block, cells);
                }
            }
        }
        self.follow_edits();
        for chunk in region.blocks::<5>() {
            self.grid.chunk(chunk).map_err(self.in_metres())?;
        }
        Ok(())
    }

    /// Returns the changes to what is drawn since the last call, oldest first. A game that never
    /// draws need not call this: many waiting changes are merged into one.
    ///
    /// ```
    /// use terravox::terrain::{Budget, Terrain};
    ///
    /// let (mut terrain, mut drawn) = (Terrain::default(), std::collections::HashMap::new());
    /// terrain.fill([-16.0; 3], [16.0; 3], |request| request.fill_sdf(8, |p| -p[1]))?;
    /// terrain.update(&[], Budget::Unlimited, |_| {});
    /// for swap in terrain.mesh_swaps() {
    ///     swap.removed.iter().for_each(|block| drop(drawn.remove(block))); // first
    ///     drawn.extend(swap.added.into_iter().map(|shown| (shown.block, shown)));
    /// }
    /// assert!(!drawn.is_empty());
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    pub fn mesh_swaps(&mut self) -> impl Iterator<Item = MeshSwap> + use<> {
        self.swaps.take().into_iter()
    }

    /// Returns the blocks that are shown coarser than the viewers should see them.
    pub fn overdue_splits(&self, viewers: &[Viewer]) -> Vec<MipBlock> {
        let viewers: Vec<_> = viewers.iter().map(|viewer| self.lod_viewer(viewer)).collect();
        self.lod.overdue_splits(&viewers)
    }
}

fn fill_all(
    blocks: Vec<MipBlock>,
    placement: Placement,
    fill: &(impl Fn(&mut FillRequest<'_>) + Sync),
) -> Vec<(MipBlock, Option<DenseBox>)> {
    each(blocks, |block| (block, filled(block, placement, fill)))
}
