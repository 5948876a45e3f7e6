//! Caves of [`Hills`](super::Hills): capsules between jittered points of a lattice, roughened by noise, so that distances from
//! walls are true.

use super::noise::{Noise3, Noise3Cursor, unit};
use crate::math::{dot, sub};
use crate::voxel::Region;

/// Voxels between the lattice points that caves connect.
const SPACING: i64 = 40;

/// Caves lie between these lattice layers.
const LAYERS: std::ops::Range<i64> = -2..2;

/// How far a cave's wall may lie from its axis, in voxels: radius and roughness.
pub(super) const REACH: f64 = 16.0;

/// What caves never reach below, in voxels.
pub(super) const LOWEST: f64 = (LAYERS.start * SPACING) as f64 - REACH;

/// Caves show in mips up to this one. They are some ten voxels wide: for wider cells
/// the distance to a wall does not give the fill.
pub(super) const MAX_MIP: u8 = 3;

/// How far noise moves the walls of caves, in voxels.
const ROUGHNESS: f64 = 1.6;

/// Cave and ground blend where their distances differ by less, in voxels.
const BLEND: f64 = 4.0;

/// A segment of a cave: everything within `radius` voxels of a line segment.
pub(super) struct Capsule {
    from: [f64; 3],
    to: [f64; 3],
    /// From one end to the other, and the square of its length.
    along: [f64; 3],
    square: f64,
    radius: f64,
}

impl Capsule {
    /// Distance from the wall, positive outside.
    #[inline]
    fn distance(&self, p: [f64; 3]) -> f64 {
        let off = sub(p, self.from);
        let t = (dot(off, self.along) / self.square).clamp(0.0, 1.0);
        let off = sub(off, self.along.map(|v| v * t));
        dot(off, off).sqrt() - self.radius
    }

    /// Whether the cave changes any cell within `reach` cells of `middle`, in cells of `edge`
    /// voxels. Where its wall, rough as it is, is four voxels and half a cell farther than the
    /// blend of cave and ground reaches, it does not: either the ground is nearer by more than
    /// they blend over, or a cell is full with the cave and without. Where the ground alone
    /// fills all cells and a voxel more, being full with the cave is enough.
    pub(super) fn matters(&self, middle: [f64; 3], reach: f64, edge: f64, deep: bool) -> bool {
        let blend = if deep { 1.0 } else { BLEND + 1.0 };
        self.distance(middle) < blend + ROUGHNESS * Noise3::MAX + (reach + 0.5) * edge
    }
}

/// Keeps the caves that may be the nearest one somewhere within `reach` voxels of `middle`.
pub(super) fn retain_nearest(caves: &mut Vec<&Capsule>, middle: [f64; 3], reach: f64) {
    let distances = caves.iter().map(|cave| cave.distance(middle));
    // A voxel more than rounding needs.
    let farthest = distances.fold(f64::INFINITY, f64::min) + 2.0 * reach + 1.0;
    caves.retain(|cave| cave.distance(middle) <= farthest);
}

/// Distance to the nearest wall of `caves`, positive outside them; `walls` is how rough they
/// are.
#[inline]
pub(super) fn distance(p: [f64; 3], caves: &[&Capsule], walls: &mut Noise3Cursor) -> f64 {
    let nearest = caves.iter().map(|cave| cave.distance(p)).fold(f64::INFINITY, f64::min);
    match nearest < 8.0 {
        true => nearest + ROUGHNESS * walls.at(p.map(|v| v / 9.0)),
        false => nearest,
    }
}

/// The cave segments within `reach` voxels of a region.
pub(super) fn capsules(seed: u64, region: Region, reach: f64, edge: f64) -> Vec<Capsule> {
    let min = region.min.to_array().map(|v| f64::from(v) * edge - reach);
    let max = region.max.to_array().map(|v| f64::from(v) * edge + reach);
    let lattice = |v: f64| (v / SPACING as f64).floor() as i64;
    let mut capsules = Vec::new();
    for y in lattice(min[1]) - 1..=lattice(max[1]) {
        for z in lattice(min[2]) - 1..=lattice(max[2]) {
            for x in lattice(min[0]) - 1..=lattice(max[0]) {
                capsules_from(seed, [x, y, z], &mut capsules);
            }
        }
    }
    capsules.retain(|capsule| {
        (0..3).all(|axis| {
            let (a, b) = (capsule.from[axis], capsule.to[axis]);
            a.min(b) < max[axis] && a.max(b) > min[axis]
        })
    });
    capsules
}

fn capsules_from(seed: u64, [x, y, z]: [i64; 3], capsules: &mut Vec<Capsule>) {
    for (axis, [dx, dy, dz]) in [[1, 0, 0], [0, 1, 0], [0, 0, 1]].into_iter().enumerate() {
        let within = LAYERS.contains(&y) && LAYERS.contains(&(y + dy));
        let salt = seed ^ (20 + axis as u64);
        let chance = unit(salt, x, y, z);
        if within && chance < [0.34, 0.22, 0.34][axis] {
            let radius = 3.4 + 3.0 * unit(salt ^ 0x100, x, y, z);
            let [from, to] = [[x, y, z], [x + dx, y + dy, z + dz]].map(|at| node(seed, at));
            let along = sub(to, from);
            capsules.push(Capsule { from, to, along, square: dot(along, along), radius });
        }
    }
}

/// The jittered lattice point where caves meet, in voxels.
fn node(seed: u64, at: [i64; 3]) -> [f64; 3] {
    let [x, y, z] = at;
    let jitter = |salt: u64| 0.15 + 0.7 * unit(seed ^ salt, x, y, z);
    let jitters = [jitter(10), jitter(11), jitter(12)];
    [0, 1, 2].map(|i| (at[i] as f64 + jitters[i]) * SPACING as f64)
}

/// Smooth minimum of two distances, so that no thin shells are left between a cave and
/// the open. Source: I. Quilez, "Smooth minimum" (the quadratic one).
#[inline]
pub(super) fn smooth_min(a: f64, b: f64) -> f64 {
    let alike = (BLEND - (a - b).abs()).max(0.0) / BLEND;
    a.min(b) - alike * alike * BLEND / 4.0
}
