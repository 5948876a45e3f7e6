//! The views against their rebuild, and what a user may do wrong.

use super::*;
use crate::collide::Filter;
use crate::lod::ShownSurfaces;
use crate::voxel::{ChunkPos, VoxelPos};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

mod edit_jobs;
mod rebuild;
mod schedules;
mod unavailable;

const ROCK: u8 = 8;

fn hills(p: [f64; 3]) -> f64 {
    5.0 * (p[0] * 0.11).sin() * (p[2] * 0.07).sin() - p[1]
}

/// A world of which everything is known.
fn small_world() -> Terrain {
    let unlisted = UnlistedChunks::Air;
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    terrain.fill([-32.0; 3], [32.0; 3], fill_hills).unwrap();
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
            let [centre, reach] = [[x, y, z].map(f64::from), [f64::from(radius); 3]];
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
    let mut jobs = 0;
    while terrain.meshed_blocks().is_empty() {
        assert_eq!(terrain.mesh_swaps().count(), 0);
        terrain.update(&[], Budget::Blocks(1), |_| {});
        jobs += 1;
    }
    assert!(jobs >= 8, "{jobs}");
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
    let jobs = terrain.take_jobs(&[], Budget::Unlimited, usize::MAX);
    assert!(jobs.len() >= 8 && jobs.iter().all(|job| job.kind() == JobKind::Mesh));
    let again = terrain.take_jobs(&[], Budget::Unlimited, usize::MAX);
    assert!(again.is_empty(), "nothing is handed out twice");
    let results: Vec<_> = std::thread::scope(|scope| {
        let run = |job: Job| scope.spawn(move || job.run(&mut JobScratch::default(), |_| {}));
        let threads: Vec<_> = jobs.into_iter().map(run).collect();
        threads.into_iter().rev().map(|thread| thread.join().unwrap()).collect()
    });
    results.into_iter().for_each(|done| terrain.finish_job(done));
    assert!(shown(&terrain) == rebuilt(&terrain));
}

/// A viewer in hills that come from a generator.
fn streamed() -> (Terrain, [Viewer; 1]) {
    let lod = LodOptions { max_mip: 3, near_voxels: 40.0, detail: 1.5, ..LodOptions::default() };
    let terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    (terrain, [Viewer { position_m: [3.0, 9.0, -2.0], distance_m: 200.0 }])
}

/// The same cells as by all their distances.
fn fill_hills(request: &mut FillRequest<'_>) {
    request.fill_sdf_bounded(ROCK, [0.55, 1.0, 0.35], hills);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    /// Results come in any order, late, twice in effect or never; edits come between.
    #[test]
    fn late_and_lost_jobs_harm_nothing_slowly(
        fates in proptest::collection::vec((0u8..6, 1usize..9), 60..120),
        digs in proptest::collection::vec((-30..30i32, -30..30i32), 6),
    ) {
        let (mut terrain, viewers) = streamed();
        let mut scratch = JobScratch::default();
        let mut held_back = Vec::new();
        for (i, &(fate, most)) in fates.iter().enumerate() {
            let jobs = terrain.take_jobs(&viewers, Budget::Unlimited, most);
            for (k, job) in jobs.into_iter().enumerate() {
                match (fate, k % 3) {
                    (0, 0) => drop(job),
                    (1, _) => drop(job.run(&mut scratch, fill_hills)),
                    (2 | 3, _) => held_back.push(job.run(&mut scratch, fill_hills)),
                    (4, 1) => drop(job.run(&mut scratch, |request| request.set_missing())),
                    _ => terrain.finish_job(job.run(&mut scratch, fill_hills)),
                }
            }
            if fate == 5 {
                held_back.drain(..).rev().for_each(|done| terrain.finish_job(done));
            }
            if i % 20 == 19 {
                let (x, z) = digs[i / 20];
                let dig = crate::edit::EditOp::dig_ball([f64::from(x), 0.0, f64::from(z)], 4.0);
                let _ = terrain.edit(&dig); // refused where the ground has not come yet
            }
        }
        let edited = terrain.grid().digest();
        held_back.clear();
        terrain.update(&viewers, Budget::Unlimited, fill_hills);
        terrain.update(&viewers, Budget::Unlimited, fill_hills);
        prop_assert!(terrain.overdue_splits(&viewers).is_empty(), "all is as fine as requested");
        let down = terrain.ray([3.0, 9.0, -2.0], [0.0, -1.0, 0.0], 60.0);
        prop_assert!(down.hit().is_some(), "{:?} {:?}", down, edited);
    }
}

