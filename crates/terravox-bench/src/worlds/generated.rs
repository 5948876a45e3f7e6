//! The generated world: the library's own hills, lakes, strata and caves, from a
//! fixed seed.

use terravox::generate::Hills;
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, Region, VoxelGrid, VoxelPos};

use super::World;

const SEED: u64 = 2026;

/// Chunks of the generated world on x and z; on y it holds all that is not far
/// below or above the ground.
const CHUNKS: i32 = 24;

/// The generated world.
pub fn world() -> World {
    World::new("generated", grid(CHUNKS))
}

fn grid(chunks: i32) -> VoxelGrid {
    let hills = Hills::new(SEED);
    let (low, high) = (Hills::HEIGHTS.start >> 5, Hills::HEIGHTS.end >> 5);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    let half = chunks / 2;
    let region = Region::new([-half, low, -half], [chunks - half, high, chunks - half]);
    for VoxelPos { x, y, z } in region.voxels() {
        cells.reset(ChunkPos::new(x, y, z).region());
        hills.fill(&mut cells, 0);
        let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_is_the_same_every_time_and_has_ground_and_sky() {
        let [first, second] = [grid(2), grid(2)];
        assert_eq!(first.digest().ok(), second.digest().ok());
        let uniform = first.memory().uniform_chunks;
        assert!(uniform > 0 && uniform < first.memory().chunks);
    }
}
