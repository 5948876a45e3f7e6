//! Far terrain: blocks of different mips side by side.

mod closed;
mod fly;
pub mod ours;
mod seam;
mod speed;
mod states;
mod view;

pub use closed::World;
pub use ours::read;
pub use seam::{ground, quantile};
pub use states::Flight;
pub use view::horizon_view;

use crate::Part;

/// What is measured, one after the other.
pub const PARTS: &[Part] = &[
    ("view", view::run),
    ("fly", fly::run),
    ("far", fly::run_far),
    ("speed", speed::run),
    ("seam", seam::run),
    ("closed", closed::run),
];
