//! The accuracy of the surface on shapes that are known exactly.

use crate::mesh_fixtures::{Numbers, WeldedBlocks, centre, dot, filled, padded, sub, table_of};
use terravox::mesh::{BlockMesh, Mesher};
use terravox::voxel::{Cell, DenseBox, MaterialTable, Region, SurfaceShape, VoxelPos};

fn rms(errors: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for error in errors {
        sum += error * error;
        count += 1;
    }
    assert!(count > 0, "nothing was meshed");
    (sum / f64::from(count)).sqrt()
}

#[test]
fn balls_are_round() {
    let region = Region::new([-14; 3], [14; 3]);
    let mut numbers = Numbers::new(1);
    for shape in [SurfaceShape::Default, SurfaceShape::Smooth] {
        let middle = [0; 3].map(|_| numbers.unit());
        let inside = |p: VoxelPos| {
            let d = sub(centre(p), middle);
            12.0 - dot(d, d).sqrt()
        };
        let cells = padded(region, |p| filled(2, inside(p)));
        let welded = WeldedBlocks::solid(&cells, region, 28, &table_of(shape));
        let error = rms(welded.positions.iter().map(|&p| {
            let d = sub(p, middle);
            dot(d, d).sqrt() - 12.0
        }));
        assert!(error < 0.009, "{shape:?}: {error}");
        let volume = welded.volume() / (4.0 / 3.0 * std::f64::consts::PI * 12f64.powi(3));
        assert!((volume - 1.0).abs() < 0.01, "{shape:?}: volume {volume}");
    }
}

#[test]
fn oblique_planes_are_flat() {
    let region = Region::new([0; 3], [14; 3]);
    let mut numbers = Numbers::new(2);
    let mut all = Vec::new();
    for _ in 0..24 {
        let normal = numbers.direction();
        let offset = dot(normal, [7.0; 3]) + numbers.unit();
        let cells = padded(region, |p| filled(2, offset - dot(normal, centre(p))));
        let welded = WeldedBlocks::solid(&cells, region, 14, &MaterialTable::default());
        all.extend(welded.positions.iter().map(|&p| dot(normal, p) - offset));
    }
    let error = rms(all.into_iter());
    assert!(error < 0.006, "{error}");
}

#[test]
fn axis_planes_are_exact() {
    let region = Region::new([0; 3], [6; 3]);
    for (axis, sign) in (0..3).flat_map(|axis| [(axis, 1), (axis, -1)]) {
        for stored in [0u8, 63, 127, 200, 255] {
            let cells = padded(region, |p| {
                let at = sign * p.to_array()[axis];
                let edge = if sign > 0 { 3 } else { -2 };
                match at.cmp(&edge) {
                    std::cmp::Ordering::Less => Cell::full(2),
                    std::cmp::Ordering::Equal => Cell::new(2, stored),
                    std::cmp::Ordering::Greater => Cell::AIR,
                }
            });
            let welded = WeldedBlocks::solid(&cells, region, 6, &MaterialTable::default());
            let fill = (f64::from(stored) + 1.0) / 256.0;
            let truth = if sign > 0 { 3.0 + fill } else { 3.0 - fill };
            assert!(!welded.positions.is_empty());
            for p in &welded.positions {
                assert!((p[axis] - truth).abs() <= 1.0 / 4096.0, "{p:?} of {truth} on {axis}");
            }
        }
    }
}

#[test]
fn blocky_cubes_are_exact() {
    let region = Region::new([0; 3], [8; 3]);
    let cells = padded(region, |p| {
        let inside = Region::new([2, 3, 1], [5, 5, 6]).contains(p);
        if inside { Cell::new(2, 30) } else { Cell::AIR }
    });
    let welded = WeldedBlocks::solid(&cells, region, 4, &table_of(SurfaceShape::Blocky));
    welded.assert_manifold(|_| false);
    for (p, key) in welded.positions.iter().zip(&welded.keys) {
        assert_eq!(*p, key.corner.to_array().map(f64::from));
    }
    assert_eq!(welded.volume(), 3.0 * 2.0 * 5.0);
}

