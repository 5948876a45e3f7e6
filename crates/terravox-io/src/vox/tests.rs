//! Whole files, built here chunk by chunk: scenes, and worlds that go out and come in again.

use super::sample::*;
use super::*;
use crate::import_budget::{ImportBudget, ImportLimits};
use proptest::prelude::*;
use std::collections::BTreeMap;
use terravox::voxel::{Cell, DenseBox, Kind, Region, SurfaceShape, VoxelGrid, VoxelPos};

fn imported_with(
    bytes: &[u8],
    options: &VoxOptions,
    limits: ImportLimits,
) -> Result<(VoxelGrid, VoxImport), VoxError> {
    let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::new(limits));
    let imported = import(bytes, options, &mut budget, &mut grid, |done, all| assert!(done <= all));
    imported.map(|imported| (grid, imported))
}

fn imported(bytes: &[u8]) -> (VoxelGrid, VoxImport) {
    let limits = ImportLimits::for_input(bytes.len());
    imported_with(bytes, &VoxOptions::default(), limits).expect("a scene")
}

/// Colours of all cells that are not air; each is full.
fn colours(grid: &VoxelGrid) -> BTreeMap<[i32; 3], [u8; 3]> {
    let mut all = BTreeMap::new();
    let mut cells = DenseBox::default();
    for chunk in grid.chunks() {
        grid.read(chunk.region(), 0, &mut cells).expect("a chunk");
        for pos in chunk.region().voxels() {
            let Cell { material, occupancy } = cells.cell(pos);
            if grid.materials().kind(material) != Kind::Air {
                assert_eq!(occupancy, 255);
                all.insert(pos.to_array(), grid.materials().colour(material));
            }
        }
    }
    all
}

/// A world of full cells.
fn world(cells: &[([i32; 3], u8)]) -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    for &(pos, material) in cells {
        let mut one = DenseBox::new(Region::one(pos.into()));
        one.fill(material);
        grid.write(&one).expect("a cell");
    }
    grid
}

#[test]
fn a_scene_is_placed_by_its_graph_without_what_is_hidden() {
    let (grid, import) = imported(&scene());
    // The model of 3 × 2 × 1 turns about (1, 1, 0); (x, y, z) becomes (x, z, −y − 1).
    let palette = palette::default_palette();
    let expected = [
        ([11, 33, -22], palette[1]),
        ([11, 33, -23], palette[2]),
        ([10, 33, -24], palette[3]),
        ([-5, 0, -1], palette[4]),
    ];
    assert_eq!(colours(&grid), BTreeMap::from(expected));
    assert_eq!((import.voxels, import.models, import.chunks), (4, 2, 2));
    assert_eq!(import.notes, ["the scene is animated; imported the first frame of each part"]);
    let cell = grid.cell(VoxelPos::new(11, 33, -22)).expect("a cell");
    assert_eq!(grid.materials().name(cell.material), "#ffffff");
    assert_eq!(grid.materials().shape(cell.material), SurfaceShape::Blocky);
}

#[test]
fn a_voxel_is_exported_as_these_bytes() {
    let file = export(world(&[([5, -3, 8], 8)]).as_snapshot()).expect("a file");
    let table = VoxelGrid::default().materials().clone();
    let colour = |id: u8| [&table.colour(id)[..], &[255]].concat();
    let colours: Vec<u8> = (1..=255).flat_map(colour).chain([0; 4]).collect();
    let text = |text: &str| [&[text.len() as u8, 0, 0, 0], text.as_bytes()].concat();
    let expected = [
        &b"VOX \x96\0\0\0MAIN\0\0\0\0"[..],
        &(file.len() as u32 - 20).to_le_bytes(),
        b"SIZE\x0c\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0",
        b"XYZI\x08\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x08",
        b"nTRN\x1c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x01\0\0\0\0\0\0\0",
        b"nGRP\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0",
        b"nTRN\x2d\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\xff\xff\xff\xff\0\0\0\0",
        b"\x01\0\0\0\x01\0\0\0",
        // South 8 is −9 in MagicaVoxel, whose z is up.
        &[text("_t"), text("5 -9 -3")].concat(),
        b"nSHP\x14\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0",
        b"LAYR\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff",
        b"RGBA\0\x04\0\0\0\0\0\0",
        &colours,
    ];
    assert_eq!(file, expected.concat());
}

#[test]
fn worlds_of_full_cells_come_back_with_the_same_digest() {
    let grid = world(&[
        ([0, 0, 0], 8),
        ([255, 255, 255], 2),
        ([256, -1, -257], 22),
        ([-256, 255, -1], 5),
        ([300, 0, -1], 1),
        ([1_073_741_823, -1_073_741_824, 1_073_741_823], 14),
    ]);
    let file = export(grid.as_snapshot()).expect("a file");
    let (again, import) = imported(&file);
    assert_eq!(again.digest(), grid.digest());
    // The first two are in one box of 256³.
    assert_eq!((import.voxels, import.models), (6, 5));
    // Colours of a model, too.
    let (first, _) = imported(&scene());
    let (second, _) = imported(&export(first.as_snapshot()).expect("a file"));
    assert_eq!(second.digest(), first.digest());
}

