//! Pictures of ground and water: `--view crater`, `hills`, `shore` or `borders`, `--picture FILE`.
mod example_app;

use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::terravox;

fn main() {
    App::new()
        .add_plugins((example_app::ExamplePlugins, TerravoxPlugin::default()))
        .add_systems(Startup, set_up)
        .run();
}

/// Hills with a lake; materials in stripes where they are looked at.
fn height(x: f64, z: f64) -> f64 {
    let hills = 9.0 * (x * 0.031).sin() * (z * 0.027).cos()
        + 3.0 * (x * 0.083 + 1.0).sin() * (z * 0.071).sin();
    let mountains = (z.abs() * 0.01).min(1.0) * 26.0 * (x * 0.009 + 0.7).sin() * (z * 0.0087).cos();
    hills + mountains
}

fn set_up(mut commands: Commands) {
    let view = example_app::text_flag("--view").unwrap_or_default();
    let (eye, at) = match view.as_str() {
        "hills" => (Vec3::new(0.0, 34.0, 30.0), Vec3::new(40.0, 18.0, -90.0)),
        "shore" => (Vec3::new(-30.0, 3.0, 22.0), Vec3::new(-60.0, -6.0, -12.0)),
        "borders" => (Vec3::new(3.0, 15.0, 10.0), Vec3::new(2.0, 5.5, 0.0)),
        _ => (Vec3::new(26.0, 15.0, 13.0), Vec3::new(30.0, 5.0, -4.0)),
    };
    let mut options = TerrainOptions::default();
    options.lod.max_mip = 5;
    options.lod.detail = 2.2;
    options.lod.near_voxels = 48.0;
    options.lod.morph = true;
    let is_striped = view == "borders";
    let terrain = Terrain::with_options(options, move |request| {
        request.fill_height(if is_striped { 2 } else { 255 }, -50.0..=50.0, height);
        request.fill_air_below(terravox::voxel::WATER, -4.0);
    });
    commands.spawn(terrain);
    let fog = DistanceFog {
        color: Color::srgb(0.66, 0.76, 0.86),
        falloff: FogFalloff::from_visibility_colors(
            900.0,
            Color::srgb(0.6, 0.7, 0.8),
            Color::srgb(0.7, 0.8, 0.9),
        ),
        ..default()
    };
    commands.spawn((
        Camera3d::default(),
        TerrainViewer::new(600.0),
        Transform::from_translation(eye).looking_at(at, Vec3::Y),
        bevy::core_pipeline::prepass::DepthPrepass,
        fog,
    ));
}
