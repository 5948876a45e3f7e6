//! Queries against brute force over every triangle, and what a user may do wrong.

use super::naive::{WorldTriangle, triangles};
use super::schedule::splitmix;
use super::*;
use crate::geometry::{Shape, ShapeCore};
use crate::math::Aabb;
use crate::voxel::{
    Cell, ChangeCursor, Changes, ChunkPos, DenseBox, GridOptions, LIMIT, Region, UnlistedChunks,
    VoxelGrid, VoxelPos, WATER,
};
use glam::DVec3;
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

mod built;
mod casts;
mod schedules;

const ROCK: u8 = 8;
const SAND: u8 = 6;

/// What of a world a test fills: hills, lakes, caves, sand and specks of random cells,
/// about a corner where eight chunks meet.
fn world(seed: u64) -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-19, -14, -18], [18, 15, 19]));
    for voxel in cells.region().voxels() {
        cells.set(voxel, cell_at(seed, voxel));
    }
    grid.write(&cells).unwrap();
    grid
}

fn cell_at(seed: u64, at: VoxelPos) -> Cell {
    let hash = hash(seed, at);
    let [x, y, z] = at.to_array().map(|v| v as f32 + 0.5);
    let turn = (seed % 100) as f32;
    let ground = 5.0 * (x * 0.2 + turn).sin() * (z * 0.17).cos() - 1.0;
    let cave = 5.0 - ((x - 4.0).powi(2) + (y + 5.0).powi(2) + (z + turn * 0.1).powi(2)).sqrt();
    let depth = (ground - y).min(-cave);
    match () {
        _ if hash.is_multiple_of(97) => Cell::new(ROCK, (hash >> 8) as u8),
        _ if depth > -0.5 => {
            Cell::new(if x > 3.0 { SAND } else { ROCK }, (255.0 * (depth + 0.5).min(1.0)) as u8)
        }
        _ if y < -3.0 => Cell::full(WATER),
        () => Cell::AIR,
    }
}

