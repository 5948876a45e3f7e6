//! An upper bound of the ground over a box, from samples of the fields that it is made of.
//!
//! A box is cut into equal parts with a sample in the middle of each. From there to any point of
//! the part a noise changes by at most its steepest slope times the distance, so that each field
//! has an upper bound, and the ground one that [`HighestFields::ground`] computes of them. Fields
//! that change fast (detail, gullies) are taken at their highest.

use super::climate::{self, CONTINENT, Land, Setting, UPLIFT, WARP, rounded_abs};
use super::highest::HighestFields;
use super::islands;
use super::lattice::{self, Points};
use super::relief::{CLAY, HILLS, PLATEAU, RIDGES, next_ridge_weight, ridge_crest};
use super::volcanoes::{self, Volcano};
use crate::generate::noise::Noise2;
use crate::voxel::Region;

/// Parts along an edge of a box: a few, and more if those leave it open.
const PARTS: [usize; 3] = [2, 4, 16];

/// Room for the rounding of a field.
const FIELD_ROUNDING: f32 = 1e-3;

/// Whether all ground, water and islands over a region and beside it are below a level, voxels.
/// `false` if that is not known.
pub(super) fn are_below(setting: &Setting<'_>, region: Region, level: f64) -> bool {
    let everywhere = HighestFields::everywhere(setting);
    for parts in PARTS {
        let land = LandSamples::new(setting, region, parts);
        // Far above lowlands, that is all that has to be known.
        if land.highest(setting, &everywhere) < level {
            return true;
        }
        let samples = FieldSamples::new(setting, land);
        // Often all highest fields at once leave room.
        if samples.highest_at_once(setting) < level
            || samples.highest(setting, samples.land.reach) < level
        {
            return true;
        }
        // More samples would not change that.
        if samples.highest(setting, 0.0) >= level {
            return false;
        }
    }
    false
}

/// A field at the samples, and how steep it is at most, per warped voxel.
struct Field {
    values: Vec<f32>,
    slope: f32,
}

impl Field {
    fn new(
        setting: &Setting<'_>,
        points: &Points,
        salt: u64,
        terms: &[(f64, f32)],
        wide: bool,
    ) -> Field {
        let values = setting.sum(points, salt, terms, wide);
        Field { values, slope: steepest(setting, terms, wide) }
    }

    fn highest(&self, i: usize, reach: f32) -> f32 {
        self.values[i] + self.slope * reach + FIELD_ROUNDING
    }

    /// The highest around any of the first samples.
    fn highest_of(&self, count: usize, reach: f32) -> f32 {
        (0..count).map(|i| self.highest(i, reach)).fold(f32::NEG_INFINITY, f32::max)
    }

    fn lowest(&self, i: usize, reach: f32) -> f32 {
        self.values[i] - self.slope * reach - FIELD_ROUNDING
    }
}

/// The steepest slope of a sum of noises.
fn steepest(setting: &Setting<'_>, terms: &[(f64, f32)], wide: bool) -> f32 {
    let slope = |&(period, amplitude): &(f64, f32)| {
        let octave = if wide { setting.wide(0, period) } else { setting.octave(0, period) };
        octave.map_or(0.0, |octave| f64::from(amplitude) * Noise2::SLOPE / octave.period)
    };
    terms.iter().map(slope).sum::<f64>() as f32 * 1.000_01
}

/// Where land is high, at the samples of a box.
struct LandSamples {
    /// How many samples there are; after them, points repeat the last.
    count: usize,
    /// Distance from a sample to the farthest point of its part, voxels.
    reach: f32,
    /// By how much warping stretches that.
    stretch: f32,
    points: Points,
    warped: Points,
    continent: Field,
    uplift: Field,
}

/// The fields at the samples of a box.
struct FieldSamples {
    land: LandSamples,
    hills: Field,
    /// One per octave; none if cells are too wide for it.
    ridges: Vec<Option<(f32, Field)>>,
    dry: Option<Dry>,
    volcanoes: Vec<Volcano>,
    islands: Option<[Field; 2]>,
}

/// What only dry biomes are made of.
struct Dry {
    temperature: Field,
    humidity: Field,
    clay: Field,
    plateau: Field,
}

impl LandSamples {
    /// Samples the columns of a region, with those beside it, `parts` along either axis.
    fn new(setting: &Setting<'_>, region: Region, parts: usize) -> LandSamples {
        let (edge, scale) = (setting.edge, f64::from(setting.options.scale));
        let low = [region.min.x, region.min.z].map(f64::from);
        let size = [region.max.x, region.max.z].map(f64::from);
        // From the centre of the column before the first to that of the one after the last.
        let part = [0, 1].map(|axis| (size[axis] - low[axis] + 1.0) * edge / parts as f64);
        let middle = |axis: usize, i: usize| ((i as f64 + 0.5) * part[axis] - 0.5 * edge) as f32;
        let count = parts * parts;
        let xs = (0..count).map(|i| middle(0, i % parts)).collect();
        let zs = (0..count).map(|i| middle(1, i / parts)).collect();
        let points = Points::new(low.map(|v| v * edge), xs, zs);
        let reach = 0.5 * (part[0] * part[0] + part[1] * part[1]).sqrt();
        let bent = scale * f64::from(steepest(setting, &WARP, true));
        let stretch = 1.0 + bent * std::f64::consts::SQRT_2;
        let warped = setting.warped(&points);
        let Land { continent, uplift } = Land::at(setting, &warped);
        LandSamples {
            count,
            reach: reach as f32,
            stretch: stretch as f32,
            points,
            continent: Field { values: continent, slope: steepest(setting, &CONTINENT, true) },
            uplift: Field { values: uplift, slope: steepest(setting, &UPLIFT, true) },
            warped,
        }
    }

