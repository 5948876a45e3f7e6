//! Rivers and lakes: a drainage graph on a jittered lattice, as a function of position.
//!
//! Each node of a triangular lattice flows to the lowest of its six neighbours, if that is lower;
//! what flows into a node is counted a few steps upstream, and makes it wide. The levels of a river
//! are the elevations of its nodes, so that they fall all the way, to the sea or to a lake, where
//! no neighbour is lower. Between nodes a river runs along quadratic curves whose ends are the
//! middles of the lattice's edges, so that tributaries join without a corner (the graph as in
//! Génevaux and others, "Terrain generation using procedural models based on hydrology", 2013, made
//! local).

use super::climate::{Land, Setting, base_elevation};
use super::lattice::Points;
use super::options::WorldOptions;
use super::slots::{SlotCache, slot_of};
use super::volcanoes::Volcanoes;
use crate::generate::noise::unit;
use crate::math::lanes::{F32x8, InstructionSet, Simd, SimdJob};

/// Voxels between the nodes of a row and between rows, at a scale of 1.
const SPACING: [f64; 2] = [340.0, 294.0];

/// How far a valley reaches from the water, voxels.
pub(super) const REACH: f32 = 150.0;

/// Widest half of a river or lake, voxels.
pub(super) const MAX_HALF_WIDTH: f32 = 90.0;

/// Rivers are found in mips up to this one; wider cells do not show them.
pub(super) const MAX_MIP: u8 = 7;

/// Steps upstream that are counted.
const STEPS: usize = 9;

/// Nodes that a river drains at least.
const MIN_DRAINED: f32 = 2.0;

/// Lines that a curve is cut into.
const LINES: usize = 5;

/// Nodes along the edge of a square of them that is evaluated as one.
const SQUARE: i64 = 8;

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

/// A node of the lattice.
#[derive(Clone, Copy, Default)]
struct RiverNode {
    /// Position, warped voxels.
    at: [f64; 2],
    /// Elevation, voxels.
    elevation: f32,
}