fn hash(seed: u64, at: VoxelPos) -> u64 {
    let [x, y, z] = at.to_array().map(|v| v as u32 as u64);
    let mut h = seed ^ x << 40 ^ y << 20 ^ z;
    for _ in 0..3 {
        h = (h ^ h >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    h ^ h >> 32
}

fn collider_of(grid: &VoxelGrid) -> Collider {
    let mut collider = Collider::default();
    collider.update(grid);
    collider
}

fn coordinate() -> impl Strategy<Value = f64> {
    // Whole numbers run along cells' borders.
    prop_oneof![(-24..24i32).prop_map(f64::from), -24.0..24.0f64]
}

fn point() -> impl Strategy<Value = [f64; 3]> {
    [coordinate(), coordinate(), coordinate()]
}

fn direction() -> impl Strategy<Value = [f64; 3]> {
    let part = || prop_oneof![3 => -1.0..1.0f64, 1 => Just(0.0), 1 => Just(1.0), 1 => Just(-1.0)];
    [part(), part(), part()].prop_filter("a direction", |d| d.iter().any(|&v| v != 0.0))
}

fn filter() -> impl Strategy<Value = Filter> {
    let surfaces = prop_oneof![Just(Surfaces::Solid), Just(Surfaces::Liquid), Just(Surfaces::Both)];
    let materials = prop_oneof![
        2 => Just(MaterialSet::ALL),
        1 => Just(MaterialSet::ALL.without(ROCK)),
        1 => Just(MaterialSet::only(SAND)),
    ];
    (surfaces, materials).prop_map(|(surfaces, materials)| Filter {
        surfaces,
        materials,
        ..Filter::default()
    })
}

/// Nearest hit of brute force; `slack` widens triangles (positive) or narrows them. A ray
/// that starts on a triangle may meet it or not.
fn nearest(all: &[WorldTriangle], ray: &Ray, filter: &Filter, slack: f64) -> Option<f64> {
    let seen = all.iter().filter(|triangle| triangle.seen_by(filter));
    let met = seen.filter_map(|triangle| triangle.distance(ray, slack));
    met.filter(|&t| slack > 0.0 || t > 1e-3).min_by(f64::total_cmp)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rays_find_what_brute_force_finds(
        seed in 0..1000u64,
        rays in proptest::collection::vec((point(), direction(), 1.0..60.0f64), 60),
        filter in filter(),
    ) {
        let grid = world(seed);
        let (collider, all) = (collider_of(&grid), triangles(grid.as_snapshot()));
        for (origin, direction, length) in rays {
            let ray = Ray::new(origin, direction, length);
            let found = collider.ray(&ray, &filter).found;
            let any = collider.ray_any(&ray, &filter).found;
            let mut hits = Vec::new();
            prop_assert_eq!(collider.ray_all(&ray, &filter, &mut hits), None);
            prop_assert_eq!(found.is_some(), any);
            // Where triangles share an edge that is hit, rounding says which is the nearer.
            let [one, first] = [found, hits.first().copied()].map(|hit| hit.map(|hit| hit.distance));
            prop_assert_eq!(one.is_some(), first.is_some());
            prop_assert!(one.zip(first).is_none_or(|(a, b)| (a - b).abs() < 1e-6));
            // What narrowed triangles hit must be found; what is found, widened ones hit.
            let [sure, likely] = [-1e-4, 1e-4].map(|slack| nearest(&all, &ray, &filter, slack));
            match found {
                // What it starts or ends on may be missed.
                None => prop_assert!(
                    sure.is_none_or(|t| t > length - 1e-3), "{:?} {:?}", ray, sure
                ),
                Some(hit) => {
                    prop_assert!(likely.is_some_and(|t| t <= hit.distance + 1e-3), "{:?}", hit);
                    prop_assert!(sure.is_none_or(|t| t >= hit.distance - 1e-3), "{:?}", hit);
                    check_hit(&grid, &all, &hit);
                }
            }
            let count = |slack| all.iter().filter(|t| t.seen_by(&filter))
                .filter(|t| t.distance(&ray, slack).is_some_and(|t| t > 1e-3 && t < length - 1e-3)).count();
            prop_assert!(hits.len() >= count(-1e-4));
            prop_assert!(hits.is_sorted_by(|a, b| a.distance <= b.distance));
        }
    }

    #[test]
    fn boxes_find_every_triangle_whose_box_they_meet(
        seed in 0..1000u64,
        boxes in proptest::collection::vec((point(), [0.0..4.0f64, 0.0..4.0, 0.0..4.0]), 30),
        filter in filter(),
    ) {
        let grid = world(seed);
        let (collider, all) = (collider_of(&grid), triangles(grid.as_snapshot()));
        for (centre, half) in boxes {
            let aabb = Aabb::around(centre, half);
            let mut found = Vec::new();
            let missing = collider.triangles_in(&aabb, &filter, |triangle| {
                found.push((triangle.voxel, triangle.corners.map(|p| p.map(f64::to_bits))));
            });
            prop_assert_eq!(missing, None);
            let meets = |by: f64| {
                let all = all.iter().filter(|t| t.seen_by(&filter) && t.aabb().meets(aabb.grow(by)));
                all.map(|t| (t.voxel, t.corners.map(|p| p.to_array().map(f64::to_bits)))).collect::<Vec<_>>()
            };
            let (sure, likely) = (meets(-1e-5), meets(1e-5));
            prop_assert!(sure.iter().all(|triangle| found.contains(triangle)));
            prop_assert!(found.iter().all(|triangle| likely.contains(triangle)));
            found.sort_unstable();
            prop_assert!(found.is_sorted_by(|a, b| a != b), "no triangle twice");
        }
    }

    #[test]
    fn closest_points_are_those_of_brute_force(
        seed in 0..1000u64,
        points in proptest::collection::vec((point(), 0.5..40.0f64), 30),
        filter in filter(),
    ) {
        let grid = world(seed);
        let (collider, all) = (collider_of(&grid), triangles(grid.as_snapshot()));
        for (point, most) in points {
            let found = collider.closest_point(point, most, &filter).found;
            let distances = all.iter().filter(|t| t.seen_by(&filter)).map(|t| t.distance_to(point.into()));
            let nearest = distances.min_by(f64::total_cmp).filter(|&d| d <= most + 1e-3);
            match (found, nearest) {
                (Some(hit), Some(nearest)) => {
                    prop_assert!((hit.distance - nearest).abs() < 1e-3, "{:?} {}", hit, nearest);
                    let apart = DVec3::from(hit.point).distance(point.into());
                    prop_assert!((apart - hit.distance).abs() < 1e-3);
                    check_hit(&grid, &all, &hit);
                }
                (None, nearest) => prop_assert!(nearest.is_none_or(|d| d > most - 1e-3)),
                (Some(hit), None) => prop_assert!(false, "{:?} is nothing's", hit),
            }
        }
    }

    #[test]
    fn shapes_touch_what_they_touch_triangle_by_triangle(
        seed in 0..1000u64,
        places in proptest::collection::vec((point(), direction(), 0.5..40.0f64, 0..4usize), 24),
        filter in filter(),
    ) {
        let grid = world(seed);
        let (collider, all) = (collider_of(&grid), triangles(grid.as_snapshot()));
        let tetrahedron = [[0.0, 0.9, 0.0], [0.7, -0.4, 0.1], [-0.5, -0.4, 0.6], [-0.3, -0.5, -0.7]];
        let shapes = [
            Shape::Sphere { radius: 0.7 },
            Shape::Capsule { a: [0.0, -0.5, 0.2], b: [0.1, 0.6, 0.0], radius: 0.4 },
            Shape::Box { half: [0.9, 0.3, 0.5], rotation: [0.5, 0.5, -0.5, 0.5] },
            Shape::Convex { points: &tetrahedron },
        ];
        for (at, direction, length, shape) in places {
            let core = ShapeCore::new(&shapes[shape]).expect("these are shapes");
            let near = |t: &&WorldTriangle| t.seen_by(&filter);
            let local = |t: &WorldTriangle| t.corners.map(|p| (p - DVec3::from(at)).as_vec3().to_array());
            let gaps = all.iter().filter(near).map(|t| {
                core.separation([0.0; 3], &local(t), 1.0).map_or(1.0, |apart| apart.distance)
            });
            let gap = gaps.min_by(f32::total_cmp).unwrap_or(1.0);
            let found = collider.overlaps(&shapes[shape], at, &filter).found;
            prop_assert!(found == (gap <= 0.0) || gap.abs() < 1e-3, "{} {}", found, gap);
            let motion = DVec3::from(direction).normalize() * length;
            let cast = collider.cast(&shapes[shape], at, motion.to_array(), &filter).found;
            let step = motion.normalize().as_vec3().to_array();
            let times = all.iter().filter(near).filter_map(|t| core.cast([0.0; 3], step, &local(t), length as f32));
            let first = times.map(|hit| f64::from(hit.t)).min_by(f64::total_cmp);
            match (cast, first) {
                (Some(hit), Some(first)) => {
                    prop_assert!((hit.distance - first).abs() < 2e-2, "{:?} {}", hit, first);
                    check_voxel(&all, &hit, 2e-2);
                }
                (None, None) => {}
                // Only just touched, or only just not.
                (cast, first) => {
                    let t = cast.map_or(first, |hit| Some(hit.distance)).expect("one of them");
                    let end = DVec3::from(at) + motion.normalize() * t;
                    let local = |t: &WorldTriangle| t.corners.map(|p| (p - end).as_vec3().to_array());
                    let gaps = all.iter().filter(near).filter_map(|t| core.separation([0.0; 3], &local(t), 1.0));
                    let gap = gaps.map(|apart| apart.distance).min_by(f32::total_cmp);
                    prop_assert!(gap.is_some_and(|gap| gap.abs() < 2e-2), "{:?} {:?} {:?}", cast, first, gap);
                }
            }
        }
    }

    #[test]
    fn an_edited_collider_equals_a_new_one(
        seed in 0..1000u64,
        edits in proptest::collection::vec((point(), 0.5..5.0f64, any::<bool>()), 1..5),
        rays in proptest::collection::vec((point(), direction()), 40),
    ) {
        let mut grid = world(seed);
        let mut collider = collider_of(&grid);
        for (centre, radius, dig) in edits {
            for &(origin, direction) in &rays {
                collider.ray(&Ray::new(origin, direction, 50.0), &Filter::BOTH);
            }
            let reach = Aabb::around(centre, [radius; 3]).voxels();
            let mut cells = DenseBox::default();
            grid.read(reach, 0, &mut cells).unwrap();
            cells.fill(if dig { 0 } else { SAND });
            grid.write(&cells).unwrap();
            collider.update(&grid);
        }
        let fresh = collider_of(&grid);
        for &(origin, direction) in &rays {
            let ray = Ray::new(origin, direction, 50.0);
            prop_assert_eq!(collider.ray(&ray, &Filter::BOTH), fresh.ray(&ray, &Filter::BOTH));
        }
        let masks = [&collider, &fresh].map(|of| of.broadphase().stats().surface_blocks);
        prop_assert_eq!(masks[0], masks[1]);
    }
}

/// Whether a hit is on a triangle of its voxel, and says what that is.
fn check_hit(grid: &VoxelGrid, all: &[WorldTriangle], hit: &Hit) {
    check_voxel(all, hit, 1e-3);
    assert!(!grid.cell(hit.voxel).unwrap().is_air());
    let normal = DVec3::from(hit.normal.map(f64::from));
    assert!((normal.length() - 1.0).abs() < 1e-4);
    assert!((hit.weights.iter().sum::<f32>() - 1.0).abs() < 1e-4);
}

/// Whether the point of a hit is on a triangle of its voxel.
fn check_voxel(all: &[WorldTriangle], hit: &Hit, within: f64) {
    let of_voxel = all.iter().filter(|t| t.voxel == hit.voxel && t.liquid == hit.is_liquid);
    let near = of_voxel
        .min_by(|a, b| a.distance_to(hit.point.into()).total_cmp(&b.distance_to(hit.point.into())));
    let near = near.expect("the voxel of a hit shows a face");
    assert!(near.distance_to(hit.point.into()) < within);
    assert_eq!((hit.material, hit.block), (near.material, near.block));
}

fn floor(grid: &mut VoxelGrid, min: [i32; 3], max: [i32; 3]) {
    let mut cells = DenseBox::new(Region::new(min, max));
    cells.fill(ROCK);
    grid.write(&cells).unwrap();
}

#[test]
fn a_ray_down_tells_point_normal_material_and_voxel() {
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [-40, -8, -40], [40, 0, 40]);
    let collider = collider_of(&grid);
    let hit = collider.ray(&Ray::new([-3.25, 10.0, 7.5], [0.0, -2.0, 0.0], 100.0), &Filter::SOLID);
    let hit = hit.found.expect("there is a floor");
    assert!((hit.distance - 10.0).abs() < 1e-4 && hit.point[1].abs() < 1e-4);
    assert_eq!((hit.normal, hit.material, hit.is_liquid), ([0.0, 1.0, 0.0], ROCK, false));
    assert_eq!(hit.voxel, VoxelPos::new(-4, -1, 7));
    assert_eq!(hit.block, VoxelPos::new(-4, -1, 7).block());
}

#[test]
fn coarse_chunks_between_distant_pages_are_found_by_page() {
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [0; 3], [4; 3]);
    floor(&mut grid, [200_000; 3], [200_004; 3]);
    let mut coarse = DenseBox::new(Region::new([32, 0, 0], [48, 16, 16]));
    coarse.fill(ROCK);
    grid.write_mip(1, &coarse);
    let collider = collider_of(&grid);
    let near = collider.closest_point([1e5; 3], f64::INFINITY, &Filter::SOLID);
    assert!(near.found.is_some());
    let all = Aabb::around([1e5; 3], [3e5; 3]);
    assert_eq!(collider.unknown_in(&all), Some(MissingData::NotHeld(ChunkPos::new(2, 0, 0))));
    assert_eq!(collider.unknown_in(&Aabb::around([1.5e5; 3], [9e4; 3])), None);
}

