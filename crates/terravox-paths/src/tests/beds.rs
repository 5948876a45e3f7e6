//! Sea beds by the depth of the water, and paths by their distance from slopes.

use super::*;
use crate::ground::distance;

/// Ground by its height, with a sea whose level is at `level`. Cells that hold ground hold water as
/// those of generated worlds do, or not, as after a dig.
fn sea_bed(level: f64, is_held: bool, bed: impl FnMut(f64, f64) -> f64) -> DenseBox {
    let mut cells = DenseBox::new(Region::new([-14, -16, -14], [14, 16, 14]));
    fill_height(&mut cells, 0, ROCK, .., bed);
    for voxel in cells.region().voxels() {
        let units = ((level - f64::from(voxel.y)) * 256.0).clamp(0.0, 256.0) as u32;
        let (cell, stored) = (cells.cell(voxel), units.saturating_sub(1) as u8);
        if units > 0 && cell.is_air() {
            cells.set(voxel, Cell::new(WATER, stored));
        } else if units > 0 && is_held && cell.units() < 256 {
            cells.set_water(voxel, Some(stored));
        }
    }
    cells
}

/// Counts floors of a sea bed, dry and under water, which are as their depth says.
fn count_by_depth(cells: &DenseBox, level: f64, is_held: bool, case: &str) -> [u32; 2] {
    let agent = Agent { radius_m: 0.0, water: WaterRule::Cost(2.0), ..Agent::default() };
    let gauge =
        Gauge::new(&PathOptions { agent, ..PathOptions::default() }, 1.0).expect("a person");
    let mut counts = [0; 2];
    for (at, tile) in tiles_of(&grid_of(cells), &gauge, &covered(cells)) {
        for (path_cell, height, _, floor) in floors_of(&gauge, at, &tile) {
            if path_cell.iter().any(|v| v.abs() > 16) {
                continue; // the ground ends there
            }
            let depth = level - height as f64 / f64::from(HEIGHT_UNITS);
            let is_wet = tile.rects()[tile.rect_of(floor) as usize].is_wet;
            // Where ground holds no water, that of its own cells is missing at the waterline.
            let is_sure = is_held || depth > 2.0 || depth < agent.wade_m;
            if is_sure && (depth - agent.wade_m).abs() > 0.01 {
                assert_eq!(is_wet, depth > agent.wade_m, "{case}: {path_cell:?} is {depth} deep");
                counts[usize::from(is_wet)] += 1;
            }
        }
    }
    counts
}

#[test]
fn slow_sea_beds_are_wet_by_their_depth_at_any_part_of_a_voxel_and_slope() {
    let mut counts = [0; 2];
    for part in 0..16 {
        let level = f64::from(part) / 16.0;
        for (slope, depth) in [0.0, 0.3, 0.8]
            .into_iter()
            .flat_map(|slope| [0.56, 0.64, 1.3, 4.0].map(|depth| (slope, depth)))
        {
            for is_held in [true, false] {
                let cells = sea_bed(level, is_held, |x, z| level - depth + slope * (x + 0.2 * z));
                let case = format!("level {level}, depth {depth}, slope {slope}, held {is_held}");
                let found = count_by_depth(&cells, level, is_held, &case);
                assert!(!is_held || found[0] + found[1] > 900, "{case}: {found:?}");
                counts = [0, 1].map(|i| counts[i] + found[i]);
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 50_000), "{counts:?}");
}

#[test]
fn sea_beds_are_those_of_the_slow_twin() -> Result<(), TestCaseError> {
    for seed in 0..24 {
        let mut random = Random(seed);
        let [level, depth] = [0, 1].map(|_| f64::from(random.below(64)) / 32.0);
        let slope = f64::from(random.below(9)) / 10.0;
        let mut cells = sea_bed(level, seed % 2 == 0, |x, z| level - depth + slope * (x + 0.3 * z));
        for voxel in cells.region().voxels().filter(|v| !cells_inner(v)).collect::<Vec<_>>() {
            cells.set(voxel, Cell::AIR);
            cells.set_water(voxel, None);
        }
        compare(&cells, &random_options(seed))?;
    }
    Ok(())
}

/// Whether a voxel of a sea bed lies within its boundary.
fn cells_inner(voxel: &VoxelPos) -> bool {
    Region::new([-11, -13, -11], [11, 13, 11]).contains(*voxel)
}

/// How far a path is from ground of a height, at most, in metres, everywhere along it.
fn off_ground(points: &[[f64; 3]], ground: impl Fn(f64, f64) -> f64) -> f64 {
    let mut most = 0.0_f64;
    for pair in points.windows(2) {
        for step in 0..=1000 {
            let share = f64::from(step) / 1000.0;
            let [x, y, z] = [0, 1, 2].map(|i| pair[0][i] + (pair[1][i] - pair[0][i]) * share);
            most = most.max((y - ground(x, z)).abs());
        }
    }
    most
}

/// Finds ways between pairs of points of ground of a height; returns how far they are from it, at
/// most, in metres, the most points that one has, and the most that one is longer than a straight line.
fn ways_over(height: impl Fn(f64, f64) -> f64) -> (f64, usize, f64) {
    let mut cells = DenseBox::new(Region::new([-64; 3], [64; 3]));
    fill_height(&mut cells, 0, ROCK, .., &height);
    let tiles = Region::new([-32; 3], [32; 3]).blocks::<5>().collect();
    let paths = paths_over(&grid_of(&cells), PathOptions::default(), tiles);
    let (mut random, mut off, mut points, mut longer) = (Random(3), 0.0_f64, 0, 0.0_f64);
    for _ in 0..100 {
        let [from, to] = [0, 1].map(|_| {
            let [x, z] = [0, 1].map(|_| f64::from(random.below(480) - 240) / 10.0);
            [x, height(x, z), z]
        });
        let PathOutcome::Complete(path) = find(&paths, from, to) else { panic!("open ground") };
        off = off.max(off_ground(&path.points_m, &height));
        points = points.max(path.points_m.len());
        let ends = [path.points_m[0], path.points_m[path.points_m.len() - 1]];
        longer = longer.max(path.length_m / distance(ends[0], ends[1]));
    }
    (off, points, longer)
}

#[test]
fn paths_on_slopes_are_near_the_ground_and_have_few_points() {
    // 40 degrees: with the borders of tiles, and across them, which costs some length.
    let (off, points, longer) = ways_over(|x, _| 0.83 * x);
    assert!(off < 0.125 && points <= 8 && longer < 1.02, "{off} m, {points}, {longer}");
    let (off, ..) = ways_over(|x, z| 0.8 * x + 0.25 * z);
    assert!(off < 0.125, "{off} m");
    let (off, points, _) = ways_over(|x, z| 3.0 * (x * 0.15).sin() + 2.0 * (z * 0.2).cos());
    assert!(off < 0.25 && points <= 40, "{off} m, {points}");
}
