//! The fast angles beside their twin, and what they promise.

use proptest::prelude::*;

use crate::mesh::{BlockMesh, MAX_EDGE, Mesher, PAD, Surface, VertexKey};
use crate::voxel::{Cell, DenseBox, MaterialTable, Region, VoxelPos};

use super::naive::sides;
use super::{EdgeScratch, edge_angles};
use crate::geometry::{EdgeAngle, FLAT, FOLD};

/// Degrees within which the twin and its fast brother may differ on which side of a limit
/// an angle lies.
const CLOSE: f64 = 0.02;

/// A mesh of part of some cells; what they do not hold is air.
fn mesh_of(cells: &DenseBox, block: Region) -> BlockMesh {
    let mut padded = DenseBox::new(block.grow(PAD));
    for p in padded.region().intersect(cells.region()).voxels() {
        padded.set(p, cells.cell(p));
    }
    let mut mesh = BlockMesh::new();
    Mesher::new().mesh_keyed(&padded, &MaterialTable::default(), &mut mesh);
    mesh
}

fn codes(surface: &Surface, block: Region) -> Vec<u16> {
    let (mut scratch, mut out) = (EdgeScratch::default(), vec![9; 3]);
    edge_angles(surface, block, &mut scratch, &mut out);
    let first = out.clone();
    // What is left of one surface cannot show in the next.
    edge_angles(surface, block, &mut scratch, &mut out);
    assert_eq!(first, out);
    assert_eq!(out.len(), surface.quad_count());
    out
}

fn degrees(codes: u16, side: usize) -> f64 {
    f64::from(EdgeAngle::of_side(codes, side).radians).to_degrees()
}

/// Whether `given` is `exact` rounded up as the codes are.
fn is_rounded_up(exact: f64, given: f64) -> bool {
    let rounded = |exact: f64| {
        let limits =
            [2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 29.0, 37.0, 46.0, 56.0, 68.0, 82.0, 100.0, 125.0];
        let convex = exact > FLAT && exact < FOLD;
        let least = limits.into_iter().find(|&limit| exact <= limit).unwrap_or(180.0);
        if convex { least } else { 0.0 }
    };
    [exact - CLOSE, exact, exact + CLOSE].into_iter().any(|e| (rounded(e) - given).abs() < 1e-3)
}

/// Checks all sides inside a block against the twin; returns how many were convex.
fn check_inside(surface: &Surface, around: &Surface, block: Region) -> usize {
    let mut convex = 0;
    let codes = codes(surface, block);
    for (quad, sides) in sides(surface, around).iter().enumerate() {
        for (k, side) in sides.iter().enumerate().filter(|(_, side)| side.own) {
            let given = degrees(codes[quad], k);
            let exact = side.angle.map_or(0.0, f64::to_degrees);
            assert!(is_rounded_up(exact, given), "{quad} {k}: {exact} given as {given}");
            convex += usize::from(given > 0.0);
        }
    }
    convex
}

/// Random cells, some full, some not; `liquid` percent of water.
fn noise(region: Region, seed: u64, solid: u64, liquid: u64) -> DenseBox {
    let mut cells = DenseBox::new(region);
    let mut state = seed;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    for p in region.voxels() {
        let kind = below(100);
        let occupancy = if below(3) == 0 { 255 } else { below(256) as u8 };
        if kind < solid {
            cells.set(p, Cell::new(2 + below(9) as u8, occupancy));
        } else if kind < solid + liquid {
            cells.set(p, Cell::new(1, occupancy));
        }
    }
    cells
}

/// Cells filled by how far their centres lie below a height.
fn ground(region: Region, height: impl Fn(f64, f64) -> f64) -> DenseBox {
    let mut cells = DenseBox::new(region);
    for p in region.voxels() {
        let centre = [p.x, p.y, p.z].map(|c| f64::from(c) + 0.5);
        let fill = (height(centre[0], centre[2]) - centre[1] + 0.5).clamp(0.0, 1.0) * 256.0;
        if fill >= 1.0 {
            cells.set(p, Cell::new(5, (fill - 1.0) as u8));
        }
    }
    cells
}

