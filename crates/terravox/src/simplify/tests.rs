//! Random fields and awkward surfaces: error, closedness, borders.

use super::coverage::CoverageTest;
use super::naive::{self, deviation};
use super::triangle::PreparedTriangle;
use super::triangle_mesh::TriangleMesh;
use super::*;
use crate::mesh::{MAX_EDGE, Mesher, NeighbourMips, VertexKey, Welded};
use crate::voxel::{AIR, Cell, DenseBox, MaterialTable, MipBlock, Region, VoxelPos, WATER};
use glam::Vec3;
use proptest::prelude::*;
use std::collections::BTreeMap;

const TABLE: fn() -> MaterialTable = MaterialTable::default;

/// Returns cells of waves and pebbles of two materials, with water below a level.
fn field(region: Region, seed: [f32; 4]) -> DenseBox {
    let mut cells = DenseBox::new(region);
    for at in region.voxels() {
        let [x, y, z] = at.to_array().map(|v| v as f32 + 0.5);
        let [a, b, c, d] = seed;
        let wave = |v: f32| 1.0 - 4.0 * (v - v.floor() - 0.5).powi(2);
        let ground = 5.0 * wave(0.05 * x + a) + 4.0 * wave(0.07 * z + 0.04 * x + b) + 4.0 - y;
        let pebble = 2.0 - 6.0 * (1.0 - wave(0.1 * (x + y) + c) * wave(0.1 * (y - z) + d));
        let units = ((0.5 + ground.max(pebble)) * 256.0).clamp(0.0, 256.0) as u32;
        let material = if wave(0.06 * z + d) > 0.3 { 3 } else { 8 };
        if units > 0 {
            cells.set(at, Cell { material, occupancy: (units - 1) as u8 });
        } else if y < 7.0 {
            cells.set(at, Cell::full(WATER));
        }
    }
    cells
}

fn mesh(cells: &DenseBox, block: Region) -> BlockMesh {
    let mut mesh = BlockMesh::new();
    let mut own = DenseBox::new(block.grow(crate::mesh::PAD));
    for at in own.region().voxels().filter(|at| cells.region().contains(*at)) {
        own.set(at, cells.cell(at));
    }
    Mesher::new().mesh_keyed(&own, &TABLE(), &mut mesh);
    mesh
}

/// Returns the meshes of a field's two blocks of 16³ cells.
fn blocks(seed: [f32; 4]) -> Vec<BlockMesh> {
    let region = Region::new([0; 3], [32, 16, 16]);
    let cells = field(region, seed);
    region.blocks::<4>().map(|block| mesh(&cells, block.region())).collect()
}

fn assert_consistent(surface: &Surface) {
    let count = surface.vertex_count();
    let targets = &surface.targets;
    assert!([surface.normals.len(), surface.materials.len()].iter().all(|n| *n == count));
    assert!(surface.weights.len() == count && surface.keys.len() == count);
    assert!(
        [targets.normals.len(), targets.steps.len()].iter().all(|n| *n == targets.positions.len())
    );
    assert!(targets.is_empty() || targets.steps.len() == count);
    assert!(surface.indices.iter().all(|&v| (v as usize) < count));
    assert_eq!(surface.triangle_materials().count(), surface.triangle_count());
}

/// Bits of position and normal, materials and weights.
type VertexData = ([u32; 3], [u32; 3], [u8; 4], [u8; 4]);

fn vertices(surface: &Surface) -> BTreeMap<VertexKey, VertexData> {
    let vertex = |i: usize| {
        let [p, n] = [surface.positions[i], surface.normals[i]].map(|v| v.map(f32::to_bits));
        (surface.keys[i], (p, n, surface.materials[i], surface.weights[i]))
    };
    (0..surface.vertex_count()).map(vertex).collect()
}

/// Returns the directed edges without an opposite one.
fn border(surface: &Surface) -> BTreeMap<[VertexKey; 2], u32> {
    let mut uses = BTreeMap::new();
    for t in surface.triangles() {
        for k in 0..3 {
            let edge = [t[k], t[(k + 1) % 3]].map(|v| surface.keys[v as usize]);
            *uses.entry(edge).or_insert(0) += 1;
        }
    }
    let all = uses.clone();
    uses.retain(|[a, b], _| !all.contains_key(&[*b, *a]));
    uses
}

/// Asserts the guarantees for `simple`, simplified from `all`. Returns the share of triangles kept.
fn assert_simplified(all: &Surface, simple: &Surface, error: f32) -> f64 {
    assert_consistent(simple);
    assert!(simple.triangle_count() <= all.triangle_count());
    assert!(simple.positions.is_empty() == all.positions.is_empty());
    let (before, after) = (vertices(all), vertices(simple));
    assert!(after.iter().all(|(key, vertex)| before.get(key) == Some(vertex)));
    assert_eq!(border(simple), border(all));
    if !all.is_empty() {
        let off = deviation(all, simple, 3);
        assert!(off <= f64::from(error), "{off} of {error}");
    }
    simple.triangle_count() as f64 / all.triangle_count().max(1) as f64
}

