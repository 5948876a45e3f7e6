//! Terrains of a server: two apps join it.
#![cfg(feature = "online")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bevy::mesh::MeshPlugin;
use bevy::prelude::*;
use bevy_terravox::online::terravox_server::{
    AccessList, ClientOptions, Right, ServedWorld, Server, ServerOptions,
};
use bevy_terravox::online::{OnlineAvatar, OnlineBody, OnlineEvent, OnlineFailed, OnlineTerrain};
use bevy_terravox::prelude::*;
use bevy_terravox::terravox::generate::Hills;
use bevy_terravox::terravox::replicate::{GuestEvent, HostOptions, SharedBodyKind};
use bevy_terravox::terravox::terrain::Placement;
use bevy_terravox::terravox::voxel::MipBlock;
use bevy_terravox::{TerrainChunks, TerrainEditFailed};
use terravox_store::{Generator, Overwrite, Store, WorldInfo};

/// A folder that is removed when it is dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Serves hills at a port, 0 for any; "look" may only look.
fn serve(folder: &Path, port: u16) -> Server {
    serve_with(folder, port, HostOptions::default())
}

fn serve_with(folder: &Path, port: u16, host: HostOptions) -> Server {
    let path = folder.join("hills.tvx");
    let store = match path.exists() {
        true => Store::open(&path).unwrap(),
        false => {
            let info = WorldInfo::growing(Placement::default(), Generator::hills(7));
            Store::create(&path, &info, Overwrite::No).unwrap().finish().unwrap()
        }
    };
    let hills = Hills::new(7);
    let generate = move |request: &mut FillRequest<'_>| {
        let mip = request.mip();
        hills.fill(request.cells(), mip);
    };
    let world = ServedWorld {
        name: "hills".into(),
        store,
        generate: Some(Arc::new(generate)),
        protected: Vec::new(),
        decide: None,
        share: None,
    };
    let mut access = AccessList::default();
    access.add("dig", Right::Edit);
    access.add("look", Right::Look);
    let options = ServerOptions {
        port,
        access,
        host,
        certificate_folder: folder.into(),
        ..ServerOptions::default()
    };
    Server::start(vec![world], options).unwrap()
}

#[derive(Resource, Default)]
struct Heard(Vec<GuestEvent>, Vec<OnlineFailed>, Vec<TerrainEditFailed>);

/// An app that joins a server.
fn join(server: &Server, token: &str) -> (App, Entity) {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, AssetPlugin::default(), MeshPlugin));
    app.add_plugins(TerravoxPlugin::default()).init_resource::<Heard>();
    app.add_observer(|said: On<OnlineEvent>, mut heard: ResMut<Heard>| {
        heard.0.push(said.event.clone());
    });
    app.add_observer(|failed: On<OnlineFailed>, mut heard: ResMut<Heard>| {
        heard.1.push(failed.clone());
    });
    app.add_observer(|failed: On<TerrainEditFailed>, mut heard: ResMut<Heard>| {
        heard.2.push(failed.clone());
    });
    app.finish();
    app.cleanup();
    let terrain = app.world_mut().spawn(online_terrain(server, token)).id();
    app.world_mut().spawn((TerrainViewer::new(80.0), Transform::from_xyz(0.0, 20.0, 0.0)));
    (app, terrain)
}

fn online_terrain(server: &Server, token: &str) -> OnlineTerrain {
    let address = server.quic_address().to_string().parse().unwrap();
    let options = ClientOptions { token: token.into(), ..ClientOptions::default() };
    let mut terrain = TerrainOptions::default();
    terrain.lod.max_mip = 2;
    OnlineTerrain::join(address, options).with_options(terrain)
}

/// Runs apps until a condition holds.
fn run_until(apps: &mut [&mut App], what: &str, mut is_done: impl FnMut(&mut [&mut App]) -> bool) {
    let start = Instant::now();
    while !is_done(apps) {
        apps.iter_mut().for_each(|app| app.update());
        std::thread::sleep(Duration::from_millis(1));
        assert!(start.elapsed() < Duration::from_secs(60), "{what} takes more than a minute");
    }
}

