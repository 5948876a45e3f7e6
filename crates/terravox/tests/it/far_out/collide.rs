//! Queries of the collider: distances to 1e-4 voxels, since f64 rounds positions at the limits to
//! 2⁻²² voxels.

use super::scene::{
    EDGE, assert_near, assert_near_points, config, corner, local, pair, point, point_at,
};
use proptest::prelude::*;
use terravox::collide::{Collider, Filter, Hit, Ray, SurfaceTriangle};
use terravox::geometry::Shape;
use terravox::math::Aabb;
use terravox::voxel::{LIMIT, VoxelGrid, VoxelPos};

const TOLERANCE: f64 = 1e-4;

pub fn colliders(grids: &[VoxelGrid; 2]) -> [Collider; 2] {
    grids.each_ref().map(|grid| {
        let mut collider = Collider::default();
        collider.update(grid);
        collider
    })
}

/// Whether a ray or motion only grazes a surface, so that rounding decides.
fn grazes(hit: &Hit, direction: [f64; 3]) -> bool {
    let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    let along: f64 = (0..3).map(|i| f64::from(hit.normal[i]) * direction[i]).sum();
    along.abs() < 0.05 * length
}

/// Returns both hits if they must be at the same distance; asserts that they are.
fn assert_same_distance(hits: [Option<Hit>; 2], direction: [f64; 3]) -> Option<[Hit; 2]> {
    match hits {
        [Some(near), Some(far)] if !grazes(&near, direction) => {
            assert_near(near.distance, far.distance, TOLERANCE * 20.0, "distance");
            Some([near, far])
        }
        [Some(hit), None] | [None, Some(hit)] => {
            assert!(grazes(&hit, direction), "one of two hits: {hit:?}");
            None
        }
        _ => None,
    }
}

fn directions() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(-8i32..=8)
        .prop_filter("not zero", |d| *d != [0; 3])
        .prop_map(|d| d.map(f64::from))
}

fn triangles(collider: &Collider, aabb: &Aabb) -> Vec<SurfaceTriangle> {
    let mut found = Vec::new();
    collider.triangles_in(aabb, &Filter::BOTH, |triangle| found.push(*triangle));
    found
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rays_hit_as_at_the_origin(
        seed: u8, at in corner(EDGE),
        rays in prop::collection::vec((point(), directions()), 60),
    ) {
        let [origin, far] = colliders(&pair(seed, at));
        let mut hits = 0;
        for (from, direction) in rays {
            for filter in [Filter::SOLID, Filter::BOTH] {
                let near = origin.ray(&Ray::new(from, direction, 200.0), &filter);
                let there = far.ray(&Ray::new(point_at(from, at), direction, 200.0), &filter);
                let both = assert_same_distance([near.found, there.found], direction);
                if let Some([near, far]) = both {
                    assert_near_points(near.point, local(far.point, at), TOLERANCE * 20.0, "point");
                }
                hits += u32::from(near.found.is_some());
            }
        }
        prop_assert!(hits > 5);
    }

    #[test]
    fn shapes_and_points_meet_what_they_meet_at_the_origin(
        seed: u8, at in corner(EDGE),
        places in prop::collection::vec((point(), directions()), 30),
    ) {
        let [origin, far] = colliders(&pair(seed, at));
        let shape = Shape::Capsule { a: [0.0, -1.0, 0.0], b: [0.5, 1.0, 0.0], radius: 0.7 };
        for (from, motion) in places {
            let there = point_at(from, at);
            let near = origin.closest_point(from, 30.0, &Filter::BOTH).found;
            let found = far.closest_point(there, 30.0, &Filter::BOTH).found;
            let distance = |hit: Option<Hit>| hit.map_or(30.0, |hit| hit.distance);
            assert_near(distance(near), distance(found), TOLERANCE, "closest point");
            let touches = origin.overlaps(&shape, from, &Filter::SOLID).found;
            if touches != far.overlaps(&shape, there, &Filter::SOLID).found {
                let off = origin.cast(&shape, from, [0.0, -1.0, 0.0], &Filter::SOLID).found;
                prop_assert!(off.is_some_and(|hit| hit.distance < TOLERANCE));
            }
            let motion = motion.map(|v| 5.0 * v);
            let near = origin.cast(&shape, from, motion, &Filter::SOLID).found;
            let found = far.cast(&shape, there, motion, &Filter::SOLID).found;
            if let Some([near, hit]) = assert_same_distance([near, found], motion) {
                // A capsule may touch along a line: any point of it will do.
                let on_surface = far.closest_point(hit.point, 1.0, &Filter::SOLID).found;
                let off = on_surface.map_or(1.0, |on| on.distance);
                prop_assert!(near.distance == 0.0 || off < TOLERANCE * 20.0, "{}", off);
            }
            let within = |middle: [f64; 3]| Aabb::around(middle, [3.25; 3]);
            let near = triangles(&origin, &within(from));
            let found = triangles(&far, &within(there));
            prop_assert_eq!(near.len(), found.len());
            for (near, found) in near.iter().zip(&found) {
                prop_assert_eq!(near.voxel + at, found.voxel);
                for (near, found) in near.corners.iter().zip(found.corners) {
                    assert_near_points(*near, local(found, at), 1e-6, "corner");
                }
            }
        }
    }
}

#[test]
fn queries_from_beyond_the_limits_are_right_or_find_nothing() {
    let at = VoxelPos::splat(LIMIT - EDGE);
    let [_, collider] = colliders(&pair(3, at));
    let limit = f64::from(LIMIT);
    // Through the scene, which ends at the limit, from far beyond it.
    let through = [limit - 24.0, limit - 18.0, limit - 34.0];
    for away in [2.0, 1e3, 1e6, 3e9] {
        let from = [through[0], limit + away, through[2]];
        let hit = collider.ray(&Ray::new(from, [0.0, -1.0, 0.0], 1e10), &Filter::SOLID).found;
        let hit = hit.expect("the ball");
        assert_near(hit.point[1], limit - 9.0, 0.1, "top of the ball");
    }
    for value in [1.2e12, 1e30, 1e308, f64::MAX, f64::INFINITY, f64::NAN] {
        for from in [[value; 3], [-value; 3], [0.0, value, 0.0]] {
            let shape = Shape::Sphere { radius: 1.0 };
            for direction in [[0.0, -1.0, 0.0], [-1.0; 3], [value, 1.0, 0.0]] {
                let ray = Ray::new(from, direction, f64::INFINITY);
                assert!(collider.ray(&ray, &Filter::BOTH).found.is_none());
                collider.ray_any(&ray, &Filter::BOTH);
                let swept = collider.cast(&shape, from, direction, &Filter::BOTH).found;
                assert!(swept.is_none(), "{from:?} by {direction:?}");
            }
            assert!(collider.closest_point(from, 100.0, &Filter::BOTH).found.is_none());
            assert!(!collider.overlaps(&shape, from, &Filter::BOTH).found);
            let far = Aabb::around(from, [10.0; 3]);
            assert!(triangles(&collider, &far).is_empty());
            assert!(collider.unknown_in(&far).is_none());
        }
    }
}
