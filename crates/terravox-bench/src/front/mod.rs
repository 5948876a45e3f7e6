//! What a game meets in its first hour.

mod bodies;
mod edit;
mod frames;
mod generators;
mod place;
mod saving;
mod shores;
mod upload;

use crate::Part;

/// The parts of the area, in the order in which they run.
pub const PARTS: &[Part] = &[
    ("frames", frames::run),
    ("generators", generators::run),
    ("bodies", bodies::run),
    ("saving", saving::run),
    ("upload", upload::run),
    ("place", place::run),
    ("shores", shores::run),
    ("edit", edit::run),
];
