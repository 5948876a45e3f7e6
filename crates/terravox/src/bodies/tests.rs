//! Comparison with a flood of the whole grid, and each rule by itself.

use super::naive::loose_pieces;
use super::*;
use crate::edit::{EditOp, Editor, History};
use crate::voxel::{
    AIR, Cell, ChunkPos, DenseBox, GridOptions, Kind, Region, UnlistedChunks, VoxelGrid, VoxelPos,
    WATER,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

const ROCK: u8 = 8;
const WOOD: u8 = 14;

fn put(grid: &mut VoxelGrid, region: Region, cell: Cell) {
    let mut cells = DenseBox::new(region);
    region.voxels().for_each(|voxel| cells.set(voxel, cell));
    grid.write(&cells).unwrap();
}

fn world(regions: &[([i32; 3], [i32; 3])]) -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    for &(min, max) in regions {
        put(&mut grid, Region::new(min, max), Cell::full(ROCK));
    }
    grid
}

/// Returns the solid cells of a grid, offset by `from`.
fn solid_cells(grid: &VoxelGrid, from: VoxelPos) -> BTreeSet<[i32; 3]> {
    let voxels = grid.chunks().into_iter().flat_map(|chunk| chunk.region().voxels());
    let solid = |voxel: &VoxelPos| {
        grid.cell(*voxel).is_ok_and(|cell| grid.materials().kind(cell.material) == Kind::Solid)
    };
    voxels.filter(solid).map(|voxel| (voxel + from).to_array()).collect()
}

/// Cuts until nothing is left. Returns the bodies.
fn cut_all(
    loose: &mut LooseCutter,
    grid: &mut VoxelGrid,
    options: &LooseOptions,
) -> Vec<LooseBody> {
    let mut bodies = Vec::new();
    loop {
        let cut = loose.cut(grid, None, options).unwrap();
        bodies.extend(cut.bodies);
        if !cut.has_more {
            return bodies;
        }
    }
}

fn cells_of(bodies: &[LooseBody]) -> Vec<BTreeSet<[i32; 3]>> {
    let mut pieces: Vec<_> =
        bodies.iter().map(|body| solid_cells(&body.grid, body.origin_voxel)).collect();
    pieces.sort();
    pieces
}

/// Returns the regions that a write of `region` touches.
fn touched(region: Region) -> [Region; 1] {
    [region.grow(1)]
}

/// Digs a box and compares what comes loose with the twin.
fn dig_and_check(grid: &mut VoxelGrid, region: Region, options: &LooseOptions) -> usize {
    put(grid, region, Cell::AIR);
    let expected = loose_pieces(grid.as_snapshot(), &options.anchors, &touched(region));
    let before = solid_cells(grid, VoxelPos::ZERO);
    let mut loose = LooseCutter::default();
    loose.touch(region);
    let bodies = cut_all(&mut loose, grid, options);
    assert_eq!(cells_of(&bodies), expected);
    let gone: BTreeSet<_> = expected.into_iter().flatten().collect();
    assert_eq!(solid_cells(grid, VoxelPos::ZERO), &before - &gone);
    bodies.len()
}

type BoxCorners = ([i32; 3], [i32; 3]);

