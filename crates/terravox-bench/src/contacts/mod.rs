//! What bodies touch: contacts, water, box colliders.

mod rapier;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    rapier::run(report);
}