fn is_settled(app: &mut App) -> bool {
    let world = app.world_mut();
    let mut terrains = world.query::<(&OnlineTerrain, Option<(&Terrain, &TerrainChunks)>)>();
    terrains.iter(world).all(|(online, terrain)| {
        let is_here = online.with_client(|client| {
            client.guest().is_complete() && client.guest().pending_edits() == 0
        });
        let is_shown =
            terrain.is_some_and(|(terrain, chunks)| terrain.is_settled() && chunks.is_complete());
        is_here == Some(true) && is_shown
    })
}

fn settle(apps: &mut [&mut App]) {
    run_until(apps, "settling", |apps| apps.iter_mut().all(|app| is_settled(app)));
}

/// The height of the ground below a point.
fn ground(app: &App, terrain: Entity, x: f64, z: f64) -> Option<f64> {
    let terrain = app.world().get::<Terrain>(terrain)?;
    Some(terrain.ray([x, 50.0, z], [0.0, -1.0, 0.0], 100.0).hit()?.point_m[1])
}

fn edit(app: &mut App, edit: EditTerrain) {
    app.world_mut().write_message(edit);
    app.update();
}

fn heard(app: &App) -> &Heard {
    app.world().resource::<Heard>()
}

fn was_refused(app: &App) -> bool {
    heard(app).0.iter().any(|event| matches!(event, GuestEvent::Refused { .. }))
}

/// What can be undone and redone, and edits without a reply.
fn counts(app: &App, terrain: Entity) -> (usize, usize, usize) {
    let online = app.world().get::<OnlineTerrain>(terrain).unwrap();
    (online.undoable().count(), online.redoable().count(), online.pending_edits())
}

/// Places that are dug apart from each other.
fn places(number: i32) -> impl Iterator<Item = [f64; 2]> + Clone {
    (0..number).map(|i| [i % 12 - 6, i / 12 - 6].map(|v| f64::from(4 * v) + 0.5))
}

fn heights(app: &App, terrain: Entity, number: i32) -> Vec<f64> {
    let height = |[x, z]: [f64; 2]| {
        ground(app, terrain, x, z).unwrap_or_else(|| panic!("no ground at {x}, {z}"))
    };
    places(number).map(height).collect()
}

/// Digs at many places in one stroke.
fn write_stroke(app: &mut App, terrain: Entity, heights: &[f64]) {
    let places = places(heights.len() as i32).zip(heights);
    let digs = places.map(|([x, z], y)| TerrainAction::Apply(EditOp::dig_ball([x, *y, z], 1.3)));
    let (begin, end) = (TerrainAction::BeginStroke, TerrainAction::EndStroke);
    let actions = [begin].into_iter().chain(digs).chain([end]);
    let edits = actions.map(|action| EditTerrain { terrain, action });
    app.world_mut().write_message_batch(edits.collect::<Vec<_>>());
}

/// Whether there is a hole at each place.
fn is_dug(app: &App, terrain: Entity, before: &[f64]) -> bool {
    let now = heights(app, terrain, before.len() as i32);
    now.iter().zip(before).all(|(now, before)| *now < before - 0.5)
}

