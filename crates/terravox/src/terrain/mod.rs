//! The front door: a world in metres that can be filled, edited and drawn.
//!
//! It holds no algorithm; it wires the grid to its views: the meshes at one resolution, the
//! collider, and the planes of particles.

mod effects;
mod meshes;
mod placement;
mod rays;

pub use meshes::{MeshJob, MeshScratch, MeshSwap, MeshedBlock};
pub use placement::Placement;
pub use rays::RayHit;

use crate::collide::{Collider, ColliderOptions};
use crate::generate::fill_sdf;
use crate::mesh::BlockMesh;
use crate::voxel::{
    Cell, ChunkPos, DenseBox, GridOptions, MAX_BOX_CELLS, NotHeld, Region, VoxelGrid,
};
use effects::EffectPlanes;
use meshes::Meshes;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a [`Terrain`] is made.
#[derive(Clone, Debug, Default)]
pub struct TerrainOptions {
    /// Size of voxels and where they lie.
    pub placement: Placement,
    /// The grid's own options.
    pub grid: GridOptions,
    /// The collider's own options.
    pub collider: ColliderOptions,
}

/// How much work one [`Terrain::update`] may do. At least one block is always meshed, so
/// that every update gets further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// Until all is done.
    Unlimited,
    /// So many blocks; the same on every machine.
    Blocks(usize),
    /// So many milliseconds. Not on targets without a clock (wasm32-unknown-unknown).
    Millis(f32),
}

/// A fill or edit that cannot be done. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerrainError {
    /// The region reaches beyond the limits of the grid.
    BeyondLimits(Region),
    /// The region has more cells than one edit may.
    TooLarge(Region),
    /// A chunk is not held at mip 0.
    NotHeld(NotHeld),
}

impl fmt::Display for TerrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TerrainError::BeyondLimits(region) => {
                write!(f, "voxels {region} are beyond the limits of ±2^30 voxels")
            }
            TerrainError::TooLarge(region) => {
                write!(f, "voxels {region} are more than the {MAX_BOX_CELLS} of one edit")
            }
            TerrainError::NotHeld(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TerrainError {}

impl From<NotHeld> for TerrainError {
    fn from(error: NotHeld) -> TerrainError {
        TerrainError::NotHeld(error)
    }
}

/// An editable world and what is drawn of it.
///
/// ```
/// use terravox::terrain::{Budget, Terrain, TerrainOptions};
///
/// let mut terrain = Terrain::new(TerrainOptions::default());
/// let hills = |p: [f32; 3]| 4.0 * (p[0] * 0.1).sin() - p[1];
/// terrain.fill([-32.0; 3], [32.0; 3], |part| part.fill_sdf(8, hills))?;
/// terrain.update(Budget::Unlimited);
/// let triangles: usize = terrain
///     .mesh_swaps()
///     .flat_map(|swap| swap.added)
///     .map(|(_, mesh)| mesh.solid.indices.len() / 3)
///     .sum();
/// assert!(triangles > 5000);
/// let hit = terrain.ray([3.0, 20.0, 4.0], [0.0, -1.0, 0.0], 100.0).expect("there is ground");
/// assert_eq!(hit.material, 8);
/// # Ok::<(), terravox::terrain::TerrainError>(())
/// ```
#[derive(Default)]
pub struct Terrain {
    placement: Placement,
    grid: VoxelGrid,
    meshes: Meshes,
    collider: Collider,
    effects: EffectPlanes,
    flight: Flight,
    swaps: Vec<MeshSwap>,
}

/// The plan that [`Terrain::update`] works on, and how far it is.
#[derive(Default)]
struct Flight {
    jobs: Vec<MeshJob>,
    done: Vec<MeshedBlock>,
    scratch: MeshScratch,
}

/// A part of the world that a generator fills.
pub struct Part<'a> {
    cells: &'a mut DenseBox,
    placement: Placement,
}

