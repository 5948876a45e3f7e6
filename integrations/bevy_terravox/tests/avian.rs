//! Bodies of Avian on terrain.
#![cfg(feature = "avian")]

use std::time::{Duration, Instant};

use avian3d::prelude::*;
use bevy::ecs::system::RunSystemOnce;
use bevy::mesh::MeshPlugin;
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;
use bevy_terravox::avian::{
    GroundCollider, TerrainColliderSettings, TerrainColliders, TerrainPhysicsStats,
    TerravoxAvianPlugin, WaitingForGround,
};
use bevy_terravox::prelude::*;
use bevy_terravox::{LoosePiece, TerrainChunks};

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, AssetPlugin::default(), MeshPlugin));
    app.add_plugins((PhysicsPlugins::default(), TerravoxPlugin::default()));
    app.add_plugins(TerravoxAvianPlugin::default());
    let step = Duration::from_secs_f64(1.0 / 60.0);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(step));
    app.insert_resource(Time::<Fixed>::from_duration(step));
    app.finish();
    app.cleanup();
    app
}

/// Rolling ground.
fn height(x: f64, z: f64) -> f64 {
    2.0 * (x * 0.15).sin() * (z * 0.12).cos()
}

fn options() -> TerrainOptions {
    let mut options = TerrainOptions::default();
    options.lod.max_mip = 2;
    options
}

fn hills() -> Terrain {
    Terrain::with_options(options(), |request| request.fill_height(2, -2.0..=2.0, height))
}

fn spawn_viewer(app: &mut App) {
    app.world_mut().spawn((TerrainViewer::new(60.0), Transform::from_xyz(0.0, 10.0, 0.0)));
}

fn spawn_ball(app: &mut App, at: Vec3) -> Entity {
    let body = (RigidBody::Dynamic, Collider::sphere(0.5), Friction::new(1.0), AngularDamping(3.0));
    app.world_mut().spawn((body, Transform::from_translation(at))).id()
}

fn settle(app: &mut App) {
    let start = Instant::now();
    loop {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
        let world = app.world_mut();
        let mut terrains = world.query::<(&Terrain, &TerrainChunks)>();
        if terrains.iter(world).all(|(terrain, _)| terrain.is_settled()) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "settling takes more than a minute");
    }
}

fn run(app: &mut App, steps: usize) {
    (0..steps).for_each(|_| app.update());
}

fn at(app: &App, body: Entity) -> Vec3 {
    app.world().get::<Position>(body).unwrap().0
}

fn sleeps(app: &App, body: Entity) -> bool {
    app.world().entity(body).contains::<Sleeping>()
}

fn dig(app: &mut App, point: Vec3, radius: f64) {
    let ray = move |terrains: Terrains, mut edits: MessageWriter<EditTerrain>| {
        let hit = terrains.ray(Ray3d::new(point, Dir3::NEG_Y), 50.0).expect("ground");
        edits
            .write(EditTerrain::new(hit.terrain, EditOp::dig_ball(hit.in_terrain.point_m, radius)));
    };
    app.world_mut().run_system_once(ray).unwrap();
}

#[test]
fn bodies_fall_on_terrain_and_rest_and_colliders_are_near_them_only() {
    let mut app = app();
    app.world_mut().spawn(hills());
    spawn_viewer(&mut app);
    settle(&mut app);
    let spots =
        (0..16).map(|i| Vec3::new((i % 4) as f32 * 5.0 - 8.0, 6.0, (i / 4) as f32 * 5.0 - 8.0));
    let balls: Vec<_> = spots.map(|spot| spawn_ball(&mut app, spot)).collect();
    // Balls roll down, boxes stay.
    for &ball in balls.iter().step_by(2) {
        app.world_mut().entity_mut(ball).insert(Collider::cuboid(1.0, 1.0, 1.0));
    }
    run(&mut app, 900);
    for &ball in &balls {
        let at = at(&app, ball);
        let ground = height(at.x.into(), at.z.into()) as f32;
        assert!(at.y > ground + 0.3 && at.y < ground + 0.8, "at {at}, ground {ground}");
    }
    let asleep = balls.iter().step_by(2).filter(|&&ball| sleeps(&app, ball)).count();
    // A ball may roll against one.
    assert!(asleep >= 6, "of eight boxes {asleep} rest");
    let world = app.world_mut();
    let count = world.query::<&GroundCollider>().iter(world).count();
    assert!(count > 0 && count < 16 * 8, "{count} colliders");
    balls.iter().for_each(|&ball| assert!(world.despawn(ball)));
    run(&mut app, 40);
    let world = app.world_mut();
    assert_eq!(world.query::<&GroundCollider>().iter(world).count(), 0);
}