#[test]
fn cells_that_are_half_full_are_exported() {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::new(Region::new([0, 0, 0], [4, 1, 1]));
    for (x, occupancy) in [(0, 126), (1, 127), (2, 255)] {
        cells.set(VoxelPos::new(x, 0, 0), Cell::new(8, occupancy));
    }
    grid.write(&cells).expect("cells");
    let (again, _) = imported(&export(grid.as_snapshot()).expect("a file"));
    let rock = grid.materials().colour(8);
    assert_eq!(colours(&again), BTreeMap::from([([1, 0, 0], rock), ([2, 0, 0], rock)]));
    let empty = world(&[([0, 0, 0], 0)]);
    assert_eq!(export(empty.as_snapshot()), Err(VoxExportError::Empty));
    assert_eq!(export(VoxelGrid::default().as_snapshot()), Err(VoxExportError::Empty));
}

#[test]
fn a_voxel_becomes_a_cube_of_cells() {
    let limits = ImportLimits::for_input(1 << 20);
    let (fine, _) = imported(&scene());
    for cells_per_voxel in [2, 3, 33, 64] {
        let options = VoxOptions { cells_per_voxel, ..VoxOptions::default() };
        let (grid, _) = imported_with(&scene(), &options, limits).expect("a scene");
        let edge = cells_per_voxel as i32;
        let mut expected = BTreeMap::new();
        for (pos, colour) in colours(&fine) {
            let min = VoxelPos::from(pos.map(|v| v * edge));
            let cube = Region { min, max: min + VoxelPos::splat(edge) };
            expected.extend(cube.voxels().map(|pos| (pos.to_array(), colour)));
        }
        assert_eq!(colours(&grid), expected);
    }
    for cells_per_voxel in [0, 65, u32::MAX] {
        let options = VoxOptions { cells_per_voxel, ..VoxOptions::default() };
        let error = imported_with(&scene(), &options, limits).expect_err("an error");
        assert_eq!(error, VoxError::CellsPerVoxel { found: cells_per_voxel, most: 64 });
    }
}

#[test]
fn files_without_a_scene_are_their_first_model_standing_on_the_ground() {
    let frames = [model([4, 5, 3], &[[0, 0, 0, 9], [3, 4, 2, 8]]), model([1, 1, 1], &[])];
    let (grid, import) = imported(&file(&frames));
    let at: Vec<_> = colours(&grid).into_keys().collect();
    assert_eq!(at, [[-2, 0, 1], [1, 2, -3]]);
    assert_eq!(import.notes, ["the file is an animation of 2 frames; imported the first"]);
    let (_, import) = imported(&file(&frames[..1]));
    assert_eq!(import.notes, Vec::<String>::new());
}

#[test]
fn palettes_and_glass_are_those_of_the_file() {
    let mut palette: Vec<u8> = (0..255).flat_map(|i| [i, 7, 9, 255]).chain([0; 4]).collect();
    // Colour 3 is that of water.
    palette[8..12].copy_from_slice(&[42, 98, 124, 255]);
    let chunks = |kind: &str| {
        let material = [numbers(&[3]), dictionary(&[("_weight", "1"), ("_type", kind)])].concat();
        file(&[
            model([3, 1, 1], &[[0, 0, 0, 1], [1, 0, 0, 255], [2, 0, 0, 3]]),
            transform([0, 1, 0], &[], &[]),
            shape(1, &[0]),
            chunk(b"RGBA", &palette),
            chunk(b"MATL", &material),
            chunk(b"IMAP", &(0..=255).rev().collect::<Vec<u8>>()),
        ])
    };
    for (kind, expected) in [("_glass", Kind::Liquid), ("_metal", Kind::Solid)] {
        let (grid, _) = imported(&chunks(kind));
        let all: Vec<_> = colours(&grid).into_values().collect();
        assert_eq!(all, [[0, 7, 9], [254, 7, 9], [42, 98, 124]]);
        let cell = grid.cell(VoxelPos::new(1, 0, -1)).expect("a cell");
        assert_eq!(grid.materials().kind(cell.material), expected);
    }
}