#[test]
fn two_players_dig_one_world_and_it_is_there_after_a_restart_slow() {
    let folder = Folder::new("bevy-online");
    let server = serve(&folder.0, 0);
    let port = server.quic_address().port();
    let ((mut ada, ada_ground), (mut bob, bob_ground)) =
        (join(&server, "dig"), join(&server, "dig"));
    settle(&mut [&mut ada, &mut bob]);
    let before = ground(&ada, ada_ground, 3.0, 4.0).expect("ground");
    assert_eq!(ground(&bob, bob_ground, 3.0, 4.0), Some(before));

    let dig = EditOp::dig_ball([3.0, before, 4.0], 5.0);
    edit(&mut ada, EditTerrain::new(ada_ground, dig));
    let dug = ground(&ada, ada_ground, 3.0, 4.0).unwrap();
    assert!((dug - (before - 5.0)).abs() < 0.5, "it shows at once: {dug}");
    run_until(&mut [&mut ada, &mut bob], "an edit", |apps| {
        ground(apps[1], bob_ground, 3.0, 4.0) == Some(dug)
    });
    settle(&mut [&mut ada, &mut bob]);
    assert!(heard(&ada).0.iter().any(|event| matches!(event, GuestEvent::Confirmed { .. })));
    assert!(heard(&bob).0.iter().any(|event| matches!(event, GuestEvent::Edited { .. })));

    edit(&mut ada, EditTerrain::undo(ada_ground));
    run_until(&mut [&mut ada, &mut bob], "undo", |apps| {
        ground(apps[0], ada_ground, 3.0, 4.0) == Some(before)
            && ground(apps[1], bob_ground, 3.0, 4.0) == Some(before)
    });

    // A stroke is one step, also if undo is asked for before the server has replied.
    let stroke = |action| EditTerrain { terrain: ada_ground, action };
    ada.world_mut().write_message(stroke(TerrainAction::BeginStroke));
    for deeper in [0.0, 2.0, 4.0] {
        let dig = EditOp::dig_ball([3.0, before - deeper, 4.0], 5.0);
        ada.world_mut().write_message(EditTerrain::new(ada_ground, dig));
    }
    ada.world_mut().write_message(stroke(TerrainAction::EndStroke));
    edit(&mut ada, EditTerrain::undo(ada_ground));
    run_until(&mut [&mut ada, &mut bob], "undo of a stroke", |apps| {
        counts(apps[0], ada_ground) == (0, 1, 0)
            && ground(apps[0], ada_ground, 3.0, 4.0) == Some(before)
            && ground(apps[1], bob_ground, 3.0, 4.0) == Some(before)
    });
    edit(&mut ada, EditTerrain::redo(ada_ground));
    run_until(&mut [&mut ada, &mut bob], "redo of a stroke", |apps| {
        counts(apps[0], ada_ground) == (1, 0, 0)
            && ground(apps[1], bob_ground, 3.0, 4.0).is_some_and(|y| y < before - 8.5)
    });
    edit(&mut ada, EditTerrain::undo(ada_ground));
    settle(&mut [&mut ada, &mut bob]);

    // The server goes, and comes back; who was there is there again, with the ground that it had.
    edit(&mut bob, EditTerrain::new(bob_ground, EditOp::dig_ball([3.0, before, 4.0], 5.0)));
    run_until(&mut [&mut ada, &mut bob], "the edit of the other", |apps| {
        ground(apps[0], ada_ground, 3.0, 4.0) == Some(dug)
    });
    settle(&mut [&mut ada, &mut bob]);
    server.stop().unwrap();
    run_until(&mut [&mut ada, &mut bob], "a break", |apps| {
        apps.iter().all(|app| heard(app).1.iter().any(|failed| failed.is_retried))
    });
    let refused = EditTerrain::new(ada_ground, EditOp::dig_ball([0.0; 3], 2.0));
    edit(&mut ada, refused);
    assert!(heard(&ada).2[0].error.to_string().contains("no connection"), "{:?}", heard(&ada).2);
    assert_eq!(ground(&ada, ada_ground, 3.0, 4.0), Some(dug), "what was there stays");
    let server = serve(&folder.0, port);
    settle(&mut [&mut ada, &mut bob]);
    assert_eq!(ground(&ada, ada_ground, 3.0, 4.0), Some(dug));
    edit(&mut ada, EditTerrain::new(ada_ground, EditOp::dig_ball([3.0, dug, 4.0], 4.0)));
    settle(&mut [&mut ada, &mut bob]);
    let deeper = ground(&ada, ada_ground, 3.0, 4.0).unwrap();
    assert!(deeper < dug - 3.0, "{deeper}");
    run_until(&mut [&mut ada, &mut bob], "an edit after the break", |apps| {
        ground(apps[1], bob_ground, 3.0, 4.0) == Some(deeper)
    });
    // Both hold the same cells.
    let block = MipBlock { mip: 0, pos: [0, 0, 0].into() };
    let cells = |app: &App, terrain| {
        let grid = app.world().get::<Terrain>(terrain).unwrap().grid();
        let mut cells = bevy_terravox::terravox::voxel::DenseBox::default();
        grid.read(block.voxels(), 0, &mut cells).unwrap();
        cells
    };
    assert!(cells(&ada, ada_ground) == cells(&bob, bob_ground));
    drop(server);
}