#[test]
fn a_ray_from_inside_meets_the_surface_from_behind() {
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [-40, -8, -40], [40, 0, 40]);
    let up = Ray::new([0.5, -4.0, 0.5], [0.0, 1.0, 0.0], 100.0);
    let hit = collider_of(&grid).ray(&up, &Filter::SOLID).found.expect("the surface is above");
    assert!((hit.distance - 4.0).abs() < 1e-4 && hit.normal[1] > 0.99);
}

#[test]
fn rays_along_edges_and_in_the_plane_of_a_floor_do_not_slip_through() {
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [0, 0, 0], [64, 8, 64]);
    let collider = collider_of(&grid);
    for x in 1..63 {
        for z in [1.0, 7.5, 8.0, 31.999, 32.0, 32.001, 40.0] {
            let down = Ray::new([f64::from(x), 20.0, z], [0.0, -1.0, 0.0], 30.0);
            let hit = collider.ray(&down, &Filter::SOLID).found;
            assert!(hit.is_some_and(|hit| (hit.distance - 12.0).abs() < 1e-3), "{x} {z}");
        }
    }
    // In the plane of the top, into the side of a wall that stands on it.
    floor(&mut grid, [40, 8, 0], [48, 16, 64]);
    let collider = collider_of(&grid);
    let along = Ray::new([2.0, 8.0, 20.0], [1.0, 0.0, 0.0], 100.0);
    assert!(collider.ray(&along, &Filter::SOLID).found.is_some_and(|hit| hit.distance < 40.0));
}

