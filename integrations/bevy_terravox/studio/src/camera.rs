//! The camera: flies with keys, turns with the right mouse button, goes where it is told.

use bevy::input::mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll, MouseScrollUnit};
use bevy::prelude::*;
use bevy_terravox::prelude::*;

use crate::action::{Action, Field, Mode};
use crate::keys::{Held, KeyMap, Motion};
use crate::open::Session;
use crate::pointer::Pointer;
use crate::settings::Settings;

/// Vertical field of view, degrees.
pub const FOV_DEGREES: f32 = 50.0;
/// Metres to the near plane.
pub const NEAR_M: f32 = 0.1;
/// Degrees for a pixel of the mouse.
const DEGREES_PER_PIXEL: f32 = 0.18;
/// Degrees a second with keys.
const TURN_DEGREES_S: f32 = 75.0;
/// Seconds after which a change of speed is mostly done.
const EASE_S: f32 = 0.12;
/// How much faster with the key for that.
const FASTER: f32 = 4.0;

/// The camera of the studio. Its transform follows.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[require(Transform)]
pub struct StudioCamera {
    /// Position, metres.
    pub position: Vec3,
    /// Degrees clockwise from north (−z), seen from above.
    pub yaw: f32,
    /// Degrees above the horizon.
    pub pitch: f32,
    velocity: Vec3,
}

impl Default for StudioCamera {
    fn default() -> StudioCamera {
        StudioCamera {
            position: Vec3::new(0.0, 20.0, 30.0),
            yaw: 0.0,
            pitch: -15.0,
            velocity: Vec3::ZERO,
        }
    }
}

impl StudioCamera {
    /// Position in metres, yaw and pitch in degrees.
    pub fn view(&self) -> [f32; 5] {
        let [x, y, z] = self.position.to_array();
        [x, y, z, self.yaw, self.pitch]
    }

    /// Moves it.
    pub fn set_view(&mut self, [x, y, z, yaw, pitch]: [f32; 5]) {
        (self.position, self.velocity) = (Vec3::new(x, y, z), Vec3::ZERO);
        (self.yaw, self.pitch) = (yaw, pitch);
    }

    /// Turns it by degrees.
    pub fn turn(&mut self, yaw: f32, pitch: f32) {
        self.yaw = (self.yaw + yaw).rem_euclid(360.0);
        self.pitch = (self.pitch + pitch).clamp(-89.0, 89.0);
    }

    /// Its rotation.
    pub fn rotation(&self) -> Quat {
        Quat::from_euler(EulerRot::YXZ, -self.yaw.to_radians(), self.pitch.to_radians(), 0.0)
    }

    /// Where it is and how it is turned.
    pub fn transform(&self) -> Transform {
        Transform::from_translation(self.position).with_rotation(self.rotation())
    }
}

/// Moves the camera.
pub struct CameraPlugin;

impl Plugin for CameraPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, spawn).add_systems(
            Update,
            (go, look, fly, place).chain().in_set(crate::StudioSystems::Camera),
        );
    }
}

fn spawn(mut commands: Commands, settings: Res<Settings>) {
    let viewer = TerrainViewer::new(settings.get(Field::Distance));
    commands.spawn((Camera3d::default(), StudioCamera::default(), viewer));
}

/// Goes where actions say.
fn go(
    mut actions: MessageReader<Action>,
    mut camera: Single<&mut StudioCamera>,
    session: Option<Res<Session>>,
    pointer: Res<Pointer>,
) {
    for action in actions.read() {
        match action {
            Action::View(view) => camera.set_view(*view),
            Action::Home => {
                if let Some(session) = &session {
                    camera.set_view(session.home);
                }
            }
            Action::Focus => {
                let Some(hit) = pointer.hit else { continue };
                // Half the way, and never into the ground.
                let way = hit.point - camera.position;
                camera.position += way * 0.5;
            }
            _ => {}
        }
    }
}

