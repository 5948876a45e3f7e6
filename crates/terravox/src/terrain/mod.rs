//! The entry point: a world in metres that can be filled, edited, queried and drawn.
//!
//! [`Terrain`] owns the grid and its views (the shown meshes, the collider, the planes of
//! particles, the history) and keeps them up to date. It converts metres to voxels; the
//! algorithms are in other modules of this crate.

mod budget;
mod channels;
mod edits;
mod effect_planes;
mod effects;
mod error;
mod fill_request;
mod job;
mod loose;
mod placement;
mod rays;
mod runner;
mod save;
mod shown;
mod swaps;
mod update;

pub use crate::lod::{LodOptions, MeshSwap, ShownMesh};
pub use budget::{Budget, Clock};
pub use error::TerrainError;
pub use fill_request::FillRequest;
pub use job::{FinishedJob, Job, JobKind, JobScratch};
pub use placement::{Placement, PlacementError};
pub use rays::{RayHit, RayOutcome};
pub use save::UnsavedChanges;
pub use update::Viewer;

use crate::bodies::LooseCutter;
use crate::collide::{Collider, ColliderOptions};
use crate::edit::{Clip, EditError, EditLimits, EditOp, Editor, History, HistoryStamp};
use crate::lod::LodView;
use crate::mesh::BlockMesh;
use crate::voxel::{
    Cell, ChannelGrid, DenseBox, GridOptions, LIMIT, MaterialTable, MipBlock, Region,
    UnlistedChunks, VoxelGrid,
};
use effect_planes::EffectPlanes;
use fill_request::filled;
use runner::JobRunner;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use swaps::SwapQueue;

/// Options of [`Terrain::new`].
///
/// ```
/// use terravox::terrain::{Placement, Terrain, TerrainOptions};
///
/// let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
/// let terrain = Terrain::new(TerrainOptions { placement, ..TerrainOptions::default() });
/// assert_eq!(terrain.placement().voxel_size_m, 0.5);
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct TerrainOptions {
    /// Size of voxels and where they lie.
    pub placement: Placement,
    /// Materials by id.
    pub materials: MaterialTable,
    /// What chunks without data count as: with [`UnlistedChunks::Unknown`] (the default), `update`
    /// requests them from its closure; with [`UnlistedChunks::Air`], they are air.
    pub unlisted: UnlistedChunks,
    /// Options of the collider.
    pub collider: ColliderOptions,
    /// Options of the level of detail.
    pub lod: LodOptions,
    /// What one edit may cost; undo and redo have no limit.
    pub edit_limits: EditLimits,
    /// Clock for [`Budget::Millis`] on targets without one, such as wasm32-unknown-unknown (use
    /// `performance.now()`). Not needed elsewhere.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub clock: Option<Clock>,
}

impl Default for TerrainOptions {
    /// A world that is streamed in: what is not in memory is unknown.
    fn default() -> TerrainOptions {
        TerrainOptions {
            placement: Placement::default(),
            materials: MaterialTable::default(),
            unlisted: UnlistedChunks::Unknown,
            collider: ColliderOptions::default(),
            lod: LodOptions::default(),
            edit_limits: EditLimits::default(),
            clock: None,
        }
    }
}

impl From<Placement> for TerrainOptions {
    /// The default options at this placement.
    fn from(placement: Placement) -> TerrainOptions {
        TerrainOptions { placement, ..TerrainOptions::default() }
    }
}

/// An editable world and what is drawn of it.
///
/// ```
/// use terravox::terrain::{Budget, Terrain, TerrainOptions};
///
/// let mut terrain = Terrain::new(TerrainOptions::default());
/// let hills = |p: [f64; 3]| 4.0 * (p[0] * 0.1).sin() - p[1];
/// terrain.fill([-32.0; 3], [32.0; 3], |request| request.fill_sdf(8, hills))?;
/// terrain.update(&[], Budget::Unlimited, |_| {});
/// let triangles: usize = terrain
///     .mesh_swaps()
///     .flat_map(|swap| swap.added)
///     .map(|shown| shown.mesh.solid.indices.len() / 3)
///     .sum();
/// assert!(triangles > 5000);
/// let hit = terrain.ray([3.0, 20.0, 4.0], [0.0, -1.0, 0.0], 100.0).hit().expect("ground");
/// assert_eq!(hit.material, 8);
/// # Ok::<(), terravox::terrain::TerrainError>(())
/// ```
pub struct Terrain {
    placement: Placement,
    /// Where voxels lay when the world was made: the coordinates of generators and stores.
    original_placement: Placement,
    grid: VoxelGrid,
    channels: ChannelGrid,
    lod: LodView,
    collider: Collider,
    effects: EffectPlanes,
    runner: JobRunner,
    swaps: SwapQueue,
    editor: Editor,
    history: History,
    loose: LooseCutter,
    /// The state of the history that is on disk.
    saved_history: HistoryStamp,
    clock: Option<Clock>,
}

