//! What frames cost, by part.

use std::time::Instant;

use bevy::prelude::*;
use bevy_terravox::TerravoxStats;
use bevy_terravox::avian::TerrainPhysicsStats;

/// Frames that are kept.
pub const FRAMES: usize = 240;

/// The parts of a frame, in the order of [`FrameCosts`].
pub const PARTS: [&str; 6] = ["edits", "planning", "meshes", "ground", "physics", "rest"];

/// Milliseconds of the last frames, by part.
#[derive(Resource, Clone, Debug)]
pub struct FrameCosts {
    frames: [[f32; PARTS.len()]; FRAMES],
    next: usize,
}

impl Default for FrameCosts {
    fn default() -> FrameCosts {
        FrameCosts { frames: [[0.0; PARTS.len()]; FRAMES], next: 0 }
    }
}

impl FrameCosts {
    /// The frames, oldest first.
    pub fn frames(&self) -> impl Iterator<Item = &[f32; PARTS.len()]> {
        self.frames[self.next..].iter().chain(&self.frames[..self.next])
    }

    /// Median and longest of the last second or so, milliseconds.
    pub fn summary(&self) -> (f32, f32) {
        let mut totals: Vec<f32> =
            self.frames().skip(FRAMES / 2).map(|parts| parts.iter().sum()).collect();
        totals.retain(|total| *total > 0.0);
        totals.sort_by(f32::total_cmp);
        (
            totals.get(totals.len() / 2).copied().unwrap_or(0.0),
            totals.last().copied().unwrap_or(0.0),
        )
    }
}

/// Notes a frame.
pub(super) fn note(
    mut costs: ResMut<FrameCosts>,
    stats: Res<TerravoxStats>,
    physics: Res<TerrainPhysicsStats>,
    mut before: Local<Option<Instant>>,
) {
    let ours = [stats.edit_ms, stats.stream_ms, stats.draw_ms, stats.ground_ms, physics.sync_ms];
    // Not the clock of the app, which replays set.
    let now = Instant::now();
    let all_ms = before.replace(now).map_or(0.0, |before| (now - before).as_secs_f64() * 1e3);
    let rest = (all_ms - ours.iter().sum::<f64>()).max(0.0);
    let next = costs.next;
    costs.frames[next] = [ours[0], ours[1], ours[2], ours[3], ours[4], rest].map(|ms| ms as f32);
    costs.next = (next + 1) % FRAMES;
}
