//! From an edit to the first contact with it.

use crate::report::Report;

pub fn run(report: &mut Report) {
    report.not_measured("edit_to_collidable_us", "not measured yet");
}
