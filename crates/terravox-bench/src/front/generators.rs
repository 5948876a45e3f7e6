//! Generators of a game beside ours.

use crate::report::Report;

pub fn run(report: &mut Report) {
    report.not_measured("own_height_vs_hills", "not measured yet");
    report.not_measured("own_sdf_vs_hills", "not measured yet");
    report.not_measured("own_uniform_block_us", "not measured yet");
}
