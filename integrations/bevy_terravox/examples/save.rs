//! A world in a file (`--world FILE`): left click digs, Z undoes; every edit is saved at once, on
//! another thread. F5 saves, too.
mod example_app;

use bevy::prelude::*;
use bevy_terravox::prelude::*;

fn main() {
    App::new()
        .add_plugins((example_app::ExamplePlugins, TerravoxPlugin::default()))
        .add_systems(Startup, set_up)
        .add_systems(Update, (dig, save))
        .run();
}

fn set_up(mut commands: Commands) -> Result {
    let hills = |request: &mut FillRequest<'_>| {
        request.fill_height(2, -6.0..=6.0, |x, z| 6.0 * (x * 0.05).sin() * (z * 0.04).cos());
    };
    let path = example_app::text_flag("--world").unwrap_or_else(|| "hills.tvx".into());
    let store = TerrainStore::open_or_create(path, "hills", 1, 0)?;
    let mut options = TerrainOptions::default();
    options.lod.max_mip = 5;
    commands.spawn((store.terrain(options, hills)?, store));
    let eye = Transform::from_xyz(0.0, 12.0, 20.0).looking_at(Vec3::ZERO, Vec3::Y);
    commands.spawn((Camera3d::default(), TerrainViewer::new(300.0), eye));
    Ok(())
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
    let hit = terrains.ray(ray, 100.0).filter(|_| mouse.just_pressed(MouseButton::Left));
    edits.write_batch(hit.map(|hit| EditTerrain::dig(&hit, 3.0)));
    edits.write_batch(keys.just_pressed(KeyCode::KeyZ).then(|| EditTerrain::undo(*terrain)));
}

/// Saves after each stroke and when asked to; says how it went.
fn save(
    keys: Res<ButtonInput<KeyCode>>,
    mut edited: MessageReader<TerrainEdited>,
    mut saves: MessageWriter<SaveTerrain>,
    mut saved: MessageReader<TerrainSaved>,
    terrain: Single<Entity, With<Terrain>>,
) {
    if edited.read().count() > 0 || keys.just_pressed(KeyCode::F5) {
        saves.write(SaveTerrain { terrain: *terrain });
    }
    for TerrainSaved { error, .. } in saved.read() {
        println!("saved: {}", error.as_deref().unwrap_or("all"));
    }
}
