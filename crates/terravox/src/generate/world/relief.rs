//! Heights of the ground before water: what each biome raises and cuts, blended by climate.
//!
//! The steps, in order: base elevation, hills, mountains, plateaus, dunes, flooded valleys and
//! volcanoes; gullies down their slopes; detail; swamps and beaches. Then
//! [`landscape`](super::landscape) cuts rivers into it.

use super::climate::{
    Climate, Land, Setting, base_elevation, mix, positive, rounded_abs, share, smooth_step,
};
use super::lattice::{self, Points, Slopes};
use super::volcanoes::Volcanoes;

/// The ground before rivers, by column.
pub(super) struct UncutLand {
    /// Height, voxels.
    pub height: Vec<f32>,
    pub biomes: Vec<Biomes>,
}

/// Climate at a column, and how much each kind of ground counts there: weights of 0 to 1 that
/// overlap and do not add up to 1. Whether it lies below the sea, its height says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Biomes {
    /// Below about 0 mostly sea, above it mostly land.
    pub continent: f32,
    /// Warmth, about ±1.
    pub temperature: f32,
    /// Rain, about ±1.
    pub humidity: f32,
    /// Mountains.
    pub mountains: f32,
    /// Dry and hot.
    pub desert: f32,
    /// Plateaus of layered stone.
    pub mesa: f32,
    /// Sand dunes.
    pub dunes: f32,
    /// Hills of layered clay.
    pub badlands: f32,
    /// Swamp.
    pub wetland: f32,
    /// Flats of salt.
    pub salt: f32,
    /// A volcano's slope.
    pub volcano: f32,
    /// A volcano's crater.
    pub crater: f32,
    /// Sea cliffs.
    pub cliffs: f32,
    /// River bed and banks.
    pub river: f32,
    /// How far a gully is cut, −1 on ridges between gullies to 1.
    pub gully: f32,
    /// By how much the layers of stone lie higher than on average, voxels.
    pub fold: f32,
}

impl Biomes {
    /// Above which height snow lies where it is flat, voxels.
    pub(super) fn snow_line(&self) -> f32 {
        185.0 + 260.0 * self.temperature - 25.0 * self.humidity
    }
}

/// Noise fields of columns.
struct Fields {
    land: Land,
    climate: Climate,
    hills: Slopes,
    ridges: Slopes,
    plateau: Vec<f32>,
    dunes: Vec<f32>,
    fjord: Vec<f32>,
    clay: Slopes,
    cliffs: Vec<f32>,
    fold: Vec<f32>,
    rough: Vec<f32>,
    pools: Vec<f32>,
    volcanoes: Volcanoes,
}

impl UncutLand {
    /// The relief of points, which are a multiple of eight; `warped` are the same, moved by
    /// [`Setting::warped`].
    pub fn at(setting: &Setting<'_>, points: &Points, warped: &Points) -> UncutLand {
        let fields = Fields::at(setting, points, warped);
        let count = points.len();
        let mut relief =
            UncutLand { height: Vec::with_capacity(count), biomes: Vec::with_capacity(count) };
        let [mut slope_x, mut slope_z, mut gullied] = [0; 3].map(|_| Vec::with_capacity(count));
        for i in 0..count {
            let biomes = fields.biomes(setting, i);
            let raised = fields.raise(setting, &biomes, i);
            relief.height.push(raised.height);
            slope_x.push(raised.slope[0]);
            slope_z.push(raised.slope[1]);
            gullied.push(raised.gullied);
            relief.biomes.push(biomes);
        }
        relief.cut_gullies(setting, warped, [slope_x, slope_z], &gullied);
        for i in 0..count {
            relief.shape(&fields, i);
        }
        relief
    }
}

impl Fields {
    fn at(setting: &Setting<'_>, points: &Points, warped: &Points) -> Fields {
        let anchor = [0, 1].map(|axis| {
            let [a, b] = DUNE_AXES[axis].map(f64::from);
            a * warped.anchor[0] + b * warped.anchor[1]
        });
        let [across, along] = DUNE_AXES.map(|axis| turned(warped, axis));
        let dunes = Points::new(anchor, across, along);
        Fields {
            land: Land::at(setting, warped),
            climate: Climate::at(setting, warped),
            hills: fractal(setting, warped, 60, &HILLS),
            ridges: ridges(setting, warped),
            plateau: setting.sum(warped, 80, &PLATEAU, true),
            dunes: setting.sum(&dunes, 90, &[(120.0, 1.0), (47.0, 0.25)], false),
            fjord: setting.sum(warped, 95, &[(1700.0, 1.0), (620.0, 0.4), (210.0, 0.1)], true),
            clay: fractal(setting, warped, 120, &CLAY),
            cliffs: setting.sum(warped, 130, &[(520.0, 1.0), (60.0, 0.15)], false),
            fold: setting.sum(warped, 140, &[(900.0, 11.0), (130.0, 2.0)], false),
            rough: setting.sum(points, 150, &[(38.0, 1.2), (17.0, 0.6), (8.0, 0.25)], false),
            pools: setting.sum(points, 160, &[(74.0, 1.0), (31.0, 0.5)], false),
            volcanoes: Volcanoes::at(setting, warped),
        }
    }

