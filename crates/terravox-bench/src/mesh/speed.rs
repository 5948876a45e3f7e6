//! Meshing speed of blocks of 64³, 32³ and 8³, from padded boxes, compared with the peers on
//! the same cells; and reading the padded box from the grid.

use fast_surface_nets::SurfaceNetsBuffer;
use terravox::mesh::{BlockMesh, Mesher, PAD};
use terravox::voxel::{DenseBox, MaterialTable, Region, SurfaceShape};

use super::ours::{blocks_of, table_of};
use super::peers::{FsnBlock, TransvoxelBlock};
use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::report::{AreaReport, Better, ReportRow, detail};
use crate::worlds::World;

/// Blocks of 64³ that a world gives to the contests.
const BLOCKS_64: usize = 8;
const BLOCKS_32: usize = 32;
/// Blocks of 8³ in an item, which alone are too short for the clock, and items.
const GROUP_8: usize = 64;
const GROUPS_8: usize = 8;

/// A mesher finds its box in the cache: it was read from the grid right before.
const RACE: RoundBudget = RoundBudget { min_rounds: 10, max_rounds: 40, seconds: 8.0, warm: true };
const SHORT: RoundBudget =
    RoundBudget { min_rounds: 20, max_rounds: 400, seconds: 1.0, warm: true };

/// The figures of one world and block edge.
struct SpeedResult {
    edge: usize,
    /// By entrant: [`DEFAULT`], [`FSN`], [`SMOOTH`], [`PORTABLE`], [`TRANSVOXEL`].
    timings: [Timing; 5],
    voxels: f64,
    /// Vertices of ours and of fast-surface-nets.
    vertices: [f64; 2],
    /// Vertices of our liquid surface: they are timed, but not counted as vertices.
    liquid: f64,
    triangles: [f64; 2],
}

const DEFAULT: usize = 0;
const FSN: usize = 1;
const SMOOTH: usize = 2;
const PORTABLE: usize = 3;
const TRANSVOXEL: usize = 4;

/// Measures the figures of speed; every one is the worst of the worlds.
pub fn run(report: &mut AreaReport, worlds: &[&World]) {
    let mut all = Vec::new();
    for world in worlds {
        let surface_64 = surface_blocks(world, 64, BLOCKS_64);
        for (edge, boxes) in [
            (64, surface_64.clone()),
            (32, surface_blocks(world, 32, BLOCKS_32)),
            (8, small_blocks(world, &surface_64)),
        ] {
            let found = race(edge, &boxes);
            compare(report, world.name, &found);
            report
                .details(format!("{} {edge}³, {} blocks", world.name, boxes.len()), lines(&found));
            all.push((world.name, found));
        }
    }
    for (id, edge, entrant) in [
        ("mesh_default_64_vs_fsn", 64, DEFAULT),
        ("mesh_default_8_vs_fsn", 8, DEFAULT),
        ("mesh_smooth_64_vs_fsn", 64, SMOOTH),
        ("mesh_portable_64_vs_fsn", 64, PORTABLE),
    ] {
        set_worst(report, id, entrant, all.iter().filter(|(_, found)| found.edge == edge));
    }
    gather(report, worlds);
    empty(report);
}

fn compare(report: &mut AreaReport, world: &str, found: &SpeedResult) {
    let ns = |at: usize| found.timings[at].min * 1e9 / found.voxels;
    for ours in [DEFAULT, SMOOTH, PORTABLE] {
        let what = format!("meshing {}³ blocks, {world}, {}", found.edge, found.timings[ours].name);
        for peer in [FSN, TRANSVOXEL] {
            let value = (found.timings[peer].name, ns(peer));
            report.compare(&what, "ns/voxel", Better::Less, ns(ours), value);
        }
    }
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn set_worst<'a>(
    report: &mut AreaReport,
    id: &str,
    entrant: usize,
    all: impl Iterator<Item = &'a (&'static str, SpeedResult)>,
) {
    if entrant != PORTABLE && !has_avx2() {
        report.not_measured(id, "this machine has no AVX2");
        return;
    }
    let ratio = |found: &SpeedResult| found.timings[entrant].min / found.timings[FSN].min;
    let each: Vec<(&str, f64, f64)> = all
        .map(|(name, found)| (*name, ratio(found), found.timings[FSN].min * 1e9 / found.voxels))
        .collect();
    let Some(worst) = each.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        report.not_measured(id, "no world to measure it on");
        return;
    };
    let note: Vec<String> = each.iter().map(|(name, r, _)| format!("{name} {r:.3}")).collect();
    report.set_ratio(id, worst.1, worst.2, format!("{}; baseline ns/voxel", note.join(", ")));
}

