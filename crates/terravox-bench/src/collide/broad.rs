//! The bit broadphase: making masks and asking them.

use crate::report::Report;
use crate::worlds::World;

/// Measures this part.
pub fn run(_report: &mut Report, _worlds: &[&World]) {}
