//! Octrees, clusters and simplification.

mod cluster;
mod simplify;
mod speed;

use crate::report::AreaPart;

/// The parts, in the order in which they run.
pub const PARTS: &[AreaPart] = &[
    AreaPart::new("speed", speed::run),
    AreaPart::new("cluster", cluster::run),
    AreaPart::new("simplify", simplify::run),
];
