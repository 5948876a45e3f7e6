//! Bounded distances against evaluating every cell.

use std::cell::Cell as Counter;

use proptest::prelude::*;

use super::*;
use crate::generate::fill_sdf;
use crate::voxel::MipBlock;

const ROCK: u8 = 8;

/// Balls, a floor with steps, and a slab: a true distance, at most.
fn balls(p: [f64; 3]) -> f64 {
    let ball = |at: [f64; 3], radius: f64| {
        let off = [0, 1, 2].map(|i| p[i] - at[i]);
        radius - (off[0] * off[0] + off[1] * off[1] + off[2] * off[2]).sqrt()
    };
    let floor = -20.0 - p[1];
    let hole = -ball([3.0, -22.0, 40.0], 9.0);
    ball([0.0; 3], 17.3).max(ball([25.0, 4.0, -8.0], 11.0)).max(floor.min(hole))
}

/// Hills of parabolas, of a slope of at most 2.5 along x and 3 along z.
fn hills([x, y, z]: [f64; 3]) -> f64 {
    let wave = |v: f64| {
        let t = v - (v / 40.0).floor() * 40.0 - 20.0;
        t * t / 16.0
    };
    wave(x) + wave(z * 1.2) - 20.0 - y
}

fn slab(p: [f64; 3]) -> f64 {
    0.4 - (0.6 * p[0] + 0.8 * p[1]).abs()
}

