//! A studio without a renderer, frame by frame.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bevy::prelude::*;
use bevy_terravox::online::terravox_server::ClientOptions;
use bevy_terravox::online::{OnlineBody, OnlineTerrain};
use bevy_terravox::prelude::*;
use bevy_terravox::{TerrainSaved, TerravoxPlugin};
use terravox_studio::StudioPlugin;
use terravox_studio::action::{Action, PanelActions};
use terravox_studio::app::headless;
use terravox_studio::camera::StudioCamera;
use terravox_studio::history::History;
use terravox_studio::notices::Notices;
use terravox_studio::open::{LinkState, Opening, ServerAccess, Session, name_of};
use terravox_studio::play::{Thrown, Walker};
use terravox_studio::replay::{ChangedChunks, Replay, parse};
use terravox_studio::save::Saver;
use terravox_studio::state_dir::StateDir;

/// Frames that anything may take on a busy machine: minutes.
const MAX_FRAMES: usize = 100_000;

/// A folder of its own for each test, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("studio-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A studio.
pub struct Studio(App);

#[allow(dead_code, reason = "not every test needs all of it")]
impl Studio {
    /// With what it remembers in a folder.
    pub fn new(folder: &Folder) -> Studio {
        let mut app = App::new();
        headless(&mut app, Duration::ZERO);
        let state = StateDir::at(folder.path("state"));
        app.add_plugins((TerravoxPlugin::default(), StudioPlugin { state }));
        app.world_mut()
            .resource_mut::<terravox_studio::settings::Settings>()
            .set(terravox_studio::action::Field::Distance, 220.0);
        app.insert_resource(terravox_studio::open::Detail {
            detail: 1.0,
            near_voxels: 48.0,
            ..default()
        });
        app.finish();
        app.cleanup();
        Studio(app)
    }

    /// With a token and a name for servers.
    pub fn known_as(folder: &Folder, token: &str, name: &str) -> Studio {
        let mut studio = Studio::new(folder);
        let options = ClientOptions { token: token.into(), ..ClientOptions::default() };
        studio.0.insert_resource(ServerAccess { options, name: name.to_owned() });
        studio
    }

    pub fn frame(&mut self) {
        self.0.update();
        // Workers get some time, as between two frames of a screen.
        std::thread::sleep(Duration::from_millis(1));
    }

