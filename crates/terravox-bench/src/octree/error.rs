//! How far blocks of mip 2 lie from the fine surface: shown by their mip's cells alone, and
//! by clusters of the fine ones.

use terravox::lod::Clusters;
use terravox::mesh::{BlockMesh, Mesher, NeighbourMips, PAD, Surface as Mesh};
use terravox::voxel::{DenseBox, MipBlock, Region, SurfaceShape, VoxelGrid};

use crate::harness::{Budget, Entrant, contest};
use crate::lod::ours::{in_voxels, read};
use crate::mesh::distance::Nearest;
use crate::mesh::ours::{Keyed, blocks_of, cut, table_of};
use crate::mesh::surface::{Accumulator, Spread, Surface};
use crate::report::{Report, Row, detail};
use crate::worlds::{generated, rough};

use super::fit::fitted;
use super::speed::set_worst;

/// The mip that is shown.
const MIP: u8 = 2;

/// Blocks of a world that are looked at.
const BLOCKS: usize = 6;

const RACE: Budget = Budget { min_rounds: 4, max_rounds: 10, seconds: 2.0, warm: true };

/// Measures `cluster_vs_mip_error`.
pub fn run(report: &mut Report) {
    let mut ratios = Vec::new();
    for world in [generated::world(), rough::world()] {
        let grid = &world.grid;
        let [mut by_mip, mut by_clusters, mut anywhere] = [[Accumulator::default(); 2]; 3];
        let blocks = blocks(grid);
        let mut place = Clusters::new();
        let (mut count, mut vertices) = (0, 0);
        for &block in &blocks {
            let fine = Nearest::new(&fine(grid, block.voxels()));
            let mut solid = mesh(grid, block);
            measure(&in_voxels(&solid, block), &fine, &mut by_mip);
            count += place.place(grid.as_snapshot(), block, &mut solid);
            vertices += solid.vertex_count();
            let moved = in_voxels(&solid, block);
            measure(&moved, &fine, &mut by_clusters);
            measure(&fitted(&moved, &fine), &fine, &mut anywhere);
        }
        let [mip, clusters, anywhere] =
            [by_mip, by_clusters, anywhere].map(|found| found.map(Accumulator::finish));
        ratios.push((world.name, clusters[0].rms / mip[0].rms));
        let [plain, placed] = time(grid, &blocks);
        let share = count as f64 / vertices as f64;
        let lines = vec![
            line("mip", mip[0]),
            line("clusters", clusters[0]).beside(mip[0].rms),
            line("vertices anywhere", anywhere[0]).beside(mip[0].rms),
            line("vertices, mip", mip[1]),
            line("vertices, clusters", clusters[1]).beside(mip[1].rms),
            detail("vertices that move", share, "share"),
            detail("meshing, mip", plain, "µs/block"),
            detail("meshing, clusters", placed, "µs/block"),
        ];
        report.details(format!("{}: blocks of 32³ of mip {MIP}", world.name), lines);
    }
    set_worst(report, "cluster_vs_mip_error", &ratios);
}

fn line(name: &'static str, spread: Spread) -> Row {
    detail(name, spread.rms, "voxels rms").note(format!("max {:.2}", spread.max))
}

/// Blocks with a surface, evenly chosen, none of which touches the world's sides: its walls
/// lie on blocks' hulls.
fn blocks(grid: &VoxelGrid) -> Vec<MipBlock> {
    let Region { min, max } = grid.bounds();
    let within = |block: &MipBlock| {
        let voxels = block.voxels();
        let inside = |low: i32, v: [i32; 2], high: i32| low < v[0] && v[1] < high;
        inside(min.x, [voxels.min.x, voxels.max.x], max.x)
            && inside(min.z, [voxels.min.z, voxels.max.z], max.z)
    };
    let all = grid.bounds().coarser(5 + u32::from(MIP)).voxels();
    let all = all.map(|pos| MipBlock { mip: MIP, pos }).filter(within);
    let found: Vec<_> = all.filter(|&block| !mesh(grid, block).is_empty()).collect();
    let count = found.len().min(BLOCKS);
    (0..count).map(|i| found[i * found.len() / count]).collect()
}

/// The keyed surface of a block by its mip.
fn mesh(grid: &VoxelGrid, block: MipBlock) -> Mesh {
    let mut mesh = BlockMesh::new();
    mesh_into(grid, block, &mut Mesher::new(), &mut mesh);
    mesh.solid
}

fn mesh_into(grid: &VoxelGrid, block: MipBlock, mesher: &mut Mesher, mesh: &mut BlockMesh) {
    let table = table_of(SurfaceShape::Default);
    let ask = |mip: u8, region: Region, out: &mut DenseBox| read(grid, mip, region, out);
    mesher.mesh_mixed(block, &NeighbourMips::uniform(block.mip), ask, &table, true, mesh);
}

/// The fine surface in and around some voxels.
fn fine(grid: &VoxelGrid, voxels: Region) -> Surface {
    let (mut keyed, mut all) = (Keyed::new(SurfaceShape::Default), Surface::default());
    let mut cells = DenseBox::default();
    read(grid, 0, voxels.grow(16 + PAD), &mut cells);
    for block in blocks_of(voxels.grow(16), 16) {
        all.append(&keyed.mesh(&cut(&cells, block.grow(PAD))));
    }
    all
}

/// Adds the distances of a surface, and of its vertices, from the fine one.
fn measure(surface: &Surface, fine: &Nearest, into: &mut [Accumulator; 2]) {
    surface.sample(|point, area| into[0].add(fine.distance(point), area));
    surface.positions.iter().for_each(|&point| into[1].add(fine.distance(point), 1.0));
}

/// Microseconds a block, by the mip and by clusters; the same cells are read for both.
fn time(grid: &VoxelGrid, blocks: &[MipBlock]) -> [f64; 2] {
    let [mut a, mut b] = [(); 2].map(|()| (Mesher::new(), BlockMesh::new()));
    let mut place = Clusters::new();
    let timings = contest(
        blocks.len(),
        RACE,
        vec![
            Entrant::new("mip", |item| {
                mesh_into(grid, blocks[item], &mut a.0, &mut a.1);
                a.1.solid.indices.len() as u64
            }),
            Entrant::new("clusters", |item| {
                mesh_into(grid, blocks[item], &mut b.0, &mut b.1);
                place.place(grid.as_snapshot(), blocks[item], &mut b.1.solid) as u64
            }),
        ],
    );
    [0, 1].map(|at: usize| timings[at].min * 1e6 / blocks.len() as f64)
}
