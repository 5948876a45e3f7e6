//! Shores against the slow twin, and by name.

use super::*;
use crate::mesh::{BlockMesh, Mesher, Numbers, PAD, Surface};
use crate::voxel::{Cell, GridOptions, MipBlock, UnlistedChunks, VoxelGrid};
use proptest::prelude::*;

const REACH: i32 = Shores::reach_cells(0);

const SAND: u8 = 6;

/// Makes a grid; `fill` returns each cell and the water that it holds.
fn grid_of(region: Region, fill: impl Fn(VoxelPos) -> (Cell, Option<u8>)) -> VoxelGrid {
    let mut cells = DenseBox::new(region);
    for at in region.voxels() {
        let (cell, water) = fill(at);
        cells.set(at, cell);
        cells.set_water(at, water);
    }
    let mut grid = VoxelGrid::new(GridOptions::default());
    grid.write(&cells).unwrap();
    grid
}

fn sorted(shores: &mut Shores, grid: &Snapshot, mip: u8, region: Region) -> Vec<(VoxelPos, u8)> {
    let order = |&(at, _): &(VoxelPos, u8)| (at.y, at.z, at.x);
    let mut carried = shores.carried(grid, mip, region).to_vec();
    carried.sort_by_key(order);
    carried
}

/// Makes random cells of few levels and heights, so that many are shore; some are walls.
fn watery(seed: u64, origin: VoxelPos) -> VoxelGrid {
    let mut numbers = Numbers::new(seed);
    let size = [40, 4, 40];
    let region = Region { min: origin, max: origin + VoxelPos::from(size) };
    let [wet, walls, holes] = [numbers.next() % 30, numbers.next() % 25, numbers.next() % 6];
    let mut cells = DenseBox::new(region);
    for at in region.voxels() {
        let (kind, level) = (numbers.next() % 100, (numbers.next() % 8 * 36) as u8);
        let cell = match at.y - origin.y {
            0 if kind < 96 => Cell::full(SAND),
            1 | 2 if kind < wet => Cell::new(WATER, level | 128),
            1 if kind < 100 - holes => Cell::new(SAND, level),
            2 if kind < wet + walls => Cell::new(SAND, level),
            _ => Cell::AIR,
        };
        cells.set(at, cell);
        if cell.material == SAND && numbers.next().is_multiple_of(30) {
            cells.set_water(at, Some(level | 128));
        }
    }
    let mut grid = VoxelGrid::new(GridOptions::default());
    grid.write(&cells).unwrap();
    grid
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn water_is_carried_as_the_slow_twin_carries_it(
        seed in any::<u64>(),
        origin in prop::array::uniform3(prop_oneof![Just(0), Just(-21), Just(1 << 29)]),
        mip in 0..3u8,
        low in prop::array::uniform3(-3..20i32),
        size in prop::array::uniform3(1..14i32),
    ) {
        let origin = VoxelPos::from(origin);
        let grid = watery(seed, origin);
        let low = (origin + VoxelPos::from(low)).coarser(mip.into());
        let region = Region { min: low, max: low + VoxelPos::from(size) };
        let mut shores = Shores::default();
        let found = sorted(&mut shores, grid.as_snapshot(), mip, region);
        prop_assert_eq!(&found, &naive::carried(grid.as_snapshot(), mip, region));
        // Parts of it carry what the whole does.
        let half = Region { max: low + VoxelPos::from(size.map(|edge| (edge + 1) / 2)), ..region };
        let of_half: Vec<_> = found.into_iter().filter(|(at, _)| half.contains(*at)).collect();
        prop_assert_eq!(sorted(&mut shores, grid.as_snapshot(), mip, half), of_half);
    }
}

#[test]
fn the_slow_twin_has_something_to_say() {
    let mut count = [0; 2];
    for seed in 0..10 {
        let grid = watery(seed, VoxelPos::splat(-21));
        for (mip, count) in count.iter_mut().enumerate() {
            let region = Region::new([-21; 3], [19, -17, 19]).coarser(mip as u32);
            *count += naive::carried(grid.as_snapshot(), mip as u8, region).len();
        }
    }
    assert!(count[0] > 1000 && count[1] > 100, "{count:?}");
}

/// A beach that rises by `1 / run` of a cell a cell from x = 0 on, with water before it up
/// to `level` of the cells at y = 0.
fn beach(run: i32, level: u8) -> VoxelGrid {
    grid_of(Region::new([-8, -2, 0], [40, 4, 6]), |at| {
        let ground = (256 * at.x + 128) / run - 256 * at.y;
        match () {
            _ if at.y < 0 => (Cell::full(SAND), None),
            _ if ground > 0 => (Cell::new(SAND, (ground - 1).min(255) as u8), None),
            _ if at.y == 0 => (Cell::new(WATER, level), None),
            () => (Cell::AIR, None),
        }
    })
}

