//! The indexes of a block: building them, their bytes, rays and boxes, beside the peers.

use crate::report::Report;
use crate::worlds::World;

/// Measures this part.
pub fn run(_report: &mut Report, _worlds: &[&World]) {}
