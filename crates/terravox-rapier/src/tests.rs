//! Parts against the triangles that they are made of.

use std::sync::Arc;

use proptest::prelude::*;
use rapier3d::parry::math::Vector;
use rapier3d::parry::query::details::NormalConstraints;
use rapier3d::parry::query::{PointQuery, Ray, RayCast};
use rapier3d::parry::shape::{CompositeShape, Triangle};
use terravox::collide::{BuildPolicy, Collider, CollisionBlock, LocalRay, QuadBvh};
use terravox::voxel::{Cell, DenseBox, Region, VoxelGrid};

use crate::ground::{BlockGround, GroundScratch, grounds};
use crate::parry_0_31::GroundShape;

const MATERIALS: [u8; 3] = [4, 6, 8];

/// Rough ground of three materials about a corner where eight blocks meet, with plates,
/// spikes and single cells.
fn world(seed: u64) -> Collider {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([-12, -12, -12], [12, 12, 12]));
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let tilt = [next() - 0.5, next() - 0.5];
    for voxel in cells.region().voxels() {
        let [x, y, z] = voxel.to_array().map(|v| v as f32 + 0.5);
        let height = x * tilt[0] + z * tilt[1] + 2.0 * (x * 0.6).sin() * (z * 0.5).cos();
        let odd = next() < 0.01;
        let inside = if odd { next() } else { (0.5 + height - y).clamp(0.0, 1.0) };
        if inside > 0.0 {
            let material = MATERIALS[(voxel.x.rem_euclid(5) / 2) as usize];
            cells.set(voxel, Cell { material, occupancy: (inside * 255.0) as u8 });
        }
    }
    let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    let mut collider = Collider::default();
    collider.update(&grid);
    collider
}

/// The blocks of a world, their surfaces and their grounds.
fn all_grounds(collider: &Collider) -> Vec<(CollisionBlock, &QuadBvh, Vec<BlockGround>)> {
    let mut scratch = GroundScratch::default();
    let mut all = Vec::new();
    for block in Region::new([-16; 3], [16; 3]).blocks::<3>() {
        let Ok(Some(surfaces)) = collider.block(block, BuildPolicy::Build) else { continue };
        let Some(tree) = surfaces.solid else { continue };
        let made = grounds(tree, block, collider.snapshot(), 0.5, &mut scratch);
        all.push((block, tree, made.into_iter().map(|made| made.1).collect()));
    }
    assert!(all.len() >= 4);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_triangle_belongs_to_one_part_but_those_that_fold_back(seed in any::<u64>()) {
        let collider = world(seed);
        for (_, tree, grounds) in all_grounds(&collider) {
            for quad in 0..tree.quad_count() as u16 {
                let info = tree.quad(quad);
                for (i, second) in [false, true].into_iter().enumerate() {
                    let owners = grounds.iter().filter(|g| g.part_of(quad, second).is_some());
                    let folded = info.reversed[i] && !info.reversed[1 - i];
                    prop_assert_eq!(owners.count(), usize::from(!info.flat[i] && !folded));
                }
            }
            let triangles: usize = grounds.iter().map(BlockGround::triangle_count).sum();
            prop_assert!(triangles <= tree.triangle_count());
        }
    }

    #[test]
    fn boxes_hold_their_parts_and_normals_point_out(seed in any::<u64>()) {
        let collider = world(seed);
        for (_, _, grounds) in all_grounds(&collider) {
            for ground in &grounds {
                let whole = ground.bounds();
                for part in 0..ground.part_count() as u32 {
                    let facet = ground.facet(part);
                    let bounds = ground.part_bounds(part);
                    for corner in &facet.corners[..facet.count] {
                        for i in 0..3 {
                            prop_assert!(bounds.min[i] <= corner[i] && corner[i] <= bounds.max[i]);
                            prop_assert!(whole.min[i] <= bounds.min[i] && bounds.max[i] <= whole.max[i]);
                        }
                    }
                    let length = Vector::from(facet.normal).length();
                    prop_assert!((length - 1.0).abs() < 1e-4);
                    prop_assert!((0.0..=0.7).contains(&facet.depth));
                }
            }
        }
    }

    #[test]
    fn rays_meet_the_nearest_triangle_of_the_own_ground(
        seed in any::<u64>(),
        rays in proptest::collection::vec((prop::array::uniform3(-2.0f32..6.0), prop::array::uniform3(-1.0f32..1.0)), 40),
    ) {
        let collider = world(seed);
        for (_, _, grounds) in all_grounds(&collider) {
            for ground in grounds {
                let (vertices, indices) = ground.mesh();
                let shape = GroundShape::new(Arc::new(ground)).unwrap();
                for &(origin, dir) in &rays {
                    let ray = Ray::new(origin.into(), dir.into());
                    let naive = indices.iter().filter_map(|index| {
                        let [a, b, c] = index.map(|i| Vector::from(vertices[i as usize]));
                        Triangle::new(a, b, c).cast_local_ray(&ray, 20.0, false)
                    });
                    let naive = naive.fold(f32::INFINITY, f32::min);
                    let met = shape.cast_local_ray_and_get_normal(&ray, 20.0, false);
                    let t = met.map_or(f32::INFINITY, |met| met.time_of_impact);
                    // Edges have a hair of width.
                    let same = t == naive || (t - naive).abs() < 1e-3;
                    prop_assert!(same || t < naive && t > 0.0 && on_edge(&vertices, &indices, &ray, t), "{t} {naive}");
                }
            }
        }
    }

    #[test]
    fn two_faces_never_claim_the_same_ground(seed in any::<u64>()) {
        let collider = world(seed);
        let (mut claims, mut thin) = (0, 0);
        for (_, tree, grounds) in all_grounds(&collider) {
            for ground in &grounds {
                for part in 0..ground.part_count() as u32 {
                    let facet = ground.facet(part);
                    let corners = facet.corners[..facet.count].iter().map(|&c| Vector::from(c));
                    let middle = corners.sum::<Vector>() / facet.count as f32 / 0.5;
                    let down = -Vector::from(facet.normal);
                    let from = middle + down * 0.02;
                    let ray = LocalRay::new(from.to_array(), down.to_array());
                    // The way to what lies behind, within this block.
                    let way = tree.first_hit(&ray, 0.0, 9.0).map_or(9.0, |hit| hit.t + 0.02);
                    claims += 1;
                    thin += usize::from(facet.depth / 0.5 > way + 0.05);
                }
            }
        }
        // Slanted plates of odd cells may be off.
        prop_assert!(thin * 50 <= claims, "{thin} of {claims}");
    }

    #[test]
    fn directions_are_turned_into_the_cone_and_no_farther(
        seed in any::<u64>(),
        directions in proptest::collection::vec(prop::array::uniform3(-1.0f32..1.0), 20),
    ) {
        let collider = world(seed);
        for (_, _, grounds) in all_grounds(&collider) {
            for ground in &grounds {
                let shape = GroundShape::new(Arc::new(ground.clone())).unwrap();
                for part in (0..ground.part_count() as u32).step_by(5) {
                    let plain = ground.facet(part);
                    let (facet, normal) = (shape.facet(part), Vector::from(plain.normal));
                    let widest = plain.turns[..plain.count].iter().map(|turn| turn[0]).fold(1.0, f32::min);
                    for direction in directions.iter().filter_map(|&d| Vector::from(d).try_normalize()) {
                        let mut turned = direction;
                        let taken = facet.project_local_normal_mut(&mut turned);
                        let cos = direction.dot(normal);
                        prop_assert_eq!(taken, cos >= 0.0 || cos < -0.7 && plain.is_thick);
                        prop_assert!(!taken || turned.dot(normal) >= widest - 1e-3);
                        prop_assert!((turned.length() - 1.0).abs() < 1e-3);
                        if cos >= 0.0 {
                            // In the plane of both, and never away from the direction.
                            prop_assert!(turned.cross(normal).dot(direction).abs() < 1e-3);
                            prop_assert!(turned.dot(direction) >= cos - 1e-3);
                        }
                    }
                }
            }
        }
    }
}

