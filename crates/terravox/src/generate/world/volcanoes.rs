//! Volcanoes: cones with a crater, on a jittered lattice.

use super::climate::{Setting, smooth_step};
use super::lattice::Points;
use super::options::WorldOptions;
use crate::generate::noise::unit;

/// Voxels between the lattice points that may have a volcano, at a scale of 1.
const SPACING: f64 = 2300.0;

/// Widest foot, as a part of the spacing.
const MAX_FOOT: f64 = 0.36;

/// What volcanoes add to points.
pub(super) struct Volcanoes {
    /// Voxels by which the ground rises.
    pub rise: Vec<f32>,
    /// Uphill, voxels per voxel.
    pub slope_x: Vec<f32>,
    pub slope_z: Vec<f32>,
    /// 1 at the top, 0 beyond the foot.
    pub share: Vec<f32>,
    /// 1 in the crater.
    pub crater: Vec<f32>,
}

/// A volcano, voxels from the anchor of its points.
#[derive(Clone, Copy)]
pub(super) struct Volcano {
    at: [f32; 2],
    foot: f32,
    height: f32,
}

/// Height of the tallest volcano at a relief of 1, voxels.
const MAX_RISE: f32 = 330.0;

/// Voxels that any volcano rises at most.
pub(super) fn highest(options: &WorldOptions) -> f32 {
    if options.volcanoes > 0.0 { options.relief * MAX_RISE } else { 0.0 }
}

impl Volcano {
    /// Voxels that it raises the ground at most, within `reach` of a point.
    pub fn highest_rise(&self, [x, z]: [f32; 2], reach: f32) -> f32 {
        let (off_x, off_z) = (x - self.at[0], z - self.at[1]);
        let distance = ((off_x * off_x + off_z * off_z).sqrt() - reach).max(0.0);
        self.height * cone((1.0 - distance / self.foot).max(0.0))
    }
}

/// Height of a cone, relative to that of its top, by the way up from its foot.
fn cone(up: f32) -> f32 {
    up * up * (1.55 - 0.55 * up)
}

impl Volcanoes {
    pub fn at(setting: &Setting<'_>, warped: &Points) -> Volcanoes {
        let [rise, slope_x, slope_z, share, crater] = [0; 5].map(|_| vec![0.0; warped.len()]);
        let mut volcanoes = Volcanoes { rise, slope_x, slope_z, share, crater };
        for volcano in near(setting, warped.anchor, warped.bounds()) {
            for i in 0..warped.len() {
                volcanoes.add(volcano, [warped.xs[i], warped.zs[i]], i);
            }
        }
        volcanoes
    }

    fn add(&mut self, volcano: Volcano, [x, z]: [f32; 2], i: usize) {
        let Volcano { at, foot, height } = volcano;
        let (off_x, off_z) = (x - at[0], z - at[1]);
        let distance = (off_x * off_x + off_z * off_z).sqrt();
        if distance >= foot {
            return;
        }
        let up = 1.0 - distance / foot;
        let rim = 0.1 * foot;
        let rise = height * cone(up.min(0.9));
        let bowl = smooth_step(1.0, 0.45, distance / rim);
        self.rise[i] += rise - 0.2 * height * bowl;
        let steep = -height / foot * (3.1 * up - 1.65 * up * up) * (1.0 - bowl);
        let inverse = 1.0 / distance.max(1.0);
        self.slope_x[i] += steep * off_x * inverse;
        self.slope_z[i] += steep * off_z * inverse;
        self.share[i] = self.share[i].max(smooth_step(0.08, 0.6, up));
        self.crater[i] = self.crater[i].max(bowl);
    }
}

/// Edge of the widest cells that show volcanoes, voxels: those of mip 8.
const WIDEST_CELL: f64 = 256.0;

/// The volcanoes that may reach a rectangle, voxels from an anchor.
pub(super) fn near(setting: &Setting<'_>, anchor: [f64; 2], bounds: [[f32; 2]; 2]) -> Vec<Volcano> {
    let amount = f64::from(setting.options.volcanoes);
    // Wider cells would see more of them than can be looked at.
    if amount <= 0.0 || setting.edge > WIDEST_CELL {
        return Vec::new();
    }
    let spacing = SPACING * f64::from(setting.options.scale);
    let foot = (MAX_FOOT * spacing) as f32;
    let ends = [0, 1].map(|axis| {
        [bounds[axis][0] - foot, bounds[axis][1] + foot]
            .map(|v| ((anchor[axis] + f64::from(v)) / spacing).floor() as i64)
    });
    let mut volcanoes = Vec::new();
    for z in ends[1][0]..=ends[1][1] {
        for x in ends[0][0]..=ends[0][1] {
            let random = |salt: u64| unit(setting.seed ^ (0x80 + salt), x, 9, z);
            if random(0) >= 0.7 * amount {
                continue;
            }
            let jitter = [random(1), random(2)].map(|v| 0.36 + 0.28 * v);
            let at =
                [(x, jitter[0]), (z, jitter[1])].map(|(v, jitter)| (v as f64 + jitter) * spacing);
            let size = random(3) as f32;
            volcanoes.push(Volcano {
                at: [0, 1].map(|axis| (at[axis] - anchor[axis]) as f32),
                foot: foot * (0.4 + 0.6 * size),
                height: setting.options.relief * MAX_RISE * (0.4 + 0.6 * size),
            });
        }
    }
    volcanoes
}