fn lines(found: &SpeedResult) -> Vec<ReportRow> {
    let fsn = found.timings[FSN].min * 1e9 / found.voxels;
    let line = |timing: &Timing| {
        let per_voxel = |seconds: f64| seconds * 1e9 / found.voxels;
        let peer = usize::from(timing.name == found.timings[FSN].name);
        let median = per_voxel(timing.median);
        let mut note = format!("median {median:.2}");
        if !timing.name.starts_with("transvoxel") {
            let vertex = timing.min * 1e9 / found.vertices[peer];
            let (triangles, vertices) = (found.triangles[peer], found.vertices[peer]);
            note +=
                &format!("; {vertex:.1} ns a vertex, {vertices} vertices, {triangles} triangles");
            if peer == 0 && found.liquid > 0.0 {
                note += &format!(", and {} liquid vertices", found.liquid);
            }
        }
        detail(timing.name, per_voxel(timing.min), "ns/voxel").beside(fsn).note(note)
    };
    found.timings.iter().map(line).collect()
}

/// Padded boxes of up to `max_blocks` blocks that hold at least a third of the surface of the
/// fullest one, evenly chosen.
pub fn surface_blocks(world: &World, edge: i32, max_blocks: usize) -> Vec<DenseBox> {
    let (table, mut mesher, mut out) =
        (table_of(SurfaceShape::Default), Mesher::new(), BlockMesh::new());
    let mut blocks: Vec<(usize, Region)> = Vec::new();
    let mut cells = DenseBox::default();
    for block in blocks_of(world.grid.bounds(), edge) {
        world.read(block.grow(PAD), &mut cells);
        mesher.mesh(&cells, &table, &mut out);
        blocks.push((out.solid.vertex_count(), block));
    }
    let fullest = blocks.iter().map(|block| block.0).max().unwrap_or(0);
    blocks.retain(|block| block.0 > 0 && 3 * block.0 >= fullest);
    evenly(&blocks, max_blocks).map(|&(_, block)| padded(world, block)).collect()
}

/// Padded boxes of blocks of 8³ with a surface, out of larger ones, in whole groups.
fn small_blocks(world: &World, larger: &[DenseBox]) -> Vec<DenseBox> {
    let (table, mut mesher, mut out) =
        (table_of(SurfaceShape::Default), Mesher::new(), BlockMesh::new());
    let mut blocks = Vec::new();
    for block in larger.iter().flat_map(|cells| blocks_of(cells.region().grow(-PAD), 8)) {
        let cells = padded(world, block);
        mesher.mesh(&cells, &table, &mut out);
        if !out.solid.is_empty() {
            blocks.push(cells);
        }
    }
    let mut chosen: Vec<_> = evenly(&blocks, GROUP_8 * GROUPS_8).cloned().collect();
    chosen.truncate(chosen.len().max(GROUP_8) / GROUP_8 * GROUP_8);
    chosen
}

/// Returns the padded boxes of the 8³ blocks on which the meshers race, for the collision
/// benchmarks.
pub fn blocks_of_8(world: &World) -> Vec<DenseBox> {
    small_blocks(world, &surface_blocks(world, 64, BLOCKS_64))
}

fn padded(world: &World, block: Region) -> DenseBox {
    let mut cells = DenseBox::default();
    world.read(block.grow(PAD), &mut cells);
    cells
}

/// Up to `max_count` of `all`, at even steps.
fn evenly<T>(all: &[T], max_count: usize) -> impl Iterator<Item = &T> {
    let count = all.len().min(max_count);
    (0..count).map(move |i| &all[i * all.len() / count])
}

fn race(edge: usize, boxes: &[DenseBox]) -> SpeedResult {
    assert!(!boxes.is_empty(), "a world without surface");
    let tables = [table_of(SurfaceShape::Default), table_of(SurfaceShape::Smooth)];
    let fsn: Vec<_> = boxes.iter().map(|cells| FsnBlock::new(cells, edge, &tables[0])).collect();
    let transvoxel: Vec<_> =
        boxes.iter().map(|cells| TransvoxelBlock::new(cells, edge, &tables[0])).collect();
    let group = if edge == 8 { GROUP_8.min(boxes.len()) } else { 1 };
    let items = boxes.len() / group;
    let range = move |item: usize| item * group..(item + 1) * group;
    let [mut best, mut smooth, mut portable] = [Mesher::new(), Mesher::new(), Mesher::portable()];
    let mut buffer = SurfaceNetsBuffer::default();
    let ours = |mesher: &mut Mesher, out: &mut BlockMesh, table: &MaterialTable, item: usize| {
        let mesh = |cells: &DenseBox| {
            mesher.mesh(cells, table, out);
            out.solid.indices.len() as u64
        };
        boxes[range(item)].iter().map(mesh).sum()
    };
    let mut outs = [BlockMesh::new(), BlockMesh::new(), BlockMesh::new()];
    let [out_0, out_1, out_2] = &mut outs;
    let entrants = [
        Entrant::new("default", |item| ours(&mut best, out_0, &tables[0], item)),
        Entrant::new("fast-surface-nets", |item| {
            let mesh = |block: &FsnBlock| {
                block.mesh(&mut buffer);
                buffer.indices.len() as u64
            };
            fsn[range(item)].iter().map(mesh).sum()
        }),
        Entrant::new("smooth", |item| ours(&mut smooth, out_1, &tables[1], item)),
        Entrant::new("portable", |item| ours(&mut portable, out_2, &tables[0], item)),
        Entrant::new("transvoxel", |item| {
            transvoxel[range(item)].iter().map(|block| block.mesh().1 as u64).sum()
        })
        .every(4),
    ];
    let timings = contest(items, RACE, entrants);
    let (counts, liquid) = count(&boxes[..items * group], &fsn[..items * group], &tables[0]);
    let voxels = (items * group * edge.pow(3)) as f64;
    SpeedResult { edge, timings, voxels, vertices: counts[0], triangles: counts[1], liquid }
}