#[test]
fn rubble_is_rough_and_the_same_from_every_block() {
    let region = Region::new([-8, -4, -8], [8, 4, 8]);
    let cells = padded(region, |p| filled(2, 0.25 - centre(p)[1]));
    // Welding checks that blocks agree.
    let rubble = WeldedBlocks::solid(&cells, region, 4, &table_of(SurfaceShape::Rubble));
    let error = rms(rubble.positions.iter().map(|p| p[1] - 0.25));
    assert!((0.05..0.3).contains(&error), "{error}");
}

#[test]
fn a_plate_one_cell_thick_keeps_its_volume() {
    let region = Region::new([-2; 3], [14; 3]);
    for axis in 0..3 {
        for stored in [12u8, 63, 127, 255] {
            let cells = padded(region, |p| {
                let at = p.to_array();
                let inside =
                    (0..3).all(|a| if a == axis { at[a] == 5 } else { (0..12).contains(&at[a]) });
                if inside { Cell::new(2, stored) } else { Cell::AIR }
            });
            let welded = WeldedBlocks::solid(&cells, region, 16, &MaterialTable::default());
            welded.assert_manifold(|_| false);
            let truth = 144.0 * (f64::from(stored) + 1.0) / 256.0;
            let error = welded.volume() / truth - 1.0;
            assert!(error.abs() < 0.015, "fill {stored} on {axis}: {error}");
        }
    }
}

#[test]
fn a_lone_faint_cell_is_a_small_closed_cube_of_its_volume() {
    let region = Region::new([-2; 3], [3; 3]);
    for stored in [0u8, 4, 50, 255] {
        let mut cells = DenseBox::new(region);
        cells.set(VoxelPos::ZERO, Cell::new(9, stored));
        let welded = WeldedBlocks::solid(&cells, region, 5, &MaterialTable::default());
        welded.assert_manifold(|_| false);
        let fill = (f64::from(stored) + 1.0) / 256.0;
        assert!((welded.volume() / fill - 1.0).abs() < 0.02, "{stored}: {}", welded.volume());
    }
}

#[test]
fn sharp_keeps_creases_better_than_smooth() {
    let region = Region::new([-2; 3], [22; 3]);
    // A wedge whose edge runs along z, tilted in the grid.
    let normals = [[0.9, 0.435_889_894, 0.0], [-0.3, 0.953_939_201, 0.0]];
    let apex = [10.3, 12.6, 0.0];
    let height = |p| normals.map(|n| dot(n, sub(p, apex))).into_iter().fold(f64::MIN, f64::max);
    let gap = |shape| {
        let cells = padded(region, |p| filled(2, -height(centre(p))));
        let mesh = WeldedBlocks::solid(&cells, region, 24, &table_of(shape));
        // How far the highest vertices are below the edge.
        let near = mesh.positions.iter().filter(|p| (p[0] - apex[0]).abs() < 1.5);
        rms(near.map(|p| height(*p)))
    };
    assert!(gap(SurfaceShape::Sharp) < gap(SurfaceShape::Smooth));
}

/// Makes a bowl of ground with water up to `level`; partly filled ground cells hold it too.
fn lake(region: Region, level: f64) -> (DenseBox, impl Fn([f64; 3]) -> f64) {
    let ground = |p: [f64; 3]| {
        let d = sub(p, [0.0, 14.0, 0.0]);
        dot(d, d).sqrt() - 16.0
    };
    let mut cells = padded(region, |p| filled(2, ground(centre(p)).min(5.0 - centre(p)[1])));
    for p in cells.region().voxels() {
        let stored = ((level - f64::from(p.y)).clamp(0.0, 1.0) * 256.0 - 1.0).round();
        if stored < 0.0 {
            continue;
        }
        if cells.cell(p).is_air() {
            cells.set(p, Cell::new(1, stored as u8));
        } else if cells.cell(p).occupancy < 255 {
            cells.set_water(p, Some(stored as u8));
        }
    }
    (cells, ground)
}

