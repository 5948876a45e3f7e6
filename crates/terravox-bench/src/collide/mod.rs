//! Rays, boxes and the broadphase, compared with the peers, on 8³ blocks of the generated world
//! and of a real place.

pub(crate) mod blocks;
mod broad;
mod edges;
mod index;
mod peers;
mod render;
mod shapes;
pub(crate) mod world;

use crate::report::AreaReport;
use crate::worlds::{World, generated, places};

/// Measures the whole area.
pub fn run(report: &mut AreaReport) {
    let generated = generated::world();
    let caves = places::world("Caves");
    if let Err(why) = &caves {
        eprintln!("the real place is left out: {why}");
    }
    let worlds: Vec<&World> = [&generated].into_iter().chain(caves.as_ref().ok()).collect();
    broad::run(report, &worlds);
    index::run(report, &worlds);
    edges::run(report, &worlds);
    shapes::run(report);
    world::run(report, &worlds);
    render::run(report, &worlds);
}
