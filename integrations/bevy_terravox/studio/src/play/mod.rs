//! Being in the world: walking, throwing things, explosions, water to float in.

mod bodies;
mod walk;
mod water;

pub use bodies::{BodyKind, Thrown};
pub use walk::Walker;

use avian3d::prelude::*;
use bevy::prelude::*;
use bevy_terravox::avian::TerravoxAvianPlugin;

use crate::action::Mode;
use crate::open::Session;
use crate::settings::Settings;

/// Walks and throws. Physics stands still in other modes.
pub struct PlayPlugin;

impl Plugin for PlayPlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins((PhysicsPlugins::default(), TerravoxAvianPlugin::default()))
            .add_systems(FixedUpdate, (water::float, walk::walk).chain().run_if(is_playing))
            .add_systems(
                Update,
                (pause, walk::enter_or_leave, walk::follow, bodies::act)
                    .chain()
                    .in_set(crate::StudioSystems::Play),
            );
    }
}

fn is_playing(settings: Res<Settings>, session: Option<Res<Session>>) -> bool {
    settings.mode == Mode::Play && session.is_some()
}

/// Stops and starts physics.
fn pause(settings: Res<Settings>, session: Option<Res<Session>>, mut time: ResMut<Time<Physics>>) {
    let is_playing = is_playing(settings, session);
    match (is_playing, time.is_paused()) {
        (true, true) => time.unpause(),
        (false, false) => time.pause(),
        _ => {}
    }
}
