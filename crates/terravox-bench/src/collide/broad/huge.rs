//! Masks of a generated world of a billion cells that are not air: their bytes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use terravox::collide::Broadphase;
use terravox::generate::Hills;
use terravox::voxel::{AIR, Changes, ChunkPos, DenseBox, GridOptions, VoxelGrid};

use crate::report::{Report, detail};

/// Cells that are not air.
const CELLS: u64 = 1_000_000_000;

/// Chunks along Z; along X there are as many as the cells ask for.
const WIDTH: i32 = 128;

/// Bits a cell of mixed blocks, and bytes a block, that the masks are compared with.
const BITS: usize = 2;
const BLOCK_BYTES: usize = 16;

/// Measures this part.
pub fn run(report: &mut Report) {
    let start = Instant::now();
    let (grid, cells) = generate();
    let generated = start.elapsed().as_secs_f64();
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
            detail("cells", grid.memory().total() as f64 / 1e6, "MB"),
            detail("chunks with a record", stats.chunks as f64, ""),
            detail("tagged blocks", stats.tagged_blocks as f64, ""),
            detail("making them", made, "s").note(format!("the cells: {generated:.1} s")),
        ],
    );
}

/// Strips of chunks until there are cells enough, by two threads.
fn generate() -> (VoxelGrid, u64) {
    let hills = Hills::new(2026);
    let heights = (Hills::HEIGHTS.start >> 5)..(Hills::HEIGHTS.end >> 5);
    let state = Mutex::new((VoxelGrid::new(GridOptions::default()), 0));
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut cells = DenseBox::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed) as i32;
            let (x, z) = (at / WIDTH, at % WIDTH);
            for y in heights.clone() {
                cells.reset(ChunkPos::new(x, y, z).region());
                hills.fill(&mut cells, 0);
                let filled = cells.materials().iter().filter(|&&m| m != AIR).count() as u64;
                let Ok(mut state) = state.lock() else { return };
                let Ok(()) = state.0.write(&cells) else { unreachable!("unlisted is air") };
                state.1 += filled;
                if state.1 >= CELLS && z == WIDTH - 1 && y == heights.end - 1 {
                    next.store(i32::MAX as usize, Ordering::Relaxed);
                }
            }
            if next.load(Ordering::Relaxed) >= i32::MAX as usize {
                return;
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(worker);
        worker();
    });
    match state.into_inner() {
        Ok(state) => state,
        Err(_) => unreachable!("a thread that panics ends the run"),
    }
}
