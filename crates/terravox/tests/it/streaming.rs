//! Streaming when things go wrong: viewers that never stand still or are nowhere, chunks that
//! are unavailable, cells that come late.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use terravox::collide::{Filter, MissingData};
use terravox::edit::EditOp;
use terravox::lod::{LodOptions, ShownMesh};
use terravox::terrain::{
    Budget, FillRequest, JobKind, JobScratch, RayOutcome, Terrain, TerrainOptions, Viewer,
};
use terravox::voxel::{ChunkPos, ChunkState, DenseBox, LIMIT, MipBlock, VoxelPos};

fn flat(request: &mut FillRequest<'_>) {
    request.fill_height(8, 0.0..=0.0, |_, _| 0.0);
}

fn shows_far(terrain: &Terrain) -> bool {
    terrain.lod().blocks().iter().any(|block| block.mip > 0)
}

#[test]
fn who_moves_from_the_first_frame_on_sees_far_slow() {
    let height = |x: f64, z: f64| 20.0 * (x * 0.01).sin() * (z * 0.013).cos();
    let mut terrain = Terrain::default();
    for frame in 0..4000 {
        let x = 50.0 * f64::from(frame) / 60.0;
        let position_m = [x, height(x, 0.0) + 5.0, 0.0];
        let viewer = Viewer { position_m, distance_m: 1000.0 };
        terrain.update(&[viewer], Budget::Blocks(4), |request| {
            request.fill_height(8, -20.0..=20.0, height);
        });
        terrain.mesh_swaps().for_each(drop);
    }
    assert!(shows_far(&terrain));
    let behind = |block: &MipBlock| f64::from(block.voxels().max.x) < 3333.0 - 500.0;
    // Four blocks a frame are too few to merge all that lies behind, but it does not pile up.
    let left = terrain.lod().blocks().into_iter().filter(|b| b.mip == 0 && behind(b)).count();
    assert!(left < 1500, "{left} chunks lie far behind");
}

/// Asks for one near chunk in vain.
fn with_a_hole(request: &mut FillRequest<'_>, asked: &AtomicUsize) {
    if request.block() == MipBlock::new(0, VoxelPos::new(1, 0, 1)) {
        asked.fetch_add(1, Ordering::Relaxed);
        return request.set_missing();
    }
    flat(request);
}

#[test]
fn a_chunk_that_cannot_be_had_keeps_nothing_else_away_slow() {
    let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 500.0 };
    let asked = AtomicUsize::new(0);
    let mut terrain = Terrain::default();
    for _ in 0..1500 {
        terrain.update(&[viewer], Budget::Blocks(8), |request| with_a_hole(request, &asked));
    }
    assert!(shows_far(&terrain));
    assert!(asked.into_inner() <= 1500, "it is asked for once an update");

    let (mut terrain, asked) = (Terrain::default(), AtomicUsize::new(0));
    let (mut scratch, mut jobs) = (JobScratch::default(), Vec::new());
    for _ in 0..1500 {
        jobs.extend(terrain.take_jobs(&[viewer], Budget::Unlimited, 16 - jobs.len()));
        for job in jobs.drain(..jobs.len().min(8)) {
            let done = job.run(&mut scratch, |request| with_a_hole(request, &asked));
            terrain.finish_job(done);
        }
    }
    assert!(shows_far(&terrain));
}

#[test]
fn a_viewer_who_is_nowhere_changes_nothing() {
    let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 300.0 };
    let mut terrain = Terrain::default();
    assert!(!terrain.is_settled(), "nothing is planned yet");
    terrain.update(&[viewer], Budget::Unlimited, flat);
    let before = terrain.lod().blocks();
    assert!(terrain.is_settled() && before.len() > 8);
    let lost = [
        Viewer { position_m: [f64::NAN, 5.0, 0.0], ..viewer },
        Viewer { position_m: [f64::INFINITY; 3], ..viewer },
        Viewer { distance_m: f64::NAN, ..viewer },
    ];
    for viewer in lost {
        terrain.update(&[viewer], Budget::Blocks(400), flat);
        assert_eq!(terrain.lod().blocks(), before);
    }
    let drawn: usize = terrain.reset_mesh_swaps().added.len();
    assert_eq!(drawn, terrain.meshed_blocks().len());
}

