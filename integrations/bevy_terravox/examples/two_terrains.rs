//! Hills, and an island above them that turns and can be dug like any ground.
mod example_app;

use bevy::prelude::*;
use bevy_terravox::prelude::*;

#[derive(Component)]
struct Island;

fn main() {
    App::new()
        .add_plugins((example_app::ExamplePlugins, TerravoxPlugin::default()))
        .add_systems(Startup, set_up)
        .add_systems(Update, (turn, dig))
        .add_observer(|edited: On<TerrainEdited>, islands: Query<(), With<Island>>| {
            let what = if islands.contains(edited.terrain) { "the island" } else { "the hills" };
            println!("dug into {what}");
        })
        .run();
}

fn set_up(mut commands: Commands) {
    commands.spawn(Terrain::new(|request| {
        request.fill_height(2, -6.0..=6.0, |x, z| 6.0 * (x * 0.05).sin() * (z * 0.04).cos())
    }));
    // Flat above, pointed below; air everywhere else.
    let island = |[x, y, z]: [f64; 3]| (-y).min(14.0 - x.hypot(z) + 0.7 * y);
    let mut options = TerrainOptions::default();
    options.lod.max_mip = 1;
    let terrain = Terrain::with_options(options, move |request| request.fill_sdf(8, island));
    commands.spawn((terrain, Island, Transform::from_xyz(0.0, 26.0, -20.0)));
    let eye = Transform::from_xyz(0.0, 34.0, 24.0).looking_at(Vec3::new(0.0, 25.0, -14.0), Vec3::Y);
    commands.spawn((Camera3d::default(), TerrainViewer::new(200.0), eye));
}

fn turn(mut islands: Query<&mut Transform, With<Island>>, time: Res<Time>) {
    for mut island in &mut islands {
        island.rotate_y(0.2 * time.delta_secs());
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
    edits.write_batch(hit.map(|hit| EditTerrain::dig(&hit, 3.0)));
}
