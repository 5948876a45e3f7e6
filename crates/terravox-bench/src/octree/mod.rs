//! Octrees, clusters and simplification.

mod cluster;
mod simplify;
mod speed;

use crate::AreaPart;

/// The parts, in the order in which they run.
pub const PARTS: &[AreaPart] =
    &[("speed", speed::run), ("cluster", cluster::run), ("simplify", simplify::run)];
