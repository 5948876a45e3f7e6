//! Whether blocks of different mips close: random cells and ground, random tilings.

use terravox::mesh::MOST_STEPS;
use terravox::voxel::{Cell, DenseBox, GridOptions, MipBlock, VoxelGrid, VoxelPos};

use super::ours::Shown;
use super::seam::ground;
use crate::mesh::topology::{Topology, Weld};
use crate::report::{Report, detail};
use crate::worlds::random::Rng;

/// Worlds; every other one is ground, the rest are random cells.
const WORLDS: u64 = 24;

/// Measures `lod_open_edges` and `lod_nonmanifold_edges`.
pub fn run(report: &mut Report) {
    let (mut total, mut lines) = (Topology::default(), Vec::new());
    for seed in 0..WORLDS {
        let mut rng = Rng::new(seed);
        let top = MipBlock::new(MOST_STEPS, [0; 3]);
        let grid = if seed % 2 == 0 { ground(top.voxels(), seed) } else { noise(&mut rng, top) };
        let leaves = tiling(&mut rng, top);
        let found = topology(&grid, &leaves);
        let name = format!("world {seed}, {} blocks", leaves.len());
        let wrong = found.open_edges + found.nonmanifold_edges + found.bad_links;
        lines.push(
            detail(&name, wrong as f64, "edges").note(format!("{} triangles", found.triangles)),
        );
        total.add(found);
    }
    let note = format!("{WORLDS} worlds: {} triangles", total.triangles);
    report.set("lod_open_edges", total.open_edges as f64, note);
    let note = format!(
        "bad vertex links: {}; triangles that repeat a vertex: {}",
        total.bad_links, total.collapsed
    );
    report.set("lod_nonmanifold_edges", total.nonmanifold_edges as f64, note);
    report.details("blocks of different mips: what is open or not manifold", lines);
}

/// `top` split at random, down to the finest mip somewhere.
fn tiling(rng: &mut Rng, top: MipBlock) -> Vec<MipBlock> {
    let mut leaves = top.children().to_vec();
    for _ in 0..3 + rng.below(3) {
        let deepest = leaves.iter().filter(|leaf| leaf.mip > 0).map(|leaf| leaf.mip).min();
        let Some(deepest) = deepest else { break };
        let mip = if rng.below(2) == 0 { deepest } else { top.mip - 1 };
        let of: Vec<_> = (0..leaves.len()).filter(|&at| leaves[at].mip == mip).collect();
        if !of.is_empty() {
            let leaf = leaves.swap_remove(of[rng.below(of.len() as u32) as usize]);
            leaves.extend(leaf.children());
        }
    }
    leaves
}

/// Random cells with air around, solid by a random share.
fn noise(rng: &mut Rng, top: MipBlock) -> VoxelGrid {
    let share = [10, 50, 90][rng.below(3) as usize];
    let mut cells = DenseBox::new(top.voxels());
    for pos in top.voxels().grow(-8).voxels() {
        if rng.below(100) < share {
            cells.set(pos, Cell::new(2 + rng.below(3) as u8, rng.below(256) as u8));
        }
    }
    let mut grid = VoxelGrid::new(GridOptions::default());
    let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    grid
}

fn topology(grid: &VoxelGrid, leaves: &[MipBlock]) -> Topology {
    let covers = |leaf: &&MipBlock, voxel: VoxelPos| leaf.voxels().contains(voxel);
    // Around all there is air.
    let shown = |near: u8, voxel: VoxelPos| {
        leaves.iter().find(|leaf| covers(leaf, voxel)).map_or(near, |leaf| leaf.mip)
    };
    let (mut weld, mut meshes) = (Weld::default(), Shown::new());
    for &leaf in leaves {
        weld.add(&meshes.solid(grid, leaf, |voxel| shown(leaf.mip, voxel)));
    }
    weld.judge()
}
