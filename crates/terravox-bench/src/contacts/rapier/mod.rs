//! Terrain in Rapier: bumps at edges and block borders, support of bodies, speed, and the cost of
//! edits. Compared with one parry mesh with corrected inner edges.
//!
//! Steps of 1/60 s, Rapier's own settings, contact recycling on, unless a row says
//! otherwise.

mod ghosts;
mod holds;
mod scene;
pub mod soak;
mod speed;

use crate::report::AreaReport;

/// Measures this part.
pub fn run(report: &mut AreaReport) {
    ghosts::run(report);
    holds::run(report);
    speed::run(report);
    soak::run(report, 60);
}
