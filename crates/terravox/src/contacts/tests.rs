//! Contacts on ground whose truth is known, against brute force, and what a user may do
//! wrong.

use super::naive;
use super::*;
use crate::collide::naive::{WorldTriangle, triangles};
use crate::collide::{Collider, MissingData, Surfaces};
use crate::geometry::Shape;
use crate::math::Aabb;
use crate::voxel::{
    Cell, ChangeCursor, Changes, ChunkPos, DenseBox, GridOptions, Region, UnlistedChunks,
    VoxelGrid, VoxelPos, WATER,
};
use glam::{DVec3, Quat, Vec3};
use proptest::prelude::*;

const ROCK: u8 = 8;
const UPRIGHT: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

fn collider_of(cells: &DenseBox) -> (Collider, VoxelGrid) {
    let mut grid = VoxelGrid::new(GridOptions::default());
    grid.write(cells).unwrap();
    let mut collider = Collider::default();
    collider.update(&grid);
    (collider, grid)
}

fn ground(half: i32, distance: impl Fn([f32; 3]) -> f32) -> (Collider, VoxelGrid) {
    let mut cells = DenseBox::new(Region::new([-half, -16, -half], [half, 16, half]));
    for at in cells.region().voxels() {
        // As brushes write it: by the distance of the cell's centre from the surface.
        let fill = (0.5 + distance(at.to_array().map(|v| v as f32 + 0.5))).clamp(0.0, 1.0);
        let units = (256.0 * fill).round();
        cells.set(at, if units > 0.0 { Cell::new(ROCK, (units - 1.0) as u8) } else { Cell::AIR });
    }
    collider_of(&cells)
}

/// Full cells below 0.
fn floor() -> Collider {
    let mut cells = DenseBox::new(Region::new([-24, -8, -24], [24, 0, 24]));
    cells.fill(ROCK);
    collider_of(&cells).0
}

fn hills(seed: u32) -> (Collider, VoxelGrid) {
    let turn = seed as f32;
    ground(12, move |[x, y, z]| {
        2.5 * (x * 0.45 + turn).sin() * (z * 0.4).cos() + 1.2 * (x * 1.1 - z * 0.9 + turn).sin() - y
    })
}

const BALL: Shape<'static> = Shape::Sphere { radius: 0.5 };
const CRATE: Shape<'static> = Shape::Box { half: [0.5, 0.5, 0.5], rotation: UPRIGHT };
const LYING: Shape<'static> =
    Shape::Capsule { a: [-0.5, 0.0, 0.0], b: [0.5, 0.0, 0.0], radius: 0.3 };

/// A six-sided prism.
const NUT: [[f32; 3]; 12] = [
    [0.5, -0.3, 0.0],
    [0.25, -0.3, 0.433],
    [-0.25, -0.3, 0.433],
    [-0.5, -0.3, 0.0],
    [-0.25, -0.3, -0.433],
    [0.25, -0.3, -0.433],
    [0.5, 0.3, 0.0],
    [0.25, 0.3, 0.433],
    [-0.25, 0.3, 0.433],
    [-0.5, 0.3, 0.0],
    [-0.25, 0.3, -0.433],
    [0.25, 0.3, -0.433],
];

fn contacts(collider: &Collider, shape: Shape<'_>, at: [f64; 3], turn: Quat) -> Vec<Manifold> {
    let mut out = Contacts::default();
    let parts = [BodyPart::new(shape)];
    let body = Body { parts: &parts, position: at, rotation: turn.to_array() };
    let missing = out.find(collider, &body, &ContactOptions::default());
    assert_eq!(missing, None);
    out.manifolds
}

/// How high a shape is after it was let down until it nearly touched, and how near.
fn let_down(all: &[WorldTriangle], shape: &Shape<'_>, [x, mut y, z]: [f64; 3]) -> (f64, f64) {
    for _ in 0..200 {
        let left = naive::distance(all, shape, [x, y, z], 12.0);
        if left < 0.02 {
            return (y, left);
        }
        y -= left - 0.01;
    }
    panic!("nothing below {x} {z}");
}

fn deepest(manifolds: &[Manifold]) -> f32 {
    let all = manifolds.iter().flat_map(|m| m.points());
    all.map(|p| p.distance).fold(f32::INFINITY, f32::min)
}

