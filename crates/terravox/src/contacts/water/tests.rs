//! Bodies in lakes whose level is known.

use super::*;
use crate::contacts::BodyPart;
use crate::geometry::Shape;
use crate::voxel::{Cell, GridOptions, Region, VoxelGrid, WATER};

const UPRIGHT: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

/// Water up to `level` over a sandy ground at −12.
fn lake(level: f32) -> Collider {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-24, -16, -24], [24, 16, 24]));
    for at in cells.region().voxels() {
        // As brushes write it: by the distance of the cell's centre from the surface.
        let fill = (level - at.y as f32).min(1.0);
        let cell = match () {
            _ if at.y < -12 => Cell::full(6),
            _ if fill > 0.0 => Cell::new(WATER, (fill * 256.0 - 1.0).round().max(0.0) as u8),
            () => Cell::AIR,
        };
        cells.set(at, cell);
    }
    grid.write(&cells).unwrap();
    let mut collider = Collider::default();
    collider.update(&grid);
    collider
}

fn ask(collider: &Collider, shape: Shape<'_>, at: [f64; 3], turn: Quat) -> Submersion {
    let parts = [BodyPart::new(shape)];
    let body = Body { parts: &parts, position: at, rotation: turn.to_array() };
    let outcome = WaterScratch::default().submersion(collider, &body);
    assert_eq!(outcome.missing, None);
    outcome.found
}

#[test]
fn a_ball_in_a_lake_displaces_its_cap() {
    let radius = 0.8_f32;
    for level in [0.0, 0.25, 0.7] {
        let lake = lake(level);
        for step in 0..10 {
            let y = 0.9 - 0.17 * step as f32;
            let found = ask(&lake, Shape::Sphere { radius }, [0.4, y.into(), -7.7], Quat::IDENTITY);
            let height = (level - (y - radius)).clamp(0.0, 2.0 * radius);
            let pi = std::f32::consts::PI;
            let cap = pi * height * height * (radius - height / 3.0);
            let whole = 4.0 / 3.0 * pi * radius.powi(3);
            assert!(
                (found.body_volume / whole - 1.0).abs() < 0.01,
                "{}",
                found.body_volume / whole
            );
            assert!((found.volume - cap).abs() < 0.01 * whole, "{} {cap} at {y}", found.volume);
            if cap > 0.1 * whole {
                let middle = 0.75 * (2.0 * radius - height).powi(2) / (3.0 * radius - height);
                assert!((found.centre[1] + middle).abs() < 0.02, "{} {middle}", found.centre[1]);
                assert!(found.centre[0].abs() < 0.01 && found.centre[2].abs() < 0.01);
            }
        }
    }
}

#[test]
fn a_box_in_a_lake_displaces_what_is_below_the_level() {
    let lake = lake(0.3);
    let half = [0.6, 0.5, 1.4];
    let shape = Shape::Box { half, rotation: UPRIGHT };
    for turned in [0.0_f32, 0.5] {
        let turn = Quat::from_rotation_y(turned);
        for step in 0..10 {
            let y = 1.0 - 0.2 * step as f32;
            let found = ask(&lake, shape, [7.9, y.into(), 8.1], turn);
            let height = (0.3 - (y - 0.5)).clamp(0.0, 1.0);
            let whole = 8.0 * half[0] * half[1] * half[2];
            let slack = if turned == 0.0 { 0.005 } else { 0.02 };
            assert!((found.body_volume / whole - 1.0).abs() < slack);
            assert!(
                (found.volume / whole - height).abs() < slack,
                "{} {height}",
                found.volume / whole
            );
            if turned == 0.0 && height > 0.0 {
                let area = [2.8 * height, 1.2 * 2.8, 1.2 * height];
                assert!((0..3).all(|i| (found.area[i] - area[i]).abs() < 0.01), "{:?}", found.area);
            }
        }
    }
}

#[test]
fn a_hull_floats_as_the_box_that_it_is() {
    let lake = lake(0.3);
    let half = [2.6, 0.5, 1.4];
    let corner =
        |i: usize| [0, 1, 2].map(|axis| if i >> axis & 1 == 0 { -half[axis] } else { half[axis] });
    let corners: Vec<[f32; 3]> = (0..8).map(corner).collect();
    for angle in [0.0_f32, 0.4, 1.3] {
        let turn = Quat::from_rotation_z(angle) * Quat::from_rotation_y(0.7);
        let at = [7.9, 0.1, 8.1];
        let as_box = ask(&lake, Shape::Box { half, rotation: UPRIGHT }, at, turn);
        let as_hull = ask(&lake, Shape::Convex { points: &corners }, at, turn);
        let whole = 8.0 * half[0] * half[1] * half[2];
        assert!((as_hull.body_volume / whole - 1.0).abs() < 0.02, "{}", as_hull.body_volume);
        assert!((as_hull.volume - as_box.volume).abs() < 0.02 * whole);
        let apart = Vec3::from(as_hull.centre).distance(as_box.centre.into());
        assert!(apart < 0.03, "{apart} at {angle}");
    }
}