#[test]
fn a_dig_under_a_sleeping_ball_wakes_it_in_the_next_step() {
    let mut app = app();
    app.world_mut()
        .spawn(Terrain::with_options(options(), |r| r.fill_height(2, 0.0..=0.0, |_, _| 0.0)));
    spawn_viewer(&mut app);
    settle(&mut app);
    let near = spawn_ball(&mut app, Vec3::new(0.5, 0.6, 0.5));
    let far = spawn_ball(&mut app, Vec3::new(20.5, 0.6, 0.5));
    run(&mut app, 200);
    assert!(sleeps(&app, near) && sleeps(&app, far));
    dig(&mut app, Vec3::new(0.5, 5.0, 0.5), 3.0);
    run(&mut app, 2);
    assert!(!sleeps(&app, near), "it sleeps on air");
    assert!(sleeps(&app, far), "nothing changed there");
    run(&mut app, 120);
    assert!(at(&app, near).y < -1.5, "{}", at(&app, near));
}

#[test]
fn bodies_wait_where_ground_has_not_come() {
    let mut app = app();
    let ball = spawn_ball(&mut app, Vec3::new(0.0, 4.0, 0.0));
    app.world_mut().entity_mut(ball).insert(LinearVelocity(Vec3::new(0.0, -3.0, 0.0)));
    app.world_mut().spawn(hills());
    run(&mut app, 120);
    assert!(app.world().entity(ball).contains::<WaitingForGround>());
    assert!((at(&app, ball).y - 4.0).abs() < 0.2, "{}", at(&app, ball));
    spawn_viewer(&mut app);
    settle(&mut app);
    let start = Instant::now();
    while app.world().entity(ball).contains::<WaitingForGround>() {
        run(&mut app, 1);
        assert!(start.elapsed() < Duration::from_secs(60), "it waits for ground that is there");
    }
    run(&mut app, 1);
    assert!(!app.world().entity(ball).contains::<LockedAxes>());
    run(&mut app, 300);
    let at = at(&app, ball);
    let ground = height(at.x.into(), at.z.into()) as f32;
    assert!((at.y - ground - 0.5).abs() < 0.2, "at {at}, ground {ground}");
}

/// An app with hills and a ball on them; the terrain and the ball.
fn app_with_ball() -> (App, Entity, Entity) {
    let mut app = app();
    let terrain = app.world_mut().spawn(hills()).id();
    spawn_viewer(&mut app);
    settle(&mut app);
    let ball = spawn_ball(&mut app, Vec3::new(0.0, 1.0, 0.0));
    run(&mut app, 200);
    (app, terrain, ball)
}

#[test]
fn bodies_that_a_fill_buries_come_out() {
    let (mut app, terrain, ball) = app_with_ball();
    let fill = EditOp::fill_ball(8, at(&app, ball).to_array().map(f64::from), 3.0);
    app.world_mut().write_message(EditTerrain::new(terrain, fill));
    run(&mut app, 3);
    assert!(app.world().resource::<TerrainPhysicsStats>().freed > 0);
    run(&mut app, 300);
    let at = at(&app, ball);
    let surface = app.world().get::<Terrain>(terrain).unwrap().ray(
        [f64::from(at.x), 20.0, f64::from(at.z)],
        [0.0, -1.0, 0.0],
        50.0,
    );
    let ground = surface.hit().expect("ground").point_m[1] as f32;
    assert!(at.y > ground + 0.2, "at {at}, ground {ground}");
    assert_eq!(app.world().resource::<TerrainPhysicsStats>().freed, 0);
}

