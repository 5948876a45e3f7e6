//! Bodies of Avian: whether digs wake them, and whether any falls through the ground.

use avian3d::prelude::*;
use bevy::prelude::*;
use bevy_terravox::avian::TerravoxAvianPlugin;
use bevy_terravox::prelude::*;
use bevy_terravox::terravox::contacts::WayOut;
use bevy_terravox::terravox::voxel::UnlistedChunks;
use bevy_terravox::terravox::{self};

use crate::{Random, app, print};

const DIGS: usize = 1000;

/// Deeper in the ground than this a body is below it, voxels.
const BELOW_VOXELS: f32 = 0.75;

fn physics_app() -> App {
    let mut app = app();
    app.add_plugins((PhysicsPlugins::default(), TerravoxAvianPlugin::default()));
    app.finish();
    app.cleanup();
    app
}

/// All of a place, without viewers.
fn place(half_m: f64, depth_m: f64, height: impl Fn(f64, f64) -> f64 + Copy) -> Terrain {
    let options = TerrainOptions { unlisted: UnlistedChunks::Air, ..TerrainOptions::default() };
    let mut voxels = terravox::Terrain::new(options);
    let (min, max) = ([-half_m, -depth_m, -half_m], [half_m, 16.0, half_m]);
    let filled = voxels.fill(min, max, |request| request.fill_height(8, -16.0..=16.0, height));
    filled.expect("within the limits");
    Terrain::from_voxels(voxels, |_| {})
}

/// Digs under bodies that sleep, one after another.
pub fn woken() {
    let mut app = physics_app();
    let terrain = app.world_mut().spawn(place(128.0, 32.0, |_, _| 0.0)).id();
    let edge = (DIGS as f64).sqrt().ceil() as usize;
    let spot = |i: usize| {
        let at = |n: usize| n as f32 * 7.0 - edge as f32 * 3.5;
        Vec3::new(at(i % edge), 0.55, at(i / edge))
    };
    let shapes =
        [Collider::sphere(0.5), Collider::cuboid(1.0, 1.0, 1.0), Collider::capsule(0.3, 0.8)];
    let bodies: Vec<Entity> = (0..DIGS)
        .map(|i| {
            let body = (RigidBody::Dynamic, shapes[i % 3].clone(), AngularDamping(6.0));
            app.world_mut().spawn((body, Transform::from_translation(spot(i)))).id()
        })
        .collect();
    let sleeps = |app: &App, body: Entity| app.world().entity(body).contains::<Sleeping>();
    for _ in 0..600 {
        app.update();
    }
    let (mut asleep, mut not_woken, mut hovering) = (0, 0, 0);
    for &body in &bodies {
        if !sleeps(&app, body) {
            continue;
        }
        asleep += 1;
        let at = app.world().get::<Position>(body).unwrap().0;
        let op = EditOp::dig_ball([at.x.into(), f64::from(at.y) - 0.6, at.z.into()], 2.0);
        app.world_mut().write_message(EditTerrain::new(terrain, op));
        // The first frame applies it, the second has the next step.
        app.update();
        app.update();
        not_woken += usize::from(sleeps(&app, body));
    }
    for _ in 0..600 {
        app.update();
    }
    for &body in &bodies {
        hovering += usize::from(app.world().get::<Position>(body).unwrap().y > 0.2);
    }
    let note =
        format!("of {asleep} of {DIGS} that slept, Avian; {hovering} of {DIGS} hover afterwards");
    print("bodies_not_woken", not_woken as f64, &note);
}

/// Lets bodies live on ground that changes; counts those in or below it.
pub fn below(is_long: bool) {
    let (count, minutes, edits) = if is_long { (500, 10, 1000) } else { (100, 1, 200) };
    let mut app = physics_app();
    let hills = |x: f64, z: f64| 3.0 * (x * 0.1).sin() * (z * 0.08).cos();
    let terrain = app.world_mut().spawn(place(64.0, 64.0, hills)).id();
    let mut random = Random(11);
    let shapes =
        [Collider::sphere(0.5), Collider::cuboid(1.0, 0.8, 1.2), Collider::capsule(0.3, 0.8)];
    let bodies: Vec<Entity> = (0..count)
        .map(|i| {
            let at = [
                random.next() * 60.0 - 30.0,
                6.0 + random.next() * 8.0,
                random.next() * 60.0 - 30.0,
            ];
            let body = (RigidBody::Dynamic, shapes[i % 3].clone(), AngularDamping(3.0));
            let at = Transform::from_translation(Vec3::from(at.map(|v| v as f32)));
            app.world_mut().spawn((body, at)).id()
        })
        .collect();
    let steps = minutes * 60 * 60;
    let start = std::time::Instant::now();
    for step in 0..steps {
        if step % (steps / edits) == 0 {
            let (x, z) = (random.next() * 60.0 - 30.0, random.next() * 60.0 - 30.0);
            let (y, radius) = (hills(x, z) - 4.0 * random.next(), 2.0 + 3.0 * random.next());
            let op = match random.next() < 0.6 {
                true => EditOp::dig_ball([x, y, z], radius),
                false => EditOp::fill_ball(8, [x, y, z], radius),
            };
            app.world_mut().write_message(EditTerrain::new(terrain, op));
        }
        app.update();
    }
    let step_ms = start.elapsed().as_secs_f64() * 1e3 / steps as f64;
    // What the last fill buried comes out.
    for _ in 0..120 {
        app.update();
    }
    let voxels = app.world().get::<Terrain>(terrain).unwrap();
    let is_below = |body: &&Entity| {
        let at = app.world().get::<Position>(**body).unwrap().0;
        let way = WayOut::find(voxels.collider(), at.to_array().map(f64::from));
        // They may leave the place over its edge.
        let inside = at.x.abs() < 62.0 && at.z.abs() < 62.0;
        inside && (at.y < -60.0 || way.is_some_and(|way| way.distance > BELOW_VOXELS))
    };
    let below = bodies.iter().filter(is_below).count();
    let out = |body: &&Entity| {
        let at = app.world().get::<Position>(**body).unwrap().0;
        at.x.abs() >= 62.0 || at.z.abs() >= 62.0
    };
    let outside = bodies.iter().filter(out).count();
    let note = format!(
        "{count} bodies, {minutes} min, {edits} edits, Avian; {outside} left the place; {step_ms:.2} \
         ms a step with physics"
    );
    print("bodies_below", below as f64, &note);
}
