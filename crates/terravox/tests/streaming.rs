//! Streaming when things go wrong: viewers that never stand still or are nowhere, chunks that cannot
//! be had, cells that come late.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use terravox::edit::EditOp;
use terravox::terrain::{Budget, JobKind, JobScratch, Part, Terrain, Viewer};
use terravox::voxel::{ChunkPos, DenseBox, MipBlock, VoxelPos};

fn flat(part: &mut Part<'_>) {
    part.fill_height(8, 0.0..=0.0, |_, _| 0.0);
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
        terrain.update(&[viewer], Budget::Blocks(4), |part| {
            part.fill_height(8, -20.0..=20.0, height);
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
fn with_a_hole(part: &mut Part<'_>, asked: &AtomicUsize) {
    if part.block() == MipBlock::new(0, VoxelPos::new(1, 0, 1)) {
        asked.fetch_add(1, Ordering::Relaxed);
        return part.set_missing();
    }
    flat(part);
}

#[test]
fn a_chunk_that_cannot_be_had_keeps_nothing_else_away_slow() {
    let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 500.0 };
    let asked = AtomicUsize::new(0);
    let mut terrain = Terrain::default();
    for _ in 0..1500 {
        terrain.update(&[viewer], Budget::Blocks(8), |part| with_a_hole(part, &asked));
    }
    assert!(shows_far(&terrain));
    assert!(asked.into_inner() <= 1500, "it is asked for once an update");

    let (mut terrain, asked) = (Terrain::default(), AtomicUsize::new(0));
    let (mut scratch, mut jobs) = (JobScratch::default(), Vec::new());
    for _ in 0..1500 {
        jobs.extend(terrain.take_jobs(&[viewer], Budget::Unlimited, 16 - jobs.len()));
        for job in jobs.drain(..jobs.len().min(8)) {
            let done = job.run(&mut scratch, |part| with_a_hole(part, &asked));
            terrain.finish_job(done);
        }
    }
    assert!(shows_far(&terrain));
}

#[test]
fn a_viewer_who_is_nowhere_changes_nothing() {
    let viewer = Viewer { position_m: [0.0, 5.0, 0.0], distance_m: 300.0 };
    let mut terrain = Terrain::default();
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
    let drawn: usize = terrain.redraw().added.len();
    assert_eq!(drawn, terrain.meshed_blocks().len());
}

#[test]
fn what_was_read_before_a_save_is_not_held() {
    let disk: Mutex<HashMap<MipBlock, DenseBox>> = Mutex::default();
    let fill = |part: &mut Part<'_>| match disk.lock().unwrap().get(&part.block()) {
        Some(cells) => part.cells().clone_from(cells),
        None => flat(part),
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
    let fill = |part: &mut Part<'_>| part.fill_height(8, -4.0..=4.0, height);
    let box_m = |x: f64| ([x - 20.0, -20.0, -20.0], [x + 20.0, 20.0, 20.0]);
    let mut still = Terrain::default();
    let (min, max) = box_m(1000.0);
    still.hold(min, max, fill).unwrap();

    let mut moved = Terrain::default();
    moved.set_origin([-1000.0, 0.0, 0.0]);
    let (min, max) = box_m(0.0);
    moved.hold(min, max, fill).unwrap();
    assert_eq!(moved.grid().digest().unwrap(), still.grid().digest().unwrap());
    assert_eq!(moved.made_at(), still.placement());
}
