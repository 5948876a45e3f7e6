//! Small heightmaps: the worlds are compared with the naive twin and with what they should look
//! like.

use super::*;
use crate::import_budget::{ImportBudget, ImportLimits};
use proptest::prelude::*;
use terravox::voxel::{Cell, GridOptions, MaterialTable, VoxelPos};
use terravox::voxel::{DenseBox, VoxelGrid};

fn budget() -> ImportBudget {
    ImportBudget::new(ImportLimits::for_input(0).times(100))
}

fn imported(heights: &Heights, options: &HeightmapOptions) -> (VoxelGrid, HeightmapImport) {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let imported = import(heights, options, &mut budget(), &mut grid, |_, _| {}).unwrap();
    (grid, imported)
}

fn error(heights: &Heights, options: &HeightmapOptions) -> String {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let error = import(heights, options, &mut budget(), &mut grid, |_, _| {}).unwrap_err();
    assert!(grid.is_empty(), "nothing is written");
    error.to_string()
}

fn relief(heights: &Heights, options: &HeightmapOptions) -> HeightmapRelief {
    let table = MaterialTable::default();
    HeightmapRelief::new(heights.clone(), options.clone(), table.kinds()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_importer_equals_the_naive_one(
        (size, values) in (1..7usize, 1..7usize).prop_flat_map(|(w, d)| {
            (Just([w, d]), proptest::collection::vec(0..1000u32, w * d))
        }),
        voxels_per_sample in 1.0..9.0f64,
        base_voxels in -50.0..50.0f64,
        height_voxels in prop_oneof![Just(0.0), 1.0..70.0f64, Just(-20.0)],
        origin in [-40..40i32, -40..40i32],
        sea in proptest::option::of(-60.0..80.0f64),
        depth_voxels in 0.0..40.0f64,
        surface_voxels in 0.0..5.0f64,
        patches in prop_oneof![Just(0.0), 0.0..=1.0f64],
    ) {
        let values = values.into_iter().map(|v| v as f32 / 1000.0).collect();
        let heights = Heights::new(size, values).unwrap();
        let options = HeightmapOptions {
            voxels_per_sample, base_voxels, height_voxels, origin, depth_voxels, surface_voxels,
            sea_level: sea,
            ..HeightmapOptions::default()
        }
        .with_natural_land(&heights);
        let options = HeightmapOptions { patches, ..options };
        let (grid, _) = imported(&heights, &options);
        let mut differing = 0;
        for (n, pos) in relief(&heights, &options).region().grow(3).voxels().enumerate()
        {
            // A seventh of the voxels is enough, another one for each width.
            if n % 7 != size[0] { continue }
            let (cell, water) = (grid.cell(pos).unwrap(), grid.water(pos).unwrap());
            let (naive_cell, naive_water) = naive::cell(&heights, &options, pos);
            let apart = cell.units().abs_diff(naive_cell.units());
            prop_assert!(apart <= 1, "{pos}: {cell:?} {naive_cell:?}");
            if (cell, water) != (naive_cell, naive_water) { differing += 1 }
        }
        // Terms are added in another order, so rounding may tip an occupancy or a rule.
        prop_assert!(differing <= 2, "{differing} cells differ");
    }
}

#[test]
fn a_flat_map_at_a_whole_height_is_full_cells() {
    let heights = Heights::new([4, 4], vec![0.5; 16]).unwrap();
    let options = HeightmapOptions {
        voxels_per_sample: 10.0,
        height_voxels: 24.0,
        depth_voxels: 4.0,
        ..HeightmapOptions::default()
    };
    let (grid, imported) = imported(&heights, &options);
    assert_eq!(imported, HeightmapImport { columns: [40, 40], heights: [12.0, 12.0], chunks: 4 });
    let column: Vec<Cell> = (7..13).map(|y| grid.cell(VoxelPos::new(33, y, 5)).unwrap()).collect();
    assert_eq!(column[0], Cell::AIR);
    assert_eq!(column[1], Cell::full(8));
    assert_eq!(column[2..5], [Cell::full(2); 3]);
    assert_eq!(column[5], Cell::AIR);
    assert!(grid.cell(VoxelPos::new(40, 10, 5)).unwrap().is_air());
}

#[test]
fn a_slope_has_occupancies_that_grow_evenly_with_no_terraces() {
    let values = (0..32 * 4).map(|i| (i % 32) as f32 / 31.0).collect();
    let heights = Heights::new([32, 4], values).unwrap();
    let options = HeightmapOptions {
        voxels_per_sample: 8.0,
        height_voxels: 31.0,
        ..HeightmapOptions::default()
    };
    let (grid, _) = imported(&heights, &options);
    // A rise of 1 in 8: the filled units of a column, 256ths, rise by 32 per voxel.
    let fill = |x: i32| -> f64 {
        let cells = (-8..40).map(|y| grid.cell(VoxelPos::new(x, y, 16)).unwrap().units());
        f64::from(cells.sum::<u32>())
    };
    for x in 12..236 {
        let rise = fill(x + 1) - fill(x);
        assert!((rise - 32.0).abs() <= 2.0, "{x}: {rise}");
    }
}

#[test]
fn water_fills_what_lies_below_the_sea_and_shores_hold_it() {
    let values = (0..16).map(|i| i as f32 / 15.0).collect();
    let heights = Heights::new([16, 1], values).unwrap();
    let options = HeightmapOptions {
        voxels_per_sample: 2.0,
        height_voxels: 15.0,
        sea_level: Some(6.0),
        ..HeightmapOptions::default()
    }
    .with_natural_land(&heights);
    let (grid, _) = imported(&heights, &options);
    let cell = |x: i32, y: i32| grid.cell(VoxelPos::new(x, y, 0)).unwrap();
    assert_eq!(cell(2, 5), Cell::full(1), "the sea is full up to its level");
    assert_eq!(cell(2, 6), Cell::AIR);
    assert!(cell(25, 5).occupancy == 255 && cell(25, 5).material > 1, "ground above the sea");
    let shores: Vec<i32> =
        (0..32).filter(|&x| grid.water(VoxelPos::new(x, 5, 0)).unwrap().is_some()).collect();
    assert!(!shores.is_empty() && shores.iter().all(|&x| cell(x, 5).occupancy < 255));
    assert!((0..32).all(|x| grid.water(VoxelPos::new(x, 7, 0)).unwrap().is_none()));
}

#[test]
fn materials_follow_height_and_slope() {
    let rule = |material, height_voxels, slope| MaterialRule { material, height_voxels, slope };
    let mut values = vec![0.0; 32];
    values[16..].fill(1.0);
    let heights = Heights::new([32, 1], values).unwrap();
    let options = HeightmapOptions {
        height_voxels: 30.0,
        rules: vec![
            rule(8, [f64::NEG_INFINITY, f64::INFINITY], [1.0, f64::INFINITY]),
            rule(10, [20.0, f64::INFINITY], [0.0, 1.0]),
        ],
        ..HeightmapOptions::default()
    };
    let (grid, _) = imported(&heights, &options);
    let top = |x: i32| {
        let mut column = (-9..40).rev().map(|y| grid.cell(VoxelPos::new(x, y, 0)).unwrap());
        column.find(|cell| !cell.is_air()).unwrap().material
    };
    assert_eq!([top(4), top(16), top(28)], [2, 8, 10]);
    // The cliff's plane does not reach over its edge.
    assert!(grid.cell(VoxelPos::new(16, 33, 0)).unwrap().is_air());
}

#[test]
fn the_same_on_any_number_of_threads() {
    let values = (0..80 * 80).map(|i| ((i * 7919) % 1009) as f32 / 1009.0).collect();
    let heights = Heights::new([80, 80], values).unwrap();
    let options = HeightmapOptions { voxels_per_sample: 2.0, ..HeightmapOptions::default() };
    let digest = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| imported(&heights, &options).0.digest())
    };
    assert_eq!(digest(1), digest(3));
}

