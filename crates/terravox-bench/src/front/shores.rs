//! How far the liquid sheet ends off the waterline.

use crate::report::Report;

pub fn run(report: &mut Report) {
    report.not_measured("shore_teeth", "not measured yet");
}
