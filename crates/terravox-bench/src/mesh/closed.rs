//! Whether the solid surface is closed, of random grids in blocks and of real places; compared
//! with fast-surface-nets on the same cells.

use terravox::mesh::PAD;
use terravox::voxel::{DenseBox, Region, SurfaceShape};

use super::ours::{Keyed, blocks_of, cut, table_of};
use super::peers::FsnBlock;
use super::topology::{Topology, Weld};
use crate::report::{AreaReport, ReportRow, detail};
use crate::worlds::World;
use crate::worlds::random::closed_grid;

/// Random grids.
const GRIDS: u64 = 1000;
/// Cells of a random grid along an edge: two by two by two blocks.
const GRID_EDGE: i32 = 16;
const GRID_BLOCK: i32 = 8;
/// Blocks in which places are meshed.
const PLACE_BLOCK: i32 = 32;

/// Measures `mesh_open_edges` and `mesh_nonmanifold_edges`.
pub fn run(report: &mut AreaReport, real: &Result<Vec<World>, String>) {
    let mut keyed = Keyed::new(SurfaceShape::Default);
    let (mut random, mut peer) = (Topology::default(), Topology::default());
    for seed in 0..GRIDS {
        let grid = closed_grid(seed, GRID_EDGE);
        random.add(of_grid(&mut keyed, &grid));
        peer.add(of_peer(&grid));
    }
    let mut lines = vec![line("random grids", random), line("fast-surface-nets, random", peer)];
    let mut total = random;
    for place in real.iter().flatten() {
        let topology = of_world(&mut keyed, place);
        total.add(topology);
        lines.push(line(place.name, topology));
    }
    let places = match real {
        Ok(places) => format!("{} real places", places.len()),
        Err(why) => format!("NO real places: {why}"),
    };
    let note = format!("{GRIDS} random grids and {places}: {} triangles", total.triangles);
    report.set("mesh_open_edges", total.open_edges as f64, note.clone());
    report.set(
        "mesh_nonmanifold_edges",
        total.nonmanifold_edges as f64,
        format!(
            "bad vertex links: {}; triangles that repeat a vertex: {}",
            total.bad_links, total.collapsed
        ),
    );
    report.details("edges that are open or not manifold", lines);
}

fn line(name: &str, found: Topology) -> ReportRow {
    let wrong = found.open_edges + found.nonmanifold_edges;
    detail(name, wrong as f64, "edges").note(format!(
        "{} open, {} not manifold, {} bad links, {} vertices, {} triangles",
        found.open_edges, found.nonmanifold_edges, found.bad_links, found.vertices, found.triangles,
    ))
}

/// A grid that is closed in its region, meshed in blocks, welded.
fn of_grid(keyed: &mut Keyed, grid: &DenseBox) -> Topology {
    let mut weld = Weld::default();
    for block in blocks_of(grid.region(), GRID_BLOCK) {
        weld.add(&keyed.mesh(&cut(grid, block.grow(PAD))));
    }
    weld.count_defects()
}

fn of_world(keyed: &mut Keyed, world: &World) -> Topology {
    let mut weld = Weld::default();
    keyed.mesh_world(world, PLACE_BLOCK, |surface| weld.add(&surface));
    weld.count_defects()
}

/// The peer's mesh of the same grid as one block of 32³: it needs no welding, so open edges are its
/// own.
fn of_peer(grid: &DenseBox) -> Topology {
    let padded = cut(grid, Region::new([-9; 3], [25; 3]));
    let surface = FsnBlock::new(&padded, 32, &table_of(SurfaceShape::Default)).surface();
    let mut weld = Weld::default();
    weld.add(&surface);
    weld.count_defects()
}

#[cfg(test)]
mod tests {
    use terravox::voxel::VoxelPos;

    use super::*;

    #[test]
    fn random_grids_close_over_their_blocks() {
        let mut keyed = Keyed::new(SurfaceShape::Default);
        for seed in 0..24 {
            let found = of_grid(&mut keyed, &closed_grid(seed, GRID_EDGE));
            assert!(found.triangles > 0);
            let good = Topology {
                vertices: found.vertices,
                triangles: found.triangles,
                ..Topology::default()
            };
            assert_eq!(found, good, "seed {seed}");
        }
    }

    #[test]
    fn a_block_that_is_left_out_leaves_open_edges() {
        let grid = closed_grid(5, GRID_EDGE);
        let mut keyed = Keyed::new(SurfaceShape::Default);
        let mut weld = Weld::default();
        for block in &blocks_of(grid.region(), GRID_BLOCK)[1..] {
            weld.add(&keyed.mesh(&cut(&grid, block.grow(PAD))));
        }
        assert!(weld.count_defects().open_edges > 20);
    }

    #[test]
    fn the_peer_shares_an_edge_between_cells_that_touch_along_it() {
        let mut grid = DenseBox::new(Region::new([0; 3], [16; 3]));
        for p in [[7, 7, 7], [8, 8, 7]] {
            grid.set(VoxelPos::from(p), terravox::voxel::Cell::full(2));
        }
        let peer = of_peer(&grid);
        assert_eq!((peer.open_edges, peer.nonmanifold_edges), (0, 1));
        assert_eq!(of_grid(&mut Keyed::new(SurfaceShape::Default), &grid).nonmanifold_edges, 0);
    }
}
