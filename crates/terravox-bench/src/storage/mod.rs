//! Cells in memory and on disk: reading speed and bytes beside the peers.

mod bytes;
mod codecs;
pub mod dense;
mod dependencies;
mod imports;
pub mod palette;
mod reads;
mod snapshots;

use crate::report::Report;
use crate::worlds::{World, generated, places};

/// Measures the whole area.
pub fn run(report: &mut Report) {
    let generated = generated::world();
    let real = places::all();
    if let Err(why) = &real {
        eprintln!("real places are left out: {why}");
    }
    reads::run(report, &generated);
    let all: Vec<&World> = real.iter().flatten().chain([&generated]).collect();
    bytes::run(report, &real, &generated);
    codecs::run(report, &all);
    snapshots::run(report);
    imports::run(report);
    dependencies::run(report);
}
