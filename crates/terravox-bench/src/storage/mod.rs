//! Cells in memory and on disk: reading speed and bytes, compared with the peers.

mod bytes;
mod codecs;
pub mod dense;
mod dependencies;
mod imports;
pub mod palette;
mod reads;
mod snapshots;

use crate::report::AreaReport;
use crate::worlds::{World, generated, places, rough};

/// Measures the whole area.
pub fn run(report: &mut AreaReport) {
    let made = [generated::world(), rough::world()];
    let real = places::all();
    if let Err(why) = &real {
        eprintln!("real places are left out: {why}");
    }
    reads::run(report, &made);
    bytes::run(report, &real, &made);
    let all: Vec<&World> = made.iter().chain(real.iter().flatten()).collect();
    codecs::run(report, &all);
    drop(made);
    snapshots::run(report);
    imports::run(report);
    dependencies::run(report);
}
