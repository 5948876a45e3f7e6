//! Tiles, connectivity and paths beside the slow twin, after edits, and at the limits.

use std::collections::BTreeMap;

use proptest::prelude::*;
use terravox::edit::{EditOp, Editor};
use terravox::generate::{Hills, fill_height};
use terravox::mesh::PAD;
use terravox::terrain::Placement;
use terravox::voxel::{
    Cell, ChunkPos, DenseBox, GridOptions, LIMIT, Region, UnlistedChunks, VoxelGrid, VoxelPos,
    WATER,
};

use crate::agent::{Gauge, HEIGHT_UNITS, TILE_HEIGHT};
use crate::ground::{Ground, RectId};
use crate::naive::{At, NaiveWorld};
use crate::tile::{Tile, TileMaker};
use crate::{Agent, PartialReason, PathOptions, PathOutcome, Paths, WaterRule};

mod beds;

const ROCK: u8 = 8;

/// Numbers after one another, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> i32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 40) % u64::from(end)) as i32
    }
}

/// A small world around the corner of eight tiles, air at its boundary.
fn random_world(seed: u64) -> DenseBox {
    let mut random = Random(seed);
    let inner = Region::new([-14, -10, -13], [15, 11, 12]);
    let mut cells = DenseBox::new(inner.grow(2 + PAD));
    let kind = random.below(4);
    let height = |random: &mut Random| 1 + random.below(3);
    match kind {
        0 => {
            // Noise.
            let density = 10 + random.below(60);
            for voxel in inner.voxels() {
                if random.below(100) < density {
                    cells.set(voxel, Cell::new(ROCK, (64 + random.below(192)) as u8));
                }
            }
        }
        1 => {
            // Waves, of which some are too steep.
            let [a, b] = [0, 1].map(|_| f64::from(1 + random.below(6)));
            let wave = move |x: f64, z: f64| a * (x * 0.4).sin() + b * (z * 0.3 + x * 0.1).cos();
            fill_height(&mut cells, 0, ROCK, -12.0..=12.0, wave);
        }
        _ => {
            // Platforms, walls and roofs on level ground.
            let level = random.below(8) - 4;
            for voxel in inner.voxels().filter(|voxel| voxel.y < level) {
                cells.set(voxel, Cell::full(ROCK));
            }
            for _ in 0..24 {
                let min = [0, 1, 2]
                    .map(|i| inner.min.to_array()[i] + random.below(inner.size()[i] as u32));
                let size = [2 + random.below(10), height(&mut random), 2 + random.below(10)];
                let max = [0, 1, 2].map(|i| min[i] + size[i]);
                let block = Region::new(min, max).intersect(inner);
                let air = random.below(4) == 0;
                let part = Cell::new(ROCK, (32 + random.below(224)) as u8);
                block.voxels().for_each(|v| cells.set(v, if air { Cell::AIR } else { part }));
            }
        }
    }
    let sea = random.below(14) - 12;
    for voxel in inner.voxels().filter(|voxel| voxel.y < sea) {
        if cells.cell(voxel).is_air() {
            cells.set(voxel, Cell::full(WATER));
        }
    }
    // What was filled beyond is air.
    for voxel in cells.region().voxels().filter(|&voxel| !inner.contains(voxel)) {
        cells.set(voxel, Cell::AIR);
    }
    cells
}

fn random_options(seed: u64) -> PathOptions {
    let mut random = Random(!seed);
    let tenths = |v: i32| f64::from(v) / 10.0;
    let (radius_m, height_m) = (tenths(random.below(16)), tenths(5 + random.below(25)));
    let agent = Agent {
        radius_m,
        height_m,
        climb_m: tenths(random.below(12)).min(height_m),
        slope_degrees: f64::from(20 + random.below(45)),
        wade_m: tenths(random.below(15)),
        water: [WaterRule::Forbidden, WaterRule::Cost(3.0)][random.below(2) as usize],
    };
    let cells_per_voxel = [1, 2, 4][random.below(3) as usize];
    PathOptions { agent, cells_per_voxel, ..PathOptions::default() }
}

