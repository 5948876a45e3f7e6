//! Edits reach bodies in the same step, those that they touch and no others.

use crate::scene::{ROCK, Scene, flat};
use rapier3d::prelude::*;
use terravox::voxel::Cell;
use terravox_rapier::TerrainColliders;
use terravox_rapier::parry_0_31::GroundShape;

fn resting(scene: &mut Scene, at: [f32; 3]) -> RigidBodyHandle {
    let body = scene.drop(ColliderBuilder::cuboid(0.5, 0.5, 0.5), at);
    scene.steps(120);
    assert!(scene.sleeps(body));
    body
}

#[test]
fn what_sleeps_falls_in_the_step_of_the_edit_that_digs_below_it() {
    let mut scene = Scene::new(flat);
    let here = resting(&mut scene, [0.1, 0.6, 0.1]);
    let far = resting(&mut scene, [12.5, 0.6, 12.5]);
    let before = scene.at(here).y;
    scene.terrain.edit_cells([-2.0, -6.0, -2.0], [2.0, 0.0, 2.0], |_, _| Cell::AIR).unwrap();
    let report = scene.step();
    assert!(report.changed + report.removed > 0 && report.woken == 1, "{report:?}");
    assert!(scene.at(here).y < before, "it moves in the very step");
    assert!(scene.sleeps(far));
    scene.steps(200);
    assert!((scene.at(here).y + 5.5).abs() < 0.05, "{}", scene.at(here));
    assert!(scene.sleeps(here));
}

#[test]
fn what_sleeps_when_it_is_first_seen_or_moved_has_ground_and_is_woken_by_a_dig() {
    let mut scene = Scene::new(flat);
    let asleep = RigidBodyBuilder::dynamic().translation(Vector::new(0.1, 0.5, 0.1)).sleeping(true);
    let new = scene.world.insert(asleep, ColliderBuilder::cuboid(0.5, 0.5, 0.5)).0;
    let moved = resting(&mut scene, [12.5, 0.6, 12.5]);
    assert!(scene.sleeps(new));
    scene.world.bodies[moved].set_translation(Vector::new(-20.0, 0.5, 0.1), false);
    assert!(scene.sync().added > 0);
    for (body, x) in [(new, 0.0), (moved, -20.0)] {
        assert!(scene.sleeps(body));
        let dug = |_, _| Cell::AIR;
        scene.terrain.edit_cells([x - 2.0, -6.0, -2.0], [x + 2.0, 0.0, 2.0], dug).unwrap();
        assert_eq!(scene.step().woken, 1);
        scene.steps(200);
        assert!((scene.at(body).y + 5.5).abs() < 0.05, "{}", scene.at(body));
    }
}

#[test]
fn ground_that_appears_in_a_sleeping_body_pushes_it_out() {
    let mut scene = Scene::new(flat);
    // On a thin slab that leaves air in the block above.
    let body = resting(&mut scene, [3.5, 0.6, 3.5]);
    let fill = |_, _| Cell::full(ROCK);
    scene.terrain.edit_cells([0.0, 0.0, 0.0], [8.0, 0.9, 8.0], fill).unwrap();
    let report = scene.step();
    assert_eq!(report.woken, 1, "{report:?}");
    scene.steps(200);
    assert!((scene.at(body).y - 1.5).abs() < 0.05, "{}", scene.at(body));
}

#[test]
fn an_edit_in_the_air_changes_nothing() {
    let mut scene = Scene::new(flat);
    let body = resting(&mut scene, [3.5, 0.6, 3.5]);
    let dig = |_, _| Cell::AIR;
    scene.terrain.edit_cells([0.0, 1.0, 0.0], [8.0, 3.0, 8.0], dig).unwrap();
    let report = scene.step();
    assert_eq!((report.added, report.removed, report.changed), (0, 0, 0));
    scene.steps(60);
    assert!(scene.sleeps(body));
    // The same cells once more.
    let same = |_, cell| cell;
    scene.terrain.edit_cells([0.0, -2.0, 0.0], [8.0, 3.0, 8.0], same).unwrap();
    assert_eq!(scene.step().changed, 0);
}