#[test]
fn invalid_queries_find_nothing_and_are_counted() {
    let grid = world(1);
    let collider = collider_of(&grid);
    let (down, nan, inf) = ([0.0, -1.0, 0.0], f64::NAN, f64::INFINITY);
    let rays = [
        Ray::new([nan, 0.0, 0.0], down, 50.0),
        Ray::new([inf, 0.0, 0.0], down, 50.0),
        Ray::new([0.0; 3], [0.0; 3], 50.0),
        Ray::new([0.0; 3], [0.0, nan, 0.0], 50.0),
        Ray::new([0.0; 3], [0.0, -inf, 0.0], 50.0),
        Ray::new([0.0; 3], down, nan),
        Ray::new([0.0; 3], down, 0.0),
        Ray::new([0.0; 3], down, -1.0),
    ];
    let mut hits = vec![];
    for ray in &rays {
        assert_eq!(collider.ray(ray, &Filter::BOTH), QueryOutcome::default());
        assert_eq!(collider.ray_any(ray, &Filter::BOTH), QueryOutcome::default());
        assert_eq!(collider.ray_all(ray, &Filter::BOTH, &mut hits), None);
        assert!(hits.is_empty());
    }
    let boxes = [
        Aabb::new([nan; 3], [1.0; 3]),
        Aabb::new([1.0; 3], [0.0; 3]),
        Aabb::new([-inf; 3], [inf; 3]),
    ];
    for aabb in &boxes {
        collider.triangles_in(aabb, &Filter::BOTH, |_| panic!("{aabb:?} is no box"));
    }
    let ball = Shape::Sphere { radius: 1.0 };
    assert_eq!(collider.closest_point([nan; 3], 5.0, &Filter::BOTH), QueryOutcome::default());
    assert_eq!(collider.closest_point([0.0; 3], -5.0, &Filter::BOTH), QueryOutcome::default());
    assert_eq!(collider.overlaps(&ball, [inf; 3], &Filter::BOTH), QueryOutcome::default());
    let no_ball = Shape::Sphere { radius: f32::NAN };
    assert_eq!(collider.overlaps(&no_ball, [0.0; 3], &Filter::BOTH), QueryOutcome::default());
    assert_eq!(collider.cast(&ball, [0.0; 3], [0.0; 3], &Filter::BOTH), QueryOutcome::default());
    assert_eq!(collider.cast(&ball, [0.0; 3], [nan; 3], &Filter::BOTH), QueryOutcome::default());
    assert_eq!(collider.stats().refused_queries, 8 * 3 + 3 + 6);
}