fn grid_of(cells: &DenseBox) -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    grid.write(cells).expect("unlisted chunks are air");
    grid
}

/// All tiles that cells touch, and those around.
fn covered(cells: &DenseBox) -> Vec<ChunkPos> {
    cells.region().grow(32).blocks::<5>().collect()
}

fn paths_over(grid: &VoxelGrid, options: PathOptions, tiles: Vec<ChunkPos>) -> Paths {
    let mut paths = Paths::new(options, 1.0).expect("options in their ranges");
    paths.cover(tiles);
    assert_eq!(paths.update(grid, usize::MAX).left, 0);
    paths
}

/// Makes all tiles.
fn tiles_of(grid: &VoxelGrid, gauge: &Gauge, at: &[ChunkPos]) -> BTreeMap<ChunkPos, Tile> {
    let mut maker = TileMaker::default();
    let make = |&at: &ChunkPos| Some((at, maker.make(gauge, grid.as_snapshot(), at)?));
    at.iter().filter_map(make).collect()
}

/// The floors of a tile as the twin numbers them.
fn floors_of(gauge: &Gauge, at: ChunkPos, tile: &Tile) -> Vec<([i64; 2], i64, i64, usize)> {
    let edge = i64::from(gauge.edge());
    let mut all = Vec::new();
    for (z, x) in (0..edge).flat_map(|z| (0..edge).map(move |x| (z, x))) {
        for floor in tile.of(x as usize, z as usize) {
            let path_cell = [i64::from(at.x) * edge + x, i64::from(at.z) * edge + z];
            let height = i64::from(tile.floor(floor).height);
            let height = height + i64::from(at.y) * i64::from(TILE_HEIGHT);
            all.push((path_cell, height, tile.floor(floor).room.into(), floor));
        }
    }
    all
}

/// Compares the floors of tiles with those of the twin, and what is connected.
fn compare(cells: &DenseBox, options: &PathOptions) -> Result<(), TestCaseError> {
    let gauge = Gauge::new(options, 1.0).expect("options in their ranges");
    let grid = grid_of(cells);
    let world = NaiveWorld::new(&gauge, cells, grid.materials());
    let tiles = tiles_of(&grid, &gauge, &covered(cells));
    let mut own = BTreeMap::new();
    for (&at, tile) in &tiles {
        for (path_cell, height, room, floor) in floors_of(&gauge, at, tile) {
            let rect = tile.rect_of(floor);
            own.insert((path_cell, height), (room, at, rect, tile.rects()[rect as usize].is_wet));
        }
    }
    let mut twin = BTreeMap::new();
    for at in world.kept() {
        let floor = world.floors[&at.0][at.1];
        twin.insert((at.0, floor.height), (floor.room, floor.is_wet));
    }
    let floors: BTreeMap<_, _> =
        own.iter().map(|(&key, &(room, _, _, is_wet))| (key, (room, is_wet))).collect();
    prop_assert_eq!(&floors, &twin);
    // Rectangles by what the portals connect.
    let mut ground = Ground::new(&gauge, ChunkPos::new(0, 0, 0), |at| tiles.get(&at));
    let mut component_of: BTreeMap<(ChunkPos, u32), usize> = BTreeMap::new();
    let mut exits = Vec::new();
    for (count, (&at, rect)) in tiles
        .iter()
        .flat_map(|(at, tile)| (0..tile.rects().len() as u32).map(move |rect| (at, rect)))
        .enumerate()
    {
        let mut open = vec![(at, rect)];
        while let Some((at, rect)) = open.pop() {
            if component_of.contains_key(&(at, rect)) {
                continue;
            }
            component_of.insert((at, rect), count);
            let slot = ground.slot(at).expect("the tile is there");
            ground.exits(RectId { slot, rect }, &mut exits);
            let to = |id: RectId| (ground.position(id.slot), id.rect);
            open.extend(exits.iter().map(|exit| to(exit.to)));
        }
    }
    // The same partition.
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    for at in world.kept() {
        let floor = world.floors[&at.0][at.1];
        let (_, tile, rect, _) = own[&(at.0, floor.height)];
        let mine = component_of[&(tile, rect)];
        prop_assert_eq!(*there.entry(floor.component).or_insert(mine), mine);
        prop_assert_eq!(*back.entry(mine).or_insert(floor.component), floor.component);
    }
    Ok(())
}

