//! Cells that are not available: the view has what can be had.

use super::*;
use std::sync::Mutex;

#[test]
fn where_no_coarse_cells_are_available_what_is_near_a_viewer_is_shown_without_them() {
    let (mut terrain, viewers) = streamed();
    let near_only = |request: &mut FillRequest<'_>| match request.mip() {
        0 => fill_hills(request),
        _ => request.set_missing(),
    };
    for _ in 0..4 {
        terrain.update(&viewers, Budget::Unlimited, near_only);
    }
    let shown = terrain.meshed_blocks();
    assert!(!shown.is_empty() && shown.iter().all(|block| block.mip == 0), "{shown:?}");
}

#[test]
fn where_near_ground_cannot_be_had_the_rest_is_shown() {
    let (mut terrain, viewers) = streamed();
    let fill_far_only = |request: &mut FillRequest<'_>| match request.block().mip {
        0 => request.set_missing(),
        _ => fill_hills(request),
    };
    for _ in 0..4 {
        terrain.update(&viewers, Budget::Unlimited, fill_far_only);
    }
    assert!(terrain.meshed_blocks().iter().any(|block| block.mip > 0));
    assert!(terrain.ray([3.0, 9.0, -2.0], [0.0, -1.0, 0.0], 60.0).is_unknown());
    let hit = terrain.ray_shown([3.0, 9.0, -2.0], [0.0, -1.0, 0.0], 60.0, &Filter::SOLID);
    let hit = hit.expect("coarse ground is shown");
    assert!(hit.mip > 0 && hit.point_m[1].abs() < 5.0, "{hit:?}");
}

#[test]
fn near_ground_that_cannot_be_had_does_not_use_up_small_budgets() {
    let fill_far_only = |request: &mut FillRequest<'_>| match request.block().mip {
        0 => request.set_missing(),
        _ => fill_hills(request),
    };
    for blocks in [1, 8] {
        let (mut terrain, viewers) = streamed();
        let mut updates = 0;
        while terrain.overdue_splits(&viewers).iter().any(|block| block.mip > 1)
            || terrain.meshed_blocks().is_empty()
        {
            terrain.update(&viewers, Budget::Blocks(blocks), fill_far_only);
            updates += 1;
            assert!(updates < 4000, "{:?}", terrain.overdue_splits(&viewers));
        }
        // When they can be had at last, they come.
        terrain.update(&viewers, Budget::Unlimited, fill_hills);
        terrain.update(&viewers, Budget::Unlimited, fill_hills);
        assert!(terrain.overdue_splits(&viewers).is_empty() && terrain.is_settled());
    }
}

#[test]
fn many_blocks_that_cannot_be_had_stop_no_others() {
    let lod = LodOptions { max_mip: 5, near_voxels: 40.0, detail: 3.0, ..LodOptions::default() };
    let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    let viewers = [Viewer { position_m: [-300.0, 9.0, -2.0], distance_m: 1500.0 }];
    let is_missing = |block: MipBlock| block.mip < 4 && block.pos.x < 0;
    let fill = |request: &mut FillRequest<'_>| match is_missing(request.block()) {
        true => request.set_missing(),
        false => fill_hills(request),
    };
    for _ in 0..8 {
        terrain.update(&viewers, Budget::Unlimited, fill);
    }
    // Beside what is missing blocks stay coarse.
    let overdue = terrain.overdue_splits(&viewers);
    let far = overdue.iter().filter(|block| block.voxels().min.x >= 512);
    assert_eq!(far.collect::<Vec<_>>(), Vec::<&MipBlock>::new());
    assert!(8 * overdue.len() > 400, "more than are requested at once: {}", overdue.len());
    terrain.update(&viewers, Budget::Unlimited, fill_hills);
    terrain.update(&viewers, Budget::Unlimited, fill_hills);
    assert!(terrain.overdue_splits(&viewers).is_empty());
}

#[test]
fn what_stays_unavailable_is_requested_less_and_less_often() {
    let (mut terrain, viewers) = streamed();
    let requests = Mutex::new(BTreeMap::<MipBlock, usize>::new());
    let fill_far_only = |request: &mut FillRequest<'_>| match request.block() {
        block if block.mip == 0 => {
            *requests.lock().unwrap().entry(block).or_default() += 1;
            request.set_missing();
        }
        _ => fill_hills(request),
    };
    let mut run = |updates: usize| {
        for _ in 0..updates {
            terrain.update(&viewers, Budget::Unlimited, fill_far_only);
        }
        std::mem::take(&mut *requests.lock().unwrap())
    };
    let all = run(20).len();
    assert!(all > 20, "{all}");
    let later = run(100);
    assert_eq!(later.len(), all, "all are tried again");
    let most = 100 * (all / 16).max(8);
    let total: usize = later.values().sum();
    assert!(total <= most && most < 100 * all / 2, "{total} requests for {all} blocks");
}
