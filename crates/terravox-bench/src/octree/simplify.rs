//! Simplified meshes: deviation from the original, and triangles kept.

use std::time::Instant;

use glam::DVec3;
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface as Mesh};
use terravox::simplify::{Simplifier, SimplifyOptions, join_blocks};
use terravox::voxel::{DenseBox, Region};

use super::speed::set_worst;
use crate::mesh::distance::NearestTriangles;
use crate::mesh::ours::blocks_of;
use crate::mesh::surface::Surface;
use crate::report::{AreaReport, detail};
use crate::worlds::{World, generated, places, rough};

const TOLERANCE_VOXELS: f32 = 0.25;

/// Cells along the edge of a group of chunks that is simplified as one.
const GROUP_EDGE: i32 = 64;

/// Groups of all worlds together.
const GROUPS: usize = 200;

/// Largest distance between sample points of a surface.
const SAMPLE_SPACING_VOXELS: f64 = 0.25;

/// Measures `simplify_deviation` and `simplify_kept_quarter_voxel`.
pub fn run(report: &mut AreaReport) {
    match places::all() {
        Ok(real) => accuracy(report, &real),
        Err(why) => {
            report.not_measured("simplify_deviation", why.clone());
            report.not_measured("simplify_kept_quarter_voxel", why);
        }
    }
}

/// Simplifies groups of real places and, to make up their number, of the generated world.
fn accuracy(report: &mut AreaReport, real: &[World]) {
    let mut results: Vec<(&str, SimplifyResult)> = Vec::new();
    let mut left = GROUPS;
    for world in real {
        let groups = groups(world, GROUPS / (real.len() + 1));
        left -= groups.len();
        results.push((world.name, simplify(&groups)));
    }
    results.push(("generated", simplify(&groups(&generated::world(), left))));
    let worst: Vec<_> =
        results.iter().map(|(name, f)| (*name, f.worst / f64::from(TOLERANCE_VOXELS))).collect();
    set_worst(report, "simplify_deviation", &worst);
    let sum = |of: fn(&SimplifyResult) -> usize| results.iter().map(|(_, f)| of(f)).sum::<usize>();
    let share = sum(|f| f.kept) as f64 / sum(|f| f.all) as f64;
    let note = format!("of {} triangles in {} groups", sum(|f| f.all), sum(|f| f.groups));
    report.set("simplify_kept_quarter_voxel", share, note);
    // Unrealistic: rough at every scale.
    results.push(("rough", simplify(&groups(&rough::world(), 10))));
    let lines = results.iter().flat_map(|(name, result)| {
        let note = format!("{} groups, {} triangles", result.groups, result.all);
        let time = result.seconds * 1e9 / result.all as f64;
        [
            detail(format!("{name}: kept"), result.kept as f64 / result.all as f64, "share")
                .note(note),
            detail(format!("{name}: time"), time, "ns/triangle"),
        ]
    });
    report
        .details(format!("groups of 64³ simplified to {TOLERANCE_VOXELS} voxels"), lines.collect());
}

/// Meshes of groups of a world that have a surface, evenly chosen.
fn groups(world: &World, max_groups: usize) -> Vec<BlockMesh> {
    let mut mesher = Mesher::new();
    let mut meshes: Vec<BlockMesh> = blocks_of(world.grid.bounds(), GROUP_EDGE)
        .into_iter()
        .map(|region| group(world, region, &mut mesher))
        .filter(|mesh| !mesh.solid.is_empty())
        .collect();
    let count = meshes.len().min(max_groups);
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
    join_blocks(region, &blocks.iter().collect::<Vec<_>>())
}

/// Triangles, time and deviation of some groups.
#[derive(Default)]
struct SimplifyResult {
    groups: usize,
    /// Triangles before.
    all: usize,
    /// Triangles after.
    kept: usize,
    seconds: f64,
    /// Largest distance between the surfaces, voxels.
    worst: f64,
}

fn simplify(groups: &[BlockMesh]) -> SimplifyResult {
    let mut simplifier = Simplifier::new();
    let mut result = SimplifyResult { groups: groups.len(), ..SimplifyResult::default() };
    for group in groups {
        let start = Instant::now();
        let simplified =
            simplifier.simplify_block(group, SimplifyOptions::within(TOLERANCE_VOXELS));
        result.seconds += start.elapsed().as_secs_f64();
        result.all += triangles(group);
        result.kept += triangles(&simplified);
        for pair in [[&group.solid, &simplified.solid], [&group.liquid, &simplified.liquid]] {
            let [original, simplified] = pair.map(in_f64);
            let forth = max_distance(&original, &simplified);
            result.worst = result.worst.max(forth).max(max_distance(&simplified, &original));
        }
    }
    result
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
fn max_distance(from: &Surface, to: &Surface) -> f64 {
    let near = NearestTriangles::new(to);
    let mut worst = 0.0_f64;
    for &triangle in &from.triangles {
        let [a, b, c] = from.corners(triangle);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        let steps = (longest / SAMPLE_SPACING_VOXELS).ceil().max(1.0) as u32;
        for (i, j) in (0..=steps).flat_map(|i| (0..=steps - i).map(move |j| (i, j))) {
            let [u, v] = [i, j].map(|k| f64::from(k) / f64::from(steps));
            worst = worst.max(near.distance(a + (b - a) * u + (c - a) * v));
        }
    }
    worst
}