#[test]
fn who_may_only_look_sees_an_edit_vanish_and_others_where_they_are_slow() {
    let folder = Folder::new("bevy-looking");
    let server = serve(&folder.0, 0);
    let ((mut ada, ada_ground), (mut bob, bob_ground)) =
        (join(&server, "look"), join(&server, "dig"));
    let avatar = OnlineAvatar { terrain: bob_ground, bytes: b"bob".to_vec() };
    bob.world_mut().spawn((avatar, Transform::from_xyz(5.0, 30.0, -2.0)));
    settle(&mut [&mut ada, &mut bob]);
    let before = ground(&ada, ada_ground, 3.0, 4.0);
    let dig = EditOp::dig_ball([3.0, before.unwrap(), 4.0], 5.0);
    edit(&mut ada, EditTerrain::new(ada_ground, dig));
    assert!(ground(&ada, ada_ground, 3.0, 4.0) < before, "it shows at once");
    run_until(&mut [&mut ada, &mut bob], "a refusal", |apps| {
        heard(apps[0]).0.iter().any(|event| matches!(event, GuestEvent::Refused { .. }))
    });
    settle(&mut [&mut ada, &mut bob]);
    assert_eq!(ground(&ada, ada_ground, 3.0, 4.0), before, "it vanished");
    run_until(&mut [&mut ada, &mut bob], "an avatar", |apps| {
        let world = apps[0].world_mut();
        let mut bodies = world.query::<(&OnlineBody, &Transform)>();
        bodies.iter(world).any(|(body, at)| {
            matches!(body.kind, SharedBodyKind::Avatar(_))
                && *body.bytes == *b"bob"
                && at.translation.distance(Vec3::new(5.0, 30.0, -2.0)) < 0.1
        })
    });
    let sees_none = |app: &mut App| {
        let world = app.world_mut();
        world.query::<&OnlineBody>().iter(world).count() == 0
    };
    // Without its component the avatar goes; so it does when the player leaves, or the app ends.
    let world = bob.world_mut();
    let player = world.query_filtered::<Entity, With<OnlineAvatar>>().single(world).unwrap();
    let avatar = world.entity_mut(player).take::<OnlineAvatar>().unwrap();
    run_until(&mut [&mut ada, &mut bob], "no avatar", |apps| sees_none(apps[0]));
    bob.world_mut().entity_mut(player).insert(avatar.clone());
    run_until(&mut [&mut ada, &mut bob], "the avatar again", |apps| !sees_none(apps[0]));
    bob.world_mut().despawn(bob_ground);
    run_until(&mut [&mut ada, &mut bob], "leaving", |apps| sees_none(apps[0]));
    let (mut eve, eve_ground) = join(&server, "dig");
    eve.world_mut().spawn((OnlineAvatar { terrain: eve_ground, ..avatar }, Transform::IDENTITY));
    run_until(&mut [&mut ada, &mut eve], "another avatar", |apps| !sees_none(apps[0]));
    eve.world_mut().write_message(AppExit::Success);
    eve.update();
    drop(eve);
    run_until(&mut [&mut ada], "the end of an app", |apps| sees_none(apps[0]));
}