#[test]
fn a_ray_without_end_meets_what_there_is() {
    let collider = collider_of(&world(2));
    let down = Ray::new([0.5, 1e6, 0.5], [0.0, -1.0, 0.0], f64::INFINITY);
    assert!(collider.ray(&down, &Filter::SOLID).found.is_some_and(|hit| hit.distance > 9.9e5));
    let up = Ray::new([0.5, 100.0, 0.5], [0.0, 1.0, 0.0], f64::INFINITY);
    assert_eq!(collider.ray(&up, &Filter::SOLID), QueryOutcome::default());
}

#[test]
fn worlds_at_the_limits_are_hit() {
    let mut grid = VoxelGrid::default();
    for [x, y, z] in [[LIMIT - 8; 3], [-LIMIT; 3], [LIMIT - 8, -LIMIT, 0]] {
        floor(&mut grid, [x, y, z], [x + 8, y + 8, z + 8]);
    }
    let collider = collider_of(&grid);
    let far = f64::from(LIMIT);
    let from_above = Ray::new([far - 4.5, far + 100.0, far - 3.5], [0.0, -1.0, 0.0], 1e3);
    let hit = collider.ray(&from_above, &Filter::SOLID).found.expect("a block at the end");
    assert!((hit.distance - 100.0).abs() < 1e-4 && hit.voxel.y == LIMIT - 1);
    // From one end of the world to the other.
    let across = Ray::new([far + 50.0; 3], [-1.0; 3], f64::INFINITY);
    let mut hits = Vec::new();
    collider.ray_all(&across, &Filter::SOLID, &mut hits);
    assert!(hits.iter().any(|hit| hit.distance < 100.0));
    assert!(hits.iter().any(|hit| hit.distance > 3.7e9));
    let near = collider.closest_point([-far - 3.0, -far + 4.5, -far + 4.5], 10.0, &Filter::SOLID);
    assert!(near.found.is_some_and(|hit| (hit.distance - 3.0).abs() < 1e-3));
    let ball = Shape::Sphere { radius: 0.5 };
    let cast = collider.cast(
        &ball,
        [far - 4.5, far + 100.0, far - 3.5],
        [0.0, -200.0, 0.0],
        &Filter::SOLID,
    );
    assert!(cast.found.is_some_and(|hit| (hit.distance - 99.5).abs() < 1e-2));
}