/// Worlds in which ways fork: to two floors above one another, in one tile and in two.
#[test]
fn ways_that_fork_are_found_from_both_sides() -> Result<(), TestCaseError> {
    for seed in [15_581_125_175_910_347_259, 12_577_377_339_431_851_351] {
        compare(&random_world(seed), &random_options(seed))?;
    }
    Ok(())
}

/// Where a floor of the twin lies, metres.
fn point_of(gauge: &Gauge, world: &NaiveWorld, (path_cell, floor): At) -> [f64; 3] {
    let per_voxel = f64::from(gauge.per_voxel);
    let [x, z] = path_cell.map(|v| (v as f64 + 0.5) / per_voxel);
    let height = world.floors[&path_cell][floor].height;
    [x, height as f64 / f64::from(HEIGHT_UNITS), z]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn floors_and_what_is_connected_are_those_of_the_slow_twin(seed in any::<u64>()) {
        compare(&random_world(seed), &random_options(seed))?;
    }

    /// A path is complete exactly if its ends are connected. The twin can walk it, step by step.
    #[test]
    fn slow_paths_are_found_where_there_are_any_and_can_be_walked(seed in any::<u64>()) {
        let (cells, options) = (random_world(seed), random_options(seed));
        let options = PathOptions { snap_m: 0.01, ..options };
        let gauge = Gauge::new(&options, 1.0).expect("options in their ranges");
        let grid = grid_of(&cells);
        let world = NaiveWorld::new(&gauge, &cells, grid.materials());
        let paths = paths_over(&grid, options, covered(&cells));
        let kept = world.kept();
        let mut random = Random(seed ^ 77);
        for _ in 0..if kept.is_empty() { 0 } else { 12 } {
            let [from, to] = [0, 1].map(|_| kept[random.below(kept.len() as u32) as usize]);
            let [a, b] = [from, to].map(|at| point_of(&gauge, &world, at));
            let outcome = paths.find(&Placement::default(), a, b);
            let is_connected = world.component(from) == world.component(to);
            match &outcome {
                PathOutcome::Complete(_) => prop_assert!(is_connected),
                PathOutcome::Partial(_, why) => {
                    prop_assert!(!is_connected);
                    prop_assert_eq!(*why, PartialReason::Unreachable);
                }
                other => prop_assert!(false, "{:?}", other),
            }
            let path = outcome.path().expect("a path");
            let scale = f64::from(gauge.per_voxel);
            let points: Vec<_> =
                path.points_m.iter().map(|p| [p[0] * scale, p[1], p[2] * scale]).collect();
            let ends = world.walk(from, &points);
            prop_assert!(!ends.is_empty(), "{a:?} to {b:?} by {points:?}");
            if is_connected {
                prop_assert!(ends.contains(&to));
            }
        }
    }

    /// Edits in any order and number, updates that are cut short: the tiles are those that would be
    /// made from nothing.
    #[test]
    fn slow_tiles_after_edits_are_those_made_from_nothing(seed in any::<u64>()) {
        let (cells, options) = (random_world(seed), random_options(seed));
        let mut grid = grid_of(&cells);
        let mut paths = Paths::new(options, 1.0).expect("options in their ranges");
        paths.cover(covered(&cells));
        let (mut random, mut editor) = (Random(seed ^ 5), Editor::default());
        for _ in 0..6 {
            let at = [0, 1, 2].map(|_| f64::from(random.below(30) - 15) + 0.3);
            let radius = f64::from(1 + random.below(5));
            let op = match random.below(2) {
                0 => EditOp::dig_ball(at, radius),
                _ => EditOp::fill_ball(ROCK, at, radius),
            };
            editor.apply(&mut grid, &op, None).expect("the ground is held");
            paths.update(&grid, random.below(9) as usize);
        }
        while paths.update(&grid, 3).left > 0 {}
        let fresh = paths_over(&grid, options, covered(&cells));
        prop_assert_eq!(paths.digest(), fresh.digest());
    }
}

