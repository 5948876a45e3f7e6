//! Left click digs, right click fills, Z undoes; WASD and the mouse fly.
mod example_app;

use bevy::prelude::*;
use bevy_terravox::prelude::*;

fn main() {
    App::new()
        .add_plugins((example_app::ExamplePlugins, TerravoxPlugin::default()))
        .add_systems(Startup, set_up)
        .add_systems(Update, dig)
        .add_observer(|edited: On<TerrainEdited>| println!("edited {:?}", edited.region))
        .run();
}

fn set_up(mut commands: Commands) {
    commands.spawn(Terrain::new(|request| {
        request.fill_height(2, -6.0..=6.0, |x, z| 6.0 * (x * 0.05).sin() * (z * 0.04).cos())
    }));
    let eye = Transform::from_xyz(0.0, 9.0, 20.0).looking_at(Vec3::Y * 3.0, Vec3::Y);
    commands.spawn((Camera3d::default(), TerrainViewer::new(300.0), eye));
}

fn dig(
    terrains: Terrains,
    camera: Single<(&Camera, &GlobalTransform)>,
    window: Single<&Window>,
    mouse: Res<ButtonInput<MouseButton>>,
    keys: Res<ButtonInput<KeyCode>>,
    terrain: Single<Entity, With<Terrain>>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let Some(cursor) = window.cursor_position() else { return };
    let Ok(ray) = camera.0.viewport_to_world(camera.1, cursor) else { return };
    let hit = terrains.ray(ray, 100.0);
    let pressed = |button| hit.filter(|_| mouse.just_pressed(button));
    edits.write_batch(pressed(MouseButton::Left).map(|hit| EditTerrain::dig(&hit, 3.0)));
    edits.write_batch(pressed(MouseButton::Right).map(|hit| EditTerrain::fill(&hit, 8, 2.0)));
    edits.write_batch(keys.just_pressed(KeyCode::KeyZ).then(|| EditTerrain::undo(*terrain)));
}