#[test]
fn an_entity_joins_again_and_shows_what_its_new_client_has_slow() {
    let folder = Folder::new("bevy-again");
    let server = serve(&folder.0, 0);
    let ((mut ada, ada_ground), (mut bob, bob_ground)) =
        (join(&server, "dig"), join(&server, "dig"));
    bob.world_mut()
        .spawn((OnlineAvatar { terrain: bob_ground, bytes: vec![] }, Transform::IDENTITY));
    settle(&mut [&mut ada, &mut bob]);
    let bodies = |app: &mut App| {
        let world = app.world_mut();
        world.query::<&OnlineBody>().iter(world).count()
    };
    run_until(&mut [&mut ada, &mut bob], "an avatar", |apps| bodies(apps[0]) == 1);
    let again = online_terrain(&server, "dig");
    ada.world_mut().entity_mut(ada_ground).remove::<OnlineTerrain>();
    ada.update();
    let before = ground(&ada, ada_ground, 3.0, 4.0).expect("the ground stays");
    assert_eq!(bodies(&mut ada), 0);
    edit(&mut bob, EditTerrain::new(bob_ground, EditOp::dig_ball([3.0, before, 4.0], 5.0)));
    settle(&mut [&mut bob]);
    ada.world_mut().entity_mut(ada_ground).insert(again);
    run_until(&mut [&mut ada, &mut bob], "the edit of before", |apps| {
        ground(apps[0], ada_ground, 3.0, 4.0).is_some_and(|y| y < before - 4.0)
    });
    run_until(&mut [&mut ada, &mut bob], "the avatar again", |apps| bodies(apps[0]) == 1);
    settle(&mut [&mut ada, &mut bob]);
    edit(&mut bob, EditTerrain::undo(bob_ground));
    run_until(&mut [&mut ada, &mut bob], "an edit", |apps| {
        ground(apps[0], ada_ground, 3.0, 4.0) == Some(before)
    });
}

#[test]
fn a_piece_that_is_cut_loose_is_seen_falling_slow() {
    let folder = Folder::new("bevy-falling");
    let server = serve(&folder.0, 0);
    let (mut ada, terrain) = join(&server, "dig");
    settle(&mut [&mut ada]);
    let y = ground(&ada, terrain, 12.0, 14.0).unwrap();
    // What is built in the air stays there until something is dug off it.
    edit(&mut ada, EditTerrain::new(terrain, EditOp::fill_ball(8, [12.0, y + 12.0, 14.0], 3.0)));
    settle(&mut [&mut ada]);
    let touch = EditOp::dig_ball([12.0, y + 9.0, 14.0], 1.5);
    edit(&mut ada, EditTerrain::new(terrain, touch));
    run_until(&mut [&mut ada], "a falling piece", |apps| {
        let world = apps[0].world_mut();
        let mut pieces = world.query::<(&OnlineBody, &Children)>();
        pieces
            .iter(world)
            .any(|(body, children)| body.kind == SharedBodyKind::Loose && !children.is_empty())
    });
    run_until(&mut [&mut ada], "coming to rest", |apps| {
        let world = apps[0].world_mut();
        world.query::<&OnlineBody>().iter(world).count() == 0
    });
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let folder = Folder::new("bevy-nowhere");
    let server = serve(&folder.0, 0);
    let (mut wrong, _) = join(&server, "guess");
    run_until(&mut [&mut wrong], "a refusal", |apps| !heard(apps[0]).1.is_empty());
    let OnlineFailed { error, is_retried, .. } = &heard(&wrong).1[0];
    assert!(!is_retried && error.to_string().contains("not known"), "{error}");
    let (mut late, terrain) = {
        let joined = join(&server, "dig");
        server.stop().unwrap();
        joined
    };
    run_until(&mut [&mut late], "a failure", |apps| !heard(apps[0]).1.is_empty());
    edit(&mut late, EditTerrain::new(terrain, EditOp::dig_ball([0.0; 3], 2.0)));
}

