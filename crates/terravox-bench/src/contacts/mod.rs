//! What bodies touch: contacts, water, box colliders.

mod boxes;
mod core;
mod integrator;
mod rapier;

pub use rapier::soak::soak;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    self::core::run(report);
    boxes::run(report);
    rapier::run(report);
}