impl Part<'_> {
    /// The cells to fill, in voxels.
    pub fn cells(&mut self) -> &mut DenseBox {
        self.cells
    }

    /// Fills the part with one material where `distance_m(p)`, in metres for a point in
    /// world metres, is positive. Only values near the surface need be true distances.
    pub fn fill_sdf(&mut self, material: u8, distance_m: impl Fn([f32; 3]) -> f32) {
        self.fill_sdf_with(distance_m, |_| material);
    }

    /// As [`Part::fill_sdf`], with a material for every point in world metres.
    pub fn fill_sdf_with(
        &mut self,
        distance_m: impl Fn([f32; 3]) -> f32,
        material: impl Fn([f32; 3]) -> u8,
    ) {
        let placement = self.placement;
        let distance = |p| distance_m(placement.world_from_voxel(p)) / placement.voxel_size_m;
        fill_sdf(self.cells, 0, distance, |p| material(placement.world_from_voxel(p)));
    }
}

impl Terrain {
    /// An empty world.
    ///
    /// # Panics
    /// If the voxel size is not positive and finite.
    pub fn new(options: TerrainOptions) -> Terrain {
        let TerrainOptions { placement, grid, collider } = options;
        let mut terrain = Terrain::from_grid(VoxelGrid::new(grid), placement);
        terrain.collider = Collider::new(collider);
        terrain
    }

    /// A world around a grid that was loaded or imported.
    ///
    /// # Panics
    /// If the voxel size is not positive and finite.
    pub fn from_grid(grid: VoxelGrid, placement: Placement) -> Terrain {
        let size = placement.voxel_size_m;
        assert!(size > 0.0 && size.is_finite(), "voxels of {size} metres");
        Terrain { placement, grid, ..Terrain::default() }
    }

    /// Where voxels lie in world metres.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// The cells.
    pub fn grid(&self) -> &VoxelGrid {
        &self.grid
    }

    /// The cells, to be written in voxels; the views follow.
    pub fn grid_mut(&mut self) -> &mut VoxelGrid {
        &mut self.grid
    }