fn arb_box() -> impl Strategy<Value = BoxCorners> {
    let corner = proptest::array::uniform3(-40i32..36);
    (corner, proptest::array::uniform3(1i32..14))
        .prop_map(|(min, size)| (min, [0, 1, 2].map(|i| min[i] + size[i])))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_digs_agree_with_a_flood_of_the_grid(
        solids in proptest::collection::vec(arb_box(), 1..14),
        digs in proptest::collection::vec(arb_box(), 1..4),
        anchor in arb_box(), floor in -40i32..0, anchored in 0u8..4, steps in 1u32..40,
    ) {
        let mut grid = world(&solids);
        let anchors = Anchors {
            below_y: (anchored & 1 != 0).then_some(floor),
            regions: if anchored & 2 != 0 { vec![Region::new(anchor.0, anchor.1)] } else { vec![] },
        };
        let mut loose = LooseCutter::default();
        let options = LooseOptions { anchors, steps_per_call: steps, ..LooseOptions::default() };
        // The same cutter for all digs, to test its cache.
        for (min, max) in digs {
            let region = Region::new(min, max);
            put(&mut grid, region, Cell::AIR);
            let expected = loose_pieces(grid.as_snapshot(), &options.anchors, &touched(region));
            loose.touch(region);
            let bodies = cut_all(&mut loose, &mut grid, &options);
            prop_assert_eq!(cells_of(&bodies), expected);
            for body in &bodies {
                let cells = solid_cells(&body.grid, VoxelPos::ZERO);
                prop_assert_eq!(cells.len() as u64, body.cells);
                let regions = cells.iter().map(|&at| Region::one(at.into()));
                prop_assert_eq!(regions.fold(Region::default(), Region::union), body.bounds);
            }
        }
    }

    #[test]
    fn noise_of_any_thickness_agrees_with_a_flood_of_the_grid(
        seed: u64, share in 4u32..24, at in proptest::array::uniform3(-12i32..12),
    ) {
        // Around the corner of eight chunks.
        let region = Region::new([-10; 3], [11; 3]);
        let (mut grid, mut state) = (VoxelGrid::default(), seed | 1);
        let mut cells = DenseBox::new(region);
        for voxel in region.voxels() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let material = if state as u32 >> 7 & 31 < share { ROCK } else { AIR };
            cells.set(voxel, Cell::new(material, (state >> 40) as u8));
        }
        grid.write(&cells).unwrap();
        let options = LooseOptions::floor(-9);
        let dig = Region::new(at, at.map(|v| v + 3));
        dig_and_check(&mut grid, dig, &options);
    }
}

#[test]
fn a_dig_that_loosens_nothing_cuts_nothing() {
    let mut grid = world(&[([-40, -40, -40], [40, 0, 40])]);
    let digest = |grid: &VoxelGrid| grid.digest().unwrap();
    let dug = Region::new([-3, -5, -3], [4, 0, 5]);
    put(&mut grid, dug, Cell::AIR);
    let before = digest(&grid);
    let mut loose = LooseCutter::default();
    loose.touch(dug);
    let cut = loose.cut(&mut grid, None, &LooseOptions::floor(-39)).unwrap();
    assert!(cut.bodies.is_empty() && cut.too_large.is_empty() && !cut.has_more);
    assert_eq!(digest(&grid), before);
}

#[test]
fn cells_that_share_only_an_edge_or_a_corner_are_not_connected() {
    for (step, bodies) in [([1, 1, 0], 1), ([0, 1, 1], 1), ([1, 1, 1], 1), ([0, 1, 0], 0)] {
        let [first, second] = [[0, -1, 0], [step[0], 0, step[2]]];
        let one = |at: [i32; 3]| (at, at.map(|v| v + 1));
        let mut grid = world(&[one(first), one(second)]);
        // The dug cell is air, but the second cell is beside it.
        let above = Region::new([-1, 1, -1], [3, 2, 3]);
        let freed = dig_and_check(&mut grid, above, &LooseOptions::floor(0));
        assert_eq!(freed, bodies, "a step of {step:?}");
    }
}

#[test]
fn pieces_span_chunks() {
    // An arch with its feet and its top in different chunks, including negative ones.
    let arch =
        [([-70, -8, 0], [-66, 36, 3]), ([66, -8, 0], [70, 36, 3]), ([-70, 32, 0], [70, 36, 3])];
    let options = LooseOptions::floor(-7);
    for (dig, bodies) in [
        (vec![([-71, 5, -1], [-65, 6, 4])], 0),
        (vec![([-71, 5, -1], [-65, 6, 4]), ([65, -3, -1], [71, -2, 4])], 1),
        (vec![([-64, 31, -1], [-63, 37, 4]), ([31, 31, -1], [33, 37, 4])], 1),
    ] {
        let mut grid = world(&arch);
        let freed: usize =
            dig.iter().map(|d| dig_and_check(&mut grid, Region::new(d.0, d.1), &options)).sum();
        assert_eq!(freed, bodies);
    }
}

#[test]
fn a_piece_falls_when_its_anchor_is_dug() {
    let mut grid = world(&[([0, 0, 0], [20, 2, 2])]);
    let anchors = Anchors { below_y: None, regions: vec![Region::new([0; 3], [1, 2, 2])] };
    let options = LooseOptions { anchors, ..LooseOptions::default() };
    assert_eq!(dig_and_check(&mut grid, Region::new([10, 0, 0], [11, 1, 2]), &options), 0);
    assert_eq!(dig_and_check(&mut grid, Region::new([0, 0, 0], [2, 2, 2]), &options), 1);
    assert!(solid_cells(&grid, VoxelPos::ZERO).is_empty());
}

