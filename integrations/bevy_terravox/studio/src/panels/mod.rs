//! Panels: they show the state and write actions, nothing else.

mod browser;
mod dialogs;
mod frames;
mod help;
mod look;
mod menu;
mod play;
mod sculpt;
mod start;
mod status;
mod style;
mod widgets;
pub mod window;

use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use bevy::window::{
    FileDragAndDrop, MonitorSelection, PrimaryWindow, WindowCloseRequested, WindowMode,
};
use bevy_egui::{EguiContexts, EguiPrimaryContextPass, egui};
use bevy_terravox::TerrainChunks;
use bevy_terravox::online::OnlineBody;
use bevy_terravox::prelude::*;

use crate::action::{Action, Mode, PanelActions, Switch};
use crate::camera::StudioCamera;
use crate::history::History;
use crate::keys::KeyMap;
use crate::look::{CameraPath, FrameCosts};
use crate::notices::Notices;
use crate::open::{Opening, Session};
use crate::pictures::Pictures;
use crate::play::{Thrown, Walker};
use crate::pointer::Pointer;
use crate::save::Saver;
use crate::sculpt::{Clipboard, Selection};
use crate::settings::Settings;
use crate::state_dir::StateDir;
use browser::Browser;

/// Panels of the window.
pub struct PanelsPlugin;

impl Plugin for PanelsPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Browser>()
            .init_resource::<start::StartScreen>()
            .add_systems(EguiPrimaryContextPass, draw)
            .add_systems(
                Update,
                (drop_files, close_window, fullscreen, title).in_set(crate::StudioSystems::Act),
            );
    }
}

/// What panels show.
#[derive(SystemParam)]
pub(crate) struct Shown<'w, 's> {
    pub settings: Res<'w, Settings>,
    pub keys: Res<'w, KeyMap>,
    pub session: Option<Res<'w, Session>>,
    pub opening: Option<Res<'w, Opening>>,
    pub saver: Res<'w, Saver>,
    pub history: Res<'w, History>,
    pub notices: Res<'w, Notices>,
    pub state: Res<'w, StateDir>,
    pub selection: Res<'w, Selection>,
    pub clipboard: Res<'w, Clipboard>,
    pub path: Res<'w, CameraPath>,
    pub costs: Res<'w, FrameCosts>,
    pub pictures: Res<'w, Pictures>,
    pub pointer: Res<'w, Pointer>,
    pub terrains: Query<'w, 's, (&'static Terrain, &'static TerrainChunks)>,
    pub cameras: Query<'w, 's, &'static StudioCamera>,
    pub eyes: Query<'w, 's, (&'static Camera, &'static GlobalTransform), With<StudioCamera>>,
    pub people: Query<'w, 's, (&'static OnlineBody, &'static GlobalTransform)>,
    pub walkers: Query<'w, 's, &'static Walker>,
    pub thrown: Query<'w, 's, (), With<Thrown>>,
}

impl Shown<'_, '_> {
    /// The terrain of the world.
    pub fn terrain(&self) -> Option<(&Terrain, &TerrainChunks)> {
        self.terrains.get(self.session.as_ref()?.terrain).ok()
    }
}

/// Draws all panels.
fn draw(
    mut contexts: EguiContexts,
    shown: Shown,
    mut actions: ResMut<PanelActions>,
    mut browser: ResMut<Browser>,
    mut start: ResMut<start::StartScreen>,
    mut has_style: Local<bool>,
    mut over: Local<(bool, bool)>,
    mut commands: Commands,
) -> Result {
    let context = contexts.ctx_mut()?.clone();
    if !std::mem::replace(&mut *has_style, true) {
        style::apply(&context);
    }
    if shown.pictures.hides_panels() {
        return Ok(());
    }
    let out = &mut actions.0;
    let layer = egui::UiBuilder::new()
        .layer_id(egui::LayerId::background())
        .max_rect(context.viewport_rect());
    let mut root = egui::Ui::new(context.clone(), "studio".into(), layer);
    let free = match shown.session.is_some() {
        false => {
            start::show(&mut root, &shown, &mut browser, &mut start, out);
            egui::Rect::NOTHING
        }
        true => {
            if shown.settings.is_on(Switch::Panels) {
                menu::show(&mut root, &shown, out);
                status::show(&mut root, &shown);
                match shown.settings.mode {
                    Mode::Sculpt => sculpt::show(&mut root, &shown, out),
                    Mode::Play => play::show(&mut root, &shown, out),
                    Mode::Look => look::show(&mut root, &shown, out),
                }
            }
            root.available_rect_before_wrap()
        }
    };
    floating(&context, free, &shown, &mut browser, out);
    let now = wants(&context, free);
    if *over != now {
        *over = now;
        commands.queue(move |world: &mut World| {
            let mut pointer = world.resource_mut::<Pointer>();
            (pointer.is_over_panel, pointer.has_keyboard) = now;
        });
    }
    Ok(())
}

/// What floats above the world.
fn floating(
    context: &egui::Context,
    free: egui::Rect,
    shown: &Shown,
    browser: &mut Browser,
    out: &mut Vec<Action>,
) {
    if shown.session.is_some() {
        status::names(context, free, shown);
        if shown.settings.mode == Mode::Play {
            status::crosshair(context, shown);
        }
        if shown.settings.is_on(Switch::Frames) {
            frames::show(context, free, &shown.costs);
        }
        status::toasts(context, free, shown);
        dialogs::show(context, shown, browser, out);
    }
    if shown.settings.is_on(Switch::Help) {
        help::show(context, shown, out);
    }
}

/// Whether the mouse is over a panel, and whether a panel takes the keys.
fn wants(context: &egui::Context, free: egui::Rect) -> (bool, bool) {
    let is_over = context.input(|input| input.pointer.latest_pos()).is_some_and(|at| {
        let layer = context.layer_id_at(at);
        let is_floating = layer.is_some_and(|layer| {
            !matches!(
                layer.order,
                egui::Order::Background | egui::Order::Debug | egui::Order::Tooltip
            )
        });
        !free.contains(at) || is_floating
    });
    (is_over || context.egui_is_using_pointer(), context.egui_wants_keyboard_input())
}

/// Opens files that are dropped on the window.
fn drop_files(mut drops: MessageReader<FileDragAndDrop>, mut actions: ResMut<PanelActions>) {
    for file in drops.read() {
        if let FileDragAndDrop::DroppedFile { path_buf, .. } = file {
            actions.0.push(Action::Open(path_buf.display().to_string()));
        }
    }
}

/// The button that closes the window saves first.
fn close_window(
    mut requests: MessageReader<WindowCloseRequested>,
    mut actions: ResMut<PanelActions>,
) {
    if requests.read().count() > 0 {
        actions.0.push(Action::Quit);
    }
}

fn fullscreen(
    mut actions: MessageReader<Action>,
    mut window: Single<&mut Window, With<PrimaryWindow>>,
) {
    for _ in actions.read().filter(|action| **action == Action::Fullscreen) {
        window.mode = match window.mode {
            WindowMode::Windowed => WindowMode::BorderlessFullscreen(MonitorSelection::Current),
            _ => WindowMode::Windowed,
        };
    }
}

/// The title of the window says what is open.
fn title(session: Option<Res<Session>>, mut window: Single<&mut Window, With<PrimaryWindow>>) {
    let title = match session {
        Some(session) => format!("{} – Terravox Studio", session.name()),
        None => "Terravox Studio".to_owned(),
    };
    if window.title != title {
        window.title = title;
    }
}