/// Level ground, its surface at height 0, and what `change` makes of it.
fn level(change: impl Fn(&mut DenseBox)) -> VoxelGrid {
    let mut cells = DenseBox::new(Region::new([-64, -32, -64], [64, 32, 64]));
    for voxel in cells.region().voxels().filter(|voxel| voxel.y < 0) {
        cells.set(voxel, Cell::full(ROCK));
    }
    change(&mut cells);
    grid_of(&cells)
}

fn fill(cells: &mut DenseBox, min: [i32; 3], max: [i32; 3], cell: Cell) {
    Region::new(min, max).voxels().for_each(|voxel| cells.set(voxel, cell));
}

fn around_origin(grid: &VoxelGrid, options: PathOptions) -> Paths {
    let region = Region::new([-48, -32, -48], [48, 32, 48]);
    paths_over(grid, options, region.blocks::<5>().collect())
}

fn find(paths: &Paths, from: [f64; 3], to: [f64; 3]) -> PathOutcome {
    paths.find(&Placement::default(), from, to)
}

#[test]
fn open_ground_is_crossed_in_a_straight_line_over_all_borders() {
    let paths = around_origin(&level(|_| ()), PathOptions::default());
    let (from, to) = ([-40.0, 0.0, -37.0], [41.0, 0.0, 30.5]);
    let PathOutcome::Complete(path) = find(&paths, from, to) else { panic!("open ground") };
    assert_eq!(path.points_m.len(), 2);
    let exact = (81.0_f64.powi(2) + 67.5_f64.powi(2)).sqrt();
    assert!((path.length_m - exact).abs() < 0.5, "{} is not {exact}", path.length_m);
}

#[test]
fn walls_stairs_low_roofs_and_steep_ground_are_what_the_agent_says() {
    let wall = |height: i32, gap: bool| {
        level(|cells| {
            fill(cells, [0, 0, -64], [2, height, 64], Cell::full(ROCK));
            if gap {
                fill(cells, [0, 0, 20], [2, height, 23], Cell::AIR);
            }
        })
    };
    let (from, to) = ([-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]);
    let is_open = |grid: &VoxelGrid, agent: Agent| {
        let paths = around_origin(grid, PathOptions { agent, ..PathOptions::default() });
        find(&paths, from, to).is_complete()
    };
    let person = Agent::default();
    assert!(!is_open(&wall(1, false), person));
    assert!(is_open(&wall(1, false), Agent { climb_m: 1.1, ..person }));
    assert!(is_open(&wall(6, true), person));
    assert!(!is_open(&wall(6, true), Agent { radius_m: 2.0, ..person }));
    let roofed = |room: i32| {
        level(|cells| {
            fill(cells, [0, 0, -64], [2, 12, 64], Cell::full(ROCK));
            fill(cells, [0, 0, -4], [2, room, 4], Cell::AIR);
        })
    };
    assert!(is_open(&roofed(4), person));
    assert!(!is_open(&roofed(1), person));
    let ramp = |steepness: f64| {
        level(|cells| {
            let rise = |x: f64, _: f64| ((8.0 - x.abs()) * steepness).clamp(0.0, 12.0);
            fill_height(cells, 0, ROCK, -1.0..=13.0, rise);
        })
    };
    assert!(is_open(&ramp(0.6), person));
    assert!(!is_open(&ramp(1.5), person));
    assert!(is_open(&ramp(1.5), Agent { slope_degrees: 68.0, ..person }));
}

