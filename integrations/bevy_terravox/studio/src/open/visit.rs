//! Visits worlds that a server has. The server decides about edits, and saves them.

use std::path::Path;

use bevy::prelude::*;
use bevy_terravox::online::terravox_server::{ClientOptions, WorldAddress};
use bevy_terravox::online::{OnlineBody, OnlineEvent, OnlineFailed, OnlineFigure, OnlineTerrain};
use bevy_terravox::prelude::*;
use bevy_terravox::terravox;
use terravox::generate::Seeded;
use terravox::replicate::{GuestEvent, SharedBodyKind};

use super::{IsPassing, Session};
use crate::camera::StudioCamera;
use crate::notices::Notices;
use crate::state_dir::StateDir;

/// The first view, until the user moves.
const VIEW: [f32; 5] = [0.0, 140.0, 0.0, 0.0, -30.0];

/// How the studio is known to servers.
#[derive(Resource, Clone, Debug, Default)]
pub struct ServerAccess(pub ClientOptions);

/// The address that a text is, if it is one: `HOST:PORT`, `HOST:PORT/WORLD`, or after `ws://`, and neither a file
/// nor a generated world.
pub(super) fn address(text: &str) -> Option<Result<WorldAddress, String>> {
    let has_scheme = text.starts_with("ws://") || text.starts_with("terravox://");
    let place = text.split('/').next().unwrap_or_default();
    let has_port = place.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let is_world = Seeded::is_named_by(text) || Path::new(text).exists();
    let is_address = (has_scheme || has_port) && !is_world;
    is_address.then(|| text.parse().map_err(|error| format!("{error}")))
}

/// Joins a world, and puts it into the window.
pub(super) fn begin(
    address: WorldAddress,
    access: &ServerAccess,
    options: TerrainOptions,
    cameras: &mut Query<(Entity, &mut StudioCamera)>,
    commands: &mut Commands,
) {
    let title = address.to_string();
    let online = OnlineTerrain::join(address, access.0.clone()).with_options(options);
    let terrain = commands.spawn(online).id();
    for (camera, mut view) in cameras {
        view.set_view(VIEW);
        let figure = OnlineFigure { terrain, bytes: b"studio".to_vec() };
        commands.entity(camera).insert(figure);
    }
    commands.insert_resource(Session {
        terrain,
        shared: Default::default(),
        title,
        path: None,
        generator: None,
        is_edited: false,
        is_visit: true,
        home: VIEW,
    });
}

/// Says what the server says.
pub(super) fn tell(
    said: On<OnlineEvent>,
    session: Option<Res<Session>>,
    state: Res<StateDir>,
    passing: Res<IsPassing>,
    mut notices: ResMut<Notices>,
) {
    let Some(session) = session.filter(|session| session.terrain == said.terrain) else { return };
    match &said.event {
        GuestEvent::Welcome { guest, .. } => {
            if !passing.0 {
                state.add_recent(&session.title);
            }
            notices.say(format!("{} is open; you are number {guest}", session.title));
        }
        GuestEvent::Refused { reason, .. } => notices.fail(format!("not done: {reason}")),
        _ => {}
    }
}

/// Says that the link broke; a world that does not come back is closed.
pub(super) fn leave(
    failed: On<OnlineFailed>,
    session: Option<Res<Session>>,
    mut notices: ResMut<Notices>,
    mut commands: Commands,
) {
    let Some(session) = session.filter(|session| session.terrain == failed.terrain) else { return };
    let error = &failed.error;
    if failed.is_retried {
        notices.fail(format!("{error}; connecting again"));
    } else {
        notices.fail(error.to_string());
        commands.entity(session.terrain).despawn();
        commands.remove_resource::<Session>();
    }
}

/// Gives other players a shape.
pub(super) fn show_player(
    added: On<Add, OnlineBody>,
    bodies: Query<&OnlineBody>,
    #[cfg(feature = "window")] mut materials: Option<ResMut<Assets<StandardMaterial>>>,
    mut meshes: Option<ResMut<Assets<Mesh>>>,
    mut commands: Commands,
) {
    let Ok(OnlineBody { kind: SharedBodyKind::Figure(number), .. }) = bodies.get(added.entity)
    else {
        return;
    };
    let mut entity = commands.entity(added.entity);
    if let Some(meshes) = &mut meshes {
        entity.insert(Mesh3d(meshes.add(Capsule3d::new(0.4, 1.0))));
    }
    #[cfg(feature = "window")]
    if let Some(materials) = &mut materials {
        let colour = Color::hsl(47.0 * *number as f32 % 360.0, 0.7, 0.55);
        entity.insert(MeshMaterial3d(materials.add(StandardMaterial::from(colour))));
    }
    #[cfg(not(feature = "window"))]
    let _ = number;
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
}
