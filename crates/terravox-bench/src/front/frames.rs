//! A fresh viewer, a flight and a walk: what a frame costs and when there is ground.

use crate::report::Report;

pub fn run(report: &mut Report) {
    report.not_measured("readme_first_dig_frame", "not measured yet");
    report.not_measured("first_ray_ms", "not measured yet");
    report.not_measured("update_over_budget_ms", "not measured yet");
    report.not_measured("walk_without_ground_frames", "not measured yet");
}