fn cube(min: [i32; 3], edge: i32) -> Region {
    Region::new(min, min.map(|c| c + edge))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sides_inside_a_block_have_their_exact_angles_rounded_up(
        seed in any::<u64>(),
        solid in 1..100u64,
        liquid in 0..60u64,
        size in prop::array::uniform3(1..11i32),
    ) {
        let block = Region::new([-5, 3, -9], [size[0] - 5, size[1] + 3, size[2] - 9]);
        let cells = noise(block.grow(PAD), seed, solid, liquid);
        let mesh = mesh_of(&cells, block);
        check_inside(&mesh.solid, &mesh.solid, block);
        check_inside(&mesh.liquid, &mesh.liquid, block);
    }

    #[test]
    fn of_two_blocks_at_a_convex_edge_one_gives_at_least_the_angle(
        seed in any::<u64>(),
        solid in 5..95u64,
        axis in 0..3usize,
    ) {
        let low = cube([-8, 0, 16], 8);
        let mut step = [0; 3];
        step[axis] = 8;
        let step = VoxelPos::from(step);
        let high = Region { min: low.min + step, max: low.max + step };
        let both = Region { min: low.min, max: high.max };
        let cells = noise(both.grow(PAD), seed, solid, 0);
        check_shared(&cells, low, high);
    }
}

/// Checks the edges that two blocks share; returns how many were convex.
fn check_shared(cells: &DenseBox, low: Region, high: Region) -> usize {
    let both = mesh_of(cells, Region { min: low.min, max: high.max });
    let [low, high] = [low, high].map(|block| {
        let mesh = mesh_of(cells, block);
        let codes = codes(&mesh.solid, block);
        let exact = sides(&mesh.solid, &both.solid);
        (mesh.solid, codes, exact)
    });
    let mut convex = 0;
    for (quad, sides) in low.2.iter().enumerate() {
        for (k, side) in sides.iter().enumerate() {
            let Some(exact) = side.angle.map(f64::to_degrees).filter(|_| !side.own) else {
                continue;
            };
            let ends = ends(&low.0, quad, k);
            let Some([other, l]) = find(&high.0, [ends[1], ends[0]]) else { continue };
            let given = [degrees(low.1[quad], k), degrees(high.1[other], l)];
            if exact > FLAT + CLOSE && exact < FOLD - CLOSE && !side.through {
                convex += 1;
                let most = given[0].max(given[1]);
                assert!(most >= exact - CLOSE, "{quad} {k}: {exact} given as {given:?}");
            }
        }
    }
    convex
}

fn ends(surface: &Surface, quad: usize, k: usize) -> [VertexKey; 2] {
    let at = super::corners(&surface.indices[6 * quad..6 * quad + 6]);
    [at[k], at[(k + 1) % 4]].map(|v| surface.keys[v])
}

fn find(surface: &Surface, wanted: [VertexKey; 2]) -> Option<[usize; 2]> {
    let sides = (0..surface.quad_count()).flat_map(|quad| (0..4).map(move |k| [quad, k]));
    sides.into_iter().find(|&[quad, k]| ends(surface, quad, k) == wanted)
}

#[test]
fn hills_have_convex_edges_inside_and_on_the_border() {
    let height = |x: f64, z: f64| 4.2 + 1.5 * (0.7 * (x - 8.0)).cos() + 1.1 * (0.9 * z).cos();
    let cells = ground(Region::new([-2; 3], [18, 10, 10]), height);
    let low = cube([0; 3], 8);
    let mesh = mesh_of(&cells, low);
    assert!(check_inside(&mesh.solid, &mesh.solid, low) > 50);
    assert!(check_shared(&cells, low, cube([8, 0, 0], 8)) > 3);
}

#[test]
fn flat_ground_has_no_angles_and_slopes_next_to_none() {
    let block = cube([0; 3], 8);
    for level in [3.0, 3.25, 3.5, 3.9] {
        let mesh = mesh_of(&ground(block.grow(PAD), |_, _| level), block);
        assert_eq!(mesh.solid.quad_count(), 64);
        assert!(codes(&mesh.solid, block).iter().all(|&codes| codes == 0), "{level}");
    }
    for slope in [0.25, 0.5, 1.0] {
        let mesh = mesh_of(&ground(block.grow(PAD), |x, _| 4.0 + slope * (x - 4.0)), block);
        for codes in codes(&mesh.solid, block) {
            assert!((0..4).all(|k| degrees(codes, k) <= 4.0), "{slope}: {codes:x}");
        }
    }
}

