//! Far terrain: blocks of different mips side by side.

mod closed;
mod ours;
mod seam;
mod speed;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    for measure in [speed::run, seam::run, closed::run] {
        measure(report);
    }
}
