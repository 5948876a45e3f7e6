//! Bodies over ground that is not held wait until it is, whatever they are and whatever the
//! game does with them meanwhile.

use crate::scene::{ROCK, Scene, flat, hills};
use rapier3d::prelude::*;
use terravox::lod::LodOptions;
use terravox::terrain::{Budget, FillRequest, Placement, Terrain, TerrainOptions, Viewer};
use terravox_rapier::{RapierSets, TerrainColliderOptions, TerrainColliders};

const LOW: [f64; 3] = [-32.0, -32.0, -32.0];
const HIGH: [f64; 3] = [32.0, 32.0, 32.0];

/// Frames before the first ground comes.
const LATE: u32 = 90;

/// A scene of whose terrain nothing is known.
fn unknown() -> Scene {
    let mut world = PhysicsWorld::new();
    world.gravity = Vector::new(0.0, -9.81, 0.0);
    let terrain = Terrain::new(TerrainOptions::default());
    Scene { terrain, ground: TerrainColliders::default(), world }
}

/// Level ground below y = 0 comes, 32 m around the origin.
fn come(scene: &mut Scene) {
    let fill = |request: &mut FillRequest<'_>| request.fill_sdf(ROCK, |p| -p[1]);
    scene.terrain.fill(LOW, HIGH, fill).unwrap();
}

fn ball() -> ColliderBuilder {
    ColliderBuilder::ball(0.5)
}

fn velocities(scene: &Scene, body: RigidBodyHandle) -> [Vector; 2] {
    let body = &scene.world.bodies[body];
    [body.linvel(), body.angvel()]
}

/// Drops 60 balls over hills that come 4 blocks a frame: how many were in the ground or below
/// it, and how many waited in the first frame and the last.
fn fallen(wait_for_ground: bool) -> (usize, usize, usize) {
    let lod = LodOptions { near_voxels: 24.0, max_mip: 2, ..LodOptions::default() };
    let terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    let ground = TerrainColliders::new(TerrainColliderOptions {
        wait_for_ground,
        ..TerrainColliderOptions::default()
    });
    let mut scene = Scene { terrain, ground, ..unknown() };
    let at = |i: i32| [(i % 10) as f32 * 3.0 - 13.0, 8.0, (i / 10) as f32 * 5.0 - 12.0];
    let balls: Vec<_> = (0..60).map(|i| scene.drop(ball(), at(i))).collect();
    let viewers = [Viewer { position_m: [0.0, 8.0, 0.0], distance_m: 60.0 }];
    let mut fallen = vec![false; balls.len()];
    let (mut first, mut last) = (0, 0);
    for frame in 0..490u32 {
        let fill = |request: &mut FillRequest<'_>| {
            request.fill_sdf(ROCK, |p| hills(p.map(|v| v as f32)).into())
        };
        // Long enough to fall through where it was to be.
        if frame >= LATE {
            scene.terrain.update(&viewers, Budget::Blocks(4), fill);
        }
        last = scene.step().waiting.len();
        first = if frame == 0 { last } else { first };
        for (fallen, &ball) in fallen.iter_mut().zip(&balls) {
            *fallen |= hills(scene.at(ball).to_array()) > 0.2;
        }
    }
    (fallen.iter().filter(|&&fallen| fallen).count(), first, last)
}

#[test]
fn no_ball_falls_through_a_world_that_is_still_coming_slow() {
    assert_eq!(fallen(true), (0, 60, 0));
    assert!(fallen(false).0 > 20, "else this test says nothing");
}

