//! Measures the plugin, without a renderer: a JSON object a line, for `scripts/bevy-figures`.
//!
//! `figures [PART…] [--long]`: `fly`, `brush`, `drawn`, `woken`, `below`, `lines`; all by default.
//! `--long` drops 500 bodies for ten minutes instead of 100 for one.

mod bodies;
mod frames;
mod threads;

use std::time::Duration;

use bevy::mesh::MeshPlugin;
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;
use bevy_terravox::TerrainChunks;
use bevy_terravox::prelude::*;

/// A frame of a screen.
const FRAME: Duration = Duration::from_nanos(16_666_667);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_long = arguments.iter().any(|argument| argument == "--long");
    let parts: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|part| *part != "--long").collect();
    let runs = |part: &str| parts.is_empty() || parts.contains(&part);
    if runs("fly") {
        frames::fly();
    }
    if runs("brush") {
        frames::brush();
    }
    if runs("drawn") {
        frames::drawn();
    }
    if runs("woken") {
        bodies::woken();
    }
    if runs("below") {
        bodies::below(is_long);
    }
    if runs("lines") {
        let lines = include_str!("../dig.rs").lines().count();
        print("plugin_lines_to_dig", lines as f64, "examples/dig.rs");
    }
}

/// Prints a figure.
fn print(id: &str, value: f64, note: &str) {
    println!("{{\"id\": \"{id}\", \"value\": {value}, \"note\": \"{note}\"}}");
}

/// An app without a renderer, at 60 frames a second.
fn app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, AssetPlugin::default(), MeshPlugin));
    app.add_plugins(TerravoxPlugin::default());
    app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME));
    app.insert_resource(Time::<Fixed>::from_duration(FRAME));
    app
}

/// Runs a frame and waits for the rest of its time.
fn frame(app: &mut App) -> Duration {
    let start = std::time::Instant::now();
    app.update();
    let taken = start.elapsed();
    rest(taken);
    taken
}

/// Waits for the rest of the time of a frame that took so long.
fn rest(taken: Duration) {
    std::thread::sleep(FRAME.saturating_sub(taken));
}

/// Whether all that the terrains show is drawn.
fn is_drawn(app: &mut App) -> bool {
    let world = app.world_mut();
    let mut terrains = world.query::<(&Terrain, &TerrainChunks)>();
    terrains.iter(world).all(|(terrain, chunks)| terrain.is_settled() && chunks.is_complete())
}

/// Pseudorandom numbers from 0 to 1 (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