#[test]
fn what_a_viewer_can_touch_comes_first() {
    let (mut terrain, viewers) = streamed();
    let down = |terrain: &Terrain| terrain.ray([3.0, 9.0, -2.0], [0.0, -1.0, 0.0], 60.0);
    assert!(down(&terrain).is_unknown());
    let mut fills = 0;
    while down(&terrain).hit().is_none() {
        terrain.update(&viewers, Budget::Blocks(1), fill_hills);
        fills += 1;
        assert!(fills <= 12, "ground below a viewer comes with the first blocks");
    }
    // Then all that is in view is shown at once, coarse where it is far.
    while terrain.meshed_blocks().is_empty() {
        terrain.update(&viewers, Budget::Blocks(1), fill_hills);
    }
    let top = terrain.lod().options().max_mip;
    assert!(terrain.meshed_blocks().iter().any(|block| block.mip == top));
}

#[test]
fn what_is_near_a_viewer_is_shown_after_a_while_if_coarse_cells_do_not_come() {
    let (mut terrain, viewers) = streamed();
    let mut scratch = JobScratch::default();
    let mut never_run = Vec::new();
    for updates in 0.. {
        for job in terrain.take_jobs(&viewers, Budget::Unlimited, 64) {
            match job.kind() {
                JobKind::Fill if job.block().mip > 0 => never_run.push(job),
                _ => terrain.finish_job(job.run(&mut scratch, fill_hills)),
            }
        }
        if !terrain.meshed_blocks().is_empty() {
            assert!(updates >= 50, "coarse cells are waited for");
            break;
        }
        assert!(updates < 400, "nothing is shown while coarse cells do not come");
    }
    assert!(terrain.meshed_blocks().iter().all(|block| block.mip == 0));
    drop(never_run);
    terrain.update(&viewers, Budget::Unlimited, fill_hills);
    assert!(terrain.overdue_splits(&viewers).is_empty(), "the rest follows");
}

#[test]
fn a_far_view_takes_the_place_of_the_island_around_the_viewer_slow() {
    let (mut terrain, viewers) = streamed();
    terrain.update(&viewers, Budget::Unlimited, fill_hills);
    let blocks = terrain.lod().blocks();
    assert!(blocks.iter().any(|block| block.mip == 3));
    assert!(terrain.overdue_splits(&viewers).is_empty());
    // The same as a view that came step by step.
    let (mut slow, _) = streamed();
    while !slow.overdue_splits(&viewers).is_empty()
        || slow.lod().blocks().iter().all(|b| b.mip == 0)
    {
        slow.update(&viewers, Budget::Blocks(3), fill_hills);
    }
    slow.update(&viewers, Budget::Unlimited, fill_hills);
    assert_eq!(slow.lod().blocks(), blocks);
    assert!(shown(&slow) == shown(&terrain));
}

#[test]
fn rays_at_shown_ground_agree_with_rays_at_held_ground() {
    let (mut terrain, viewers) = streamed();
    terrain.update(&viewers, Budget::Unlimited, fill_hills);
    for i in 0..60 {
        let origin = [f64::from(i % 8) * 3.7 - 12.0, 12.0, f64::from(i / 8) * 3.1 - 11.0];
        let direction = [0.1 * (i % 5) as f32 - 0.2, -1.0, 0.13 * (i % 3) as f32];
        let held = terrain.ray(origin, direction, 40.0).hit().expect("ground is near");
        let placement = terrain.placement();
        let surfaces = ShownSurfaces { solid: true, liquid: false };
        let from = placement.voxel_from_world(origin);
        let shown = terrain.lod().ray(from, direction.map(f64::from), 40.0, surfaces);
        let shown = shown.expect("it is shown");
        assert!((shown.distance - held.distance_m).abs() < 1e-3, "{shown:?} {held:?}");
        assert_eq!((shown.mip, shown.material), (0, held.material));
    }
}

