//! What saving loses, and how long it stops the main thread.

use crate::report::Report;

pub fn run(report: &mut Report) {
    report.not_measured("save_lost_edits", "not measured yet");
    report.not_measured("save_stall_ms", "not measured yet");
}
