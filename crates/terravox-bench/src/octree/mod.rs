//! Surfaces of fewer triangles, and what lies between two levels of detail.

mod cluster;
mod error;
mod morph;
mod simplify;
mod speed;

use crate::report::Report;

/// What is measured, one after the other.
const MEASURES: &[fn(&mut Report)] =
    &[speed::run, cluster::run, error::run, morph::run, simplify::run];

/// Measures the whole area.
pub fn run(report: &mut Report) {
    for measure in MEASURES {
        measure(report);
    }
}