    fn biomes(&self, setting: &Setting<'_>, i: usize) -> Biomes {
        let options = setting.options;
        let (continent, uplift) = (self.land.continent[i], self.land.uplift[i]);
        let [temperature, humidity, variety, kind] = [
            self.climate.temperature[i],
            self.climate.humidity[i],
            self.climate.variety[i],
            self.climate.kind[i],
        ];
        let land = smooth_step(-0.02, 0.1, continent);
        let near_sea = 0.1 * options.fjords;
        let mountains = smooth_step(0.02, 0.45, uplift)
            * smooth_step(0.02 - near_sea, 0.24 - near_sea, continent);
        let desert = land * smooth_step(0.1, 0.4, temperature) * smooth_step(0.02, 0.3, -humidity);
        let mesa = desert * share(variety, options.canyons) * (1.0 - 0.7 * mountains);
        let dunes = desert * share(-variety, options.dunes) * (1.0 - mesa) * (1.0 - mountains);
        let badlands = land
            * smooth_step(-0.05, 0.2, temperature)
            * smooth_step(-0.1, 0.15, -humidity)
            * share(kind, options.badlands)
            * (1.0 - mesa)
            * (1.0 - dunes)
            * (1.0 - mountains);
        let low = 1.0 - smooth_step(12.0, 26.0, base_elevation(continent, uplift));
        let wetland = low
            * smooth_step(-0.05, 0.03, continent)
            * smooth_step(0.02, 0.3, humidity)
            * smooth_step(-0.5, -0.2, temperature)
            * share(kind, options.wetlands)
            * (1.0 - mountains);
        let salt = desert
            * (1.0 - mesa)
            * (1.0 - dunes)
            * smooth_step(0.25, 0.5, -kind)
            * (1.0 - mountains);
        Biomes {
            continent,
            temperature,
            humidity,
            mountains,
            desert,
            mesa,
            dunes,
            badlands,
            wetland,
            salt,
            volcano: self.volcanoes.share[i],
            crater: self.volcanoes.crater[i],
            cliffs: smooth_step(0.12, 0.4, self.cliffs[i]),
            river: 0.0,
            gully: 0.0,
            fold: self.fold[i],
        }
    }

    /// The ground before gullies.
    fn raise(&self, setting: &Setting<'_>, biomes: &Biomes, i: usize) -> RaisedGround {
        let options = setting.options;
        let relief = options.relief;
        let Biomes { continent, mountains, mesa, dunes, badlands, wetland, .. } = *biomes;
        let base = base_elevation(continent, self.land.uplift[i]);
        let shore = 0.12 + 0.88 * smooth_step(-0.06, 0.12, continent);
        let calm = (1.0 - 0.9 * wetland) * (1.0 - 0.6 * dunes) * (1.0 - 0.9 * biomes.salt);
        let hilly = relief * shore * calm * (6.0 + 17.0 * smooth_step(0.1, 0.6, continent));
        let hills = hilly * (self.hills.value[i] + 0.3);
        let ridge = self.ridges.value[i];
        let peak = relief * mountains * PEAKS;
        let peaks = peak * (0.3 + positive(ridge));
        let clay = relief * badlands * 30.0;
        let mut height = base + hills + peaks + clay * (self.clay.value[i] + 0.4);
        height += relief * mesa * plateau(self.plateau[i]);
        height += dunes * (3.0 + 27.0 * positive(0.7 - 2.4 * rounded_abs(self.dunes[i])));
        let rise = 0.5 * (1.0 + ridge / (ridge * ridge + 0.02).sqrt());
        let slope = |hill: f32, ridge: f32, clay_slope: f32, cone: f32| {
            hilly * hill + peak * rise * ridge + clay * clay_slope + cone
        };
        let v = &self.volcanoes;
        let slopes = [
            slope(
                self.hills.slope_x[i],
                self.ridges.slope_x[i],
                self.clay.slope_x[i],
                v.slope_x[i],
            ),
            slope(
                self.hills.slope_z[i],
                self.ridges.slope_z[i],
                self.clay.slope_z[i],
                v.slope_z[i],
            ),
        ];
        height = self.flood_valley(setting, biomes, height, base, i);
        height += v.rise[i];
        let gullied = (mountains + 0.34 * shore * calm + badlands + 0.8 * biomes.volcano).min(1.0)
            * (1.0 - dunes)
            * (1.0 - biomes.crater);
        RaisedGround { height, slope: slopes, gullied }
    }

