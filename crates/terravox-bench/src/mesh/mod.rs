//! The surface: meshing speed compared with the peers, accuracy, and whether it is closed.

mod closed;
pub mod distance;
pub mod ours;
pub mod peers;
mod quality;
pub mod speed;
pub mod surface;
pub mod topology;

use crate::report::AreaReport;
use crate::worlds::{World, generated, places};

/// Measures the whole area.
pub fn run(report: &mut AreaReport) {
    let generated = generated::world();
    let real = places::all();
    if let Err(why) = &real {
        eprintln!("real places are left out: {why}");
    }
    let caves = real.iter().flatten().find(|place| place.name == "Caves");
    let worlds: Vec<&World> = [&generated].into_iter().chain(caves).collect();
    speed::run(report, &worlds);
    quality::run(report);
    closed::run(report, &real);
}