#[test]
fn far_from_the_origin_all_is_as_near_it_slow() {
    let at = |origin_m: [f64; 3]| {
        let lod = LodOptions { max_mip: 3, near_voxels: 40.0, ..LodOptions::default() };
        let placement = Placement { origin_m, ..Placement::default() };
        let options = TerrainOptions { placement, lod, ..TerrainOptions::default() };
        let mut terrain = Terrain::new(options);
        let world = move |p: [f64; 3]| [0, 1, 2].map(|i| p[i] + origin_m[i]);
        let viewers = [Viewer { position_m: world([3.0, 9.0, -2.0]), distance_m: 200.0 }];
        let fill = move |request: &mut FillRequest<'_>| {
            request.fill_sdf(ROCK, |p| hills([0, 1, 2].map(|i| p[i] - origin_m[i])));
        };
        terrain.update(&viewers, Budget::Unlimited, fill);
        let hit = terrain.ray(world([3.0, 9.0, -2.0]), [0.1, -1.0, 0.0], 50.0).hit().unwrap();
        terrain.edit(&crate::edit::EditOp::dig_ball(hit.point_m, 4.0)).unwrap();
        terrain.update(&viewers, Budget::Unlimited, fill);
        let local = [0, 1, 2].map(|i| hit.point_m[i] - origin_m[i]);
        (local, shown(&terrain), terrain)
    };
    let (near, meshes, mut terrain) = at([0.0; 3]);
    // Whole metres, so that f64 keeps the same fractions.
    let (far, far_meshes, _) = at([1e7, -2e6, 1e7]);
    assert!((0..3).all(|i| (near[i] - far[i]).abs() < 1e-6), "{near:?} {far:?}");
    assert!(meshes == far_meshes);
    // The origin moves; nothing else does.
    terrain.mesh_swaps().for_each(drop);
    terrain.set_origin([1e7, 0.0, 5.0]);
    assert!(shown(&terrain) == meshes);
    assert_eq!(terrain.mesh_swaps().count(), 0, "nothing is drawn anew");
    let hit = terrain.ray([1e7 + 3.0, 9.0, 3.0], [0.1, -1.0, 0.0], 50.0).hit().unwrap();
    assert!((hit.point_m[0] - 1e7 - near[0]).abs() < 1.0 && hit.point_m[1] < near[1] - 1.0);
    assert!(terrain.undo().unwrap().is_some());
}

#[test]
fn rays_see_raw_writes_and_need_no_update() {
    let mut terrain = small_world();
    let down = |terrain: &Terrain| terrain.ray([0.5, 30.0, 0.5], [0.0, -1.0, 0.0], 60.0).hit();
    let before = down(&terrain).expect("ground").point_m[1];
    let mut block = DenseBox::new(Region::new([-4, 20, -4], [4, 24, 4]));
    block.fill(ROCK);
    terrain.grid_mut().write(&block).unwrap();
    assert!((down(&terrain).expect("ground").point_m[1] - 24.0).abs() < 0.1);
    block.fill(0);
    terrain.grid_mut().write(&block).unwrap();
    assert_eq!(down(&terrain).expect("ground").point_m[1], before);
}

#[test]
fn terrain_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Terrain>();
    shared::<VoxelGrid>();
    shared::<crate::voxel::Snapshot>();
    shared::<Collider>();
    sent::<Job>();
    sent::<FinishedJob>();
    sent::<JobScratch>();
    shared::<MeshSwap>();
}

#[test]
#[should_panic(expected = "LodOptions::detail is 0.5; it must be 1 or more")]
fn options_out_of_range_are_named() {
    let lod = LodOptions { detail: 0.5, ..LodOptions::default() };
    Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
}

#[test]
fn a_budget_without_a_clock_does_one_job() {
    let (mut terrain, viewers) = streamed();
    terrain.clock = Some(|| f64::INFINITY);
    let (mut most, mut all) = (0, 0);
    for _ in 0..400 {
        let fills = AtomicU64::new(0);
        terrain.update(&viewers, Budget::Millis(3.0), |request| {
            fills.fetch_add(1, Relaxed);
            fill_hills(request);
        });
        most = most.max(fills.load(Relaxed));
        all += fills.load(Relaxed);
    }
    assert!(most <= jobs_at_once(), "{most} fills in one update");
    assert!(all > 100 && !terrain.meshed_blocks().is_empty(), "{all} fills in 400 updates");
}

