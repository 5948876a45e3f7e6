//! Ground of noise with a sea, in colours of its own; C changes them while it runs.
mod example_app;

use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::terravox::generate::Fractal;
use bevy_terravox::terravox::voxel::{MaterialTable, WATER};

const GRASS: u8 = 2;
const SEA_LEVEL_M: f64 = -4.0;

fn main() {
    App::new()
        .add_plugins((example_app::ExamplePlugins, TerravoxPlugin::default()))
        .add_systems(Startup, set_up)
        .add_systems(Update, recolour)
        .add_systems(Last, report)
        .run();
}

fn palette(grass: [u8; 3]) -> TerrainPalette {
    let mut materials = MaterialTable::default();
    materials.set_colour(GRASS, grass);
    TerrainPalette { materials, ..default() }
}

fn set_up(mut commands: Commands, mut palettes: ResMut<Assets<TerrainPalette>>) {
    let hills = Fractal::new(7, 120.0, 14.0);
    let max = hills.max_2d();
    let terrain = Terrain::new(move |request| {
        let mut near = hills.cursor_2d();
        request.fill_height(GRASS, -max..=max, |x, z| near.at(x, z));
        request.fill_air_below(WATER, SEA_LEVEL_M);
    });
    commands.spawn((terrain, PaletteHandle(palettes.add(palette([70, 130, 60])))));
    let eye = Transform::from_xyz(0.0, 30.0, 60.0).looking_at(Vec3::ZERO, Vec3::Y);
    commands.spawn((Camera3d::default(), TerrainViewer::new(400.0), eye));
}

fn recolour(
    keys: Res<ButtonInput<KeyCode>>,
    terrain: Single<&PaletteHandle>,
    mut palettes: ResMut<Assets<TerrainPalette>>,
) -> Result {
    if keys.just_pressed(KeyCode::KeyC) {
        palettes.insert(terrain.id(), palette([180, 120, 50]))?;
    }
    Ok(())
}

/// What is below the eye.
fn report(
    mut ends: MessageReader<AppExit>,
    terrains: Terrains,
    eye: Single<&Transform, With<Camera>>,
) {
    if ends.read().count() > 0 {
        let hit = terrains.ray(Ray3d::new(eye.translation, Dir3::NEG_Y), 100.0);
        println!("ground at {:?}", hit.map(|hit| hit.point.y));
    }
}