/// Vertices and triangles, of ours and of fast-surface-nets; and our liquid vertices.
fn count(boxes: &[DenseBox], fsn: &[FsnBlock], table: &MaterialTable) -> ([[f64; 2]; 2], f64) {
    let (mut mesher, mut out) = (Mesher::new(), BlockMesh::new());
    let mut buffer = SurfaceNetsBuffer::default();
    let (mut counts, mut liquid) = ([[0.0; 2]; 2], 0.0);
    for (cells, peer) in boxes.iter().zip(fsn) {
        mesher.mesh(cells, table, &mut out);
        peer.mesh(&mut buffer);
        counts[0][0] += out.solid.vertex_count() as f64;
        counts[1][0] += (out.solid.indices.len() / 3) as f64;
        liquid += out.liquid.vertex_count() as f64;
        counts[0][1] += buffer.positions.len() as f64;
        counts[1][1] += (buffer.indices.len() / 3) as f64;
    }
    (counts, liquid)
}

/// The padded box of a 64³ block, read from the grid.
fn gather(report: &mut AreaReport, worlds: &[&World]) {
    let mut each = Vec::new();
    for world in worlds {
        let boxes = surface_blocks(world, 64, BLOCKS_64);
        let regions: Vec<Region> = boxes.iter().map(DenseBox::region).collect();
        let mut cells = DenseBox::default();
        let read = |item: usize| {
            world.read(regions[item], &mut cells);
            u64::from(cells.materials()[item])
        };
        let budget = RoundBudget { seconds: 2.0, warm: false, ..SHORT };
        let [timing] = contest(regions.len(), budget, [Entrant::new("read", read)]);
        let voxels = (regions.len() * 64 * 64 * 64) as f64;
        each.push((world.name, timing.min * 1e9 / voxels, timing.median * 1e9 / voxels));
    }
    let worst = each.iter().map(|e| e.1).fold(0.0, f64::max);
    let note =
        |(name, min, median): &(&str, f64, f64)| format!("{name} {min:.3} (median {median:.3})");
    let notes: Vec<String> = each.iter().map(note).collect();
    report.set("mesh_gather_64_ns", worst, notes.join(", "));
}

/// Blocks without a surface: of air, and of full rock.
fn empty(report: &mut AreaReport) {
    let table = table_of(SurfaceShape::Default);
    let region = Region::new([0; 3], [64; 3]).grow(PAD);
    let mut boxes = [DenseBox::new(region), DenseBox::new(region)];
    boxes[1].fill(8);
    let races: Vec<[f64; 2]> = boxes.iter().map(|cells| empty_race(cells, &table)).collect();
    let worst = if races[0][0] > races[1][0] { races[0] } else { races[1] };
    let note =
        format!("air {:.4}, rock {:.4}; baseline fast-surface-nets", races[0][0], races[1][0]);
    report.set_beside("mesh_empty_block", worst[0], worst[1], note);
}

/// Nanoseconds a voxel, ours and those of fast-surface-nets.
fn empty_race(cells: &DenseBox, table: &MaterialTable) -> [f64; 2] {
    let (mut mesher, mut out) = (Mesher::new(), BlockMesh::new());
    let (peer, mut buffer) = (FsnBlock::new(cells, 64, table), SurfaceNetsBuffer::default());
    let entrants = [
        Entrant::new("ours", |_| {
            mesher.mesh(cells, table, &mut out);
            assert!(out.solid.is_empty(), "a block without a surface has one");
            0
        }),
        Entrant::new("fast-surface-nets", |_| {
            peer.mesh(&mut buffer);
            buffer.indices.len() as u64
        }),
    ];
    contest(1, SHORT, entrants).map(|timing| timing.min * 1e9 / 64f64.powi(3))
}