/// Chunks are closed and opened again, and what they held stays.
#[test]
fn of_models_that_overlap_the_later_one_counts_however_far_it_is_between() {
    let far: Vec<String> = (0..300).map(|i| format!("{} 0 0", 40 * i)).collect();
    let mut chunks = vec![
        model([2, 1, 1], &[[0, 0, 0, 5], [1, 0, 0, 6]]),
        model([1, 1, 1], &[[0, 0, 0, 7]]),
        transform([0, 1, u32::MAX], &[], &[]),
    ];
    let mut children = Vec::new();
    for (i, at) in far.iter().chain(&far).enumerate() {
        let id = 2 + 2 * i as u32;
        children.push(id);
        chunks.push(transform([id, id + 1, 0], &[], &[("_t", at)]));
        chunks.push(shape(id + 1, &[u32::from(i >= far.len())]));
    }
    chunks.push(group(1, &children));
    let (grid, import) = imported(&file(&chunks));
    let palette = palette::default_palette();
    let expected =
        (0..300).flat_map(|i| [([40 * i - 1, 0, -1], palette[5]), ([40 * i, 0, -1], palette[7])]);
    assert_eq!(colours(&grid), expected.collect::<BTreeMap<_, _>>());
    assert_eq!(import.models, 600);
}

/// A 3 × 3 matrix from the description of the format, and its translation.
type Naive = ([[f64; 3]; 3], [f64; 3]);

fn naive(byte: u8, translation: [i32; 3]) -> Naive {
    let [first, second] = [byte & 3, byte >> 2 & 3].map(usize::from);
    let mut rows = [[0.0; 3]; 3];
    for (row, at) in [first, second, 3 - first - second].into_iter().enumerate() {
        rows[row][at] = if byte >> (4 + row) & 1 == 1 { -1.0 } else { 1.0 };
    }
    (rows, translation.map(f64::from))
}

fn naive_mapped((rows, translation): &Naive, point: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| (0..3).map(|k| rows[i][k] * point[k]).sum::<f64>() + translation[i])
}

/// The bytes of all rotations and mirrors.
fn rotation() -> impl Strategy<Value = u8> {
    (0..128_u8).prop_filter("a rotation", |byte| {
        let [first, second] = [byte & 3, byte >> 2 & 3];
        first != 3 && second != 3 && first != second
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn voxels_lie_where_naive_matrices_put_them(
        size in prop::array::uniform3(1..9_u32),
        seeds in prop::collection::vec(prop::array::uniform3(any::<u8>()), 1..20),
        path in prop::collection::vec((rotation(), prop::array::uniform3(-900..900_i32)), 1..5),
    ) {
        let at = |seed: [u8; 3]| -> [u8; 3] { std::array::from_fn(|i| seed[i] % size[i] as u8) };
        let voxels: Vec<[u8; 4]> =
            seeds.iter().map(|&seed| at(seed)).map(|[x, y, z]| [x, y, z, 1 + (x ^ y ^ z)]).collect();
        let mut chunks = vec![model(size, &voxels)];
        for (i, (byte, [x, y, z])) in path.iter().enumerate() {
            let id = 2 * i as u32;
            let frame = [("_r", byte.to_string()), ("_t", format!("{x} {y} {z}"))];
            let frame = frame.each_ref().map(|(key, value)| (*key, value.as_str()));
            chunks.push(transform([id, id + 1, 0], &[], &frame));
            let is_last = i + 1 == path.len();
            chunks.push(if is_last { shape(id + 1, &[0]) } else { group(id + 1, &[id + 2]) });
        }
        let (grid, _) = imported(&file(&chunks));
        let palette = palette::default_palette();
        let mut expected = BTreeMap::new();
        for [x, y, z, colour] in voxels {
            let mut point: [f64; 3] = std::array::from_fn(|i| {
                f64::from([x, y, z][i]) + 0.5 - f64::from(size[i] / 2)
            });
            for (byte, translation) in path.iter().rev() {
                point = naive_mapped(&naive(*byte, *translation), point);
            }
            let [x, y, z] = point;
            let cell = [x, z, -y].map(|v| v.floor() as i32);
            expected.insert(cell, palette[usize::from(colour)]);
        }
        prop_assert_eq!(colours(&grid), expected);
    }

    #[test]
    fn random_worlds_come_back(
        cells in prop::collection::vec((prop::array::uniform3(-300..300_i32), 1..23_u8), 1..60),
    ) {
        let grid = world(&cells);
        let (again, _) = imported(&export(grid.as_snapshot()).expect("a file"));
        prop_assert_eq!(again.digest(), grid.digest());
    }

    #[test]
    fn mutated_files_never_panic_and_stay_within_their_limits(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = scene();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let limits = ImportLimits { memory_bytes: 4 << 20, work: 1 << 24, depth: 32 };
        let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::new(limits));
        let options = VoxOptions::default();
        if let Err(error) = import(&bytes, &options, &mut budget, &mut grid, |_, _| {}) {
            prop_assert!(!error.to_string().contains('\n'), "{}", error);
        }
        let spent = budget.spent();
        prop_assert!(spent.memory_bytes <= limits.memory_bytes && spent.work <= limits.work);
    }
}
