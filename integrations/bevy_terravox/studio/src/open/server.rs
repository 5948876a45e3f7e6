//! Joins worlds that servers have. The server decides about edits, and saves them.

use std::path::Path;

use bevy::prelude::*;
use bevy_terravox::online::terravox_server::{ClientOptions, WorldAddress};
use bevy_terravox::online::{OnlineAvatar, OnlineBody, OnlineEvent, OnlineFailed, OnlineTerrain};
use bevy_terravox::prelude::*;
use bevy_terravox::terravox;
use terravox::collide::Filter;
use terravox::generate::Seeded;
use terravox::replicate::{GeneratorId, GuestEvent, SharedBodyKind, printable};

use super::plugin::{KeepsNothing, Opening, OpeningFrom, Session};
use super::read::{view_above, view_above_ground};
use crate::action::Field;
use crate::camera::StudioCamera;
use crate::notices::Notices;
use crate::settings::Settings;
use crate::state_dir::StateDir;

/// The first view of a world that no known generator made, until its ground is there.
const VIEW: [f32; 5] = [0.0, 80.0, 0.0, 40.0, -14.0];
/// Characters of a name that are shown.
const NAME_CHARS: usize = 40;

/// How the studio is known to servers.
#[derive(Resource, Clone, Debug, Default)]
pub struct ServerAccess {
    /// Its token, and how a server is known to it.
    pub options: ClientOptions,
    /// The name that others see; at most 256 bytes.
    pub name: String,
}

/// The state of the link to the server that has a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The server takes edits.
    Up,
    /// It broke, and is being made again.
    Broken,
}

/// Returns the address in a text: `HOST:PORT`, `HOST:PORT/WORLD`, or with `ws://` before it. `None` for other
/// texts, and for those that name a file or a generated world.
pub fn address(text: &str) -> Option<Result<WorldAddress, String>> {
    let has_scheme = text.starts_with("ws://") || text.starts_with("terravox://");
    let place = text.split('/').next().unwrap_or_default();
    let has_port = place.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !has_scheme && !has_port || Seeded::is_named_by(text) || Path::new(text).exists() {
        return None;
    }
    Some(text.parse().map_err(|error| format!("{error}")))
}

/// Begins to join a world.
pub(super) fn begin(
    address: WorldAddress,
    options: TerrainOptions,
    access: &ServerAccess,
    cameras: &Query<Entity, With<StudioCamera>>,
    commands: &mut Commands,
) -> Opening {
    let text = address.to_string();
    let online = OnlineTerrain::join(address, access.options.clone()).with_options(options);
    let terrain = commands.spawn(online).id();
    for camera in cameras {
        let bytes = access.name.clone().into_bytes();
        commands.entity(camera).insert(OnlineAvatar { terrain, bytes });
    }
    Opening { text, from: OpeningFrom::Server(terrain) }
}

/// Puts a world into the window when its server lets the studio in, and tells of refused edits.
pub(super) fn follow(
    said: On<OnlineEvent>,
    terrains: Query<&Terrain>,
    opening: Option<Res<Opening>>,
    mut session: Option<ResMut<Session>>,
    mut cameras: Query<&mut StudioCamera>,
    state: Res<StateDir>,
    keeps_nothing: Res<KeepsNothing>,
    mut notices: ResMut<Notices>,
    mut commands: Commands,
) {
    let session = session.as_mut().filter(|session| session.terrain == said.terrain);
    match (&said.event, session) {
        (GuestEvent::Welcome { .. }, Some(session)) => {
            session.link = Some(LinkState::Up);
            notices.say(format!("connected to {} again", session.title));
        }
        (GuestEvent::Welcome { generator, .. }, None) => {
            let Some(opening) = opening.filter(|opening| opening.joins(said.terrain)) else {
                return;
            };
            let seeded = generator.as_ref().and_then(GeneratorId::seeded);
            let home = match (&seeded, terrains.get(said.terrain)) {
                (Some(seeded), Ok(terrain)) => view_above_ground(seeded, terrain.placement()),
                _ => VIEW,
            };
            cameras.iter_mut().for_each(|mut camera| camera.set_view(home));
            commands.remove_resource::<Opening>();
            commands.insert_resource(Session {
                terrain: said.terrain,
                shared: Default::default(),
                title: opening.text.clone(),
                path: None,
                generator: seeded,
                is_edited: false,
                link: Some(LinkState::Up),
                home,
            });
            notices.say(format!("{} is open", opening.text));
            if !keeps_nothing.0 {
                state.add_recent(&opening.text);
            }
        }
        (GuestEvent::Refused { reason, .. }, Some(_)) => {
            notices.fail(format!("the server refused that: {reason}"));
        }
        _ => {}
    }
}

