//! A server without a window: it serves `--world FILE` at `--port N`, refuses what is too deep, and lets a
//! meteor fall every ten seconds. Ctrl-C saves and ends it, as `--frames N` does after N frames.
mod example_app;
mod serving;

use std::time::Duration;

use bevy::app::ScheduleRunnerPlugin;
use bevy::prelude::*;
use bevy::time::common_conditions::on_timer;
use bevy_terravox::online::terravox_server::EditAuthor;
use bevy_terravox::online::{OnlineEvent, OnlineTerrain};
use bevy_terravox::prelude::*;
use bevy_terravox::terravox::replicate::{GuestEvent, Refusal, Verdict};

fn main() {
    let frame = ScheduleRunnerPlugin::run_loop(Duration::from_millis(33));
    App::new()
        .add_plugins((MinimalPlugins.set(frame), TransformPlugin, TerravoxPlugin::default()))
        .add_plugins(bevy::app::TerminalCtrlCHandlerPlugin)
        .add_systems(Startup, serve)
        .add_systems(Update, meteor.run_if(on_timer(Duration::from_secs(10))))
        .add_systems(Last, end)
        .add_observer(|said: On<OnlineEvent>| {
            if let GuestEvent::Edited { author, region } = &said.event {
                println!("number {author} changed {region:?}");
            }
        })
        .run();
}

/// The rules of this game, asked on the thread of the world.
fn rules(author: EditAuthor<'_>, op: &EditOp) -> Verdict {
    match op.region() {
        Ok(region) if region.min.y < -60 => {
            Verdict::Refuse(Refusal::by_game(1, format!("too deep, {}", author.name)))
        }
        _ => Verdict::Accept,
    }
}

fn serve(mut commands: Commands) -> Result {
    let serving = serving::serve_hills(Some(Box::new(rules)))?;
    let address = serving.0.quic_address().to_string();
    println!("serving at {address}");
    // The game is a guest of its own server: it sees all edits, and edits as players do.
    commands.spawn(OnlineTerrain::join(address.parse()?, Default::default()));
    commands.spawn((TerrainViewer::new(150.0), Transform::from_xyz(0.0, 20.0, 0.0)));
    commands.insert_resource(serving);
    Ok(())
}

fn meteor(terrains: Terrains, mut fallen: Local<u32>, mut edits: MessageWriter<EditTerrain>) {
    *fallen += 1;
    let turn = *fallen as f32 * 2.4;
    let from = Vec3::new(40.0 * turn.cos(), 100.0, 40.0 * turn.sin());
    let hit = terrains.ray(Ray3d::new(from, Dir3::NEG_Y), 200.0);
    edits.write_batch(hit.map(|hit| EditTerrain::dig(&hit, 6.0)));
}

fn end(mut frame: Local<u32>, mut exit: MessageWriter<AppExit>) {
    *frame += 1;
    if example_app::flag("--frames").is_some_and(|frames| *frame >= frames) {
        exit.write(AppExit::Success);
    }
}