/// How many jobs an update starts before it looks at the clock.
fn jobs_at_once() -> u64 {
    #[cfg(not(feature = "parallel"))]
    return 1;
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads() as u64;
}

#[test]
fn jobs_that_take_most_of_a_budget_never_follow_one_another_in_an_update() {
    static MICROS: AtomicU64 = AtomicU64::new(0);
    let millis = || MICROS.load(Relaxed) as f64 / 1e3;
    let (mut terrain, viewers) = streamed();
    terrain.clock = Some(|| MICROS.load(Relaxed) as f64 / 1e3);
    let (mut longest, mut filled, fills) = (0.0f64, 0, AtomicU64::new(0));
    for _ in 0..400 {
        let start = millis();
        terrain.update(&viewers, Budget::Millis(3.0), |request| {
            MICROS.fetch_add(2500, Relaxed);
            fills.fetch_add(1, Relaxed);
            fill_hills(request);
        });
        longest = longest.max(millis() - start);
        filled += u64::from(millis() > start);
    }
    assert!(longest <= 2.5 * jobs_at_once() as f64, "an update took {longest} ms");
    assert!(filled > 100 && !terrain.meshed_blocks().is_empty(), "{filled} of 400 updates filled");
    let (fills, threads) = (fills.into_inner(), jobs_at_once());
    assert!(
        10 * fills > 7 * filled * threads,
        "{fills} fills in {filled} updates of {threads} threads"
    );
}

#[test]
fn edits_beyond_the_limits_are_refused_by_name() {
    let mut terrain = small_world();
    let before = terrain.grid().digest().unwrap();
    let error = terrain.edit_cells([2e9; 3], [2.1e9; 3], |_, cell| cell).unwrap_err();
    assert!(error.to_string().contains("not within ±2^30 voxels of"), "{error}");
    let error = terrain.fill([-f64::INFINITY; 3], [0.0; 3], |_| {}).unwrap_err();
    assert!(error.to_string().contains("is not finite, or"), "{error}");
    let error = terrain.edit_cells([0.0; 3], [1e6; 3], |_, cell| cell).unwrap_err();
    assert!(matches!(error.reason, EditError::TooLarge { .. }));
    let error = terrain.edit_cells([f64::NAN; 3], [1.0; 3], |_, _| Cell::full(3)).unwrap_err();
    assert!(matches!(error.reason, EditError::BeyondLimits(_)));
    let region = terrain.placement().region([1e10; 3], [2e10; 3]);
    let error = terrain.hold([1e10; 3], [2e10; 3], |_| {}).unwrap_err();
    assert_eq!(error.reason, EditError::BeyondLimits(region));
    let nothing = terrain.edit_cells([1.0; 3], [1.0; 3], |_, _| Cell::full(3)).unwrap();
    assert!(nothing.is_empty());
    let inverted = [
        terrain.edit_cells([1.0; 3], [0.0; 3], |_, _| Cell::full(3)).map(drop),
        terrain.hold([0.0; 3], [8.0, -8.0, 8.0], |_| {}),
        terrain.fill([0.0; 3], [8.0, -8.0, 8.0], |_| {}),
    ];
    for result in inverted {
        assert!(result.unwrap_err().to_string().contains("below its min corner"));
    }
    assert_eq!(terrain.grid().digest().unwrap(), before);
}

#[test]
fn unknown_ground_is_not_edited() {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let error = terrain.edit_cells([0.0; 3], [1.0; 3], |_, cell| cell).unwrap_err();
    assert!(matches!(error.reason, EditError::NotHeld(_)), "{error}");
    assert!(error.to_string().contains("Terrain::hold"), "{error}");
}

