//! Surfaces of fewer triangles, and what lies between two levels of detail.

mod cluster;
mod error;
mod fit;
mod morph;
mod simplify;
mod speed;

use crate::Part;

/// What is measured, one after the other.
pub const PARTS: &[Part] = &[
    ("speed", speed::run),
    ("cluster", cluster::run),
    ("error", error::run),
    ("morph", morph::run),
    ("simplify", simplify::run),
    ("borders", simplify::run_borders),
];
