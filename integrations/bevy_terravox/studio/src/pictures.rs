//! Pictures as PNG: of one view, from all around, along a camera path. Off screen if the command line
//! asks for them; else of the window, without its panels.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use bevy::camera::RenderTarget;
use bevy::platform::cell::SyncCell;
use bevy::prelude::*;
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use bevy_terravox::TerrainChunks;
use bevy_terravox::prelude::*;
use bevy_terravox::render::TextureSet;

use crate::StudioSystems;
use crate::action::Action;
use crate::args::Args;
use crate::camera::StudioCamera;
use crate::look::CameraPath;
use crate::notices::Notices;
use crate::open::{Opening, Session};
use crate::pointer::Pointer;

/// Frames for which the ground has to be there.
const SETTLED_FRAMES: u32 = 3;
/// Frames that are drawn before the picture: shadows and pipelines follow a frame late.
const DRAWN_FRAMES: u32 = 3;
/// Pictures of a turntable.
const TURNTABLE_FRAMES: u32 = 48;
/// Metres to what a turntable goes around, if the camera looks at nothing.
const AHEAD_M: f32 = 60.0;

/// What the command line asks for.
#[derive(Resource, Clone, Debug, Default)]
struct Wanted {
    view: ViewParts,
    screenshot: Option<PathBuf>,
    turntable: Option<PathBuf>,
    path: Option<PathBuf>,
    frames: Option<u32>,
}

/// The parts of a view that are given.
#[derive(Clone, Copy, Debug, Default)]
struct ViewParts {
    camera: Option<[f32; 3]>,
    yaw: Option<f32>,
    pitch: Option<f32>,
}

/// Pictures that are to be made.
#[derive(Resource)]
pub struct Pictures {
    shots: Vec<([f32; 5], PathBuf)>,
    settled: u32,
    drawn: u32,
    is_taken: bool,
    made: usize,
    /// Where the camera goes back to.
    before: Option<[f32; 5]>,
    send: Sender<Result<PathBuf, String>>,
    receive: SyncCell<Receiver<Result<PathBuf, String>>>,
    /// Ends with them.
    is_last: bool,
    has_begun: bool,
}

impl Pictures {
    /// Whether panels and lines are hidden, for a picture of the window.
    pub fn hides_panels(&self) -> bool {
        !self.shots.is_empty()
    }

    /// Makes no more of them. Returns where the camera was before, if there were any.
    fn stop(&mut self) -> Option<[f32; 5]> {
        self.shots.clear();
        (self.settled, self.drawn, self.is_taken) = (0, 0, false);
        self.before.take()
    }
}

/// The image that is drawn to, without a window.
#[derive(Resource, Clone)]
struct OffScreen(Handle<Image>);

/// Makes pictures.
pub struct PicturesPlugin {
    wanted: Wanted,
    size: Option<[u32; 2]>,
}

impl PicturesPlugin {
    /// As the command line says.
    pub fn of(args: &Args) -> PicturesPlugin {
        let view = ViewParts { camera: args.camera, yaw: args.yaw, pitch: args.pitch };
        let wanted = Wanted {
            view,
            screenshot: args.screenshot.clone(),
            turntable: args.turntable.clone(),
            path: args.path.clone(),
            frames: args.frames,
        };
        let size = args.makes_pictures().then(|| args.size.unwrap_or([1280, 720]));
        PicturesPlugin { wanted, size }
    }
}

impl Plugin for PicturesPlugin {
    fn build(&self, app: &mut App) {
        let (send, receive) = channel();
        app.insert_resource(Pictures {
            shots: Vec::new(),
            settled: 0,
            drawn: 0,
            is_taken: false,
            made: 0,
            before: None,
            send,
            receive: SyncCell::new(receive),
            is_last: self.size.is_some(),
            has_begun: false,
        });
        app.insert_resource(self.wanted.clone());
        if let Some([width, height]) = self.size {
            let mut image =
                Image::new_target_texture(width, height, TextureFormat::Rgba8UnormSrgb, None);
            image.texture_descriptor.usage |= TextureUsages::COPY_SRC;
            let image = app.world_mut().resource_mut::<Assets<Image>>().add(image);
            app.insert_resource(OffScreen(image));
            app.add_observer(aim);
        }
        app.add_systems(Update, (begin, act, take).chain().in_set(StudioSystems::Draw))
            .add_systems(Update, give_up.in_set(StudioSystems::Open));
    }
}

/// The camera draws to the image, and not before the ground is there: in software a frame takes
/// much of a second.
fn aim(camera: On<Add, StudioCamera>, target: Res<OffScreen>, mut commands: Commands) {
    let hidden = Camera { is_active: false, ..default() };
    let to_image = RenderTarget::Image(target.0.clone().into());
    commands.entity(camera.entity).insert((hidden, to_image));
}

