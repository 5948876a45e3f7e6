//! What is ahead of a moving viewer is split before it is near.

use super::*;

/// Jobs of a frame: few, so that a plan takes several frames.
const JOBS: usize = 4;

/// Returns the longest run of frames, flying along x, in which a block was coarser than it should be.
/// `is_moved`: the view does not know that the viewer goes on.
fn latest(scene: &mut Scene, frames: i32, is_moved: bool) -> usize {
    let (mut late, mut latest) = (0, 0);
    for frame in 1..=frames {
        let eye = viewer(0.75 * f64::from(frame), 30.0, 0.0);
        if is_moved {
            scene.lod.note_motion(&[]);
        }
        scene.frames(eye, 1, JOBS);
        late = if scene.lod.overdue_splits(&[eye]).is_empty() { 0 } else { late + 1 };
        latest = late.max(latest);
    }
    latest
}

fn settled_at_start() -> Scene {
    let mut scene = Scene::new(LodOptions { hysteresis: 0.0, ..small() });
    scene.frames(viewer(0.0, 30.0, 0.0), 10_000, 64);
    scene
}

#[test]
fn a_moving_viewer_finds_ground_ready_slow() {
    let unknown = latest(&mut settled_at_start(), 250, true);
    let known = latest(&mut settled_at_start(), 250, false);
    assert!(unknown > 10 && known < unknown / 3, "late for {known} frames, else {unknown}");
}

#[test]
fn a_viewer_that_stops_sees_what_one_sees_that_was_always_there() {
    let mut scene = settled_at_start();
    latest(&mut scene, 100, false);
    let end = viewer(75.0, 30.0, 0.0);
    // What is ahead is shown until the viewer has stood for some updates.
    for _ in 0..10 {
        scene.frames(end, 1, 64);
    }
    scene.frames(end, 10_000, 64);
    assert!(scene.lod.is_settled());
    let mut fresh = Scene::new(LodOptions { hysteresis: 0.0, ..small() });
    fresh.frames(end, 10_000, 64);
    assert_eq!(scene.lod.blocks(), fresh.lod.blocks());
    scene.assert_rebuilt();
}