#[test]
fn edits_in_flight_when_the_link_breaks_are_repeated_slow() {
    let folder = Folder::new("bevy-broken");
    // It takes an operation in a tick: most are in flight when it ends.
    let slow = HostOptions { edits_per_s: 1000, edit_work_per_tick: 1, ..HostOptions::default() };
    let server = serve_with(&folder.0, 0, slow);
    let port = server.quic_address().port();
    let (mut ada, ada_ground) = join(&server, "dig");
    settle(&mut [&mut ada]);
    let before = heights(&ada, ada_ground, 140);
    write_stroke(&mut ada, ada_ground, &before);
    ada.update();
    assert!(is_dug(&ada, ada_ground, &before), "it shows at once");
    ada.update();
    server.stop().unwrap();
    run_until(&mut [&mut ada], "a break", |apps| !heard(apps[0]).1.is_empty());
    let (_, _, in_flight) = counts(&ada, ada_ground);
    assert!(in_flight > 60, "more than a host takes at once: {in_flight}");
    // The host that comes back takes 60 operations at once, then 30 a second.
    let server = serve(&folder.0, port);
    let (mut bob, bob_ground) = join(&server, "dig");
    run_until(&mut [&mut ada, &mut bob], "repeating", |apps| {
        counts(apps[0], ada_ground) == (1, 0, 0)
    });
    settle(&mut [&mut ada, &mut bob]);
    assert!(is_dug(&ada, ada_ground, &before) && is_dug(&bob, bob_ground, &before));
    assert!(!was_refused(&ada) && heard(&ada).2.is_empty());
    // What is repeated stays one stroke.
    edit(&mut ada, EditTerrain::undo(ada_ground));
    run_until(&mut [&mut ada, &mut bob], "undo", |apps| counts(apps[0], ada_ground) == (0, 1, 0));
    drop(server);
}

#[test]
fn a_stroke_of_more_steps_than_a_host_takes_at_once_is_undone_slow() {
    let folder = Folder::new("bevy-undo");
    let server = serve(&folder.0, 0);
    let ((mut ada, ada_ground), (mut bob, bob_ground)) =
        (join(&server, "dig"), join(&server, "dig"));
    settle(&mut [&mut ada, &mut bob]);
    let before = heights(&ada, ada_ground, 100);
    // Behind an undo edits wait: they are sent as fast as the host takes them.
    ada.world_mut().write_message(EditTerrain::new(ada_ground, EditOp::dig_ball([0.0; 3], 1.0)));
    ada.world_mut().write_message(EditTerrain::undo(ada_ground));
    write_stroke(&mut ada, ada_ground, &before);
    run_until(&mut [&mut ada, &mut bob], "a stroke", |apps| {
        counts(apps[0], ada_ground) == (1, 0, 0) && is_dug(apps[1], bob_ground, &before)
    });
    edit(&mut ada, EditTerrain::undo(ada_ground));
    assert_eq!(counts(&ada, ada_ground), (1, 0, 100), "it leaves as a whole");
    run_until(&mut [&mut ada, &mut bob], "undo", |apps| counts(apps[0], ada_ground) == (0, 1, 0));
    settle(&mut [&mut ada, &mut bob]);
    assert_eq!(heights(&ada, ada_ground, 100), before);
    run_until(&mut [&mut ada, &mut bob], "the undo of the other", |apps| {
        heights(apps[1], bob_ground, 100) == before
    });
    assert!(!was_refused(&ada) && heard(&ada).2.is_empty());
    drop(server);
}

#[test]
fn a_terrain_with_a_palette_stays_through_a_break_slow() {
    let folder = Folder::new("bevy-palette");
    let server = serve(&folder.0, 0);
    let port = server.quic_address().port();
    let (mut ada, ada_ground) = join(&server, "dig");
    settle(&mut [&mut ada]);
    let terrain = |app: &App| {
        let terrain = app.world().get::<Terrain>(ada_ground).unwrap();
        (terrain.fill(), terrain.grid().materials().clone())
    };
    let (fill, mut materials) = terrain(&ada);
    materials.set_colour(2, [1, 2, 3]);
    let palette = TerrainPalette { materials: materials.clone(), ..default() };
    let handle = ada.world_mut().resource_mut::<Assets<TerrainPalette>>().add(palette);
    ada.world_mut().entity_mut(ada_ground).insert(PaletteHandle(handle));
    settle(&mut [&mut ada]);
    server.stop().unwrap();
    run_until(&mut [&mut ada], "a break", |apps| !heard(apps[0]).1.is_empty());
    let server = serve(&folder.0, port);
    settle(&mut [&mut ada]);
    let (now, its_materials) = terrain(&ada);
    assert!(Arc::ptr_eq(&now, &fill), "it is another terrain");
    assert_eq!(its_materials, materials);
    drop(server);
}