#[test]
fn anchors_can_be_removed_between_calls() {
    let mut grid = world(&[([0, 0, 0], [3, 40, 3])]);
    let mut loose = LooseCutter::default();
    let region = Region::new([0, 30, 0], [1, 31, 1]);
    put(&mut grid, region, Cell::AIR);
    loose.touch(region);
    assert!(cut_all(&mut loose, &mut grid, &LooseOptions::floor(1)).is_empty());
    loose.touch(region);
    let bodies = cut_all(&mut loose, &mut grid, &LooseOptions::floor(0));
    assert_eq!((bodies.len(), bodies[0].cells), (1, 3 * 3 * 40 - 1));
}

#[test]
fn ground_beside_unheld_chunks_stays() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let chunk = ChunkPos::new(-1, 0, 0);
    let mut cells = DenseBox::new(chunk.region());
    let beam = Region::new([-20, 5, 5], [0, 8, 8]);
    beam.voxels().for_each(|voxel| cells.set(voxel, Cell::full(ROCK)));
    grid.write(&cells).unwrap();
    let options = LooseOptions::default();
    let dig = Region::new([-9, 5, 5], [-8, 6, 8]);
    assert_eq!(dig_and_check(&mut grid, dig, &options), 0, "it may go on next door");
    // A neighbour held at mip 1 only does not count as held.
    let next = ChunkPos::new(0, 0, 0);
    grid.write_mip(1, &DenseBox::new(next.region().coarser(1)));
    assert_eq!(dig_and_check(&mut grid, dig, &options), 0);
    // With air as the neighbour.
    grid.write(&DenseBox::new(next.region())).unwrap();
    assert_eq!(dig_and_check(&mut grid, dig, &options), 1);
}

#[test]
fn a_piece_that_is_too_large_is_reported_and_stays() {
    let mut grid = world(&[([0, 0, 0], [8, 30, 8]), ([30, 0, 0], [32, 30, 2])]);
    let digs = [Region::new([0, 4, 0], [8, 5, 8]), Region::new([30, 4, 0], [32, 5, 2])];
    let mut loose = LooseCutter::default();
    for dig in digs {
        put(&mut grid, dig, Cell::AIR);
        loose.touch(dig);
    }
    let before = solid_cells(&grid, VoxelPos::ZERO);
    let options = LooseOptions { max_cells: 1000, ..LooseOptions::floor(1) };
    let cut = loose.cut(&mut grid, None, &options).unwrap();
    assert_eq!((cut.bodies.len(), cut.bodies[0].cells), (1, 4 * 25));
    assert_eq!(cut.too_large.len(), 1);
    assert_eq!(cut.too_large[0].cells, 64 * 25);
    assert!(cut.too_large[0].to_string().contains("1600 cells"), "{}", cut.too_large[0]);
    let gone = cells_of(&cut.bodies).remove(0);
    assert_eq!(solid_cells(&grid, VoxelPos::ZERO), &before - &gone);
}

#[test]
fn small_budgets_give_the_same_bodies() {
    // A comb: many teeth below a beam that is cut at both ends.
    let mut boxes = vec![([-60, 20, 0], [60, 22, 3]), ([-60, 0, 0], [-57, 22, 3])];
    boxes.extend((0..10).map(|i| ([i * 10 - 50, 5, 0], [i * 10 - 48, 20, 2])));
    let dig = |i: i32| Region::new([i * 10 - 50, 19, 0], [i * 10 - 48, 20, 2]);
    let run = |options: &LooseOptions| {
        let (mut grid, mut loose) = (world(&boxes), LooseCutter::default());
        for region in (0..10).map(dig) {
            put(&mut grid, region, Cell::AIR);
            loose.touch(region);
        }
        let (mut calls, mut bodies) = (0, Vec::new());
        loop {
            let cut = loose.cut(&mut grid, None, options).unwrap();
            calls += 1;
            // In their order.
            let cells = |body: &LooseBody| solid_cells(&body.grid, body.origin_voxel);
            bodies.extend(cut.bodies.iter().map(cells));
            if !cut.has_more {
                break;
            }
        }
        (calls, bodies, grid.digest().unwrap())
    };
    let all = LooseOptions::floor(1);
    let few_steps = LooseOptions { steps_per_call: 20, ..all.clone() };
    let few_cells = LooseOptions { cells_per_call: 100, ..all.clone() };
    let few_bodies = LooseOptions { bodies_per_call: 3, ..all.clone() };
    let (once, bodies, digest) = run(&all);
    assert_eq!((once, bodies.len()), (1, 10));
    for (options, at_least) in [(few_steps, 3), (few_cells, 5), (few_bodies, 4)] {
        let (calls, same, same_digest) = run(&options);
        assert!(calls >= at_least, "{calls} calls");
        assert!(same == bodies && same_digest == digest);
    }
}