fn weld(meshes: &[BlockMesh]) -> Welded {
    let mut welded = Welded::default();
    meshes.iter().for_each(|mesh| welded.add(mesh.block.min, 0, &mesh.solid));
    welded
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn random_fields_keep_error_bound_and_borders_and_stay_closed_slow(
        seed in prop::array::uniform4(0.0..1.0f32),
        error in 0.02..1.5f32,
    ) {
        let blocks = blocks(seed);
        weld(&blocks).assert_manifold(|_| false);
        let mut simplifier = Simplifier::new();
        let simple: Vec<BlockMesh> =
            blocks.iter().map(|b| simplifier.simplify_block(b, SimplifyOptions::within(error))).collect();
        for (all, simple) in blocks.iter().zip(&simple) {
            assert_simplified(&all.solid, &simple.solid, error);
            assert_simplified(&all.liquid, &simple.liquid, error);
        }
        weld(&simple).assert_manifold(|_| false);
        let one = join_blocks(Region::new([0; 3], [32, 16, 16]), &blocks.iter().collect::<Vec<_>>());
        prop_assert!(border(&one.solid).is_empty());
        let simple_one = simplifier.simplify_block(&one, SimplifyOptions::within(error));
        assert_simplified(&one.solid, &simple_one.solid, error);
        assert_simplified(&one.liquid, &simple_one.liquid, error);
        weld(&[simple_one]).assert_manifold(|_| false);
    }

    #[test]
    fn verified_surfaces_are_within_the_error(
        points in prop::collection::vec(prop::array::uniform3(0.0..6.0f32), 9..24),
        error in 0.2..3.0f32,
    ) {
        let count = points.len() as u32 / 3;
        let indices: Vec<u32> = (0..3 * count).collect();
        let surface = Surface { positions: points, indices, ..Surface::default() };
        let kept: Vec<[u32; 3]> = surface.triangles().take(2).collect();
        let simple = Surface { indices: kept.concat(), ..surface.clone() };
        let (mut verifier, mut failures) = (Verifier::default(), Failures::default());
        verifier.set_input(&surface, error);
        let is_near = verifier.check(&surface, &mesh_of(&surface), &kept, &mut failures);
        let off = deviation(&surface, &simple, 24);
        prop_assert!(!is_near || off <= f64::from(error), "{off} of {error}");
        // Sample points of the twin are up to a quarter of a cell apart, and pieces have a size.
        prop_assert!(is_near || off > f64::from(error) * 0.92 - 0.25, "{off} of {error}");
        prop_assert_eq!(is_near, failures.input.is_empty() && failures.simplified.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn covered_triangles_are_within_the_error(
        heights in prop::collection::vec(-1.0..1.0f32, 49),
        shifts in prop::collection::vec(-1.0..1.0f32, 49),
        steep in 0.0..1.2f32,
        askew in prop_oneof![Just(0.0), 0.0..1.2f32],
        gone in prop::option::of(0..72usize),
        error in 0.2..1.5f32,
    ) {
        let mut surface = sheet(6);
        for ((p, height), shift) in surface.positions.iter_mut().zip(heights).zip(shifts) {
            *p = [p[0] + askew * shift, steep * height, p[2]];
        }
        if let Some(gone) = gone {
            surface.indices.drain(3 * gone..3 * gone + 3);
        }
        let corners = |t: [u32; 3]| t.map(|v| Vec3::from(surface.positions[v as usize]));
        let all: Vec<PreparedTriangle> = surface.triangles().map(|t| PreparedTriangle::new(corners(t))).collect();
        let (mesh, mut coverage) = (mesh_of(&surface), CoverageTest::default());
        coverage.reset(all.len());
        // Between vertices of the sheet; the last is one of its own triangles.
        for t in [[8, 38, 12], [0, 45, 6], [2, 30, 25], [24, 31, 32]] {
            let mut within = Vec::new();
            let own = PreparedTriangle::new(corners(t));
            let found = |t| within.push(t);
            let covers = coverage.covers(&all, &mesh, t[0], &own, error, found);
            let only = |indices: Vec<u32>| Surface { indices, ..surface.clone() };
            let (from, to) = (only(t.to_vec()), only(surface.indices.clone()));
            let off = naive::farthest(&from, &to, 24);
            prop_assert!(!covers || off <= f64::from(error), "{t:?}: {off} of {error}");
            for below in within {
                let from = only(surface.triangles().nth(below as usize).unwrap().to_vec());
                let off = naive::farthest(&from, &only(t.to_vec()), 4);
                prop_assert!(off <= f64::from(error) * 1.001, "{below}: {off} of {error}");
            }
            // Projected along a sloping normal, the rim may lie over the triangle.
            let rim = t.contains(&0) || t.contains(&2);
            let even = steep < 0.25 * error.min(1.0) && askew == 0.0 && gone.is_none();
            // Vertices of the sheet lie below edges of the triangle: where one is as far inside as
            // the ignored strip is wide, a piece is so thin that rounding turns it over. With
            // another strip it is not.
            let covers = covers || coverage.covers(&all, &mesh, t[0], &own, 0.9 * error, |_| ());
            prop_assert!(covers || rim || !even, "{t:?} is not covered");
        }
    }
}

fn mesh_of(surface: &Surface) -> TriangleMesh {
    let positions: Vec<Vec3> = surface.positions.iter().map(|p| Vec3::from(*p)).collect();
    let mut mesh = TriangleMesh::default();
    mesh.read(surface, &positions);
    mesh
}

#[test]
fn a_level_sheet_covers_triangles_within_its_rim() {
    let surface = sheet(6);
    let corners = |t: [u32; 3]| t.map(|v| Vec3::from(surface.positions[v as usize]));
    let all: Vec<PreparedTriangle> =
        surface.triangles().map(|t| PreparedTriangle::new(corners(t))).collect();
    let mut coverage = CoverageTest::default();
    coverage.reset(all.len());
    let mut covers = |mesh: &TriangleMesh, t: [u32; 3]| {
        let mut within = 0;
        let own = PreparedTriangle::new(corners(t));
        (coverage.covers(&all, mesh, t[0], &own, 0.1, |_| within += 1), within)
    };
    let whole = mesh_of(&surface);
    assert!(covers(&whole, [8, 38, 12]).0);
    // From rim to rim, and with reversed winding.
    assert!(covers(&whole, [0, 48, 6]).0);
    assert_eq!(covers(&whole, [8, 12, 38]), (false, 0));
    // With a hole in the middle.
    let mut holed = surface.clone();
    holed.indices[3 * 28..3 * 29].fill(0);
    assert!(!covers(&mesh_of(&holed), [8, 38, 12]).0);
}

#[test]
fn collapses_are_replayed_except_around_failures() {
    let all = &blocks([0.3, 0.8, 0.1, 0.6])[0].solid;
    let (mut collapse, mut verifier) = (Collapse::default(), Verifier::default());
    let [mut first, mut again, mut apart] = [const { Vec::new() }; 3];
    collapse.read(all, 0.3, false);
    verifier.set_input(all, 0.3);
    let limits = CollapseLimits { error: 0.3, block_size: None };
    collapse.run(limits, &verifier.input_grids, &mut first);
    assert!(first.len() < all.triangle_count() / 2);
    collapse.tighten(&Failures::default(), false);
    collapse.run(limits, &verifier.input_grids, &mut again);
    assert_eq!(first, again);
    // Around a forbidden triangle everything is done again; little else changes.
    let failures = Failures { simplified: vec![first[first.len() / 2]], ..Failures::default() };
    collapse.tighten(&failures, false);
    collapse.run(limits, &verifier.input_grids, &mut apart);
    assert!(!apart.contains(&failures.simplified[0]));
    let kept = apart.iter().filter(|t| first.contains(t)).count();
    assert!(kept > first.len() / 2 && kept < first.len(), "{kept} of {}", first.len());
}

#[test]
fn morph_targets_keep_the_error_bound() {
    let region = Region::new([6; 3], [22; 3]);
    let cells = field(region, [0.1, 0.4, 0.2, 0.7]);
    let mut grid = crate::voxel::VoxelGrid::new(Default::default());
    grid.write(&cells).unwrap();
    let block = MipBlock::new(0, [0; 3]);
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    let ask = |mip: u8, region: Region, out: &mut DenseBox| {
        grid.read_known(region, mip, out);
    };
    mesher.mesh_morphing(block, &NeighbourMips::uniform(0), ask, &TABLE(), 3, true, &mut mesh);
    let all = mesh.solid;
    assert!(!all.targets.is_empty());
    let simple = Simplifier::new().simplify(&all, SimplifyOptions::within(0.4));
    let kept = assert_simplified(&all, &simple, 0.4);
    assert!(kept < 0.6, "{kept} kept");
    let arrived = |surface: &Surface| {
        let mut surface = surface.clone();
        surface.morph(|_, _, _| 1.0);
        surface
    };
    let off = deviation(&arrived(&all), &arrived(&simple), 3);
    assert!(off <= 0.4, "{off}");
}

#[test]
fn an_empty_surface_stays_empty() {
    let none = Surface::default();
    assert_eq!(Simplifier::new().simplify(&none, SimplifyOptions::within(1.0)), none);
}

/// Returns a flat grid of `edge` × `edge` quads.
fn sheet(edge: u32) -> Surface {
    let side = edge + 1;
    let point = |i: u32| [(i % side) as f32, 0.0, (i / side) as f32];
    let key = |i: u32| VertexKey { corner: VoxelPos::new(i as i32, 0, 0), ..VertexKey::default() };
    let mut sheet = Surface::default();
    for i in 0..side * side {
        sheet.positions.push(point(i));
        sheet.normals.push([0.0, 1.0, 0.0]);
        sheet.materials.push([WATER, 0, 0, 0]);
        sheet.weights.push([255, 0, 0, 0]);
        sheet.keys.push(key(i));
    }
    for (x, z) in (0..edge).flat_map(|z| (0..edge).map(move |x| (x, z))) {
        let at = x + side * z;
        sheet.indices.extend([at, at + side, at + side + 1, at, at + side + 1, at + 1]);
        sheet.quad_materials.push(WATER);
        sheet.quad_faces.push([x as u8, 0, z as u8, 3]);
    }
    sheet
}

#[test]
fn one_quad_is_two_triangles() {
    let quad = sheet(1);
    let simple = Simplifier::new().simplify(&quad, SimplifyOptions::within(5.0));
    assert_simplified(&quad, &simple, 5.0);
    assert_eq!((simple.triangle_count(), simple.vertex_count()), (2, 4));
    assert_eq!((simple.quad_count(), simple.loose_materials), (0, vec![WATER; 2]));
}

#[test]
fn an_open_sheet_of_liquid_keeps_its_rim() {
    let all = sheet(16);
    let simple = Simplifier::new().simplify(&all, SimplifyOptions::within(0.1));
    assert_simplified(&all, &simple, 0.1);
    // A triangulated polygon of 64 sides.
    assert!((62..80).contains(&simple.triangle_count()), "{}", simple.triangle_count());
    let free = SimplifyOptions { has_free_border: true, ..SimplifyOptions::within(0.1) };
    let free = Simplifier::new().simplify(&all, free);
    assert!(free.triangle_count() < 8 && deviation(&all, &free, 4) <= 0.1);
}

#[test]
fn degenerate_triangles_and_unused_vertices_are_valid_input() {
    let mut all = sheet(8);
    all.indices.truncate(6 * all.quad_count());
    all.indices.extend([0, 1, 2, 3, 3, 4]);
    all.loose_materials.extend([WATER; 2]);
    let lone = all.positions[5];
    all.positions.push(lone);
    all.normals.push([0.0, 1.0, 0.0]);
    all.materials.push([WATER, 0, 0, 0]);
    all.weights.push([255, 0, 0, 0]);
    all.keys.push(VertexKey { part: 9, ..VertexKey::default() });
    let simple = Simplifier::new().simplify(&all, SimplifyOptions::within(0.5));
    assert_consistent(&simple);
    assert!(simple.triangle_count() <= all.triangle_count());
    assert!(deviation(&all, &simple, 2) <= 0.5);
}

#[test]
fn a_flat_block_becomes_few_triangles_and_keeps_its_materials() {
    let region = Region::new([0; 3], [MAX_EDGE, 8, MAX_EDGE]);
    let mut cells = DenseBox::new(region);
    for at in region.voxels().filter(|at| at.y < 4) {
        cells.set(at, Cell::full(if at.x < 30 { 3 } else { 8 }));
    }
    let all = mesh(&cells, region).solid;
    let simple = Simplifier::new().simplify(&all, SimplifyOptions::within(0.25));
    assert!(
        simple.triangle_count() * 20 < all.triangle_count(),
        "{} left",
        simple.triangle_count()
    );
    let materials: Vec<u8> = simple.triangle_materials().collect();
    assert!(materials.contains(&3) && materials.contains(&8) && !materials.contains(&AIR));
}

#[test]
fn large_errors_are_clamped_to_two_cells() {
    let all = &blocks([0.1, 0.2, 0.3, 0.4])[0];
    let simple =
        |error: f32| Simplifier::new().simplify_block(all, SimplifyOptions::within(error)).solid;
    assert_eq!(simple(f32::MAX), simple(2.0));
    assert!(simple(2.0).triangle_count() < simple(0.25).triangle_count());
    assert!(assert_simplified(&all.solid, &simple(f32::MAX), 2.0) <= 2.0);
}

#[test]
#[should_panic(expected = "is 0 cells")]
fn an_error_of_0_panics() {
    Simplifier::new().simplify(&Surface::default(), SimplifyOptions::within(0.0));
}

#[test]
#[should_panic(expected = "is inf cells")]
fn an_infinite_error_panics() {
    Simplifier::new().simplify(&Surface::default(), SimplifyOptions::within(f32::INFINITY));
}
