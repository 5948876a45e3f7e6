//! The views against their rebuild, and what a user may do wrong.

use super::*;
use crate::voxel::{ChunkPos, VoxelPos};
use proptest::prelude::*;
use std::collections::BTreeMap;

const ROCK: u8 = 8;

fn hills(p: [f64; 3]) -> f64 {
    5.0 * (p[0] * 0.11).sin() * (p[2] * 0.07).sin() - p[1]
}

/// A world of which everything is known.
fn small_world() -> Terrain {
    let grid = GridOptions::default();
    let mut terrain = Terrain::new(TerrainOptions { grid, ..TerrainOptions::default() });
    terrain.fill([-32.0; 3], [32.0; 3], |part| part.fill_sdf(ROCK, hills)).unwrap();
    terrain
}

fn shown(terrain: &Terrain) -> BTreeMap<MipBlock, BlockMesh> {
    let mesh = |block| (block, (**terrain.mesh(block).unwrap()).clone());
    terrain.meshed_blocks().into_iter().map(mesh).collect()
}

fn rebuilt(terrain: &Terrain) -> BTreeMap<MipBlock, BlockMesh> {
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::default();
    for chunk in terrain.grid().chunks() {
        terrain.grid().read(chunk.region(), 0, &mut cells).unwrap();
        grid.write(&cells).unwrap();
    }
    let mut fresh = Terrain::from_grid(grid, terrain.placement());
    fresh.update(&[], Budget::Unlimited, |_| {});
    shown(&fresh)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn meshes_equal_their_rebuild_after_random_edits(
        edits in proptest::collection::vec(
            ((-34..34i32, -12..12i32, -34..34i32), 1..7i32, any::<bool>(), 0usize..12), 1..5)
    ) {
        let mut terrain = small_world();
        let mut drawn: BTreeMap<MipBlock, BlockMesh> = BTreeMap::new();
        for ((x, y, z), radius, dig, budget) in edits {
            let [centre, reach] = [[x, y, z].map(|v| v as f32), [radius as f32; 3]];
            let min = [0, 1, 2].map(|i| centre[i] - reach[i]);
            let max = [0, 1, 2].map(|i| centre[i] + reach[i]);
            let new = if dig { Cell::AIR } else { Cell::full(4) };
            terrain.edit_cells(min, max, |_, _| new).unwrap();
            terrain.update(&[], Budget::Blocks(budget), |_| {});
            for swap in terrain.mesh_swaps() {
                for block in &swap.removed {
                    prop_assert!(drawn.remove(block).is_some());
                }
                for shown in &swap.added {
                    let mesh = (*shown.mesh).clone();
                    prop_assert!(drawn.insert(shown.block, mesh).is_none());
                }
            }
            prop_assert!(drawn == shown(&terrain), "swaps lead to what is shown");
        }
        terrain.update(&[], Budget::Unlimited, |_| {});
        prop_assert!(shown(&terrain) == rebuilt(&terrain));
    }
}

#[test]
fn a_set_is_published_whole_or_not_at_all() {
    let mut terrain = small_world();
    let jobs = terrain.plan_meshes(&[]).unwrap().len();
    assert!(jobs >= 8);
    let mut terrain = small_world();
    for _ in 1..jobs {
        terrain.update(&[], Budget::Blocks(1), |_| {});
        assert_eq!(terrain.mesh_swaps().count(), 0);
        assert!(terrain.meshed_blocks().is_empty());
    }
    terrain.update(&[], Budget::Blocks(1), |_| {});
    assert_eq!(terrain.mesh_swaps().count(), 1);
    assert_eq!(terrain.meshed_blocks().len(), 8);
    terrain.update(&[], Budget::Unlimited, |_| {});
    assert_eq!(terrain.mesh_swaps().count(), 0, "nothing changed");
}

#[test]
fn edits_during_a_plan_come_after_it() {
    let mut terrain = small_world();
    terrain.update(&[], Budget::Blocks(1), |_| {});
    terrain.edit_cells([-3.0; 3], [3.0; 3], |_, _| Cell::AIR).unwrap();
    while terrain.meshed_blocks().is_empty() {
        terrain.update(&[], Budget::Blocks(1), |_| {});
    }
    terrain.update(&[], Budget::Unlimited, |_| {});
    assert!(shown(&terrain) == rebuilt(&terrain));
}

#[test]
fn jobs_run_on_any_thread() {
    let mut terrain = small_world();
    let jobs = terrain.plan_meshes(&[]).unwrap();
    assert!(terrain.plan_meshes(&[]).is_none(), "one plan at a time");
    let results = std::thread::scope(|scope| {
        let run = |job: MeshJob| scope.spawn(move || job.run(&mut MeshScratch::default()));
        let threads: Vec<_> = jobs.into_iter().map(run).collect();
        threads.into_iter().rev().map(|thread| thread.join().unwrap()).collect()
    });
    terrain.publish_meshes(results);
    assert!(shown(&terrain) == rebuilt(&terrain));
}