    /// The highest ground, water and island of the box if all other fields are as high as anywhere.
    fn highest(&self, setting: &Setting<'_>, everywhere: &HighestFields) -> f64 {
        let far = self.stretch * self.reach;
        let continent = self.continent.highest_of(self.count, far);
        let uplift = self.uplift.highest_of(self.count, far);
        HighestFields { continent, uplift, ..*everywhere }.ground(setting)
    }
}

impl FieldSamples {
    fn new(setting: &Setting<'_>, land: LandSamples) -> FieldSamples {
        let options = setting.options;
        let LandSamples { points, warped, .. } = &land;
        let ridges = RIDGES.iter().enumerate().map(|(i, &(period, amplitude))| {
            let octave = setting.wide(70 + i as u64, period)?;
            let slope = (Noise2::SLOPE / octave.period) as f32 * 1.000_01;
            Some((amplitude, Field { values: lattice::values(warped, octave), slope }))
        });
        let beyond = land.reach * land.stretch;
        let bounds = warped.bounds().map(|[low, high]| [low - beyond, high + beyond]);
        FieldSamples {
            hills: Field::new(setting, warped, 60, &HILLS, false),
            ridges: ridges.collect(),
            dry: (options.canyons.max(options.dunes).max(options.badlands) > 0.0)
                .then(|| Dry::new(setting, warped)),
            volcanoes: volcanoes::near(setting, warped.anchor, bounds),
            islands: (options.islands > 0.0).then(|| {
                let size = Field::new(setting, points, islands::SALT, &islands::SIZE, false);
                let level =
                    Field::new(setting, points, islands::LEVEL_SALT, &islands::LEVEL, false);
                [size, level]
            }),
            land,
        }
    }

    /// The highest ground, water and island of the box if each field is as high as at any sample.
    fn highest_at_once(&self, setting: &Setting<'_>) -> f64 {
        let first = self.fields(setting, 0, self.land.reach);
        let fields = |i: usize| self.fields(setting, i, self.land.reach);
        (1..self.land.count).fold(first, |highest, i| highest.max(&fields(i))).ground(setting)
    }

    /// The highest ground, water and island within `reach` voxels of any sample.
    fn highest(&self, setting: &Setting<'_>, reach: f32) -> f64 {
        let at = |i: usize| self.fields(setting, i, reach).ground(setting);
        (0..self.land.count).map(at).fold(f64::NEG_INFINITY, f64::max)
    }

    fn fields(&self, setting: &Setting<'_>, i: usize, reach: f32) -> HighestFields {
        let LandSamples { stretch, warped, continent, uplift, .. } = &self.land;
        let (far, at) = (stretch * reach, [warped.xs[i], warped.zs[i]]);
        let dry = |of: &dyn Fn(&Dry) -> f32| self.dry.as_ref().map_or(-10.0, of);
        let highest_island = |[size, level]: &[Field; 2]| {
            let is_there = size.highest(i, reach) >= islands::rim(setting.options.islands);
            if is_there {
                islands::highest(level.highest(i, reach), setting.edge as f32)
            } else {
                0.0
            }
        };
        HighestFields {
            continent: continent.highest(i, far),
            uplift: uplift.highest(i, far),
            temperature: dry(&|dry| dry.temperature.highest(i, far)),
            dryness: dry(&|dry| -dry.humidity.lowest(i, far)),
            hills: self.hills.highest(i, far),
            ridges: self.highest_ridge(i, far),
            clay: dry(&|dry| dry.clay.highest(i, far)),
            plateau: dry(&|dry| dry.plateau.highest(i, far)),
            volcanoes: self.volcanoes.iter().map(|volcano| volcano.highest_rise(at, far)).sum(),
            islands: self.islands.as_ref().map_or(0.0, highest_island),
        }
    }

    /// As [`ridges`](super::relief), for intervals of the noises.
    fn highest_ridge(&self, i: usize, far: f32) -> f32 {
        let mut sum = 0.0;
        // Lowest and highest weight of an octave.
        let mut weight = [1.0_f32; 2];
        for (amplitude, noise) in self.ridges.iter().flatten() {
            let (value, change) = (noise.values[i].abs(), noise.slope * far + FIELD_ROUNDING);
            let lowest = ridge_crest(rounded_abs(value + change));
            let highest = ridge_crest(rounded_abs((value - change).max(0.0)));
            sum += amplitude * highest * if highest > 0.0 { weight[1] } else { weight[0] };
            weight = [next_ridge_weight(weight[0], lowest), next_ridge_weight(weight[1], highest)];
        }
        sum + FIELD_ROUNDING
    }
}

impl Dry {
    fn new(setting: &Setting<'_>, warped: &Points) -> Dry {
        let options = setting.options;
        let field = |(salt, terms): (u64, [(f64, f32); 2]), by: f32| {
            let mut field = Field::new(setting, warped, salt, &terms, true);
            field.values.iter_mut().for_each(|v| *v += by);
            field
        };
        Dry {
            temperature: field(climate::TEMPERATURE, options.temperature),
            humidity: field(climate::HUMIDITY, options.humidity),
            clay: Field::new(setting, warped, 120, &CLAY, false),
            plateau: Field::new(setting, warped, 80, &PLATEAU, true),
        }
    }
}
