//! Bounds of the ground over a box, from a few noise values at its middle and their steepest slopes:
//! air and deep stone are known without a column.
//!
//! The bounds mirror [`relief`](super::relief): each term is taken at the upper end of what it may
//! be. They are conservative, which tests check against the cells.

use super::cells::{DEEP_BELOW, cover_reach};
use super::climate::{CONTINENT, Setting, UPLIFT, WARP, base_elevation, share, smooth_step};
use super::islands;
use super::options::WorldOptions;
use super::relief::{GULLIES, LAYER, PEAKS, RIVER_RISE};
use super::volcanoes;
use crate::generate::materials::BASALT;
use crate::generate::noise::Noise2;
use crate::voxel::Region;

/// A box of one kind of cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Uniform {
    Air,
    /// Full cells of one kind of stone.
    Deep(u8),
}

/// The ground is never lower, voxels.
const LOWEST_GROUND: f64 = -115.0;

/// Room for rounding, voxels.
const ROUNDING: f64 = 1.0;

/// Wider cells get the bounds of the whole world: the middle of a box says little of it.
const MAX_EDGE: f64 = 64.0;

/// Whether all of a region is air or deep stone.
pub(super) fn uniform(setting: &Setting<'_>, region: Region) -> Option<Uniform> {
    if region.is_empty() {
        return None;
    }
    let edge = setting.edge;
    let bottom = (f64::from(region.min.y) + 0.5) * edge;
    let top = (f64::from(region.max.y) - 0.5) * edge;
    let is_below_stone = top < f64::from(DEEP_BELOW) - 0.5 * edge - 1.0;
    let reach = f64::from(cover_reach(edge as f32)) + ROUNDING;
    if is_below_stone && top < LOWEST_GROUND - reach {
        return Some(Uniform::Deep(BASALT));
    }
    let margin = 0.5 * edge + ROUNDING;
    if bottom < margin {
        return None; // The sea may be there.
    }
    let is_air = bottom > highest(setting.options) + margin
        || edge <= MAX_EDGE && bottom > highest_in(setting, region) + margin;
    is_air.then_some(Uniform::Air)
}

/// Heights between which all changes.
pub(super) fn heights(options: &WorldOptions) -> std::ops::Range<i32> {
    let high = (highest(options) + ROUNDING + 1.0) as i32;
    -160..(high + 31).div_euclid(32) * 32
}

/// The highest that fields may be in a box.
struct Highest {
    continent: f32,
    uplift: f32,
    /// −1 and 1 times [`Climate`](super::climate::Climate)'s fields.
    temperature: f32,
    dryness: f32,
    /// Voxels by which volcanoes rise.
    volcanoes: f32,
    /// Top of floating islands.
    islands: f32,
}

impl Highest {
    /// The highest ground.
    fn ground(&self, options: &WorldOptions) -> f64 {
        let Highest { continent, uplift, temperature, dryness, .. } = *self;
        let relief = options.relief;
        let base = base_elevation(continent, uplift);
        let near_sea = 0.1 * options.fjords;
        let mountains = smooth_step(0.02, 0.45, uplift)
            * smooth_step(0.02 - near_sea, 0.24 - near_sea, continent);
        let shore = 0.12 + 0.88 * smooth_step(-0.06, 0.12, continent);
        let hilly = relief * shore * (6.0 + 17.0 * smooth_step(0.1, 0.6, continent));
        let land = smooth_step(-0.02, 0.1, continent);
        let hot = smooth_step(0.1, 0.4, temperature);
        let desert = land * hot * smooth_step(0.02, 0.3, dryness);
        let mesa = desert * share(10.0, options.canyons);
        let dunes = desert * share(10.0, options.dunes);
        let badlands = land
            * smooth_step(-0.05, 0.2, temperature)
            * smooth_step(-0.1, 0.15, dryness)
            * share(10.0, options.badlands);
        let noise = Noise2::MAX as f32;
        let hills = hilly * (1.73 * noise + 0.3);
        let peaks = relief * mountains * PEAKS * (0.3 + 1.0);
        let clay = relief * badlands * 30.0 * (1.4 * noise + 0.4);
        let plateaus = relief * mesa * (18.0 + 34.0 + 44.0 + 5.0 * 1.67 * noise);
        let cones = if self.volcanoes > 0.0 { 0.8 } else { 0.0 };
        let gullied = (mountains + 0.34 * shore + badlands + cones).min(1.0);
        let crests: f32 = GULLIES.iter().map(|&(width, depth)| width as f32 * depth).sum();
        let gullies = options.erosion * gullied * 1.34 * crests;
        let rough = (0.5 + 1.6 * mountains + 0.7 * mesa) * 2.05 * noise;
        let pools = 0.5 + 1.7 * 1.5 * noise;
        let cliffs = 15.0;
        let summed = base
            + hills
            + peaks
            + clay
            + plateaus
            + dunes * 26.0
            + self.volcanoes
            + gullies
            + rough
            + cliffs;
        let ground = summed.max(pools).max(base + self.volcanoes + RIVER_RISE + 6.0);
        f64::from(ground + LAYER).max(f64::from(self.islands))
    }
}