#[test]
fn what_is_left_after_random_edits_is_what_a_fresh_start_has() {
    let mut scene = Scene::new(crate::scene::hills);
    let mut bodies = Vec::new();
    for i in 0..24 {
        let at = [(i % 6) as f32 * 5.0 - 12.0, 4.0, (i / 6) as f32 * 5.0 - 9.0];
        bodies.push(scene.drop(ColliderBuilder::ball(0.4), at));
    }
    let mut hash = 7u64;
    let mut next = move || {
        hash = hash.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (hash >> 40) as f32 / (1 << 24) as f32
    };
    for round in 0..120 {
        if round % 5 == 0 {
            let at = [next() * 30.0 - 15.0, next() * 8.0 - 6.0, next() * 30.0 - 15.0];
            let end = [at[0] + 3.0, at[1] + 3.0, at[2] + 3.0];
            let new = if next() < 0.7 { Cell::AIR } else { Cell::full(ROCK) };
            scene.terrain.edit_cells(at.map(f64::from), end.map(f64::from), |_, _| new).unwrap();
        }
        scene.step();
    }
    assert!(check_against_a_fresh_start(&mut scene) > 8);
}

/// Compares the ground of a scene with that of a fresh start, and returns its colliders.
fn check_against_a_fresh_start(scene: &mut Scene) -> usize {
    scene.sync();
    let shapes = |ground: &TerrainColliders, world: &PhysicsWorld| {
        let mut all: Vec<_> = ground
            .colliders()
            .map(|(block, handle)| {
                let collider = &world.colliders[handle];
                let shape = collider.shape().as_shape::<GroundShape>();
                (block, collider.friction().to_bits(), (**shape.unwrap().ground()).clone())
            })
            .collect();
        all.sort_by_key(|entry| (entry.0, entry.1));
        all
    };
    let kept = shapes(&scene.ground, &scene.world);
    let mut fresh = TerrainColliders::default();
    let PhysicsWorld { bodies, colliders, islands, .. } = &mut scene.world;
    fresh.sync(&scene.terrain, bodies, colliders, islands);
    let fresh = shapes(&fresh, &scene.world);
    for entry in &fresh {
        let same = kept.iter().find(|kept| (kept.0, kept.1) == (entry.0, entry.1));
        assert!(same.is_some_and(|kept| kept.2 == entry.2), "block {:?}", entry.0);
    }
    fresh.len()
}

#[test]
fn a_wall_that_is_dug_from_behind_is_as_thin_as_a_new_one() {
    // Its face is at the end of a block; the dig begins in the third voxel beyond.
    for behind in [9.0, 10.0, 11.0] {
        let mut scene = Scene::new(|[x, _, _]| x - 7.7);
        let floats = scene.drop(ColliderBuilder::ball(0.5), [7.0, 4.0, 4.0]);
        scene.world.bodies[floats].set_gravity_scale(0.0, true);
        scene.sync();
        let dug = |_, _| Cell::AIR;
        scene.terrain.edit_cells([behind, 0.0, 0.0], [14.0, 8.0, 8.0], dug).unwrap();
        let report = scene.sync();
        assert!(report.changed > 0 || behind > 10.0, "{report:?}");
        assert!(check_against_a_fresh_start(&mut scene) > 0);
    }
}

#[test]
fn another_terrain_takes_the_place_of_the_one_before() {
    let mut scene = Scene::new(|[_, y, _]| 5.0 - y);
    let body = resting(&mut scene, [0.1, 5.6, 0.1]);
    scene.terrain = Scene::new(flat).terrain; // another world in the same physics
    scene.steps(200);
    assert!((scene.at(body).y - 0.5).abs() < 0.05, "{}", scene.at(body));
}