#[test]
fn edits_during_a_search_are_noticed() {
    let mut grid = world(&[([0, 0, 0], [200, 2, 2]), ([0, -9, 0], [2, 0, 2])]);
    let options = LooseOptions { steps_per_call: 1, ..LooseOptions::floor(-8) };
    let mut loose = LooseCutter::default();
    let dig = Region::new([150, 0, 0], [151, 2, 2]);
    put(&mut grid, dig, Cell::AIR);
    loose.touch(dig);
    assert!(loose.cut(&mut grid, None, &options).unwrap().has_more);
    // The foot is removed while the search is running.
    let foot = Region::new([0, -5, 0], [2, -4, 2]);
    put(&mut grid, foot, Cell::AIR);
    loose.touch(foot);
    let bodies = cut_all(&mut loose, &mut grid, &options);
    assert_eq!(bodies.iter().map(|body| body.cells).sum::<u64>(), 199 * 4 + 4 * 4);
    // And is restored before the pieces found are cut.
    let mut grid = world(&[([0, 0, 0], [6, 1, 1]), ([0, 4, 0], [6, 5, 1])]);
    let options = LooseOptions { cells_per_call: 1, ..LooseOptions::floor(-8) };
    let mut loose = LooseCutter::default();
    loose.touch(Region::new([0; 3], [6, 5, 1]));
    let cut = loose.cut(&mut grid, None, &options).unwrap();
    assert!(cut.has_more && loose.stats().ready == 1);
    let left = if cut.bodies[0].bounds.min.y == 0 { 4 } else { 0 };
    put(&mut grid, Region::new([0, -9, 0], [1, left, 1]), Cell::full(ROCK));
    assert!(cut_all(&mut loose, &mut grid, &options).is_empty());
}

#[test]
fn a_cell_added_beside_a_found_piece_holds_it() {
    let mut grid = world(&[([-40, 0, 0], [-34, 1, 1]), ([0, 0, 0], [6, 1, 1])]);
    let options = LooseOptions { cells_per_call: 1, ..LooseOptions::floor(-8) };
    let mut loose = LooseCutter::default();
    loose.touch(grid.bounds());
    let cut = loose.cut(&mut grid, None, &options).unwrap();
    assert!(cut.has_more && cut.bodies[0].origin_voxel.x < 0);
    // In the next chunk, without a call to `touch`.
    put(&mut grid, Region::new([2, -9, 0], [3, 0, 1]), Cell::full(ROCK));
    assert!(cut_all(&mut loose, &mut grid, &options).is_empty());
}

#[test]
fn undo_restores_the_piece() {
    let mut grid = world(&[([-40, 0, -40], [40, 3, 40]), ([-35, 3, -2], [-31, 40, 2])]);
    let mut wet = DenseBox::default();
    grid.read(Region::new([-35, 30, -2], [-31, 40, 2]), 0, &mut wet).unwrap();
    wet.set_water(VoxelPos::new(-33, 33, 0), Some(77));
    wet.set(VoxelPos::new(-33, 34, 0), Cell::new(WOOD, 3));
    grid.write(&wet).unwrap();
    let (mut editor, mut history, mut loose) =
        (Editor::default(), History::default(), LooseCutter::default());
    let whole = grid.digest().unwrap();
    let dug = editor.apply(&mut grid, &EditOp::dig_ball([-33.0, 20.0, 0.0], 5.0), &mut history);
    let dug = dug.unwrap();
    let after_dig = grid.digest().unwrap();
    loose.touch(dug.region);
    let cut = loose.cut(&mut grid, Some(&mut history), &LooseOptions::floor(1)).unwrap();
    assert_eq!(cut.bodies.len(), 1);
    let water = grid.cell(VoxelPos::new(-33, 33, 0)).unwrap();
    assert_eq!(water, Cell::new(WATER, 77), "water stays where it was");
    let after_cut = grid.digest().unwrap();
    assert_eq!(history.stats().undoable, 2);
    history.undo(&mut grid).unwrap();
    assert_eq!(grid.digest().unwrap(), after_dig);
    history.redo(&mut grid).unwrap();
    assert_eq!(grid.digest().unwrap(), after_cut);
    // In one stroke with the dig.
    history.undo(&mut grid).unwrap();
    history.undo(&mut grid).unwrap();
    assert_eq!(grid.digest().unwrap(), whole);
    history.begin_stroke();
    let op = EditOp::dig_ball([-33.0, 20.0, 0.0], 5.0);
    loose.touch(editor.apply(&mut grid, &op, &mut history).unwrap().region);
    loose.cut(&mut grid, Some(&mut history), &LooseOptions::floor(1)).unwrap();
    history.end_stroke();
    assert_eq!(grid.digest().unwrap(), after_cut);
    history.undo(&mut grid).unwrap();
    assert_eq!(grid.digest().unwrap(), whole);
}

