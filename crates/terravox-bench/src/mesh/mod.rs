//! The surface: how fast it is made beside its peers, how true it is to the data,
//! and whether it closes.

pub mod distance;
pub mod peers;
pub mod surface;
pub mod topology;

use crate::report::Report;

/// Measures the whole area.
pub fn run(_report: &mut Report) {}