#[test]
fn the_start_and_the_goal_say_what_is_wrong_with_them() {
    let grid = level(|cells| fill(cells, [10, 0, -64], [12, 9, 64], Cell::full(ROCK)));
    let paths = around_origin(&grid, PathOptions::default());
    let (here, there) = ([0.0, 0.0, 0.0], [20.0, 0.0, 5.0]);
    assert_eq!(find(&paths, [0.0, 20.0, 0.0], there), PathOutcome::StartOffMesh);
    assert_eq!(find(&paths, here, [0.0, -20.0, 0.0]), PathOutcome::GoalOffMesh);
    assert_eq!(find(&paths, [f64::NAN; 3], there), PathOutcome::StartOffMesh);
    assert_eq!(find(&paths, here, [1e30, 0.0, 0.0]), PathOutcome::GoalOffMesh);
    assert_eq!(find(&paths, [90.0, 0.0, 0.0], there), PathOutcome::StartNotLoaded);
    assert_eq!(find(&paths, here, [0.0, 0.0, -5000.0]), PathOutcome::GoalNotLoaded);
    // A wall across all that is covered.
    let near = Region::new([-32, -32, -32], [32, 32, 32]);
    let paths = paths_over(&grid, PathOptions::default(), near.blocks::<5>().collect());
    let PathOutcome::Partial(path, why) = find(&paths, here, there) else { panic!("a wall") };
    assert_eq!(why, PartialReason::NotLoaded, "there might be a way around");
    let last = path.points_m[path.points_m.len() - 1];
    assert!((8.5..10.0).contains(&last[0]) && (last[2] - 5.0).abs() < 1.0, "{last:?}");
    // A pen from which no way leads.
    let grid = level(|cells| {
        fill(cells, [-10, 0, -10], [10, 9, 10], Cell::full(ROCK));
        fill(cells, [-8, 0, -8], [8, 9, 8], Cell::AIR);
    });
    let paths = around_origin(&grid, PathOptions::default());
    let PathOutcome::Partial(_, why) = find(&paths, here, there) else { panic!("a pen") };
    assert_eq!(why, PartialReason::Unreachable);
    let limited = PathOptions { max_rects: 3, ..PathOptions::default() };
    let open = around_origin(&level(|_| ()), limited);
    let PathOutcome::Partial(_, why) = find(&open, here, [-40.0, 0.0, -40.0]) else {
        panic!("a limit")
    };
    assert_eq!(why, PartialReason::SearchLimit);
}

#[test]
fn water_is_forbidden_or_costs_and_shallow_water_is_dry() {
    let pond = |depth: i32| {
        level(|cells| {
            fill(cells, [-6, -depth, -30], [6, 0, 30], Cell::full(WATER));
        })
    };
    let (from, to) = ([-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]);
    let way = |grid: &VoxelGrid, agent: Agent| {
        let paths = around_origin(grid, PathOptions { agent, ..PathOptions::default() });
        find(&paths, from, to)
    };
    let agent = Agent { climb_m: 4.0, height_m: 4.0, ..Agent::default() };
    let PathOutcome::Complete(around) = way(&pond(3), agent) else { panic!("around the pond") };
    assert!(around.length_m > 60.0 && around.wet_m == 0.0, "{around:?}");
    let swim = Agent { water: WaterRule::Cost(1.5), ..agent };
    let PathOutcome::Complete(through) = way(&pond(3), swim) else { panic!("through it") };
    assert!(through.length_m < 60.0 && through.wet_m > 8.0, "{through:?}");
    let tired = Agent { water: WaterRule::Cost(50.0), ..agent };
    let PathOutcome::Complete(dry) = way(&pond(3), tired) else { panic!("around it") };
    assert!(dry.wet_m == 0.0);
    let wader = Agent { wade_m: 3.5, ..agent };
    let PathOutcome::Complete(wading) = way(&pond(3), wader) else { panic!("wading") };
    assert!(wading.length_m < 60.0 && wading.wet_m == 0.0);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "voxels of 1 m, the placement of 0.5 m")]
