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

use crate::report::Report;

/// A part of the area, by name.
type Part = (&'static str, fn(&mut Report));

const PARTS: [Part; 6] = [
    ("view", view::run),
    ("fly", fly::run),
    ("far", fly::run_far),
    ("speed", speed::run),
    ("seam", seam::run),
    ("closed", closed::run),
];

/// Names of the parts.
pub const NAMES: [&str; PARTS.len()] = {
    let mut names = [""; PARTS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PARTS[i].0;
        i += 1;
    }
    names
};

/// Measures the whole area, or the one part that is asked for.
pub fn run(report: &mut Report, only: Option<&str>) {
    for (name, measure) in PARTS {
        if only.is_none_or(|only| only == name) {
            measure(report);
        }
    }
}