#[test]
fn mass_centre_and_inertia_equal_sums_over_cells() {
    let mut grid = world(&[([-5, 0, -7], [36, 9, 2])]);
    put(&mut grid, Region::new([0, 0, 0], [10, 20, 3]), Cell::new(WOOD, 99));
    put(&mut grid, Region::new([31, 8, 1], [33, 40, 2]), Cell::new(200, 7));
    let (before, mut loose) = (grid.snapshot(), LooseCutter::default());
    loose.touch(grid.bounds());
    let bodies = cut_all(&mut loose, &mut grid, &LooseOptions::default());
    assert_eq!(bodies.len(), 1);
    let body = &bodies[0];
    let cells: Vec<_> = solid_cells(&body.grid, VoxelPos::ZERO)
        .into_iter()
        .map(|at| {
            let cell = before.cell(body.origin_voxel + at.into()).unwrap();
            assert_eq!(body.grid.cell(at.into()).unwrap(), cell);
            let density = f64::from(before.materials().density(cell.material));
            (at.map(|v| f64::from(v) + 0.5), density * f64::from(cell.units()) / 256.0)
        })
        .collect();
    let mass: f64 = cells.iter().map(|cell| cell.1).sum();
    let centre = [0, 1, 2].map(|i| cells.iter().map(|cell| cell.0[i] * cell.1).sum::<f64>() / mass);
    let mut inertia = [0.0; 6];
    for (at, m) in &cells {
        let d = [0, 1, 2].map(|i| at[i] - centre[i]);
        let square = d.iter().map(|v| v * v).sum::<f64>();
        // A unit cube's own inertia is a sixth.
        (0..3).for_each(|i| inertia[i] += m * (square - d[i] * d[i] + 1.0 / 6.0));
        for (i, [a, b]) in [[0, 1], [0, 2], [1, 2]].into_iter().enumerate() {
            inertia[3 + i] -= m * d[a] * d[b];
        }
    }
    let near = |a: f64, b: f64, scale: f64| assert!((a - b).abs() <= 1e-9 * scale, "{a} and {b}");
    near(body.mass.mass, mass, mass);
    (0..3).for_each(|i| near(body.mass.centre[i], centre[i], 100.0));
    (0..6).for_each(|i| near(body.mass.inertia[i], inertia[i], inertia[0]));
    let half = body.mass.scaled(0.5);
    near(half.mass, mass / 8.0, mass);
    near(half.inertia[0], inertia[0] / 32.0, inertia[0]);
}

#[test]
fn the_mesh_of_a_body_is_closed() {
    let mut grid = world(&[([-20, 0, -3], [40, 5, 3])]);
    let mut loose = LooseCutter::default();
    loose.touch(grid.bounds());
    let bodies = cut_all(&mut loose, &mut grid, &LooseOptions::default());
    let body = &bodies[0];
    let mut volume = 0.0;
    for mesh in &body.meshes {
        let corner = mesh.block.min.to_array().map(|v| v as f32);
        let at = |i: u32| {
            let p = mesh.solid.positions[i as usize];
            [0, 1, 2].map(|k| f64::from(p[k] + corner[k]))
        };
        for triangle in mesh.solid.indices.chunks_exact(3) {
            let [a, b, c] = [at(triangle[0]), at(triangle[1]), at(triangle[2])];
            let cross = |i: usize, j: usize| b[i] * c[j] - b[j] * c[i];
            volume += (a[0] * cross(1, 2) + a[1] * cross(2, 0) + a[2] * cross(0, 1)) / 6.0;
        }
    }
    // Full cells: a box with rounded edges.
    let cells = body.cells as f64;
    assert!(volume > 0.9 * cells && volume < 1.001 * cells, "{volume} of {cells}");
}

