//! Particles: how many a second, and how many fall through the ground.

mod falls;
mod ground;
mod rest;
mod speed;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    speed::run(report);
    falls::run(report);
    rest::run(report);
}

/// Seconds of an update.
const STEP: f32 = 1.0 / 60.0;
