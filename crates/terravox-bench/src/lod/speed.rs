//! Cost of the border of a block among blocks of other mips, compared with its interior, and of
//! a block without such neighbours.

use terravox::mesh::{BlockMesh, Mesher, NeighbourMips, PAD};
use terravox::voxel::{DenseBox, MaterialTable, MipBlock, Region, SurfaceShape, VoxelGrid};

use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::mesh::ours::table_of;
use crate::report::{AreaReport, detail};
use crate::worlds::{generated, rough};

const RACE: RoundBudget = RoundBudget { min_rounds: 10, max_rounds: 60, seconds: 8.0, warm: true };

/// Blocks of a world.
const BLOCKS: usize = 24;

/// The mip of the blocks: with finer and coarser ones.
const MIP: u8 = 1;

/// A side of a block.
#[derive(Clone, Copy)]
struct BlockSide {
    axis: usize,
    /// Where its neighbours lie along the axis, in eighths of the block: −1 or 8.
    eighth: i32,
}

/// The sides that the surface of ground crosses.
const SIDES: [BlockSide; 4] = [
    BlockSide { axis: 0, eighth: -1 },
    BlockSide { axis: 0, eighth: 8 },
    BlockSide { axis: 2, eighth: -1 },
    BlockSide { axis: 2, eighth: 8 },
];

/// Measures `border_vs_interior` and `mixed_vs_flat`.
pub fn run(report: &mut AreaReport) {
    let (mut border, mut uniform) = (Vec::new(), Vec::new());
    for world in [generated::world(), rough::world()] {
        let [flat, with_read, same, coarser, finer, part] = race(&world.grid);
        for (name, timing) in [("coarser", &coarser), ("finer", &finer)] {
            let read = with_read.min - flat.min;
            let share = (timing.min - read - part.min) / part.min;
            border.push((format!("{}, {name}", world.name), share));
        }
        uniform.push((world.name.to_string(), same.min / with_read.min));
        let each = |timing: &Timing| timing.min * 1e6 / BLOCKS as f64;
        let lines = [&flat, &with_read, &same, &coarser, &finer, &part]
            .map(|timing| detail(timing.name, each(timing), "µs/block"));
        report.details(format!("{}: blocks of 32³ at mip {MIP}", world.name), lines.to_vec());
    }
    // The worse neighbour on generated ground; rough ground is in the note.
    let worst = border[..2].iter().map(|value| value.1).fold(0.0, f64::max);
    let what = "border alone, reading for it included, ÷ flat part of the same blocks";
    report.set("border_vs_interior", worst, format!("{what}: {}", listed(&border)));
    let worst = uniform.iter().map(|value| value.1).fold(0.0, f64::max);
    report.set("mixed_vs_flat", worst, listed(&uniform));
}

fn listed(values: &[(String, f64)]) -> String {
    let notes: Vec<_> = values.iter().map(|(name, v)| format!("{name} {v:.3}")).collect();
    notes.join("; ")
}

/// The blocks with the most surface.
fn blocks(grid: &VoxelGrid, table: &MaterialTable) -> Vec<MipBlock> {
    let (mut mesher, mut out) = (Mesher::new(), BlockMesh::new());
    let mut cells = DenseBox::default();
    let mut by_quads: Vec<(usize, MipBlock)> = Vec::new();
    // Blocks at the world's end have walls.
    let inner = grid.bounds().grow(-64);
    for pos in inner.coarser(5 + u32::from(MIP)).voxels() {
        let block = MipBlock { mip: MIP, pos };
        read(grid, MIP, block.cells().grow(PAD), &mut cells);
        mesher.mesh(&cells, table, &mut out);
        by_quads.push((out.solid.quad_count(), block));
    }
    by_quads.sort_by_key(|entry| std::cmp::Reverse(entry.0));
    by_quads.into_iter().take(BLOCKS).map(|entry| entry.1).collect()
}

/// A block one of whose sides shows another mip.
fn beside(mip: u8, BlockSide { axis, eighth }: BlockSide) -> NeighbourMips {
    NeighbourMips::from_fn(MIP, |at| if at[axis] == eighth { mip } else { MIP })
}

/// Timings of the flat mesher on cells that were read; with reading them; of blocks among
/// their like; beside a coarser one; beside finer ones; and of all but the border of the
/// latter two, on cells that were read: the same faces for both.
fn race(grid: &VoxelGrid) -> [Timing; 6] {
    let table = table_of(SurfaceShape::Default);
    let blocks = blocks(grid, &table);
    let mut boxes = vec![DenseBox::default(); blocks.len()];
    for (block, cells) in blocks.iter().zip(&mut boxes) {
        read(grid, MIP, block.cells().grow(PAD), cells);
    }
    let around: Vec<[NeighbourMips; 3]> = (0..blocks.len())
        .map(|item| {
            let side = SIDES[item % SIDES.len()];
            [NeighbourMips::uniform(MIP), beside(MIP + 1, side), beside(MIP - 1, side)]
        })
        .collect();
    let mixed = |which: usize, item: usize, mesher: &mut Mesher, out: &mut BlockMesh| {
        let ask = |mip: u8, region: Region, out: &mut DenseBox| read(grid, mip, region, out);
        mesher.mesh_mixed(blocks[item], &around[item][which], ask, &table, false, out);
        out.solid.indices.len() as u64
    };
    let [mut a, mut b, mut c, mut d, mut e, mut f] =
        std::array::from_fn(|_| (Mesher::new(), BlockMesh::new()));
    let mut cells = DenseBox::default();
    contest(
        blocks.len(),
        RACE,
        [
            Entrant::new("flat", |item| {
                a.0.mesh(&boxes[item], &table, &mut a.1);
                a.1.solid.indices.len() as u64
            }),
            Entrant::new("flat, with reading", |item| {
                read(grid, MIP, blocks[item].cells().grow(PAD), &mut cells);
                b.0.mesh(&cells, &table, &mut b.1);
                b.1.solid.indices.len() as u64
            }),
            Entrant::new("among its like", |item| mixed(0, item, &mut c.0, &mut c.1)),
            Entrant::new("beside a coarser one", |item| mixed(1, item, &mut d.0, &mut d.1)),
            Entrant::new("beside finer ones", |item| mixed(2, item, &mut e.0, &mut e.1)),
            Entrant::new("all but the border", |item| {
                f.0.mesh_all_but_border(&boxes[item], &around[item][2], &table, &mut f.1);
                f.1.solid.indices.len() as u64
            }),
        ],
    )
}

/// Reads cells of a mip.
///
/// # Panics
/// Panics if the grid does not hold them; the worlds here do.
fn read(grid: &VoxelGrid, mip: u8, region: Region, out: &mut DenseBox) {
    if let Err(error) = grid.read(region, mip, out) {
        panic!("{error}");
    }
}