#[test]
fn what_is_not_held_is_said_to_be_so() {
    let unknown = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(unknown);
    let mut cells = DenseBox::new(Region::new([-64, -64, -64], [64, 64, 64]));
    for voxel in cells.region().voxels().filter(|voxel| voxel.y < 0) {
        cells.set(voxel, Cell::full(ROCK));
    }
    grid.write(&cells).unwrap();
    let collider = collider_of(&grid);
    let down = |x: f64| Ray::new([x, 20.0, 5.0], [0.0, -1.0, 0.0], 40.0);
    let inside = collider.ray(&down(0.0), &Filter::SOLID);
    assert!(inside.found.is_some() && inside.missing.is_none());
    let outside = collider.ray(&down(200.0), &Filter::SOLID);
    assert_eq!(outside.found, None);
    assert_eq!(outside.missing, Some(MissingData::NotHeld(ChunkPos::new(6, 0, 0))));
    let leaves = collider.ray(&Ray::new([0.0, 20.0, 5.0], [1.0, 0.0, 0.0], 500.0), &Filter::SOLID);
    assert_eq!(leaves.missing, Some(MissingData::NotHeld(ChunkPos::new(2, 0, 0))));
    let boxed = Aabb::around([64.0, 20.0, 0.0], [1.0; 3]);
    assert!(collider.triangles_in(&boxed, &Filter::SOLID, |_| ()).is_some());
    let boxed = Aabb::around([30.0, 20.0, 0.0], [1.0; 3]);
    assert_eq!(collider.triangles_in(&boxed, &Filter::SOLID, |_| ()), None);
}

