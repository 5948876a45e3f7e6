//! Bodies over a world that is still coming.

use crate::report::Report;

pub fn run(report: &mut Report) {
    report.not_measured("bodies_fallen", "not measured yet");
}
