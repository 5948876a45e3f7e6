//! Edge data, and a block from cells to ready.

use fast_surface_nets::SurfaceNetsBuffer;
use terravox::collide::naive_edges::{self, Side};
use terravox::collide::{BuildScratch, EdgeScratch, QuadTree, edge_angles};
use terravox::geometry::edge_angle;
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface};
use terravox::voxel::{DenseBox, MaterialTable, Region, Snapshot, SurfaceShape};

use crate::harness::{Budget, Entrant, Timing, contest};
use crate::mesh::ours::{blocks_of, table_of};
use crate::mesh::peers::FsnBlock;
use crate::report::{Report, Row, detail};
use crate::worlds::World;

/// Blocks of a world, and those in an item, which alone are too short for the clock.
const BLOCKS: usize = 512;
const GROUP: usize = 64;

/// Chunks of a world in which blocks are looked for.
const CHUNKS: usize = 512;

/// A block's cells are in the cache: an edit or the broadphase read them right before.
const RACE: Budget = Budget { min_rounds: 20, max_rounds: 400, seconds: 4.0, warm: true };

/// The entrants of [`race`].
const FSN: usize = 0;
const EDGES: usize = 1;
const READY: usize = 2;

/// Measures this part.
pub fn run(report: &mut Report, worlds: &[&World]) {
    let mut all = Vec::new();
    for world in worlds {
        let blocks = blocks(world);
        let timings = race(world, &blocks);
        report.details(format!("{}, a block to ready", world.name), time_lines(&timings));
        report.details(format!("{}, border sides", world.name), border_lines(world, &blocks));
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
        report.set_ratio(id, ratio(&worst.1), a_block(&worst.1[FSN]), note);
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

/// All that makes a block ready, and its memory.
struct Maker<'a> {
    snapshot: &'a Snapshot,
    table: &'a MaterialTable,
    cells: DenseBox,
    mesher: Mesher,
    mesh: BlockMesh,
    edges: EdgeScratch,
    angles: Vec<u16>,
    index: BuildScratch,
}

impl<'a> Maker<'a> {
    fn new(snapshot: &'a Snapshot, table: &'a MaterialTable) -> Maker<'a> {
        Maker {
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

    fn gather(&mut self, block: Region, pad: i32) -> u64 {
        if self.snapshot.read(block.grow(pad), 0, &mut self.cells).is_err() {
            panic!("{block} is not held");
        }
        u64::from(self.cells.materials()[0])
    }

    fn edges(&mut self, surface: &Surface, block: Region) -> u64 {
        edge_angles(surface, block, &mut self.edges, &mut self.angles);
        self.angles.len() as u64
    }

    fn ready(&mut self, block: Region) -> u64 {
        self.gather(block, PAD);
        self.mesher.mesh(&self.cells, self.table, &mut self.mesh);
        let mut trees = 0;
        for surface in [&self.mesh.solid, &self.mesh.liquid] {
            if !surface.is_empty() {
                edge_angles(surface, block, &mut self.edges, &mut self.angles);
                let faces = &surface.quad_faces;
                let tree = QuadTree::build(surface, faces, &self.angles, &mut self.index);
                trees += u64::from(tree.is_some());
            }
        }
        trees
    }
}

fn race(world: &World, blocks: &[Region]) -> Vec<Timing> {
    let table = table_of(SurfaceShape::Default);
    let snapshot = world.grid.snapshot();
    let padded = |block: &Region, pad: i32| {
        let mut cells = DenseBox::default();
        world.read(block.grow(pad), &mut cells);
        cells
    };
    let boxes: Vec<DenseBox> = blocks.iter().map(|block| padded(block, PAD)).collect();
    let larger: Vec<DenseBox> = blocks.iter().map(|block| padded(block, PAD + 1)).collect();
    let fsn: Vec<FsnBlock> = boxes.iter().map(|cells| FsnBlock::new(cells, 8, &table)).collect();
    let (mut meshes, mut angles) = (Vec::new(), Vec::new());
    let mut maker = Maker::new(&snapshot, &table);
    for cells in &boxes {
        let mut mesh = BlockMesh::new();
        maker.mesher.mesh(cells, &table, &mut mesh);
        maker.edges(&mesh.solid, mesh.block);
        angles.push(maker.angles.clone());
        meshes.push(mesh);
    }
    let mut buffer = SurfaceNetsBuffer::default();
    let [mut a, mut b, mut c, mut d, mut e, mut f] =
        std::array::from_fn(|_| Maker::new(&snapshot, &table));
    let of = |item: usize| item * GROUP..(item + 1) * GROUP;
    let build = |maker: &mut Maker<'_>, i: usize| {
        let solid = &meshes[i].solid;
        let tree = QuadTree::build(solid, &solid.quad_faces, &angles[i], &mut maker.index);
        u64::from(tree.is_some())
    };
    let mesh = |maker: &mut Maker<'_>, cells: &DenseBox| {
        maker.mesher.mesh(cells, &table, &mut maker.mesh);
        maker.mesh.solid.indices.len() as u64
    };
    let entrants = vec![
        Entrant::new("fast-surface-nets", |item| {
            let mesh = |block: &FsnBlock| {
                block.mesh(&mut buffer);
                buffer.indices.len() as u64
            };
            fsn[of(item)].iter().map(mesh).sum()
        }),
        Entrant::new("edges", |item| {
            meshes[of(item)].iter().map(|mesh| a.edges(&mesh.solid, mesh.block)).sum()
        }),
        Entrant::new("ready", |item| blocks[of(item)].iter().map(|&block| b.ready(block)).sum()),
        Entrant::new("gather", |item| {
            blocks[of(item)].iter().map(|&block| c.gather(block, PAD)).sum()
        }),
        Entrant::new("mesh", |item| boxes[of(item)].iter().map(|cells| mesh(&mut d, cells)).sum()),
        Entrant::new("index", |item| of(item).map(|i| build(&mut e, i)).sum()),
        Entrant::new("gather of 14³", |item| {
            blocks[of(item)].iter().map(|&block| f.gather(block, PAD + 1)).sum()
        })
        .every(4),
    ];
    let mut timings = contest(BLOCKS / GROUP, RACE, entrants);
    let mut g = Maker::new(&snapshot, &table);
    let whole = Entrant::new("mesh of 10³", |item| {
        larger[of(item)].iter().map(|cells| mesh(&mut g, cells)).sum()
    });
    let budget = Budget { seconds: 1.0, ..RACE };
    timings.extend(contest(BLOCKS / GROUP, budget, vec![whole]));
    timings
}

