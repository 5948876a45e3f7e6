//! Unavailable roots stop nothing beside them, and appear when they arrive.

use super::*;

impl Scene {
    /// Asks for at most `most` blocks, of which those in `missing` are unavailable, and publishes
    /// one plan.
    fn step_without(&mut self, viewer: LodViewer, most: usize, missing: impl Fn(MipBlock) -> bool) {
        self.step_for(&[viewer], most, missing);
    }

    fn step_for(&mut self, viewers: &[LodViewer], most: usize, missing: impl Fn(MipBlock) -> bool) {
        self.lod.fills.begin_round();
        for _ in 0..most {
            let Some((block, ticket)) = self.lod.take_fill(self.grid.as_snapshot()) else { break };
            let cells = (!missing(block)).then(|| cells_of(block));
            self.lod.finish_fill(block, &ticket, cells);
        }
        let jobs = self.lod.plan(&mut self.grid, viewers);
        if self.lod.is_planned() {
            let mut scratch = MeshScratch::keyed();
            let results = jobs.iter().map(|job| job.run(&mut scratch)).collect();
            let swap = self.lod.publish(results);
            self.draw(swap);
        }
    }
}

/// Whether one of the two roots of a border is missing.
fn is_east(block: MipBlock) -> bool {
    block.mip == 3 && block.pos.x >= 0
}

#[test]
fn ground_beside_an_unavailable_root_is_as_fine_as_elsewhere() {
    let options = LodOptions { max_mip: 3, ..small() };
    let mut scene = Scene::new(options);
    let eye = viewer(-10.0, 20.0, -20.0);
    for _ in 0..60 {
        scene.step_without(eye, 64, is_east);
    }
    assert!(scene.lod.next_tiling.is_none(), "no island is left");
    assert_eq!(scene.lod.overdue_splits(&[eye]), []);
    let beside = MipBlock::holding(VoxelPos::new(-1, 10, -20), 0);
    assert_eq!(scene.lod.tiling.leaf_over(beside), Some(beside));
    scene.assert_balanced();
    scene.assert_closed();
    scene.assert_rebuilt();
    // It comes at last, and is split at once.
    for _ in 0..400 {
        scene.step_without(eye, 8, |_| false);
        scene.assert_balanced();
    }
    assert_eq!(scene.lod.overdue_splits(&[eye]), []);
    let across = MipBlock::holding(VoxelPos::new(0, 10, -20), 0);
    assert_eq!(scene.lod.tiling.leaf_over(across), Some(across));
    assert!(scene.lod.is_settled());
    scene.assert_closed();
    scene.assert_rebuilt();
}

#[test]
fn ground_near_a_viewer_is_never_replaced_by_nothing() {
    let mut scene = Scene::new(LodOptions { max_mip: 3, near_voxels: 40.0, ..small() });
    let eye = viewer(-10.0, 20.0, -20.0);
    // The viewer's own root is missing.
    let is_west = |block: MipBlock| block.mip == 3 && block.pos.x < 0;
    for _ in 0..60 {
        scene.step_without(eye, 64, is_west);
    }
    let under = MipBlock::holding(VoxelPos::new(-10, 10, -20), 0);
    assert!(scene.drawn.contains_key(&under), "{:?}", scene.drawn.keys());
    for _ in 0..60 {
        scene.step_without(eye, 64, |_| false);
    }
    assert!(scene.drawn.contains_key(&under) && scene.lod.is_settled());
    scene.assert_closed();
    scene.assert_rebuilt();
}

#[test]
fn a_root_that_arrives_out_of_view_stops_no_splits() {
    let mut scene = Scene::new(LodOptions { max_mip: 3, near_voxels: 24.0, ..small() });
    let at = |z: f64| LodViewer { position_voxels: [-60.0, 20.0, z], distance_voxels: 40.0 };
    for _ in 0..60 {
        scene.step_without(at(-20.0), 64, is_east);
    }
    for i in 0..80 {
        scene.step_without(at(-20.0 - f64::from(i.min(60)) * 2.0), 64, |_| false);
        scene.assert_balanced();
    }
    let end = at(-140.0);
    for _ in 0..60 {
        scene.step_without(end, 64, |_| false);
    }
    assert_eq!(scene.lod.overdue_splits(&[end]), []);
    scene.assert_closed();
    scene.assert_rebuilt();
}

/// Whether a block east of a border is finer than its root.
fn is_finer_east(block: MipBlock) -> bool {
    block.mip < 3 && block.pos.x >= 0
}

#[test]
fn a_late_root_whose_finer_cells_stay_unavailable_is_shown_coarse() {
    let mut scene = Scene::new(LodOptions { max_mip: 3, near_voxels: 24.0, ..small() });
    let eye = viewer(-40.0, 20.0, -20.0);
    for _ in 0..60 {
        scene.step_without(eye, 64, |block| is_east(block) || is_finer_east(block));
    }
    let beside = MipBlock::holding(VoxelPos::new(-1, 10, -20), 0);
    assert_eq!(scene.lod.tiling.leaf_over(beside), Some(beside));
    let across = MipBlock::holding(VoxelPos::new(0, 10, -20), 3);
    // For a while it may still be shown as fine as what is beside it.
    for _ in 0..100 {
        scene.step_without(eye, 64, is_finer_east);
    }
    assert!(!scene.lod.tiling.has(across));
    for _ in 0..200 {
        scene.step_without(eye, 64, is_finer_east);
        scene.assert_balanced();
    }
    assert!(scene.lod.tiling.is_leaf(across), "there is a hole");
    scene.assert_closed();
    scene.assert_rebuilt();
    for _ in 0..400 {
        scene.step_without(eye, 64, |_| false);
        scene.assert_balanced();
    }
    assert!(scene.lod.is_settled());
    assert_eq!(scene.lod.overdue_splits(&[eye]), []);
    scene.assert_closed();
    scene.assert_rebuilt();
}