#[test]
fn water_ends_where_the_ground_has_risen() {
    let mut shores = Shores::default();
    for (run, level) in [(3, 255), (6, 255), (10, 255), (10, 127), (24, 127)] {
        let grid = beach(run, level);
        let found =
            sorted(&mut shores, grid.as_snapshot(), 0, Region::new([-8, -2, 2], [40, 4, 3]));
        let ground = |x: i32| (256 * x + 128) / run;
        let lower = (0..REACH).take_while(|&x| ground(x) <= i32::from(level));
        let mut expected: Vec<_> = lower.map(|x| (VoxelPos::new(x, 0, 2), level)).collect();
        assert!(expected.len() > 1);
        // The first cell whose ground has risen, in this layer or the next.
        let end = expected.len() as i32;
        if end < REACH {
            let layer = (ground(end) > 256).into();
            expected.push((VoxelPos::new(end, layer, 2), [level, 0][layer as usize]));
        }
        assert_eq!(found, expected, "1:{run}");
    }
}

#[test]
fn a_box_has_what_is_carried_into_it_from_beyond() {
    let grid = beach(20, 255);
    let (mut shores, mut cells) = (Shores::default(), DenseBox::default());
    shores.read(grid.as_snapshot(), Region::new([9, -1, 1], [14, 2, 4]), 0, &mut cells).unwrap();
    assert_eq!(cells.water_at(VoxelPos::new(REACH - 1, 0, 2)), Some(255));
    assert_eq!(cells.water_at(VoxelPos::new(REACH, 0, 2)), None);
    assert_eq!(cells.water_at(VoxelPos::new(9, -1, 2)), None);
}

#[test]
fn without_water_nothing_is_carried() {
    let mut cells = DenseBox::default();
    let grid = grid_of(Region::new([0; 3], [9, 2, 9]), |at| (Cell::new(SAND, at.x as u8), None));
    Shores::default()
        .read(grid.as_snapshot(), Region::new([-1; 3], [10; 3]), 0, &mut cells)
        .unwrap();
    assert!(cells.water().is_empty());
}

/// Makes sand of half a cell at y = 1 on full sand; `fill` replaces cells.
fn pan(fill: impl Fn(VoxelPos) -> Option<Cell>) -> VoxelGrid {
    grid_of(Region::new([-16, 0, -16], [16, 4, 16]), |at| {
        let pan = match at.y {
            0 => Cell::full(SAND),
            1 => Cell::new(SAND, 127),
            _ => Cell::AIR,
        };
        (fill(at).unwrap_or(pan), None)
    })
}

fn carried_at(grid: &VoxelGrid, at: [i32; 3]) -> Option<u8> {
    let at = VoxelPos::from(at);
    let carried = Shores::default().carried(grid.as_snapshot(), 0, Region::one(at)).to_vec();
    carried.first().map(|&(_, level)| level)
}

#[test]
fn water_that_falls_does_not_creep() {
    // A column of water three cells high: only where it has air above does it spread.
    let fall = pan(|at| (at.x == 0 && at.z == 0 && at.y > 0).then_some(Cell::full(WATER)));
    assert_eq!(carried_at(&fall, [1, 1, 0]), None);
    let pool = pan(|at| (at.x == 0 && at.z == 0 && at.y == 1).then_some(Cell::full(WATER)));
    assert_eq!(carried_at(&pool, [1, 1, 0]), Some(255));
    assert_eq!(carried_at(&pool, [1, 0, 0]), None, "down into the ground");
    assert_eq!(carried_at(&pool, [5, 1, 5]), Some(255), "ten steps away");
    assert_eq!(carried_at(&pool, [0, 1, REACH]), Some(255));
    assert_eq!(carried_at(&pool, [1, 1, REACH]), None);
}

#[test]
fn water_stops_at_an_edge_over_which_it_would_fall() {
    let pool = |at: VoxelPos| (at == VoxelPos::new(0, 1, 0)).then_some(Cell::full(WATER));
    let pit = |at: VoxelPos| pool(at).or((at.y == 1 && at.x == 3).then_some(Cell::AIR));
    assert_eq!(carried_at(&pan(pit), [1, 1, 0]), Some(255));
    assert_eq!(carried_at(&pan(pit), [2, 1, 0]), None);
    let shelf = |at: VoxelPos| pool(at).or((at.y == 0 && at.x == 2).then_some(Cell::AIR));
    assert_eq!(carried_at(&pan(shelf), [2, 1, 0]), None, "a shelf with air below");
}

#[test]
fn walls_hold_water_back_even_where_they_touch_at_edges_only() {
    let dam = |at: VoxelPos| match at.to_array() {
        [x, 1, z] if x + z == 4 => Some(Cell::full(SAND)),
        [0, 1, 0] => Some(Cell::full(WATER)),
        _ => None,
    };
    assert_eq!(carried_at(&pan(dam), [2, 1, 1]), Some(255));
    assert_eq!(carried_at(&pan(dam), [3, 1, 3]), None);
    assert_eq!(carried_at(&pan(dam), [2, 1, 2]), Some(255), "the end, in the wall");
}

