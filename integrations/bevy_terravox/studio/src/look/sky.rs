//! A painted sky: a dome around the camera whose colours follow the time of day.

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::NoFrustumCulling;
use bevy::light::{NotShadowCaster, NotShadowReceiver};
use bevy::mesh::{Indices, PrimitiveTopology};
use bevy::prelude::*;

use crate::camera::StudioCamera;

/// Rings and columns of the dome.
const RINGS: u32 = 40;
const COLUMNS: u32 = 48;
/// Metres from the camera.
const RADIUS_M: f32 = 40_000.0;

/// How much brighter the sky is than its colours: tonemapping darkens it again.
pub const GAIN: f32 = 1.7;

/// The dome.
#[derive(Component)]
pub struct Dome;

/// Light and colours of a time of day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// To the sun, or to the moon at night.
    pub towards_lamp: Vec3,
    /// To the sun, even below the horizon.
    pub towards_sun: Vec3,
    /// Colour of the lamp.
    pub sun: Color,
    /// How bright it is.
    pub lux: f32,
    /// The sky straight up.
    pub zenith: Color,
    /// The sky above the horizon, and what fog becomes.
    pub horizon: Color,
    /// Light from everywhere.
    pub ambient: Color,
    /// How bright that is.
    pub ambient_nits: f32,
}

/// From one colour to another, in linear light.
fn mix(a: [f32; 3], b: [f32; 3], share: f32) -> [f32; 3] {
    [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * share.clamp(0.0, 1.0))
}

fn srgb([r, g, b]: [f32; 3]) -> Color {
    Color::srgb(r, g, b)
}

impl Light {
    /// The light of an hour, with the sun of noon in a direction, degrees clockwise from north.
    pub fn at(hour: f32, noon_degrees: f32) -> Light {
        // It rises at six and stands 62° high at noon.
        let angle = (hour - 6.0) / 24.0 * std::f32::consts::TAU;
        let (height, along) = (angle.sin() * 62_f32.to_radians().sin(), angle.cos());
        let noon = noon_degrees.to_radians();
        let (to_noon, to_rise) =
            (Vec3::new(noon.sin(), 0.0, -noon.cos()), Vec3::new(noon.cos(), 0.0, noon.sin()));
        let aside = (1.0 - height * height - along * along).max(0.0).sqrt();
        let towards_sun =
            (to_rise * along + to_noon * aside + Vec3::Y * height).normalize_or(Vec3::Y);
        let is_day = towards_sun.y > -0.05;
        let towards_lamp = match is_day {
            true => Vec3::new(towards_sun.x, towards_sun.y.max(0.04), towards_sun.z).normalize(),
            false => {
                Vec3::new(-towards_sun.x, (-towards_sun.y).max(0.3), -towards_sun.z).normalize()
            }
        };
        let day = smooth(-0.12, 0.3, towards_sun.y);
        // Between night and day the sky is red.
        let dusk = smooth(-0.2, 0.0, towards_sun.y) * (1.0 - smooth(0.05, 0.35, towards_sun.y));
        let zenith = mix([0.02, 0.03, 0.08], [0.16, 0.38, 0.78], day);
        let horizon =
            mix(mix([0.06, 0.08, 0.15], [0.66, 0.8, 0.94], day), [0.93, 0.6, 0.4], 0.5 * dusk);
        let sun = mix([1.0, 0.55, 0.3], [1.0, 0.96, 0.88], smooth(0.02, 0.4, towards_sun.y));
        let fade = if is_day { smooth(-0.05, 0.12, towards_sun.y) } else { 0.0 };
        let ambient =
            mix(mix([0.4, 0.5, 0.8], [0.75, 0.85, 1.0], day), [1.0, 0.8, 0.7], 0.4 * dusk);
        Light {
            towards_lamp,
            towards_sun,
            sun: if is_day { srgb(sun) } else { Color::srgb(0.6, 0.7, 1.0) },
            lux: if is_day { 400.0 + 9600.0 * fade } else { 350.0 },
            zenith: srgb(zenith),
            horizon: srgb(horizon),
            ambient: srgb(ambient),
            ambient_nits: 40.0 + 380.0 * day,
        }
    }

