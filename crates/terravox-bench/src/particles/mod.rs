//! Particles: updates per second, and the share that falls through the ground.

mod falls;
mod ground;
mod rest;
mod speed;

use crate::report::AreaReport;

/// Measures the whole area.
pub fn run(report: &mut AreaReport) {
    speed::run(report);
    falls::run(report);
    rest::run(report);
}