#[test]
fn progress_reaches_its_end() {
    let heights = Heights::new([200, 100], vec![0.3; 20_000]).unwrap();
    let mut steps = Vec::new();
    let mut grid = VoxelGrid::new(GridOptions::default());
    import(&heights, &HeightmapOptions::default(), &mut budget(), &mut grid, |done, all| {
        steps.push((done, all));
    })
    .unwrap();
    assert_eq!(steps, [(16, 28), (28, 28)]);
}

#[test]
fn invalid_options_are_refused_by_name() {
    let heights = Heights::new([2, 2], vec![0.0; 4]).unwrap();
    let base = HeightmapOptions::default;
    let is = |options: HeightmapOptions, part: &str| {
        let shown = error(&heights, &options);
        assert!(shown.contains(part), "{shown}");
    };
    is(HeightmapOptions { voxels_per_sample: f64::NAN, ..base() }, "voxels_per_sample is NaN");
    is(HeightmapOptions { voxels_per_sample: 0.0, ..base() }, "voxels_per_sample is 0");
    is(
        HeightmapOptions { height_voxels: 1e9, ..base() },
        "height_voxels is 1000000000; give -65536 to 65536",
    );
    is(HeightmapOptions { depth_voxels: -1.0, ..base() }, "depth_voxels is -1");
    is(HeightmapOptions { sea_level: Some(f64::INFINITY), ..base() }, "sea_level is inf");
    is(HeightmapOptions { sea_level: Some(1e8), ..base() }, "sea_level is 100000000; give");
    is(HeightmapOptions { water: 2, ..base() }, "water material 2 is not liquid");
    is(HeightmapOptions { material: 1, ..base() }, "ground material 1 is not solid");
    is(HeightmapOptions { origin: [0, i32::MAX], ..base() }, "origin z is 2147483647");
    is(HeightmapOptions { origin: [1 << 30, 0], ..base() }, "beyond the limits of a grid");
    is(HeightmapOptions { base_voxels: (1 << 30) as f64, ..base() }, "beyond the limits of a grid");
    let wide = Heights::new([1000, 1000], vec![0.0; 1_000_000]).unwrap();
    let shown = error(&wide, &HeightmapOptions { voxels_per_sample: 60.0, ..base() });
    assert!(shown.contains("chunks, at most 1048576 in memory"), "{shown}");
    assert!(Heights::new([1, 1], vec![f32::NAN]).unwrap_err().to_string().contains("finite"));
    assert!(Heights::new([2, 1], vec![0.0]).unwrap_err().to_string().contains("not 2 × 1"));
}