#[test]
fn balls_rest_on_a_terrain_that_is_moved_and_turned() {
    let mut app = app();
    let turn = Quat::from_rotation_z(0.2);
    let place = Transform::from_xyz(3.0, -4.0, 1.0).with_rotation(turn);
    let plain = Terrain::with_options(options(), |r| r.fill_height(2, 0.0..=0.0, |_, _| 0.0));
    let terrain = app.world_mut().spawn((plain, place)).id();
    spawn_viewer(&mut app);
    settle(&mut app);
    let body = (RigidBody::Dynamic, Collider::cuboid(1.0, 1.0, 1.0), Friction::new(1.0));
    let on = place.transform_point(Vec3::new(2.0, 1.0, 2.0));
    let body =
        app.world_mut().spawn((body, Transform::from_translation(on).with_rotation(turn))).id();
    run(&mut app, 300);
    let inside = place.to_matrix().inverse().transform_point3(at(&app, body));
    assert!((inside.y - 0.5).abs() < 0.1, "{inside}");
    // The terrain moves up and takes the colliders along.
    app.world_mut().get_mut::<Transform>(terrain).unwrap().translation.y += 0.2;
    run(&mut app, 200);
    let inside = place.to_matrix().inverse().transform_point3(at(&app, body));
    assert!((inside.y - 0.7).abs() < 0.15, "{inside}");
}

#[test]
fn a_piece_that_is_cut_loose_falls_and_rests() {
    let mut app = app();
    let tower = |p: [f64; 3]| {
        let pillar = (2.0 - p[0].abs().max(p[2].abs())).min(14.0 - p[1]);
        (-p[1]).max(pillar)
    };
    let terrain = app
        .world_mut()
        .spawn((
            Terrain::with_options(options(), move |request| request.fill_sdf(8, tower)),
            LoosePieces::default(),
        ))
        .id();
    spawn_viewer(&mut app);
    settle(&mut app);
    let cut = EditOp::dig_ball([0.0, 4.0, 0.0], 3.5);
    app.world_mut().write_message(EditTerrain::new(terrain, cut));
    run(&mut app, 3);
    let world = app.world_mut();
    let mut pieces = world.query_filtered::<(Entity, &Mass), With<LoosePiece>>();
    let (piece, mass) = pieces.single(world).unwrap();
    assert!(mass.0 > 150_000.0, "{mass:?}");
    let before = at(&app, piece).y;
    run(&mut app, 600);
    let fallen = before - at(&app, piece).y;
    assert!(fallen > 2.0 && fallen < 20.0, "fell by {fallen} m");
    let colliders = app.world().get::<TerrainColliders>(terrain).unwrap();
    assert!(colliders.block_count() > 0);
}

#[test]
fn a_body_that_waits_stays_in_place_and_resumes_with_what_was_set_meanwhile() {
    let mut app = app();
    let ball = spawn_ball(&mut app, Vec3::new(0.0, 4.0, 0.0));
    app.world_mut().entity_mut(ball).insert(LinearVelocity(Vec3::NEG_Y * 3.0));
    app.world_mut().spawn(hills());
    run(&mut app, 10);
    let kept = app.world().get::<WaitingForGround>(ball).unwrap().linear;
    assert!((kept.y + 3.0).abs() < 0.5, "what it had: {kept}");
    let before = at(&app, ball);
    for _ in 0..60 {
        assert!(app.world().entity(ball).contains::<WaitingForGround>());
        app.world_mut().get_mut::<LinearVelocity>(ball).unwrap().0 = Vec3::NEG_Y * 20.0;
        run(&mut app, 1);
    }
    assert_eq!(at(&app, ball), before);
    let set = (LinearVelocity(Vec3::X), LockedAxes::ROTATION_LOCKED);
    app.world_mut().entity_mut(ball).insert(set);
    run(&mut app, 2);
    let locked = |app: &App| app.world().get::<LockedAxes>(ball).map(|axes| axes.to_bits());
    assert_eq!(app.world().get::<WaitingForGround>(ball).unwrap().linear, Vec3::X);
    assert_eq!(locked(&app), Some(LockedAxes::ALL_LOCKED.to_bits()));
    assert_eq!(at(&app, ball), before);
    spawn_viewer(&mut app);
    let start = Instant::now();
    while app.world().entity(ball).contains::<WaitingForGround>() {
        run(&mut app, 1);
        std::thread::sleep(Duration::from_millis(1));
        assert!(start.elapsed() < Duration::from_secs(60), "it waits for ground that is there");
    }
    let velocity = app.world().get::<LinearVelocity>(ball).unwrap().0;
    assert!((velocity.x - 1.0).abs() < 0.01, "{velocity}");
    assert_eq!(locked(&app), Some(LockedAxes::ROTATION_LOCKED.to_bits()));
}