    /// Fills the whole chunks that a box in world metres touches, chunk by chunk, from air.
    ///
    /// # Errors
    /// [`TerrainError::BeyondLimits`].
    pub fn fill(
        &mut self,
        min_m: impl Into<[f32; 3]>,
        max_m: impl Into<[f32; 3]>,
        mut fill: impl FnMut(&mut Part<'_>),
    ) -> Result<(), TerrainError> {
        let region = self.placement.region(min_m, max_m);
        if !region.within_limits() {
            return Err(TerrainError::BeyondLimits(region));
        }
        let mut cells = DenseBox::default();
        for chunk in region.blocks::<5>() {
            cells.reset(chunk.region());
            fill(&mut Part { cells: &mut cells, placement: self.placement });
            // A fill may have made the box anew; its place is the chunk's all the same.
            assert_eq!(cells.region(), chunk.region(), "a fill keeps the region of its part");
            self.grid.write(&cells)?;
        }
        Ok(())
    }

    /// Edits every cell of the voxels that a box in world metres touches: `edit` gets the
    /// cell's centre in world metres and the cell, and answers the new one. All of it is
    /// one write. Answers the voxels written.
    ///
    /// # Errors
    /// [`TerrainError`]; nothing is then changed.
    pub fn edit_cells(
        &mut self,
        min_m: impl Into<[f32; 3]>,
        max_m: impl Into<[f32; 3]>,
        edit: impl Fn([f32; 3], Cell) -> Cell,
    ) -> Result<Region, TerrainError> {
        let region = self.placement.region(min_m, max_m);
        if !region.within_limits() {
            return Err(TerrainError::BeyondLimits(region));
        }
        if region.volume() > MAX_BOX_CELLS {
            return Err(TerrainError::TooLarge(region));
        }
        let mut cells = DenseBox::default();
        self.grid.read(region, 0, &mut cells)?;
        for voxel in region.voxels() {
            let cell = cells.cell(voxel);
            cells.set(voxel, edit(self.placement.voxel_centre(voxel), cell));
        }
        self.grid.write(&cells)?;
        Ok(region)
    }

    /// Meshes what changed, within the budget. Changes show when all that they touch is
    /// meshed; what changed meanwhile comes after.
    pub fn update(&mut self, budget: Budget) {
        let start = matches!(budget, Budget::Millis(_)).then(Instant::now);
        let mut run = 0;
        loop {
            if self.flight.jobs.is_empty() {
                self.flight.jobs = self.meshes.plan(&self.grid);
                // Taken from the end.
                self.flight.jobs.reverse();
            }
            while !self.flight.jobs.is_empty() {
                let most = match budget {
                    Budget::Unlimited => usize::MAX,
                    Budget::Blocks(blocks) => blocks.max(1) - run,
                    Budget::Millis(millis) => {
                        // NaN is no time at all.
                        let seconds = if millis > 0.0 { millis.min(3.6e6) / 1000.0 } else { 0.0 };
                        let limit = Duration::from_secs_f32(seconds);
                        let over = start.is_some_and(|start| start.elapsed() >= limit);
                        if over && run > 0 { 0 } else { usize::MAX }
                    }
                };
                if most == 0 {
                    return;
                }
                run += self.flight.step(most);
            }
            if self.flight.done.is_empty() {
                return;
            }
            let swap = self.meshes.publish(std::mem::take(&mut self.flight.done));
            if !swap.is_empty() {
                self.swaps.push(swap);
            }
        }
    }

    /// Jobs that mesh what changed, to run on any threads; empty while the last plan has
    /// not been published, or while [`Terrain::update`] works on one.
    pub fn plan_meshes(&mut self) -> Vec<MeshJob> {
        self.meshes.plan(&self.grid)
    }

    /// Shows the results of all jobs of the last plan at once.
    ///
    /// # Panics
    /// If they are not the results of every job of the last plan.
    pub fn publish_meshes(&mut self, results: Vec<MeshedBlock>) {
        let swap = self.meshes.publish(results);
        if !swap.is_empty() {
            self.swaps.push(swap);
        }
    }

    /// Takes the changes to what is drawn since the last call, oldest first.
    pub fn mesh_swaps(&mut self) -> impl Iterator<Item = MeshSwap> + use<> {
        std::mem::take(&mut self.swaps).into_iter()
    }

    /// The mesh that is shown for a block of 32³ voxels; positions are voxels from its
    /// lowest corner.
    pub fn mesh(&self, block: ChunkPos) -> Option<&Arc<BlockMesh>> {
        self.meshes.get(block)
    }

    /// Blocks that have a mesh, sorted.
    pub fn meshed_blocks(&self) -> Vec<ChunkPos> {
        self.meshes.blocks()
    }
}

impl Flight {
    /// Runs the next job and answers how many it ran.
    #[cfg(not(feature = "parallel"))]
    fn step(&mut self, _most: usize) -> usize {
        let Some(job) = self.jobs.pop() else { return 0 };
        self.done.push(job.run(&mut self.scratch));
        1
    }

    /// Runs the next few jobs, at most `most`, on rayon's threads and answers how many.
    #[cfg(feature = "parallel")]
    fn step(&mut self, most: usize) -> usize {
        use rayon::prelude::*;
        let count = (2 * rayon::current_num_threads()).min(self.jobs.len()).min(most);
        let jobs = self.jobs.split_off(self.jobs.len() - count);
        let run = |scratch: &mut MeshScratch, job: MeshJob| job.run(scratch);
        match jobs.len() {
            1 => self.done.extend(jobs.iter().map(|job| job.run(&mut self.scratch))),
            _ => self.done.par_extend(jobs.into_par_iter().map_init(MeshScratch::default, run)),
        }
        count
    }
}

#[cfg(test)]
mod tests;