#[test]
fn metres_and_voxels_agree_at_other_sizes() {
    let placement = Placement { voxel_size_m: 0.25, origin_m: [100.0, 0.0, 0.0] };
    let options = TerrainOptions { placement, ..TerrainOptions::default() };
    let mut terrain = Terrain::new(options);
    let floor = |p: [f64; 3]| 1.0 - p[1];
    terrain
        .fill([96.0, -8.0, -8.0], [104.0, 8.0, 8.0], |request| request.fill_sdf(ROCK, floor))
        .unwrap();
    let cell = |y| terrain.grid().cell(VoxelPos::new(0, y, 0)).unwrap();
    assert_eq!((cell(3), cell(4)), (Cell::full(ROCK), Cell::AIR), "a floor at 1 m, 4 voxels");
    terrain.update(&[], Budget::Unlimited, |_| {});
    let mesh = terrain.mesh(ChunkPos::new(0, 0, 0)).unwrap();
    let heights = mesh
        .solid
        .positions
        .iter()
        .map(|&p| terrain.placement().world_from_voxel(p.map(f64::from))[1]);
    assert_eq!(heights.fold(0.0, f64::max), 1.0);
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
        hit.hit().map(|hit| hit.point_m[1])
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
        terrain.update(&viewers, Budget::Unlimited, |request| request.fill_sdf(ROCK, hills));
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
    let hit = terrain.ray([3.0, 9.0, -2.0], [0.0, -1.0, 0.0], 50.0).hit().expect("there is ground");
    let dug = terrain.edit(&EditOp::dig_ball(hit.point_m, 4.0)).expect("it is near");
    assert!(dug.removed.voxels(ROCK) > 50.0 && dug.added.total() == 0);
    let (changed, after) = frame(&mut terrain);
    assert!(changed.iter().any(|block| block.voxels().contains(hit.voxel)));
    assert!(after != before);
    terrain.undo().expect("it is near");
    let (changed, undone) = frame(&mut terrain);
    assert!(!changed.is_empty());
    assert!(undone == before);

    let far = EditOp::dig_ball([5000.0, 0.0, 0.0], 4.0);
    let error = terrain.edit(&far).expect_err("no ground is held there").to_string();
    assert!(error.contains("Terrain::hold"), "{error}");
    terrain
        .hold([4990.0, -10.0, -10.0], [5010.0, 10.0, 10.0], |request| request.fill_sdf(ROCK, hills))
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
    let fill = |request: &mut FillRequest<'_>| request.fill_sdf(ROCK, mushroom);
    terrain.fill([0.0, -8.0, -12.0], [24.0, 16.0, 12.0], fill).unwrap();
    let whole = terrain.grid().digest().unwrap();
    // The ground around is unknown: it holds what is there.
    assert!(terrain.cut_loose(&LooseOptions::default()).unwrap().bodies.is_empty());
    terrain.history_mut().begin_stroke();
    terrain.edit(&EditOp::dig_ball([12.0, 5.0, 0.0], 2.5)).unwrap();
    let mut cut = terrain.cut_loose(&LooseOptions::default()).unwrap();
    terrain.history_mut().end_stroke();
    let hat = cut.bodies.pop().expect("the hat");
    assert!(cut.bodies.is_empty() && !cut.has_more);
    let from = terrain.original_position_m(&hat);
    let centre = [0, 1, 2].map(|i| from[i] + 0.5 * hat.mass.centre[i]);
    assert!((centre[0] - 12.0).abs() < 0.1 && (centre[1] - 9.0).abs() < 0.3, "{centre:?}");
    let down = |terrain: &mut Terrain| {
        terrain.ray([14.0, 15.0, 0.0], [0.0, -1.0, 0.0], 30.0).hit().map(|hit| hit.point_m[1])
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

#[test]
fn a_grid_that_takes_the_place_of_another_is_followed() {
    let ground = |top: i32| {
        let mut grid = VoxelGrid::default();
        let mut cells = DenseBox::new(Region::new([-8, top - 4, -8], [8, top, 8]));
        cells.fill(ROCK);
        grid.write(&cells).unwrap();
        grid
    };
    let mut terrain = Terrain::from_grid(ground(0), Placement::default());
    terrain.update(&[], Budget::Unlimited, |_| {});
    *terrain.grid_mut() = ground(40);
    let height = |terrain: &Terrain| {
        terrain
            .ray([0.5, 60.0, 0.5], [0.0, -1.0, 0.0], 100.0)
            .hit()
            .map(|hit| hit.point_m[1].round())
    };
    assert_eq!(height(&terrain), Some(40.0));
    terrain.update(&[], Budget::Unlimited, |_| {});
    assert_eq!(shown(&terrain), rebuilt(&terrain));
}