#[test]
fn a_cube_turns_at_its_edges() {
    let block = cube([-4; 3], 8);
    let mut cells = DenseBox::new(block.grow(PAD));
    for p in cube([-2; 3], 4).voxels() {
        cells.set(p, Cell::full(5));
    }
    let mesh = mesh_of(&cells, block);
    assert!(check_inside(&mesh.solid, &mesh.solid, block) >= 12 * 4 * 2);
}

#[test]
fn solids_that_touch_along_an_edge_turn_by_themselves() {
    let block = cube([0; 3], 4);
    let mut cells = DenseBox::new(block.grow(PAD));
    for p in [[1, 1, 1], [2, 2, 1], [1, 1, 2], [2, 2, 2], [0, 3, 0]] {
        cells.set(VoxelPos::from(p), Cell::full(3));
    }
    let mesh = mesh_of(&cells, block);
    assert!(mesh.solid.plain_quads < mesh.solid.quad_count());
    assert!(check_inside(&mesh.solid, &mesh.solid, block) > 40);
}

#[test]
fn one_cell_in_the_corner_of_a_block_and_none_at_all() {
    let block = cube([-8; 3], 8);
    let mut cells = DenseBox::new(block.grow(PAD));
    assert!(codes(&mesh_of(&cells, block).solid, block).is_empty());
    cells.set(VoxelPos::new(-1, -1, -1), Cell::new(4, 30));
    let mesh = mesh_of(&cells, block);
    assert_eq!(check_inside(&mesh.solid, &mesh.solid, block), 24);
}

#[test]
fn one_scratch_serves_blocks_of_different_sizes() {
    let mut scratch = EdgeScratch::default();
    for (seed, edge) in [(1, 8), (2, 3), (3, MAX_EDGE), (4, 1), (5, 8)] {
        let block = Region::new([0; 3], [edge, 8, 8]);
        let mesh = mesh_of(&noise(block.grow(PAD), seed, 40, 0), block);
        let mut out = Vec::new();
        edge_angles(&mesh.solid, block, &mut scratch, &mut out);
        assert_eq!(out, codes(&mesh.solid, block));
    }
}

/// Two triangles over the unit square and what adjoins them, by hand.
fn by_hand(positions: &[[f32; 3]], quads: &[[u32; 4]]) -> Surface {
    let mut surface = Surface::default();
    for (v, &position) in positions.iter().enumerate() {
        surface.positions.push(position);
        surface.normals.push([0.0, 1.0, 0.0]);
        surface.keys.push(VertexKey { part: v as u8, ..VertexKey::default() });
    }
    for &[a, b, c, d] in quads {
        surface.indices.extend([a, b, c, a, c, d]);
        surface.quad_materials.push(2);
        surface.quad_faces.push([0, 0, 0, 3]);
    }
    surface
}

#[test]
fn a_triangle_without_area_is_looked_through() {
    // A ridge along z at x = 1. Beyond it lies a quad whose first triangle is a line.
    let positions = [
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 1.0, 1.0],
        [1.0, 1.0, 0.0],
        [2.0, 0.0, 1.0],
        [2.0, 0.0, 0.0],
        [1.0, 1.0, 0.5],
    ];
    let ridge = by_hand(&positions, &[[0, 1, 2, 3], [6, 3, 2, 4], [3, 6, 4, 5]]);
    let across = sides(&ridge, &ridge)[0][2].angle.map(|angle| angle.to_degrees().round());
    assert_eq!(across, Some(90.0));
    assert_eq!(degrees(codes(&ridge, cube([0; 3], 8))[0], 2).round(), 100.0);
    check_inside(&ridge, &ridge, cube([0; 3], 8));
    let line = by_hand(&positions, &[[0, 1, 2, 3], [6, 3, 2, 6]]);
    assert_eq!(degrees(codes(&line, cube([0; 3], 8))[0], 2), 0.0, "nothing stands for a line");
}

#[test]
fn a_triangle_that_folds_back_is_looked_through() {
    let positions =
        [[0.0; 3], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.2, 0.0, 0.8], [1.0, -1.0, 0.0], [0.5; 3]];
    let folded = by_hand(&positions, &[[0, 1, 2, 3], [0, 3, 4, 4]]);
    let side = sides(&folded, &folded)[1][0];
    let flat_to = (0.8f64 / 1.32f64.sqrt()).acos().to_degrees();
    assert!((side.angle.map_or(0.0, f64::to_degrees).abs() - flat_to).abs() < 1e-4, "{side:?}");
    check_inside(&folded, &folded, cube([0; 3], 8));
}
