//! Worlds of the benchmarks: generated, rough and of a billion cells, real places, shapes of known
//! surface, and random grids.

pub mod billion;
pub mod generated;
pub mod places;
pub mod random;
pub mod rough;
pub mod shapes;

use terravox::voxel::{ChunkPos, DenseBox, Kind, Region, VoxelGrid, VoxelPos};

/// A named world, held whole at mip 0.
pub struct World {
    /// Name in the tables.
    pub name: &'static str,
    /// Its cells.
    pub grid: VoxelGrid,
    /// Its listed chunks, sorted.
    pub chunks: Vec<ChunkPos>,
}

impl World {
    /// The world of `grid`.
    pub fn new(name: &'static str, grid: VoxelGrid) -> World {
        let chunks = grid.chunks();
        World { name, grid, chunks }
    }

    /// The cells of `region` at mip 0, into `cells`.
    ///
    /// # Panics
    /// If the region holds a chunk that is unknown: no such world is made here.
    pub fn read(&self, region: Region, cells: &mut DenseBox) {
        if let Err(error) = self.grid.read(region, 0, cells) {
            panic!("{}: {error}", self.name);
        }
    }

    /// The boxes of all chunks, in their order.
    pub fn chunk_boxes(&self) -> impl Iterator<Item = DenseBox> {
        self.chunks.iter().map(|chunk| {
            let mut cells = DenseBox::default();
            self.read(chunk.region(), &mut cells);
            cells
        })
    }
}

/// Positions on the ground of a world, spread over it: the highest solid voxel of columns that are
/// `spacing_voxels` apart, if they have one.
pub fn ground(world: &World, spacing_voxels: usize) -> Vec<VoxelPos> {
    let bounds = world.grid.bounds();
    let top = |x: i32, z: i32| {
        let column = Region::new([x, bounds.min.y, z], [x + 1, bounds.max.y, z + 1]);
        let mut cells = DenseBox::default();
        world.read(column, &mut cells);
        let solid = |m: &u8| world.grid.materials().kind(*m) == Kind::Solid;
        let high = cells.materials().iter().rposition(solid)?;
        Some(VoxelPos::new(x, bounds.min.y + high as i32, z))
    };
    let half = spacing_voxels as i32 / 2;
    let along = |min: i32, max: i32| (min + half..max).step_by(spacing_voxels);
    let columns = along(bounds.min.z, bounds.max.z)
        .flat_map(|z| along(bounds.min.x, bounds.max.x).map(move |x| (x, z)));
    columns.filter_map(|(x, z)| top(x, z)).collect()
}