/// Ends if there is nothing to draw.
fn give_up(
    pictures: Res<Pictures>,
    opening: Option<Res<Opening>>,
    session: Option<Res<Session>>,
    notices: Res<Notices>,
    mut exit: MessageWriter<AppExit>,
) {
    if !pictures.is_last || opening.is_some() || session.is_some() {
        return;
    }
    if let Some(error) = notices.last_failure() {
        crate::app::say(error);
        exit.write(AppExit::from_code(2));
    }
}

/// Sets the view of the command line once the world is open, and lists the pictures.
fn begin(
    session: Option<Res<Session>>,
    wanted: Res<Wanted>,
    mut pictures: ResMut<Pictures>,
    mut camera: Single<&mut StudioCamera>,
    mut exit: MessageWriter<AppExit>,
) {
    let Some(session) = session else { return };
    if session.is_added() {
        let [x, y, z, yaw, pitch] = camera.view();
        let [x, y, z] = wanted.view.camera.unwrap_or([x, y, z]);
        let view = [x, y, z, wanted.view.yaw.unwrap_or(yaw), wanted.view.pitch.unwrap_or(pitch)];
        camera.set_view(view);
    }
    if !pictures.is_last || pictures.has_begun {
        return;
    }
    pictures.has_begun = true;
    let view = camera.view();
    pictures.shots.extend(wanted.screenshot.iter().map(|file| (view, file.clone())));
    let Some(folder) = &wanted.turntable else { return };
    let frames = wanted.frames.unwrap_or(TURNTABLE_FRAMES);
    let views = match &wanted.path {
        None => around(view, AHEAD_M, frames),
        Some(file) => match views_of(file, frames) {
            Ok(views) => views,
            Err(error) => {
                crate::app::say(error.as_ref());
                exit.write(AppExit::from_code(2));
                return;
            }
        },
    };
    pictures.shots.extend(named(folder, views));
}

fn views_of(file: &Path, frames: u32) -> Result<Vec<[f32; 5]>, String> {
    let at = |error: String| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| at(error.to_string()))?;
    let path = CameraPath::parse(&text).map_err(at)?;
    Ok(along(&path, frames))
}

/// Views along a path.
fn along(path: &CameraPath, frames: u32) -> Vec<[f32; 5]> {
    let last = frames.saturating_sub(1).max(1) as f32;
    (0..frames).filter_map(|i| path.at(i as f32 / last)).collect()
}

/// Views all around a point ahead.
fn around([x, y, z, yaw, pitch]: [f32; 5], ahead_m: f32, frames: u32) -> Vec<[f32; 5]> {
    let (eye, flat) = (Vec3::new(x, y, z), pitch.to_radians().cos() * ahead_m);
    let way = |yaw: f32| Vec3::new(yaw.to_radians().sin(), 0.0, -yaw.to_radians().cos());
    let centre = eye + way(yaw) * flat;
    let view = |i| {
        let yaw = (yaw + 360.0 * i as f32 / frames as f32).rem_euclid(360.0);
        let [x, y, z] = (centre - way(yaw) * flat).to_array();
        [x, y, z, yaw, pitch]
    };
    (0..frames).map(view).collect()
}

/// Views with the names of their files.
fn named(folder: &Path, views: Vec<[f32; 5]>) -> Vec<([f32; 5], PathBuf)> {
    let name = |(i, view)| (view, folder.join(format!("{i:04}.png")));
    views.into_iter().enumerate().map(name).collect()
}

/// Pictures that users ask for.
fn act(
    mut actions: MessageReader<Action>,
    mut pictures: ResMut<Pictures>,
    mut camera: Single<&mut StudioCamera>,
    path: Res<CameraPath>,
    pointer: Res<Pointer>,
    session: Option<Res<Session>>,
    mut notices: ResMut<Notices>,
) {
    for action in actions.read() {
        if *action == Action::Cancel && !pictures.is_last {
            if let Some(view) = pictures.stop() {
                camera.set_view(view);
                notices.say("no more pictures");
            }
            continue;
        }
        if session.is_none() || !pictures.shots.is_empty() {
            continue;
        }
        let view = camera.view();
        let shots = match action {
            Action::Picture(file) => vec![(view, free_name(file))],
            Action::Turntable(folder) => {
                let ahead_m = pointer.hit.map_or(AHEAD_M, |hit| hit.distance);
                named(folder, around(view, ahead_m, TURNTABLE_FRAMES))
            }
            Action::Film(_) if path.views.len() < 2 => {
                notices.say("a camera path needs two views; add them with K");
                continue;
            }
            Action::Film(folder) => named(folder, along(&path, 48 * (path.views.len() as u32 - 1))),
            _ => continue,
        };
        (pictures.shots, pictures.made, pictures.before) = (shots, 0, Some(view));
    }
}

