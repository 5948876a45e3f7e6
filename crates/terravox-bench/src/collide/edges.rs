//! Edge angles, and a block from cells to its index.

use fast_surface_nets::SurfaceNetsBuffer;
use terravox::collide::{BuildScratch, EdgeScratch, QuadBvh, edge_angles};
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface};
use terravox::voxel::{DenseBox, MaterialTable, Region, Snapshot, SurfaceShape};

use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::mesh::ours::{blocks_of, table_of};
use crate::mesh::peers::FsnBlock;
use crate::report::{AreaReport, ReportRow, detail};
use crate::worlds::World;

/// Blocks of a world.
const BLOCKS: usize = 512;

/// Blocks in an item: one alone is too short for the clock.
const GROUP: usize = 64;

/// Chunks of a world that are searched for blocks.
const CHUNKS: usize = 512;

/// A block's cells are in the cache: an edit or the broadphase read them right before.
const RACE: RoundBudget = RoundBudget { min_rounds: 20, max_rounds: 400, seconds: 4.0, warm: true };

// Positions of the entrants of `race`.
const FSN: usize = 0;
const EDGES: usize = 1;
const READY: usize = 2;

/// Measures `edge_data_vs_fsn` and `block_ready_vs_fsn`.
pub fn run(report: &mut AreaReport, worlds: &[&World]) {
    let mut all = Vec::new();
    for world in worlds {
        let blocks = blocks(world);
        let timings = race(world, &blocks);
        report.details(format!("{}, a block to ready", world.name), time_lines(&timings));
        all.push((world.name, timings));
    }
    for (id, entrant) in [("edge_data_vs_fsn", EDGES), ("block_ready_vs_fsn", READY)] {
        let ratio = |timings: &[Timing]| timings[entrant].min / timings[FSN].min;
        let each: Vec<_> = all.iter().map(|(name, timings)| (name, ratio(timings))).collect();
        let note: Vec<String> =
            each.iter().map(|(name, ratio)| format!("{name} {ratio:.3}")).collect();
        let Some(worst) = all.iter().max_by(|a, b| ratio(&a.1).total_cmp(&ratio(&b.1))) else {
            report.not_measured(id, "no world to measure it on");
            continue;
        };
        let note = format!("{}; baseline ns/block", note.join(", "));
        report.set_ratio(id, ratio(&worst.1), ns_per_block(&worst.1[FSN]), note);
    }
}

/// Blocks of 8³ with a solid surface, evenly chosen.
fn blocks(world: &World) -> Vec<Region> {
    let (table, mut mesher, mut out) =
        (table_of(SurfaceShape::Default), Mesher::new(), BlockMesh::new());
    let mut cells = DenseBox::default();
    let mut found = Vec::new();
    let chunks = world.chunks.len().min(CHUNKS);
    for chunk in (0..chunks).map(|i| world.chunks[i * world.chunks.len() / chunks]) {
        for block in blocks_of(chunk.region(), 8) {
            world.read(block.grow(PAD), &mut cells);
            mesher.mesh(&cells, &table, &mut out);
            if !out.solid.is_empty() {
                found.push(block);
            }
        }
    }
    assert!(found.len() >= BLOCKS, "{}: {} blocks with a surface", world.name, found.len());
    (0..BLOCKS).map(|i| found[i * found.len() / BLOCKS]).collect()
}

/// Builds blocks; holds the scratch memory.
struct BlockBuilder<'a> {
    snapshot: &'a Snapshot,
    table: &'a MaterialTable,
    cells: DenseBox,
    mesher: Mesher,
    mesh: BlockMesh,
    edges: EdgeScratch,
    angles: Vec<u16>,
    index: BuildScratch,
}

