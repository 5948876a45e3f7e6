//! Points on the ground: how many a second from the cells of a grid, and the time after an edit.

use std::sync::Arc;

use cpu_time::ThreadTime;
use terravox::edit::{EditOp, Editor};
use terravox::generate::{Preset, World};
use terravox::scatter::{Scatter, ScatterRule, ScatterRules};
use terravox::voxel::{DenseBox, MipBlock, Region, VoxelGrid, VoxelPos};

use crate::report::{AreaReport, detail};
use crate::worlds;

const SEED: u64 = 7;

/// Edge of the land, voxels.
const EDGE: i32 = 256;

/// Times that all blocks are made.
const ROUNDS: usize = 7;

/// Smallest distances of tufts of grass, voxels; of the first are the figures.
const GRASS: [f32; 2] = [0.5, 1.0];

/// Grass this many voxels apart, trees and rocks.
fn rules(spacing: f32) -> Result<Arc<ScatterRules>, String> {
    let grass = ScatterRule { spacing_voxels: spacing, max_mip: 2, ..ScatterRule::default() };
    let trees = ScatterRule {
        seed: 1,
        spacing_voxels: 6.0,
        slope_degrees: [0.0, 30.0],
        patches: 0.8,
        max_mip: 5,
        ..ScatterRule::default()
    };
    let rocks = ScatterRule { seed: 2, slope_degrees: [20.0, 60.0], ..trees.clone() };
    let rules = ScatterRules::new(vec![grass, trees, rocks]);
    rules.map(Arc::new).map_err(|error| error.to_string())
}

/// Measures the figures.
pub fn run(report: &mut AreaReport) {
    let grid = match land() {
        Ok(grid) => grid,
        Err(why) => {
            report.not_measured("scatter_m_points_s", why.clone());
            report.not_measured("scatter_edit_us", why);
            return;
        }
    };
    let mut rows = Vec::new();
    for spacing in GRASS {
        let Ok(rules) = rules(spacing) else { continue };
        for mip in 0..=2 {
            let (rate, note) = speed(&rules, &grid, mip);
            rows.push(detail(format!("grass {spacing}, mip {mip}"), rate, "M/s").note(&note));
            if (spacing, mip) == (GRASS[0], 0) {
                report.set(
                    "scatter_m_points_s",
                    rate,
                    format!("grass {spacing} voxels apart; {note}"),
                );
            }
        }
    }
    report.details("points a second", rows);
    match rules(GRASS[0]) {
        Ok(rules) => edits(report, &rules, grid),
        Err(why) => report.not_measured("scatter_edit_us", why),
    }
}

/// Land of `World`, by the first place of a row of them that is all above the sea.
pub fn land() -> Result<VoxelGrid, String> {
    let world = World::new(SEED, Preset::Continents);
    let is_dry = |x: i32| {
        (0..25).all(|i| {
            let [x, z] = [x + i % 5 * EDGE / 4, i / 5 * EDGE / 4].map(f64::from);
            world.ground(x, z).0 > 8.0
        })
    };
    let x = (0..400).map(|i| i * 2 * EDGE).find(|&x| is_dry(x)).ok_or("no land")?;
    let heights = world.heights();
    let mut grid = VoxelGrid::default();
    for chunk in Region::new([x, heights.start, 0], [x + EDGE, heights.end, EDGE]).blocks::<5>() {
        let mut cells = DenseBox::new(chunk.region());
        world.fill(&mut cells, 0);
        grid.write(&cells).map_err(|error| error.to_string())?;
    }
    Ok(grid)
}

/// The blocks of a mip.
fn blocks(grid: &VoxelGrid, mip: u8) -> Vec<MipBlock> {
    let bounds = grid.bounds().coarser(5 + u32::from(mip));
    bounds.voxels().map(|pos| MipBlock { mip, pos }).collect()
}

/// Millions of points a second of all blocks of a mip, and how they are spread.
fn speed(rules: &Arc<ScatterRules>, grid: &VoxelGrid, mip: u8) -> (f64, String) {
    let blocks = blocks(grid, mip);
    let (mut best, mut points, mut surface) = (f64::INFINITY, 0, 0);
    for _ in 0..ROUNDS {
        let mut view = Scatter::new(Arc::clone(rules));
        view.show(&blocks);
        let start = ThreadTime::now();
        view.update(grid, usize::MAX);
        best = best.min(start.elapsed().as_secs_f64());
        points = blocks.iter().map(|&block| view.instances(block).len()).sum();
        surface = blocks.iter().filter(|&&block| !view.instances(block).is_empty()).count();
    }
    let each = best * 1e6 / surface.max(1) as f64;
    let note = format!(
        "{points} points in {surface} of {} blocks, {each:.0} µs a block that has any",
        blocks.len()
    );
    (points as f64 / best / 1e6, note)
}

/// Digs of 4 voxels on the ground, with all blocks of mips 0 to 3 shown.
fn edits(report: &mut AreaReport, rules: &Arc<ScatterRules>, grid: VoxelGrid) {
    let mut world = worlds::World::new("land", grid);
    let ground: Vec<VoxelPos> = worlds::ground(&world, 13);
    let mut view = Scatter::new(Arc::clone(rules));
    view.show(&(0..=3).flat_map(|mip| blocks(&world.grid, mip)).collect::<Vec<_>>());
    view.update(&world.grid, usize::MAX);
    let mut editor = Editor::default();
    let (mut times, mut renewed) = (Vec::new(), 0);
    for at in ground {
        let centre = at.to_array().map(|v| f64::from(v) + 0.5);
        if editor.apply(&mut world.grid, &EditOp::dig_ball(centre, 4.0), None).is_err() {
            continue;
        }
        let start = ThreadTime::now();
        let done = view.update(&world.grid, usize::MAX);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        renewed += done.renewed.len();
    }
    times.sort_by(f64::total_cmp);
    let (Some(&median), Some(&most)) = (times.get(times.len() / 2), times.last()) else {
        return report.not_measured("scatter_edit_us", "no dig changed the land");
    };
    let p99 = times[times.len() * 99 / 100];
    let note = format!(
        "median of {} digs of 4 voxels, {:.1} blocks of mips 0 to 3 each; p99 {p99:.0}, most {most:.0}",
        times.len(),
        renewed as f64 / times.len() as f64
    );
    report.set("scatter_edit_us", median, note);
}
