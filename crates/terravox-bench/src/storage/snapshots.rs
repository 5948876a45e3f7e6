//! Cost of a snapshot of a large world, and of the first write after one.

use std::cell::{Cell, RefCell};

use terravox::voxel::{self, ChunkPos, DenseBox, GridOptions, Region, VoxelGrid, VoxelPos};

use crate::harness::{Entrant, RoundBudget, Timing, contest, repeat};
use crate::report::{AreaReport, detail};
use crate::worlds::random::closed_grid;

/// Chunks of the world on x, y and z: 250,000 of them.
const CHUNKS: [i32; 3] = [250, 4, 250];
/// Snapshots of one item: one alone is too short for the clock.
const SNAPSHOTS: usize = 64;
/// Writes of each kind.
const WRITES: usize = 200;

/// Measures `snapshot_us`.
pub fn run(report: &mut AreaReport) {
    let grid = large_world();
    let chunks = grid.memory().chunks;
    let timing = snapshots(&grid);
    let each = |seconds: f64| seconds * 1e6 / SNAPSHOTS as f64;
    let note = format!("{chunks} chunks in {} pages, taken and dropped", grid.memory().pages);
    report.set("snapshot_us", each(timing.min), note);
    let writes = first_writes(grid);
    let names = ["write of 8³ cells", "the same, first after a snapshot"];
    let line = |(name, timing): (&str, &Timing)| {
        let median = timing.median * 1e6;
        detail(name, timing.min * 1e6, "µs").note(format!("median {median:.1}"))
    };
    let mut lines: Vec<_> = names.into_iter().zip(&writes).map(line).collect();
    lines.insert(0, detail("snapshot, median", each(timing.median), "µs"));
    report.details(format!("a world of {chunks} chunks"), lines);
}

/// Half of the chunks mixed, in turns with uniform ones.
fn large_world() -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut mixed = ground();
    let mut uniform = DenseBox::new(ChunkPos::new(0, 0, 0).region());
    uniform.fill(8);
    let [x, y, z] = CHUNKS;
    for p in Region::new([0; 3], [x, y, z]).voxels() {
        let cells = if (p.x + p.y + p.z) % 2 == 0 { &mut mixed } else { &mut uniform };
        cells.move_to(ChunkPos::new(p.x, p.y, p.z).min_voxel());
        let Ok(()) = grid.write(cells) else { unreachable!("unlisted chunks are air") };
    }
    grid
}

/// A chunk with ground up to its middle and a little roughness.
fn ground() -> DenseBox {
    let mut cells = DenseBox::new(ChunkPos::new(0, 0, 0).region());
    let rough = closed_grid(3, 16);
    for p in cells.region().voxels().filter(|p| p.y < 16) {
        let above = rough.cell(VoxelPos::new(p.x & 15, 8, p.z & 15));
        let cell = if p.y < 15 { voxel::Cell::full(8) } else { above };
        cells.set(p, cell);
    }
    cells
}

fn snapshots(grid: &VoxelGrid) -> Timing {
    let take = |_| {
        let taken: u64 = (0..SNAPSHOTS).map(|_| u64::from(grid.snapshot().is_empty())).sum();
        taken
    };
    let budget = RoundBudget { min_rounds: 50, max_rounds: 500, seconds: 1.0, warm: true };
    let [timing] = contest(1, budget, [Entrant::new("snapshot", take)]);
    timing
}

/// Times writes without snapshots, and each while a snapshot is held that was taken
/// right before.
fn first_writes(grid: VoxelGrid) -> [Timing; 2] {
    let grid = RefCell::new(grid);
    let step = Cell::new(0);
    let write = || {
        step.set(step.get() + 1);
        let at = VoxelPos::new(64 * (step.get() % 100), 40, 1000);
        let mut cells = DenseBox::new(Region { min: at, max: at + VoxelPos::splat(8) });
        cells.fill(2 + (step.get() / 100 % 20) as u8);
        let Ok(()) = grid.borrow_mut().write(&cells) else { unreachable!("all is held") };
        0
    };
    let alone = repeat("alone", WRITES, || (), |()| write());
    let held = repeat("held", WRITES, || grid.borrow().snapshot(), |_| write());
    [alone, held]
}
