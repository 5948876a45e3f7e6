//! Light, sky, fog, overlays, and what a frame costs.

mod first_picture;
mod frames;
mod overlays;
pub mod path;
mod sky;

pub(crate) use first_picture::FirstPicturePlugin;
pub use first_picture::seconds;
pub use frames::{FrameCosts, PARTS};
pub use path::CameraPath;

use bevy::core_pipeline::prepass::DepthPrepass;
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::light::{CascadeShadowConfigBuilder, DirectionalLightShadowMap, ShadowFilteringMethod};
use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::render::{TerrainMaterials, WaterLook};

use crate::StudioSystems;
use crate::action::{Field, Switch};
use crate::args::Quality;
use crate::camera::{FOV_DEGREES, NEAR_M, StudioCamera};
use crate::settings::Settings;
use sky::{Dome, Light};

/// How well things are drawn.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Shadows, samples, textures.
    pub quality: Quality,
}

impl Drawn {
    /// Whether far views would take too long.
    pub fn is_slow(&self) -> bool {
        self.quality == Quality::Low
    }
}

/// The sun.
#[derive(Component)]
struct Sun;

/// Lights the world.
pub struct LookPlugin;

impl Plugin for LookPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(ClearColor(Color::srgb(0.55, 0.68, 0.83)))
            .init_resource::<FrameCosts>()
            .init_resource::<CameraPath>()
            .add_plugins(overlays::OverlayPlugin)
            .add_systems(Startup, (sky::spawn_dome, spawn_sun))
            .add_systems(PostStartup, dress_camera)
            .add_systems(
                Update,
                (clock, path::act, light, water, sky::follow).chain().in_set(StudioSystems::Draw),
            )
            .add_systems(Last, frames::note)
            .add_observer(plain_ground);
    }
}

/// Without a graphics card ground has the colours of its materials alone: textures take ten times
/// as long.
fn plain_ground(
    terrain: On<Add, Terrain>,
    drawn: Res<Drawn>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    if !drawn.is_slow() {
        return;
    }
    let solid = StandardMaterial { perceptual_roughness: 0.95, reflectance: 0.2, ..default() };
    let liquid = StandardMaterial {
        alpha_mode: AlphaMode::Blend,
        perceptual_roughness: 0.15,
        cull_mode: None,
        ..default()
    };
    let own = TerrainMaterials { solid: materials.add(solid), liquid: materials.add(liquid) };
    commands.entity(terrain.entity).insert(own);
}

/// Gives the camera all that it draws with.
fn dress_camera(
    camera: Single<Entity, With<StudioCamera>>,
    drawn: Res<Drawn>,
    mut commands: Commands,
) {
    // In software, what is smooth takes a third of a frame.
    let (msaa, shadow_edges) = match drawn.quality {
        Quality::Low => (Msaa::Off, ShadowFilteringMethod::Hardware2x2),
        _ => (Msaa::Sample4, ShadowFilteringMethod::default()),
    };
    let lens = PerspectiveProjection {
        fov: FOV_DEGREES.to_radians(),
        near: NEAR_M,
        far: 60_000.0,
        ..default()
    };
    let mut camera = commands.entity(*camera);
    camera.insert((
        DepthPrepass,
        msaa,
        shadow_edges,
        Tonemapping::TonyMcMapface,
        Projection::Perspective(lens),
        DistanceFog::default(),
        AmbientLight::default(),
    ));
}

fn spawn_sun(drawn: Res<Drawn>, settings: Res<Settings>, mut commands: Commands) {
    let (cascades, size, far_m) = match drawn.quality {
        Quality::Low => (2, 1024, 200.0),
        Quality::Medium => (4, 2048, 500.0),
        Quality::High => (4, 4096, 900.0),
    };
    commands.insert_resource(DirectionalLightShadowMap { size });
    let cascades = CascadeShadowConfigBuilder {
        num_cascades: cascades,
        minimum_distance: 0.1,
        maximum_distance: far_m,
        first_cascade_far_bound: far_m / 18.0,
        overlap_proportion: 0.15,
    };
    let sun =
        DirectionalLight { shadow_maps_enabled: settings.is_on(Switch::Shadows), ..default() };
    commands.spawn((Sun, sun, cascades.build(), Transform::default()));
}

/// A minute for an hour.
fn clock(mut settings: ResMut<Settings>, time: Res<Time>) {
    if settings.is_on(Switch::Clock) {
        let hour = settings.get(Field::Time) + time.delta_secs() / 60.0;
        settings.set(Field::Time, hour);
    }
}

/// Sun, sky and fog of the time of day.
fn light(
    settings: Res<Settings>,
    drawn: Res<Drawn>,
    mut sun: Single<(&mut DirectionalLight, &mut Transform), With<Sun>>,
    mut cameras: Query<(Option<&mut DistanceFog>, &mut AmbientLight), With<StudioCamera>>,
    dome: Option<Single<&Mesh3d, With<Dome>>>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut clear: ResMut<ClearColor>,
    mut last: Local<Option<[f32; 5]>>,
) {
    let shadows = settings.is_on(Switch::Shadows);
    let state =
        [Field::Time, Field::Sun, Field::Fog, Field::Distance].map(|field| settings.get(field));
    let state = [state[0], state[1], state[2], state[3], f32::from(u8::from(shadows))];
    if *last == Some(state) {
        return;
    }
    *last = Some(state);
    let light = Light::at(settings.get(Field::Time), settings.get(Field::Sun));
    let (lamp, transform) = &mut *sun;
    lamp.color = light.sun;
    lamp.illuminance = light.lux;
    lamp.shadow_maps_enabled = shadows;
    **transform = Transform::default().looking_to(-light.towards_lamp, Vec3::Y);
    clear.0 = bright(light.horizon);
    let sight_m = settings.get(Field::Distance) * 1.7 * settings.get(Field::Fog);
    for (fog, mut ambient) in &mut cameras {
        ambient.color = light.ambient;
        ambient.brightness = light.ambient_nits;
        if let Some(mut fog) = fog {
            fog.color = bright(light.horizon);
            let glow = if drawn.is_slow() { 0.0 } else { 0.12 };
            fog.directional_light_color = light.sun.with_alpha(glow);
            fog.directional_light_exponent = 24.0;
            // Squared, so that nearby ground stays clear.
            fog.falloff = FogFalloff::from_visibility_squared(sight_m);
        }
    }
    if let Some(dome) = dome
        && let Some(mut mesh) = meshes.get_mut(&dome.0)
    {
        sky::paint(&mut mesh, &light);
    }
}

/// A colour as bright as the sky.
fn bright(colour: Color) -> Color {
    let linear = colour.to_linear();
    Color::linear_rgb(linear.red * sky::GAIN, linear.green * sky::GAIN, linear.blue * sky::GAIN)
}

/// Water mirrors the sky.
fn water(
    settings: Res<Settings>,
    mut terrains: Query<(Entity, Option<&mut WaterLook>), With<Terrain>>,
    mut commands: Commands,
) {
    let light = Light::at(settings.get(Field::Time), settings.get(Field::Sun));
    let waves = if settings.is_on(Switch::Waves) { 1.0 } else { 0.0 };
    let look = WaterLook {
        horizon: bright(light.horizon),
        zenith: bright(light.zenith),
        waves,
        ..WaterLook::default()
    };
    for (terrain, own) in &mut terrains {
        match own {
            Some(mut own) => {
                own.set_if_neq(look);
            }
            None => {
                commands.entity(terrain).insert(look);
            }
        }
    }
}
