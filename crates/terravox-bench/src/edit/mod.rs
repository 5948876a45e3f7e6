//! Brushes and undo: speed, bytes and volumes.

mod balls;
mod history;
mod volume;

use crate::report::AreaReport;

/// Measures the whole area.
pub fn run(report: &mut AreaReport) {
    balls::run(report);
    history::run(report);
    volume::run(report);
}
