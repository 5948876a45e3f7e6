//! Pieces that edits cut loose: finding them, and turning them into bodies.

mod connectivity;
mod detach;

use crate::report::AreaReport;

/// Measures the whole area.
pub fn run(report: &mut AreaReport) {
    connectivity::run(report);
    detach::run(report);
}
