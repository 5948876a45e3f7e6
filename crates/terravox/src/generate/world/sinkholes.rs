//! Sinkholes: round pits with steep sides, on a jittered lattice.

use super::climate::{Setting, smooth_step};
use super::lattice::Points;
use crate::generate::noise::unit;

/// Voxels between the lattice points that may have a sinkhole.
const SPACING: f64 = 300.0;

/// Widest radius and greatest depth, voxels.
const MAX_RADIUS: f64 = 17.0;
const MAX_DEPTH: f32 = 34.0;

/// Depth of sinkholes at points, voxels.
pub(super) fn depths(setting: &Setting<'_>, points: &Points) -> Vec<f32> {
    let mut depths = vec![0.0_f32; points.len()];
    let amount = f64::from(setting.options.caves);
    if amount <= 0.0 || setting.edge > MAX_RADIUS {
        return depths;
    }
    let bounds = points.bounds();
    let ends = [0, 1].map(|axis| {
        let [low, high] = bounds[axis].map(|v| points.anchor[axis] + f64::from(v));
        [low - MAX_RADIUS, high + MAX_RADIUS].map(|v| (v / SPACING).floor() as i64)
    });
    for z in ends[1][0]..=ends[1][1] {
        for x in ends[0][0]..=ends[0][1] {
            let random = |salt: u64| unit(setting.seed ^ (0x90 + salt), x, 10, z);
            if random(0) >= 0.12 * amount {
                continue;
            }
            let at = [(x, random(1)), (z, random(2))].map(|(v, t)| (v as f64 + t) * SPACING);
            let [east, south] = [0, 1].map(|axis| (at[axis] - points.anchor[axis]) as f32);
            let radius = (MAX_RADIUS * (0.5 + 0.5 * random(3))) as f32;
            let depth = MAX_DEPTH * (0.4 + 0.6 * random(4) as f32);
            for (i, to) in depths.iter_mut().enumerate() {
                let (dx, dz) = (points.xs[i] - east, points.zs[i] - south);
                let distance = (dx * dx + dz * dz).sqrt();
                *to = to.max(depth * smooth_step(radius, 0.7 * radius, distance));
            }
        }
    }
    depths
}
