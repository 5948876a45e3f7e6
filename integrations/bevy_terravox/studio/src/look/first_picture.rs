//! How long it takes from the command until ground is drawn: for measuring.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bevy::prelude::*;
use bevy::render::render_resource::PipelineCache;
use bevy::render::{Render, RenderApp, RenderSystems};
use bevy_terravox::TerrainChunks;

use crate::open::Session;

/// Frames with ground that are rendered until the pipelines of ground were surely asked for: its meshes reach
/// the renderer a frame late.
const LATE_FRAMES: u32 = 3;

static START: OnceLock<Instant> = OnceLock::new();

/// Seconds since it was called first: at the start of the program.
pub fn seconds() -> f64 {
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Prints the seconds until ground is drawn, and ends the app.
pub(crate) struct FirstPicturePlugin;

/// When what was there, seconds.
#[derive(Resource, Default)]
struct FirstPicture {
    frame: Option<f64>,
    world: Option<f64>,
    ground: Option<f64>,
}

/// What the renderer is told, and tells.
#[derive(Resource, Clone, Default)]
struct Rendered {
    /// Whether there is ground in the window.
    has_ground: Arc<AtomicBool>,
    /// Whether ground was drawn since.
    is_drawn: Arc<AtomicBool>,
}

impl Plugin for FirstPicturePlugin {
    fn build(&self, app: &mut App) {
        let rendered = Rendered::default();
        app.init_resource::<FirstPicture>()
            .insert_resource(rendered.clone())
            .add_systems(Last, tell);
        if let Some(renderer) = app.get_sub_app_mut(RenderApp) {
            renderer
                .insert_resource(rendered)
                .add_systems(Render, look.in_set(RenderSystems::Cleanup));
        }
    }
}

/// Looks whether ground was drawn: whether no pipeline is missing any more.
fn look(
    rendered: Res<Rendered>,
    pipelines: Res<PipelineCache>,
    mut frames: Local<u32>,
    mut has_waited: Local<bool>,
) {
    if !rendered.has_ground.load(Ordering::Relaxed) {
        return;
    }
    *frames += 1;
    if pipelines.waiting_pipelines().next().is_some() {
        *has_waited = true;
    } else if *has_waited || *frames >= LATE_FRAMES {
        rendered.is_drawn.store(true, Ordering::Relaxed);
    }
}

fn tell(
    session: Option<Res<Session>>,
    chunks: Query<&TerrainChunks>,
    rendered: Res<Rendered>,
    mut first: ResMut<FirstPicture>,
    mut exit: MessageWriter<AppExit>,
) {
    let first = &mut *first;
    let frame = *first.frame.get_or_insert_with(seconds);
    let Some(session) = session else { return };
    let world = *first.world.get_or_insert_with(seconds);
    if !chunks.get(session.terrain).is_ok_and(|chunks| chunks.shown_count() > 0) {
        return;
    }
    let ground = *first.ground.get_or_insert_with(seconds);
    rendered.has_ground.store(true, Ordering::Relaxed);
    if rendered.is_drawn.load(Ordering::Relaxed) {
        println!(
            "{:.2} s until ground is drawn; the first frame after {frame:.2} s, the world after {world:.2} s, its \
             ground after {ground:.2} s",
            seconds()
        );
        exit.write(AppExit::Success);
    }
}