    /// Runs frames until something is so.
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Studio) -> bool) {
        for _ in 0..MAX_FRAMES {
            if is_so(self) {
                return;
            }
            self.frame();
            // For example a replay that waits for a world that was not opened.
            let has_failed = matches!(self.0.should_exit(), Some(AppExit::Error(_)));
            assert!(!has_failed, "{what}: the studio ends: {:?}", self.notices());
        }
        panic!("{what}: not within {MAX_FRAMES} frames: {:?}", self.notices());
    }

    /// Does something, as a button of a panel would.
    pub fn act(&mut self, action: Action) {
        self.0.world_mut().resource_mut::<PanelActions>().0.push(action);
        self.frame();
    }

    /// Repeats the lines of a recording.
    pub fn replay(&mut self, lines: &str) {
        let steps = parse(&format!("terravox-replay 1\n{lines}")).unwrap();
        self.0.insert_resource(Replay::new(steps));
        self.until("the replay ends", |studio| studio.0.world().resource::<Replay>().is_over());
        self.frame();
        self.0.world_mut().remove_resource::<Replay>();
        self.0.insert_resource(bevy::time::TimeUpdateStrategy::Automatic);
    }

    /// As if a save had failed.
    pub fn fail_save(&mut self) {
        let terrain = self.0.world().resource::<Session>().terrain;
        let error = Some("the disk is full".to_owned());
        self.0.world_mut().write_message(TerrainSaved { terrain, error });
    }

    /// Whether no edit is without a reply, and all ground is there.
    pub fn has_all_replies(&mut self) -> bool {
        let terrain = self.0.world().resource::<Session>().terrain;
        let world = self.0.world_mut();
        let mut terrains = world.query::<(&OnlineTerrain, &Terrain)>();
        terrains.get(world, terrain).is_ok_and(|(online, terrain)| {
            let is_complete = online.with_client(|client| client.guest().is_complete());
            is_complete == Some(true) && online.pending_edits() == 0 && terrain.is_settled()
        })
    }

    /// Heights of the ground within 20 m of the camera, each metre.
    pub fn heights(&mut self) -> Vec<f64> {
        let terrain = self.0.world().resource::<Session>().terrain;
        let world = self.0.world_mut();
        let eye = world.query::<&StudioCamera>().single(world).expect("a camera").position;
        let terrain = world.get::<Terrain>(terrain).expect("a terrain");
        let columns = (0..1600).map(|i| [i % 40 - 20, i / 40 - 20]);
        let height = |[x, z]: [i32; 2]| {
            let above = eye + Vec3::new(x as f32, 20.0, z as f32);
            let found = terrain.ray(above.as_dvec3().to_array(), [0.0, -1.0, 0.0], 80.0);
            found.hit().unwrap_or_else(|| panic!("{found:?} below {above}")).point_m[1]
        };
        columns.map(height).collect()
    }

    /// The view that the world was opened with.
    pub fn home(&self) -> [f32; 5] {
        self.0.world().resource::<Session>().home
    }

    pub fn link(&self) -> Option<LinkState> {
        self.0.world().get_resource::<Session>()?.link
    }

    /// The names of the other people.
    pub fn people(&mut self) -> Vec<String> {
        let world = self.0.world_mut();
        world.query::<&OnlineBody>().iter(world).filter_map(name_of).collect()
    }

    pub fn digest(&self) -> Option<u64> {
        self.0.world().resource::<ChangedChunks>().digest
    }

    pub fn history(&self) -> Vec<String> {
        self.0.world().resource::<History>().done().map(str::to_owned).collect()
    }

    pub fn has_world(&mut self) -> bool {
        self.0.world().contains_resource::<Session>()
    }

    /// Chunks of the file that is open.
    pub fn chunks(&self) -> usize {
        let store = self.0.world().resource::<Session>().shared.get();
        store.and_then(|store| store.chunks().ok()).map_or(0, |chunks| chunks.len())
    }

    pub fn is_opening(&self) -> bool {
        self.0.world().contains_resource::<Opening>()
    }

    pub fn path(&self) -> Option<PathBuf> {
        self.0.world().get_resource::<Session>()?.path.clone()
    }

    pub fn asks_overwrite(&self) -> Option<PathBuf> {
        self.0.world().resource::<Saver>().asks_overwrite.clone()
    }

    pub fn asks_to_drop_changes(&self) -> bool {
        self.0.world().resource::<Saver>().asks_to_drop_changes()
    }

    pub fn is_saved(&self) -> bool {
        self.0.world().resource::<Saver>().is_saved
    }

    pub fn failure(&self) -> Option<String> {
        self.0.world().resource::<Notices>().last_failure().map(str::to_owned)
    }

    pub fn notices(&self) -> Vec<String> {
        self.0.world().resource::<Notices>().lines().iter().map(|line| line.text.clone()).collect()
    }

    pub fn walkers(&mut self) -> usize {
        self.0.world_mut().query::<&Walker>().iter(self.0.world()).count()
    }

    /// How far the person is from where it came in, whether it stands, and the number of bodies.
    pub fn walker(&mut self) -> (f32, bool, usize) {
        let home = self.0.world().resource::<Session>().home;
        let world = self.0.world_mut();
        let bodies = world.query::<&Thrown>().iter(world).count();
        let mut walkers = world.query::<(&Walker, &Transform)>();
        let (walker, at) = walkers.iter(world).next().expect("a person walks");
        let from = Vec2::new(home[0], home[2]);
        (from.distance(Vec2::new(at.translation.x, at.translation.z)), walker.stands, bodies)
    }
}