fn a_placement_with_voxels_of_another_size_is_refused() {
    let paths = Paths::new(PathOptions::default(), 1.0).expect("options in their ranges");
    let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
    paths.find(&placement, [0.0; 3], [9.0; 3]);
}

#[test]
fn empty_and_full_worlds_have_no_floors() {
    for cell in [Cell::AIR, Cell::full(ROCK)] {
        let mut cells = DenseBox::new(Region::new([-64, -64, -64], [64, 64, 64]));
        cells.fill(cell.material);
        let mut grid = VoxelGrid::default();
        grid.write(&cells).expect("unlisted chunks are air");
        let tiles = Region::new([-32; 3], [32; 3]).blocks::<5>().collect();
        let paths = paths_over(&grid, PathOptions::default(), tiles);
        assert_eq!(paths.counts(), [0, 0]);
        assert_eq!(find(&paths, [0.5; 3], [9.0; 3]), PathOutcome::StartOffMesh);
    }
}

#[test]
fn unknown_ground_is_not_walked_on_until_it_comes() {
    let unlisted = UnlistedChunks::Unknown;
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let ground = level(|_| ());
    let load = |grid: &mut VoxelGrid, region: Region| {
        for chunk in region.blocks::<5>() {
            let mut cells = DenseBox::default();
            ground.read(chunk.region(), 0, &mut cells).expect("all is held");
            grid.load(&cells);
        }
    };
    load(&mut grid, Region::new([-64, -64, -64], [32, 64, 64]));
    let mut paths = Paths::new(PathOptions::default(), 1.0).expect("options in their ranges");
    paths.cover(Region::new([-32, -32, -32], [64, 32, 32]).blocks::<5>());
    paths.update(&grid, usize::MAX);
    // The tiles beside unknown ground are unknown, too.
    assert!(paths.is_made(ChunkPos::new(-1, 0, 0)) && !paths.is_made(ChunkPos::new(0, 0, 0)));
    let (from, to) = ([-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]);
    assert_eq!(find(&paths, from, to), PathOutcome::GoalNotLoaded);
    load(&mut grid, Region::new([32, -64, -64], [96, 64, 64]));
    let done = paths.update(&grid, usize::MAX);
    assert!(done.renewed.contains(&ChunkPos::new(0, 0, 0)));
    assert!(!done.renewed.contains(&ChunkPos::new(-1, 0, 0)));
    assert!(find(&paths, from, to).is_complete());
    grid.forget(ChunkPos::new(0, -1, 0));
    paths.update(&grid, usize::MAX);
    assert!(!find(&paths, from, to).is_complete());
}

#[test]
fn paths_at_the_limits_of_the_grid_are_those_at_the_origin() {
    let lengths: Vec<f64> = [0, LIMIT - 32, -LIMIT]
        .into_iter()
        .map(|at| {
            let mut grid = VoxelGrid::default();
            let mut cells = DenseBox::new(Region::new([at; 3], [at + 32; 3]));
            for voxel in cells.region().voxels() {
                let by = voxel - VoxelPos::splat(at);
                let is_wall = (14..18).contains(&by.x) && by.z < 24;
                if by.y < 8 || (is_wall && by.y < 20) {
                    cells.set(voxel, Cell::full(ROCK));
                }
            }
            grid.write(&cells).expect("unlisted chunks are air");
            let around = Region::new([at; 3], [at + 32; 3]).grow(32);
            let paths = paths_over(&grid, PathOptions::default(), around.blocks::<5>().collect());
            let point = |x: f64, z: f64| [x, 8.0, z].map(|v| v + f64::from(at));
            let outcome = find(&paths, point(4.0, 6.0), point(28.0, 6.0));
            let PathOutcome::Complete(path) = outcome else { panic!("around the wall") };
            path.length_m
        })
        .collect();
    assert!(lengths[0] > 40.0, "{lengths:?}");
    assert!(lengths.iter().all(|length| (length - lengths[0]).abs() < 1e-6), "{lengths:?}");
}

