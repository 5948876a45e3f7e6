//! The scene that all tests build: hills, a lake, a ball in the air and rods, at the origin and far
//! out.

use proptest::prelude::*;
use proptest::sample::select;
use terravox::voxel::{
    AIR, Cell, DenseBox, GridOptions, LIMIT, Region, UnlistedChunks, VoxelGrid, VoxelPos, WATER,
};

/// Voxels along the edge of the scene.
pub const EDGE: i32 = 64;

/// How many cases a property is tried on: each builds the scene twice.
pub const CASES: u32 = 6;

/// Few cases, since a scene is worth many random ones.
pub fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, ..ProptestConfig::default() }
}

/// Where the corner of a scene of `edge` voxels may lie: at both limits of the grid, where 21 bits
/// and the whole numbers of f32 end, and across borders of pages. Multiples of 64, and of `edge`.
pub fn corner(edge: i32) -> impl Strategy<Value = VoxelPos> {
    let far = [
        LIMIT - edge,
        -LIMIT,
        LIMIT - 9 * edge,
        1 << 29,
        (1 << 27) - edge,
        1 << 24,
        -(1 << 24),
        (1 << 21) - edge,
        -(1 << 21),
        -edge,
        5 * edge,
    ];
    prop::array::uniform3(select(far.to_vec())).prop_map(VoxelPos::from)
}

/// Returns a region moved by `by`.
pub fn moved(region: Region, by: VoxelPos) -> Region {
    Region { min: region.min + by, max: region.max + by }
}

/// Returns a point moved by `by`.
pub fn point_at(point: [f64; 3], by: VoxelPos) -> [f64; 3] {
    let by = by.to_array();
    [0, 1, 2].map(|i| point[i] + f64::from(by[i]))
}

/// Returns a far point relative to the scene's corner.
pub fn local(point: [f64; 3], by: VoxelPos) -> [f64; 3] {
    let by = by.to_array();
    [0, 1, 2].map(|i| point[i] - f64::from(by[i]))
}

/// Points in and around the scene, in 1/64 of a voxel, so that f64 moves them without rounding.
pub fn point() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(-8 * 64..72 * 64).prop_map(|p| p.map(|v| f64::from(v) / 64.0))
}

/// A point in the middle of the scene, whose surroundings lie within the limits.
pub fn inner_point() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(20 * 64..44 * 64).prop_map(|p| p.map(|v| f64::from(v) / 64.0))
}

/// Signed distance to the ground of the scene in voxels, positive inside.
pub fn ground(seed: u8, [x, y, z]: [f64; 3]) -> f64 {
    let turn = f64::from(seed);
    let hills = 22.0 + 9.0 * (0.13 * x + turn).sin() + 7.0 * (0.11 * z + 2.0 * turn).cos() - y;
    let ball = 9.0 - ((x - 40.0).powi(2) + (y - 46.0).powi(2) + (z - 30.0).powi(2)).sqrt();
    let rod = 0.7 - (y - 40.3).abs().max((z - 9.6).abs());
    hills.max(ball).max(rod)
}

/// The cell of the scene at a voxel, from the scene's corner.
pub fn cell(seed: u8, voxel: VoxelPos) -> Cell {
    let depth = ground(seed, voxel.to_array().map(|v| f64::from(v) + 0.5));
    let units = ((depth + 0.5).clamp(0.0, 1.0) * 256.0).round() as u16;
    match units {
        0 if voxel.y < 20 => Cell::full(WATER),
        0 => Cell::full(AIR),
        units => {
            let material = [2, 8, 21][((voxel.x / 7 + voxel.z / 5) % 3) as usize];
            Cell::new(material, (units - 1) as u8)
        }
    }
}

/// The cells of the scene, with its corner at the origin.
pub fn cells(seed: u8) -> DenseBox {
    let mut cells = DenseBox::new(Region::new([0; 3], [EDGE; 3]));
    for voxel in cells.region().voxels() {
        cells.set(voxel, cell(seed, voxel));
    }
    cells
}

/// A grid that holds the scene, its corner at `at`.
pub fn grid(seed: u8, at: VoxelPos, unlisted: UnlistedChunks) -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let mut cells = cells(seed);
    cells.move_to(at);
    grid.write(&cells).expect("whole chunks");
    grid
}

/// The scene at the origin and at `at`, in air.
pub fn pair(seed: u8, at: VoxelPos) -> [VoxelGrid; 2] {
    [VoxelPos::ZERO, at].map(|at| grid(seed, at, UnlistedChunks::Air))
}

/// Panics unless the cells of both grids are equal in a region around the scene.
pub fn assert_equal_cells(origin: &VoxelGrid, far: &VoxelGrid, at: VoxelPos) {
    let around = Region::new([0; 3], [EDGE; 3]);
    let read = |grid: &VoxelGrid, region: Region| {
        let mut cells = DenseBox::default();
        grid.read(region, 0, &mut cells).expect("all is held");
        cells.move_to(VoxelPos::ZERO);
        cells
    };
    let (origin, far) = (read(origin, around), read(far, moved(around, at)));
    assert!(origin == far, "cells differ at {at}");
}

/// Panics unless two numbers differ by no more than `tolerance`.
pub fn assert_near(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance, "{what}: {a} and {b}");
}

/// As [`assert_near`], for each coordinate.
pub fn assert_near_points(a: [f64; 3], b: [f64; 3], tolerance: f64, what: &str) {
    (0..3).for_each(|i| assert_near(a[i], b[i], tolerance, what));
}
