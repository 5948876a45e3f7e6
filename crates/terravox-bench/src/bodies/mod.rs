//! What edits cut loose: finding it, and making bodies of it.

mod connectivity;
mod detach;

use crate::report::Report;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    connectivity::run(report);
    detach::run(report);
}
