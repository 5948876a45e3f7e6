//! Puts the studio together: with a window, for pictures, or without a renderer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bevy::app::ScheduleRunnerPlugin;
use bevy::prelude::*;
use bevy::window::PrimaryWindow;
use bevy_terravox::online::terravox_server::ClientOptions;
use bevy_terravox::{TerravoxPlugin, TerravoxSettings};

use crate::StudioPlugin;
use crate::action::{Action, Field, PanelActions};
use crate::args::{Args, Quality};
use crate::camera::{FOV_DEGREES, NEAR_M};
use crate::open::{Detail, KeepsNothing, Opening, ServerAccess, begin_opening};
use crate::replay::{Recorder, Replay, parse};
use crate::settings::Settings;
use crate::state_dir::StateDir;

/// Runs the studio.
///
/// # Errors
/// A sentence, if it cannot begin.
pub fn run(args: &Args) -> Result<ExitCode, String> {
    let mut app = App::new();
    let state = state_of(args);
    let folder = state.folder().to_owned();
    #[cfg(feature = "window")]
    let quality = match args.headless {
        true => None,
        false => Some(crate::panels::window::quality(args)?),
    };
    #[cfg(not(feature = "window"))]
    let quality = None;
    let input = Input::of(args)?;
    // While the renderer starts.
    let (settings, detail) = (settings(args, quality), detail(args, quality));
    let opening = match &args.world {
        // A recording begins with the action that opens a world.
        Some(world) if args.record.is_none() => begin_opening(world, &settings, detail, &state),
        _ => None,
    };
    match quality {
        None if args.headless => headless(&mut app, Duration::from_millis(2)),
        #[cfg(feature = "window")]
        Some(quality) => crate::panels::window::build(&mut app, args, quality),
        _ => return Err("built without a window; give --replay FILE --headless".to_owned()),
    }
    app.insert_resource(settings).insert_resource(detail);
    app.add_plugins((TerravoxPlugin { settings: budgets(&app, args) }, StudioPlugin { state }));
    #[cfg(feature = "window")]
    if !args.headless {
        crate::panels::window::add(&mut app, args);
    }
    begin(&mut app, args, input, opening);
    let exit = catch(args, || app.run());
    if keeps_nothing(args) {
        drop(std::fs::remove_dir_all(folder));
    }
    Ok(match exit? {
        AppExit::Success => ExitCode::SUCCESS,
        AppExit::Error(code) => ExitCode::from(code.get()),
    })
}

/// Whether a sentence says why there is no picture.
static HAS_SAID: AtomicBool = AtomicBool::new(false);

/// Says why no picture is made.
#[cfg_attr(not(feature = "window"), allow(dead_code))]
pub(crate) fn say(error: &str) {
    HAS_SAID.store(true, Ordering::Relaxed);
    eprintln!("terravox-studio: {error}");
}

/// Runs the app. Where pictures are made, a failure of the renderer is a sentence.
fn catch(args: &Args, run: impl FnOnce() -> AppExit) -> Result<AppExit, String> {
    if !args.makes_pictures() {
        return Ok(run());
    }
    let failure = "the picture is not drawn, since the renderer failed; RUST_LOG=error shows how";
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(AppExit::Error(_)) if !HAS_SAID.load(Ordering::Relaxed) => Err(failure.to_owned()),
        Ok(exit) => Ok(exit),
        Err(_) => Err(failure.to_owned()),
    }
}

/// Budgets of a frame. Where frames take long, ground comes in few of them.
fn budgets(app: &App, args: &Args) -> TerravoxSettings {
    #[cfg(feature = "window")]
    let is_slow = app.world().get_resource().is_some_and(crate::look::Drawn::is_slow);
    #[cfg(not(feature = "window"))]
    let is_slow = app.world().contains_resource::<Replay>();
    match is_slow || keeps_nothing(args) {
        true => TerravoxSettings {
            upload_bytes: 64 << 20,
            plan_ms: 20.0,
            jobs_per_thread: 48,
            ..TerravoxSettings::default()
        },
        false => TerravoxSettings::default(),
    }
}

/// Whether nothing is to be remembered.
fn keeps_nothing(args: &Args) -> bool {
    (args.makes_pictures() || args.headless) && args.state.is_none()
}