#[test]
fn a_body_waits_in_its_place_and_goes_on_as_it_was() {
    let mut scene = unknown();
    let body = scene.drop(ball(), [1.0, 3.0, 2.0]);
    let given = [Vector::new(1.0, -2.0, 0.5), Vector::new(0.0, 3.0, 0.0)];
    scene.world.bodies[body].set_linvel(given[0], true);
    scene.world.bodies[body].set_angvel(given[1], true);
    scene.world.bodies[body].set_locked_axes(LockedAxes::ROTATION_LOCKED_X, true);
    for _ in 0..300 {
        assert_eq!(scene.step().waiting, [body]);
    }
    assert_eq!(scene.at(body), Vector::new(1.0, 3.0, 2.0));
    assert!(scene.sleeps(body), "one that waits costs nothing");
    come(&mut scene);
    assert!(scene.sync().waiting.is_empty());
    assert_eq!(velocities(&scene, body), given);
    assert_eq!(scene.world.bodies[body].locked_axes(), LockedAxes::ROTATION_LOCKED_X);
    assert!(!scene.sleeps(body));
    scene.steps(200);
    assert!((scene.at(body).y - 0.5).abs() < 0.02, "{}", scene.at(body));
}

#[test]
fn air_that_is_known_is_fallen_through_and_ground_that_is_not_stops_what_is_fast() {
    let mut scene = unknown();
    come(&mut scene);
    let (slow, fast) = (scene.drop(ball(), [0.0, 20.0, 0.0]), scene.drop(ball(), [0.0, 8.0, 9.0]));
    scene.world.bodies[fast].set_linvel(Vector::new(200.0, 0.0, 0.0), true);
    scene.world.bodies[fast].enable_ccd(true);
    let mut waited = 0;
    for step in 0..120 {
        let report = scene.step();
        assert!(!report.waiting.contains(&slow));
        assert!(scene.at(fast).x < 32.0, "at {}", scene.at(fast));
        waited += usize::from(report.waiting.contains(&fast));
        assert!(waited > 0 || step < 20);
        assert!(waited == 0 || report.waiting == [fast], "it stops once and for all");
    }
    assert!(scene.at(slow).y < 10.0);
    let fill = |request: &mut FillRequest<'_>| request.fill_sdf(ROCK, |p| -p[1]);
    scene.terrain.fill([32.0, LOW[1], LOW[2]], [96.0, HIGH[1], HIGH[2]], fill).unwrap();
    assert!(scene.sync().waiting.is_empty());
    assert!(velocities(&scene, fast)[0].x > 199.0);
}

#[test]
fn nothing_pushes_a_body_that_waits_and_what_hangs_on_it_hangs() {
    let mut scene = unknown();
    let fill = |request: &mut FillRequest<'_>| request.fill_sdf(ROCK, |p| -p[1]);
    scene.terrain.fill([-32.0; 3], [0.0, 32.0, 32.0], fill).unwrap();
    // A beam that lies over known ground with one half.
    let waits = scene.drop(ColliderBuilder::cuboid(12.0, 0.5, 0.5), [0.2, 2.0, 0.2]);
    let hits = scene.drop(ball().density(50.0), [-20.0, 2.8, 0.2]);
    scene.world.bodies[hits].set_linvel(Vector::new(20.0, 0.0, 0.0), true);
    let hangs = scene.drop(ball(), [-12.2, 2.0, 9.0]);
    let holds = scene.drop(ball(), [-0.2, 4.0, 9.0]);
    let joint = SphericalJointBuilder::new()
        .local_anchor1(Vector::ZERO)
        .local_anchor2(Vector::new(12.0, 2.0, 0.0));
    scene.world.impulse_joints.insert(holds, hangs, joint, true);
    // Two that wait and are joined.
    let pair = [scene.drop(ball(), [20.0, 2.0, 0.0]), scene.drop(ball(), [22.0, 2.0, 0.0])];
    let joint = FixedJointBuilder::new()
        .local_anchor1(Vector::X)
        .local_anchor2(Vector::new(-1.0, 0.0, 0.0));
    scene.world.impulse_joints.insert(pair[0], pair[1], joint, true);
    let mut farthest = f32::MIN;
    for step in 0..180 {
        let waiting = scene.step().waiting;
        assert!([waits, holds, pair[0], pair[1]].iter().all(|body| waiting.contains(body)));
        if step < 30 {
            assert!(!waiting.contains(&hits) && !waiting.contains(&hangs));
            farthest = farthest.max(scene.at(hits).x);
        }
    }
    for (body, at) in [(waits, [0.2, 2.0, 0.2]), (holds, [-0.2, 4.0, 9.0])] {
        assert_eq!(scene.at(body), Vector::from(at));
    }
    for (body, at) in [(pair[0], [20.0, 2.0, 0.0]), (pair[1], [22.0, 2.0, 0.0])] {
        assert_eq!(scene.at(body), Vector::from(at));
    }
    assert!((-12.5..-11.9).contains(&farthest), "the end of the beam stopped it, at {farthest}");
    let reach = scene.at(hangs).distance(scene.at(holds));
    assert!((reach - 12.17).abs() < 0.2 && scene.at(hangs).is_finite(), "{reach}");
    come(&mut scene);
    scene.steps(240);
    for body in [waits, holds, hangs, pair[0], pair[1]] {
        assert!((0.3..2.8).contains(&scene.at(body).y), "at {}", scene.at(body));
    }
}