/// A part of the lattice.
struct Graph {
    low: [i64; 2],
    size: [usize; 2],
    nodes: Vec<RiverNode>,
    /// Index of the node that each flows to.
    downstream: Vec<Option<usize>>,
    /// Nodes that drain through each, itself included, a few steps upstream.
    drained: Vec<f32>,
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
    let graph = Graph::new(setting, low, high);
    let mut reaches = Vec::new();
    for z in low[1]..=high[1] {
        for x in low[0]..=high[0] {
            graph.reaches_of(setting, [x, z], anchor, &mut reaches);
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

impl Graph {
    /// The lattice from `low` to `high`, and as much around as that needs.
    fn new(setting: &Setting<'_>, low: [i64; 2], high: [i64; 2]) -> Graph {
        let around = STEPS as i64 + 2;
        let low = low.map(|v| (v - around).div_euclid(SQUARE) * SQUARE);
        let size = [0, 1].map(|axis| {
            let squares = (high[axis] + around - low[axis]).div_euclid(SQUARE) + 1;
            (squares * SQUARE) as usize
        });
        let mut graph = Graph {
            low,
            size,
            nodes: vec![RiverNode::default(); size[0] * size[1]],
            downstream: Vec::new(),
            drained: Vec::new(),
        };
        for z in (0..size[1]).step_by(SQUARE as usize) {
            for x in (0..size[0]).step_by(SQUARE as usize) {
                graph.raise(setting, [x, z]);
            }
        }
        graph.flow();
        graph
    }

    fn index(&self, [x, z]: [i64; 2]) -> usize {
        (x - self.low[0]) as usize + (z - self.low[1]) as usize * self.size[0]
    }

    /// Copies a square of nodes in.
    fn raise(&mut self, setting: &Setting<'_>, [x0, z0]: [usize; 2]) {
        let low = [self.low[0] + x0 as i64, self.low[1] + z0 as i64];
        let key = SquareKey { seed: setting.seed, options: *setting.options, low };
        let slot = slot_of(KEPT, low.map(|v| v.div_euclid(SQUARE)));
        let square = SQUARES.get_or_make(slot, key, || square(setting, low));
        for (z, row) in square.chunks_exact(SQUARE as usize).enumerate() {
            let start = x0 + (z0 + z) * self.size[0];
            self.nodes[start..start + row.len()].copy_from_slice(row);
        }
    }

    /// The neighbours of a node, as far as they are part of the graph.
    fn beside(&self, i: usize) -> [Option<usize>; 6] {
        let [width, depth] = self.size.map(|v| v as i64);
        let (x, z) = (i as i64 % width, i as i64 / width);
        // Rows are counted from an even one.
        let aside = z & 1;
        let around =
            [[-1_i64, 0], [1, 0], [aside - 1, -1], [aside, -1], [aside - 1, 1], [aside, 1]];
        around.map(|[dx, dz]| {
            let (x, z) = (x + dx, z + dz);
            let is_inside = (0..width).contains(&x) && (0..depth).contains(&z);
            is_inside.then_some((x + z * width) as usize)
        })
    }

    /// Finds where each node flows to, and what it drains.
    fn flow(&mut self) {
        let count = self.nodes.len();
        self.downstream = (0..count)
            .map(|i| {
                let elevation = |&i: &usize| self.nodes[i].elevation;
                let beside = self.beside(i).into_iter().flatten();
                let lowest = beside.min_by(|a, b| elevation(a).total_cmp(&elevation(b)))?;
                let is_land = self.nodes[i].elevation > 0.0;
                (is_land && elevation(&lowest) < elevation(&i)).then_some(lowest)
            })
            .collect();
        self.drained = vec![1.0; count];
        for _ in 0..STEPS {
            let mut next = vec![1.0; count];
            for (i, to) in self.downstream.iter().enumerate() {
                if let Some(to) = to {
                    next[*to] += self.drained[i];
                }
            }
            self.drained = next;
        }
    }

    /// Level of the water at a node.
    fn level(&self, i: usize) -> f32 {
        (self.nodes[i].elevation - 1.5).max(0.0)
    }

    fn half_width(&self, setting: &Setting<'_>, drained: f32) -> f32 {
        let width = 2.0 * setting.options.rivers * (1.2 + 1.7 * drained.sqrt());
        width.min(24.0)
    }

    /// Adds the parts of rivers that pass a node.
    fn reaches_of(
        &self,
        setting: &Setting<'_>,
        node: [i64; 2],
        anchor: [f64; 2],
        to: &mut Vec<Reach>,
    ) {
        let i = self.index(node);
        let place = |i: usize| {
            let at = self.nodes[i].at;
            [0, 1].map(|axis| (at[axis] - anchor[axis]) as f32)
        };
        let middle = |a: [f32; 2], b: [f32; 2]| [0, 1].map(|axis| 0.5 * (a[axis] + b[axis]));
        let here = ControlPoint {
            at: place(i),
            level: self.level(i),
            half_width: self.half_width(setting, self.drained[i]),
        };
        let halfway = |up: usize, down: usize| ControlPoint {
            at: middle(place(up), place(down)),
            level: 0.5 * (self.level(up) + self.level(down)),
            half_width: self.half_width(setting, self.drained[up]),
        };
        let is_river = |i: usize| self.drained[i] >= MIN_DRAINED && self.nodes[i].elevation > 0.0;
        let around = self.beside(i).into_iter().flatten();
        let inflows = around.filter(|&j| self.downstream[j] == Some(i) && is_river(j));
        let end = self.downstream[i].map_or(here, |down| halfway(i, down));
        let mut has_inflow = false;
        for up in inflows {
            has_inflow = true;
            curve(halfway(up, i), here, end, to);
        }
        if !has_inflow && is_river(i) {
            let spring = ControlPoint { half_width: 0.5, ..here };
            curve(spring, here, end, to);
        }
        let is_lake = self.downstream[i].is_none() && is_river(i);
        if is_lake {
            let size = unit(setting.seed ^ 0x73, node[0], 8, node[1]) as f32;
            let half_width =
                (2.0 * setting.options.rivers * (22.0 + 38.0 * size)).min(MAX_HALF_WIDTH);
            to.push(Reach {
                from: here.at,
                to: [here.at[0] + 0.5 * half_width, here.at[1]],
                level: [here.level; 2],
                half_width: [half_width, 0.7 * half_width],
            });
        }
    }
}

/// What nodes depend on, and the first of a square.
#[derive(PartialEq)]
struct SquareKey {
    seed: u64,
    options: WorldOptions,
    low: [i64; 2],
}

/// Squares along the edge of the one of neighbours that are kept: 400 kB.
const KEPT: usize = 16;

static SQUARES: SlotCache<SquareKey, Vec<RiverNode>, { KEPT * KEPT }> = SlotCache::new();

/// Evaluates a square of nodes, relative to its corner.
fn square(setting: &Setting<'_>, low: [i64; 2]) -> Vec<RiverNode> {
    let spacing = SPACING.map(|v| v * f64::from(setting.options.scale));
    let anchor = [0, 1].map(|axis| low[axis] as f64 * spacing[axis]);
    let (mut xs, mut zs) = (Vec::new(), Vec::new());
    let jitter = |salt: u64, x: i64, z: i64| 0.44 * unit(setting.seed ^ salt, x, 7, z) - 0.22;
    let mut places = Vec::new();
    for z in 0..SQUARE {
        for x in 0..SQUARE {
            let (node_x, node_z) = (low[0] + x, low[1] + z);
            // Every other row is half a step aside.
            let aside = 0.5 * (node_z & 1) as f64;
            let off = [
                (x as f64 + aside + 0.25 + jitter(0x71, node_x, node_z)) * spacing[0],
                (z as f64 + 0.5 + jitter(0x72, node_x, node_z)) * spacing[1],
            ];
            places.push([anchor[0] + off[0], anchor[1] + off[1]]);
            xs.push(off[0] as f32);
            zs.push(off[1] as f32);
        }
    }
    let points = Points::new(anchor, xs, zs);
    let setting = Setting { edge: 0.0, ..*setting };
    let land = Land::at(&setting, &points);
    let volcanoes = Volcanoes::at(&setting, &points);
    let node = |(i, at): (usize, [f64; 2])| {
        let base = base_elevation(land.continent[i], land.uplift[i]);
        RiverNode { at, elevation: base + volcanoes.rise[i] }
    };
    places.into_iter().enumerate().map(node).collect()
}

/// A point that a curve runs by.
#[derive(Clone, Copy)]
struct ControlPoint {
    at: [f32; 2],
    level: f32,
    half_width: f32,
}

/// Cuts a quadratic curve into lines.
fn curve(from: ControlPoint, by: ControlPoint, to: ControlPoint, reaches: &mut Vec<Reach>) {
    let at = |t: f32| {
        let [a, b, c] = [(1.0 - t) * (1.0 - t), 2.0 * t * (1.0 - t), t * t];
        let blend = |p: f32, q: f32, r: f32| a * p + b * q + c * r;
        ControlPoint {
            at: [0, 1].map(|axis| blend(from.at[axis], by.at[axis], to.at[axis])),
            level: blend(from.level, by.level, to.level),
            half_width: blend(from.half_width, by.half_width, to.half_width),
        }
    };
    let mut last = from;
    for line in 1..=LINES {
        let mut next = if line == LINES { to } else { at(line as f32 / LINES as f32) };
        // Rounding must not make water flow uphill.
        next.level = next.level.min(last.level);
        reaches.push(Reach {
            from: last.at,
            to: next.at,
            level: [last.level, next.level],
            half_width: [last.half_width, next.half_width],
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