fn state_of(args: &Args) -> StateDir {
    match keeps_nothing(args) {
        false if args.state.is_some() => StateDir::at(args.state.clone().unwrap_or_default()),
        true => StateDir::at(
            std::env::temp_dir().join(format!("terravox-studio-{}", std::process::id())),
        ),
        false => StateDir::of_user(),
    }
}

/// The settings of the command line.
fn settings(args: &Args, quality: Option<Quality>) -> Settings {
    let mut settings = Settings::default();
    if quality == Some(Quality::Low) {
        settings.set(Field::Distance, 500.0);
    }
    let numbers = [(Field::Time, args.time), (Field::Distance, args.distance)];
    for (field, value) in numbers {
        if let Some(value) = value {
            settings.set(field, value);
        }
    }
    for switch in &args.show {
        settings.apply(&Action::Switch(*switch, true));
    }
    settings
}

/// How finely worlds are shown.
fn detail(args: &Args, quality: Option<Quality>) -> Detail {
    let usual = Detail::default();
    let detail = match quality {
        Some(Quality::Low) => 1.4,
        Some(Quality::High) => 3.2,
        _ => usual.detail,
    };
    // The materials of low quality do not morph.
    Detail { detail: args.detail.unwrap_or(detail), morph: quality != Some(Quality::Low), ..usual }
}

/// Input that is recorded or repeated.
struct Input {
    recorder: Option<Recorder>,
    replay: Option<Replay>,
}

impl Input {
    /// That of the command line.
    ///
    /// # Errors
    /// A sentence, if a file cannot be written or read.
    fn of(args: &Args) -> Result<Input, String> {
        let recorder = args.record.as_ref().map(|path| {
            Recorder::create(path).map_err(|error| format!("{}: {error}", path.display()))
        });
        let replay = args.replay.as_ref().map(|path| replay_of(path).map(Replay::new));
        Ok(Input { recorder: recorder.transpose()?, replay: replay.transpose()? })
    }
}

/// What the app begins with.
fn begin(app: &mut App, args: &Args, input: Input, opening: Option<Opening>) {
    app.insert_resource(KeepsNothing(keeps_nothing(args)));
    let (token, fingerprint) = (args.token.clone().into_bytes(), args.fingerprint);
    let options = ClientOptions { token, fingerprint };
    app.insert_resource(ServerAccess { options, name: args.name.clone() });
    if let Some(recorder) = input.recorder {
        app.insert_resource(recorder);
    }
    if let Some(replay) = input.replay {
        app.insert_resource(replay);
    }
    if let Some(opening) = opening {
        app.insert_resource(opening);
    } else if let Some(world) = &args.world {
        let world = Action::Open(world.clone());
        app.world_mut().get_resource_or_init::<PanelActions>().0.push(world);
    }
}

fn replay_of(path: &Path) -> Result<Vec<crate::replay::Step>, String> {
    let at = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
    parse(&text).map_err(at)
}

/// Everything that the studio needs of Bevy, without a renderer or a window.
pub fn headless(app: &mut App, wait: Duration) {
    app.add_plugins((MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(wait)), TransformPlugin));
    app.add_plugins((AssetPlugin::default(), bevy::mesh::MeshPlugin, bevy::input::InputPlugin));
    app.add_message::<bevy::window::CursorMoved>().add_message::<bevy::window::CursorLeft>();
    app.world_mut().spawn((Window::default(), PrimaryWindow));
    app.add_observer(size_camera);
}

/// Gives a camera without a renderer the size of the window, for rays through the mouse.
fn size_camera(added: On<Add, Camera>, mut cameras: Query<&mut Camera>) {
    use bevy::camera::RenderTargetInfo;
    let Ok(mut camera) = cameras.get_mut(added.entity) else { return };
    let size = Window::default().physical_size();
    camera.computed.target_info = Some(RenderTargetInfo { physical_size: size, scale_factor: 1.0 });
    let aspect = size.x as f32 / size.y as f32;
    camera.computed.clip_from_view =
        Mat4::perspective_infinite_reverse_rh(FOV_DEGREES.to_radians(), aspect, NEAR_M);
}