#[test]
fn the_highest_of_several_levels_is_carried() {
    let pools = |at: VoxelPos| match at.to_array() {
        [0, 1, 0] => Some(Cell::new(WATER, 200)),
        [2, 1, 0] => Some(Cell::new(WATER, 250)),
        _ => None,
    };
    assert_eq!(carried_at(&pan(pools), [1, 1, 0]), Some(250));
    assert_eq!(carried_at(&pan(pools), [-1, 1, 0]), Some(200));
}

#[test]
fn water_ends_in_ground_one_layer_higher() {
    let film = |level: u8| {
        pan(move |at| match at.to_array() {
            [x, 1, _] if x < 2 => Some(Cell::new(WATER, level)),
            [1..16, 2, -1..2] => Some(Cell::new(SAND, 9)),
            _ => None,
        })
    };
    for (at, level) in [([1, 2, 0], Some(0)), ([2, 2, 0], None), ([2, 1, 2], Some(255))] {
        assert_eq!(carried_at(&film(255), at), level, "{at:?}");
    }
    assert_eq!(carried_at(&film(223), [1, 2, 0]), Some(0));
    assert_eq!(carried_at(&film(222), [1, 2, 0]), None, "too far above the water");
}

#[test]
fn the_end_of_a_shore_takes_a_higher_level_that_comes_later() {
    let pools = |at: VoxelPos| match at.to_array() {
        [0, 1, 0] => Some(Cell::new(WATER, 100)),
        [4, 1, 0] => Some(Cell::new(WATER, 250)),
        _ => None,
    };
    assert_eq!(carried_at(&pan(pools), [1, 1, 0]), Some(250), "half a cell of ground");
}

/// Returns the heights of the vertices of one surface, around the column at 0, 0.
fn heights(grid: &VoxelGrid, surface: fn(&BlockMesh) -> &Surface) -> Vec<f32> {
    let (mut cells, mut mesh) = (DenseBox::default(), BlockMesh::new());
    let block = Region::new([-4, 0, -4], [4, 8, 4]);
    Shores::default().read(grid.as_snapshot(), block.grow(PAD), 0, &mut cells).unwrap();
    Mesher::new().mesh(&cells, grid.materials(), &mut mesh);
    let near = |p: &&[f32; 3]| (p[0] - 4.5).abs() <= 1.0 && (p[2] - 4.5).abs() <= 1.0;
    surface(&mesh).positions.iter().filter(near).map(|p| p[1]).collect()
}

#[test]
fn a_film_lies_on_the_water_and_raises_no_wave() {
    let grid = pan(|at| match at.to_array() {
        [_, 1, _] => Some(Cell::full(WATER)),
        [-2..3, 2, -2..3] => Some(Cell::new(SAND, 3)),
        _ => None,
    });
    let solid = heights(&grid, |mesh| &mesh.solid);
    let above: Vec<_> = solid.iter().filter(|&&y| y > 1.5).collect();
    assert!(!above.is_empty() && above.iter().all(|&&y| y < 2.1), "{above:?}");
    let liquid = heights(&grid, |mesh| &mesh.liquid);
    assert!(!liquid.is_empty() && liquid.iter().all(|&y| (y - 2.0).abs() < 0.05), "{liquid:?}");
}

#[test]
fn the_end_of_shallow_water_stands_no_higher_than_the_water() {
    let wall = |at: VoxelPos| match at.to_array() {
        [x, y, _] if x > 0 && y > 0 => Some(Cell::full(SAND)),
        [_, 1, _] => Some(Cell::new(WATER, 25)),
        _ => None,
    };
    let liquid = heights(&pan(wall), |mesh| &mesh.liquid);
    assert!(!liquid.is_empty() && liquid.iter().all(|&y| (y - 1.1).abs() < 0.05), "{liquid:?}");
}

#[test]
fn water_is_found_where_only_fine_blocks_are_known() {
    let mut grid =
        VoxelGrid::new(GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() });
    let block = MipBlock::new(3, [0, 0, 0]);
    let mut cells = DenseBox::new(block.cells());
    for at in block.cells().voxels().filter(|at| at.y < 4) {
        cells.set(at, Cell::full(if at.x < 16 { WATER } else { SAND }));
    }
    grid.write_far(block, &cells);
    let mut shores = Shores::default();
    let part = Region::new([12, 0, 12], [20, 8, 20]);
    assert!(!shores.is_dry(grid.as_snapshot(), 3, part));
    // A coarse block elsewhere changes nothing.
    let elsewhere = MipBlock::new(6, [9, 0, 9]);
    grid.write_far(elsewhere, &DenseBox::new(elsewhere.cells()));
    assert!(!shores.is_dry(grid.as_snapshot(), 3, part));
}

#[test]
fn water_is_found_in_a_chunk_whose_neighbours_are_unknown() {
    let mut grid =
        VoxelGrid::new(GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() });
    let mut cells = DenseBox::new(VoxelPos::new(-1, -1, -1).chunk().region());
    cells.fill(WATER);
    grid.load(&cells);
    let mut shores = Shores::default();
    for mip in 0..6 {
        let part = Region::one(VoxelPos::new(-1, -1, -1));
        assert!(!shores.is_dry(grid.as_snapshot(), mip, part), "mip {mip}");
    }
}
