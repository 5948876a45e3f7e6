//! Levels of rivers: below the ground beside them, and never rising.
//!
//! The ground is sampled along the curves of each node and beside them, and the river there keeps
//! below the lowest sample. What is so lowered at a node, all nodes downstream are lowered to, as far
//! as rivers are followed; where a river would have to rise after that, it ends in a lake. So water
//! lies in a valley that it has cut, and is never dammed.

use super::climate::Setting;
use super::drainage::{Drainage, STEPS};
use super::lattice::Points;
use super::options::WorldOptions;
use super::relief::UncutLand;
use super::slots::{SlotCache, slot_of};

/// Nodes along the edge of a square of them whose ground is sampled as one.
const SQUARE: i64 = 4;

/// Nodes around that decide what flows through a square.
const AROUND: i64 = 3;

/// Samples along a curve.
const SAMPLES: usize = 6;

/// Samples across, on either side: voxels from the water's edge.
const BESIDE: [f64; 3] = [6.0, 26.0, 68.0];

/// Directions in which the ground around a lake is sampled: cosine and sine.
const DIRECTIONS: [[f64; 2]; 8] = {
    const D: f64 = std::f64::consts::FRAC_1_SQRT_2;
    [[1.0, 0.0], [D, D], [0.0, 1.0], [-D, D], [-1.0, 0.0], [-D, -D], [0.0, -1.0], [D, -D]]
};

/// Cells by which samples are taken, voxels: noise that is finer is left out.
const SAMPLE_EDGE: f64 = 20.0;

/// How far below the samples the water keeps, voxels: ground between them may be lower.
const BELOW: f32 = 1.2;

/// Rounds in which the column of a sample is searched.
const ROUNDS: usize = 4;

/// Returns the level of the water at the nodes from `low` to `high` and what they flow to, and ends
/// rivers that would rise. The graph must reach [`STEPS`] + 2 nodes farther.
pub(super) fn settle(
    graph: &mut Drainage,
    setting: &Setting<'_>,
    low: [i64; 2],
    high: [i64; 2],
) -> Vec<f32> {
    let count = graph.nodes.len();
    let mut near = Vec::new();
    for z in low[1] - 1..=high[1] + 1 {
        for x in low[0] - 1..=high[0] + 1 {
            near.push(graph.index([x, z]));
        }
    }
    let mut own = vec![f32::INFINITY; count];
    let mut front: Vec<usize> = near.iter().copied().filter(|&i| graph.is_river(i)).collect();
    front.iter().for_each(|&i| own[i] = own_level(graph, setting, i));
    for _ in 0..STEPS {
        let mut next = Vec::new();
        for &i in &front {
            for up in graph.inflows(i) {
                if own[up] == f32::INFINITY {
                    own[up] = own_level(graph, setting, up);
                    next.push(up);
                }
            }
        }
        front = next;
    }
    let mut levels = own.clone();
    for _ in 0..STEPS {
        let mut next = own.clone();
        for (i, to) in graph.downstream.iter().enumerate() {
            if let Some(to) = to {
                next[*to] = next[*to].min(levels[i]);
            }
        }
        levels = next;
    }
    for (i, level) in levels.iter_mut().enumerate() {
        // Rivers end at the sea's level.
        *level = if graph.is_land(i) { level.max(0.0) } else { 0.0 };
    }
    for i in near {
        if graph.downstream[i].is_some_and(|to| graph.is_river(to) && levels[to] > levels[i]) {
            graph.downstream[i] = None;
        }
    }
    levels
}

/// What the levels of a square's nodes depend on, and the first of them.
#[derive(PartialEq)]
struct LevelKey {
    seed: u64,
    options: WorldOptions,
    low: [i64; 2],
}

/// Squares along the edge of the one of neighbours that are kept: 60 kB.
const KEPT: usize = 16;

static SQUARES: SlotCache<LevelKey, [f32; (SQUARE * SQUARE) as usize], { KEPT * KEPT }> =
    SlotCache::new();