fn material(p: [f64; 3], distance: fn([f64; 3]) -> f64) -> u8 {
    match distance(p) {
        d if d >= 3.0 => ROCK,
        _ if p[0] > 4.0 && p[2] < 2.0 => AIR,
        d if d < 1.0 => 2,
        _ => 14,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn bounded_distances_give_the_cells_of_the_plain_way(
        at in (-60..60i32, -60..60i32, -60..60i32),
        size in (1..40i32, 1..40i32, 1..40i32),
        mip in 0u8..7,
        far in 0usize..4,
        kind in 0usize..3,
        loose in 0usize..3,
    ) {
        type Shape = (fn([f64; 3]) -> f64, Slope);
        let shapes: [Shape; 3] =
            [(balls, Slope::Any(1.0)), (hills, Slope::Axes([2.5, 1.0, 3.0])), (slab, Slope::Any(1.0))];
        let (shape, slope) = shapes[kind];
        let times = [1.0, 1.7, 9.0][loose];
        let slope = match slope {
            Slope::Any(slope) => Slope::Any(slope * times),
            Slope::Axes(slopes) => Slope::Axes(slopes.map(|slope| slope * times)),
        };
        let shift = [0.0, 1e7, -1e7, 3e8][far];
        let frame = Frame::placed(mip, 0.37, [shift, -shift, 0.1]);
        let distance = |[x, y, z]: [f64; 3]| shape([x - shift, y + shift, z]);
        let material = |[x, y, z]: [f64; 3]| material([x - shift, y + shift, z], shape);
        let min = VoxelPos::new(at.0, at.1, at.2).coarser(mip.into());
        let region = Region { min, max: min + VoxelPos::new(size.0, size.1, size.2) };
        let mut cells = DenseBox::new(region);
        cells.fill(77);
        let mut plain = cells.clone();
        super::super::sdf::fill(&mut plain, frame, distance, material);
        let deep = Some(Deep { depth: 3.0, material: ROCK });
        for deep in [deep, None] {
            fill(&mut cells, frame, slope, deep, distance, material);
            prop_assert!(cells == plain);
        }
        super::super::sdf::fill(&mut plain, frame, distance, |_| 5);
        fill(&mut cells, frame, slope, Some(Deep::all(5)), distance, |_| 5);
        prop_assert!(cells == plain);
    }
}

#[test]
fn unknown_slopes_and_nan_distances_evaluate_every_cell() {
    let region = Region::new([-20, -3, 5], [13, 9, 21]);
    let odd = |[x, y, z]: [f64; 3]| match (x + y - z).rem_euclid(7.0) {
        v if v < 1.0 => f64::NAN,
        v if v < 2.0 => f64::INFINITY,
        v => (v - 4.0) / 9.0,
    };
    let mut plain = DenseBox::new(region);
    fill_sdf(&mut plain, 0, odd, |_| 3);
    let mut cells = DenseBox::new(region);
    fill_sdf_bounded(&mut cells, 0, 3, f64::INFINITY, odd);
    assert!(cells == plain);
    let all_nan = |_: [f64; 3]| f64::NAN;
    fill_sdf_bounded(&mut cells, 0, 3, 1.0, all_nan);
    assert!(cells == DenseBox::new(region));
}

#[test]
fn positions_at_the_limits_of_the_world_are_filled() {
    for corner in [-(1 << 30), (1 << 30) - 8] {
        let region = Region { min: VoxelPos::splat(corner), max: VoxelPos::splat(corner + 8) };
        let c = f64::from(corner);
        let plane = |p: [f64; 3]| 0.6 * (p[0] - c) - 0.8 * (p[1] - c) + 2.0;
        let mut plain = DenseBox::new(region);
        fill_sdf(&mut plain, 0, plane, |_| 3);
        let mut cells = DenseBox::new(region);
        fill_sdf_bounded(&mut cells, 0, 3, 1.0, plane);
        assert!(cells == plain);
    }
}

/// How often a distance is evaluated for a block.
fn calls(block: MipBlock, slope: impl Into<Slope>, distance: impl Fn([f64; 3]) -> f64) -> usize {
    let calls = Counter::new(0);
    let mut cells = DenseBox::new(block.cells());
    fill_sdf_bounded(&mut cells, block.mip, ROCK, slope, |p| {
        calls.set(calls.get() + 1);
        distance(p)
    });
    calls.get()
}

/// A check for every value, and some for every cube, in builds with debug assertions.
const CHECKS: usize = if cfg!(debug_assertions) { 9 } else { 1 };

#[test]
fn deep_ground_and_high_air_evaluate_once_per_block() {
    for y in [-4, -3, 2, 9] {
        assert!(calls(MipBlock::new(0, [5, y, -7]), 1.0, |p| -p[1]) <= CHECKS, "{y}");
        assert!(calls(MipBlock::new(6, [5, y, -7]), 1.0, |p| -p[1]) <= CHECKS, "mip 6, {y}");
    }
}

#[test]
fn ground_evaluates_few_cells() {
    // 32,768 the plain way; the floor cuts 1,024 cells.
    let checks = if cfg!(debug_assertions) { 2 } else { 1 };
    let floor = |p: [f64; 3]| 8.3 - p[1];
    assert!(calls(MipBlock::new(0, [0, 0, 0]), 1.0, floor) < 4 * 1024 * checks);
    assert!(calls(MipBlock::new(0, [0, 0, 0]), [9.0, 1.0, 9.0], floor) < 4 * 1024 * checks);
    assert!(calls(MipBlock::new(0, [0, 0, 0]), [2.5, 1.0, 3.0], hills) < 5 * 1024 * checks);
    assert!(calls(MipBlock::new(0, [0, 0, 0]), 1.0, balls) < 6 * 1024 * checks);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "the slope of a distance was stated as Any(0.3), but from")]
fn a_slope_that_is_too_small_is_found() {
    calls(MipBlock::new(0, [0, -1, 0]), 0.3, |p| -p[1]);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "it changes by")]
fn a_slope_that_is_too_small_along_one_axis_is_found() {
    calls(MipBlock::new(0, [0, -1, 0]), [0.5, 1.0, 0.5], |p| 2.0 * p[0] - p[1] - 60.0);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "but all is said to be")]
fn a_deep_material_that_is_wrong_is_found() {
    let mut cells = DenseBox::new(Region::new([0, -16, 0], [32, 16, 32]));
    let deep = Some(Deep { depth: 3.0, material: ROCK });
    fill_sdf_bounded_with(&mut cells, 0, 1.0, deep, |p| -p[1], |_| 2);
}

#[test]
#[should_panic(expected = "give numbers of at least 0")]
fn nan_slopes_panic() {
    calls(MipBlock::new(0, [0; 3]), f64::NAN, |p| -p[1]);
}
