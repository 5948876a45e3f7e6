//! A window in which worlds of terravox are flown over, sculpted and played with. `README.md` has the
//! keys and how the crate is split.
//!
//! Everything that a user does is an [`Action`](action::Action) or input that a replay can repeat;
//! without the feature `window` all of it runs without a renderer.

pub mod action;
pub mod app;
pub mod args;
mod background;
pub mod camera;
pub mod history;
pub mod keys;
mod names;
pub mod notices;
pub mod open;
pub mod play;
pub mod pointer;
pub mod replay;
pub mod save;
pub mod sculpt;
pub mod settings;
pub mod state_dir;

#[cfg(feature = "window")]
pub mod look;
#[cfg(feature = "window")]
pub mod panels;
#[cfg(feature = "window")]
pub mod pictures;

use bevy::prelude::*;

/// What the studio does in `Update`, in this order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StudioSystems {
    /// Mouse, keys and panels become actions.
    Input,
    /// Actions set numbers and switches.
    Settings,
    /// Worlds are opened.
    Open,
    /// Worlds are saved and closed.
    Save,
    /// Other actions.
    Act,
    /// The camera moves.
    Camera,
    /// A person walks, bodies are thrown.
    Play,
    /// The ground below the mouse is found.
    Point,
    /// Strokes change the ground.
    Stroke,
    /// Lines and light.
    Draw,
}

/// The studio, but for its window: input, worlds, tools, history, saving.
pub struct StudioPlugin {
    /// Where it keeps what it remembers.
    pub state: state_dir::StateDir,
}

impl Plugin for StudioPlugin {
    fn build(&self, app: &mut App) {
        use StudioSystems::{Act, Camera, Draw, Input, Open, Play, Point, Save, Settings, Stroke};
        app.insert_resource(self.state.clone())
            .init_resource::<settings::Settings>()
            .init_resource::<keys::KeyMap>()
            .init_resource::<notices::Notices>()
            .init_resource::<action::PanelActions>()
            .add_message::<action::Action>()
            .configure_sets(
                Update,
                (Input, Settings, Open, Save, Act, Camera, Play, Point, Stroke, Draw).chain(),
            )
            .add_systems(Startup, keys::load)
            .add_systems(Update, (replay::flush_panels, keys::read).chain().in_set(Input))
            .add_systems(Update, settings::apply.in_set(Settings))
            .add_systems(Last, notices::age)
            .add_plugins((
                pointer::PointerPlugin,
                open::OpenPlugin,
                save::SavePlugin,
                camera::CameraPlugin,
                history::HistoryPlugin,
                sculpt::SculptPlugin,
                play::PlayPlugin,
                replay::ReplayPlugin,
            ));
    }
}
