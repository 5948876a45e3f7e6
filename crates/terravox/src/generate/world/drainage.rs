//! Where rivers run: a drainage graph on a jittered lattice, as a function of position.
//!
//! Each node of a triangular lattice flows to the lowest of its six neighbours, if that is lower;
//! what flows into a node is counted a few steps upstream, and makes it wide. Between nodes a river
//! runs along quadratic curves whose ends are the middles of the lattice's edges, so that
//! tributaries join without a corner (the graph as in Génevaux and others, "Terrain generation
//! using procedural models based on hydrology", 2013, made local).

use super::climate::{Land, Setting, base_elevation};
use super::lattice::Points;
use super::options::WorldOptions;
use super::slots::{SlotCache, slot_of};
use super::volcanoes::Volcanoes;
use crate::generate::noise::unit;

/// Voxels between the nodes of a row and between rows, at a scale of 1.
pub(super) const SPACING: [f64; 2] = [340.0, 294.0];

/// Widest half of a river or lake, voxels.
pub(super) const MAX_HALF_WIDTH: f32 = 90.0;

/// Steps upstream that are counted.
pub(super) const STEPS: usize = 9;

/// Nodes that a river drains at least.
const MIN_DRAINED: f32 = 2.0;

/// Nodes along the edge of a square of them that is evaluated as one.
const SQUARE: i64 = 8;

/// A node of the lattice.
#[derive(Clone, Copy, Default)]
pub(super) struct RiverNode {
    /// Position, warped and meandered voxels.
    pub at: [f64; 2],
    /// Elevation without hills, voxels.
    pub elevation: f32,
}

/// A part of the lattice.
pub(super) struct Drainage {
    low: [i64; 2],
    size: [usize; 2],
    pub nodes: Vec<RiverNode>,
    /// Index of the node that each flows to.
    pub downstream: Vec<Option<usize>>,
    /// Nodes that drain through each, itself included, a few steps upstream.
    drained: Vec<f32>,
}

/// A quadratic curve along which water passes a node, from the middle of an edge or from a spring to
/// the middle of another edge or to the node.
pub(super) struct Curve {
    pub from: CurvePoint,
    pub by: CurvePoint,
    pub to: CurvePoint,
}

/// A point of a curve.
#[derive(Clone, Copy)]
pub(super) struct CurvePoint {
    /// Position, warped and meandered voxels.
    pub at: [f64; 2],
    /// Half the width of the water, voxels.
    pub half_width: f32,
}

impl Curve {
    /// The point of the curve at `t`, 0 to 1.
    pub fn at(&self, t: f64) -> CurvePoint {
        let [a, b, c] = [(1.0 - t) * (1.0 - t), 2.0 * t * (1.0 - t), t * t];
        let Curve { from, by, to } = self;
        let width = a as f32 * from.half_width + b as f32 * by.half_width;
        CurvePoint {
            at: [0, 1].map(|axis| a * from.at[axis] + b * by.at[axis] + c * to.at[axis]),
            half_width: width + c as f32 * to.half_width,
        }
    }

    /// A unit vector across the curve at `t`; zero where it has no direction.
    pub fn across(&self, t: f64) -> [f64; 2] {
        let Curve { from, by, to } = self;
        let along = [0, 1].map(|axis| {
            (1.0 - t) * (by.at[axis] - from.at[axis]) + t * (to.at[axis] - by.at[axis])
        });
        let length = (along[0] * along[0] + along[1] * along[1]).sqrt().max(1e-9);
        [-along[1] / length, along[0] / length]
    }
}

impl Drainage {
    /// The lattice from `low` to `high`, and at least `around` nodes more on each side. What a node
    /// flows to is known but for the outermost.
    pub fn new(setting: &Setting<'_>, low: [i64; 2], high: [i64; 2], around: i64) -> Drainage {
        let low = low.map(|v| (v - around).div_euclid(SQUARE) * SQUARE);
        let size = [0, 1].map(|axis| {
            let squares = (high[axis] + around - low[axis]).div_euclid(SQUARE) + 1;
            (squares * SQUARE) as usize
        });
        let mut graph = Drainage {
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

    pub fn index(&self, [x, z]: [i64; 2]) -> usize {
        (x - self.low[0]) as usize + (z - self.low[1]) as usize * self.size[0]
    }

    /// The lattice position of a node.
    pub fn position(&self, i: usize) -> [i64; 2] {
        let [width, _] = self.size;
        [self.low[0] + (i % width) as i64, self.low[1] + (i / width) as i64]
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
    pub fn beside(&self, i: usize) -> impl Iterator<Item = usize> + use<> {
        let [width, depth] = self.size.map(|v| v as i64);
        let (x, z) = (i as i64 % width, i as i64 / width);
        // Rows are counted from an even one.
        let aside = z & 1;
        let around =
            [[-1_i64, 0], [1, 0], [aside - 1, -1], [aside, -1], [aside - 1, 1], [aside, 1]];
        around.into_iter().filter_map(move |[dx, dz]| {
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
                let lowest = self.beside(i).min_by(|a, b| elevation(a).total_cmp(&elevation(b)))?;
                (self.is_land(i) && elevation(&lowest) < elevation(&i)).then_some(lowest)
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

    /// Whether a node is above the sea.
    pub fn is_land(&self, i: usize) -> bool {
        self.nodes[i].elevation > 0.0
    }

    /// Whether a river passes or begins at a node.
    pub fn is_river(&self, i: usize) -> bool {
        self.drained[i] >= MIN_DRAINED && self.is_land(i)
    }

    /// The rivers that flow into a node.
    pub fn inflows(&self, i: usize) -> impl Iterator<Item = usize> {
        self.beside(i).filter(move |&j| self.downstream[j] == Some(i) && self.is_river(j))
    }

    fn half_width(&self, setting: &Setting<'_>, i: usize) -> f32 {
        let width = 2.0 * setting.options.rivers * (1.2 + 1.7 * self.drained[i].sqrt());
        width.min(24.0)
    }

    /// The curves along which rivers pass a node.
    pub fn curves(&self, setting: &Setting<'_>, i: usize) -> Vec<Curve> {
        let here = CurvePoint { at: self.nodes[i].at, half_width: self.half_width(setting, i) };
        let halfway = |up: usize, down: usize| {
            let (a, b) = (self.nodes[up].at, self.nodes[down].at);
            CurvePoint {
                at: [0, 1].map(|axis| 0.5 * (a[axis] + b[axis])),
                half_width: self.half_width(setting, up),
            }
        };
        let to = self.downstream[i].map_or(here, |down| halfway(i, down));
        let mut curves: Vec<_> =
            self.inflows(i).map(|up| Curve { from: halfway(up, i), by: here, to }).collect();
        if curves.is_empty() && self.is_river(i) {
            let spring = CurvePoint { half_width: 0.5, ..here };
            curves.push(Curve { from: spring, by: here, to });
        }
        curves
    }

    /// Half the width of the lake at a node, voxels, if a river ends there.
    pub fn lake(&self, setting: &Setting<'_>, i: usize) -> Option<f32> {
        if self.downstream[i].is_some() || !self.is_river(i) {
            return None;
        }
        let [x, z] = self.position(i);
        let size = unit(setting.seed ^ 0x73, x, 8, z) as f32;
        Some((2.0 * setting.options.rivers * (22.0 + 38.0 * size)).min(MAX_HALF_WIDTH))
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
