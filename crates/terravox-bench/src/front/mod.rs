//! The first hour of a game.

mod bodies;
mod edit;
mod frames;
mod generators;
mod place;
mod saving;
mod shores;
mod upload;

use crate::AreaPart;

/// The parts of the area, in the order in which they run.
pub const PARTS: &[AreaPart] = &[
    ("frames", frames::run),
    ("generators", generators::run),
    ("bodies", bodies::run),
    ("saving", saving::run),
    ("upload", upload::run),
    ("place", place::run),
    ("shores", shores::run),
    ("edit", edit::run),
];