#[test]
#[should_panic(expected = "published whole")]
fn a_part_of_a_plan_is_the_callers_bug() {
    let mut terrain = small_world();
    let jobs = terrain.plan_meshes(&[]).unwrap();
    let one = jobs[0].run(&mut MeshScratch::default());
    terrain.publish_meshes(vec![one]);
}

#[test]
fn edits_beyond_the_limits_are_refused_by_name() {
    let mut terrain = small_world();
    let before = terrain.grid().digest().unwrap();
    let error = terrain.edit_cells([2e9; 3], [2.1e9; 3], |_, cell| cell).unwrap_err();
    assert!(error.to_string().contains("beyond the limits"), "{error}");
    let error = terrain.fill([-f32::INFINITY; 3], [0.0; 3], |_| {}).unwrap_err();
    assert!(error.to_string().contains("beyond the limits"), "{error}");
    let error = terrain.edit_cells([0.0; 3], [1e6; 3], |_, cell| cell).unwrap_err();
    assert!(matches!(error, TerrainError::TooLarge(_)));
    let nothing = terrain.edit_cells([f32::NAN; 3], [1.0; 3], |_, _| Cell::full(3)).unwrap();
    assert!(nothing.is_empty());
    assert_eq!(terrain.grid().digest().unwrap(), before);
}

#[test]
fn unknown_ground_is_not_edited() {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let error = terrain.edit_cells([0.0; 3], [1.0; 3], |_, cell| cell).unwrap_err();
    assert!(matches!(error, TerrainError::NotHeld(_)), "{error}");
}

#[test]
fn metres_and_voxels_agree_at_other_sizes() {
    let placement = Placement { voxel_size_m: 0.25, origin_m: [100.0, 0.0, 0.0] };
    let options = TerrainOptions { placement, ..TerrainOptions::default() };
    let mut terrain = Terrain::new(options);
    let floor = |p: [f64; 3]| 1.0 - p[1];
    terrain.fill([96.0, -8.0, -8.0], [104.0, 8.0, 8.0], |part| part.fill_sdf(ROCK, floor)).unwrap();
    let cell = |y| terrain.grid().cell(VoxelPos::new(0, y, 0)).unwrap();
    assert_eq!((cell(3), cell(4)), (Cell::full(ROCK), Cell::AIR), "a floor at 1 m, 4 voxels");
    terrain.update(&[], Budget::Unlimited, |_| {});
    let mesh = terrain.mesh(ChunkPos::new(0, 0, 0)).unwrap();
    let heights = mesh.solid.positions.iter().map(|&p| terrain.placement().world_from_voxel(p)[1]);
    assert_eq!(heights.fold(0.0, f32::max), 1.0);
}

#[test]
fn edits_in_metres_reach_the_views_and_are_undone() {
    use crate::edit::EditOp;
    let placement = Placement { voxel_size_m: 0.5, origin_m: [100.0, 0.0, -7.0] };
    let mut terrain = Terrain::from_grid(VoxelGrid::default(), placement);
    let rock = terrain.edit(&EditOp::fill_ball(8, [100.0, 10.0, 0.0], 6.0)).expect("air is held");
    let ideal = 4.188_790_2 * 12f64.powi(3);
    assert!((rock.added.voxels(8) / ideal - 1.0).abs() < 0.01);
    let top = |terrain: &mut Terrain| {
        let hit = terrain.ray([100.0, 40.0, 0.0], [0.0, -1.0, 0.0], 100.0);
        hit.map(|hit| hit.point[1])
    };
    assert!(top(&mut terrain).is_some_and(|y| (y - 16.0).abs() < 0.05));
    terrain.edit(&EditOp::dig_ball([100.0, 16.0, 0.0], 3.0)).expect("it is held");
    assert!(top(&mut terrain).is_some_and(|y| (y - 13.0).abs() < 0.1));
    terrain.undo().expect("it is held");
    assert!(top(&mut terrain).is_some_and(|y| (y - 16.0).abs() < 0.05));
    terrain.undo().expect("it is held");
    assert_eq!(top(&mut terrain), None);
    assert!(terrain.redo().expect("it is held").is_some());
    assert!(top(&mut terrain).is_some());
}