/// Write access to the cells of a [`Terrain`]; its queries are up to date once this is dropped.
pub struct GridGuard<'a> {
    terrain: &'a mut Terrain,
}

impl Deref for GridGuard<'_> {
    type Target = VoxelGrid;
    fn deref(&self) -> &VoxelGrid {
        &self.terrain.grid
    }
}

impl DerefMut for GridGuard<'_> {
    fn deref_mut(&mut self) -> &mut VoxelGrid {
        &mut self.terrain.grid
    }
}

impl Drop for GridGuard<'_> {
    fn drop(&mut self) {
        self.terrain.follow_edits();
    }
}

impl fmt::Debug for Terrain {
    /// Prints counts, not cells: a world is large.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terrain")
            .field("placement", &self.placement)
            .field("grid", &self.grid)
            .field("channels", &self.channels)
            .field("lod", &self.lod)
            .field("collider", &self.collider)
            .field("history", &self.history.stats())
            .finish_non_exhaustive()
    }
}

impl Default for Terrain {
    /// [`Terrain::new`] with the default options.
    fn default() -> Terrain {
        Terrain::new(TerrainOptions::default())
    }
}

impl Terrain {
    /// An empty world.
    ///
    /// # Panics
    /// If an option is out of its range; the message names it.
    pub fn new(mut options: TerrainOptions) -> Terrain {
        let materials = std::mem::take(&mut options.materials);
        let grid = VoxelGrid::new(GridOptions { unlisted: options.unlisted, materials });
        Terrain::from_grid(grid, options)
    }

    /// Creates a world from a grid that was loaded or imported. `options` may be just a
    /// [`Placement`]; their `materials` and `unlisted` are ignored, since the grid has its own.
    ///
    /// # Panics
    /// As [`Terrain::new`].
    pub fn from_grid(grid: VoxelGrid, options: impl Into<TerrainOptions>) -> Terrain {
        let TerrainOptions { placement, collider, lod, edit_limits, clock, .. } = options.into();
        placement.assert_valid();
        let mut collider = Collider::new(collider);
        collider.update(&grid);
        let history = History::default();
        Terrain {
            placement,
            original_placement: placement,
            grid,
            channels: ChannelGrid::default(),
            lod: LodView::new(lod),
            collider,
            effects: EffectPlanes::default(),
            runner: JobRunner::default(),
            swaps: SwapQueue::default(),
            editor: Editor::new(edit_limits),
            saved_history: history.stamp().clone(),
            history,
            loose: LooseCutter::default(),
            clock,
        }
    }

    /// Where voxels lie in world metres.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// Where voxels lay when the world was made, before any [`Terrain::set_origin`]. Generators and
    /// stores use these coordinates. Save positions in them, so that they stay valid after
    /// `set_origin`:
    ///
    /// ```
    /// use terravox::terrain::Terrain;
    ///
    /// let mut terrain = Terrain::default();
    /// let player = [1e6 + 2.5, 10.0, -3.0];
    /// terrain.set_origin([-1e6, 0.0, 0.0]); // the game's origin is near the player now
    /// let moved = [2.5, 10.0, -3.0];
    /// let voxel = terrain.placement().voxel_from_world(moved);
    /// assert_eq!(terrain.original_placement().world_from_voxel(voxel), player);
    /// ```
    pub fn original_placement(&self) -> Placement {
        self.original_placement
    }

    /// The cells.
    pub fn grid(&self) -> &VoxelGrid {
        &self.grid
    }

