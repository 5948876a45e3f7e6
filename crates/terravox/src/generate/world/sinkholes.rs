//! Sinkholes: funnels of uneven outline, on a jittered lattice.

use super::climate::{Setting, smooth_step};
use super::lattice::Points;
use crate::generate::noise::unit;

/// Voxels between the lattice points that may have a sinkhole.
const SPACING: f64 = 300.0;

/// Widest radius and greatest depth, voxels.
const MAX_RADIUS: f64 = 17.0;
const MAX_DEPTH: f32 = 30.0;

/// Terms of the noise by which their outlines are uneven, and how far it brings them nearer at most,
/// as a share of the distance.
const OUTLINE: [(f64, f32); 2] = [(23.0, 0.34), (9.0, 0.14)];
const MAX_NEARER: f32 = 0.35;

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
        let reach = MAX_RADIUS / f64::from(1.0 - MAX_NEARER);
        [low - reach, high + reach].map(|v| (v / SPACING).floor() as i64)
    });
    let mut outline = None;
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
            let outline = outline.get_or_insert_with(|| setting.sum(points, 250, &OUTLINE, false));
            for (i, to) in depths.iter_mut().enumerate() {
                let (dx, dz) = (points.xs[i] - east, points.zs[i] - south);
                let distance = (dx * dx + dz * dz).sqrt() * (1.0 + outline[i].max(-MAX_NEARER));
                *to = to.max(depth * smooth_step(radius, 0.3 * radius, distance));
            }
        }
    }
    depths
}