    /// Cuts a valley with a level floor that the sea floods.
    fn flood_valley(
        &self,
        setting: &Setting<'_>,
        biomes: &Biomes,
        height: f32,
        base: f32,
        i: usize,
    ) -> f32 {
        let amount = setting.options.fjords;
        // A smaller one is lost beside the constants below.
        if amount < 1e-3 {
            return height;
        }
        let inland = smooth_step(0.2, 0.2 + 0.25 * amount, biomes.continent);
        let zone = smooth_step(-0.12, 0.0, biomes.continent)
            * (1.0 - inland)
            * smooth_step(0.0, 0.25, biomes.mountains + 0.6 * amount - 0.3);
        let floor =
            mix(-42.0 * amount, base, smooth_step(0.08, 0.2 + 0.22 * amount, biomes.continent));
        let side = smooth_step(0.035, 0.06 + 0.12 * amount, self.fjord[i].abs());
        let cut = mix(floor, height, side);
        mix(height, cut.min(height), zone)
    }
}

/// Ground before gullies.
struct RaisedGround {
    height: f32,
    /// Uphill, voxels per voxel.
    slope: [f32; 2],
    /// How much gullies cut, 0 to 1.
    gullied: f32,
}

/// Height of mountains, voxels.
pub(super) const PEAKS: f32 = 215.0;

/// Crests of dunes run along the second axis: turned, and stretched.
const DUNE_AXES: [[f32; 2]; 2] = [[0.84, 0.54], [-0.24, 0.37]];

pub(super) const CLAY: [(f64, f32); 2] = [(190.0, 1.0), (90.0, 0.4)];

pub(super) const HILLS: [(f64, f32); 4] = [(430.0, 1.0), (210.0, 0.45), (104.0, 0.2), (52.0, 0.08)];

pub(super) const PLATEAU: [(f64, f32); 4] =
    [(900.0, 1.0), (380.0, 0.45), (160.0, 0.16), (60.0, 0.06)];

/// Steps of plateaus, voxels.
pub(super) fn plateau(v: f32) -> f32 {
    let step = |at: f32, height: f32| {
        height * (0.2 * smooth_step(at - 0.12, at, v) + 0.8 * smooth_step(at, at + 0.05, v))
    };
    18.0 + step(-0.12, 34.0) + step(0.22, 44.0) + 5.0 * v
}

fn turned(points: &Points, [a, b]: [f32; 2]) -> Vec<f32> {
    points.xs.iter().zip(&points.zs).map(|(x, z)| a * x + b * z).collect()
}

/// A sum of noises and its slope.
fn fractal(setting: &Setting<'_>, points: &Points, salt: u64, terms: &[(f64, f32)]) -> Slopes {
    let [value, slope_x, slope_z] = [0; 3].map(|_| vec![0.0; points.len()]);
    let mut sum = Slopes { value, slope_x, slope_z };
    for (i, &(period, amplitude)) in terms.iter().enumerate() {
        let Some(octave) = setting.octave(salt + i as u64, period) else { continue };
        let noise = lattice::slopes(points, octave);
        for j in 0..points.len() {
            sum.value[j] += amplitude * noise.value[j];
            sum.slope_x[j] += amplitude * noise.slope_x[j];
            sum.slope_z[j] += amplitude * noise.slope_z[j];
        }
    }
    sum
}

/// Terms of ridges.
pub(super) const RIDGES: [(f64, f32); 4] =
    [(1150.0, 0.75), (540.0, 0.4), (250.0, 0.2), (118.0, 0.09)];

/// Height of a ridge's octave, by the absolute value of its noise.
#[inline]
pub(super) fn ridge_crest(off: f32) -> f32 {
    0.62 - 2.0 * off
}

/// How much the next octave of ridges counts, by how much the last did, and its height.
#[inline]
pub(super) fn next_ridge_weight(weight: f32, crest: f32) -> f32 {
    (weight * (0.45 + 1.1 * crest)).clamp(0.0, 1.0)
}