#[test]
fn a_view_with_missing_blocks_is_not_settled_slow() {
    let viewer = Viewer { position_m: [16.0, 5.0, 16.0], distance_m: 60.0 };
    for mip in 0..4 {
        let mut terrain = Terrain::default();
        let missing = Mutex::new(None);
        for _ in 0..400 {
            terrain.update(&[viewer], Budget::Blocks(8), |request| {
                let mut missing = missing.lock().unwrap();
                let is_first = missing.is_none() && request.block().mip == mip;
                match is_first || *missing == Some(request.block()) {
                    true => {
                        *missing = Some(request.block());
                        request.set_missing();
                    }
                    false => flat(request),
                }
            });
        }
        assert!(missing.lock().unwrap().is_some());
        assert!(!terrain.is_settled(), "a block of mip {mip} is missing");
        terrain.update(&[viewer], Budget::Unlimited, flat);
        for _ in 0..3 {
            terrain.update(&[viewer], Budget::Unlimited, flat);
        }
        assert!(terrain.is_settled(), "it is there now");
    }
}

#[test]
fn a_viewer_outside_of_the_world_sees_nothing_and_is_settled_slow() {
    for at in [1e10, -1e10, 1e19, 1e300] {
        let mut terrain = Terrain::default();
        let viewer = Viewer { position_m: [at, 0.0, 0.0], distance_m: 100.0 };
        (0..2).for_each(|_| terrain.update(&[viewer], Budget::Unlimited, flat));
        assert!(terrain.is_settled() && terrain.meshed_blocks().is_empty(), "{at}");
        // It comes back.
        let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 100.0 };
        terrain.update(&[viewer], Budget::Unlimited, flat);
        assert!(terrain.is_settled() && terrain.meshed_blocks().len() > 8, "{at}");
    }
}

#[test]
fn what_was_read_before_a_save_is_not_held() {
    let disk: Mutex<HashMap<MipBlock, DenseBox>> = Mutex::default();
    let fill = |request: &mut FillRequest<'_>| match disk.lock().unwrap().get(&request.block()) {
        Some(cells) => request.cells().clone_from(cells),
        None => flat(request),
    };
    let mut terrain = Terrain::default();
    let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 500.0 };
    let (mut scratch, mut late) = (JobScratch::default(), None);
    while late.is_none() {
        for job in terrain.take_jobs(&[viewer], Budget::Unlimited, 64) {
            let block = job.block();
            let far = block.mip == 0 && block.pos.y == -1 && block.voxels().min.x > 96;
            let done = (job.kind(), job.run(&mut scratch, fill));
            match done {
                // It has read the cells as they are now, and comes back late.
                (JobKind::Fill, done) if far && late.is_none() => late = Some((block, done)),
                (_, done) => terrain.finish_job(done),
            }
        }
    }
    let (block, done) = late.expect("it was asked for");
    let min = block.voxels().min.to_array().map(|v| f64::from(v) + 1.0);
    let max = block.voxels().max.to_array().map(|v| f64::from(v) - 1.0);
    let hole = [min[0] + 15.0, -16.0, min[2] + 15.0];
    terrain.hold(min, max, fill).unwrap();
    terrain.edit(&EditOp::dig_ball(hole, 6.0)).unwrap();
    let unsaved = terrain.unsaved();
    for chunk in unsaved.chunks.chunks() {
        let mut cells = DenseBox::default();
        unsaved.chunks.snapshot().read(chunk.region(), 0, &mut cells).unwrap();
        disk.lock().unwrap().insert(chunk.into(), cells);
    }
    terrain.mark_saved(&unsaved);
    let VoxelPos { x, y, z } = block.pos;
    assert!(terrain.grid_mut().forget(ChunkPos::new(x, y, z)));
    terrain.finish_job(done);
    terrain.hold(min, max, fill).unwrap();
    let voxel = terrain.placement().voxel_at(hole);
    assert_eq!(terrain.grid().cell(voxel).unwrap().material, 0);
}

#[test]
fn generators_count_from_where_the_world_was_made() {
    let height = |x: f64, z: f64| 3.0 * (x * 0.1).sin() + (z * 0.07).cos();
    let fill = |request: &mut FillRequest<'_>| request.fill_height(8, -4.0..=4.0, height);
    let box_m = |x: f64| ([x - 20.0, -20.0, -20.0], [x + 20.0, 20.0, 20.0]);
    let mut still = Terrain::default();
    let (min, max) = box_m(1000.0);
    still.hold(min, max, fill).unwrap();

    let mut moved = Terrain::default();
    moved.set_origin([-1000.0, 0.0, 0.0]);
    let (min, max) = box_m(0.0);
    moved.hold(min, max, fill).unwrap();
    assert_eq!(moved.grid().digest().unwrap(), still.grid().digest().unwrap());
    assert_eq!(moved.original_placement(), still.placement());
}

