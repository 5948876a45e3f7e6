//! Height functions against cells evaluated one by one.

use std::cell::Cell as Counter;

use proptest::prelude::*;

use super::*;
use crate::voxel::{Cell, MipBlock, VoxelPos};

const ROCK: u8 = 8;

/// Hills of parabolas, whose kinks are cliffs.
fn relief(x: f64, z: f64) -> f64 {
    let wave = |v: f64| {
        let t = v - (v / 40.0).floor() * 40.0 - 20.0;
        t * t / 25.0
    };
    wave(x) + wave(z * 1.3 + 7.0) - 12.0 + if x > 30.0 { 11.0 } else { 0.0 }
}

/// The range of [`relief`].
const RANGE: std::ops::RangeInclusive<f64> = -12.0..=31.0;

fn dress(column: GroundColumn, y: f64, depth: f64) -> u8 {
    match depth {
        d if d >= 5.0 => ROCK,
        _ if column.normal_y < 0.7 => 3,
        d if d < 0.0 && y > 12.0 => AIR,
        d if d < 1.0 => 2,
        _ => 14,
    }
}

/// Cell by cell, five heights a cell.
fn naive(
    region: Region,
    frame: Frame,
    height: impl Fn(f64, f64) -> f64,
    material: impl Fn(GroundColumn, f64, f64) -> u8,
) -> DenseBox {
    let mut cells = DenseBox::new(region);
    let edge = frame.edge();
    for pos in region.voxels() {
        let [x, y, z] = frame.centre(pos);
        let at = |dx: i32, dz: i32| {
            let [x, _, z] = frame.centre(pos + VoxelPos::new(dx, 0, dz));
            height(x, z)
        };
        let (here, beside) = (at(0, 0), [at(-1, 0), at(1, 0), at(0, -1), at(0, 1)]);
        let slopes =
            [(beside[1] - beside[0]) / (2.0 * edge), (beside[3] - beside[2]) / (2.0 * edge)];
        let normal_y = 1.0 / (1.0 + slopes[0] * slopes[0] + slopes[1] * slopes[1]).sqrt();
        let lowest = beside.into_iter().fold(here, f64::min);
        let highest = beside.into_iter().fold(here, f64::max);
        let units = if y >= highest + 0.5 * edge {
            0
        } else if y <= lowest - 0.5 * edge {
            256
        } else {
            occupancy_units((here - y) * normal_y / edge)
        };
        let column = GroundColumn { x, z, height: here, normal_y };
        if units > 0 {
            let material = material(column, y, here - y);
            cells.set(pos, Cell::new(material, (units - 1) as u8));
        }
    }
    cells
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn columns_give_the_cells_of_the_naive_way(
        at in (-9_000..9_000i32, -60..60i32, -9_000..9_000i32),
        size in (1..9i32, 1..50i32, 1..9i32),
        mip in 0u8..8,
        far in 0usize..3,
        known: bool,
    ) {
        let shift = [0.0, 1e7, -3.4e7][far];
        let frame = Frame::placed(mip, 0.37, [shift, 1.5, -shift]);
        let min = VoxelPos::new(at.0, at.1 * 3, at.2).coarser(mip.into());
        let region = Region { min, max: min + VoxelPos::new(size.0, size.1, size.2) };
        let height = |x: f64, z: f64| relief(x - shift, z + shift);
        let deep = known.then_some(Deep { depth: 5.0, material: ROCK });
        let range = if known { range(&RANGE) } else { range(&..) };
        let mut cells = DenseBox::new(Region::new([0; 3], [2; 3]));
        cells.reset(region);
        cells.fill(77);
        let material = |column| move |y, depth| dress(column, y, depth);
        HeightFill { frame, range, deep }.fill(&mut cells, height, material);
        prop_assert!(cells == naive(region, frame, height, dress));
        HeightFill { frame, range, deep: None }.fill_one(&mut cells, 5, height);
        prop_assert!(cells == naive(region, frame, height, |_, _, _| 5));
    }
}