#[test]
fn an_edit_makes_the_tiles_that_it_reaches_and_no_others() {
    let mut grid = level(|_| ());
    let mut paths = around_origin(&grid, PathOptions::default());
    assert_eq!(paths.update(&grid, usize::MAX).made, 0);
    let mut editor = Editor::default();
    // In the middle of a tile, near the ground above and below.
    editor.apply(&mut grid, &EditOp::dig_ball([16.0, 0.0, 16.0], 3.0), None).expect("held");
    let done = paths.update(&grid, usize::MAX);
    assert_eq!(done.made, 2);
    assert_eq!(done.renewed, [ChunkPos::new(0, -1, 0), ChunkPos::new(0, 0, 0)]);
    // At the corner of four.
    editor.apply(&mut grid, &EditOp::dig_ball([0.0, 0.0, 0.0], 3.0), None).expect("held");
    assert_eq!(paths.update(&grid, usize::MAX).made, 8);
    // Deep in the rock and high in the air.
    editor.apply(&mut grid, &EditOp::fill_ball(3, [16.0, -20.0, 16.0], 2.0), None).expect("held");
    assert!(paths.update(&grid, usize::MAX).renewed.is_empty());
}

#[test]
fn slow_paths_are_about_as_short_as_those_of_steps_from_path_cell_to_path_cell() {
    let (mut sums, mut worst) = ([0.0, 0.0], 0.0_f64);
    for seed in 0..16 {
        let (cells, options) = (random_world(seed), random_options(seed));
        let options = PathOptions { snap_m: 0.01, cells_per_voxel: 1, ..options };
        let options = PathOptions {
            agent: Agent { water: WaterRule::Forbidden, ..options.agent },
            ..options
        };
        let gauge = Gauge::new(&options, 1.0).expect("options in their ranges");
        let grid = grid_of(&cells);
        let world = NaiveWorld::new(&gauge, &cells, grid.materials());
        let paths = paths_over(&grid, options, covered(&cells));
        let (kept, mut random) = (world.kept(), Random(seed));
        for _ in 0..if kept.is_empty() { 0 } else { 8 } {
            let [from, to] = [0, 1].map(|_| kept[random.below(kept.len() as u32) as usize]);
            let [a, b] = [from, to].map(|at| point_of(&gauge, &world, at));
            let PathOutcome::Complete(path) = find(&paths, a, b) else { continue };
            let flat: f64 = path
                .points_m
                .windows(2)
                .map(|pair| (pair[0][0] - pair[1][0]).hypot(pair[0][2] - pair[1][2]))
                .sum();
            let steps = world.shortest(from, to);
            sums = [sums[0] + flat, sums[1] + steps];
            worst = worst.max(if steps > 4.0 { flat / steps } else { 0.0 });
        }
    }
    assert!(sums[1] > 300.0, "paths are compared: {sums:?}");
    assert!(sums[0] < 1.05 * sums[1], "{sums:?}");
    assert!(worst < 1.5, "{worst}");
}

#[test]
fn hills_are_the_same_on_any_number_of_threads() {
    let hills = Hills::new(3);
    let mut grid = VoxelGrid::default();
    for chunk in Region::new([0, -32, 0], [96, 96, 96]).blocks::<5>() {
        let mut cells = DenseBox::new(chunk.region());
        hills.fill(&mut cells, 0);
        grid.write(&cells).expect("unlisted chunks are air");
    }
    let tiles = grid.chunks();
    let serial = {
        let mut paths = Paths::new(PathOptions::default(), 1.0).expect("options in their ranges");
        paths.cover(tiles.iter().rev().copied());
        while paths.update(&grid, 1).left > 0 {}
        paths
    };
    assert!(serial.counts()[0] > 100);
    assert_eq!(paths_over(&grid, PathOptions::default(), tiles.clone()).digest(), serial.digest());
    #[cfg(feature = "parallel")]
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let paths = pool.install(|| paths_over(&grid, PathOptions::default(), tiles.clone()));
        assert_eq!(paths.digest(), serial.digest());
    }
}
