//! Climate: where continents, mountains, warmth and rain are, as smooth fields of the plane.
//!
//! All fields are read at warped points, so that no lattice shows and borders wind.

use super::lattice::{self, NoiseLayer, Points};
use super::options::WorldOptions;

/// Terms of the warp along either axis: period and amplitude, voxels at a scale of 1.
pub(super) const WARP: [(f64, f32); 2] = [(700.0, 90.0), (190.0, 20.0)];

/// Terms by which rivers wind.
const MEANDERS: [(f64, f32); 2] = [(260.0, 38.0), (95.0, 11.0)];

/// The generator's seed and options, and the cells that are filled.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub seed: u64,
    pub options: &'a WorldOptions,
    /// Edge of a cell in voxels; 0 for points.
    pub edge: f64,
}

impl Setting<'_> {
    /// Noise of a period in voxels; `None` if cells are too wide for it.
    pub fn octave(&self, salt: u64, period: f64) -> Option<NoiseLayer> {
        let seed = self.seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (period >= 2.0 * self.edge).then_some(NoiseLayer { seed, period })
    }

    /// Noise of a period that grows with the scale of the world.
    pub fn wide(&self, salt: u64, period: f64) -> Option<NoiseLayer> {
        self.octave(salt, period * f64::from(self.options.scale))
    }

    /// A sum of noises of decreasing width, each with a period and an amplitude.
    pub fn sum(&self, points: &Points, salt: u64, terms: &[(f64, f32)], wide: bool) -> Vec<f32> {
        let mut sum = vec![0.0; points.len()];
        for (i, &(period, amplitude)) in terms.iter().enumerate() {
            let salt = salt + i as u64;
            let octave = if wide { self.wide(salt, period) } else { self.octave(salt, period) };
            if let Some(octave) = octave {
                lattice::add(points, octave, amplitude, &mut sum);
            }
        }
        sum
    }

    /// Points moved so that no lattice shows.
    pub fn warped(&self, points: &Points) -> Points {
        let scale = self.options.scale;
        let moved = |values: &[f32], salt: u64| -> Vec<f32> {
            let by = self.sum(points, salt, &WARP, true);
            values.iter().zip(by).map(|(v, by)| v + scale * by).collect()
        };
        Points::new(points.anchor, moved(&points.xs, 100), moved(&points.zs, 110))
    }

    /// Warped points moved a little more, so that rivers wind.
    pub fn meandered(&self, points: &Points, warped: &Points) -> Points {
        let moved = |values: &[f32], salt: u64| -> Vec<f32> {
            let by = self.sum(points, salt, &MEANDERS, false);
            values.iter().zip(by).map(|(v, by)| v + by).collect()
        };
        Points::new(warped.anchor, moved(&warped.xs, 240), moved(&warped.zs, 245))
    }
}

/// Terms of continents: period in voxels at a scale of 1, amplitude.
pub(super) const CONTINENT: [(f64, f32); 5] =
    [(4600.0, 0.9), (2000.0, 0.45), (850.0, 0.2), (360.0, 0.08), (160.0, 0.035)];

/// Terms of uplift.
pub(super) const UPLIFT: [(f64, f32); 2] = [(2900.0, 0.9), (1200.0, 0.45)];

/// Where land is high: what rivers and heights share.
pub(super) struct Land {
    /// Below about 0 sea, above it land; ±1.5.
    pub continent: Vec<f32>,
    /// Where mountains rise; ±1.5.
    pub uplift: Vec<f32>,
}

impl Land {
    pub fn at(setting: &Setting<'_>, warped: &Points) -> Land {
        let options = setting.options;
        let raised = |mut values: Vec<f32>, by: f32| {
            values.iter_mut().for_each(|v| *v += by);
            values
        };
        Land {
            continent: raised(setting.sum(warped, 1, &CONTINENT, true), options.land),
            uplift: raised(setting.sum(warped, 10, &UPLIFT, true), 1.2 * options.mountains - 0.5),
        }
    }
}

/// Climate of points.
pub(super) struct Climate {
    pub temperature: Vec<f32>,
    pub humidity: Vec<f32>,
    /// Chooses between biomes of one climate.
    pub variety: Vec<f32>,
    /// As `variety`, for other biomes.
    pub kind: Vec<f32>,
}

impl Climate {
    pub fn at(setting: &Setting<'_>, warped: &Points) -> Climate {
        let options = setting.options;
        let field = |(salt, terms): (u64, [(f64, f32); 2]), by: f32| {
            let mut values = setting.sum(warped, salt, &terms, true);
            values.iter_mut().for_each(|v| *v += by);
            values
        };
        Climate {
            temperature: field(TEMPERATURE, options.temperature),
            humidity: field(HUMIDITY, options.humidity),
            variety: field((40, climate_terms(2300.0)), 0.0),
            kind: field((50, climate_terms(1700.0)), 0.0),
        }
    }
}

/// Salt and terms of temperature and humidity.
pub(super) const TEMPERATURE: (u64, [(f64, f32); 2]) = (20, climate_terms(5200.0));
pub(super) const HUMIDITY: (u64, [(f64, f32); 2]) = (30, climate_terms(3700.0));

const fn climate_terms(period: f64) -> [(f64, f32); 2] {
    [(period, 1.1), (period / 7.0, 0.22)]
}

/// Elevation of the land without hills and mountains, voxels above the sea.
pub(super) fn base_elevation(continent: f32, uplift: f32) -> f32 {
    let sea_floor = -66.0 + 52.0 * smooth_step(-0.55, -0.14, continent);
    let coast = 16.0 * smooth_step(-0.16, 0.05, continent);
    // Never level, so that rivers find a way down.
    let inland = continent - 0.05;
    let inland = 29.0 * (inland + (inland * inland + 0.001).sqrt());
    let raised = uplift + 0.3;
    let raised = 24.0 * (raised + (raised * raised + 0.02).sqrt());
    sea_floor + coast + inland + raised * smooth_step(0.06, 0.45, continent)
}

/// 0 up to `from`, 1 from `to` on.
#[inline]
pub(super) fn smooth_step(from: f32, to: f32, v: f32) -> f32 {
    let t = ((v - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[inline]
pub(super) fn mix(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// |v| with a small kink rounded.
#[inline]
pub(super) fn rounded_abs(v: f32) -> f32 {
    (v * v + 0.0004).sqrt() - 0.02
}

/// The part of a field above 0, without a kink.
#[inline]
pub(super) fn positive(v: f32) -> f32 {
    0.5 * (v + (v * v + 0.02).sqrt())
}

/// Share of a biome where a field is high: all of it at an amount of 1, nothing at 0.
#[inline]
pub(super) fn share(v: f32, amount: f32) -> f32 {
    if amount <= 0.0 {
        return 0.0;
    }
    smooth_step(0.72 - 1.7 * amount, 0.95 - 1.7 * amount, v)
}
