//! Opens worlds in the background and puts them into the window.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::terravox;
use terravox::generate::Seeded;
use terravox::lod::LodOptions;
use terravox_store::{Store, StoreError};

use super::read::{Opened, Reading, SharedStore, open};
use super::{LinkState, ServerAccess, Source, server};
use crate::action::{Action, Field};
use crate::background::Background;
use crate::camera::StudioCamera;
use crate::notices::Notices;
use crate::settings::Settings;
use crate::state_dir::StateDir;

/// The world in the window.
#[derive(Resource)]
pub struct Session {
    /// Its terrain.
    pub terrain: Entity,
    /// What its blocks are filled from.
    pub shared: SharedStore,
    /// A short name.
    pub title: String,
    /// Its file, if it has a name of the user's.
    pub path: Option<PathBuf>,
    /// What it generates where nothing is stored.
    pub generator: Option<Seeded>,
    /// Whether there is anything in it that cannot be made again.
    pub is_edited: bool,
    /// The link to the server that has it, and saves it; `None` if it is in a file of the studio.
    pub link: Option<LinkState>,
    /// The view that it was opened with.
    pub home: [f32; 5],
}

impl Session {
    /// The name in the title of the window.
    pub fn name(&self) -> String {
        match &self.path {
            Some(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            None if self.link.is_some() => self.title.clone(),
            None => format!("{} (no name yet)", self.title),
        }
    }
}

/// What is being opened.
#[derive(Resource)]
pub struct Opening {
    /// What it is.
    pub text: String,
    pub(super) from: OpeningFrom,
}

/// Where what is being opened comes from.
pub(super) enum OpeningFrom {
    /// A thread reads it.
    Thread { reading: Arc<Reading>, is_recovered: bool, opened: Background<Opened> },
    /// A server lets its terrain in.
    Server(Entity),
}

impl Opening {
    /// The share that is read, 0 to 1; `None` while a server is waited for.
    pub fn share(&self) -> Option<f32> {
        match &self.from {
            OpeningFrom::Thread { reading, .. } => Some(reading.share()),
            OpeningFrom::Server(_) => None,
        }
    }

    /// Whether a terrain waits for its server.
    pub(super) fn joins(&self, terrain: Entity) -> bool {
        matches!(self.from, OpeningFrom::Server(waiting) if waiting == terrain)
    }
}

/// How finely and how far worlds are shown.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// As `LodOptions::detail`.
    pub detail: f32,
    /// Voxels around the camera at full detail.
    pub near_voxels: f32,
    /// As `LodOptions::morph`.
    pub morph: bool,
}

impl Default for Detail {
    fn default() -> Detail {
        Detail { detail: 2.4, near_voxels: 64.0, morph: true }
    }
}

/// Whether the studio makes pictures and remembers nothing.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepsNothing(pub bool);

/// Opens worlds.
pub struct OpenPlugin;

impl Plugin for OpenPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Detail>()
            .init_resource::<KeepsNothing>()
            .init_resource::<ServerAccess>()
            .add_observer(server::follow)
            .add_observer(server::fail);
        #[cfg(feature = "window")]
        app.add_observer(server::show_person);
        app.add_systems(
            Update,
            // An action that opened a world is not read again, by what saves, when the world is there.
            (finish, start, server::find_ground, faults).chain().in_set(crate::StudioSystems::Open),
        );
    }
}

/// Starts to open what is asked for, once no world is open.
fn start(
    mut actions: MessageReader<Action>,
    opening: Option<Res<Opening>>,
    session: Option<Res<Session>>,
    settings: Res<Settings>,
    detail: Res<Detail>,
    state: Res<StateDir>,
    access: Res<ServerAccess>,
    cameras: Query<Entity, With<StudioCamera>>,
    mut notices: ResMut<Notices>,
    mut commands: Commands,
) {
    for action in actions.read() {
        let (text, is_recovered) = match action {
            Action::Open(text) => (text.clone(), false),
            Action::Recover(path) => (path.display().to_string(), true),
            Action::Discard(path) if state.holds(path) => {
                if let Err(error) = discard(path) {
                    notices.fail(error);
                }
                continue;
            }
            Action::Close => {
                // Files are read to the end.
                if let Some(OpeningFrom::Server(terrain)) = opening.as_ref().map(|it| &it.from) {
                    commands.entity(*terrain).try_despawn();
                    commands.remove_resource::<Opening>();
                }
                continue;
            }
            _ => continue,
        };
        // With a world open, it is saved and closed first, and the action comes again.
        if session.is_some() {
            continue;
        }
        if let Some(opening) = &opening {
            notices.say(match opening.from {
                OpeningFrom::Server(_) => "another world is being opened: wait, or cancel that",
                OpeningFrom::Thread { .. } => "another world is being opened: wait for that",
            });
            continue;
        }
        let distance_m = settings.get(Field::Distance);
        let begun = match server::address(&text) {
            Some(address) => address.map(|address| {
                let options = terrain_options(distance_m, *detail);
                server::begin(address, options, &access, &cameras, &mut commands)
            }),
            None => Source::parse(&text).map(|source| {
                begin(source, text, is_recovered, distance_m, *detail, state.clone())
            }),
        };
        match begun {
            Ok(opening) => return commands.insert_resource(opening),
            Err(error) => notices.fail(error),
        }
    }
}

