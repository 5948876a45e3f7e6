//! Far terrain: blocks of different mips side by side.

mod closed;
mod fly;
pub mod ours;
mod seam;
mod speed;
mod states;
mod view;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    for measure in [view::run, fly::run, speed::run, seam::run, closed::run] {
        measure(report);
    }
}