#[test]
fn a_late_root_out_of_view_whose_finer_cells_stay_unavailable_stops_no_splits() {
    let mut scene = Scene::new(LodOptions { max_mip: 3, near_voxels: 24.0, ..small() });
    let at = |z: f64| LodViewer { position_voxels: [-60.0, 20.0, z], distance_voxels: 40.0 };
    for _ in 0..60 {
        scene.step_without(at(-20.0), 64, |block| is_east(block) || is_finer_east(block));
    }
    for i in 0..60 {
        scene.step_without(at(-20.0 - f64::from(i) * 2.0), 64, is_finer_east);
        scene.assert_balanced();
    }
    let end = at(-140.0);
    for _ in 0..600 {
        scene.step_without(end, 64, is_finer_east);
    }
    let overdue = scene.lod.overdue_splits(&[end]);
    // Beside a shown root that cannot be split, leaves stay one mip finer than it.
    let can_split = |split: &MipBlock| {
        let mut is_free = true;
        scene.lod.tiling.touching(*split, |leaf| is_free &= leaf.mip <= split.mip);
        is_free
    };
    assert!(!overdue.iter().any(can_split), "{overdue:?}");
    scene.assert_closed();
    scene.assert_rebuilt();
}

#[test]
fn a_late_root_appears_when_memory_is_short() {
    let options =
        LodOptions { max_mip: 4, detail: 2.0, near_voxels: 40.0, max_bytes: 0, ..small() };
    let mut scene = Scene::new(options);
    let eye = LodViewer { position_voxels: [-10.0, 20.0, -20.0], distance_voxels: 300.0 };
    let is_east = |block: MipBlock| block.mip == 4 && block.pos.x >= 0;
    for _ in 0..60 {
        scene.step_without(eye, 32, is_east);
    }
    let across = MipBlock::holding(VoxelPos::new(0, 10, -20), 0);
    let mut rounds = 0;
    while scene.lod.tiling.leaf_over(across) != Some(across) {
        scene.step_without(eye, 32, |_| false);
        rounds += 1;
        assert!(rounds < 300, "the root is never shown");
    }
    scene.assert_balanced();
    scene.assert_closed();
}

#[test]
fn a_viewer_in_an_unavailable_root_does_not_keep_the_horizon_from_others() {
    let mut scene = Scene::new(LodOptions { max_mip: 3, near_voxels: 40.0, ..small() });
    let viewers = [viewer(-100.0, 20.0, -100.0), viewer(2000.0, 20.0, -100.0)];
    let is_far_east = |block: MipBlock| block.mip == 3 && block.pos.x >= 4;
    let mut rounds = 0;
    while scene.lod.next_tiling.is_some() || scene.lod.tiling.len() == 0 {
        scene.step_for(&viewers, 64, is_far_east);
        rounds += 1;
        assert!(rounds < 600, "the island stays");
    }
    let far = MipBlock::holding(VoxelPos::new(-200, 10, -100), 0);
    assert!(scene.lod.tiling.leaf_over(far).is_some() || scene.lod.tiling.has(far));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]

    #[test]
    fn flights_past_missing_roots_always_show_what_a_rebuild_shows_slow(
        start in prop::array::uniform3(-60.0..60.0f64),
        moves in prop::collection::vec((prop::array::uniform3(-50.0..50.0f64), any::<u64>(), 8usize..60), 4..7),
        morph in any::<bool>(),
    ) {
        let options = LodOptions { jobs_per_plan: 20, morph, ..small() };
        let mut scene = Scene::new(options);
        let mut at = start;
        for &(by, mask, most) in &moves {
            let missing = |block: MipBlock| {
                let pos = block.pos.to_array().map(|v| v.rem_euclid(4));
                block.mip == 2 && mask >> (pos[0] + 4 * pos[1] + 16 * pos[2]) & 1 == 1
            };
            for _ in 0..8 {
                at = [0, 1, 2].map(|i| at[i] + by[i] / 8.0);
                scene.step_without(viewer(at[0], at[1] * 0.2 + 20.0, at[2]), most, missing);
                scene.assert_balanced();
            }
            scene.assert_closed();
            scene.assert_rebuilt();
        }
        let eye = viewer(at[0], at[1] * 0.2 + 20.0, at[2]);
        let mut rounds = 0;
        while !scene.lod.is_settled() {
            scene.step_without(eye, 64, |_| false);
            rounds += 1;
            prop_assert!(rounds < 2000, "the view does not settle");
        }
        scene.assert_balanced();
        scene.assert_closed();
        scene.assert_rebuilt();
        prop_assert_eq!(scene.lod.overdue_splits(&[eye]), []);
    }
}