#[test]
fn chunk_columns_generated_alone_equal_the_whole_world() {
    let values = (0..30 * 20).map(|i| ((i * 7919) % 1009) as f32 / 1009.0).collect();
    let heights = Heights::new([30, 20], values).unwrap();
    let options = HeightmapOptions {
        voxels_per_sample: 3.0,
        height_voxels: 90.0,
        depth_voxels: 100.0,
        origin: [-45, 7],
        sea_level: Some(30.0),
        ..HeightmapOptions::default()
    };
    let (whole, imported) = imported(&heights, &options);
    let relief = relief(&heights, &options);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut uniform = DenseBox::default();
    let (mut uniform_chunks, mut chunks) = (0, 0);
    // In another order.
    for &column in relief.chunk_columns().iter().rev() {
        for chunk in relief.column(column) {
            assert_eq!(chunk.position().region(), chunk.cells(&mut uniform).region());
            grid.write(chunk.cells(&mut uniform)).unwrap();
            uniform_chunks += u64::from(matches!(chunk, ChunkCells::Uniform { .. }));
            chunks += 1;
        }
    }
    assert_eq!(grid.digest(), whole.digest());
    assert_eq!((chunks, imported.columns), (imported.chunks, relief.columns()));
    assert!(uniform_chunks >= 4, "{uniform_chunks} of {chunks}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn maps_at_the_limits_are_those_at_the_origin(
        values in proptest::collection::vec(0..1000u32, 20), sea in proptest::option::of(2.0..40.0f64),
        x in proptest::sample::select(vec![-(1 << 30), (1 << 30) - 160, 1 << 24]),
        z in proptest::sample::select(vec![-(1 << 30), (1 << 30) - 160, -(1 << 21)]),
    ) {
        let values = values.into_iter().map(|v| v as f32 / 1000.0).collect();
        let heights = Heights::new([5, 4], values).unwrap();
        let options = HeightmapOptions {
            voxels_per_sample: 32.0, height_voxels: 40.0, sea_level: sea, ..HeightmapOptions::default()
        };
        let far = HeightmapOptions { origin: [x, z], ..options.clone() };
        let (near, near_import) = imported(&heights, &options);
        let (far, far_import) = imported(&heights, &far);
        prop_assert_eq!(near_import, far_import);
        let (mut a, mut b) = (DenseBox::default(), DenseBox::default());
        for chunk in near.chunks() {
            near.read(chunk.region(), 0, &mut a).unwrap();
            let by = VoxelPos::new(x, 0, z);
            let there = terravox::voxel::Region {
                min: chunk.region().min + by,
                max: chunk.region().max + by,
            };
            far.read(there, 0, &mut b).unwrap();
            b.move_to(chunk.min_voxel());
            prop_assert!(a == b, "{}", chunk);
        }
    }
}
