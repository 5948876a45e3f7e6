//! Bodies on terrain: they rest, are held everywhere, come out of the ground, and do not
//! pass it however fast.

use crate::scene::{Scene, flat, hills, kinds};
use rapier3d::prelude::*;

#[test]
fn all_kinds_come_to_rest_on_hills_across_block_borders() {
    let mut scene = Scene::new(hills);
    let mut bodies = Vec::new();
    for (k, (name, collider)) in kinds().into_iter().enumerate() {
        for i in 0..4 {
            // About the corners of blocks, on both sides of the origin.
            let at = [k as f32 * 8.0 - 24.3, 4.5, i as f32 * 8.0 - 15.8];
            let collider = collider.clone().friction(1.0);
            let body = scene.drop(collider, at);
            // Hills would let a ball roll for long.
            scene.world.bodies[body].set_angular_damping(3.0);
            bodies.push((name, body));
        }
    }
    scene.steps(1500);
    for (name, body) in bodies {
        let at = scene.at(body);
        let ground = hills([at.x, 0.0, at.z]);
        assert!(at.y > ground && at.y < ground + 1.2, "{name} at {at}, ground at {ground}");
        assert!(scene.sleeps(body), "{name} at {at}");
    }
}

#[test]
fn ground_is_there_only_where_bodies_are() {
    let mut scene = Scene::new(flat);
    assert_eq!(scene.step().added, 0);
    let ball = scene.drop(ColliderBuilder::ball(0.5), [3.5, 0.6, 3.5]);
    assert_eq!(scene.step().added, 1);
    scene.world.bodies[ball].set_translation(Vector::new(-20.0, 0.6, -20.0), true);
    let report = scene.step();
    assert!(report.added >= 1 && report.removed == 1, "{report:?}");
    scene.world.bodies[ball].set_translation(Vector::new(-20.0, 15.0, -20.0), true);
    scene.step();
    assert_eq!(scene.ground.colliders().count(), 0);
    scene.world.bodies[ball].set_translation(Vector::new(4.0, 0.6, 4.0), true);
    scene.step();
    scene.world.remove_body(ball);
    scene.steps(20);
    assert_eq!(scene.ground.colliders().count(), 0, "the body is gone");
}

#[test]
fn bodies_inside_by_less_than_their_size_come_out() {
    let mut scene = Scene::new(flat);
    let mut bodies = Vec::new();
    for (k, (name, collider)) in kinds().into_iter().enumerate() {
        for i in 0..8 {
            let at = [k as f32 * 5.0 - 13.1 + 0.37 * i as f32, -0.3, i as f32 * 4.3 - 15.2];
            bodies.push((name, scene.drop(collider.clone(), at)));
        }
    }
    scene.steps(180);
    for (name, body) in bodies {
        let at = scene.at(body);
        assert!(at.y > 0.05, "{name} at {at}");
    }
}

#[test]
fn what_is_fast_does_not_pass() {
    let mut scene = Scene::new(hills);
    let mut balls = Vec::new();
    for i in 0..60 {
        let [x, z] = [(i % 8) as f32 * 5.3 - 20.0, (i / 8) as f32 * 5.1 - 18.0];
        let ball = scene.drop(ColliderBuilder::ball(0.25), [x, 12.0 + 0.1 * i as f32, z]);
        scene.world.bodies[ball].set_linvel(Vector::new(0.3 * i as f32, -300.0, -20.0), true);
        balls.push(ball);
    }
    scene.steps(30);
    for ball in balls {
        let at = scene.at(ball);
        assert!(at.y > hills([at.x, 0.0, at.z]) - 0.05, "at {at}");
    }
}

#[test]
fn a_thin_floor_holds_from_above_and_stops_from_below() {
    // A plate one voxel thick.
    let mut scene = Scene::new(|p| 0.5 - (p[1] - 8.5).abs());
    let above = scene.drop(ColliderBuilder::ball(0.3), [0.3, 10.0, 0.4]);
    let below = scene.drop(ColliderBuilder::ball(0.3), [5.3, 7.0, 0.4]);
    let pressed = scene.drop(ColliderBuilder::ball(0.3), [5.3, 7.75, 4.4]);
    for body in [below, pressed] {
        scene.world.bodies[body].set_gravity_scale(-1.0, true);
    }
    scene.steps(120);
    let heights = [above, below, pressed].map(|body| scene.at(body).y);
    assert!((heights[0] - 9.3).abs() < 0.02, "{heights:?}");
    assert!((heights[1] - 7.7).abs() < 0.02, "{heights:?}");
    assert!((heights[2] - 7.7).abs() < 0.02, "{heights:?}");
}

#[test]
fn among_thousands_of_bodies_one_that_replaces_another_has_ground_at_once() {
    let mut scene = Scene::new(flat);
    for _ in 0..1100 {
        scene.world.bodies.insert(RigidBodyBuilder::fixed());
    }
    let bullet = || ColliderBuilder::ball(0.25);
    let spent = scene.drop(bullet(), [20.0, 0.3, 0.0]);
    let sleeps = scene.drop(bullet(), [0.0, 0.3, 20.0]);
    scene.steps(200);
    assert!(scene.sleeps(sleeps));
    scene.world.remove_body(spent);
    let new = scene.drop(bullet(), [-20.0, 1.0, 0.0]);
    scene.world.bodies[new].set_linvel(Vector::new(0.0, -100.0, 0.0), true);
    assert!(scene.sync().added > 0);
    scene.world.step();
    scene.world.bodies[sleeps].set_translation(Vector::new(0.0, 0.3, -20.0), true);
    assert!(scene.sync().added > 0);
    scene.steps(60);
    assert!(scene.at(new).y > 0.0 && scene.at(sleeps).y > 0.0);
}

#[test]
fn several_worlds_share_one_terrain() {
    let mut scene = Scene::new(flat);
    let mut other = (PhysicsWorld::new(), terravox_rapier::TerrainColliders::default());
    let here = scene.drop(ColliderBuilder::ball(0.5), [1.0, 1.0, 1.0]);
    let body = RigidBodyBuilder::dynamic().translation(Vector::new(-9.0, 1.0, 1.0));
    let there = other.0.insert(body, ColliderBuilder::ball(0.5)).0;
    for _ in 0..120 {
        scene.step();
        let PhysicsWorld { bodies, colliders, islands, .. } = &mut other.0;
        other.1.sync(&scene.terrain, bodies, colliders, islands);
        other.0.step();
    }
    assert!((scene.at(here).y - 0.5).abs() < 0.02);
    assert!((other.0.bodies[there].translation().y - 0.5).abs() < 0.02);
    let blocks = |ground: &terravox_rapier::TerrainColliders| {
        ground.colliders().map(|c| c.0).collect::<Vec<_>>()
    };
    assert_ne!(blocks(&scene.ground), blocks(&other.1));
}
