//! Options of a heightmap world, and the rules for its materials.

use super::error::HeightmapError;
use super::heights::Heights;
use super::limits::{GRID_LIMIT_VOXELS, MAX_EXTENT_VOXELS};
use terravox::voxel::Kind;

/// Slope, rise over run, from which natural land is bare rock.
const STEEPEST_TURF: f64 = 0.85;

/// Height of the land, as a share of the width of the map, above which it is mountains: their tops
/// are bare and snowy, those of hills are not.
const MOUNTAINS_TO_WIDTH: f64 = 0.06;

/// Height of the land by default, as a share of the width of the map.
const HEIGHT_TO_WIDTH: f64 = 1.0 / 8.0;

/// Options of a heightmap world. All lengths are in voxels.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightmapOptions {
    /// Voxels per sample along x and z; below 1, samples are averaged. The size of the map is
    /// rounded to whole voxels.
    pub voxels_per_sample: f64,
    /// Height, y, of samples of value 0.
    pub base_voxels: f64,
    /// Height of samples of value 1 above those of value 0; may be negative.
    pub height_voxels: f64,
    /// Lowest x and z of the world, voxels.
    pub origin: [i32; 2],
    /// Height, y, of the water surface; `None` for no water.
    pub sea_level: Option<f64>,
    /// Depth of the ground below the lowest sample.
    pub depth_voxels: f64,
    /// Rules for the material of the surface; the first that matches decides.
    pub rules: Vec<MaterialRule>,
    /// Material of the surface where no rule matches.
    pub material: u8,
    /// Thickness of the surface, in which materials follow the rules.
    pub surface_voxels: f64,
    /// Material below it.
    pub material_below: u8,
    /// How ragged the borders between the materials of the rules are, 0 to 1: 0 follows height and
    /// slope exactly, which draws contour lines; with 1 noise moves both by up to a quarter.
    pub patches: f64,
    /// What grass of the surface stands on.
    pub turf: Turf,
    /// Material of the water, a liquid.
    pub water: u8,
}

impl Default for HeightmapOptions {
    /// One voxel per sample, 64 voxels high, no water, grass over rock. For natural-looking
    /// materials use [`HeightmapOptions::with_natural_land`].
    fn default() -> HeightmapOptions {
        HeightmapOptions {
            voxels_per_sample: 1.0,
            base_voxels: 0.0,
            height_voxels: 64.0,
            origin: [0, 0],
            sea_level: None,
            depth_voxels: 8.0,
            rules: Vec::new(),
            material: 2,
            surface_voxels: 3.0,
            material_below: 8,
            patches: 0.0,
            turf: Turf::default(),
            water: 1,
        }
    }
}

impl HeightmapOptions {
    /// Maximum number of voxels of a world along x or z.
    pub const MAX_EXTENT_VOXELS: u64 = MAX_EXTENT_VOXELS;

    /// Returns `height_voxels` with which the land is an eighth of its width high, whatever part of
    /// the range the samples use; 64 if they are all equal.
    pub fn natural_height_voxels(heights: &Heights, voxels_per_sample: f64) -> f64 {
        let [low, high] = heights.range().map(f64::from);
        if high <= low {
            return HeightmapOptions::default().height_voxels;
        }
        let width = heights.size()[0].min(heights.size()[1]) as f64 * voxels_per_sample;
        width * HEIGHT_TO_WIDTH / (high - low).max(1e-9)
    }

    /// Returns the options with the materials of natural-looking land, of the default table, between
    /// the lowest and the highest sample: sand at the shore, mud under water, rock on steep slopes,
    /// slate and then snow on top of mountains, grass on earth elsewhere, leafy below. Set the scales
    /// and the sea level first.
    pub fn with_natural_land(self, heights: &Heights) -> HeightmapOptions {
        let ends = heights.range().map(|v| self.base_voxels + f64::from(v) * self.height_voxels);
        let [low, high] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let width = heights.size()[0].min(heights.size()[1]) as f64 * self.voxels_per_sample;
        let is_mountainous = high - low > MOUNTAINS_TO_WIDTH * width;
        HeightmapOptions {
            rules: natural_rules(low, high, self.sea_level, is_mountainous),
            patches: 1.0,
            turf: Turf { materials: vec![2, 19], ..Turf::default() },
            ..self
        }
    }

