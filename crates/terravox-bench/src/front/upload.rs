//! Bytes of a vertex on the graphics card.

use crate::report::Report;

pub fn run(report: &mut Report) {
    report.not_measured("vertex_bytes", "not measured yet");
}
