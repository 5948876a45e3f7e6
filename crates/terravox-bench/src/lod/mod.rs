//! Far terrain: levels of detail.

mod fly;
mod speed;
mod view;

pub use view::{DETAIL, horizon_view};

use crate::report::AreaPart;

/// The parts, in the order in which they run.
pub const PARTS: &[AreaPart] = &[
    AreaPart::new("view", view::run),
    AreaPart::new("fly", fly::run),
    AreaPart::new("far", fly::run_far),
    AreaPart::new("speed", speed::run),
];