#[test]
fn a_ball_on_a_flat_floor_meets_it_straight_below_wherever_it_rolls() {
    let floor = floor();
    for step in 0..700 {
        let x = -17.0 + f64::from(step) * 0.0501;
        let z = 3.0 - f64::from(step) * 0.0203;
        let found = contacts(&floor, BALL, [x, 0.49, z], Quat::IDENTITY);
        let [one] = &found[..] else { panic!("{} manifolds at {x} {z}", found.len()) };
        for point in one.points() {
            assert_eq!(point.normal, [0.0, 1.0, 0.0]);
            assert!((point.distance + 0.01).abs() < 1e-5);
            assert!((DVec3::from(point.point) - DVec3::new(x, 0.0, z)).length() < 1e-3);
            assert_eq!((point.material, point.voxel.y), (ROCK, -1));
        }
        assert_eq!(one.points().len(), 1);
    }
}

#[test]
fn bodies_that_lie_flat_rest_on_their_corners() {
    let floor = floor();
    for step in 0..60 {
        let (x, z) = (f64::from(step) * 0.37 - 9.0, f64::from(step) * 0.111 - 4.0);
        let turn = Quat::from_rotation_y(step as f32 * 0.1);
        // A six-sided face has more corners than stay: points on its sides will do.
        let shapes: [(Shape, usize, f64, [f32; 2]); 3] = [
            (CRATE, 4, 0.499, [0.705, 0.709]),
            (LYING, 2, 0.299, [0.499, 0.501]),
            (Shape::Convex { points: &NUT }, 4, 0.299, [0.43, 0.502]),
        ];
        for (shape, count, height, reach) in shapes {
            let found = contacts(&floor, shape, [x, height, z], turn);
            let [one] = &found[..] else { panic!("{} manifolds", found.len()) };
            assert_eq!(one.points().len(), count, "{shape:?}");
            for point in one.points() {
                assert_eq!(point.normal, [0.0, 1.0, 0.0]);
                assert!((point.distance + 0.001).abs() < 1e-5, "{point:?}");
                let [x, y, z] = point.offset;
                let far = Vec3::new(x, 0.0, z).length();
                assert!(reach[0] < far && far < reach[1], "{point:?}");
                assert!((f64::from(y) + height).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn a_ball_in_a_groove_meets_both_walls() {
    let (valley, _) = ground(8, |[x, y, _]| (x.abs() - y) * 0.5_f32.sqrt());
    for step in 0..40 {
        let z = f64::from(step) * 0.31 - 6.0;
        let found = contacts(&valley, BALL, [0.0, 0.5 * 2.0_f64.sqrt() + 0.05, z], Quat::IDENTITY);
        let mut sides: Vec<f32> =
            found.iter().flat_map(|m| m.points()).map(|p| p.normal[0]).collect();
        sides.sort_by(f32::total_cmp);
        assert!(sides.len() >= 2 && sides[0] < -0.5 && sides[sides.len() - 1] > 0.5, "{sides:?}");
    }
}

#[test]
fn a_body_on_a_ridge_or_a_border_is_held() {
    for slope in [0.1_f32, 0.5, 1.0, 2.0] {
        let scale = 1.0 / (1.0 + slope * slope).sqrt();
        // Ridges on a border of blocks and inside one.
        for middle in [0.0, 3.4] {
            let (ridge, grid) = ground(12, |[x, y, _]| (-slope * (x - middle).abs() - y) * scale);
            let all = triangles(grid.as_snapshot());
            for (shape, step) in [BALL, CRATE, LYING, Shape::Convex { points: &NUT }]
                .iter()
                .flat_map(|s| (0..12).map(move |i| (s, i)))
            {
                let (x, z) =
                    (f64::from(middle) + 0.03 * f64::from(step - 6), f64::from(step) * 1.37 - 8.0);
                let (y, _) = let_down(&all, shape, [x, 3.0, z]);
                let found = contacts(&ridge, *shape, [x, y, z], Quat::IDENTITY);
                assert!(!found.is_empty(), "{shape:?} at {x} {z} on slope {slope}");
                let up =
                    found.iter().flat_map(|m| m.points()).map(|p| p.normal[1]).fold(0.0, f32::max);
                assert!(up > 0.3, "{shape:?} on slope {slope}: {up}");
            }
        }
    }
}

#[test]
fn a_body_in_the_ground_is_pushed_up() {
    let floor = floor();
    for (shape, half) in [(BALL, 0.5), (CRATE, 0.5), (LYING, 0.3)] {
        for depth in [0.05, 0.1, 0.3, 0.6, 0.9, 1.5, 2.5, 3.0] {
            let y = half - depth;
            let found = contacts(&floor, shape, [1.3, y, 2.6], Quat::IDENTITY);
            assert!(!found.is_empty(), "{shape:?} at {depth}");
            let down = found.iter().flat_map(|m| m.points()).filter(|p| p.normal[1] < 0.9);
            assert_eq!(down.count(), 0, "{shape:?} at {depth}");
            let told = f64::from(deepest(&found));
            assert!((told + depth).abs() < 0.02, "{told} {depth}");
        }
    }
}

#[test]
fn a_body_deep_below_is_pushed_to_the_nearest_surface_or_up() {
    let mut cells = DenseBox::new(Region::new([-24, -24, -24], [24, 24, 24]));
    cells.fill(ROCK);
    let (rock, _) = collider_of(&cells);
    for (at, way) in
        [([0.5, 20.5, 0.5], Vec3::Y), ([-20.2, 3.0, 0.5], -Vec3::X), ([0.0; 3], Vec3::Y)]
    {
        let found = contacts(&rock, BALL, at, Quat::IDENTITY);
        let [one] = &found[..] else { panic!("{} manifolds", found.len()) };
        assert!(one.is_inside);
        assert!(Vec3::from(one.points()[0].normal).dot(way) > 0.95, "{one:?}");
        assert!(one.points()[0].distance < -3.0);
    }
}

/// Signed by how often a ray leaves and enters: brute force over all triangles.
fn is_in_ground(all: &[WorldTriangle], point: DVec3) -> bool {
    let along = DVec3::new(0.137, 1.0, 0.071);
    let mut sides = 0;
    for triangle in all {
        let [a, b, c] = triangle.corners;
        let corners = [a, b, c].map(|p| p - point);
        let volume = |a: DVec3, b: DVec3| along.dot(a.cross(b));
        let turns = [0, 1, 2].map(|i| volume(corners[i], corners[(i + 1) % 3]));
        let normal = (b - a).cross(c - a);
        let ahead = corners[0].dot(normal) * along.dot(normal) > 0.0;
        if ahead && (turns.iter().all(|&t| t > 0.0) || turns.iter().all(|&t| t < 0.0)) {
            sides += along.dot(normal).signum() as i32;
        }
    }
    sides > 0
}

#[test]
fn the_way_out_is_as_far_as_brute_force_says_and_leads_out() {
    let (collider, _) = hills(4);
    let all = triangles(collider.snapshot());
    let mut inside = 0;
    for step in 0..400 {
        let at = |k: f64, wide: f64| (f64::from(step) * k).fract() * wide - 0.5 * wide;
        let from = DVec3::new(at(0.618, 16.0), at(0.414, 8.0), at(0.732, 16.0));
        let (_, distance) = naive::nearest(&all, from);
        let Some(way) = WayOut::find(&collider, from.to_array()) else {
            // Beside the surface what is a cell and what is ground may differ.
            assert!(!is_in_ground(&all, from) || distance < 0.9, "{from} {distance}");
            continue;
        };
        inside += 1;
        assert!(is_in_ground(&all, from), "{from}");
        assert!((f64::from(way.distance) - distance).abs() < 1e-4, "{from}");
        let out = from + Vec3::from(way.direction).as_dvec3() * (distance + 1e-3);
        assert!(WayOut::find(&collider, out.to_array()).is_none(), "{from}");
    }
    assert!(inside > 100, "{inside}");
}

#[test]
fn a_ball_on_a_thin_plate_is_not_pulled_through() {
    let mut cells = DenseBox::new(Region::new([-12, 0, -12], [12, 1, 12]));
    for at in cells.region().voxels() {
        cells.set(at, Cell::new(ROCK, 90));
    }
    let (plate, _) = collider_of(&cells);
    let top = plate
        .ray(
            &crate::collide::Ray::new([0.3, 5.0, 0.4], [0.0, -1.0, 0.0], 9.0),
            &crate::collide::Filter::SOLID,
        )
        .found
        .unwrap()
        .point[1];
    for depth in [-0.02, 0.02, 0.1, 0.2] {
        let found = contacts(&plate, BALL, [0.3, top + 0.5 - depth, 0.4], Quat::IDENTITY);
        let points: Vec<_> = found.iter().flat_map(|m| m.points()).collect();
        assert!(!points.is_empty() && points.iter().all(|p| p.normal[1] > 0.9), "{points:?}");
    }
}

#[test]
fn parts_of_a_body_touch_where_they_are() {
    let floor = floor();
    let turned = Quat::from_rotation_y(std::f32::consts::FRAC_PI_2);
    let mut parts = [BodyPart::new(BALL), BodyPart::new(LYING)];
    parts[0].offset = [2.0, 0.0, 0.0];
    parts[1].offset = [0.0, -0.2, -2.0];
    let body = Body { parts: &parts, position: [0.3, 0.49, 0.1], rotation: turned.to_array() };
    let mut out = Contacts::default();
    out.find(&floor, &body, &ContactOptions::default());
    let [ball, capsule] = &out.manifolds[..] else { panic!("{:?}", out.manifolds) };
    assert_eq!((ball.points()[0].part, capsule.points()[0].part), (0, 1));
    let offset = Vec3::from(ball.points()[0].offset);
    assert!(offset.distance(Vec3::new(0.0, -0.49, -2.0)) < 1e-3, "{offset}");
    // Turned about Y, the capsule lies along Z, at x −2.
    let ends: Vec<Vec3> = capsule.points().iter().map(|p| p.offset.into()).collect();
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|p| (p.x + 2.0).abs() < 1e-3 && (p.z.abs() - 0.5).abs() < 1e-3));
}

#[test]
fn what_is_no_body_touches_nothing_and_is_counted() {
    let floor = floor();
    let mut out = Contacts::default();
    let parts = [BodyPart::new(BALL)];
    let good = Body { parts: &parts, position: [0.0, 0.4, 0.0], rotation: UPRIGHT };
    let invalid = [BodyPart::new(Shape::Sphere { radius: f32::NAN })];
    let bad = [
        Body { position: [f64::NAN, 0.0, 0.0], ..good },
        Body { position: [0.0, f64::INFINITY, 0.0], ..good },
        Body { rotation: [0.0; 4], ..good },
        Body { rotation: [f32::NAN; 4], ..good },
        Body { parts: &invalid, ..good },
    ];
    let before = floor.stats().refused_queries;
    for body in &bad {
        out.find(&floor, body, &ContactOptions::default());
        assert!(out.manifolds.is_empty());
    }
    let options = ContactOptions { prediction_voxels: f32::NAN, ..ContactOptions::default() };
    out.find(&floor, &good, &options);
    assert!(out.manifolds.is_empty());
    assert_eq!(floor.stats().refused_queries - before, 6);
    out.find(&floor, &Body { parts: &[], ..good }, &ContactOptions::default());
    assert!(out.manifolds.is_empty());
    // Far beyond the world.
    out.find(&floor, &Body { position: [1e300; 3], ..good }, &ContactOptions::default());
    assert!(out.manifolds.is_empty());
}

#[test]
fn chunks_that_are_not_held_are_named() {
    let mut grid =
        VoxelGrid::new(GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() });
    let mut cells = DenseBox::new(Region::new([0, 0, 0], [32, 32, 32]));
    cells.fill(ROCK);
    grid.write(&cells).unwrap();
    let mut collider = Collider::default();
    collider.update(&grid);
    let parts = [BodyPart::new(BALL)];
    let body = Body { parts: &parts, position: [31.9, 16.0, 16.0], rotation: UPRIGHT };
    let missing = Contacts::default().find(&collider, &body, &ContactOptions::default());
    assert_eq!(missing, Some(MissingData::NotHeld(ChunkPos::new(1, 0, 0))));
}

#[test]
fn the_contacts_of_a_block_are_those_of_its_triangles() {
    let floor = floor();
    let parts = [BodyPart::new(CRATE)];
    // On the corner of four blocks.
    let body = Body { parts: &parts, position: [0.0, 0.499, 0.0], rotation: UPRIGHT };
    let mut out = Contacts::default();
    let mut area = 0.0;
    for (x, z) in [(-1, -1), (-1, 0), (0, -1), (0, 0)] {
        let block = crate::collide::CollisionBlock::new(x, -1, z);
        out.find_in_block(&floor, block, &body, &ContactOptions::default());
        let [one] = &out.manifolds[..] else { panic!("{:?}", out.manifolds) };
        assert!(one.points().iter().all(|p| p.block == block && p.normal == [0.0, 1.0, 0.0]));
        let (min, max) =
            one.points().iter().fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(min, max), p| {
                (min.min(p.offset.into()), max.max(p.offset.into()))
            });
        area += (max.x - min.x) * (max.z - min.z);
    }
    assert!((area - 1.0).abs() < 1e-2, "{area}");
}

fn turn() -> impl Strategy<Value = Quat> {
    [-1.0..1.0f32, -1.0..1.0f32, -1.0..1.0f32, -1.0..1.0f32]
        .prop_filter("a turn", |v| Vec3::new(v[0], v[1], v[2]).length() > 0.1)
        .prop_map(|v| Quat::from_array(v).normalize())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_touches_is_found_as_deep_as_brute_force_says(
        seed in 0..20u32,
        poses in proptest::collection::vec((-8.0..8.0f64, -8.0..8.0f64, turn(), 0..4usize), 12),
    ) {
        let (collider, grid) = hills(seed);
        let all = triangles(grid.as_snapshot());
        for (x, z, turn, kind) in poses {
            let nut = NUT.map(|p| (turn * Vec3::from(p)).to_array());
            let ends = [-0.5, 0.5].map(|v| (turn * Vec3::new(v, 0.0, 0.0)).to_array());
            let (shape, turned) = match kind {
                0 => (BALL, BALL),
                1 => (LYING, Shape::Capsule { a: ends[0], b: ends[1], radius: 0.3 }),
                2 => (CRATE, Shape::Box { half: [0.5; 3], rotation: turn.to_array() }),
                _ => (Shape::Convex { points: &NUT }, Shape::Convex { points: &nut }),
            };
            let (y, left) = let_down(&all, &turned, [x, 6.0, z]);
            let found = contacts(&collider, shape, [x, y, z], turn);
            prop_assert!(!found.is_empty(), "{:?} at {} {} {}", shape, x, y, z);
            let least = f64::from(deepest(&found));
            // The angle at a side is held in four bits. Where that clamps the direction, the way
            // along it is longer: by 0.06 for a ball of 0.5 at a side that turns by 60°.
            let right = least > left - 2e-3 && least < left + 0.06;
            prop_assert!(right, "{} for {}: {:?}", least, left, shape);
            for point in found.iter().flat_map(|m| m.points()) {
                let normal = Vec3::from(point.normal);
                prop_assert!((normal.length() - 1.0).abs() < 1e-4);
                let (_, off) = naive::nearest(&all, DVec3::from(point.point));
                prop_assert!(off < 0.02, "on the ground: {}", off);
            }
            if kind == 0 {
                // Out of the nearest feature, but for what the angles are rounded by.
                let centre = DVec3::new(x, y, z);
                let mut best = (DVec3::Y, f64::INFINITY);
                for triangle in &all {
                    let distance = triangle.distance_to(centre);
                    if distance < best.1 {
                        best = (nearest_point(triangle, centre), distance);
                    }
                }
                let want = (centre - best.0).normalize().as_vec3();
                let best = found.iter().flat_map(|m| m.points()).map(|p| want.dot(p.normal.into()));
                prop_assert!(best.fold(0.0, f32::max) > 0.99);
            }
        }
    }

    #[test]
    fn contacts_are_the_same_every_time(seed in 0..9u32, x in -6.0..6.0f64, z in -6.0..6.0f64, turn in turn()) {
        let [(one, _), (other, _)] = [hills(seed), hills(seed)];
        let mut out = Contacts::default();
        for y in [-1.0, 0.0, 1.0, 2.0] {
            let first = contacts(&one, CRATE, [x, y, z], turn);
            let parts = [BodyPart::new(CRATE)];
            let body = Body { parts: &parts, position: [x, y, z], rotation: turn.to_array() };
            // Memory that was used before leaves no trace.
            out.find(&other, &body, &ContactOptions::default());
            prop_assert_eq!(&first, &out.manifolds);
        }
    }
}

fn nearest_point(triangle: &crate::collide::naive::WorldTriangle, point: DVec3) -> DVec3 {
    let corners = triangle.corners.map(|p| (p - point).as_vec3());
    point + crate::geometry::closest_on_triangle(Vec3::ZERO, &corners).as_dvec3()
}

/// All contacts of a tracker, asked anew.
fn asked(collider: &Collider, objects: &[(u64, Aabb)]) -> Vec<BlockContact> {
    let mut all = Vec::new();
    for &(object, aabb) in objects {
        collider.broadphase().blocks_in(&aabb, Surfaces::Both, |block, touch| {
            all.extend(touch.solid.then_some(BlockContact { object, block, is_liquid: false }));
            all.extend(touch.liquid.then_some(BlockContact { object, block, is_liquid: true }));
        });
    }
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_tracker_agrees_with_new_queries(
        moves in proptest::collection::vec((0..6u64, [-14.0..14.0f64, -8.0..8.0f64, -14.0..14.0f64], 0.1..6.0f64, 0..12u8), 60),
    ) {
        let (mut collider, mut grid) = hills(3);
        let mut lake = DenseBox::new(Region::new([-12, 2, -12], [0, 4, 12]));
        lake.fill(WATER);
        grid.write(&lake).unwrap();
        let mut cursor = ChangeCursor::default();
        grid.changes_since(&mut cursor);
        collider.update(&grid);
        let mut tracker = ContactTracker::new();
        let (mut held, mut objects) = (Vec::new(), Vec::<(u64, Aabb)>::new());
        let mut changes = ContactChanges::default();
        let mut woken = Vec::new();
        for (object, at, half, what) in moves {
            changes.clear();
            match what {
                0 => {
                    tracker.remove(object, &mut changes);
                    objects.retain(|o| o.0 != object);
                }
                1 => {
                    let hole = Region::one(VoxelPos::new(at[0] as i32, at[1] as i32, at[2] as i32)).grow(2);
                    grid.write(&DenseBox::new(hole)).unwrap();
                    collider.update(&grid);
                    tracker.edited(collider.broadphase(), &grid.changes_since(&mut cursor), &mut changes, &mut woken);
                    for (object, aabb) in &objects {
                        let near = Aabb::of_region(hole).meets(*aabb);
                        prop_assert!(!near || woken.contains(object));
                    }
                }
                _ => {
                    let aabb = Aabb::around(at, [half; 3]);
                    tracker.update(collider.broadphase(), object, aabb, &mut changes);
                    objects.retain(|o| o.0 != object);
                    objects.push((object, aabb));
                }
            }
            held.retain(|contact| !changes.ended.contains(contact));
            prop_assert!(changes.began.iter().all(|contact| !held.contains(contact)));
            held.extend(&changes.began);
            held.sort_unstable();
            let mut now: Vec<_> = tracker.contacts().collect();
            now.sort_unstable();
            prop_assert_eq!(&now, &asked(&collider, &objects));
            prop_assert_eq!(&held, &now);
        }
    }
}

#[test]
fn a_tracker_accepts_invalid_boxes() {
    let floor = floor();
    let (mut tracker, mut changes) = (ContactTracker::new(), ContactChanges::default());
    tracker.update(floor.broadphase(), 1, Aabb::around([0.0; 3], [1.0; 3]), &mut changes);
    assert!(!changes.began.is_empty() && tracker.len() == 1);
    let began = std::mem::take(&mut changes.began);
    tracker.update(floor.broadphase(), 1, Aabb::around([f64::NAN; 3], [1.0; 3]), &mut changes);
    assert_eq!((&changes.ended, changes.began.len()), (&began, 0));
    let mut woken = Vec::new();
    tracker.edited(floor.broadphase(), &Changes::Everything, &mut changes, &mut woken);
    assert_eq!(woken, [1]);
    tracker.remove(2, &mut changes);
    assert!(!tracker.is_empty());
}