/// Deletes a world that is not open in any studio.
fn discard(path: &Path) -> Result<(), String> {
    let at = |error: String| format!("{}: cannot be deleted: {error}", path.display());
    // Locked until it is gone. What is damaged may be deleted.
    let _lock = match Store::open(path) {
        Err(StoreError::InUse { .. }) => {
            return Err(at("it is open in another studio; close it there first".to_owned()));
        }
        opened => opened,
    };
    std::fs::remove_file(path).map_err(|error| at(error.to_string()))
}

/// Begins to open a world before there is an app; `None` if that cannot be done, or not without one.
pub(crate) fn begin_opening(
    text: &str,
    settings: &Settings,
    detail: Detail,
    state: &StateDir,
) -> Option<Opening> {
    if server::address(text).is_some() {
        return None;
    }
    let distance_m = settings.get(Field::Distance);
    // What is wrong with a name is said in the window.
    let source = Source::parse(text).ok()?;
    Some(begin(source, text.to_owned(), false, distance_m, detail, state.clone()))
}

/// Opens a world on a thread of its own.
fn begin(
    source: Source,
    text: String,
    is_recovered: bool,
    distance_m: f32,
    detail: Detail,
    state: StateDir,
) -> Opening {
    let options = terrain_options(distance_m, detail);
    let reading = Arc::new(Reading::default());
    let progress = reading.clone();
    let opened = Background::begin(move || {
        let mut opened = open(&source, &state, options.clone(), &progress);
        // A world that was just closed may still be read by a job.
        for _ in 0..10 {
            match &opened {
                Err(error) if error.contains("open in another studio") => {
                    std::thread::sleep(Duration::from_millis(100));
                    opened = open(&source, &state, options.clone(), &progress);
                }
                _ => break,
            }
        }
        opened.map(|mut opened| {
            opened.load_first_ground(distance_m);
            opened
        })
    });
    Opening { text, from: OpeningFrom::Thread { reading, is_recovered, opened } }
}

/// Options of a terrain that is seen so far.
fn terrain_options(distance_m: f32, detail: Detail) -> TerrainOptions {
    // Roots are generated whole: not much larger than the view.
    let max_mip = (distance_m / 48.0).log2().ceil().clamp(2.0, 8.0) as u8;
    let lod = LodOptions {
        max_mip,
        detail: detail.detail,
        near_voxels: detail.near_voxels,
        morph: detail.morph,
        max_bytes: 768 << 20,
        ..LodOptions::default()
    };
    TerrainOptions { lod, ..TerrainOptions::default() }
}

/// Takes what was opened.
fn finish(
    opening: Option<ResMut<Opening>>,
    state: Res<StateDir>,
    keeps_nothing: Res<KeepsNothing>,
    mut cameras: Query<&mut StudioCamera>,
    mut notices: ResMut<Notices>,
    mut commands: Commands,
) {
    let Some(mut opening) = opening else { return };
    let Opening { text, from } = &mut *opening;
    let OpeningFrom::Thread { is_recovered, opened, .. } = from else { return };
    let Some(opened) = opened.poll() else { return };
    commands.remove_resource::<Opening>();
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => return notices.fail(error),
    };
    let Opened { shared, store, mut voxels, title, path, generator, view, notes } = opened;
    if !keeps_nothing.0 && !*is_recovered {
        let recent = Source::parse(text).map(|source| source.recent_text());
        state.add_recent(&recent.unwrap_or_else(|_| text.clone()));
    }
    let stats = voxels.history_mut().stats();
    let is_edited = stats.undoable + stats.redoable > 0 || *is_recovered || path.is_some();
    let fill = {
        let shared = shared.clone();
        move |request: &mut FillRequest<'_>| shared.fill(generator.as_ref(), request)
    };
    let store = TerrainStore::new(store);
    shared.set(store.store().clone());
    let terrain = commands.spawn((Terrain::from_voxels(voxels, fill), store)).id();
    for mut camera in &mut cameras {
        camera.set_view(view);
    }
    notices.say(format!("{title} is open"));
    for note in notes {
        notices.say(note);
    }
    let home = view;
    commands.insert_resource(Session {
        terrain,
        shared,
        title,
        path,
        generator,
        is_edited,
        link: None,
        home,
    });
}

/// Says what could not be read.
fn faults(session: Option<Res<Session>>, mut notices: ResMut<Notices>) {
    if let Some(fault) = session.and_then(|session| session.shared.take_fault()) {
        notices.fail(fault);
    }
}