#[test]
fn what_the_game_does_meanwhile_counts() {
    let mut scene = unknown();
    let at = |x: f32| [x, 3.0, 0.0];
    let [gone, thrown, put, fixed, kinematic, off, unlocked] =
        [0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0].map(|x| scene.drop(ball(), at(x)));
    for body in [thrown, put, fixed, kinematic, off, unlocked] {
        scene.world.bodies[body].set_linvel(Vector::new(0.0, -1.0, 0.0), true);
    }
    scene.world.bodies[unlocked].set_locked_axes(LockedAxes::ROTATION_LOCKED, true);
    assert_eq!(scene.step().waiting.len(), 7);
    scene.world.remove_body(gone);
    let bodies = &mut scene.world.bodies;
    bodies[thrown].set_linvel(Vector::new(0.0, 4.0, 0.0), true);
    bodies[put].set_translation(at(7.0).into(), false);
    bodies[fixed].set_body_type(RigidBodyType::Fixed, true);
    bodies[kinematic].set_body_type(RigidBodyType::KinematicVelocityBased, true);
    bodies[off].set_enabled(false);
    bodies[unlocked].set_locked_axes(LockedAxes::TRANSLATION_LOCKED_X, true);
    // In the slot of the one that is gone.
    let new = scene.drop(ball(), [-4.0, 3.0, 0.0]);
    assert_eq!(new.into_raw_parts().0, gone.into_raw_parts().0);
    let report = scene.step();
    let mut expected = vec![new, thrown, put, unlocked];
    expected.sort_by_key(|handle| handle.into_raw_parts());
    assert_eq!(report.waiting, expected);
    scene.steps(200);
    let free = |body: &RigidBody| body.locked_axes() == LockedAxes::empty();
    for body in [fixed, kinematic, off] {
        assert!(free(&scene.world.bodies[body]));
    }
    let bodies = &mut scene.world.bodies;
    bodies[kinematic].set_body_type(RigidBodyType::Dynamic, true);
    bodies[off].set_enabled(true);
    assert!(scene.step().waiting.contains(&kinematic));
    // Rapier enables the colliders of a body in the step after it.
    let waiting = scene.step().waiting;
    assert!(waiting.contains(&off) && !waiting.contains(&fixed));
    come(&mut scene);
    assert!(scene.sync().waiting.is_empty());
    assert_eq!(velocities(&scene, thrown)[0], Vector::new(0.0, 4.0, 0.0));
    assert_eq!(velocities(&scene, put)[0], Vector::ZERO, "put there, at rest");
    assert!((-1.2..=-1.0).contains(&velocities(&scene, off)[0].y), "its own, and one step's");
    assert_eq!(scene.at(put), Vector::from(at(7.0)));
    assert_eq!(scene.world.bodies[unlocked].locked_axes(), LockedAxes::TRANSLATION_LOCKED_X);
    scene.steps(200);
    for body in [thrown, put, kinematic, off, unlocked, new] {
        assert!((scene.at(body).y - 0.5).abs() < 0.02, "at {}", scene.at(body));
    }
    assert_eq!(scene.at(fixed), Vector::from(at(9.0)));
}