/// The level that the ground around a node allows.
fn own_level(graph: &Drainage, setting: &Setting<'_>, i: usize) -> f32 {
    let position = graph.position(i);
    let square = position.map(|v| v.div_euclid(SQUARE));
    let low = square.map(|v| v * SQUARE);
    let key = LevelKey { seed: setting.seed, options: *setting.options, low };
    let levels = SQUARES.get_or_make(slot_of(KEPT, square), key, || sampled(setting, low));
    levels[(position[0] - low[0] + (position[1] - low[1]) * SQUARE) as usize]
}

/// Samples the ground of a square of nodes.
fn sampled(setting: &Setting<'_>, low: [i64; 2]) -> [f32; (SQUARE * SQUARE) as usize] {
    let high = low.map(|v| v + SQUARE - 1);
    let setting = &Setting { edge: SAMPLE_EDGE, ..*setting };
    let graph = Drainage::new(setting, low, high, AROUND);
    let anchor = graph.nodes[graph.index(low)].at;
    let mut levels = [0.0; (SQUARE * SQUARE) as usize];
    let (mut owners, mut xs, mut zs) = (Vec::new(), Vec::new(), Vec::new());
    for (owner, level) in levels.iter_mut().enumerate() {
        let [x, z] = [owner as i64 % SQUARE, owner as i64 / SQUARE];
        let i = graph.index([low[0] + x, low[1] + z]);
        *level = graph.nodes[i].elevation - 1.5;
        for [x, z] in sample_places(&graph, setting, i) {
            owners.push(owner);
            xs.push((x - anchor[0]) as f32);
            zs.push((z - anchor[1]) as f32);
        }
    }
    if owners.is_empty() {
        return levels;
    }
    let points = unwound(setting, Points::new(anchor, xs, zs));
    let ground = UncutLand::at(setting, &points, &setting.warped(&points)).height;
    for (owner, height) in owners.into_iter().zip(ground) {
        levels[owner] = levels[owner].min(height - BELOW);
    }
    levels
}

/// Where the ground is sampled for a node, warped and meandered voxels.
fn sample_places(graph: &Drainage, setting: &Setting<'_>, i: usize) -> Vec<[f64; 2]> {
    let mut places = Vec::new();
    for curve in graph.curves(setting, i) {
        for sample in 0..SAMPLES {
            let t = (sample as f64 + 0.5) / SAMPLES as f64;
            let (point, across) = (curve.at(t), curve.across(t));
            places.push(point.at);
            for beside in BESIDE {
                let by = beside + f64::from(point.half_width);
                for by in [by, -by] {
                    places.push([0, 1].map(|axis| point.at[axis] + by * across[axis]));
                }
            }
        }
    }
    if let Some(half_width) = graph.lake(setting, i) {
        let middle = graph.nodes[i].at;
        for radius in [0.6 * f64::from(half_width), f64::from(half_width) + BESIDE[0]] {
            places
                .extend(DIRECTIONS.map(|way| [0, 1].map(|axis| middle[axis] + radius * way[axis])));
        }
    }
    places
}

/// The columns that [`Setting::meandered`] moves to the given points, nearly.
fn unwound(setting: &Setting<'_>, wound: Points) -> Points {
    let mut points = Points::new(wound.anchor, wound.xs.clone(), wound.zs.clone());
    for _ in 0..ROUNDS {
        let there = setting.meandered(&points, &setting.warped(&points));
        let moved = |at: &[f32], there: &[f32], to: &[f32]| -> Vec<f32> {
            at.iter().zip(there).zip(to).map(|((at, there), to)| at + (to - there)).collect()
        };
        let xs = moved(&points.xs, &there.xs, &wound.xs);
        let zs = moved(&points.zs, &there.zs, &wound.zs);
        points = Points::new(wound.anchor, xs, zs);
    }
    points
}