#[test]
fn bodies_in_the_ground_are_not_moved_while_physics_is_paused() {
    let (mut app, terrain, ball) = app_with_ball();
    app.world_mut().resource_mut::<Time<Physics>>().pause();
    // The step in which it is paused may still take place.
    run(&mut app, 2);
    let before = at(&app, ball);
    let fill = EditOp::fill_ball(8, before.to_array().map(f64::from), 3.0);
    app.world_mut().write_message(EditTerrain::new(terrain, fill));
    for _ in 0..20 {
        run(&mut app, 1);
        assert_eq!(app.world().resource::<TerrainPhysicsStats>().freed, 0);
    }
    assert_eq!(at(&app, ball), before);
    app.world_mut().resource_mut::<Time<Physics>>().unpause();
    run(&mut app, 60);
    assert!(at(&app, ball).distance(before) > 0.5, "{}", at(&app, ball));
}

#[test]
fn a_terrain_that_is_replaced_or_removed_takes_its_colliders_along() {
    let mut app = app();
    let plain = |height: f64| {
        Terrain::with_options(options(), move |r| {
            r.fill_height(2, height..=height, |_, _| height);
        })
    };
    let terrain = app.world_mut().spawn(plain(0.0)).id();
    spawn_viewer(&mut app);
    settle(&mut app);
    let ball = spawn_ball(&mut app, Vec3::new(0.5, 0.6, 0.5));
    run(&mut app, 200);
    assert!(sleeps(&app, ball));
    app.world_mut().entity_mut(terrain).insert(plain(-4.0));
    settle(&mut app);
    run(&mut app, 300);
    assert!((at(&app, ball).y + 3.5).abs() < 0.2, "{}", at(&app, ball));
    app.world_mut().entity_mut(terrain).remove::<Terrain>();
    run(&mut app, 60);
    let world = app.world_mut();
    assert_eq!(world.query::<&GroundCollider>().iter(world).count(), 0);
    assert!(at(&app, ball).y < -5.0, "{}", at(&app, ball));
}

#[test]
fn ground_is_ready_ahead_of_a_kinematic_body_that_is_moved_by_its_transform() {
    let mut app = app();
    let plain = Terrain::with_options(options(), |r| r.fill_height(2, 0.0..=0.0, |_, _| 0.0));
    let settings = TerrainColliderSettings { ahead_s: 1.5, ..TerrainColliderSettings::default() };
    app.world_mut().spawn((plain, settings));
    spawn_viewer(&mut app);
    settle(&mut app);
    let body = (RigidBody::Kinematic, Collider::sphere(0.5), Transform::from_xyz(0.5, 0.4, 0.5));
    let body = app.world_mut().spawn(body).id();
    let farthest = |app: &mut App| {
        let world = app.world_mut();
        let mut colliders = world.query::<&GroundCollider>();
        colliders.iter(world).map(|ground| ground.block.min_voxel().to_array()[0]).max()
    };
    run(&mut app, 10);
    assert_eq!(farthest(&mut app), Some(0), "it stands");
    // 12 m/s.
    for _ in 0..10 {
        app.world_mut().get_mut::<Transform>(body).unwrap().translation.x += 0.2;
        run(&mut app, 1);
    }
    let at = at(&app, body).x;
    assert!((at - 2.5).abs() < 0.01, "{at}");
    assert_eq!(farthest(&mut app), Some(16), "18 m ahead");
}