/// Whether a point of a ray is on a triangle to within a hair.
fn on_edge(vertices: &[[f32; 3]], indices: &[[u32; 3]], ray: &Ray, t: f32) -> bool {
    let point = ray.point_at(t);
    indices.iter().any(|index| {
        let [a, b, c] = index.map(|i| Vector::from(vertices[i as usize]));
        Triangle::new(a, b, c).distance_to_local_point(point, true) < 1e-3
    })
}

#[test]
fn level_ground_is_one_part_a_quad() {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([-8, -16, -8], [16, 0, 16]));
    cells.fill(8);
    let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    let mut collider = Collider::default();
    collider.update(&grid);
    let block = CollisionBlock::new(0, -1, 0);
    let Ok(Some(surfaces)) = collider.block(block, BuildPolicy::Build) else {
        unreachable!("ground")
    };
    let tree = surfaces.solid.unwrap();
    let made = grounds(tree, block, collider.snapshot(), 1.0, &mut GroundScratch::default());
    assert_eq!((made.len(), made[0].1.part_count(), made[0].1.triangle_count()), (1, 64, 128));
    for part in 0..64 {
        let facet = made[0].1.facet(part);
        assert_eq!((facet.count, facet.normal, facet.depth), (4, [0.0, 1.0, 0.0], 1.25));
        assert_eq!(facet.turns, [[1.0, 0.0]; 4]);
    }
    assert_eq!(made[0].1.voxel(0).map(|voxel| voxel.y), Some(-1));
    assert_eq!(made[0].1.voxel(64), None);
}

#[test]
fn a_lean_that_no_cosine_shows_is_taken_away_on_level_ground() {
    let collider = world(3);
    let (_, _, grounds) = &all_grounds(&collider)[0];
    let ground = Arc::new(grounds[0].clone());
    let shape = GroundShape::new(ground.clone()).unwrap();
    let flat = (0..ground.part_count() as u32).find(|&part| {
        let facet = ground.facet(part);
        facet.turns[..facet.count].iter().any(|turn| turn[1] == 0.0)
    });
    let part = flat.unwrap();
    let plain = ground.facet(part);
    let k = (0..plain.count).find(|&k| plain.turns[k][1] == 0.0).unwrap();
    let [a, b] = [k, (k + 1) % plain.count].map(|k| Vector::from(plain.corners[k]));
    let normal = Vector::from(plain.normal);
    let out = (b - a).cross(normal).normalize();
    let mut direction = (normal + out * 2e-4).normalize();
    assert!(shape.facet(part).project_local_normal_mut(&mut direction));
    assert_eq!(direction, normal);
}

#[test]
fn parts_that_are_not_there_are_not_handed_out() {
    let collider = world(5);
    let (_, _, grounds) = &all_grounds(&collider)[0];
    let shape = GroundShape::new(Arc::new(grounds[0].clone())).unwrap();
    let mut called = false;
    shape.map_part_at(grounds[0].part_count() as u32, &mut |_, _, _| called = true);
    assert!(!called);
    for bad in [f32::NAN, f32::INFINITY] {
        let point = Vector::new(bad, 0.0, 0.0);
        let _ = shape.project_local_point(point, true);
        let ray = Ray::new(point, Vector::Y);
        assert!(shape.cast_local_ray(&ray, 9.0, true).is_none());
    }
}