#[test]
fn one_that_is_put_over_known_ground_goes_on_and_one_that_ground_leaves_waits() {
    let mut scene = unknown();
    come(&mut scene);
    let (far, here) = (scene.drop(ball(), [200.0, 5.0, 0.0]), scene.drop(ball(), [4.0, 0.5, 4.0]));
    scene.steps(200);
    assert!(scene.sleeps(here));
    assert_eq!(scene.step().waiting, [far]);
    scene.world.bodies[far].set_translation(Vector::new(0.0, 5.0, 0.0), true);
    assert!(scene.step().waiting.is_empty());
    // The ground goes, as that of far places does.
    let chunks = scene.terrain.grid().chunks();
    for chunk in chunks {
        scene.terrain.grid_mut().forget(chunk);
    }
    let waiting = scene.step().waiting;
    assert_eq!(waiting.len(), 2);
    let before = scene.at(here);
    scene.steps(100);
    assert_eq!(scene.at(here), before);
    come(&mut scene);
    scene.steps(200);
    assert!((scene.at(here).y - 0.5).abs() < 0.02 && (scene.at(far).y - 0.5).abs() < 0.02);
}

#[test]
fn only_bodies_that_ground_stops_wait() {
    let mut scene = unknown();
    let ghosts = InteractionGroups::new(Group::GROUP_1, Group::GROUP_2, InteractionTestMode::And);
    let options =
        TerrainColliderOptions { collision_groups: ghosts, ..TerrainColliderOptions::default() };
    scene.ground = TerrainColliders::new(options);
    let solid = scene.drop(ball(), [0.0, 3.0, 0.0]);
    let other = scene.drop(
        ball().collision_groups(InteractionGroups::new(
            Group::GROUP_3,
            Group::GROUP_3,
            InteractionTestMode::And,
        )),
        [4.0, 3.0, 0.0],
    );
    let sensor = scene.drop(ball().sensor(true), [8.0, 3.0, 0.0]);
    assert_eq!(scene.step().waiting, [solid]);
    scene.steps(30);
    assert!(scene.at(other).y < 2.0 && scene.at(sensor).y < 2.0 && scene.at(solid).y == 3.0);
}

#[test]
fn wide_sensors_neither_hold_a_body_nor_build_all_ground_around_it() {
    let mut scene = unknown();
    come(&mut scene);
    let wide = || ColliderBuilder::ball(200.0).sensor(true).density(0.0);
    let player = scene.drop(ball(), [0.0, 5.0, 0.0]);
    let trigger = wide();
    let PhysicsWorld { bodies, colliders, .. } = &mut scene.world;
    colliders.insert_with_parent(trigger, player, bodies);
    assert!(scene.step().waiting.is_empty(), "32 m away nothing is known");
    scene.steps(200);
    assert!((scene.at(player).y - 0.5).abs() < 0.02, "{}", scene.at(player));
    // Ground within 16 voxels, in blocks of 8.
    let blocks = |collider: ColliderBuilder| {
        let mut scene = Scene::new(flat);
        let sky = RigidBodyBuilder::kinematic_position_based().translation(Vector::Y);
        scene.world.insert(sky, collider);
        scene.sync();
        scene.ground.colliders().count()
    };
    let half_space = || ColliderBuilder::new(SharedShape::halfspace(Vector::Y));
    let excluded = InteractionGroups::none();
    assert!((9..=36).contains(&blocks(wide())), "{}", blocks(wide()));
    assert_eq!(blocks(half_space().sensor(true)), blocks(wide()));
    assert!((1..=4).contains(&blocks(ColliderBuilder::ball(0.5).sensor(true))), "of a bullet");
    assert_eq!(blocks(half_space().collision_groups(excluded)), 0);
}