/// A file that is not there yet: pictures replace nothing.
fn free_name(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = (1..10_000).map(|i| file.with_file_name(format!("{stem}-{i}.png")));
    let named = std::iter::once(file.with_extension("png")).chain(numbered);
    named.into_iter().find(|path| !path.exists()).unwrap_or_else(|| file.to_owned())
}

/// Takes the next picture once all of the view is there.
fn take(
    mut pictures: ResMut<Pictures>,
    session: Option<Res<Session>>,
    terrains: Query<(&Terrain, &TerrainChunks)>,
    textures: Option<Res<TextureSet>>,
    mut camera: Single<(&mut StudioCamera, &mut Camera)>,
    target: Option<Res<OffScreen>>,
    mut notices: ResMut<Notices>,
    mut exit: MessageWriter<AppExit>,
    mut commands: Commands,
) {
    let pictures = &mut *pictures;
    if let Ok(done) = pictures.receive.get().try_recv() {
        finish(pictures, done, &mut camera.0, &mut notices, &mut exit);
        return;
    }
    if session.is_none() && !pictures.is_last {
        // The panels come back.
        pictures.stop();
    }
    let Some((view, file)) = pictures.shots.first() else { return };
    let terrain = session.and_then(|session| terrains.get(session.terrain).ok());
    let Some((terrain, chunks)) = terrain else { return };
    if camera.0.view() != *view {
        camera.0.set_view(*view);
        (pictures.settled, pictures.drawn) = (0, 0);
        camera.1.is_active = target.is_none();
        return;
    }
    let is_there =
        terrain.is_settled() && chunks.is_complete() && textures.is_none_or(|set| set.is_ready());
    pictures.settled = if is_there { pictures.settled + 1 } else { 0 };
    if pictures.settled < SETTLED_FRAMES || pictures.is_taken {
        return;
    }
    camera.1.is_active = true;
    pictures.drawn += 1;
    if pictures.drawn < DRAWN_FRAMES {
        return;
    }
    pictures.is_taken = true;
    let shot = match target {
        Some(target) => Screenshot::image(target.0.clone()),
        None => Screenshot::primary_window(),
    };
    let (send, file) = (pictures.send.clone(), file.clone());
    commands.spawn(shot).observe(move |shot: On<ScreenshotCaptured>| {
        // The receiver goes with the app.
        drop(send.send(write(&shot.image, &file).map(|()| file.clone())));
    });
}

/// Writes an image as PNG, whole or not at all.
fn write(image: &Image, file: &Path) -> Result<(), String> {
    let at = |error: String| format!("{}: the picture cannot be written: {error}", file.display());
    crate::open::refuse_world(file).map_err(|error| at(format!("it {error}")))?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| at(error.to_string()))?;
    }
    let pixels = image.clone().try_into_dynamic().map_err(|error| at(error.to_string()))?.to_rgb8();
    let part = file.with_extension(format!("{}.part.png", std::process::id()));
    pixels.save(&part).map_err(|error| at(error.to_string()))?;
    std::fs::rename(&part, file).map_err(|error| at(error.to_string()))
}

/// A picture is written, or not.
fn finish(
    pictures: &mut Pictures,
    done: Result<PathBuf, String>,
    camera: &mut StudioCamera,
    notices: &mut Notices,
    exit: &mut MessageWriter<AppExit>,
) {
    (pictures.is_taken, pictures.settled, pictures.drawn) = (false, 0, 0);
    match done {
        // One that was given up comes late.
        Ok(file) if pictures.shots.first().is_none_or(|(_, first)| *first != file) => return,
        Ok(file) => {
            pictures.shots.remove(0);
            pictures.made += 1;
            if pictures.is_last {
                println!("{}", file.display());
            } else if pictures.shots.is_empty() {
                notices.say(format!("wrote {} ({} in all)", file.display(), pictures.made));
            }
        }
        Err(error) => {
            pictures.shots.clear();
            if pictures.is_last {
                crate::app::say(error.as_ref());
                exit.write(AppExit::from_code(2));
                return;
            }
            notices.fail(error);
        }
    }
    if pictures.shots.is_empty() {
        if let Some(view) = pictures.before.take() {
            camera.set_view(view);
        }
        if pictures.is_last {
            exit.write(AppExit::Success);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turntable_looks_at_its_middle_from_all_sides() {
        let views = around([10.0, 20.0, 30.0, 40.0, -30.0], 50.0, 12);
        assert_eq!(views.len(), 12);
        let middle = |view: &[f32; 5]| {
            let (yaw, pitch) = (view[3].to_radians(), view[4].to_radians());
            let along = Vec3::new(yaw.sin() * pitch.cos(), pitch.sin(), -yaw.cos() * pitch.cos());
            Vec3::new(view[0], view[1], view[2]) + along * 50.0
        };
        let first = middle(&views[0]);
        assert!(views.iter().all(|view| middle(view).distance(first) < 1e-3));
        assert!((views[3][3] - 130.0).abs() < 1e-3);
    }
}
