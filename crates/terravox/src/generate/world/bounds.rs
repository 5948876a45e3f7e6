//! Bounds of the ground over a box: air and deep stone are known without a column.
//!
//! The bounds mirror [`relief`](super::relief): each term is taken at the upper end of what it may
//! be, in all the world or by [`samples`] of a box. They are conservative, which tests check
//! against the cells.

use super::cells::{DEEP_BELOW, cover_reach};
use super::climate::Setting;
use super::highest::HighestFields;
use super::options::WorldOptions;
use super::relief::GULLIES;
use super::samples;
use crate::generate::materials::BASALT;
use crate::voxel::Region;

/// A box of one kind of cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Uniform {
    Air,
    /// Full cells of one kind of stone.
    Deep(u8),
}

/// Room for rounding, voxels.
const ROUNDING: f64 = 1.0;

/// Wider cells get the bounds of the whole world: samples say little of a box of them.
const MAX_EDGE: f64 = 64.0;

/// Whether all of a region is air or deep stone, by what is so in all the world.
pub(super) fn uniform(setting: &Setting<'_>, region: Region) -> Option<Uniform> {
    if region.is_empty() {
        return None;
    }
    let edge = setting.edge;
    let bottom = (f64::from(region.min.y) + 0.5) * edge;
    let top = (f64::from(region.max.y) - 0.5) * edge;
    let is_below_stone = top < f64::from(DEEP_BELOW) - 0.5 * edge - 1.0;
    let reach = f64::from(cover_reach(edge as f32)) + ROUNDING;
    if is_below_stone && top < lowest(setting.options) - reach {
        return Some(Uniform::Deep(BASALT));
    }
    let margin = 0.5 * edge + ROUNDING;
    if bottom < margin {
        return None; // The sea may be there.
    }
    (bottom > highest(setting) + margin).then_some(Uniform::Air)
}

/// Whether all of a region is air, from samples: `false` if that is not known.
pub(super) fn is_air(setting: &Setting<'_>, region: Region) -> bool {
    let edge = setting.edge;
    let bottom = (f64::from(region.min.y) + 0.5) * edge;
    let level = bottom - 0.5 * edge - ROUNDING;
    level > 0.0 && edge <= MAX_EDGE && samples::are_below(setting, region, level)
}

/// Heights between which cells vary.
pub(super) fn heights(options: &WorldOptions) -> std::ops::Range<i32> {
    let setting = Setting { seed: 0, options, edge: 1.0 };
    let high = (highest(&setting) + ROUNDING + 1.0) as i32;
    let low = (lowest(options) - f64::from(cover_reach(1.0)) - ROUNDING - 1.0) as i32;
    low.div_euclid(32) * 32..(high + 31).div_euclid(32) * 32
}

/// The ground is never lower, voxels: the sea's floor and hills by it or inland, where base
/// elevation makes up for them; gullies, detail, terraces, and the valleys of clay hills.
fn lowest(options: &WorldOptions) -> f64 {
    const BASE_AND_HILLS: f32 = -73.0;
    const DETAIL_AND_TERRACES: f32 = -13.0;
    let beds: f32 = GULLIES.iter().map(|&(width, depth)| width as f32 * depth).sum();
    let clay = if options.badlands > 0.0 { 51.0 * options.relief } else { 0.0 };
    f64::from(BASE_AND_HILLS + DETAIL_AND_TERRACES - 0.67 * beds * options.erosion - clay)
}

/// The highest ground and island of the world.
fn highest(setting: &Setting<'_>) -> f64 {
    HighestFields::everywhere(setting).ground(setting)
}