#[test]
fn a_stroke_shows_in_the_swaps_of_a_viewer_and_so_does_its_undoing() {
    use crate::edit::EditOp;
    let lod = LodOptions { max_mip: 2, near_voxels: 24.0, ..LodOptions::default() };
    let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    let viewers = [Viewer { position_m: [3.0, 9.0, -2.0], distance_m: 130.0 }];
    let mut drawn = BTreeMap::new();
    let mut frame = |terrain: &mut Terrain| {
        terrain.update(&viewers, Budget::Unlimited, |part| part.fill_sdf(ROCK, hills));
        let mut changed = Vec::new();
        for swap in terrain.mesh_swaps() {
            swap.removed.iter().for_each(|block| drop(drawn.remove(block)));
            for shown in swap.added {
                changed.push(shown.block);
                drawn.insert(shown.block, (*shown.mesh).clone());
            }
        }
        (changed, drawn.clone())
    };
    let (_, before) = frame(&mut terrain);
    let hit = terrain.ray([3.0, 9.0, -2.0], [0.0, -1.0, 0.0], 50.0).expect("there is ground");
    let dug = terrain.edit(&EditOp::dig_ball(hit.point, 4.0)).expect("it is near");
    assert!(dug.removed.voxels(ROCK) > 50.0 && dug.added.total() == 0);
    let (changed, after) = frame(&mut terrain);
    assert!(changed.iter().any(|block| block.voxels().contains(hit.voxel)));
    assert!(after != before);
    terrain.undo().expect("it is near");
    let (changed, undone) = frame(&mut terrain);
    assert!(!changed.is_empty());
    assert!(undone == before);

    let far = EditOp::dig_ball([5000.0, 0.0, 0.0], 4.0);
    let error = terrain.edit(&far).expect_err("nobody is there").to_string();
    assert!(error.contains("Terrain::hold"), "{error}");
    terrain
        .hold([4990.0, -10.0, -10.0], [5010.0, 10.0, 10.0], |part| part.fill_sdf(ROCK, hills))
        .expect("the fill has all");
    assert!(terrain.edit(&far).expect("it is held").removed.voxels(ROCK) > 50.0);
}

#[test]
fn what_an_edit_cuts_loose_leaves_the_world_and_one_undo_brings_both_back() {
    use crate::bodies::LooseOptions;
    use crate::edit::EditOp;
    let placement = Placement { voxel_size_m: 0.5, origin_m: [10.0, 0.0, -7.0] };
    let options = TerrainOptions { placement, ..TerrainOptions::default() };
    let mut terrain = Terrain::new(options);
    // A mushroom: stem and hat, metres.
    let mushroom = |p: [f64; 3]| {
        let off = (p[0] - 12.0).hypot(p[2]);
        (1.5 - off).min(8.0 - p[1]).max((6.0 - off).min(1.5 - (p[1] - 9.0).abs())).max(-p[1])
    };
    let fill = |part: &mut Part<'_>| part.fill_sdf(ROCK, mushroom);
    terrain.fill([0.0, -8.0, -12.0], [24.0, 16.0, 12.0], fill).unwrap();
    let whole = terrain.grid().digest().unwrap();
    // Nobody knows the ground around: it holds what is there.
    assert!(terrain.cut_loose(&LooseOptions::default()).unwrap().bodies.is_empty());
    terrain.history_mut().begin_stroke();
    terrain.edit(&EditOp::dig_ball([12.0, 5.0, 0.0], 2.5)).unwrap();
    let mut cut = terrain.cut_loose(&LooseOptions::default()).unwrap();
    terrain.history_mut().end_stroke();
    let hat = cut.bodies.pop().expect("the hat");
    assert!(cut.bodies.is_empty() && !cut.more);
    let from = terrain.cut_from(&hat);
    let centre = [0, 1, 2].map(|i| from[i] + 0.5 * hat.mass.centre[i] as f32);
    assert!((centre[0] - 12.0).abs() < 0.1 && (centre[1] - 9.0).abs() < 0.3, "{centre:?}");
    let down = |terrain: &mut Terrain| {
        terrain.ray([14.0, 15.0, 0.0], [0.0, -1.0, 0.0], 30.0).map(|hit| hit.point[1])
    };
    assert!(down(&mut terrain).is_some_and(|y| y < 1.0));
    terrain.undo().unwrap();
    assert_eq!(terrain.grid().digest().unwrap(), whole);
    assert!(terrain.cut_loose(&LooseOptions::default()).unwrap().bodies.is_empty());
    terrain.redo().unwrap();
    // It settles a metre lower.
    terrain.write_back(&hat, [from[0], from[1] - 1.0, from[2]], [0.0, 0.0, 0.0, 1.0]).unwrap();
    assert!(down(&mut terrain).is_some_and(|y| (y - 9.5).abs() < 0.2));
}