#[test]
fn fills_cut_nothing_until_touched() {
    let mut grid = world(&[([0, 9, 0], [5, 12, 5])]);
    let mut loose = LooseCutter::default();
    let options = LooseOptions::floor(1);
    assert!(cut_all(&mut loose, &mut grid, &options).is_empty(), "worlds may stream in");
    loose.touch(Region::new([2, 10, 2], [3, 11, 3]));
    assert_eq!(cut_all(&mut loose, &mut grid, &options).len(), 1);
}

#[test]
fn the_whole_world_can_be_touched() {
    let mut grid = world(&[([0, 9, 0], [5, 12, 5]), ([-900, 40, 7], [-890, 44, 9])]);
    let mut loose = LooseCutter::default();
    loose.touch(Region::new([i32::MIN; 3], [i32::MAX; 3]));
    loose.touch(Region::new([i32::MIN; 3], [0; 3]));
    loose.touch(Region::new([i32::MAX; 3], [i32::MAX; 3]));
    assert_eq!(loose.stats().pending, 2);
    assert_eq!(cut_all(&mut loose, &mut grid, &LooseOptions::floor(1)).len(), 2);
    assert_eq!(loose.stats().pending, 0);
}

#[test]
fn many_small_pieces_take_several_calls() {
    // Every other cell around the corner of eight chunks: each is loose.
    let region = Region::new([-6; 3], [6; 3]);
    let (mut grid, mut cells) = (VoxelGrid::default(), DenseBox::new(region));
    for voxel in region.voxels().filter(|v| (v.x + v.y + v.z).rem_euclid(2) == 0) {
        cells.set(voxel, Cell::full(ROCK));
    }
    grid.write(&cells).unwrap();
    let mut loose = LooseCutter::default();
    loose.touch(region);
    let options = LooseOptions::floor(-6);
    let cut = loose.cut(&mut grid, None, &options).unwrap();
    assert_eq!((cut.bodies.len(), cut.has_more), (options.bodies_per_call, true));
    let bodies = cut_all(&mut loose, &mut grid, &options);
    assert_eq!(cut.bodies.len() + bodies.len(), 12 * 12 * 12 / 2);
    assert!(bodies.iter().all(|body| body.cells == 1));
    assert!(solid_cells(&grid, VoxelPos::ZERO).is_empty());
}

#[test]
fn the_cache_is_bounded() {
    let mut grid = VoxelGrid::default();
    for x in 0..40 {
        put(&mut grid, Region::new([x * 32, 0, 0], [x * 32 + 32, 3, 3]), Cell::full(ROCK));
    }
    let mut loose = LooseCutter::default();
    let options = LooseOptions { cache_bytes: 9000, ..LooseOptions::floor(1) };
    for x in 0..40 {
        loose.touch(Region::new([x * 32 + 9, 0, 0], [x * 32 + 10, 1, 1]));
        loose.cut(&mut grid, None, &options).unwrap();
        assert!(loose.stats().bytes < 9000 + 2 * 1024, "{:?}", loose.stats());
    }
    assert!(loose.stats().bytes > 0);
}

/// Returns digests of the bodies of a few digs on a bridge.
fn digests() -> Vec<u128> {
    let mut grid = world(&[([-80, 30, -9], [80, 36, 9]), ([-80, 0, -9], [-70, 30, 9])]);
    put(&mut grid, Region::new([70, 0, -9], [80, 30, 9]), Cell::new(WOOD, 140));
    let mut loose = LooseCutter::default();
    let mut digests = Vec::new();
    for x in [-50, 60, 0, 20] {
        let dig = Region::new([x, 28, -10], [x + 2, 40, 10]);
        put(&mut grid, dig, Cell::AIR);
        loose.touch(dig);
        for body in cut_all(&mut loose, &mut grid, &LooseOptions::floor(1)) {
            digests.push(body.grid.digest().unwrap());
            let positions = body.meshes.iter().flat_map(|mesh| &mesh.solid.positions);
            let bits = positions
                .flatten()
                .fold(0, |hash: u128, v| hash.wrapping_mul(31).wrapping_add(v.to_bits().into()));
            digests.push(bits);
            digests.push(body.mass.inertia.iter().map(|v| u128::from(v.to_bits())).sum());
        }
        digests.push(grid.digest().unwrap());
    }
    digests
}