    /// The sky in a direction.
    fn sky(&self, towards: Vec3) -> Vec3 {
        let linear = |colour: Color| colour.to_linear().to_vec3();
        let up = towards.y.clamp(0.0, 1.0).powf(0.45);
        let mut colour = linear(self.horizon).lerp(linear(self.zenith), up);
        if towards.y < 0.0 {
            colour *= 1.0 - 0.35 * (-towards.y).min(1.0);
        }
        colour *= GAIN;
        let near_sun = towards.dot(self.towards_sun).max(0.0);
        let glow = 0.35 * near_sun.powi(8) + 0.7 * near_sun.powi(64);
        colour + linear(self.sun) * glow * smooth(-0.15, 0.05, self.towards_sun.y)
    }
}

fn smooth(from: f32, to: f32, value: f32) -> f32 {
    let way = ((value - from) / (to - from)).clamp(0.0, 1.0);
    way * way * (3.0 - 2.0 * way)
}

/// Directions of the vertices of the dome.
fn directions() -> impl Iterator<Item = Vec3> {
    (0..=RINGS).flat_map(|ring| {
        // Finer at the horizon.
        let share = ring as f32 / RINGS as f32 * 2.0 - 1.0;
        let pitch = share.signum() * share.abs().powf(1.6) * std::f32::consts::FRAC_PI_2;
        (0..=COLUMNS).map(move |column| {
            let yaw = column as f32 / COLUMNS as f32 * std::f32::consts::TAU;
            Vec3::new(pitch.cos() * yaw.cos(), pitch.sin(), pitch.cos() * yaw.sin())
        })
    })
}

/// Paints the dome.
pub fn paint(mesh: &mut Mesh, light: &Light) {
    let colours: Vec<[f32; 4]> =
        directions().map(|towards| light.sky(towards).extend(1.0).to_array()).collect();
    mesh.insert_attribute(Mesh::ATTRIBUTE_COLOR, colours);
}

/// Spawns the dome and the disc of the sun.
pub(super) fn spawn_dome(
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
    let positions: Vec<[f32; 3]> = directions().map(|towards| towards.to_array()).collect();
    let normals: Vec<[f32; 3]> = positions.iter().map(|p| p.map(|v| -v)).collect();
    let row = COLUMNS + 1;
    let indices = (0..RINGS).flat_map(|ring| {
        (0..COLUMNS).flat_map(move |column| {
            let at = ring * row + column;
            [at, at + row, at + 1, at + 1, at + row, at + row + 1]
        })
    });
    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, positions);
    mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, normals);
    mesh.insert_indices(Indices::U32(indices.collect()));
    paint(&mut mesh, &Light::at(12.0, 180.0));
    let material = StandardMaterial {
        unlit: true,
        fog_enabled: false,
        cull_mode: None,
        ..StandardMaterial::default()
    };
    commands.spawn((
        Dome,
        Mesh3d(meshes.add(mesh)),
        MeshMaterial3d(materials.add(material)),
        Transform::from_scale(Vec3::splat(RADIUS_M)),
        (NoFrustumCulling, NotShadowCaster, NotShadowReceiver),
    ));
}

/// Keeps the dome around the camera.
pub(super) fn follow(camera: Single<&StudioCamera>, mut dome: Single<&mut Transform, With<Dome>>) {
    let at = Transform::from_translation(camera.position).with_scale(Vec3::splat(RADIUS_M));
    dome.set_if_neq(at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sun_rises_stands_high_at_noon_in_its_direction_and_sets() {
        let height = |hour: f32| Light::at(hour, 180.0).towards_sun.y;
        assert!(height(6.0).abs() < 1e-3 && height(18.0).abs() < 1e-3);
        assert!(height(12.0) > 0.85 && height(0.0) < -0.85);
        let noon = Light::at(12.0, 90.0).towards_sun;
        assert!(noon.x > 0.4 && noon.z.abs() < 1e-3, "{noon}");
        for quarter in 0..96 {
            let light = Light::at(quarter as f32 / 4.0, 135.0);
            assert!((light.towards_lamp.length() - 1.0).abs() < 1e-4 && light.towards_lamp.y > 0.0);
            assert!(light.lux > 0.0 && light.ambient_nits > 0.0);
        }
    }
}
