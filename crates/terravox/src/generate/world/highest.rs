//! The highest ground of the highest fields: the steps of [`relief`](super::relief) and
//! [`landscape`](super::landscape), each at the upper end of what it may be.

use super::climate::{CONTINENT, Setting, UPLIFT, base_elevation, positive, share, smooth_step};
use super::islands;
use super::landscape::{HIGHEST_TERRACE, MAX_FILL};
use super::relief::{CLAY, GULLIES, HILLS, PEAKS, PLATEAU, RIDGES, plateau, ridge_crest};
use super::volcanoes;
use crate::generate::noise::Noise2;

/// The highest that fields may be.
#[derive(Clone, Copy)]
pub(super) struct HighestFields {
    pub continent: f32,
    pub uplift: f32,
    /// 1 and −1 times [`Climate`](super::climate::Climate)'s fields.
    pub temperature: f32,
    pub dryness: f32,
    /// Sums of noises.
    pub hills: f32,
    pub ridges: f32,
    pub clay: f32,
    pub plateau: f32,
    /// Voxels by which volcanoes rise.
    pub volcanoes: f32,
    /// Height below which all floating islands are.
    pub islands: f32,
}

impl HighestFields {
    /// The highest that fields are anywhere in a world.
    pub fn everywhere(setting: &Setting<'_>) -> HighestFields {
        let options = setting.options;
        let of = |terms: &[(f64, f32)]| terms.iter().map(|term| term.1).sum::<f32>() * 1.501;
        let highest_island = islands::highest(of(&islands::LEVEL), setting.edge as f32);
        HighestFields {
            continent: of(&CONTINENT) + options.land,
            uplift: of(&UPLIFT) + 1.2 * options.mountains - 0.5,
            temperature: 10.0,
            dryness: 10.0,
            hills: of(&HILLS),
            // All crests at once.
            ridges: ridge_crest(0.0) * RIDGES.iter().map(|term| term.1).sum::<f32>() * 1.001,
            clay: of(&CLAY),
            plateau: of(&PLATEAU),
            volcanoes: volcanoes::highest(options),
            islands: if options.islands > 0.0 { highest_island } else { 0.0 },
        }
    }

    /// Each field as high as the higher of two.
    pub fn max(&self, other: &HighestFields) -> HighestFields {
        HighestFields {
            continent: self.continent.max(other.continent),
            uplift: self.uplift.max(other.uplift),
            temperature: self.temperature.max(other.temperature),
            dryness: self.dryness.max(other.dryness),
            hills: self.hills.max(other.hills),
            ridges: self.ridges.max(other.ridges),
            clay: self.clay.max(other.clay),
            plateau: self.plateau.max(other.plateau),
            volcanoes: self.volcanoes.max(other.volcanoes),
            islands: self.islands.max(other.islands),
        }
    }

    /// Height below which all ground, water and islands are, voxels. Each term is at least that of
    /// [`relief`](super::relief).
    pub fn ground(&self, setting: &Setting<'_>) -> f64 {
        let options = setting.options;
        let HighestFields { continent, uplift, temperature, dryness, .. } = *self;
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
        let hills = hilly * (self.hills + 0.3).max(0.0);
        let peaks = relief * mountains * PEAKS * (0.3 + positive(self.ridges));
        let clay = relief * badlands * 30.0 * (self.clay + 0.4).max(0.0);
        let plateaus = relief * mesa * plateau(self.plateau).max(0.0);
        let cones = if self.volcanoes > 0.0 { 0.8 } else { 0.0 };
        let gullied = (mountains + 0.34 * shore + badlands + cones).min(1.0);
        let crest = |&(width, depth): &(f64, f32)| match setting.octave(0, width) {
            Some(_) => width as f32 * depth,
            None => 0.0,
        };
        let crests: f32 = GULLIES.iter().map(crest).sum();
        let gullies = options.erosion * gullied * 1.34 * crests;
        let rough = (0.5 + 1.6 * mountains + 0.7 * mesa) * 2.05 * noise;
        let summed = base + hills + peaks + clay + plateaus + dunes * 26.0 + self.volcanoes;
        let pools = 0.5 + 1.7 * 1.5 * noise;
        let before_cliffs = (summed + gullies + rough).max(pools);
        // What cliffs add falls as the ground rises, by less than that: the highest ground is
        // highest.
        let cliffs = 15.0 * (1.0 - smooth_step(16.0, 60.0, before_cliffs));
        let ground = before_cliffs + cliffs + MAX_FILL;
        f64::from(ground + HIGHEST_TERRACE).max(f64::from(self.islands))
    }
}