#[test]
fn several_grounds_of_one_world_hold_a_body_together() {
    let mut scene = unknown();
    let mut other = Terrain::new(TerrainOptions::default());
    let mut others = TerrainColliders::default();
    let body = scene.drop(ball(), [0.0, 3.0, 0.0]);
    let given = Vector::new(1.0, 0.0, 0.0);
    scene.world.bodies[body].set_linvel(given, true);
    let fill = |request: &mut FillRequest<'_>| request.fill_sdf(ROCK, |p| -p[1]);
    // Each of the two becomes known first once.
    for first in [true, false] {
        let mut both = |scene: &mut Scene, other: &mut Terrain, steps: usize| {
            for _ in 0..steps {
                scene.sync();
                let PhysicsWorld { bodies, colliders, islands, .. } = &mut scene.world;
                others.sync(other, bodies, colliders, islands);
                scene.world.step();
            }
        };
        let at = scene.at(body);
        both(&mut scene, &mut other, 10);
        assert!((scene.at(body).y, scene.at(body).x) == (at.y, at.x));
        match first {
            true => come(&mut scene),
            false => other.fill(LOW, HIGH, fill).unwrap(),
        };
        both(&mut scene, &mut other, 10);
        assert!((scene.at(body).y, scene.at(body).x) == (at.y, at.x), "the other is unknown");
        match first {
            true => other.fill(LOW, HIGH, fill).unwrap(),
            false => come(&mut scene),
        };
        both(&mut scene, &mut other, 1);
        let dt = scene.world.integration_parameters.dt;
        assert!((scene.at(body).x - at.x - dt).abs() < 1e-4, "at {}", scene.at(body));
        for terrain in [&mut scene.terrain, &mut other] {
            for chunk in terrain.grid().chunks() {
                terrain.grid_mut().forget(chunk);
            }
        }
    }
}

#[test]
fn clearing_lets_bodies_go() {
    let mut scene = unknown();
    let body = scene.drop(ball(), [0.0, 3.0, 0.0]);
    scene.world.bodies[body].set_linvel(Vector::X, true);
    scene.steps(200);
    let PhysicsWorld { bodies, colliders, islands, .. } = &mut scene.world;
    scene.ground.clear(colliders, islands, bodies);
    assert_eq!(velocities(&scene, body)[0], Vector::X);
    assert_eq!(scene.world.bodies[body].locked_axes(), LockedAxes::empty());
    assert!(!scene.sleeps(body));
}

#[test]
fn the_origin_moves_and_nothing_is_built_anew() {
    let shift = Vector::new(512.0, -64.0, 1024.0);
    let mut scene = Scene::new(flat);
    let crates = ColliderBuilder::cuboid(0.5, 0.4, 0.6).friction(1.0);
    let bodies: Vec<_> = (0..12)
        .map(|i| scene.drop(crates.clone(), [i as f32 * 3.1 - 18.0, 4.0, i as f32]))
        .collect();
    scene.steps(400);
    let before: Vec<_> = bodies.iter().map(|&body| scene.at(body)).collect();
    let placement = scene.terrain.placement();
    let moved = |by: Vector| Placement {
        origin_m: [0, 1, 2].map(|i| placement.origin_m[i] + f64::from(by[i])),
        ..placement
    };
    // Once they are woken, once they sleep on.
    for (by, moved, wake) in [(shift, moved(shift), true), (-shift, placement, false)] {
        for &body in &bodies {
            let at = scene.at(body) + by;
            scene.world.bodies[body].set_translation(at, wake);
        }
        for step in 0..60 {
            let PhysicsWorld { bodies, colliders, islands, .. } = &mut scene.world;
            let sets = RapierSets { bodies, colliders, islands };
            let report = scene.ground.sync_with(scene.terrain.collider(), moved, sets);
            assert!(step > 0 || (report.added, report.removed, report.changed) == (0, 0, 0));
            assert!(report.waiting.is_empty());
            scene.world.step();
        }
    }
    for (&body, before) in bodies.iter().zip(before) {
        assert!(scene.at(body).distance(before) < 0.01, "{} was at {before}", scene.at(body));
    }
}
