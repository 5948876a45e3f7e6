//! The window, or the renderer for pictures without one.

use std::path::Path;
use std::time::Duration;

use bevy::app::{ScheduleRunnerPlugin, TaskPoolOptions, TaskPoolPlugin};
use bevy::log::LogPlugin;
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::window::{ExitCondition, WindowResizeConstraints, WindowResolution};
use bevy::winit::WinitPlugin;
use bevy_egui::EguiPlugin;
use bevy_terravox::render::{LAYER_NAMES, TerrainTextures};

use super::PanelsPlugin;
use crate::args::{Args, Quality};
use crate::look::{Drawn, FirstPicturePlugin, LookPlugin};
use crate::pictures::PicturesPlugin;
use crate::sculpt::GhostPlugin;

/// Smallest window in which panels can be read.
const MIN_SIZE: [f32; 2] = [640.0, 400.0];

/// Returns how well things are drawn: what the command line says, or what the graphics card can do.
///
/// # Errors
/// If there is no graphics card, no screen, or no texture in the folder that was named.
pub fn quality(args: &Args) -> Result<Quality, String> {
    let is_software = graphics_card()?;
    if let Some(folder) = &args.textures {
        check_textures(folder)?;
    }
    if !args.makes_pictures() {
        screen()?;
    }
    // Who names textures wants to see them.
    let is_plain = is_software && args.textures.is_none();
    Ok(args.quality.unwrap_or(if is_plain { Quality::Low } else { Quality::Medium }))
}

/// Adds Bevy with its renderer, and a window unless pictures are made.
pub fn build(app: &mut App, args: &Args, quality: Quality) {
    app.insert_resource(match &args.textures {
        Some(folder) => TerrainTextures::Folder(folder.clone()),
        // They would take the time of the first ground, and are not drawn.
        None if quality == Quality::Low => TerrainTextures::None,
        None => TerrainTextures::Ours,
    });
    let log = LogPlugin {
        filter:
            "warn,terravox_studio=info,wgpu_hal=off,bevy_render=error,bevy_egui=error,winit=error"
                .into(),
        ..default()
    };
    let render =
        RenderPlugin { synchronous_pipeline_compilation: args.makes_pictures(), ..default() };
    let plugins = DefaultPlugins.set(render).set(task_pools());
    if args.makes_pictures() {
        let window = WindowPlugin {
            primary_window: None,
            exit_condition: ExitCondition::DontExit,
            ..default()
        };
        let log = LogPlugin { filter: "off".into(), ..default() };
        app.add_plugins(plugins.set(window).set(log).disable::<WinitPlugin>());
        app.add_plugins(ScheduleRunnerPlugin::run_loop(Duration::from_millis(2)));
        // Of a failure of the renderer, the sentence of `app::run` is left; RUST_LOG shows more.
        if std::env::var_os("RUST_LOG").is_none() {
            std::panic::set_hook(Box::new(|_| {}));
        }
    } else {
        let [width, height] = args.window.unwrap_or([1280, 720]);
        let window = Window {
            title: "Terravox Studio".into(),
            resolution: WindowResolution::new(width, height),
            resize_constraints: WindowResizeConstraints {
                min_width: MIN_SIZE[0],
                min_height: MIN_SIZE[1],
                ..default()
            },
            ..default()
        };
        // What was changed is saved before the window goes: see `save`.
        let window = WindowPlugin {
            primary_window: Some(window),
            close_when_requested: false,
            exit_condition: ExitCondition::DontExit,
            ..default()
        };
        app.add_plugins((plugins.set(window).set(log), EguiPlugin::default()));
    }
    app.insert_resource(Drawn { quality });
}

/// Adds what is drawn.
pub fn add(app: &mut App, args: &Args) {
    app.add_plugins((LookPlugin, GhostPlugin, PicturesPlugin::of(args)));
    if !args.makes_pictures() {
        app.add_plugins(PanelsPlugin);
    }
    if args.first_picture {
        app.add_plugins(FirstPicturePlugin);
    }
}

/// Threads for jobs of terrains on all cores but one: frames need little of the others.
fn task_pools() -> TaskPoolPlugin {
    let mut options = TaskPoolOptions::default();
    options.async_compute.percent = 0.75;
    options.async_compute.min_threads = 2;
    options.async_compute.max_threads = 12;
    TaskPoolPlugin { task_pool_options: options }
}

/// Whether the graphics card is one in software.
///
/// # Errors
/// If there is none.
fn graphics_card() -> Result<bool, String> {
    use bevy::tasks::block_on;
    let instance =
        wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let backends = wgpu::Backends::from_env().unwrap_or(wgpu::Backends::all());
    let adapters = block_on(instance.enumerate_adapters(backends));
    let types: Vec<wgpu::DeviceType> =
        adapters.iter().map(|adapter| adapter.get_info().device_type).collect();
    match types.is_empty() {
        true => Err(
            "no graphics card with Vulkan, Metal or DirectX 12 was found; install its driver, or \
                     mesa-vulkan-drivers, which draws in software"
                .to_owned(),
        ),
        false => Ok(types.iter().all(|kind| *kind == wgpu::DeviceType::Cpu)),
    }
}

/// Whether a window can be opened; elsewhere than on Linux it always can.
fn screen() -> Result<(), String> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match !cfg!(target_os = "linux") || is_set("DISPLAY") {
        true => Ok(()),
        false => {
            Err("there is no screen (DISPLAY is not set); --screenshot FILE draws without one"
                .to_owned())
        }
    }
}

/// Whether a folder has a texture.
fn check_textures(folder: &Path) -> Result<(), String> {
    match LAYER_NAMES.iter().any(|name| folder.join(format!("{name}.png")).is_file()) {
        true => Ok(()),
        false => Err(format!(
            "{}: has no texture; it needs at least one of {}.png",
            folder.display(),
            LAYER_NAMES.join(".png, ")
        )),
    }
}