/// The highest ground and island of the world.
fn highest(options: &WorldOptions) -> f64 {
    let of = |terms: &[(f64, f32)]| terms.iter().map(|term| term.1).sum::<f32>() * 1.501;
    let everywhere = Highest {
        continent: of(&CONTINENT) + options.land,
        uplift: of(&UPLIFT) + 1.2 * options.mountains - 0.5,
        temperature: 10.0,
        dryness: 10.0,
        volcanoes: volcanoes::highest(options),
        islands: if options.islands > 0.0 { islands::HIGHEST } else { 0.0 },
    };
    everywhere.ground(options)
}

/// The highest ground and island in a box and beside it.
fn highest_in(setting: &Setting<'_>, region: Region) -> f64 {
    let options = setting.options;
    let edge = setting.edge;
    // With the column beside it.
    let ends = [(region.min.x, region.max.x), (region.min.z, region.max.z)]
        .map(|(min, max)| [(f64::from(min) - 0.5) * edge, (f64::from(max) + 0.5) * edge]);
    let middle = ends.map(|[low, high]| 0.5 * (low + high));
    let half = ends.map(|[low, high]| 0.5 * (high - low));
    let reach = (half[0] * half[0] + half[1] * half[1]).sqrt();
    let scale = f64::from(options.scale);
    let point = Middle { setting, at: middle, reach };
    let has_islands = options.islands > 0.0
        && point.sum(islands::SALT, &islands::SIZE, 0.0, false).highest()
            >= islands::rim(options.islands);
    // Where the middle is moved to, and how far the others are from it at most.
    let [east, south] = [100, 110].map(|salt| point.field(salt, &WARP, 0.0));
    let at = [middle[0] + scale * east.value, middle[1] + scale * south.value];
    let stretch = 1.0 + scale * (east.slope * east.slope + south.slope * south.slope).sqrt();
    let point = Middle { setting, at, reach: reach * stretch };
    let continent = point.field(1, &CONTINENT, f64::from(options.land)).highest();
    let uplift = 1.2 * f64::from(options.mountains) - 0.5;
    let uplift = point.field(10, &UPLIFT, uplift).highest();
    let [mut temperature, mut dryness] = [-10.0; 2];
    if options.canyons.max(options.dunes).max(options.badlands) > 0.0 {
        let warm = f64::from(options.temperature);
        temperature = point.field(20, &[(5200.0, 1.1), (5200.0 / 7.0, 0.22)], warm).highest();
        let wet = f64::from(options.humidity);
        dryness = -point.field(30, &[(3700.0, 1.1), (3700.0 / 7.0, 0.22)], wet).lowest();
    }
    let highest = Highest {
        continent,
        uplift,
        temperature,
        dryness,
        volcanoes: volcanoes::highest_near(setting, at, reach * stretch),
        islands: if has_islands { islands::HIGHEST } else { 0.0 },
    };
    highest.ground(options)
}

/// The middle of a box, and how far its other points are.
struct Middle<'a> {
    setting: &'a Setting<'a>,
    at: [f64; 2],
    reach: f64,
}

/// A field around the middle.
struct Field {
    value: f64,
    slope: f64,
    reach: f64,
}

impl Field {
    fn highest(&self) -> f32 {
        (self.value + self.slope * self.reach + 1e-3) as f32
    }

    fn lowest(&self) -> f32 {
        (self.value - self.slope * self.reach - 1e-3) as f32
    }
}

impl Middle<'_> {
    /// A field whose noises grow with the scale of the world.
    fn field(&self, salt: u64, terms: &[(f64, f32)], start: f64) -> Field {
        self.sum(salt, terms, start, true)
    }

    /// A sum of noises as [`Setting::sum`] evaluates it, in f64. Noises that are too fine for the
    /// cells add to neither.
    fn sum(&self, salt: u64, terms: &[(f64, f32)], start: f64, wide: bool) -> Field {
        let mut field = Field { value: start, slope: 0.0, reach: self.reach };
        for (i, &(period, amplitude)) in terms.iter().enumerate() {
            let salt = salt + i as u64;
            let layer = match wide {
                true => self.setting.wide(salt, period),
                false => self.setting.octave(salt, period),
            };
            let Some(octave) = layer else { continue };
            let noise = Noise2::new(octave.seed);
            let [x, z] = self.at.map(|v| v / octave.period);
            field.value += f64::from(amplitude) * noise.at(x, z);
            field.slope += f64::from(amplitude) * Noise2::SLOPE / octave.period;
        }
        field
    }
}
