//! Edge data, and a block from cells to ready.

use crate::report::Report;
use crate::worlds::World;

/// Measures this part.
pub fn run(_report: &mut Report, _worlds: &[&World]) {}
