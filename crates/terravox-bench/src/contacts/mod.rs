//! What bodies touch: contacts, water, box colliders.

mod boxes;
mod core;
mod integrator;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    self::core::run(report);
    boxes::run(report);
}