/// Ridges, with finer ones on the flanks of the wider (ridged multifractal; Musgrave in Ebert et
/// al., "Texturing and Modeling").
fn ridges(setting: &Setting<'_>, points: &Points) -> Slopes {
    let [value, slope_x, slope_z] = [0; 3].map(|_| vec![0.0; points.len()]);
    let mut sum = Slopes { value, slope_x, slope_z };
    let mut weight = vec![1.0_f32; points.len()];
    for (i, (period, amplitude)) in RIDGES.into_iter().enumerate() {
        let Some(octave) = setting.wide(70 + i as u64, period) else { continue };
        let noise = lattice::slopes(points, octave);
        for j in 0..points.len() {
            let n = noise.value[j];
            let crest = ridge_crest(rounded_abs(n));
            // The slope as gullies see it passes crests smoothly: they would be torn there.
            let kink = -2.0 * n / (n * n + 0.02).sqrt();
            let share = amplitude * weight[j];
            sum.value[j] += share * crest;
            sum.slope_x[j] += share * kink * noise.slope_x[j];
            sum.slope_z[j] += share * kink * noise.slope_z[j];
            weight[j] = next_ridge_weight(weight[j], crest);
        }
    }
    sum
}

/// Widths of gullies, voxels, and the depth of each relative to its width.
pub(super) const GULLIES: [(f64, f32); 4] =
    [(190.0, 0.16), (88.0, 0.14), (42.0, 0.11), (20.0, 0.07)];

impl UncutLand {
    /// Cuts gullies down the slopes, each finer than the last and down the sides of the last.
    fn cut_gullies(
        &mut self,
        setting: &Setting<'_>,
        warped: &Points,
        [mut slope_x, mut slope_z]: [Vec<f32>; 2],
        gullied: &[f32],
    ) {
        let erosion = setting.options.erosion;
        if erosion <= 0.0 || gullied.iter().all(|&share| share <= 0.0) {
            return;
        }
        // How much what is cut shows in materials.
        let strength = 5.3 * erosion;
        for (i, (width, depth)) in GULLIES.into_iter().enumerate() {
            let Some(octave) = setting.octave(170 + i as u64, width) else { continue };
            let count = warped.len();
            let [mut steep_x, mut steep_z, mut steepness] = [0; 3].map(|_| vec![0.0; count]);
            for j in 0..count {
                let square = slope_x[j] * slope_x[j] + slope_z[j] * slope_z[j];
                let scale = 1.0 / (square + 0.04).sqrt();
                (steep_x[j], steep_z[j]) = (slope_x[j] * scale, slope_z[j] * scale);
                steepness[j] = smooth_step(0.03, 0.75, square.sqrt());
            }
            let waves = lattice::gullies(warped, octave, &steep_x, &steep_z);
            for j in 0..count {
                let amplitude = erosion * depth * width as f32 * gullied[j] * steepness[j];
                self.height[j] += amplitude * waves.value[j];
                self.biomes[j].gully -=
                    strength * depth * waves.value[j] * steepness[j] * gullied[j];
                slope_x[j] += amplitude * waves.slope_x[j];
                slope_z[j] += amplitude * waves.slope_z[j];
            }
        }
        for biomes in &mut self.biomes {
            biomes.gully = biomes.gully.clamp(-1.0, 1.0);
        }
    }

    /// Adds what does not depend on gullies: detail, swamps, beaches, sea cliffs.
    fn shape(&mut self, fields: &Fields, i: usize) {
        let biomes = &self.biomes[i];
        let mut height = self.height[i];
        let soft = (1.0 - biomes.dunes) * (1.0 - 0.9 * biomes.wetland) * (1.0 - biomes.salt);
        let dry = 0.25 + 0.75 * smooth_step(-3.0, 12.0, height);
        height += soft * dry * (0.5 + 1.6 * biomes.mountains + 0.7 * biomes.mesa) * fields.rough[i];
        let swamp = 0.5 + 1.7 * fields.pools[i];
        height = mix(height, swamp, biomes.wetland * (1.0 - smooth_step(8.0, 30.0, height)));
        let steep =
            biomes.cliffs.max(biomes.mountains).max(0.8 * biomes.volcano) * (1.0 - biomes.wetland);
        // Gentle beaches, but where there are cliffs.
        let beach = (1.0 - steep) * (1.0 - biomes.wetland);
        height *= 1.0 - 0.72 * beach * (1.0 - smooth_step(1.0, 11.0, height.abs()));
        height += 15.0
            * biomes.cliffs
            * smooth_step(1.2, 3.6, height)
            * (1.0 - biomes.wetland)
            * (1.0 - smooth_step(16.0, 60.0, height));
        self.height[i] = height;
    }
}
