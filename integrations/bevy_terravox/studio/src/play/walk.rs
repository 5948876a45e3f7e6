//! A person that walks on the ground and swims in water.

use avian3d::prelude::*;
use bevy::prelude::*;
use bevy_terravox::prelude::*;

use super::is_playing;
use super::water::is_liquid;
use crate::camera::{StudioCamera, wish};
use crate::keys::{KeyMap, Motion};
use crate::open::Session;
use crate::pointer::Pointer;
use crate::settings::Settings;

const SPEED_M_S: f32 = 5.0;
const SWIM_M_S: f32 = 2.6;
const JUMP_M_S: f32 = 5.5;
const RADIUS_M: f32 = 0.35;
/// Of the middle part of the capsule.
const LENGTH_M: f32 = 1.0;
/// Of the eyes above the middle.
const EYES_M: f32 = 0.72;
/// The steepest ground to stand on: the cosine of 50°.
const MIN_STAND_COS: f32 = 0.64;
/// Fraction of the speed that is left after a second in water.
const WATER_DRAG: f32 = 0.05;

/// The person.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
pub struct Walker {
    /// Metres a second.
    pub velocity: Vec3,
    /// Whether there is ground below the feet.
    pub stands: bool,
    /// Whether it swims.
    pub swims: bool,
    /// Where it was a step ago, for smooth motion.
    before: Vec3,
}

/// The person is there while it is played.
pub(super) fn enter_or_leave(
    settings: Res<Settings>,
    session: Option<Res<Session>>,
    walkers: Query<Entity, With<Walker>>,
    camera: Single<&StudioCamera>,
    terrains: Terrains,
    mut commands: Commands,
) {
    let is_playing = is_playing(settings, session);
    if !is_playing {
        walkers.iter().for_each(|walker| commands.entity(walker).despawn());
        return;
    }
    if walkers.is_empty() && terrains.is_ready(camera.position, 2.0) {
        let at = camera.position - Vec3::Y * EYES_M;
        let walker = Walker { before: at, ..Walker::default() };
        let body = (RigidBody::Kinematic, Collider::capsule(RADIUS_M, LENGTH_M));
        commands.spawn((walker, body, Transform::from_translation(at), Visibility::default()));
    }
}

/// Where it would move without ground, metres a second.
fn wanted_velocity(walker: &Walker, way: Vec3, up: f32, faster: f32, seconds: f32) -> Vec3 {
    if walker.swims {
        let wanted = (way + Vec3::Y * up) * SWIM_M_S * faster;
        // It floats up to where the eyes are above the water.
        let lift = Vec3::Y * if up < 0.0 { 0.0 } else { 0.8 };
        let left = WATER_DRAG.powf(seconds);
        return walker.velocity * left + (wanted + lift) * (1.0 - left) * 1.2;
    }
    let fall = match walker.stands {
        true if up > 0.0 => JUMP_M_S,
        true => -0.5,
        false => walker.velocity.y - 9.81 * seconds,
    };
    Vec3::new(way.x * SPEED_M_S * faster, fall, way.z * SPEED_M_S * faster)
}

/// A step of it.
pub(super) fn walk(
    walker: Option<Single<(Entity, &Collider, &mut Walker, &mut Transform)>>,
    camera: Single<&StudioCamera>,
    terrains: Terrains,
    tables: Query<&Terrain>,
    slide: MoveAndSlide,
    keys: Res<ButtonInput<KeyCode>>,
    map: Res<KeyMap>,
    pointer: Res<Pointer>,
    time: Res<Time>,
) {
    let Some(walker) = walker else { return };
    let (entity, collider, mut walker, mut at) = walker.into_inner();
    walker.before = at.translation;
    // Without this it would fall through ground that is not there yet.
    if !terrains.is_ready(at.translation, 2.0) {
        return;
    }
    let seconds = time.delta_secs();
    let wish = if pointer.has_keyboard { Vec3::ZERO } else { wish(&map, &keys) };
    let faster = if map.is_moving(Motion::Faster, &keys) { 2.0 } else { 1.0 };
    walker.swims = is_liquid(&terrains, &tables, at.translation + Vec3::Y * 0.3);
    let turn = match walker.swims {
        true => camera.rotation(),
        false => Quat::from_rotation_y(-camera.yaw.to_radians()),
    };
    let way = turn * Vec3::new(wish.x, 0.0, wish.z);
    let velocity = wanted_velocity(&walker, way, wish.y, faster, seconds);
    let mut stands = false;
    let out = slide.move_and_slide(
        collider,
        at.translation,
        at.rotation,
        velocity,
        time.delta(),
        &MoveAndSlideConfig::default(),
        &SpatialQueryFilter::from_excluded_entities([entity]),
        |hit| {
            stands |= hit.normal.y > MIN_STAND_COS;
            MoveAndSlideHitResponse::Accept
        },
    );
    at.translation = out.position;
    walker.stands = stands && velocity.y <= 0.0;
    walker.velocity = match walker.swims {
        true => out.projected_velocity,
        false => Vec3::new(velocity.x, out.projected_velocity.y.max(-60.0), velocity.z),
    };
}

/// The camera looks through its eyes.
pub(super) fn follow(
    walker: Option<Single<(&Walker, &Transform)>>,
    mut camera: Single<(&mut StudioCamera, &mut Transform), Without<Walker>>,
    time: Res<Time<Fixed>>,
) {
    let Some(walker) = walker else { return };
    let (walker, at) = *walker;
    let between = walker.before.lerp(at.translation, time.overstep_fraction());
    camera.0.position = between + Vec3::Y * EYES_M;
    let transform = camera.0.transform();
    camera.1.set_if_neq(transform);
}
