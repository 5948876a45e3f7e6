//! Far terrain: levels of detail.

mod fly;
mod speed;
mod view;

pub use view::horizon_view;

use crate::AreaPart;

/// The parts, in the order in which they run.
pub const PARTS: &[AreaPart] =
    &[("view", view::run), ("fly", fly::run), ("far", fly::run_far), ("speed", speed::run)];
