//! Bodies that a fill buries come out, soon and upward or sideways as is nearest, whatever
//! they are and however deep; and those that are not in the ground are left alone.

use crate::scene::{ROCK, Scene, flat, hills, kinds};
use rapier3d::prelude::*;
use terravox::collide::Filter;
use terravox::contacts::WayOut;
use terravox::voxel::Cell;
use terravox_rapier::{TerrainColliderOptions, TerrainColliders};

/// Steps in which a body is to be out: a second.
const SOON: usize = 60;

/// Fills a ball of rock, as a brush does.
fn fill(scene: &mut Scene, centre: Vector, radius: f32) {
    let reach = Vector::splat(radius + 1.0);
    let (low, high) =
        ((centre - reach).to_array().map(f64::from), (centre + reach).to_array().map(f64::from));
    let brush = |at: [f64; 3], old: Cell| {
        let at = at.map(|v| v as f32);
        let ball = (0.5 + radius - Vector::from(at).distance(centre)).clamp(0.0, 1.0);
        match (old.fraction().max(ball) * 256.0).round() as i32 {
            0 => Cell::AIR,
            units => Cell::new(ROCK, (units - 1) as u8),
        }
    };
    scene.terrain.edit_cells(low, high, brush).unwrap();
}

/// How far a point is in the ground, metres; 0 outside.
fn depth(scene: &mut Scene, at: Vector) -> f64 {
    let collider = scene.terrain.collider();
    let point = at.to_array().map(f64::from);
    match WayOut::find(collider, point) {
        Some(_) => collider.closest_point(point, 99.0, &Filter::SOLID).found.unwrap().distance,
        None => 0.0,
    }
}

#[test]
fn all_kinds_come_out_of_a_fill_at_all_depths_within_a_second() {
    for (name, collider) in kinds() {
        for deep in [0.2, 0.6, 1.1, 1.7, 2.6, 4.0, 6.5] {
            let mut scene = Scene::new(flat);
            let at = Vector::new(3.3, 0.9, -2.6);
            let body = scene.drop(collider.clone(), at.to_array());
            scene.steps(3);
            // The ball's top lies so far above the body's middle.
            let radius = 8.0;
            let top = scene.at(body).y + deep;
            fill(&mut scene, Vector::new(3.0, top - radius, -2.5), radius);
            assert!(depth(&mut scene, at) > f64::from(deep) * 0.8 - 0.1, "{name} is buried");
            let (mut freed, mut out) = (0, SOON);
            for step in 0..SOON {
                freed += scene.step().freed;
                let at = scene.at(body);
                if depth(&mut scene, at) == 0.0 {
                    out = out.min(step);
                } else {
                    out = SOON;
                }
            }
            assert!(out < SOON && freed > 0, "{name}, {deep} m deep: {}", scene.at(body));
            let speed = scene.world.bodies[body].linvel().length();
            assert!(speed < 12.0, "{name}, {deep} m deep, is thrown at {speed} m/s");
            scene.steps(240);
            let at = scene.at(body);
            assert_eq!(depth(&mut scene, at), 0.0, "{name}, {deep} m deep: {at}");
        }
    }
}

#[test]
fn what_sleeps_is_woken_and_comes_out() {
    let mut scene = Scene::new(flat);
    let body = scene.drop(ColliderBuilder::cuboid(0.5, 0.5, 0.5), [0.2, 0.6, 0.3]);
    scene.steps(150);
    assert!(scene.sleeps(body));
    fill(&mut scene, Vector::new(0.0, 0.0, 0.0), 3.0);
    let report = scene.step();
    assert_eq!((report.woken, report.freed), (1, 1), "{report:?}");
    scene.steps(SOON);
    let at = scene.at(body);
    assert!(at.y > 1.0 && depth(&mut scene, at) == 0.0, "{at}");
}

#[test]
fn a_body_in_a_wall_leaves_by_the_nearer_side() {
    // A wall two metres thick, its middle at x = 0.
    let mut scene = Scene::new(|p| (1.0 - p[0].abs()).max(-p[1]));
    for (x, side) in [(0.3, 1.0), (-0.4, -1.0), (0.05, 1.0)] {
        let body = scene.drop(ColliderBuilder::ball(0.4), [x, 4.0, 9.0 * x]);
        scene.steps(30);
        let at = scene.at(body);
        assert!(at.x * side > 1.3, "from {x} to {at}");
    }
}

#[test]
fn bodies_that_are_not_dynamic_or_do_not_meet_the_ground_stay() {
    let mut scene = Scene::new(flat);
    let at = Vector::new(0.3, -2.0, 0.4);
    let kinematic = RigidBodyBuilder::kinematic_position_based().translation(at);
    let kinematic = scene.world.insert(kinematic, ColliderBuilder::ball(0.5)).0;
    let ghost = InteractionGroups::none();
    let still = || RigidBodyBuilder::dynamic().translation(at).gravity_scale(0.0);
    let ghost = scene.world.insert(still(), ColliderBuilder::ball(0.5).collision_groups(ghost)).0;
    let sensor = scene.world.insert(still(), ColliderBuilder::ball(0.5).sensor(true)).0;
    for _ in 0..30 {
        assert_eq!(scene.step().freed, 0);
    }
    for body in [kinematic, ghost, sensor] {
        assert_eq!(scene.at(body), at);
    }
}

#[test]
fn locked_axes_stay_locked_in_the_ground() {
    let mut scene = Scene::new(flat);
    let at = |x: f32| [x, -0.8, 0.3];
    let [fixed, up, across] = [0.0, 8.0, 16.0].map(|x| {
        let body = scene.drop(ColliderBuilder::ball(0.4), at(x));
        scene.world.bodies[body].set_gravity_scale(0.0, true);
        body
    });
    let lock = |scene: &mut Scene, body: RigidBodyHandle, axes| {
        scene.world.bodies[body].set_locked_axes(axes, true);
    };
    lock(&mut scene, fixed, LockedAxes::TRANSLATION_LOCKED);
    lock(&mut scene, up, LockedAxes::TRANSLATION_LOCKED_X | LockedAxes::TRANSLATION_LOCKED_Z);
    lock(&mut scene, across, LockedAxes::TRANSLATION_LOCKED_Y);
    for _ in 0..SOON {
        assert!(scene.step().freed <= 2);
    }
    assert_eq!(scene.at(fixed), Vector::from(at(0.0)));
    let [risen, kept] = [scene.at(up), scene.at(across)];
    assert!((risen.x, risen.z) == (8.0, 0.3) && risen.y > -0.1, "{risen}");
    assert_eq!(kept.y, -0.8);
}

#[test]
fn nothing_is_freed_that_rests_or_rolls_and_none_if_the_user_says_so() {
    let mut scene = Scene::new(hills);
    for (k, (_, collider)) in kinds().into_iter().enumerate() {
        for i in 0..4 {
            scene.drop(collider.clone(), [k as f32 * 5.0 - 14.0, 4.5, i as f32 * 5.0 - 9.0]);
        }
    }
    for _ in 0..300 {
        assert_eq!(scene.step().freed, 0);
    }
    let mut scene = Scene::new(flat);
    scene.ground = TerrainColliders::new(TerrainColliderOptions {
        freed_voxels: 0.0,
        ..TerrainColliderOptions::default()
    });
    let body = scene.drop(ColliderBuilder::ball(0.5), [0.0, -5.0, 0.0]);
    scene.world.bodies[body].set_gravity_scale(0.0, true);
    scene.steps(30);
    assert_eq!(scene.at(body).y, -5.0);
}