#[test]
fn a_body_wholly_under_is_known_from_tags_alone() {
    let lake = lake(9.0);
    let aabb = Aabb::around([-4.0, -4.0, 4.0], [3.0; 3]);
    assert_eq!(wetness(lake.broadphase(), &aabb), Wetness::Under);
    assert_eq!(wetness(lake.broadphase(), &Aabb::around([0.0, 12.0, 0.0], [1.0; 3])), Wetness::Dry);
    let capsule = Shape::Capsule { a: [0.0, -1.0, 0.0], b: [0.0, 1.0, 0.0], radius: 0.5 };
    for turn in [Quat::IDENTITY, Quat::from_rotation_x(1.0)] {
        let found = ask(&lake, capsule, [-4.0, -4.0, 4.0], turn);
        assert!((found.share() - 1.0).abs() < 1e-5);
        let volume = std::f32::consts::PI * (0.25 * 2.0 + 4.0 / 3.0 * 0.125);
        assert!((found.volume / volume - 1.0).abs() < 1e-4, "{}", found.volume / volume);
        assert!(Vec3::from(found.centre).length() < 0.02);
    }
}

#[test]
fn water_that_solid_cells_hold_counts() {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut shore = DenseBox::new(Region::new([-4, 0, -4], [4, 1, 4]));
    for at in shore.region().voxels() {
        shore.set(at, Cell::new(6, 100));
        shore.set_water(at, Some(191));
    }
    grid.write(&shore).unwrap();
    let mut collider = Collider::default();
    collider.update(&grid);
    let shape = Shape::Box { half: [0.5; 3], rotation: UPRIGHT };
    let found = ask(&collider, shape, [0.0, 0.5, 0.0], Quat::IDENTITY);
    assert!((found.share() - 0.75).abs() < 0.01, "{}", found.share());
}

#[test]
fn a_crate_on_the_bed_of_a_lake_is_wholly_under() {
    let lake = lake(0.0);
    let shape = Shape::Box { half: [0.5; 3], rotation: UPRIGHT };
    let found = ask(&lake, shape, [0.2, -11.7, 0.3], Quat::IDENTITY);
    assert!((found.share() - 1.0).abs() < 1e-4, "{}", found.share());
}

#[test]
fn air_below_a_lake_is_dry() {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-8, 0, -8], [8, 8, 8]));
    cells.fill(WATER);
    for at in Region::new([-8, 2, -8], [8, 4, 8]).voxels() {
        cells.set(at, if at.y == 3 { Cell::full(8) } else { Cell::AIR });
    }
    grid.write(&cells).unwrap();
    let mut collider = Collider::default();
    collider.update(&grid);
    let shape = Shape::Box { half: [0.4; 3], rotation: UPRIGHT };
    assert_eq!(ask(&collider, shape, [0.0, 2.5, 0.0], Quat::IDENTITY).volume, 0.0);
}

#[test]
fn parts_add_up_about_the_body() {
    let lake = lake(5.0);
    let mut parts = [BodyPart::new(Shape::Sphere { radius: 0.5 }); 2];
    parts[1].offset = [3.0, 0.0, 0.0];
    parts[0].offset = [0.0, 20.0, 0.0];
    let body = Body { parts: &parts, position: [0.0, -4.0, 0.0], rotation: UPRIGHT };
    let found = WaterScratch::default().submersion(&lake, &body).found;
    assert!((found.share() - 0.5).abs() < 1e-4);
    assert!(Vec3::from(found.centre).distance(Vec3::X * 3.0) < 0.01);
}

#[test]
fn what_is_no_body_is_dry() {
    let lake = lake(5.0);
    let parts = [BodyPart::new(Shape::Sphere { radius: 0.5 })];
    let good = Body { parts: &parts, position: [0.0; 3], rotation: UPRIGHT };
    for bad in [
        Body { position: [f64::NAN; 3], ..good },
        Body { position: [1e300; 3], ..good },
        Body { rotation: [0.0; 4], ..good },
        Body { parts: &[], ..good },
    ] {
        let outcome = WaterScratch::default().submersion(&lake, &bad);
        assert_eq!(outcome.found, Submersion::default());
    }
    let huge = BodyPart::new(Shape::Sphere { radius: 500_000.0 });
    let far = BodyPart { offset: [0.0, 3e9, 0.0], ..parts[0] };
    for part in [huge, far] {
        let body = Body { parts: &[part], ..good };
        assert_eq!(WaterScratch::default().submersion(&lake, &body).found.volume, 0.0);
    }
}

#[test]
fn a_ball_in_the_highest_cells_of_blocks_of_water_is_under_by_half() {
    // The level lies within the highest cells of blocks all of whose cells are water.
    let lake = lake(7.5);
    let ball = Shape::Sphere { radius: 0.4 };
    let found = ask(&lake, ball, [0.4, 7.5, 0.6], Quat::IDENTITY);
    assert!((found.volume / found.body_volume - 0.5).abs() < 0.02, "{}", found.volume);
    let found = ask(&lake, ball, [0.4, 6.6, 0.6], Quat::IDENTITY);
    assert!((found.volume / found.body_volume - 1.0).abs() < 1e-4, "{}", found.volume);
}
