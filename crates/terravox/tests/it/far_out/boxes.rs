//! Solid cells as boxes.

use super::scene::{EDGE, config, corner, inner_point, moved, pair, point_at};
use proptest::prelude::*;
use terravox::boxes::{BoxColliders, BoxList};
use terravox::edit::{EditOp, Editor};
use terravox::voxel::{ChangeCursor, Region, VoxelGrid, VoxelPos};

/// The boxes of a grid, before and after a ball is dug, sorted.
fn boxes(mut grid: VoxelGrid, at: VoxelPos, log2: u32, dug: [f64; 3]) -> [Vec<Region>; 2] {
    let (mut colliders, mut sink) = (BoxColliders::new(log2), BoxList::default());
    let mut cursor = ChangeCursor::default();
    let mut follow = |grid: &VoxelGrid| {
        let changes = grid.changes_since(&mut cursor);
        colliders.update(grid.as_snapshot(), &changes, &mut sink);
        let mut found: Vec<Region> = colliders.iter().map(|(region, _)| region).collect();
        found.sort_by_key(|region| region.min);
        found
    };
    let before = follow(&grid);
    let op = EditOp::dig_ball(point_at(dug, at), 6.0);
    Editor::default().apply(&mut grid, &op, None).expect("within the limits");
    [before, follow(&grid)]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn boxes_are_those_at_the_origin(
        seed: u8, at in corner(EDGE), log2 in 3u32..=6, dug in inner_point(),
    ) {
        let [origin, far] = pair(seed, at);
        let (near, far) = (boxes(origin, VoxelPos::ZERO, log2, dug), boxes(far, at, log2, dug));
        for (near, far) in near.iter().zip(&far) {
            let moved: Vec<Region> = near.iter().map(|&region| moved(region, at)).collect();
            prop_assert!(moved == *far, "{} boxes and {}", moved.len(), far.len());
        }
        prop_assert!(near[0].len() > 50);
    }

    #[test]
    fn a_cover_beyond_the_limits_is_clipped(seed: u8, at in corner(EDGE)) {
        let [_, far] = pair(seed, at);
        let everywhere = Region::new([i32::MIN; 3], [i32::MAX; 3]);
        let count = |cover: Option<Region>| {
            let (mut colliders, mut sink) = (BoxColliders::new(5), BoxList::default());
            cover.into_iter().for_each(|cover| colliders.cover(&[cover]));
            let changes = far.changes_since(&mut ChangeCursor::default());
            colliders.update(far.as_snapshot(), &changes, &mut sink);
            colliders.len()
        };
        prop_assert_eq!(count(Some(everywhere)), count(None));
    }
}