#[test]
fn a_filter_can_refuse_to_build() {
    let collider = collider_of(&world(3));
    let refusing = Filter { unbuilt: BuildPolicy::Refuse, ..Filter::SOLID };
    let down = Ray::new([0.5, 30.0, 0.5], [0.0, -1.0, 0.0], 60.0);
    let refused = collider.ray(&down, &refusing);
    assert!(refused.found.is_none() && matches!(refused.missing, Some(MissingData::NotBuilt(_))));
    assert_eq!(collider.stats().builds, 0);
    let built = collider.ray(&down, &Filter::SOLID);
    assert!(built.found.is_some() && collider.stats().builds > 0);
    assert_eq!(collider.ray(&down, &refusing), built);
}

/// Rays down into [`world`], side by side.
fn rays_down() -> Vec<Ray> {
    (-18..18).map(|x| Ray::new([f64::from(x), 30.0, 0.3], [0.01, -1.0, 0.02], 60.0)).collect()
}

#[test]
fn eight_threads_get_the_same_results_and_build_no_block_twice() {
    let grid = world(5);
    let rays: Vec<Ray> = (0..400)
        .map(|i| {
            let turn = f64::from(i) * 0.61;
            let origin = [turn.cos() * 20.0, 14.0, turn.sin() * 20.0];
            Ray::new(origin, [-turn.cos(), -0.9, -turn.sin() * 0.9], 60.0)
        })
        .collect();
    let alone = collider_of(&grid);
    let expected: Vec<_> = rays.iter().map(|ray| alone.ray(ray, &Filter::BOTH)).collect();
    let shared = collider_of(&grid);
    let wrong = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (shared, rays, expected, wrong) = (&shared, &rays, &expected, &wrong);
            scope.spawn(move || {
                for i in 0..rays.len() {
                    let i = (i + 50 * thread) % rays.len();
                    let differs = shared.ray(&rays[i], &Filter::BOTH) != expected[i];
                    wrong.fetch_add(usize::from(differs), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(wrong.into_inner(), 0);
    assert_eq!(shared.stats().builds, alone.stats().builds);
    assert_eq!(shared.stats().builds, shared.stats().built as u64);
}

#[test]
fn batches_return_the_results_of_single_queries() {
    let collider = collider_of(&world(6));
    let rays: Vec<Ray> = (0..300)
        .map(|i| {
            Ray::new([f64::from(i % 20) - 10.0, 20.0, f64::from(i / 20)], [0.1, -1.0, 0.2], 50.0)
        })
        .collect();
    let mut outcomes = Vec::new();
    collider.rays(&rays, &Filter::BOTH, &mut outcomes);
    assert!(outcomes.iter().zip(&rays).all(|(a, ray)| *a == collider.ray(ray, &Filter::BOTH)));
    let mut any = Vec::new();
    collider.rays_any(&rays, &Filter::BOTH, &mut any);
    assert!(any.iter().zip(&outcomes).all(|(any, hit)| any.found == hit.found.is_some()));
    let points: Vec<_> = rays.iter().map(|ray| ray.origin).collect();
    collider.closest_points(&points, 30.0, &Filter::SOLID, &mut outcomes);
    let single = |p: &[f64; 3]| collider.closest_point(*p, 30.0, &Filter::SOLID);
    assert!(outcomes.iter().zip(&points).all(|(answer, p)| *answer == single(p)));
}

#[test]
fn changes_for_block_caches_are_those_that_updates_followed() {
    let mut grid = VoxelGrid::default();
    let mut collider = Collider::default();
    let mut cursor = ChangeCursor::default();
    collider.update(&grid);
    assert_eq!(collider.changes_since(&mut cursor), Changes::Everything);
    let mut cells = DenseBox::new(Region::new([-3, 0, 0], [2, 1, 1]));
    cells.fill(8);
    grid.write(&cells).unwrap();
    assert_eq!(collider.changes_since(&mut cursor), Changes::Regions(vec![]), "not followed yet");
    collider.update(&grid);
    assert_eq!(collider.changes_since(&mut cursor), Changes::Regions(vec![cells.region()]));
    collider.update(&grid);
    assert_eq!(collider.changes_since(&mut cursor), Changes::Regions(vec![]));
    grid.set_materials(grid.materials().clone());
    collider.update(&grid);
    assert_eq!(collider.changes_since(&mut cursor), Changes::Everything);
}