    /// The cells for direct writes, in voxels. Rays and all other queries see what was written
    /// when the guard is dropped.
    ///
    /// Writes here bypass the history and the search for loose pieces: [`Terrain::undo`] does not
    /// undo them, and [`Terrain::cut_loose`] ignores them unless you pass their region to
    /// [`Terrain::touch`]. Writes of [`Terrain::edit_cells`] are in both.
    ///
    /// ```
    /// use terravox::terrain::{Placement, Terrain};
    /// use terravox::voxel::{DenseBox, Region, VoxelGrid};
    ///
    /// let mut terrain = Terrain::from_grid(VoxelGrid::default(), Placement::default());
    /// let mut rock = DenseBox::new(Region::new([-4, -4, -4], [4, 0, 4]));
    /// rock.fill(8);
    /// terrain.grid_mut().write(&rock)?;
    /// assert!(terrain.ray([0.5, 9.0, 0.5], [0.0, -1.0, 0.0], 20.0).hit().is_some());
    /// # Ok::<(), terravox::voxel::NotHeld>(())
    /// ```
    pub fn grid_mut(&mut self) -> GridGuard<'_> {
        GridGuard { terrain: self }
    }

    /// Returns the grid. Everything else is dropped, also the [channels](Terrain::channels) and the
    /// undo history.
    pub fn into_grid(self) -> VoxelGrid {
        self.grid
    }

    /// The collider, for queries in voxels from any number of threads. It is up to date: every
    /// method that writes cells updates it.
    pub fn collider(&self) -> &Collider {
        &self.collider
    }

    /// Brings the collider up to date with the grid.
    fn follow_edits(&mut self) {
        self.collider.update(&self.grid);
    }

    /// Moves the world in the game's space: voxel (0, 0, 0) lies at `origin_m` from now on. Cells,
    /// meshes, history, options and the particles of effects stay as they are relative to the
    /// ground, which is how a game with a floating origin moves it. Generators and stores keep the
    /// coordinates in which the world was made ([`Terrain::original_placement`]). Move bodies and
    /// viewers yourself, by the same offset, and draw meshes at the new [`Terrain::placement`].
    ///
    /// ```
    /// use terravox::{Terrain, voxel::VoxelPos};
    ///
    /// let mut terrain = Terrain::default();
    /// let mut bodies = [[100_000.0, 20.0, 0.0], [100_003.0, 5.0, 2.0]]; // the camera, a crate
    /// let (origin, shift) = (terrain.placement().origin_m, bodies[0].map(|v: f64| -v));
    /// terrain.set_origin([0, 1, 2].map(|i| origin[i] + shift[i]));
    /// bodies.iter_mut().for_each(|body| (0..3).for_each(|i| body[i] += shift[i]));
    /// assert_eq!(bodies[0], [0.0; 3]);
    /// assert_eq!(terrain.placement().voxel_at(bodies[1]), VoxelPos::new(100_003, 5, 2));
    /// ```
    ///
    /// # Panics
    /// If the origin is not finite, or farther away than [`Placement::MAX_ORIGIN_VOXELS`].
    pub fn set_origin(&mut self, origin_m: impl Into<[f64; 3]>) {
        let old = self.placement.origin_m;
        let placement = Placement { origin_m: origin_m.into(), ..self.placement };
        placement.assert_valid();
        self.placement = placement;
        self.effects.shift([0, 1, 2].map(|i| placement.origin_m[i] - old[i]));
    }

    /// Calls `fill` for each chunk that a box in world metres touches, and replaces the cells of
    /// the whole chunk.
    ///
    /// In a streamed world ([`UnlistedChunks::Unknown`]), these chunks count as loaded: they are
    /// not [unsaved](Terrain::unsaved), and may be evicted when nothing shows them; chunks with
    /// unsaved changes keep their cells. With [`UnlistedChunks::Air`], all of them are unsaved.
    ///
    /// Unlike [`Terrain::hold`], this also fills chunks that are held already, and silently skips
    /// chunks for which `fill` calls [`FillRequest::set_missing`].
    ///
    /// # Errors
    /// [`EditError::BeyondLimits`]; [`EditError::Invalid`] if the box is inverted.
    pub fn fill(
        &mut self,
        min_m: impl Into<[f64; 3]>,
        max_m: impl Into<[f64; 3]>,
        fill: impl Fn(&mut FillRequest<'_>),
    ) -> Result<(), TerrainError> {
        let region = self.region_within_limits(min_m, max_m)?;
        self.fill_region(region, &fill)
    }

    fn fill_region(
        &mut self,
        region: Region,
        fill: &dyn Fn(&mut FillRequest<'_>),
    ) -> Result<(), TerrainError> {
        let (placement, in_metres) = (self.original_placement, self.in_metres());
        // The guard updates queries even if `fill` panics.
        let mut grid = self.grid_mut();
        for chunk in region.blocks::<5>() {
            let Some(cells) = filled(chunk.into(), placement, fill) else { continue };
            match grid.unlisted() {
                UnlistedChunks::Air => grid.write(&cells).map_err(&in_metres)?,
                UnlistedChunks::Unknown => drop(grid.load(&cells)),
            }
        }
        Ok(())
    }

    /// Replaces every cell that a box in world metres touches: `edit` gets the cell's centre
    /// (metres) and the cell, and returns the new cell. This is one write, which [`Terrain::undo`]
    /// undoes. Returns the region of the box.
    ///
    /// ```
    /// use terravox::terrain::{Placement, Terrain};
    /// use terravox::voxel::{Cell, VoxelGrid};
    ///
    /// let mut terrain = Terrain::from_grid(VoxelGrid::default(), Placement::default());
    /// let checks = |p: [f64; 3], _| match (p[0].floor() + p[2].floor()) as i32 % 2 {
    ///     0 => Cell::full(8),
    ///     _ => Cell::full(2),
    /// };
    /// terrain.edit_cells([-4.0, -1.0, -4.0], [4.0, 0.0, 4.0], checks)?;
    /// terrain.undo()?;
    /// assert!(terrain.ray([0.5, 9.0, 0.5], [0.0, -1.0, 0.0], 20.0).hit().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TerrainError`]; nothing is then changed. A box of more than [`Clip::MAX_CELLS`] (2²⁴)
    /// voxels returns [`EditError::TooLarge`].
    pub fn edit_cells(
        &mut self,
        min_m: impl Into<[f64; 3]>,
        max_m: impl Into<[f64; 3]>,
        edit: impl Fn([f64; 3], Cell) -> Cell,
    ) -> Result<Region, TerrainError> {
        let region = self.checked_region(min_m, max_m, Clip::MAX_CELLS)?;
        let mut cells = DenseBox::default();
        self.grid.read(region, 0, &mut cells).map_err(self.in_metres())?;
        for voxel in region.voxels() {
            let cell = cells.cell(voxel);
            cells.set(voxel, edit(self.placement.voxel_centre(voxel), cell));
        }
        // Clips are not empty.
        let Ok(clip) = Clip::new(cells) else { return Ok(region) };
        let op = EditOp::write(clip, region.min);
        let edited = self.editor.apply(&mut self.grid, &op, &mut self.history);
        edited.map_err(self.in_metres())?;
        self.loose.touch(region);
        self.follow_edits();
        Ok(region)
    }

    /// Returns the function that converts errors to metres, for `map_err`.
    fn in_metres<E: Into<EditError>>(&self) -> impl Fn(E) -> TerrainError + use<E> {
        let placement = self.placement;
        move |reason| TerrainError { reason: reason.into(), placement }
    }

    /// The voxels that a box in world metres touches, if it lies within the limits of the grid.
    fn region_within_limits(
        &self,
        min_m: impl Into<[f64; 3]>,
        max_m: impl Into<[f64; 3]>,
    ) -> Result<Region, TerrainError> {
        let corners = [min_m.into(), max_m.into()];
        if (0..3).any(|axis| corners[0][axis] > corners[1][axis]) {
            let inverted = EditError::Invalid("the max corner of the box is below its min corner");
            return Err(self.in_metres()(inverted));
        }
        let region = self.placement.region(corners[0], corners[1]);
        let limit = f64::from(LIMIT);
        let voxels = corners.map(|corner| self.placement.voxel_from_world(corner));
        // Not by the region alone: it is empty for boxes beyond what it can hold, and for NaN.
        let inside = voxels.as_flattened().iter().all(|v| v.abs() <= limit);
        match inside && region.within_limits() {
            true => Ok(region),
            false => Err(self.in_metres()(EditError::BeyondLimits(region))),
        }
    }

    /// The voxels that a box in world metres touches, if they are few enough for an edit.
    fn checked_region(
        &self,
        min_m: impl Into<[f64; 3]>,
        max_m: impl Into<[f64; 3]>,
        max_cells: u64,
    ) -> Result<Region, TerrainError> {
        let region = self.region_within_limits(min_m, max_m)?;
        if region.volume() > max_cells {
            return Err(self.in_metres()(EditError::TooLarge { region, max_cells }));
        }
        Ok(region)
    }

    /// Returns the mesh that is shown for a block; positions are cells of its mip from its min
    /// corner.
    pub fn mesh(&self, block: impl Into<MipBlock>) -> Option<&Arc<BlockMesh>> {
        self.lod.mesh(block.into())
    }

    /// Blocks that have a mesh, sorted.
    pub fn meshed_blocks(&self) -> Vec<MipBlock> {
        self.lod.meshed_blocks()
    }

    /// Whether everything in view is filled and meshed at the requested detail, for the viewers of
    /// the last [`Terrain::update`] or [`Terrain::take_jobs`]; false before the first, and while
    /// blocks that are needed are [missing](FillRequest::set_missing). Joining and simplifying
    /// meshes may still follow.
    pub fn is_settled(&self) -> bool {
        self.lod.is_settled() && self.lod.has_read_changes(&self.grid)
    }

    /// Returns all shown meshes as one swap, for a renderer that lost its buffers. Drop everything
    /// that you draw first; pending swaps are discarded. Joined and simplified meshes are split up
    /// and made again later.
    pub fn reset_mesh_swaps(&mut self) -> MeshSwap {
        self.swaps.clear();
        self.lod.reset_mesh_swaps()
    }

    /// Returns the level-of-detail view: shown blocks, triangle count, morph ranges.
    pub fn lod(&self) -> &LodView {
        &self.lod
    }
}

#[cfg(test)]
mod tests;
