//! Five kinds of bodies to throw, and explosions.

use avian3d::prelude::*;
use bevy::prelude::*;
use bevy_terravox::prelude::*;

use crate::action::{Action, Field, Mode};
use crate::camera::StudioCamera;
use crate::history::History;
use crate::names::named;
use crate::open::Session;
use crate::pointer::Pointer;
use crate::settings::Settings;

/// Most bodies; the oldest go first.
const MAX_BODIES: usize = 300;
const THROW_M_S: f32 = 14.0;
/// Radius of the hole of an explosion, and of what it pushes.
const HOLE_M: f64 = 4.0;
const PUSH_M: f32 = 16.0;
const PUSH_M_S: f32 = 18.0;

named! {
    /// A kind of body.
    BodyKind {
        Ball "ball" "Ball",
        Crate "crate" "Crate",
        Barrel "barrel" "Barrel",
        Log "log" "Log",
        Boulder "boulder" "Boulder",
    }
}

impl BodyKind {
    /// The kind of a number from 0 to 4.
    pub fn of(number: u8) -> BodyKind {
        BodyKind::ALL[usize::from(number) % BodyKind::ALL.len()]
    }

    /// Half its height in metres, and its density in that of water.
    pub fn half_height_and_density(self) -> (f32, f32) {
        match self {
            BodyKind::Ball => (0.3, 0.35),
            BodyKind::Crate => (0.4, 0.6),
            BodyKind::Barrel => (0.5, 0.5),
            BodyKind::Log => (0.3, 0.7),
            BodyKind::Boulder => (0.7, 2.6),
        }
    }

    fn collider(self) -> Collider {
        match self {
            BodyKind::Ball => Collider::sphere(0.3),
            BodyKind::Crate => Collider::cuboid(0.8, 0.8, 0.8),
            BodyKind::Barrel => Collider::cylinder(0.35, 1.0),
            BodyKind::Log => Collider::capsule(0.3, 1.8),
            BodyKind::Boulder => Collider::sphere(0.7),
        }
    }

    fn mesh(self) -> Mesh {
        match self {
            BodyKind::Ball => Sphere::new(0.3).into(),
            BodyKind::Crate => Cuboid::new(0.8, 0.8, 0.8).into(),
            BodyKind::Barrel => Cylinder::new(0.35, 1.0).into(),
            BodyKind::Log => Capsule3d::new(0.3, 1.8).into(),
            BodyKind::Boulder => Sphere::new(0.7).into(),
        }
    }

    #[cfg(feature = "window")]
    fn colour(self) -> Color {
        match self {
            BodyKind::Ball => Color::srgb(0.85, 0.2, 0.15),
            BodyKind::Crate => Color::srgb(0.62, 0.45, 0.25),
            BodyKind::Barrel => Color::srgb(0.15, 0.35, 0.6),
            BodyKind::Log => Color::srgb(0.42, 0.29, 0.17),
            BodyKind::Boulder => Color::srgb(0.42, 0.42, 0.44),
        }
    }
}

/// A body that was thrown.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Thrown {
    /// What it is.
    pub kind: BodyKind,
    number: u64,
}

/// Throws, blows up, clears.
pub(super) fn act(
    mut actions: MessageReader<Action>,
    buttons: Res<ButtonInput<MouseButton>>,
    session: Option<Res<Session>>,
    settings: Res<Settings>,
    pointer: Res<Pointer>,
    camera: Single<&StudioCamera>,
    mut thrown: Query<(Entity, &Thrown, &Position, &mut LinearVelocity)>,
    mut meshes: Option<ResMut<Assets<Mesh>>>,
    mut history: ResMut<History>,
    mut edits: MessageWriter<EditTerrain>,
    mut number: Local<u64>,
    mut commands: Commands,
) {
    let Some(session) = session else {
        thrown.iter().for_each(|(body, ..)| commands.entity(body).despawn());
        return;
    };
    let mut throws = 0;
    for action in actions.read() {
        match action {
            Action::Throw if settings.mode == Mode::Play => throws += 1,
            Action::ClearBodies => {
                thrown.iter().for_each(|(body, ..)| commands.entity(body).despawn())
            }
            Action::Explode => {
                let Some(hit) = pointer.hit.filter(|hit| hit.in_terrain.mip == 0) else { continue };
                history.next = "Explosion".to_owned();
                let op = EditOp::dig_ball(hit.in_terrain.point_m, HOLE_M);
                edits.write(EditTerrain::new(session.terrain, op));
                for (_, _, position, mut velocity) in &mut thrown {
                    let away = position.0 - hit.point + Vec3::Y;
                    let share = 1.0 - away.length() / PUSH_M;
                    if share > 0.0 {
                        velocity.0 += away.normalize_or(Vec3::Y) * PUSH_M_S * share;
                    }
                }
            }
            _ => {}
        }
    }
    let clicks = settings.mode == Mode::Play && buttons.just_pressed(MouseButton::Left);
    if clicks && !pointer.is_over_panel && !pointer.is_looking {
        throws += 1;
    }
    for _ in 0..throws {
        *number += 1;
        let kind = BodyKind::of(settings.id(Field::Body));
        throw(kind, *number, &camera, meshes.as_deref_mut(), &mut commands);
    }
    if throws > 0 && thrown.iter().len() >= MAX_BODIES {
        let oldest = thrown.iter().min_by_key(|(_, body, ..)| body.number);
        oldest.into_iter().for_each(|(body, ..)| commands.entity(body).despawn());
    }
}

fn throw(
    kind: BodyKind,
    number: u64,
    camera: &StudioCamera,
    meshes: Option<&mut Assets<Mesh>>,
    commands: &mut Commands,
) {
    let along = camera.rotation() * Vec3::NEG_Z;
    let (_, density) = kind.half_height_and_density();
    let mut body = commands.spawn((
        Thrown { kind, number },
        RigidBody::Dynamic,
        kind.collider(),
        ColliderDensity(1000.0 * density),
        LinearVelocity(along * THROW_M_S),
        AngularVelocity(Vec3::new(2.0, 0.7, 1.3) * (number % 3) as f32),
        AngularDamping(0.4),
        Transform::from_translation(camera.position + along * 1.6),
        Visibility::default(),
    ));
    if let Some(meshes) = meshes {
        body.insert(Mesh3d(meshes.add(kind.mesh())));
    }
    #[cfg(feature = "window")]
    body.queue(move |mut entity: EntityWorldMut| {
        let material = entity.world_scope(|world| {
            let materials = world.get_resource_mut::<Assets<StandardMaterial>>();
            let look = StandardMaterial { perceptual_roughness: 0.8, ..kind.colour().into() };
            materials.map(|mut materials| materials.add(look))
        });
        if let Some(material) = material {
            entity.insert(MeshMaterial3d(material));
        }
    });
}