    /// Refuses options out of range and materials of the wrong kind.
    pub(super) fn check(&self, kinds: &[Kind; 256]) -> Result<(), HeightmapError> {
        let [x, z] = self.origin.map(f64::from);
        let refuse = |what: String| Err(HeightmapError::Options(what));
        let range = |option: &'static str, value: f64, low: f64, high: f64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(HeightmapError::OutOfRange { option, value, low, high })
            }
        };
        let extent = MAX_EXTENT_VOXELS as f64;
        range("voxels_per_sample", self.voxels_per_sample, 1.0 / 1024.0, 1024.0)?;
        range("origin x", x, -GRID_LIMIT_VOXELS, GRID_LIMIT_VOXELS)?;
        range("origin z", z, -GRID_LIMIT_VOXELS, GRID_LIMIT_VOXELS)?;
        range("base_voxels", self.base_voxels, -GRID_LIMIT_VOXELS, GRID_LIMIT_VOXELS)?;
        range("height_voxels", self.height_voxels, -extent, extent)?;
        range("depth_voxels", self.depth_voxels, 0.0, extent)?;
        range("surface_voxels", self.surface_voxels, 0.0, extent)?;
        range("patches", self.patches, 0.0, 1.0)?;
        range("turf depth_voxels", self.turf.depth_voxels, 0.0, extent)?;
        if let Some(sea) = self.sea_level {
            // Bounded, so that the world does not become an ocean above the land.
            let high = self.base_voxels + self.height_voxels.max(0.0) + extent;
            range("sea_level", sea, -GRID_LIMIT_VOXELS, high.min(GRID_LIMIT_VOXELS))?;
        }
        if kinds[usize::from(self.water)] != Kind::Liquid {
            return refuse(format!("the water material {} is not liquid", self.water));
        }
        let solids = self.rules.iter().map(|rule| rule.material);
        for material in solids.chain([self.material, self.material_below, self.turf.earth]) {
            if kinds[usize::from(material)] != Kind::Solid {
                return refuse(format!("the ground material {material} is not solid"));
            }
        }
        Ok(())
    }
}

/// A thin cover of some materials, and the earth below it down to the end of the surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Turf {
    /// Materials of which only the cover is made, by id; none by default.
    pub materials: Vec<u8>,
    /// Thickness of the cover, across the ground.
    pub depth_voxels: f64,
    /// Material below it, a solid.
    pub earth: u8,
}

impl Default for Turf {
    fn default() -> Turf {
        Turf { materials: Vec::new(), depth_voxels: 1.5, earth: 14 }
    }
}

/// A surface material for a range of heights and slopes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaterialRule {
    /// The material, a solid.
    pub material: u8,
    /// Lowest and highest height of the surface, in voxels.
    pub height_voxels: [f64; 2],
    /// Gentlest and steepest slope, rise over run: 0 is flat, 1 is 45°.
    pub slope: [f64; 2],
}

/// Returns rules for natural-looking land between the heights `low` and `high`, in voxels, with the
/// ids of the default materials: sand at the shore, mud under water, rock on steep slopes, slate
/// and then snow on top of mountains, leafy grass below. Elsewhere no rule matches; there the
/// default is grass.
fn natural_rules(
    low: f64,
    high: f64,
    sea_level: Option<f64>,
    is_mountainous: bool,
) -> Vec<MaterialRule> {
    let [slate, sand, rock, snow, mud, leafy_grass] = [3, 6, 8, 10, 12, 19];
    let any_slope = [0.0, f64::INFINITY];
    let any_height = [f64::NEG_INFINITY, f64::INFINITY];
    let rule = |material, height_voxels, slope| MaterialRule { material, height_voxels, slope };
    let lowest_land = sea_level.map_or(low, |sea| sea.max(low).min(high));
    let at = |share: f64| lowest_land + share * (high - lowest_land);
    let mut rules = Vec::new();
    if let Some(sea) = sea_level {
        rules.push(rule(mud, [f64::NEG_INFINITY, sea - 6.0], [0.0, 0.6]));
        rules.push(rule(sand, [f64::NEG_INFINITY, sea + 1.5], [0.0, 0.6]));
    }
    rules.push(rule(rock, any_height, [STEEPEST_TURF, f64::INFINITY]));
    if is_mountainous {
        rules.push(rule(snow, [at(0.85), f64::INFINITY], [0.0, 0.7]));
        rules.push(rule(slate, [at(0.72), f64::INFINITY], any_slope));
    }
    rules.push(rule(leafy_grass, [f64::NEG_INFINITY, at(0.3)], any_slope));
    rules
}
