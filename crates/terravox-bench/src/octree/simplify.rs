//! Simplified meshes: how far they are off, what they keep of the triangles, and what borders
//! that stay cost.

use std::collections::BTreeMap;
use std::time::Instant;

use glam::DVec3;
use terravox::lod::{Simplifier, Simplify, joined};
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface as Mesh};
use terravox::terrain::Terrain;
use terravox::voxel::{DenseBox, MipBlock, Region};

use super::speed::set_worst;
use crate::lod::horizon_view;
use crate::mesh::distance::Nearest;
use crate::mesh::ours::blocks_of;
use crate::mesh::surface::Surface;
use crate::report::{Report, Row, detail};
use crate::worlds::{World, generated, places, rough};

/// Voxels that are asked for.
const ERROR: f32 = 0.25;

/// Blocks along the edge of a group that is simplified as one, and cells along its edge.
const GROUP: i32 = 64;

/// Groups of all worlds together.
const GROUPS: usize = 200;

/// Points of a surface that are looked at are at most so many voxels apart.
const STEP: f64 = 0.25;

/// Measures `simplify_deviation` and `simplify_kept_quarter_voxel`.
pub fn run(report: &mut Report) {
    match places::all() {
        Ok(real) => accuracy(report, &real),
        Err(why) => {
            report.not_measured("simplify_deviation", why.clone());
            report.not_measured("simplify_kept_quarter_voxel", why);
        }
    }
}

/// Simplifies groups of real places and, to make up their number, of the generated world.
fn accuracy(report: &mut Report, real: &[World]) {
    let mut found: Vec<(&str, Found)> = Vec::new();
    let mut left = GROUPS;
    for world in real {
        let groups = groups(world, GROUPS / (real.len() + 1));
        left -= groups.len();
        found.push((world.name, simplify(&groups)));
    }
    found.push(("generated", simplify(&groups(&generated::world(), left))));
    let worst: Vec<_> = found.iter().map(|(name, f)| (*name, f.worst / f64::from(ERROR))).collect();
    set_worst(report, "simplify_deviation", &worst);
    let sum = |of: fn(&Found) -> usize| found.iter().map(|(_, f)| of(f)).sum::<usize>();
    let share = sum(|f| f.kept) as f64 / sum(|f| f.all) as f64;
    let note = format!("of {} triangles in {} groups", sum(|f| f.all), sum(|f| f.groups));
    report.set("simplify_kept_quarter_voxel", share, note);
    // Not a place that anyone would make: rough at every size.
    found.push(("rough", simplify(&groups(&rough::world(), 10))));
    let lines = found.iter().flat_map(|(name, found)| {
        let note = format!("{} groups, {} triangles", found.groups, found.all);
        let time = found.seconds * 1e9 / found.all as f64;
        [
            detail(format!("{name}: kept"), found.kept as f64 / found.all as f64, "share")
                .note(note),
            detail(format!("{name}: time"), time, "ns/triangle"),
        ]
    });
    report.details(format!("groups of 64³ simplified to {ERROR} voxels"), lines.collect());
}

/// Meshes of groups of a world that have a surface, evenly chosen.
fn groups(world: &World, most: usize) -> Vec<BlockMesh> {
    let mut mesher = Mesher::new();
    let mut meshes: Vec<BlockMesh> = blocks_of(world.grid.bounds(), GROUP)
        .into_iter()
        .map(|region| group(world, region, &mut mesher))
        .filter(|mesh| !mesh.solid.is_empty())
        .collect();
    let count = meshes.len().min(most);
    let chosen: Vec<usize> = (0..count).map(|i| i * meshes.len() / count).collect();
    let mut at = 0;
    meshes.retain(|_| {
        at += 1;
        chosen.binary_search(&(at - 1)).is_ok()
    });
    meshes
}

fn group(world: &World, region: Region, mesher: &mut Mesher) -> BlockMesh {
    let mut cells = DenseBox::default();
    let mut mesh = |block: terravox::voxel::ChunkPos| {
        world.read(block.region().grow(PAD), &mut cells);
        let mut mesh = BlockMesh::new();
        mesher.mesh(&cells, world.grid.materials(), &mut mesh);
        mesh
    };
    let blocks: Vec<BlockMesh> = region.blocks::<5>().map(&mut mesh).collect();
    joined(region, &blocks.iter().collect::<Vec<_>>())
}

/// What became of some groups.
#[derive(Default)]
struct Found {
    groups: usize,
    all: usize,
    kept: usize,
    seconds: f64,
    /// The largest distance, voxels.
    worst: f64,
}

