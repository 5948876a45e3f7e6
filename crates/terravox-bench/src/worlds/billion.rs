//! A world of a billion cells that are not air: another side by side with itself as often as
//! that takes, since generating it all would take minutes.

use terravox::voxel::{AIR, ChunkPos, DenseBox, GridOptions, VoxelGrid};

use super::World;

/// Cells that are not air.
const CELLS: u64 = 1_000_000_000;

/// Copies along X; along Z there are as many as the cells ask for.
const WIDTH: i32 = 5;

/// Returns copies of the world side by side until there are enough cells, and their number.
pub fn copies(world: &World) -> (VoxelGrid, u64) {
    let bounds = world.grid.bounds().coarser(5);
    let [width, _, depth] = bounds.size().map(|edge| edge as i32);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut filled = 0;
    for copy in 0.. {
        let step = [copy % WIDTH * width, 0, copy / WIDTH * depth];
        for (chunk, mut cells) in world.chunks.iter().zip(world.chunk_boxes()) {
            let to = ChunkPos::new(chunk.x + step[0], chunk.y, chunk.z + step[2]);
            cells.move_to(to.min_voxel());
            filled += cells.materials().iter().filter(|&&material| material != AIR).count() as u64;
            put(&mut grid, &cells);
        }
        if filled >= CELLS {
            break;
        }
    }
    (grid, filled)
}

fn put(grid: &mut VoxelGrid, cells: &DenseBox) {
    let Ok(()) = grid.write(cells) else { unreachable!("unlisted chunks are air") };
}
