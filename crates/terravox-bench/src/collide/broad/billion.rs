//! Bytes of the masks of a world of a billion cells that are not air.

use std::time::Instant;

use terravox::collide::Broadphase;
use terravox::voxel::Changes;

use crate::report::{AreaReport, detail};
use crate::worlds::{World, billion};

/// Baseline: bits per cell of a mixed block.
const BITS: usize = 2;

/// Baseline: bytes of a mixed block besides.
const BLOCK_BYTES: usize = 16;

/// Measures this part on copies of `world`.
pub fn run(report: &mut AreaReport, world: &World) {
    let (grid, cells) = billion::copies(world);
    let start = Instant::now();
    let mut broadphase = Broadphase::new();
    broadphase.update(grid.as_snapshot(), &Changes::Everything);
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
