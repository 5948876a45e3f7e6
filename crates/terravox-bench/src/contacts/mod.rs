//! Contacts, water and box colliders.

mod boxes;
mod core;
mod integrator;
mod rapier;

pub use rapier::soak::soak;

use crate::report::AreaReport;

/// Measures the whole area.
pub fn run(report: &mut AreaReport) {
    self::core::run(report);
    boxes::run(report);
    rapier::run(report);
}