#[test]
fn the_same_edits_give_the_same_bodies() {
    let first = digests();
    assert_eq!(first.len(), 4 + 3, "one body comes loose");
    assert_eq!(digests(), first);
}

#[cfg(feature = "parallel")]
#[test]
fn bodies_are_the_same_on_one_thread_and_on_four() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(digests)
    };
    assert_eq!(on(1), on(4));
}

/// Single cells that touch only at edges.
fn dust(grid: &mut VoxelGrid, region: Region) {
    let mut cells = DenseBox::new(region);
    let is_grain = |v: &VoxelPos| (v.x + v.y + v.z) & 1 == 0;
    region.voxels().filter(is_grain).for_each(|voxel| cells.set(voxel, Cell::full(ROCK)));
    grid.write(&cells).unwrap();
}

#[test]
fn dust_that_was_touched_first_does_not_hold_up_a_tower_and_crumbs_stay() {
    let mut grid = world(&[([-32, 0, -32], [32, 1, 32]), ([0, 1, 0], [2, 20, 2])]);
    let cloud = Region::new([-400, 64, -400], [-304, 96, -304]);
    dust(&mut grid, cloud);
    put(&mut grid, Region::new([0, 8, 0], [2, 9, 2]), Cell::AIR);
    let mut loose = LooseCutter::default();
    loose.touch(cloud);
    loose.touch(Region::new([0, 8, 0], [2, 9, 2]));
    let floor = LooseOptions::floor(1);
    let options = LooseOptions { min_cells: 2, steps_per_call: 2000, ..floor };
    let mut calls = 0;
    let tower = loop {
        calls += 1;
        if let Some(body) = loose.cut(&mut grid, None, &options).unwrap().bodies.pop() {
            break body;
        }
    };
    assert_eq!(tower.cells, 4 * 11);
    // A chunk of dust is 16,384 clumps; the cloud is nine.
    assert!(calls < 30, "{calls} calls");
    assert!(cut_all(&mut loose, &mut grid, &options).is_empty());
    assert!(!grid.cell(cloud.min).unwrap().is_air());
}

#[test]
fn long_pieces_stay_and_are_reported() {
    let mut grid = world(&[([0, 8, 0], [100, 9, 1])]);
    let options = LooseOptions { max_span_chunks: 3, ..LooseOptions::floor(1) };
    let mut loose = LooseCutter::default();
    loose.touch(Region::new([0, 8, 0], [1, 9, 1]));
    let cut = loose.cut(&mut grid, None, &options).unwrap();
    assert!(cut.bodies.is_empty() && cut.too_large[0].cells == 100);
    assert!(cut.too_large[0].to_string().contains("max_span_chunks"));
    loose.touch(Region::new([0, 8, 0], [1, 9, 1]));
    let options = LooseOptions { max_span_chunks: 4, ..options };
    assert_eq!(loose.cut(&mut grid, None, &options).unwrap().bodies.len(), 1);
}

#[test]
fn a_thin_piece_as_long_as_the_world_is_wide_can_be_written_back_at_any_angle() {
    let grid =
        world(&[([0, 0, 0], [1300, 1, 1]), ([0, 0, 0], [1, 1300, 1]), ([0, 0, 0], [1, 1, 1300])]);
    let body = LooseBody::new(grid, VoxelPos::ZERO).unwrap();
    let rotation = [0.36, 0.18, 0.09, 0.91];
    let pose = BodyPose { position_voxels: [0.25, 0.5, 0.125], rotation };
    let mut ground = VoxelGrid::default();
    let how = body.write_back(&mut ground, &pose, None).unwrap();
    assert_eq!(how, WriteBackMethod::Resampled);
    // A rod of one cell is thinner than what is sampled, but does not vanish.
    let written = solid_cells(&ground, VoxelPos::ZERO).len();
    assert!((3000..12_000).contains(&written), "{written} of 3898 cells");
}
