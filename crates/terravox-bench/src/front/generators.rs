//! Generators as a game would write them, compared with `Hills`: its ground (without caves and
//! lakes), with the same materials, once by a height function and once by a distance function with
//! a bounded slope. They fill the blocks of a view of two kilometres.

use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use terravox::generate::{Deep, GroundColumn, Hills, Noise2, Noise2Cursor, Relief, Slope};
use terravox::terrain::{Budget, FillRequest, Placement, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{DenseBox, MipBlock};

use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::report::{AreaReport, detail};

const SEED: u64 = 7;

/// One of this many blocks is filled; a whole view takes seconds.
const EVERY: usize = 8;

/// Largest slope of the distance along x, y and z, metres per metre: cliffs are steep. [`check`]
/// compares every cell of a seventh of the blocks.
const SLOPE: [f64; 3] = [9.0, 1.0, 9.0];

/// Heights of the ground, metres.
const HEIGHTS: RangeInclusive<f64> = -64.0..=128.0;

/// Columns along the edge of a block.
const EDGE: usize = 32;

/// The same with one more column on each side.
const PADDED_EDGE: usize = EDGE + 2;

/// Uniform blocks in an item: one alone is too short for the clock.
const UNIFORM_BLOCKS_PER_ITEM: usize = 200;

// Default materials, as in `Hills`.
const GRASS: u8 = 2;
const SLATE: u8 = 3;
const SAND: u8 = 6;
const ROCK: u8 = 8;
const SNOW: u8 = 10;
const SANDSTONE: u8 = 11;
const BASALT: u8 = 13;
const GROUND: u8 = 14;
const LEAFY_GRASS: u8 = 19;
const LIMESTONE: u8 = 21;

/// Ground up to 128 m high and strata down to 34 m below 0: from here on, folds included, there is
/// only basalt.
const DEEP: Deep = Deep { depth: 180.0, material: BASALT };

/// Measures `own_height_vs_hills`, `own_sdf_vs_hills` and `own_uniform_block_us`.
pub fn run(report: &mut AreaReport) {
    let blocks = blocks_of_view();
    check(&blocks);
    let ViewTimings { hills, heights, heights_without_range, distances, distances_without_slope } =
        views(&blocks);
    let each = |timing: &Timing| timing.median * 1e6 / blocks.len() as f64;
    let note = |timing: &Timing| {
        format!(
            "{:.1} µs a block, {:.1} by Hills, over {} blocks; materials alike, no caves and lakes",
            each(timing),
            each(&hills),
            blocks.len()
        )
    };
    report.set("own_height_vs_hills", heights.median / hills.median, note(&heights));
    report.set("own_sdf_vs_hills", distances.median / hills.median, note(&distances));
    let line = |name: &str, timing: &Timing| detail(name, each(timing), "µs");
    report.details(
        "the ground of Hills by functions of a game, a block",
        vec![
            line("Hills itself, with caves and lakes", &hills),
            line("a height function and its range", &heights),
            line("a height function without a range", &heights_without_range),
            line("a distance and its slope", &distances),
            line("a distance without a slope: called for every cell", &distances_without_slope),
        ],
    );
    uniform(report);
}

/// Every [`EVERY`]th block that a view of two kilometres over hills is filled with.
fn blocks_of_view() -> Vec<MipBlock> {
    let requested = Mutex::new(Vec::new());
    let hills = Hills::new(SEED);
    let mut terrain = Terrain::new(TerrainOptions::default());
    let viewer = Viewer { distance_m: 2000.0, ..Viewer::at([8.0, 60.0, 8.0]) };
    terrain.update(&[viewer], Budget::Unlimited, |request| {
        let block = request.block();
        requested.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        hills.fill(request.cells(), block.mip);
    });
    let mut blocks = requested.into_inner().unwrap_or_else(PoisonError::into_inner);
    blocks.sort_by_key(|block| (block.mip, block.pos.to_array()));
    blocks.into_iter().step_by(EVERY).collect()
}

/// Asserts that a distance with a slope fills the same cells as one that is called for every cell.
fn check(blocks: &[MipBlock]) {
    let (mut bounded, mut plain) = (DenseBox::default(), DenseBox::default());
    for &block in blocks.iter().step_by(7) {
        fill(&mut bounded, block, |request| by_distance(request, Slope::Axes(SLOPE)));
        fill(&mut plain, block, |request| by_distance(request, Slope::Any(f64::INFINITY)));
        assert!(bounded == plain, "{block:?} differs: the ground is steeper than {SLOPE:?}");
    }
}

/// Times of all blocks of a view.
struct ViewTimings {
    hills: Timing,
    heights: Timing,
    heights_without_range: Timing,
    distances: Timing,
    /// A distance function of unknown slope, called for every cell.
    distances_without_slope: Timing,
}

fn views(blocks: &[MipBlock]) -> ViewTimings {
    let budget = RoundBudget { min_rounds: 5, max_rounds: 15, seconds: 20.0, warm: false };
    let hills = Hills::new(SEED);
    let entrant = |name, fill_with: fn(&mut FillRequest<'_>)| {
        let mut cells = DenseBox::default();
        Entrant::new(name, move |i| {
            fill(&mut cells, blocks[i], fill_with);
            u64::from(cells.materials()[0])
        })
    };
    let mut cells = DenseBox::default();
    let ours = Entrant::new("hills", move |i| {
        fill(&mut cells, blocks[i], |request| hills.fill(request.cells(), blocks[i].mip));
        u64::from(cells.materials()[0])
    });
    let entrants = [
        ours,
        entrant("heights", |request| by_height(request, Some(HEIGHTS))),
        entrant("distances", |request| by_distance(request, Slope::Axes(SLOPE))),
        entrant("distances without slope", |request| {
            by_distance(request, Slope::Any(f64::INFINITY))
        })
        .every(5),
        entrant("heights without range", |request| by_height(request, None)),
    ];
    let [hills, heights, distances, distances_without_slope, heights_without_range] =
        contest(blocks.len(), budget, entrants);
    ViewTimings { hills, heights, heights_without_range, distances, distances_without_slope }
}

fn fill(cells: &mut DenseBox, block: MipBlock, by: impl FnOnce(&mut FillRequest<'_>)) {
    assert!(FillRequest::fill_block(cells, block, Placement::default(), by));
}

/// The ground by its height, which is in `range` if there is one.
fn by_height(request: &mut FillRequest<'_>, range: Option<RangeInclusive<f64>>) {
    let mut relief = Hills::new(SEED).relief();
    let mut layers = MaterialLayers::new();
    let height = |x: f64, z: f64| relief.height(x, z);
    let material = |column: GroundColumn| layers.material_of(column);
    match range {
        Some(range) => request.fill_height_with(range, Some(DEEP), height, material),
        None => request.fill_height_with(.., Some(DEEP), height, material),
    }
}

/// The ground as a signed vertical distance to the surface, positive below it.
fn by_distance(request: &mut FillRequest<'_>, slope: Slope) {
    let (min, _) = request.bounds_m();
    let edge = request.cell_size_m();
    let mut relief = Hills::new(SEED).relief();
    // The columns of the block, made where a cell first needs a material.
    let mut columns = Vec::new();
    let mut below = relief.clone();
    let material = |[x, y, z]: [f64; 3]| {
        if columns.is_empty() {
            columns = layered_columns(&mut below, min, edge);
        }
        let [i, k] = [(x - min[0]) / edge, (z - min[2]) / edge].map(|v| v as usize);
        let column = &columns[i + EDGE * k];
        column.material(y, column.height - y)
    };
    let distance = |[x, y, z]: [f64; 3]| relief.height(x, z) - y;
    request.fill_sdf_bounded_with(slope, Some(DEEP), distance, material);
}

/// The materials of each column of a block, x fastest.
fn layered_columns(relief: &mut Relief, min: [f64; 3], edge: f64) -> Vec<LayeredColumn> {
    let mut layers = MaterialLayers::new();
    let centre = |min: f64, i: i32| min + (f64::from(i) + 0.5) * edge;
    // With a column beyond each side, for slopes.
    let heights: Vec<f64> = (0..(PADDED_EDGE * PADDED_EDGE) as i32)
        .map(|i| {
            let (x, z) = (i % PADDED_EDGE as i32 - 1, i / PADDED_EDGE as i32 - 1);
            relief.height(centre(min[0], x), centre(min[2], z))
        })
        .collect();
    let column = |i: usize| {
        let (x, z) = (i % EDGE, i / EDGE);
        let at = x + 1 + PADDED_EDGE * (z + 1);
        let rises = [
            heights[at + 1] - heights[at - 1],
            heights[at + PADDED_EDGE] - heights[at - PADDED_EDGE],
        ];
        let [a, b] = rises.map(|rise| rise / (2.0 * edge));
        layers.column(GroundColumn {
            x: centre(min[0], x as i32),
            z: centre(min[2], z as i32),
            height: heights[at],
            normal_y: 1.0 / (1.0 + a * a + b * b).sqrt(),
        })
    };
    (0..EDGE * EDGE).map(column).collect()
}

/// The materials of `Hills`: patches by noise, soil, and folded strata.
struct MaterialLayers {
    noises: [Noise2Cursor; 6],
}

/// Materials of one column.
struct LayeredColumn {
    /// Height of the ground, metres.
    height: f64,
    top: u8,
    /// Depths straight down at which the top layer ends, and the soil below it, metres; −∞ on
    /// cliffs, which have neither.
    layers: [f64; 2],
    /// Metres by which the strata lie lower than on average.
    folds: f64,
}

impl MaterialLayers {
    fn new() -> MaterialLayers {
        MaterialLayers {
            noises: [40, 41, 42, 43, 44, 45].map(|salt| Noise2::new(SEED ^ salt).cursor()),
        }
    }

    /// The material of a column's cells by height and depth, metres.
    fn material_of(&mut self, column: GroundColumn) -> impl Fn(f64, f64) -> u8 + use<> {
        let column = self.column(column);
        move |y, depth| column.material(y, depth)
    }

    fn column(&mut self, column: GroundColumn) -> LayeredColumn {
        let GroundColumn { x, z, height, normal_y } = column;
        let mut patch = |i: usize, period: f64| self.noises[i].at(x / period, z / period);
        let small = patch(0, 11.0) + 0.6 * patch(1, 4.5);
        let snow = 54.0 + 4.0 * patch(2, 40.0);
        let leafy = patch(3, 46.0);
        let folds = 7.0 * patch(4, 130.0) + 1.2 * patch(5, 17.0);
        let top = match height + 2.0 * small {
            h if h < -7.0 => GROUND,
            h if h < 6.4 => SAND,
            h if h > snow => SNOW,
            _ if leafy + 0.5 * small > 0.55 => LEAFY_GRASS,
            _ => GRASS,
        };
        let is_cliff = normal_y < 0.72 + 0.06 * small;
        let layers =
            if is_cliff { [f64::NEG_INFINITY; 2] } else { [2.2, 4.5].map(|d| d / normal_y) };
        LayeredColumn { height, top, layers, folds }
    }
}

impl LayeredColumn {
    fn material(&self, y: f64, depth: f64) -> u8 {
        if depth < self.layers[0] {
            return self.top;
        }
        if depth < self.layers[1] {
            return GROUND;
        }
        match y + self.folds {
            level if level < -34.0 => BASALT,
            level if level < -12.0 => SLATE,
            level if level < 9.0 => ROCK,
            level if level < 14.0 => LIMESTONE,
            level if level < 24.0 => SANDSTONE,
            level if level < 29.0 => LIMESTONE,
            _ => ROCK,
        }
    }
}

/// Deep ground and high air, by a height with its range and by a distance with its slope.
fn uniform(report: &mut AreaReport) {
    fn wave(x: f64, z: f64) -> f64 {
        8.0 * (x * 0.05).sin() + 4.0 * (z * 0.05).cos()
    }
    let [deep, high] = [-3, 2].map(|y| MipBlock::new(0, [5, y, -9]));
    let by_height: fn(&mut FillRequest<'_>) =
        |request| request.fill_height(ROCK, -12.0..=12.0, wave);
    let by_distance: fn(&mut FillRequest<'_>) =
        |request| request.fill_sdf_bounded(ROCK, 1.1, |[x, y, z]| wave(x, z) - y);
    let entrant = |name, block: MipBlock, fill_with: fn(&mut FillRequest<'_>)| {
        let mut cells = DenseBox::default();
        Entrant::new(name, move |_| {
            for _ in 0..UNIFORM_BLOCKS_PER_ITEM {
                fill(&mut cells, std::hint::black_box(block), fill_with);
                std::hint::black_box(&mut cells);
            }
            0
        })
    };
    let entrants = [
        entrant("deep ground by its height", deep, by_height),
        entrant("high air by its height", high, by_height),
        entrant("deep ground by a distance", deep, by_distance),
        entrant("high air by a distance", high, by_distance),
    ];
    let timings = contest(1, RoundBudget::seconds(1.0), entrants);
    let micros = |timing: &Timing| timing.median * 1e6 / UNIFORM_BLOCKS_PER_ITEM as f64;
    let worst = timings.iter().map(micros).fold(0.0, f64::max);
    report.set("own_uniform_block_us", worst, "the worst of four: ground, air; height, distance");
    let lines = timings.iter().map(|timing| detail(timing.name, micros(timing), "µs"));
    report.details("blocks of one material by functions of a game", lines.collect());
}
