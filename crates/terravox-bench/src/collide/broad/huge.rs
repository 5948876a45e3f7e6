//! Masks of a world of a billion cells that are not air: their bytes.
//!
//! The world is the generated one side by side with itself as often as that takes:
//! generating it all would take minutes.

use std::time::Instant;

use terravox::collide::Broadphase;
use terravox::voxel::{AIR, Changes, ChunkPos, DenseBox, GridOptions, VoxelGrid};

use crate::report::{Report, detail};
use crate::worlds::World;

/// Cells that are not air.
const CELLS: u64 = 1_000_000_000;

/// Copies along X; along Z there are as many as the cells ask for.
const WIDTH: i32 = 5;

/// Bits a cell of mixed blocks, and bytes a block, that the masks are compared with.
const BITS: usize = 2;
const BLOCK_BYTES: usize = 16;

/// Measures this part on copies of `world`.
pub fn run(report: &mut Report, world: &World) {
    let (grid, cells) = copies(world);
    let start = Instant::now();
    let mut broadphase = Broadphase::new();
    broadphase.update(&grid, &Changes::Everything);
    let made = start.elapsed().as_secs_f64();
    let stats = broadphase.stats();
    let allowed = stats.mixed_blocks * (512 * BITS / 8 + BLOCK_BYTES);
    let note = format!("{cells} cells that are not air, {} mixed blocks", stats.mixed_blocks);
    let ratio = stats.bytes as f64 / allowed as f64;
    report.set_ratio("billion_cell_mask_bytes_ratio", ratio, allowed as f64, note);
    report.details(
        "masks of a billion cells",
        vec![
            detail("bytes", stats.bytes as f64 / 1e6, "MB").beside(allowed as f64 / 1e6),
            detail("the grid", grid.memory().total() as f64 / 1e6, "MB"),
            detail("chunks with a record", stats.chunks as f64, ""),
            detail("tagged blocks", stats.tagged_blocks as f64, ""),
            detail("making them, one thread", made, "s"),
        ],
    );
}

/// The world beside itself until there are cells enough, and how many.
fn copies(world: &World) -> (VoxelGrid, u64) {
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