fn a_block(timing: &Timing) -> f64 {
    timing.min * 1e9 / BLOCKS as f64
}

fn time_lines(timings: &[Timing]) -> Vec<Row> {
    let line = |timing: &Timing| {
        let median = timing.median * 1e9 / BLOCKS as f64;
        let row = detail(timing.name, a_block(timing), "ns/block").beside(a_block(&timings[FSN]));
        row.note(format!("median {median:.0}"))
    };
    timings.iter().map(line).collect()
}

/// How the angles of sides on the border of blocks compare with the exact ones.
fn border_lines(world: &World, blocks: &[Region]) -> Vec<Row> {
    let table = table_of(SurfaceShape::Default);
    let (mut mesher, mut mesh, mut around) = (Mesher::new(), BlockMesh::new(), BlockMesh::new());
    let (mut cells, mut edges, mut codes) =
        (DenseBox::default(), EdgeScratch::default(), Vec::new());
    let (mut all, mut border) = (0, Vec::new());
    for block in blocks {
        for (pad, out) in [(PAD, &mut mesh), (PAD + 1, &mut around)] {
            world.read(block.grow(pad), &mut cells);
            mesher.mesh_keyed(&cells, &table, out);
        }
        edge_angles(&mesh.solid, *block, &mut edges, &mut codes);
        let sides = naive_edges::sides(&mesh.solid, &around.solid);
        all += 4 * sides.len();
        for (sides, codes) in sides.iter().zip(&codes) {
            let given = |k: usize| f64::from(edge_angle(*codes, k).radians).to_degrees();
            let exact = |side: &Side| side.angle.filter(|_| !side.own);
            border.extend((0..4).filter_map(|k| Some((exact(&sides[k])?.to_degrees(), given(k)))));
        }
    }
    let share = |what: &'static str, counts: &dyn Fn(f64, f64) -> bool| {
        let count = border.iter().filter(|&&(exact, given)| counts(exact, given)).count();
        detail(what, count as f64 / border.len() as f64, "share")
    };
    let short =
        |exact: f64, given: f64| if exact > 0.35 && exact < 150.0 { exact - given } else { 0.0 };
    let worst = border.iter().map(|&(exact, given)| short(exact, given)).fold(0.0, f64::max);
    vec![
        detail("border sides", border.len() as f64 / all as f64, "of all sides"),
        share("less than exact", &|exact, given| short(exact, given) > 0.0),
        share("less by 5° and more", &|exact, given| short(exact, given) >= 5.0),
        detail("less at most by", worst, "degrees"),
        share("flat or concave, given more than 4°", &|exact, given| exact <= 0.35 && given > 4.0),
        share("more by 10° and more", &|exact, given| given - exact.max(0.0) >= 10.0),
    ]
}
