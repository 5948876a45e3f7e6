//! Scatter against its twin, and what holds of points: apart, on the mesh, the same for all orders
//! and threads, renewed where edits touch.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::mesh::PAD;
use crate::voxel::{
    Cell, DenseBox, GridOptions, LIMIT, MaterialTable, MipBlock, Region, UnlistedChunks, VoxelGrid,
    VoxelPos, WATER,
};

const GRASS: u8 = 2;
const ROCK: u8 = 8;

fn rules(rules: Vec<ScatterRule>) -> ScatterRules {
    ScatterRules::new(rules).expect("the rules are valid")
}

/// Everything, one voxel apart, whatever the slope.
fn everything() -> ScatterRule {
    ScatterRule {
        spacing_voxels: 1.0,
        slope_degrees: [0.0, 180.0],
        water: ScatterWater::Either,
        ..ScatterRule::default()
    }
}

/// A floor of grass up to `height`, over the whole of `region`.
fn floor(region: Region, height: i32) -> DenseBox {
    let mut cells = DenseBox::new(region);
    for at in region.voxels().filter(|at| at.y < height) {
        cells.set(at, Cell::new(GRASS, 255));
    }
    cells
}

/// Hills with caves, loose cells and a lake, the same wherever `at` is.
fn rough(region: Region, at: VoxelPos, seed: u64) -> DenseBox {
    let mut cells = DenseBox::new(region);
    for pos in region.voxels() {
        let [x, y, z] = (pos - at).to_array().map(f64::from);
        let turn = (seed % 100) as f64;
        let hills = 3.0 * (0.4 * x + turn).sin() + 3.0 * (0.3 * z + 2.0 * turn).cos() - y;
        let cave = (0.6 * x + turn).sin() + (0.7 * y).sin() + (0.5 * z).cos();
        let h = pattern::hash(
            seed ^ pattern::hash((pos.x as u64) << 40 ^ (pos.y as u64) << 20 ^ pos.z as u64),
        );
        let solid = (hills > 0.0 && cave < 1.5) || h.is_multiple_of(61);
        let fill = (hills.clamp(0.0, 1.0) * 255.0) as u8;
        let cell = match solid {
            true => Cell::new(if h & 4 == 0 { GRASS } else { ROCK }, fill.max(h as u8 >> 1)),
            false if y < -1.0 => Cell::new(WATER, 255),
            false => Cell::AIR,
        };
        cells.set(pos, cell);
    }
    cells
}

fn read(grid: &VoxelGrid, region: Region, mip: u8) -> DenseBox {
    let mut cells = DenseBox::default();
    grid.read_known(region, mip, &mut cells);
    cells
}

fn scattered(rules: &ScatterRules, grid: &VoxelGrid, block: MipBlock) -> Vec<Instance> {
    let cells = read(grid, block.cells().grow(PAD), block.mip);
    let mut out = Vec::new();
    rules.scatter(block, &cells, grid.materials(), &mut ScatterScratch::default(), &mut out);
    out
}

/// Positions of the world, x and z, of instances of a block.
fn in_world(block: MipBlock, instance: &Instance) -> [f64; 2] {
    let min = block.voxels().min;
    [(min.x, 0), (min.z, 2)].map(|(v, axis)| f64::from(v) + f64::from(instance.position[axis]))
}