#[test]
fn positions_at_the_limits_of_the_world_are_filled() {
    for corner in [-(1 << 30), (1 << 30) - 4] {
        let region = Region::new([corner, -4, corner], [corner + 4, 4, corner + 4]);
        let height = |x: f64, z: f64| (x - z) / 2.0 + 0.25;
        let mut cells = DenseBox::new(region);
        fill_height(&mut cells, 0, ROCK, -3.0..=3.0, height);
        assert!(cells == naive(region, Frame::voxels(0), height, |_, _, _| ROCK));
        let first = cells.cell(VoxelPos::new(corner, 0, corner)).units();
        assert_eq!(first, occupancy_units(-0.25 / 1.5f64.sqrt()));
    }
}

/// How often the height function is asked for a block, and the cells' distinct materials.
fn calls(block: MipBlock, range: impl RangeBounds<f64>) -> (usize, Vec<u8>) {
    let calls = Counter::new(0);
    let height = |x: f64, z: f64| {
        calls.set(calls.get() + 1);
        relief(x, z)
    };
    let mut cells = DenseBox::new(block.cells());
    fill_height(&mut cells, block.mip, ROCK, range, height);
    let mut materials = cells.materials().to_vec();
    materials.dedup();
    materials.sort_unstable();
    materials.dedup();
    (calls.get(), materials)
}

/// Evaluations by the checks of a skipped block.
const CHECKS: usize = if cfg!(debug_assertions) { 4 } else { 0 };

#[test]
fn heights_are_evaluated_once_per_column_and_not_outside_the_range() {
    let ground = MipBlock::new(0, [0, 0, 0]);
    assert_eq!(calls(ground, ..), (34 * 34 - 4, vec![AIR, ROCK]));
    assert_eq!(calls(ground, RANGE).0, 34 * 34 - 4);
    for (block, material) in [
        (MipBlock::new(0, [3, -2, -5]), ROCK),
        (MipBlock::new(0, [3, 1, -5]), AIR),
        (MipBlock::new(9, [1 << 12, 40, 0]), AIR),
    ] {
        assert_eq!(calls(block, RANGE), (CHECKS, vec![material]), "{block:?}");
    }
}

#[test]
fn materials_are_evaluated_where_cells_are_not_air_and_not_deep() {
    let asked = Counter::new(0);
    let columns = Counter::new(0);
    let material = |_: GroundColumn| {
        columns.set(columns.get() + 1);
        |_: f64, depth: f64| {
            asked.set(asked.get() + 1);
            if depth < 4.0 { 2 } else { ROCK }
        }
    };
    let deep = Some(Deep { depth: 4.0, material: ROCK });
    let mut cells = DenseBox::new(MipBlock::new(0, [0, -1, 0]).cells());
    fill_height_with(&mut cells, 0, 0.0..=0.0, deep, |_, _| 0.0, material);
    assert_eq!((asked.take(), columns.take()), (4 * 1024, 1024));
    for y in [-2, 0] {
        cells.reset(MipBlock::new(0, [0, y, 0]).cells());
        fill_height_with(&mut cells, 0, .., deep, |_, _| 0.0, material);
        assert_eq!((asked.take(), columns.take()), (0, 0));
    }
}

#[test]
fn planes_are_exact_and_ground_without_a_height_is_air() {
    let mut cells = DenseBox::new(Region::new([0, 0, 0], [4, 8, 4]));
    let plane = |x: f64, _: f64| 0.75 * x + 1.0;
    fill_height(&mut cells, 0, ROCK, .., plane);
    for pos in cells.region().voxels() {
        let [x, y, _] = pos.to_array().map(|v| f64::from(v) + 0.5);
        let expected = occupancy_units((plane(x, 0.0) - y) * 0.8);
        assert_eq!(cells.cell(pos).units(), expected);
    }
    fill_height(&mut cells, 0, ROCK, ..=9.0, |_, _| f64::NAN);
    assert!(cells.materials().iter().all(|&material| material == AIR));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "outside of the stated range -1..=1")]
fn a_range_that_is_wrong_is_found() {
    let mut cells = DenseBox::new(Region::new([0, 64, 0], [32, 96, 32]));
    fill_height(&mut cells, 0, ROCK, -1.0..=1.0, |_, _| 80.0);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "Deep promises 8 below 3")]
fn a_deep_material_that_is_wrong_is_found() {
    let mut cells = DenseBox::new(Region::new([0, -16, 0], [32, 16, 32]));
    let deep = Some(Deep { depth: 3.0, material: ROCK });
    fill_height_with(&mut cells, 0, .., deep, |x, _| x / 4.0, |_| |_, _| 2);
}