fn simplify(groups: &[BlockMesh]) -> Found {
    let mut simplifier = Simplifier::new();
    let mut found = Found { groups: groups.len(), ..Found::default() };
    for group in groups {
        let start = Instant::now();
        let few = simplifier.simplify_block(group, Simplify::within(ERROR));
        found.seconds += start.elapsed().as_secs_f64();
        found.all += triangles(group);
        found.kept += triangles(&few);
        for pair in [[&group.solid, &few.solid], [&group.liquid, &few.liquid]] {
            let [all, few] = pair.map(in_f64);
            found.worst = found.worst.max(farthest(&all, &few)).max(farthest(&few, &all));
        }
    }
    found
}

fn triangles(mesh: &BlockMesh) -> usize {
    mesh.solid.triangle_count() + mesh.liquid.triangle_count()
}

fn in_f64(mesh: &Mesh) -> Surface {
    Surface {
        positions: mesh.positions.iter().map(|p| DVec3::from(p.map(f64::from))).collect(),
        triangles: mesh.triangles().collect(),
        ..Surface::default()
    }
}

/// The largest distance of points of a surface from another: at a lattice of points in each
/// triangle, its corners among them.
fn farthest(from: &Surface, to: &Surface) -> f64 {
    let near = Nearest::new(to);
    let mut worst = 0.0_f64;
    for &triangle in &from.triangles {
        let [a, b, c] = from.corners(triangle);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        let steps = (longest / STEP).ceil().max(1.0) as u32;
        for (i, j) in (0..=steps).flat_map(|i| (0..=steps - i).map(move |j| (i, j))) {
            let [u, v] = [i, j].map(|k| f64::from(k) / f64::from(steps));
            worst = worst.max(near.distance(a + (b - a) * u + (c - a) * v));
        }
    }
    worst
}

/// Measures `lock_cost`: a view to the horizon, simplified with its borders, and without.
pub fn run_borders(report: &mut Report) {
    let terrain = horizon_view();
    let meshes = drawn(&terrain);
    let mut simplifier = Simplifier::new();
    let mut count = |how: Simplify| -> usize {
        meshes.iter().map(|mesh| triangles(&simplifier.simplify_block(mesh, how))).sum()
    };
    let all: usize = meshes.iter().map(triangles).sum();
    let start = Instant::now();
    let locked = count(Simplify::within(ERROR));
    let seconds = start.elapsed().as_secs_f64();
    let free = count(Simplify { free_border: true, ..Simplify::within(ERROR) });
    let share = |count: usize| count as f64 / all as f64;
    let note = format!(
        "kept {:.3} of {all} triangles in {} meshes; {:.3} without borders",
        share(locked),
        meshes.len(),
        share(free)
    );
    report.set("lock_cost", locked as f64 / free as f64, note);
    let single = terrain.meshed_blocks().len();
    let apart: usize = terrain
        .meshed_blocks()
        .iter()
        .filter_map(|&block| terrain.mesh(block))
        .map(|mesh| triangles(&simplifier.simplify_block(mesh, Simplify::within(ERROR))))
        .sum();
    let line = |name: &'static str, count: usize, meshes: usize| -> Row {
        detail(name, share(count), "share kept").note(format!("{meshes} meshes"))
    };
    let lines = vec![
        line("groups of blocks, borders kept", locked, meshes.len()),
        line("groups of blocks, borders free", free, meshes.len()),
        line("blocks one by one, borders kept", apart, single),
        detail("time", seconds * 1e9 / all as f64, "ns/triangle"),
    ];
    report.details(format!("16 km of hills within {ERROR} cells"), lines);
}

/// What is drawn of a view that rests: blocks of one parent as one where all are shown.
fn drawn(terrain: &Terrain) -> Vec<BlockMesh> {
    let leaves = terrain.lod().blocks();
    let mut groups: BTreeMap<MipBlock, Vec<MipBlock>> = BTreeMap::new();
    for block in terrain.meshed_blocks() {
        let whole = block.parent().children().iter().all(|b| leaves.binary_search(b).is_ok());
        groups.entry(if whole { block.parent() } else { block }).or_default().push(block);
    }
    let join = |(group, blocks): (MipBlock, Vec<MipBlock>)| {
        let meshes: Vec<_> = blocks.iter().filter_map(|&b| Some(&**terrain.mesh(b)?)).collect();
        let steps = u32::from(group.mip - blocks[0].mip);
        joined(group.cells().finer(steps), &meshes)
    };
    groups.into_iter().map(join).collect()
}