fn rule() -> impl Strategy<Value = ScatterRule> {
    let slope = select(vec![[0.0, 180.0], [0.0, 43.3], [61.7, 97.1], [119.3, 180.0]]);
    let water = select(vec![ScatterWater::Dry, ScatterWater::Under, ScatterWater::Either]);
    let materials = select(vec![vec![], vec![GRASS], vec![ROCK, 3]]);
    let some = (any::<u64>(), select(vec![0.7f32, 1.0, 2.3, 5.0]), slope, water, materials);
    (some, select(vec![1.0f32, 0.4, 0.07]), select(vec![0.0f32, 1.0])).prop_map(
        |((seed, spacing_voxels, slope_degrees, water, materials), density, patches)| ScatterRule {
            seed,
            spacing_voxels,
            slope_degrees,
            water,
            materials,
            density,
            patches,
            patch_voxels: 9.0,
            ..ScatterRule::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Eight blocks meet in the middle of the region, also at the limits of the grid.
    #[test]
    fn blocks_have_what_the_twin_finds_in_one_mesh_of_all(
        wanted in prop::collection::vec(rule(), 1..4),
        seed: u64,
        mip in 0u8..=2,
        corner in prop::array::uniform3(select(vec![0, -32, 96, -(1 << 20), (LIMIT >> 2) - 32, 32 - (LIMIT >> 2)])),
    ) {
        let rules = rules(wanted);
        let at = VoxelPos::from(corner);
        let whole = Region::one(at).grow(6);
        let cells = rough(whole.grow(PAD), at, seed);
        let table = MaterialTable::default();
        let all = naive::instances(&rules, mip, &cells, &table);
        let (mut found, mut out, mut count) = (ScatterScratch::default(), Vec::new(), 0);
        for pos in whole.coarser(5).voxels() {
            let block = MipBlock { mip, pos };
            let part = block.cells().intersect(whole);
            let mut own = DenseBox::new(part.grow(PAD));
            own.copy_from(&cells);
            rules.scatter_part(block, part, &own, &table, &mut found, &mut out);
            prop_assert_eq!(&out, &naive::of_block(&all, whole.min, block));
            count += out.len();
        }
        prop_assert_eq!(count, all.len());
    }

    #[test]
    fn after_edits_the_view_has_what_a_rebuild_has_and_renewed_only_what_they_touched(
        seed: u64,
        digs in prop::collection::vec((prop::array::uniform3(-6.0f64..6.0), 1.0f64..5.0, any::<bool>()), 1..4),
    ) {
        let set = Arc::new(rules(vec![
            everything(),
            ScatterRule { seed: 5, spacing_voxels: 2.5, patches: 0.5, ..ScatterRule::default() },
        ]));
        let mut grid = VoxelGrid::default();
        grid.write(&rough(Region::new([-10; 3], [10; 3]), VoxelPos::ZERO, seed)).expect("all is held");
        let corners = Region::new([-1; 3], [1; 3]);
        let blocks: Vec<_> =
            (0..2).flat_map(|mip| corners.voxels().map(move |pos| MipBlock { mip, pos })).collect();
        let mut view = Scatter::new(Arc::clone(&set));
        view.show(&blocks);
        view.update(&grid, usize::MAX);
        for (centre, radius, is_dig) in digs {
            let before: BTreeMap<_, _> =
                blocks.iter().map(|&block| (block, view.instances(block).to_vec())).collect();
            let reach = radius as i32 + 2;
            let touched = Region::one(VoxelPos::from(centre.map(|v| v.floor() as i32))).grow(reach);
            let mut cells = read(&grid, touched, 0);
            let is_in = |at: &VoxelPos| {
                let off = at.to_array().map(|v| f64::from(v) + 0.5);
                (0..3).map(|i| (off[i] - centre[i]).powi(2)).sum::<f64>() < radius * radius
            };
            for at in touched.voxels().filter(is_in) {
                cells.set(at, if is_dig { Cell::AIR } else { Cell::new(ROCK, 255) });
            }
            grid.write(&cells).expect("all is held");
            let renewed = view.update(&grid, usize::MAX).renewed;
            for &block in &blocks {
                let now = view.instances(block);
                prop_assert_eq!(now, &scattered(&set, &grid, block)[..]);
                prop_assert_eq!(renewed.contains(&block), now != before[&block]);
                // Cells out of reach keep what they had.
                let cells = touched.coarser(block.mip.into()).grow(PAD);
                let local = Region { min: cells.min - block.cells().min, max: cells.max - block.cells().min };
                let kept = |i: &&Instance| !i.stands_in(local);
                prop_assert!(now.iter().filter(kept).eq(before[&block].iter().filter(kept)));
            }
        }
    }
}

#[test]
fn points_of_a_floor_are_apart_dense_and_nested_across_levels_and_blocks() {
    let spacing = 2.0;
    let set = rules(vec![ScatterRule { spacing_voxels: spacing, ..ScatterRule::default() }]);
    let mut grid = VoxelGrid::default();
    grid.write(&floor(Region::new([-128, -8, -128], [128, 8, 128]), 0)).expect("all is held");
    let mut finer: Vec<[f64; 2]> = Vec::new();
    for mip in 0..=3u8 {
        let edge = 64 >> mip >> 5;
        let blocks = Region::new([-edge.max(1), -1, -edge.max(1)], [edge.max(1), 1, edge.max(1)]);
        let mut points = Vec::new();
        for pos in blocks.voxels() {
            let block = MipBlock { mip, pos };
            points.extend(scattered(&set, &grid, block).iter().map(|i| in_world(block, i)));
        }
        points.retain(|p| p.iter().all(|v| v.abs() < 64.0));
        let apart = f64::from(spacing) * f64::from(1u32 << mip);
        for (i, a) in points.iter().enumerate() {
            for b in &points[..i] {
                let distance = (a[0] - b[0]).hypot(a[1] - b[1]);
                assert!(distance >= apart, "mip {mip}: {a:?} and {b:?} are {distance} apart");
            }
        }
        let share = points.len() as f64 * apart * apart / (128.0 * 128.0);
        assert!((0.45..0.75).contains(&share), "mip {mip}: {share}");
        let is_near = |a: &[f64; 2], b: &[f64; 2]| (0..2).all(|i| (a[i] - b[i]).abs() < 2e-3);
        for point in points.iter().filter(|_| mip > 0) {
            assert!(finer.iter().any(|other| is_near(point, other)), "mip {mip}: {point:?} is new");
        }
        finer = points;
    }
}

#[test]
fn order_and_threads_change_nothing() {
    let set = rules(vec![everything(), ScatterRule { seed: 2, ..ScatterRule::default() }]);
    let mut grid = VoxelGrid::default();
    grid.write(&rough(Region::new([-34; 3], [34; 3]), VoxelPos::ZERO, 3)).expect("all is held");
    let blocks: Vec<_> =
        Region::new([-1; 3], [1; 3]).voxels().map(|pos| MipBlock { mip: 0, pos }).collect();
    let one: Vec<_> = blocks.iter().map(|&block| scattered(&set, &grid, block)).collect();
    let snapshot = VoxelGrid::from_snapshot(&grid.snapshot());
    let others: Vec<_> = std::thread::scope(|scope| {
        let (set, grid) = (&set, &snapshot);
        let jobs: Vec<_> = blocks
            .iter()
            .rev()
            .map(|&block| scope.spawn(move || scattered(set, grid, block)))
            .collect();
        jobs.into_iter().rev().map(|job| job.join().expect("no panic")).collect()
    });
    assert!(one.iter().map(Vec::len).sum::<usize>() > 1000);
    assert_eq!(one, others);
}

/// A room in solid rock: a floor of grass, a ceiling, and water up to a height.
fn room(water: i32) -> (Region, DenseBox) {
    let block = MipBlock::new(0, [0; 3]).cells();
    let mut cells = DenseBox::new(block.grow(PAD));
    cells.fill(ROCK);
    let hollow = Region::new([4, 8, 4], [28, 20, 28]);
    for at in hollow.voxels() {
        cells.set(at, if at.y < water { Cell::new(WATER, 255) } else { Cell::AIR });
        if at.y == 8 {
            cells.set(VoxelPos { y: 7, ..at }, Cell::new(GRASS, 255));
        }
    }
    (hollow, cells)
}

fn in_room(rule: ScatterRule, water: i32) -> Vec<Instance> {
    let (_, cells) = room(water);
    let mut out = Vec::new();
    let block = MipBlock::new(0, [0; 3]);
    let table = MaterialTable::default();
    rules(vec![rule]).scatter(block, &cells, &table, &mut ScatterScratch::default(), &mut out);
    out
}

#[test]
fn floors_and_ceilings_of_a_cave_have_points_of_the_same_lines() {
    let all = in_room(everything(), 0);
    let floors: Vec<u64> = all.iter().filter(|i| i.normal[1] > 0.5).map(|i| i.id).collect();
    let mut ceilings: Vec<u64> = all.iter().filter(|i| i.normal[1] < -0.5).map(|i| i.id).collect();
    ceilings.sort_unstable();
    assert!(floors.len() > 250);
    let inner = |i: &&Instance| {
        (6.0..26.0).contains(&i.position[0]) && (6.0..26.0).contains(&i.position[2])
    };
    for floor in all.iter().filter(inner).filter(|i| i.normal[1] > 0.5) {
        assert!(
            (floor.position[1] - 8.0).abs() < 1e-3 && floor.material == GRASS && floor.cell[1] == 7
        );
        assert!(ceilings.binary_search(&floor.id).is_ok(), "a line that meets one surface only");
    }
    assert!(
        all.iter().all(|i| (0.75..=1.25).contains(&i.size) && (0.0..6.3).contains(&i.yaw_radians))
    );
}

#[test]
fn slopes_materials_heights_water_and_density_select() {
    let count = |rule: ScatterRule, water: i32| in_room(rule, water).len();
    let all = count(everything(), 0);
    let steep = |slope_degrees| ScatterRule { slope_degrees, ..everything() };
    let parts = [[0.0, 60.0], [60.001, 120.0], [120.001, 180.0]].map(|s| count(steep(s), 0));
    assert_eq!(parts.iter().sum::<usize>(), all);
    assert!(parts[0] > 250 && parts[2] > 250, "{parts:?}");
    let of = |material| count(ScatterRule { materials: vec![material], ..everything() }, 0);
    assert_eq!(of(GRASS) + of(ROCK), all);
    assert_eq!(of(3), 0);
    let high = |height_voxels| count(ScatterRule { height_voxels, ..everything() }, 0);
    assert_eq!(high([-100.0, 14.0]) + high([14.001, 100.0]), all);
    let wet = |water, level| count(ScatterRule { water, ..everything() }, level);
    assert_eq!(wet(ScatterWater::Under, 0), 0);
    assert_eq!(wet(ScatterWater::Under, 20), all);
    let half = [ScatterWater::Under, ScatterWater::Dry].map(|water| wet(water, 14));
    assert!(half.iter().sum::<usize>() == all && half.iter().all(|&part| part > 250), "{half:?}");
    let dense = |density| count(ScatterRule { density, ..everything() }, 0) as f64 / all as f64;
    assert!((dense(0.5) - 0.5).abs() < 0.08 && (dense(0.05) - 0.05).abs() < 0.04);
    assert_eq!(dense(0.0), 0.0);
    let patchy = ScatterRule { patches: 1.0, patch_voxels: 8.0, ..everything() };
    let share = count(patchy, 0) as f64 / all as f64;
    assert!((0.2..0.8).contains(&share), "{share}");
}

#[test]
fn blocks_of_one_material_and_mips_without_rules_are_empty() {
    let set = rules(vec![everything()]);
    let mut out = vec![Instance::default()];
    let block = MipBlock::new(0, [0; 3]);
    let (mut scratch, table) = (ScatterScratch::default(), MaterialTable::default());
    let mut cells = DenseBox::new(block.cells().grow(PAD));
    for material in [0, ROCK] {
        cells.fill(material);
        set.scatter(block, &cells, &table, &mut scratch, &mut out);
        assert_eq!(out, []);
    }
    assert!(set.has_mip(3) && !set.has_mip(4));
    let far = MipBlock::new(4, [0; 3]);
    set.scatter(far, &floor(far.cells().grow(PAD), 9), &table, &mut scratch, &mut out);
    assert_eq!(out, []);
    rules(Vec::new()).scatter(block, &floor(cells.region(), 9), &table, &mut scratch, &mut out);
    assert_eq!(out, []);
}

#[test]
fn the_view_waits_for_unknown_blocks_and_makes_no_more_than_the_limit() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let [here, there] = [0, 1].map(|x| MipBlock::new(0, [x, 0, 0]));
    let mut view = Scatter::new(Arc::new(rules(vec![everything()])));
    view.show(&[here, there, here]);
    assert_eq!(view.update(&grid, usize::MAX), ScatterUpdate::default());
    grid.load(&floor(here.voxels(), 9));
    assert_eq!(view.update(&grid, usize::MAX).renewed, [here]);
    grid.load(&floor(there.voxels(), 9));
    // What comes beside a block changes its border, so both are to be made.
    let first = view.update(&grid, 1);
    assert_eq!((first.renewed, first.left), (vec![here], 1));
    assert_eq!(view.update(&grid, 1).renewed, [there]);
    assert_eq!(view.update(&grid, 1), ScatterUpdate::default());
    view.show(&[there]);
    assert_eq!(view.blocks(), [there]);
    assert!(view.instances(here).is_empty() && view.instances(there).len() > 500);
}

#[test]
fn ground_that_ends_where_a_chunk_does_has_points_and_deep_stone_none() {
    let set = Arc::new(rules(vec![everything()]));
    let mut grid = VoxelGrid::default();
    grid.write(&floor(Region::new([-32, -96, -32], [64, 32, 64]), 0)).expect("all is held");
    let blocks = [-3, -2, -1, 0].map(|y| MipBlock::new(0, [0, y, 0]));
    let mut view = Scatter::new(Arc::clone(&set));
    view.show(&blocks);
    view.update(&grid, usize::MAX);
    blocks.iter().for_each(|&b| assert_eq!(view.instances(b), scattered(&set, &grid, b)));
    let has_points = blocks.map(|block| view.instances(block).len() > 500);
    assert_eq!(has_points, [true, false, true, false], "the lowest has a lower side");
}

#[test]
fn too_many_rules_are_refused() {
    let error = ScatterRules::new(vec![everything(); 257]).expect_err("257 rules");
    assert_eq!(error.to_string(), "scatter rule 256: 257 is not allowed; at most 256 rules");
}

#[test]
fn endless_edits_do_not_stop_new_blocks() {
    let mut grid = VoxelGrid::default();
    grid.write(&floor(Region::new([-32, -32, -32], [96, 64, 64]), 8)).expect("all is held");
    let mut scatter = Scatter::new(Arc::new(rules(vec![everything()])));
    let blocks = [0, 1, 2].map(|x| MipBlock::new(0, [x, 0, 0]));
    scatter.show(&blocks[..2]);
    scatter.update(&grid, usize::MAX);
    scatter.show(&blocks);
    let mut renewed = [0; 3];
    for i in 0..40 {
        // At the border of the first two.
        let edit = Region::new([24, 4, 8], [40, 10, 16]);
        grid.write(&floor(edit, 6 + i % 3)).expect("all is held");
        for block in scatter.update(&grid, 1).renewed {
            renewed[block.pos.x as usize] += 1;
        }
    }
    assert!(renewed[0] > 5 && renewed[1] > 5 && renewed[2] == 1, "{renewed:?}");
}

#[test]
fn rules_that_together_would_fill_memory_are_refused() {
    let dense = |seed| ScatterRule { seed, spacing_voxels: 0.125, max_mip: 0, ..everything() };
    assert!(ScatterRules::new((0..16).map(dense).collect()).is_ok());
    let error = ScatterRules::new((0..17).map(dense).collect()).expect_err("too many");
    assert!(error.to_string().contains("1024"), "{error}");
    let wide = ScatterRule { size: [-3e38, 3e38], ..everything() };
    assert!(ScatterRules::new(vec![wide]).is_err());
}