/// Turns with the mouse and with keys.
fn look(
    mut camera: Single<&mut StudioCamera>,
    motion: Res<AccumulatedMouseMotion>,
    keys: Res<ButtonInput<KeyCode>>,
    map: Res<KeyMap>,
    pointer: Res<Pointer>,
    time: Res<Time>,
) {
    if pointer.is_looking {
        let by = motion.delta * DEGREES_PER_PIXEL;
        camera.turn(by.x, -by.y);
    }
    if pointer.has_keyboard {
        return;
    }
    let key = |motion| f32::from(u8::from(map.is_moving(motion, &keys)));
    let yaw = key(Motion::TurnRight) - key(Motion::TurnLeft);
    let pitch = key(Motion::TurnUp) - key(Motion::TurnDown);
    if yaw != 0.0 || pitch != 0.0 {
        let by = TURN_DEGREES_S * time.delta_secs();
        camera.turn(yaw * by, pitch * by);
    }
}

/// Where held keys lead, in the directions of the camera, at most of length 1.
pub(crate) fn wish(map: &KeyMap, keys: &ButtonInput<KeyCode>) -> Vec3 {
    // Ctrl+S saves, and does not fly.
    if Held::of(keys).ctrl {
        return Vec3::ZERO;
    }
    let key = |motion| f32::from(u8::from(map.is_moving(motion, keys)));
    let wish = Vec3::new(
        key(Motion::Right) - key(Motion::Left),
        key(Motion::Up) - key(Motion::Down),
        key(Motion::Back) - key(Motion::Forward),
    );
    wish.clamp_length_max(1.0)
}

/// Flies.
fn fly(
    mut camera: Single<&mut StudioCamera>,
    keys: Res<ButtonInput<KeyCode>>,
    scroll: Res<AccumulatedMouseScroll>,
    map: Res<KeyMap>,
    mut settings: ResMut<Settings>,
    pointer: Res<Pointer>,
    session: Option<Res<Session>>,
    time: Res<Time>,
) {
    if session.is_none() || settings.mode == Mode::Play {
        camera.velocity = Vec3::ZERO;
        return;
    }
    let is_typing = pointer.has_keyboard;
    let wish = if is_typing { Vec3::ZERO } else { wish(&map, &keys) };
    let faster = if map.is_moving(Motion::Faster, &keys) { FASTER } else { 1.0 };
    let speed = settings.get(Field::Speed);
    let rotation = camera.rotation();
    let level = Vec3::new(wish.x, 0.0, wish.z);
    let wanted = (rotation * level + Vec3::Y * wish.y) * speed * faster;
    let seconds = time.delta_secs();
    let ease = 1.0 - (-seconds / EASE_S).exp();
    let velocity = camera.velocity.lerp(wanted, ease);
    // A camera at rest is at rest: nothing is planned for it.
    camera.velocity =
        if wanted == Vec3::ZERO && velocity.length() < 0.02 { Vec3::ZERO } else { velocity };
    let velocity = camera.velocity;
    camera.position += velocity * seconds;
    if pointer.is_over_panel || scroll.delta.y == 0.0 {
        return;
    }
    let steps = match scroll.unit {
        MouseScrollUnit::Line => scroll.delta.y,
        MouseScrollUnit::Pixel => scroll.delta.y / 40.0,
    };
    let held = Held::of(&keys);
    if held.ctrl {
        settings.apply(&Action::Adjust(Field::Radius, steps * 0.5));
    } else if pointer.is_looking {
        settings.apply(&Action::Adjust(Field::Speed, steps * 0.5));
    } else {
        camera.position += rotation * Vec3::NEG_Z * steps * speed * 0.15;
    }
}

/// Puts the camera where it is.
pub(crate) fn place(
    mut cameras: Query<(&StudioCamera, &mut Transform)>,
    mut viewers: Query<&mut TerrainViewer, With<StudioCamera>>,
    settings: Res<Settings>,
) {
    for (camera, mut transform) in &mut cameras {
        transform.set_if_neq(camera.transform());
    }
    for mut viewer in &mut viewers {
        let distance_m = settings.get(Field::Distance);
        if viewer.distance_m != distance_m {
            viewer.distance_m = distance_m;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearings_are_those_of_the_command_line() {
        let mut camera = StudioCamera::default();
        camera.set_view([0.0, 0.0, 0.0, 90.0, -30.0]);
        let along = camera.rotation() * Vec3::NEG_Z;
        let expected = Vec3::new(30_f32.to_radians().cos(), -0.5, 0.0);
        assert!(along.distance(expected) < 1e-5, "{along}");
        assert_eq!(camera.view(), [0.0, 0.0, 0.0, 90.0, -30.0]);
        camera.turn(-100.0, 200.0);
        assert_eq!((camera.yaw, camera.pitch), (350.0, 89.0));
    }
}
