//! Rivers and lakes at points: how far the nearest water is, and its level.
//!
//! [`drainage`](super::drainage) says where rivers run, [`river_levels`](super::river_levels) at
//! which level. Here their curves are cut into lines, and each point finds the nearest.

use super::climate::Setting;
use super::drainage::{Curve, Drainage, MAX_HALF_WIDTH, SPACING, STEPS};
use super::lattice::Points;
use super::river_levels::settle;
use crate::math::lanes::{F32x8, InstructionSet, Simd, SimdJob};

/// How far a valley reaches from the water, voxels.
pub(super) const REACH: f32 = 150.0;

/// Rivers are found in mips up to this one; wider cells do not show them.
pub(super) const MAX_MIP: u8 = 7;

/// Lines that a curve is cut into.
const LINES: usize = 5;

/// A straight part of a river, voxels from the anchor of its points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reach {
    pub from: [f32; 2],
    pub to: [f32; 2],
    /// Level of the water at both ends, voxels; it never rises.
    pub level: [f32; 2],
    /// Half the width at both ends, voxels.
    pub half_width: [f32; 2],
}

/// What the rivers say of points.
pub(super) struct Rivers {
    /// Distance from the edge of the nearest water, voxels, negative in it; [`REACH`] if farther.
    pub beside: Vec<f32>,
    /// Level of that water, voxels.
    pub level: Vec<f32>,
    /// Half its width, voxels.
    pub half_width: Vec<f32>,
}

impl Rivers {
    /// The rivers near warped points.
    pub fn at(setting: &Setting<'_>, warped: &Points) -> Rivers {
        let count = warped.len();
        let mut rivers = Rivers {
            beside: vec![REACH; count],
            level: vec![0.0; count],
            half_width: vec![1.0; count],
        };
        if setting.options.rivers <= 0.0 || setting.edge > f64::from(1u32 << MAX_MIP) {
            return rivers;
        }
        let reaches = near(setting, warped.anchor, warped.bounds());
        if !reaches.is_empty() {
            InstructionSet::widest().run(RiverJob {
                points: warped,
                reaches: &reaches,
                to: &mut rivers,
            });
        }
        rivers
    }
}

/// All parts of rivers that may be within [`REACH`] of a rectangle, voxels from an anchor.
pub(super) fn near(setting: &Setting<'_>, anchor: [f64; 2], bounds: [[f32; 2]; 2]) -> Vec<Reach> {
    let margin = f64::from(REACH + MAX_HALF_WIDTH);
    let ends = [0, 1].map(|axis| {
        let spacing = SPACING[axis] * f64::from(setting.options.scale);
        let [low, high] = bounds[axis].map(|v| anchor[axis] + f64::from(v));
        [(low - margin) / spacing, (high + margin) / spacing].map(|v| v.floor() as i64)
    });
    // The curves of a node end within half an edge of the lattice from it.
    let [low, high] = [ends.map(|e| e[0] - 1), ends.map(|e| e[1] + 1)];
    let mut graph = Drainage::new(setting, low, high, STEPS as i64 + 2);
    let levels = settle(&mut graph, setting, low, high);
    let mut reaches = Vec::new();
    for z in low[1]..=high[1] {
        for x in low[0]..=high[0] {
            reaches_of(&graph, &levels, setting, graph.index([x, z]), anchor, &mut reaches);
        }
    }
    let edge = setting.edge as f32;
    for width in reaches.iter_mut().flat_map(|reach| &mut reach.half_width) {
        // Wide enough for the cells to connect, unless it is much narrower than they are.
        if *width > 0.12 * edge {
            *width = width.max(0.55 * edge);
        }
    }
    reaches.retain(|reach| {
        let wide = REACH + reach.half_width[0].max(reach.half_width[1]);
        (0..2).all(|axis| {
            let (a, b) = (reach.from[axis], reach.to[axis]);
            a.min(b) - wide < bounds[axis][1] && a.max(b) + wide > bounds[axis][0]
        })
    });
    reaches
}

/// Adds the parts of rivers that pass a node, and its lake.
fn reaches_of(
    graph: &Drainage,
    levels: &[f32],
    setting: &Setting<'_>,
    i: usize,
    anchor: [f64; 2],
    to: &mut Vec<Reach>,
) {
    // All of a node's water is below what its ground allows: it falls to the next one's level on the
    // way there.
    let level = [levels[i], graph.downstream[i].map_or(levels[i], |down| levels[down])];
    for curve in graph.curves(setting, i) {
        cut(&curve, level, anchor, to);
    }
    if let Some(half_width) = graph.lake(setting, i) {
        let at = graph.nodes[i].at;
        let at = [0, 1].map(|axis| (at[axis] - anchor[axis]) as f32);
        to.push(Reach {
            from: at,
            to: [at[0] + 0.5 * half_width, at[1]],
            level: [levels[i]; 2],
            half_width: [half_width, 0.7 * half_width],
        });
    }
}

