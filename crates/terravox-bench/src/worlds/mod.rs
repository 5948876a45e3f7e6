//! What the benchmarks run on: a generated world, real places, shapes whose true
//! surface is known, and random grids.

pub mod generated;
pub mod places;
pub mod random;
pub mod rough;
pub mod shapes;

use terravox::voxel::{ChunkPos, DenseBox, Region, VoxelGrid};

/// A named world, held whole at mip 0.
pub struct World {
    /// What it is called in the tables.
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
