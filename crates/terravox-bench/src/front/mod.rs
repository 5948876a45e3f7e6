//! The first hour of a game.

mod bodies;
mod digs;
mod edit;
mod frames;
mod generators;
mod place;
mod saving;
mod shores;
mod upload;

use crate::report::AreaPart;

/// The parts of the area, in the order in which they run.
pub const PARTS: &[AreaPart] = &[
    AreaPart::new("frames", frames::run),
    AreaPart::new("digs", digs::run),
    AreaPart::new("generators", generators::run),
    AreaPart::new("bodies", bodies::run),
    AreaPart::new("saving", saving::run),
    AreaPart::new("upload", upload::run),
    AreaPart::new("place", place::run),
    AreaPart::new("shores", shores::run),
    AreaPart::new("edit", edit::run),
];
