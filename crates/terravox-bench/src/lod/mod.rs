//! Far terrain: blocks of different mips side by side.

mod closed;
mod fly;
mod ours;
mod seam;
mod speed;
mod view;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    for measure in [speed::run, seam::run, closed::run, view::run, fly::run] {
        measure(report);
    }
}