#[test]
fn a_lake_is_level_and_ends_inside_the_ground() {
    let region = Region::new([-15, -4, -15], [15, 8, 15]);
    let (cells, ground) = lake(region, 2.75);
    let liquid = WeldedBlocks::liquid(&cells, region, 10, &MaterialTable::default());
    let edges = liquid.edges();
    let mut rim = 0;
    for &[a, b] in edges.keys().filter(|[a, b]| !edges.contains_key(&[*b, *a])) {
        for v in [a, b] {
            let p = liquid.positions[v as usize];
            assert!(ground(p) > 0.0, "{p:?} is {} out of the ground", -ground(p));
            rim += 1;
        }
    }
    assert!(rim > 50, "{rim} rim vertices");
    liquid.assert_manifold(|_| true);
    for (p, n) in liquid.positions.iter().zip(&liquid.normals) {
        assert!((p[1] - 2.75).abs() < 0.01, "{p:?}");
        assert!(n[1] > 0.999, "{n:?}");
    }
}

/// Makes water up to x = 4, flat ground lower than it beyond, and two walls with caps.
fn flats() -> (DenseBox, Region) {
    let region = Region::new([0; 3], [9, 4, 9]);
    let cells = padded(region, |p| match p.to_array() {
        [_, y, _] if y < 1 => Cell::full(6),
        [_, 1, z] if z == 0 || z == 8 => Cell::full(6),
        [_, 2, z] if z == 0 || z == 8 => Cell::new(6, 40),
        [x, 1, _] if x < 4 => Cell::full(1),
        [_, 1, _] => Cell::new(6, 99),
        _ => Cell::AIR,
    });
    (cells, region)
}

#[test]
fn water_that_ends_before_the_ground_has_risen_bends_down_to_it() {
    let (cells, region) = flats();
    let table = MaterialTable::default();
    let liquid = WeldedBlocks::liquid(&cells, region, 4, &table);
    let solid = WeldedBlocks::solid(&cells, region, 4, &table);
    let edges = liquid.edges();
    let mut ends = 0;
    for v in edges.keys().filter(|[a, b]| !edges.contains_key(&[*b, *a])).flatten() {
        let (key, p) = (liquid.keys[*v as usize], liquid.positions[*v as usize]);
        if key.corner.x != 4 || !(3..7).contains(&key.corner.z) {
            continue;
        }
        let on_ground = solid.keys.iter().position(|of| of.corner == key.corner).unwrap();
        assert_eq!(p, solid.positions[on_ground]);
        assert!(p[1] < 1.9, "{p:?}");
        ends += 1;
    }
    assert!(ends > 3, "{ends}");
}

#[test]
fn quads_have_the_material_of_their_cell_and_water_is_water() {
    let region = Region::new([0; 3], [4; 3]);
    let mut cells = padded(region, |p| if p.y < 2 { Cell::full(7) } else { Cell::AIR });
    cells.set(VoxelPos::new(1, 1, 1), Cell::full(9));
    cells.set(VoxelPos::new(2, 1, 1), Cell::new(9, 100));
    cells.set_water(VoxelPos::new(2, 1, 1), Some(200));
    let mut mesh = BlockMesh::new();
    Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
    let count = |id| mesh.solid.quad_materials.iter().filter(|&&m| m == id).count();
    assert_eq!((count(7), count(9)), (14, 2));
    assert_eq!(mesh.liquid.quad_materials, [1]);
    assert!(mesh.liquid.materials.iter().all(|m| m[0] == 1));
    let beside = mesh.solid.materials.iter().zip(&mesh.solid.weights).filter(|(m, _)| m[1] == 9);
    assert!(beside.clone().count() > 0);
    assert!(beside.clone().all(|(m, w)| m[0] == 7 && w[0] >= w[1] && w[1] > 0));
}
