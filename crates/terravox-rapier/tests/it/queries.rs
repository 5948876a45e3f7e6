//! Rays, shape casts and the character controller on terrain, and what they say of it.

use crate::scene::{ROCK, Scene, flat, hills};
use rapier3d::control::KinematicCharacterController;
use rapier3d::parry::query::ShapeCastOptions;
use rapier3d::prelude::*;
use terravox::collide::Filter;
use terravox::terrain::Placement;
use terravox::voxel::Cell;
use terravox_rapier::GroundHit;

const SAND: u8 = 6;

/// A scene with ground ready within 20 m, and the broad phase up to date.
fn ready(placement: Placement, inside_m: impl Fn([f32; 3]) -> f32) -> Scene {
    let mut scene = Scene::placed(placement, inside_m);
    scene.ground.keep_ready([-20.0; 3], [20.0; 3]);
    scene.sync();
    scene.world.step();
    scene
}

fn surface(scene: &mut Scene, hit: ColliderHandle, part: u32) -> GroundHit {
    let terrain = scene.terrain.collider();
    scene.ground.surface(terrain, &scene.world.colliders, hit, part).unwrap()
}

#[test]
fn rays_meet_what_the_collider_itself_says_at_any_size_and_place() {
    let placements = [
        Placement::default(),
        Placement { voxel_size_m: 0.5, origin_m: [3.25, -1.5, 0.1] },
        Placement { voxel_size_m: 2.0, origin_m: [-100.0, 1.0, 7.0] },
    ];
    for placement in placements {
        let scene = ready(placement, hills);
        let mut hits = 0;
        for i in 0..200 {
            let origin = [(i % 20) as f32 * 1.7 - 16.3, 12.0, (i / 20) as f32 * 3.1 - 14.2];
            let direction = Vector::new((i % 7) as f32 * 0.1 - 0.3, -1.0, (i % 5) as f32 * 0.1);
            let direction = direction.normalize();
            let expected =
                scene.terrain.ray(origin.map(f64::from), direction.to_array(), 20.0).hit();
            let ray = Ray::new(origin.into(), direction);
            let filter = QueryFilter::default();
            let met = scene.world.cast_ray_and_get_normal(&ray, 20.0, true, filter);
            let (Some(expected), Some((collider, met))) = (expected, met) else {
                assert!(expected.is_none() && met.is_none(), "ray {i}");
                continue;
            };
            hits += 1;
            assert!((met.time_of_impact - expected.distance_m as f32).abs() < 1e-3, "ray {i}");
            assert!(met.normal.dot(Vector::from(expected.normal)) > 0.999, "ray {i}");
            let terrain = scene.terrain.collider();
            let surface = scene
                .ground
                .surface(terrain, &scene.world.colliders, collider, met.subshape)
                .unwrap();
            assert_eq!((surface.material, surface.voxel), (ROCK, expected.voxel), "ray {i}");
        }
        assert!(hits > 100, "{hits}");
    }
}

#[test]
fn hits_name_the_material_and_ground_of_other_friction_is_apart() {
    let mut scene = Scene::new(flat);
    let sand =
        |_, cell: Cell| if cell.occupancy > 0 { Cell { material: SAND, ..cell } } else { cell };
    scene.terrain.edit_cells([0.0, -1.0, 0.0], [4.0, 0.0, 8.0], sand).unwrap();
    scene.ground.keep_ready([-9.0; 3], [9.0; 3]);
    scene.sync();
    scene.world.step();
    let materials = scene.terrain.grid().materials();
    let apart = materials.get(SAND).unwrap().friction != materials.get(ROCK).unwrap().friction;
    for (x, expected) in [(1.5, SAND), (6.5, ROCK), (-1.5, ROCK)] {
        let ray = Ray::new(Vector::new(x, 3.0, 1.3), Vector::new(0.0, -1.0, 0.0));
        let hit = scene.world.cast_ray_and_get_normal(&ray, 9.0, true, QueryFilter::default());
        let (collider, hit) = hit.unwrap();
        let surface = surface(&mut scene, collider, hit.subshape);
        assert_eq!(surface.material, expected);
        let friction = scene.terrain.grid().materials().get(expected).unwrap().friction;
        assert_eq!(scene.world.colliders[collider].friction(), friction);
    }
    let mixed = scene
        .ground
        .colliders()
        .filter(|(block, _)| [block.x, block.y, block.z] == [0, -1, 0])
        .count();
    assert_eq!(mixed, if apart { 2 } else { 1 });
    let ball = scene.drop(ColliderBuilder::ball(0.5), [1.5, 0.6, 1.5]);
    scene.steps(60);
    let pair = scene.world.contact_pairs().find(|pair| pair.has_any_active_contact()).unwrap();
    let ground = if scene.world.colliders[pair.collider1].parent().is_some() {
        pair.collider2
    } else {
        pair.collider1
    };
    let touching =
        pair.rigid().unwrap().manifolds.iter().find(|manifold| !manifold.points.is_empty());
    let touching = touching.unwrap();
    let part = if ground == pair.collider1 { touching.subshape1 } else { touching.subshape2 };
    assert_eq!(surface(&mut scene, ground, part).material, SAND);
    assert!(scene.at(ball).y > 0.4);
}

