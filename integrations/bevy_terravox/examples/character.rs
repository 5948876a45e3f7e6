//! A character that walks over hills: arrow keys walk and turn, space jumps.
mod example_app;

use avian3d::prelude::*;
use bevy::prelude::*;
use bevy_terravox::avian::TerravoxAvianPlugin;
use bevy_terravox::prelude::*;

const SPEED_M_S: f32 = 5.0;
const JUMP_M_S: f32 = 5.5;
const HALF_HEIGHT_M: f32 = 0.9;

/// The steepest ground that it stands on: the cosine of 50°.
const MIN_STAND_COS: f32 = 0.64;

#[derive(Component, Default)]
struct Character {
    velocity: Vec3,
    stands: bool,
}

fn main() {
    App::new()
        .add_plugins((example_app::ExamplePlugins, PhysicsPlugins::default()))
        .add_plugins((TerravoxPlugin::default(), TerravoxAvianPlugin::default()))
        .add_systems(Startup, set_up)
        .add_systems(FixedUpdate, walk)
        .add_systems(Last, report)
        .run();
}

fn set_up(mut commands: Commands) {
    commands.spawn(Terrain::new(|request| {
        request.fill_height(2, -8.0..=8.0, |x, z| 8.0 * (x * 0.04).sin() * (z * 0.03).cos())
    }));
    let body = (RigidBody::Kinematic, Collider::capsule(0.4, 1.0), Character::default());
    let camera = Transform::from_xyz(0.0, 2.5, 6.0).looking_at(Vec3::Y, Vec3::Y);
    commands
        .spawn((body, TerrainViewer::new(300.0), Transform::from_xyz(0.0, 3.0, 0.0)))
        .insert(Visibility::default())
        .with_child((Camera3d::default(), camera));
}

fn walk(
    character: Single<(Entity, &Collider, &mut Character, &mut Transform)>,
    terrains: Terrains,
    slide: MoveAndSlide,
    keys: Res<ButtonInput<KeyCode>>,
    time: Res<Time>,
) {
    let (entity, collider, mut character, mut at) = character.into_inner();
    // A kinematic body falls only if its system says so.
    if !terrains.is_ready(at.translation, 2.0) {
        return;
    }
    let key = |key| f32::from(u8::from(keys.pressed(key)));
    at.rotate_y((key(KeyCode::ArrowLeft) - key(KeyCode::ArrowRight)) * 2.0 * time.delta_secs());
    // Without a window it walks by itself.
    let forward = key(KeyCode::ArrowUp) - key(KeyCode::ArrowDown);
    let forward = if example_app::flag("--frames").is_some() { 1.0 } else { forward };
    let wish = at.forward() * forward * SPEED_M_S;
    let fall = match character.stands {
        true => JUMP_M_S * key(KeyCode::Space) - 0.5,
        false => character.velocity.y - 9.81 * time.delta_secs(),
    };
    let velocity = Vec3::new(wish.x, fall, wish.z);
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
    character.velocity = out.projected_velocity;
    character.stands = stands;
}

/// Where it got to.
fn report(
    mut ends: MessageReader<AppExit>,
    character: Single<&Transform, With<Character>>,
    terrains: Terrains,
) {
    if ends.read().count() > 0 {
        let down = Ray3d::new(character.translation, Dir3::NEG_Y);
        let above = terrains.ray(down, 50.0).map_or(f32::NAN, |hit| hit.distance - HALF_HEIGHT_M);
        let walked = -character.translation.z;
        println!("walked {walked:.1} m, {above:.2} m above the ground");
    }
}