/// Says that there is no link. A world whose server does not want the studio, or that was not reached at
/// first, is closed.
pub(super) fn fail(
    failed: On<OnlineFailed>,
    opening: Option<Res<Opening>>,
    session: Option<ResMut<Session>>,
    mut notices: ResMut<Notices>,
    mut commands: Commands,
) {
    let opening = opening.filter(|opening| opening.joins(failed.terrain));
    let mut session = session.filter(|session| session.terrain == failed.terrain);
    let text = opening.as_ref().map(|opening| &opening.text);
    let text = text.or(session.as_ref().map(|session| &session.title));
    let error = match (failed.error.to_string(), text) {
        (error, Some(text)) if !error.contains(text) => format!("{text}: {error}"),
        (error, _) => error,
    };
    if failed.is_retried {
        notices.fail(format!("{error}; connecting again"));
        if let Some(session) = &mut session {
            session.link = Some(LinkState::Broken);
        }
        return;
    }
    notices.fail(error);
    commands.entity(failed.terrain).try_despawn();
    if opening.is_some() {
        commands.remove_resource::<Opening>();
    }
    if session.is_some() {
        commands.remove_resource::<Session>();
    }
}

/// Looks at a world from above its ground, once that is there, unless the user has moved.
pub(super) fn find_ground(
    session: Option<ResMut<Session>>,
    terrains: Query<&Terrain>,
    mut camera: Single<&mut StudioCamera>,
    settings: Res<Settings>,
) {
    let Some(mut session) = session.filter(|session| session.home == VIEW) else { return };
    let Ok(terrain) = terrains.get(session.terrain) else { return };
    if session.link.is_none() || camera.view() != VIEW || !terrain.is_settled() {
        return;
    }
    let (above, reach_m) = (Vec3::from_slice(&VIEW), settings.get(Field::Distance));
    let from = (above + Vec3::Y * reach_m).as_dvec3().to_array();
    let (down, far_m) = ([0.0, -1.0, 0.0], f64::from(2.0 * reach_m));
    let Some(hit) = terrain.ray_shown(from, down, far_m, &Filter::BOTH) else { return };
    let placement = terrain.placement();
    session.home = view_above(placement.voxel_from_world(hit.point_m), placement);
    camera.set_view(session.home);
}

/// The name of another person, as far as it is shown; `None` for other bodies.
pub fn name_of(body: &OnlineBody) -> Option<String> {
    let SharedBodyKind::Avatar(number) = body.kind else { return None };
    let name = printable(&String::from_utf8_lossy(&body.bytes));
    let name: String = name.trim().chars().take(NAME_CHARS).collect();
    Some(if name.is_empty() { format!("guest {number}") } else { name })
}

/// Gives other people a shape.
#[cfg(feature = "window")]
pub(super) fn show_person(
    added: On<Add, OnlineBody>,
    bodies: Query<&OnlineBody>,
    meshes: Option<ResMut<Assets<Mesh>>>,
    materials: Option<ResMut<Assets<StandardMaterial>>>,
    mut commands: Commands,
) {
    let Ok(OnlineBody { kind: SharedBodyKind::Avatar(number), .. }) = bodies.get(added.entity)
    else {
        return;
    };
    // Without a renderer nothing is drawn.
    let (Some(mut meshes), Some(mut materials)) = (meshes, materials) else { return };
    // Neighbouring numbers get colours that differ.
    let colour = Color::hsl(47.0 * (number % 360) as f32 % 360.0, 0.7, 0.55);
    commands.entity(added.entity).insert((
        Mesh3d(meshes.add(Capsule3d::new(0.4, 1.0))),
        MeshMaterial3d(materials.add(StandardMaterial::from(colour))),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_files_and_generated_worlds() {
        for text in ["localhost:4077", "127.0.0.1:4077/hills", "ws://[::1]:80", "a.example:1"] {
            assert_eq!(address(text).unwrap().unwrap().to_string(), text);
        }
        let files = ["a:b", ":1", "folder/a:1", "a.tvx", "hills:7", "world:7:fjords", "C:\\worlds"];
        for text in files {
            assert!(address(text).is_none(), "{text}");
        }
        assert!(address("localhost:99999").unwrap().is_err_and(|error| error.contains("port")));
    }

    #[test]
    fn names_of_others_are_one_short_line() {
        let body = |kind, bytes: &[u8]| OnlineBody {
            terrain: Entity::PLACEHOLDER,
            number: 1,
            kind,
            bytes: bytes.into(),
        };
        let name = |bytes: &[u8]| name_of(&body(SharedBodyKind::Avatar(3), bytes)).unwrap();
        assert_eq!(name("Zoë\n".as_bytes()), "Zoë");
        assert_eq!(name(b"\xff"), "\u{fffd}");
        assert_eq!(name(b" \n"), "guest 3");
        assert_eq!(name(&[b'a'; 5000]).len(), NAME_CHARS);
        assert_eq!(name_of(&body(SharedBodyKind::Game(1), b"ball")), None);
    }
}
