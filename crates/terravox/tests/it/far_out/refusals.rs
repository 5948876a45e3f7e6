//! Positions of voxels, blocks and regions at the ends of i32.

use std::panic::catch_unwind;
use terravox::bodies::Anchors;
use terravox::math::Aabb;
use terravox::octree::Octrees;
use terravox::voxel::{BlockPos, ChunkPos, DenseBox, LIMIT, MipBlock, Region, VoxelGrid, VoxelPos};

const ENDS: [i32; 7] = [i32::MIN, i32::MIN + 1, -LIMIT, LIMIT - 1, LIMIT, i32::MAX - 1, i32::MAX];

#[test]
fn regions_at_the_ends_of_the_integers_do_not_wrap() {
    for (low, high) in ENDS.into_iter().flat_map(|low| ENDS.map(|high| (low, high))) {
        let region = Region::new([low; 3], [high; 3]);
        assert_eq!(region.is_empty(), low >= high);
        let edge = (i64::from(high) - i64::from(low)).max(0) as u64;
        assert_eq!(region.size().map(|v| v as u64), [edge; 3]);
        assert!(edge == 0 || region.grow(5).contains_region(region));
        for shift in [0, 1, 5, 8, 31] {
            let coarse = region.coarser(shift);
            assert_eq!(coarse.is_empty(), region.is_empty(), "{region} by {shift}");
            assert!(edge == 0 || coarse.contains(region.min.coarser(shift)));
        }
        assert_eq!(region.within_limits(), edge == 0 || (low >= -LIMIT && high <= LIMIT));
        let voxels = Aabb::of_region(region).voxels();
        assert!(edge == 0 || voxels.contains_region(region));
    }
}

#[test]
fn blocks_know_whether_they_lie_within_the_limits() {
    for at in ENDS {
        let voxel = VoxelPos::splat(at);
        let inside = (-LIMIT..LIMIT).contains(&at);
        assert_eq!(voxel.chunk().within_limits(), inside);
        assert_eq!(BlockPos::<6>::new(0, at >> 6, 0).within_limits(), inside);
        for mip in 0..=8 {
            assert_eq!(MipBlock::holding(voxel, mip).within_limits(), inside);
        }
    }
}

#[test]
fn writes_beyond_the_limits_are_refused_by_name() {
    let text = |panicked: std::thread::Result<()>| {
        let message = panicked.expect_err("refused");
        message.downcast_ref::<String>().expect("a message").clone()
    };
    for at in [-LIMIT - 32, LIMIT, 1 << 30 | 1 << 29] {
        let min = VoxelPos::splat(at);
        let region = Region { min, max: min + VoxelPos::splat(32) };
        let cells = || DenseBox::new(region);
        let written = catch_unwind(|| VoxelGrid::default().write(&cells()).unwrap_or_default());
        assert!(text(written).contains("limits"));
        let loaded = catch_unwind(|| {
            VoxelGrid::default().load(&cells());
        });
        assert!(text(loaded).contains("limits"));
        let block = MipBlock::holding(min, 2);
        let far = DenseBox::new(block.cells());
        let written = catch_unwind(|| VoxelGrid::default().write_far(block, &far));
        assert!(text(written).contains("limits"));
        let chunk = ChunkPos::new(at >> 5, 0, 0);
        let mut grid = VoxelGrid::default();
        assert!(grid.forget(chunk) && !grid.is_listed(chunk));
        assert!(Octrees::new().update(&grid).is_empty());
    }
}

#[test]
fn anchors_reach_to_the_ends_of_the_integers() {
    for at in ENDS {
        let anchors = Anchors::below(at);
        assert_eq!(anchors.holds(VoxelPos::new(0, LIMIT - 1, 0)), LIMIT - 1 < at);
        assert_eq!(anchors.holds(VoxelPos::new(0, -LIMIT, 0)), -LIMIT < at);
    }
    let border = Anchors::border_of(Region::new([-LIMIT; 3], [LIMIT; 3]));
    assert!(border.holds(VoxelPos::splat(-LIMIT)) && !border.holds(VoxelPos::ZERO));
}