#[test]
fn shape_casts_stop_at_the_ground() {
    let mut scene = ready(Placement::default(), hills);
    let shape = SharedShape::ball(0.5);
    for i in 0..40 {
        let at = Vector::new(i as f32 * 0.7 - 13.9, 9.0, (i * i % 29) as f32 - 14.2);
        let pose = Pose::from_translation(at);
        let options = ShapeCastOptions { max_time_of_impact: 30.0, ..Default::default() };
        let down = Vector::new(0.0, -1.0, 0.0);
        let hit = scene.world.cast_shape(&pose, down, &*shape, options, QueryFilter::default());
        let (collider, hit) = hit.unwrap();
        let expected = {
            let ball = terravox::geometry::Shape::Sphere { radius: 0.5 };
            let from = at.to_array().map(f64::from);
            scene.terrain.collider().cast(&ball, from, [0.0, -30.0, 0.0], &Filter::SOLID)
        };
        let expected = expected.found.unwrap();
        assert!((f64::from(hit.time_of_impact) - expected.distance).abs() < 2e-2, "cast {i}");
        let part = if hit.subshape1 != 0 { hit.subshape1 } else { hit.subshape2 };
        assert_eq!(surface(&mut scene, collider, part).material, ROCK);
    }
}

#[test]
fn rays_that_are_none_meet_nothing() {
    let scene = ready(Placement::default(), hills);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let ray = Ray::new(Vector::new(bad, 3.0, 0.0), Vector::new(0.0, -1.0, 0.0));
        assert!(scene.world.cast_ray(&ray, 30.0, true, QueryFilter::default()).is_none());
    }
}

/// Walks a character over the hills; returns where it got and how often it was grounded.
fn walk(scene: &mut Scene, synced: bool) -> (Vector, usize) {
    let start = Vector::new(-12.0, 4.0, -3.0);
    let body = RigidBodyBuilder::kinematic_position_based().translation(start);
    let (body, _) = scene.world.insert(body, ColliderBuilder::capsule_y(0.5, 0.4));
    let controller = KinematicCharacterController::default();
    let shape = SharedShape::capsule_y(0.5, 0.4);
    let (dt, mut grounded) = (1.0 / 60.0, 0);
    for step in 0..600 {
        if synced {
            scene.sync();
        }
        scene.world.step();
        let PhysicsWorld { bodies, colliders, broad_phase, narrow_phase, .. } = &mut scene.world;
        let filter = QueryFilter::default().exclude_rigid_body(body);
        let dispatcher = narrow_phase.query_dispatcher();
        let queries = broad_phase.as_query_pipeline(dispatcher, bodies, colliders, filter);
        let wish = Vector::new(3.0, -2.5, 0.4) * dt;
        let at = bodies[body].position();
        let moved = controller.move_shape(dt, &queries, &*shape, at, wish, |_| {});
        if step >= 120 {
            grounded += usize::from(moved.grounded);
        }
        let to = bodies[body].translation() + moved.translation;
        bodies[body].set_next_kinematic_translation(to);
    }
    (scene.at(body), grounded)
}

#[test]
fn a_character_walks_over_hills_and_is_grounded_as_on_one_mesh() {
    let mut scene = Scene::new(hills);
    let (at, grounded) = walk(&mut scene, true);
    let mut other = Scene::new(hills);
    let mesh = crate::scene::one_mesh(&mut other.terrain);
    other.world.insert_collider(mesh, None);
    let (mesh_at, mesh_grounded) = walk(&mut other, false);
    let figures = format!("{at} {grounded}, on one mesh {mesh_at} {mesh_grounded}");
    assert!(at.x > 2.0 && at.y > hills([at.x, 0.0, at.z]), "{figures}");
    assert!(grounded > 0 && grounded + 10 >= mesh_grounded, "{figures}");
    assert!((at - mesh_at).length() < 1.0, "{figures}");
}
