//! After an edit only the blocks that it touches are looked at: the same is shown as if all were.

use super::*;

/// Asserts that two scenes show the same blocks.
fn assert_same(scenes: &[Scene; 2]) {
    let [a, b] = scenes;
    assert_eq!(a.lod.blocks(), b.lod.blocks());
    assert!(a.drawn == b.drawn, "meshes differ");
    assert_eq!(a.lod.is_settled(), b.lod.is_settled());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]

    #[test]
    fn edits_choose_what_looking_at_all_blocks_chooses_slow(
        start in prop::array::uniform3(-60.0..60.0f64),
        digs in prop::collection::vec(
            (prop::array::uniform3(-70i32..70), 1i32..14, any::<bool>(), 0usize..6),
            6..12,
        ),
        jobs_per_plan in 4usize..40,
    ) {
        let mut scenes = [false, true].map(|looks_everywhere| {
            let mut scene = Scene::new(LodOptions { jobs_per_plan, ..small() });
            scene.lod.looks_everywhere = looks_everywhere;
            scene
        });
        let mut at = start;
        let eye = |at: [f64; 3]| viewer(at[0], at[1] * 0.2 + 20.0, at[2]);
        scenes.iter_mut().for_each(|scene| scene.settle(eye(at)));
        assert_same(&scenes);
        for &(offset, reach, fill, steps) in &digs {
            // High above the ground, too, where coarse blocks have no surface.
            let near = [0, 1, 2].map(|i| at[i] as i32 * i32::from(i != 1) + offset[i]);
            for scene in &mut scenes {
                scene.dig(near, reach, if fill { Cell::full(4) } else { Cell::AIR });
                for _ in 0..steps {
                    scene.step(eye(at), 20);
                }
            }
            assert_same(&scenes);
        }
        scenes.iter_mut().for_each(|scene| scene.settle(eye(at)));
        assert_same(&scenes);
        // Elsewhere all are looked at.
        at[0] += 40.0;
        for scene in &mut scenes {
            scene.settle(eye(at));
            scene.assert_rebuilt();
        }
        assert_same(&scenes);
    }
}

#[test]
fn a_dig_looks_at_few_blocks() {
    let mut scene = Scene::new(LodOptions { max_mip: 4, near_voxels: 64.0, ..small() });
    let eye = viewer(10.0, 30.0, -20.0);
    scene.settle(eye);
    let nodes = scene.lod.tiling.len();
    assert!(nodes > 200, "{nodes}");
    for at in [[14, 10, -24], [10, 20, 4], [31, 12, -33], [-9, 8, -52]] {
        let before = scene.lod.looked_at;
        scene.dig(at, 3, Cell::AIR);
        scene.settle(eye);
        let looked_at = scene.lod.looked_at - before;
        assert!(scene.lod.is_settled() && looked_at > 0 && looked_at * 4 < nodes, "{looked_at}");
    }
}

#[test]
fn an_edit_that_needs_cells_looks_at_all_blocks_once_more_at_most() {
    // Ground high in the air gives coarse blocks a surface, so that finer ones are needed.
    let looked_at = |looks_everywhere: bool| {
        let mut scene = Scene::new(LodOptions { max_mip: 4, near_voxels: 16.0, ..small() });
        scene.lod.looks_everywhere = looks_everywhere;
        let eye = viewer(10.0, 30.0, -20.0);
        scene.settle(eye);
        let before = scene.lod.looked_at;
        scene.dig([20, 85, -30], 6, Cell::full(4));
        scene.settle(eye);
        (scene.lod.looked_at - before, scene.lod.tiling.len(), scene.lod.blocks())
    };
    let [(few, nodes, blocks), (all, _, all_blocks)] = [false, true].map(looked_at);
    assert!(all > nodes && few <= all + nodes, "{few}, {all} of {nodes} blocks");
    assert_eq!(blocks, all_blocks);
}
