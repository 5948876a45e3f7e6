//! Where the mouse is, and what it points at.

use bevy::prelude::*;
use bevy::window::{CursorGrabMode, CursorLeft, CursorMoved, CursorOptions, PrimaryWindow};
use bevy_terravox::prelude::*;

use crate::action::{Field, Mode};
use crate::camera::StudioCamera;
use crate::keys::Held;
use crate::open::Session;
use crate::settings::Settings;

/// The mouse.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Pointer {
    /// In the window, logical pixels.
    pub position: Option<Vec2>,
    /// Whether a panel is below it.
    pub is_over_panel: bool,
    /// Whether a panel takes the keys.
    pub has_keyboard: bool,
    /// Whether it turns the camera.
    pub is_looking: bool,
    /// The ray through it.
    pub ray: Option<Ray3d>,
    /// The ground that it points at, however coarse.
    pub hit: Option<TerrainHit>,
}

/// Follows the mouse.
pub struct PointerPlugin;

impl Plugin for PointerPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Pointer>()
            .add_systems(Update, (follow, grab).chain().in_set(crate::StudioSystems::Input))
            .add_systems(Update, point.in_set(crate::StudioSystems::Point));
    }
}

/// Follows the mouse and decides whether it turns the camera.
fn follow(
    mut moved: MessageReader<CursorMoved>,
    mut left: MessageReader<CursorLeft>,
    buttons: Res<ButtonInput<MouseButton>>,
    keys: Res<ButtonInput<KeyCode>>,
    session: Option<Res<Session>>,
    mut pointer: ResMut<Pointer>,
) {
    if left.read().count() > 0 && !pointer.is_looking {
        pointer.position = None;
    }
    if let Some(last) = moved.read().last() {
        pointer.position = Some(last.position);
    }
    let held = Held::of(&keys);
    // Alt and the left button turn, too: for mice and pads with one.
    let wants =
        buttons.pressed(MouseButton::Right) || (held.alt && buttons.pressed(MouseButton::Left));
    let begins =
        buttons.just_pressed(MouseButton::Right) || buttons.just_pressed(MouseButton::Left);
    pointer.is_looking = match () {
        () if session.is_none() || !wants => false,
        () if begins && !pointer.is_looking => !pointer.is_over_panel,
        () => pointer.is_looking,
    };
}

/// Holds the cursor while the camera is turned.
fn grab(pointer: Res<Pointer>, mut cursors: Query<&mut CursorOptions, With<PrimaryWindow>>) {
    for mut cursor in &mut cursors {
        let mode = if pointer.is_looking { CursorGrabMode::Locked } else { CursorGrabMode::None };
        if cursor.grab_mode != mode {
            cursor.grab_mode = mode;
            cursor.visible = !pointer.is_looking;
        }
    }
}

/// Looks for the ground below the mouse.
fn point(
    camera: Single<(&Camera, &StudioCamera)>,
    window: Option<Single<&Window, With<PrimaryWindow>>>,
    terrains: Terrains,
    settings: Res<Settings>,
    session: Option<Res<Session>>,
    mut pointer: ResMut<Pointer>,
) {
    (pointer.ray, pointer.hit) = (None, None);
    if session.is_none() {
        return;
    }
    let (camera, studio) = *camera;
    // Who walks aims at the middle.
    let position = match (settings.mode, window) {
        (Mode::Play, Some(window)) => Some(window.size() / 2.0),
        (_, _) if pointer.is_over_panel => None,
        _ => pointer.position,
    };
    let Some(position) = position else { return };
    let at = GlobalTransform::from(studio.transform());
    let Ok(ray) = camera.viewport_to_world(&at, position) else { return };
    let reach_m = settings.get(Field::Distance);
    pointer.ray = Some(ray);
    // Near ground as it is; far away, what is drawn.
    let near = terrains.ray(ray, reach_m);
    let shown = terrains.ray_shown(ray, reach_m);
    pointer.hit = match (near, shown) {
        (Some(near), Some(shown))
            if shown.in_terrain.mip > 0 && shown.distance < near.distance - 1.0 =>
        {
            Some(shown)
        }
        (Some(near), _) => Some(near),
        (None, shown) => shown,
    };
}