impl<'a> BlockBuilder<'a> {
    fn new(snapshot: &'a Snapshot, table: &'a MaterialTable) -> BlockBuilder<'a> {
        BlockBuilder {
            snapshot,
            table,
            cells: DenseBox::default(),
            mesher: Mesher::new(),
            mesh: BlockMesh::new(),
            edges: EdgeScratch::default(),
            angles: Vec::new(),
            index: BuildScratch::default(),
        }
    }

    fn gather(&mut self, block: Region) -> u64 {
        if self.snapshot.read(block.grow(PAD), 0, &mut self.cells).is_err() {
            panic!("{block} is not held");
        }
        u64::from(self.cells.materials()[0])
    }

    fn edges(&mut self, surface: &Surface, block: Region) -> u64 {
        edge_angles(surface, block, &mut self.edges, &mut self.angles);
        self.angles.len() as u64
    }

    fn ready(&mut self, block: Region) -> u64 {
        self.gather(block);
        self.mesher.mesh(&self.cells, self.table, &mut self.mesh);
        let mut trees = 0;
        for surface in [&self.mesh.solid, &self.mesh.liquid] {
            if !surface.is_empty() {
                edge_angles(surface, block, &mut self.edges, &mut self.angles);
                let faces = &surface.quad_faces;
                let tree = QuadBvh::build(surface, faces, &self.angles, &mut self.index);
                trees += u64::from(tree.is_some());
            }
        }
        trees
    }
}

fn race(world: &World, blocks: &[Region]) -> [Timing; 6] {
    let table = table_of(SurfaceShape::Default);
    let snapshot = world.grid.snapshot();
    let padded = |block: &Region| {
        let mut cells = DenseBox::default();
        world.read(block.grow(PAD), &mut cells);
        cells
    };
    let boxes: Vec<DenseBox> = blocks.iter().map(padded).collect();
    let fsn: Vec<FsnBlock> = boxes.iter().map(|cells| FsnBlock::new(cells, 8, &table)).collect();
    let (mut meshes, mut angles) = (Vec::new(), Vec::new());
    let mut maker = BlockBuilder::new(&snapshot, &table);
    for cells in &boxes {
        let mut mesh = BlockMesh::new();
        maker.mesher.mesh(cells, &table, &mut mesh);
        maker.edges(&mesh.solid, mesh.block);
        angles.push(maker.angles.clone());
        meshes.push(mesh);
    }
    let mut buffer = SurfaceNetsBuffer::default();
    let [mut a, mut b, mut c, mut d, mut e] =
        std::array::from_fn(|_| BlockBuilder::new(&snapshot, &table));
    let range = |item: usize| item * GROUP..(item + 1) * GROUP;
    let build = |maker: &mut BlockBuilder<'_>, i: usize| {
        let solid = &meshes[i].solid;
        let tree = QuadBvh::build(solid, &solid.quad_faces, &angles[i], &mut maker.index);
        u64::from(tree.is_some())
    };
    let mesh = |maker: &mut BlockBuilder<'_>, cells: &DenseBox| {
        maker.mesher.mesh(cells, &table, &mut maker.mesh);
        maker.mesh.solid.indices.len() as u64
    };
    let entrants = [
        Entrant::new("fast-surface-nets", |item| {
            let mesh = |block: &FsnBlock| {
                block.mesh(&mut buffer);
                buffer.indices.len() as u64
            };
            fsn[range(item)].iter().map(mesh).sum()
        }),
        Entrant::new("edges", |item| {
            meshes[range(item)].iter().map(|mesh| a.edges(&mesh.solid, mesh.block)).sum()
        }),
        Entrant::new("ready", |item| blocks[range(item)].iter().map(|&block| b.ready(block)).sum()),
        Entrant::new("gather", |item| {
            blocks[range(item)].iter().map(|&block| c.gather(block)).sum()
        }),
        Entrant::new("mesh", |item| {
            boxes[range(item)].iter().map(|cells| mesh(&mut d, cells)).sum()
        }),
        Entrant::new("index", |item| range(item).map(|i| build(&mut e, i)).sum()),
    ];
    contest(BLOCKS / GROUP, RACE, entrants)
}

fn ns_per_block(timing: &Timing) -> f64 {
    timing.min * 1e9 / BLOCKS as f64
}

fn time_lines(timings: &[Timing]) -> Vec<ReportRow> {
    let line = |timing: &Timing| {
        let median = timing.median * 1e9 / BLOCKS as f64;
        let row = detail(timing.name, ns_per_block(timing), "ns/block")
            .beside(ns_per_block(&timings[FSN]));
        row.note(format!("median {median:.0}"))
    };
    timings.iter().map(line).collect()
}
