//! What bodies touch: contacts, water, box colliders.

mod boxes;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    boxes::run(report);
}
