//! Balls and boxes fall on terrain; left click digs under them.
mod example_app;

use avian3d::prelude::*;
use bevy::prelude::*;
use bevy_terravox::avian::{TerrainPhysicsStats, TerravoxAvianPlugin};
use bevy_terravox::prelude::*;

fn main() {
    App::new()
        .add_plugins((example_app::ExamplePlugins, PhysicsPlugins::default()))
        .add_plugins((TerravoxPlugin::default(), TerravoxAvianPlugin::default()))
        .add_systems(Startup, set_up)
        .add_systems(Update, dig)
        .add_systems(Last, report)
        .run();
}

fn set_up(mut commands: Commands, meshes: Option<ResMut<Assets<Mesh>>>) {
    commands.spawn(Terrain::new(|request| {
        request.fill_height(2, -3.0..=3.0, |x, z| 3.0 * (x * 0.1).sin() * (z * 0.08).cos())
    }));
    let eye = Transform::from_xyz(0.0, 14.0, 26.0).looking_at(Vec3::Y * 2.0, Vec3::Y);
    commands.spawn((Camera3d::default(), TerrainViewer::new(200.0), eye));
    let shapes = [Collider::sphere(0.5), Collider::cuboid(1.0, 1.0, 1.0)];
    let drawn =
        meshes.map(|mut meshes| [meshes.add(Sphere::new(0.5)), meshes.add(Cuboid::default())]);
    for i in 0..100 {
        let at = Vec3::new(
            (i % 10) as f32 * 2.0 - 9.0,
            8.0 + (i % 3) as f32,
            (i / 10) as f32 * 2.0 - 9.0,
        );
        let shape = shapes[i % 2].clone();
        // They hang in the air until the ground below them is there.
        let mut body = commands.spawn((
            RigidBody::Dynamic,
            shape,
            AngularDamping(3.0),
            Transform::from_translation(at),
        ));
        if let Some(drawn) = &drawn {
            body.insert(Mesh3d(drawn[i % 2].clone()));
            example_app::colour(&mut body, i);
        }
    }
}

fn dig(
    terrains: Terrains,
    camera: Single<(&Camera, &GlobalTransform)>,
    window: Single<&Window>,
    mouse: Res<ButtonInput<MouseButton>>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let Some(cursor) = window.cursor_position() else { return };
    let Ok(ray) = camera.0.viewport_to_world(camera.1, cursor) else { return };
    let hit = terrains.ray(ray, 100.0).filter(|_| mouse.just_pressed(MouseButton::Left));
    edits.write_batch(hit.map(|hit| EditTerrain::dig(&hit, 4.0)));
}

/// What became of the bodies.
fn report(
    mut ends: MessageReader<AppExit>,
    bodies: Query<(&Position, Has<Sleeping>), With<AngularDamping>>,
    stats: Res<TerrainPhysicsStats>,
) {
    if ends.read().count() > 0 {
        let asleep = bodies.iter().filter(|(_, sleeps)| *sleeps).count();
        let below = bodies.iter().filter(|(at, _)| at.y < -10.0).count();
        println!("{asleep} asleep, {} waiting, {below} below", stats.waiting);
    }
}