/// Cuts a curve into lines.
fn cut(curve: &Curve, level: [f32; 2], anchor: [f64; 2], reaches: &mut Vec<Reach>) {
    let end = |line: usize| {
        let t = line as f64 / LINES as f64;
        let point = curve.at(t);
        let at = [0, 1].map(|axis| (point.at[axis] - anchor[axis]) as f32);
        // Exact at both ends, so that what goes on there is not higher.
        let level = match line {
            LINES => level[1],
            _ => level[0] + (level[1] - level[0]) * t as f32,
        };
        (at, level, point.half_width)
    };
    let mut last = end(0);
    for line in 1..=LINES {
        let mut next = end(line);
        // Rounding must not make water flow uphill.
        next.1 = next.1.min(last.1);
        reaches.push(Reach {
            from: last.0,
            to: next.0,
            level: [last.1, next.1],
            half_width: [last.2, next.2],
        });
        last = next;
    }
}

struct RiverJob<'a> {
    points: &'a Points,
    reaches: &'a [Reach],
    to: &'a mut Rivers,
}

impl<S: Simd> SimdJob<S> for RiverJob<'_> {
    #[inline(always)]
    fn run(self, simd: S) {
        let [zero, one, limit] = [0.0, 1.0, REACH].map(|v| simd.splat(v));
        let mut i = 0;
        while i < self.to.beside.len() {
            let [mut xs, mut zs] = [[0.0; 8]; 2];
            xs.copy_from_slice(&self.points.xs[i..i + 8]);
            zs.copy_from_slice(&self.points.zs[i..i + 8]);
            let (x, z) = (simd.load(&xs), simd.load(&zs));
            let [low_x, high_x] = ends(&xs);
            let [low_z, high_z] = ends(&zs);
            let (mut beside, mut half_width) = (limit, one);
            let [mut weights, mut levels] = [zero; 2];
            for reach in self.reaches {
                let wide = REACH + reach.half_width[0].max(reach.half_width[1]);
                let ([ax, az], [bx, bz]) = (reach.from, reach.to);
                let is_far = ax.min(bx) - wide > high_x
                    || ax.max(bx) + wide < low_x
                    || az.min(bz) - wide > high_z
                    || az.max(bz) + wide < low_z;
                if is_far {
                    continue;
                }
                let (along_x, along_z) = (bx - ax, bz - az);
                let inverse = simd.splat(1.0 / (along_x * along_x + along_z * along_z).max(1e-6));
                let (off_x, off_z) = (x - simd.splat(ax), z - simd.splat(az));
                let (along_x, along_z) = (simd.splat(along_x), simd.splat(along_z));
                let t = (off_x * along_x + off_z * along_z) * inverse;
                let t = t.max(zero).min(one);
                let (off_x, off_z) = (off_x - t * along_x, off_z - t * along_z);
                let [from, to] = reach.half_width;
                let width = simd.splat(from) + t * simd.splat(to - from);
                let distance = (off_x * off_x + off_z * off_z).sqrt() - width;
                let near = (one - distance.max(zero) / limit).max(zero);
                let near = near * near;
                let near = near * near;
                let weight = near * near;
                let [from, to] = reach.level;
                let level = simd.splat(from) + t * simd.splat(to - from);
                weights = weights + weight;
                levels = levels + weight * level;
                let is_nearest = distance.lt(beside);
                beside = is_nearest.select(distance, beside);
                half_width = is_nearest.select(width, half_width);
            }
            let level = levels / weights.max(simd.splat(1e-20));
            for (value, to) in [
                (beside, &mut self.to.beside),
                (level, &mut self.to.level),
                (half_width, &mut self.to.half_width),
            ] {
                let mut lanes = [0.0; 8];
                value.store(&mut lanes);
                to[i..i + 8].copy_from_slice(&lanes);
            }
            i += 8;
        }
    }
}

#[inline(always)]
fn ends(values: &[f32; 8]) -> [f32; 2] {
    let [mut low, mut high] = [values[0]; 2];
    for &value in values {
        low = if value < low { value } else { low };
        high = if value > high { value } else { high };
    }
    [low, high]
}
