//! Generators of a game compared with ours: the ground of `Hills` (without its caves and lakes) by
//! a height function and by a distance of bounded slope, with the same materials, for the blocks
//! that a view of two kilometres is filled with.

use std::sync::{Mutex, PoisonError};

use terravox::generate::{Deep, GroundColumn, Hills, Noise2, Noise2Cursor, Slope};
use terravox::terrain::{Budget, FillRequest, Placement, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{DenseBox, MipBlock};

use crate::harness::{self, Entrant, Timing, contest};
use crate::report::{AreaReport, detail};

const SEED: u64 = 7;

/// One of this many blocks is filled; a whole view takes seconds.
const EVERY: usize = 8;

/// Largest slope of the height along either axis, metres per metre. Its cliffs are steep;
/// that this holds is checked in every cell of a seventh of the blocks.
const SLOPE: [f64; 3] = [9.0, 1.0, 9.0];

/// Below the lowest ground there is basalt: strata end 34 m below 0, folded by 13 m.
const DEEP: Deep = Deep { depth: 180.0, material: 13 };

/// Measures `own_height_vs_hills`, `own_sdf_vs_hills` and `own_uniform_block_us`.
pub fn run(report: &mut AreaReport) {
    let blocks = blocks_of_view();
    check(&blocks);
    let timings = views(&blocks);
    let [hills, heights, distances, cells, open] = &timings[..] else { unreachable!("five") };
    let each = |timing: &Timing| timing.median * 1e6 / blocks.len() as f64;
    let note = |timing: &Timing| {
        format!(
            "{:.1} µs a block, {:.1} by Hills, over {} blocks; materials alike, no caves and lakes",
            each(timing),
            each(hills),
            blocks.len()
        )
    };
    report.set("own_height_vs_hills", heights.median / hills.median, note(heights));
    report.set("own_sdf_vs_hills", distances.median / hills.median, note(distances));
    let line = |name: &str, timing: &Timing| detail(name, each(timing), "µs");
    report.details(
        "the ground of Hills by functions of one's own, a block",
        vec![
            line("Hills itself, with caves and lakes", hills),
            line("a height function and its range", heights),
            line("a height function without a range", open),
            line("a distance and its slope", distances),
            line("a distance, every cell asked", cells),
        ],
    );
    uniform(report);
}

/// Some of the blocks that a view of two kilometres over hills is filled with.
fn blocks_of_view() -> Vec<MipBlock> {
    let asked = Mutex::new(Vec::new());
    let hills = Hills::new(SEED);
    let mut terrain = Terrain::new(TerrainOptions::default());
    let viewer = Viewer { distance_m: 2000.0, ..Viewer::at([8.0, 60.0, 8.0]) };
    terrain.update(&[viewer], Budget::Unlimited, |request| {
        let block = request.block();
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        hills.fill(request.cells(), block.mip);
    });
    let mut blocks = asked.into_inner().unwrap_or_else(PoisonError::into_inner);
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

fn views(blocks: &[MipBlock]) -> Vec<Timing> {
    let budget = harness::Budget { min_rounds: 5, max_rounds: 15, seconds: 20.0, warm: false };
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
    let entrants = vec![
        ours,
        entrant("heights", |request| by_height(request, true)),
        entrant("distances", |request| by_distance(request, Slope::Axes(SLOPE))),
        entrant("cells", |request| by_distance(request, Slope::Any(f64::INFINITY))).every(5),
        entrant("open", |request| by_height(request, false)),
    ];
    contest(blocks.len(), budget, entrants)
}

fn fill(cells: &mut DenseBox, block: MipBlock, by: impl FnOnce(&mut FillRequest<'_>)) {
    assert!(FillRequest::fill_block(cells, block, Placement::default(), by));
}

/// The ground by its height.
fn by_height(request: &mut FillRequest<'_>, known: bool) {
    let mut relief = Hills::new(SEED).relief();
    let mut dress = MaterialLayers::new();
    let height = |x: f64, z: f64| relief.height(x, z);
    let material = |column: GroundColumn| dress.column(column);
    match known {
        true => request.fill_height_with(-64.0..=128.0, Some(DEEP), height, material),
        false => request.fill_height_with(.., Some(DEEP), height, material),
    }
}

/// The ground by a distance: the height above one.
fn by_distance(request: &mut FillRequest<'_>, slope: Slope) {
    let (min, _) = request.bounds_m();
    let edge = request.cell_size_m();
    let mut relief = Hills::new(SEED).relief();
    // The columns of the block, made where a cell first needs a material.
    let mut columns = Vec::new();
    let mut below = relief.clone();
    let material = |[x, y, z]: [f64; 3]| {
        if columns.is_empty() {
            columns = dressed_columns(&mut below, min, edge);
        }
        let [i, k] = [(x - min[0]) / edge, (z - min[2]) / edge].map(|v| v as usize);
        let (height, column) = &columns[i + 32 * k];
        column.material(y, height - y)
    };
    let distance = |[x, y, z]: [f64; 3]| relief.height(x, z) - y;
    request.fill_sdf_bounded_with(slope, Some(DEEP), distance, material);
}

/// Height and materials of each column of a block.
fn dressed_columns(
    relief: &mut terravox::generate::Relief,
    min: [f64; 3],
    edge: f64,
) -> Vec<(f64, LayeredColumn)> {
    let mut dress = MaterialLayers::new();
    let place = |min: f64, i: i32| min + (f64::from(i) + 0.5) * edge;
    let heights: Vec<f64> = (0..34 * 34)
        .map(|i| relief.height(place(min[0], i % 34 - 1), place(min[2], i / 34 - 1)))
        .collect();
    (0..32 * 32)
        .map(|i| {
            let (x, z) = (i % 32, i / 32);
            let at = (x + 1 + 34 * (z + 1)) as usize;
            let slopes = [heights[at + 1] - heights[at - 1], heights[at + 34] - heights[at - 34]];
            let [a, b] = slopes.map(|rise| rise / (2.0 * edge));
            let column = GroundColumn {
                x: place(min[0], x),
                z: place(min[2], z),
                height: heights[at],
                normal_y: 1.0 / (1.0 + a * a + b * b).sqrt(),
            };
            (heights[at], dress.dressed(column))
        })
        .collect()
}

/// The materials of `Hills`: patches by noise, soil, and folded strata.
struct MaterialLayers {
    noises: [Noise2Cursor; 6],
}

/// Materials of one column.
struct LayeredColumn {
    top: u8,
    /// Depths straight down at which the top layer ends, and the soil below it, metres; −∞ on
    /// cliffs, which have neither.
    layers: [f64; 2],
    folds: f64,
}

impl MaterialLayers {
    fn new() -> MaterialLayers {
        MaterialLayers {
            noises: [40, 41, 42, 43, 44, 45].map(|salt| Noise2::new(SEED ^ salt).cursor()),
        }
    }

    fn column(&mut self, column: GroundColumn) -> impl Fn(f64, f64) -> u8 + use<> {
        let column = self.dressed(column);
        move |y, depth| column.material(y, depth)
    }

    fn dressed(&mut self, column: GroundColumn) -> LayeredColumn {
        let GroundColumn { x, z, height, normal_y: upright } = column;
        let mut patch = |i: usize, period: f64| self.noises[i].at(x / period, z / period);
        let small = patch(0, 11.0) + 0.6 * patch(1, 4.5);
        let snow = 54.0 + 4.0 * patch(2, 40.0);
        let leafy = patch(3, 46.0);
        let folds = 7.0 * patch(4, 130.0) + 1.2 * patch(5, 17.0);
        let top = match height + 2.0 * small {
            h if h < -7.0 => 14,
            h if h < 6.4 => 6,
            h if h > snow => 10,
            _ if leafy + 0.5 * small > 0.55 => 19,
            _ => 2,
        };
        let steep = upright < 0.72 + 0.06 * small;
        let layers = if steep { [f64::NEG_INFINITY; 2] } else { [2.2, 4.5].map(|d| d / upright) };
        LayeredColumn { top, layers, folds }
    }
}

impl LayeredColumn {
    fn material(&self, y: f64, depth: f64) -> u8 {
        if depth < self.layers[0] {
            return self.top;
        }
        if depth < self.layers[1] {
            return 14;
        }
        match y + self.folds {
            l if l < -34.0 => 13,
            l if l < -12.0 => 3,
            l if l < 9.0 => 8,
            l if l < 14.0 => 21,
            l if l < 24.0 => 11,
            l if l < 29.0 => 21,
            _ => 8,
        }
    }
}

/// Deep ground and high air, by a height with its range and by a distance with its slope.
fn uniform(report: &mut AreaReport) {
    let wave = |x: f64, z: f64| 8.0 * (x * 0.05).sin() + 4.0 * (z * 0.05).cos();
    let [deep, high] = [-3, 2].map(|y| MipBlock::new(0, [5, y, -9]));
    let by = |name, block: MipBlock, by_slope: bool| {
        let mut cells = DenseBox::default();
        // Many a turn: the clock is coarse.
        Entrant::new(name, move |_| {
            for _ in 0..TURNS {
                fill(&mut cells, std::hint::black_box(block), |request| match by_slope {
                    true => request.fill_sdf_bounded(8, 1.1, |[x, y, z]| wave(x, z) - y),
                    false => request.fill_height(8, -12.0..=12.0, wave),
                });
                std::hint::black_box(&mut cells);
            }
            0
        })
    };
    let timings = contest(
        1,
        harness::Budget::seconds(1.0),
        vec![
            by("deep ground by its height", deep, false),
            by("high air by its height", high, false),
            by("deep ground by a distance", deep, true),
            by("high air by a distance", high, true),
        ],
    );
    let micros = |timing: &Timing| timing.median * 1e6 / TURNS as f64;
    let most = timings.iter().map(micros).fold(0.0, f64::max);
    report.set("own_uniform_block_us", most, "the worst of four: ground, air; height, distance");
    let lines = timings.iter().map(|timing| detail(timing.name, micros(timing), "µs"));
    report.details("blocks of one material by functions of one's own", lines.collect());
}

const TURNS: usize = 200;