#[test]
fn ground_that_is_held_and_built_far_away_shows_at_every_mip() {
    let viewer = [Viewer { position_m: [0.0, 20.0, 0.0], distance_m: 8000.0 }];
    for updates in [0, 5] {
        let lod = LodOptions { detail: 1.0, ..LodOptions::default() };
        let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
        for _ in 0..updates {
            terrain.update(&viewer, Budget::Blocks(8), flat);
        }
        terrain.hold([4030.0, -20.0, -70.0], [4170.0, 170.0, 70.0], flat).unwrap();
        terrain.edit(&EditOp::fill_ball(8, [4100.0, 80.0, 0.0], 60.0)).unwrap();
        terrain.update(&viewer, Budget::Unlimited, flat);
        let down = [0.0, -1.0, 0.0];
        let hit = terrain.ray_shown([4100.0, 500.0, 0.0], down, 1000.0, &Filter::SOLID).unwrap();
        assert!(hit.mip > 5 && hit.point_m[1] > 60.0, "{hit:?}");
    }
}

#[test]
fn what_a_ray_misses_is_named_until_it_is_held() {
    for x in [-1.01, -0.74, -0.4, 0.0, 0.4, 0.74, 0.99, 255.6, 256.3] {
        let mut terrain = Terrain::default();
        let hit =
            (0..20).find_map(|_| match terrain.ray([x, 60.0, 7.7], [0.0, -1.0, 0.0], 100.0) {
                RayOutcome::Hit(hit) => Some(hit),
                RayOutcome::Unknown(MissingData::NotHeld(chunk)) => {
                    assert_ne!(
                        terrain.grid().held(chunk),
                        ChunkState::Mip(0),
                        "{chunk} is held, at {x}"
                    );
                    let (region, placement) = (chunk.region(), terrain.placement());
                    let last = placement.voxel_centre(region.max - VoxelPos::splat(1));
                    terrain.hold(placement.voxel_centre(region.min), last, flat).unwrap();
                    None
                }
                other => panic!("{other:?}"),
            });
        assert!(hit.is_some_and(|hit| hit.point_m[1].abs() < 1e-3), "at {x}");
    }
}

#[test]
fn ground_at_the_limit_of_the_world_is_hit() {
    let mut terrain = Terrain::default();
    for x in [f64::from(LIMIT) - 2.5, 3.5 - f64::from(LIMIT)] {
        let viewer = Viewer { position_m: [x, 20.0, 0.0], distance_m: 100.0 };
        terrain.update(&[viewer], Budget::Blocks(300), flat);
        let hit = terrain.ray([x, 20.0, 0.5], [0.0, -1.0, 0.0], 50.0).hit().expect("ground");
        assert!(hit.point_m[1].abs() < 1e-3);
        terrain.edit(&EditOp::dig_ball([x, 0.0, 0.5], 1.0)).unwrap();
    }
}

#[test]
fn what_nobody_draws_does_not_pile_up_slow() {
    let mut terrain = Terrain::default();
    let mut drawn: HashMap<MipBlock, ShownMesh> = HashMap::new();
    let draw = |terrain: &mut Terrain, drawn: &mut HashMap<MipBlock, ShownMesh>| {
        let mut swaps = 0;
        for swap in terrain.mesh_swaps() {
            swaps += 1;
            for block in swap.removed {
                assert!(drawn.remove(&block).is_some(), "{block} was shown");
            }
            for shown in swap.added {
                let block = shown.block;
                assert!(drawn.insert(block, shown).is_none(), "{block} was not shown");
            }
        }
        swaps
    };
    let hills = |x: f64, z: f64| 6.0 * (x * 0.05).sin() * (z * 0.04).cos();
    for frame in 0..400 {
        let x = 2.0 * f64::from(frame);
        let viewer = Viewer { position_m: [x, 8.0, 0.0], distance_m: 150.0 };
        terrain.update(&[viewer], Budget::Blocks(60), |request| {
            request.fill_height(8, -6.0..=6.0, hills);
        });
        let _ = terrain.edit(&EditOp::dig_ball([x, 0.0, 0.0], 2.0));
        if frame == 20 {
            draw(&mut terrain, &mut drawn);
        }
    }
    assert!(draw(&mut terrain, &mut drawn) <= 256);
    let triangles = drawn.values().map(|shown| shown.mesh.solid.triangle_count()).sum::<usize>();
    assert_eq!(triangles, terrain.lod().triangles());
}
