//! Octrees: single, of a whole grid, joined, and of densities.

use super::scene::{EDGE, config, corner, ground, moved, pair, point_at};
use proptest::prelude::*;
use std::panic::catch_unwind;
use terravox::mesh::Surface;
use terravox::octree::{Detail, Octree, OctreeBuilder, OctreePos, Octrees};
use terravox::voxel::{LIMIT, Region, VoxelGrid, VoxelPos};

fn contour(octree: &Octree, detail: &Detail) -> Surface {
    let mut surface = Surface::default();
    octree.contour(detail, &mut surface);
    surface
}

fn octrees_of(grid: &VoxelGrid) -> Octrees {
    let mut octrees = Octrees::new();
    octrees.update(grid);
    octrees
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn octrees_of_a_grid_are_those_at_the_origin(seed: u8, at in corner(EDGE)) {
        let grids = pair(seed, at);
        let [origin, far] = grids.each_ref().map(octrees_of);
        prop_assert_eq!(origin.iter().count(), far.iter().count());
        let by = at.coarser(6);
        for (block, octree) in origin.iter() {
            let there = OctreePos::new(block.x + by.x, block.y + by.y, block.z + by.z);
            let other = far.get(there).expect("a surface");
            prop_assert_eq!(moved(octree.region(), at), other.region());
            for detail in [Detail::size(1), Detail::size(4), Detail::error(0.2)] {
                let (near, other) = (contour(octree, &detail), contour(other, &detail));
                prop_assert_eq!(near.first_difference(&other), None);
            }
        }
        let [near, other] = [&origin, &far].map(|octrees| {
            let parts: Vec<&Octree> = octrees.iter().map(|(_, octree)| &**octree).collect();
            Octree::joined(&parts)
        });
        prop_assert_eq!(near.min() + at, other.min());
        prop_assert!(near.leaf_count() > 3000);
        let [near, other] = [near, other].map(|octree| contour(&octree, &Detail::size(2)));
        prop_assert_eq!(near.first_difference(&other), None);
    }

    #[test]
    fn octrees_of_densities_are_those_at_the_origin(seed: u8, at in corner(EDGE)) {
        let build = |at: VoxelPos| {
            OctreeBuilder::new().densities(at, 6, |point| {
                (ground(seed, (point - at).to_array().map(f64::from)) as f32, 8)
            })
        };
        let [near, far] = [VoxelPos::ZERO, at].map(build);
        prop_assert_eq!(moved(near.region(), at), far.region());
        let [near, far] = [near, far].map(|octree| contour(&octree, &Detail::size(1)));
        prop_assert_eq!(near.first_difference(&far), None);
    }
}

/// The octree of a ball of radius 9 in a cube of 32 cells.
fn ball(min: VoxelPos) -> Octree {
    let middle = point_at([16.0; 3], min);
    OctreeBuilder::new().densities(min, 5, |point| {
        let off = point.to_array().map(f64::from);
        let square: f64 = (0..3).map(|i| (off[i] - middle[i]).powi(2)).sum();
        ((9.0 - square.sqrt()) as f32, 8)
    })
}

#[test]
fn octrees_join_over_as_many_cells_as_f32_places_and_not_over_more() {
    let one = contour(&ball(VoxelPos::ZERO), &Detail::size(1)).triangle_count();
    let widest = Octree::MAX_JOINED_CELLS - 32;
    for apart in [32, 1 << 12, widest] {
        for low in [VoxelPos::ZERO, VoxelPos::splat(-LIMIT), VoxelPos::splat(LIMIT - apart - 32)] {
            let parts = [ball(low), ball(low + VoxelPos::new(apart, 0, apart))];
            let both = contour(&Octree::joined(&parts.each_ref()), &Detail::size(1));
            assert_eq!(both.triangle_count(), 2 * one, "{apart} cells apart");
            let furthest = both.positions.iter().fold(0.0, |far: f32, p| far.max(p[0]));
            assert!((furthest - (apart as f32 + 25.0)).abs() < 0.2, "{furthest}");
        }
    }
    for apart in [widest + 32, 1 << 27, 1 << 30] {
        let parts = [ball(VoxelPos::splat(-LIMIT)), ball(VoxelPos::new(apart - LIMIT, 0, 0))];
        let joined = catch_unwind(|| Octree::joined(&parts.each_ref()));
        let message = joined.expect_err("too wide");
        let message = message.downcast_ref::<String>().expect("a message");
        assert!(message.contains("2^17") && message.contains("cells"), "{message}");
    }
}

#[test]
fn octrees_beyond_the_limits_are_refused() {
    for min in [LIMIT - 32, LIMIT, i32::MAX, i32::MIN, -LIMIT - 64] {
        let built =
            catch_unwind(|| OctreeBuilder::new().densities([0, min, 0], 6, |_| (1.0, 8)).region());
        let message = built.expect_err("beyond the limits");
        let message = message.downcast_ref::<String>().expect("a message");
        assert!(message.contains("±2^30"), "{message}");
        let built = catch_unwind(|| OctreeBuilder::new().leaves([0, 0, min], 6, &[]).region());
        let message = built.expect_err("beyond the limits");
        assert!(message.downcast_ref::<String>().expect("a message").contains("±2^30"));
    }
    let whole = Region::new([LIMIT - 64; 3], [LIMIT; 3]);
    assert_eq!(OctreeBuilder::new().leaves(whole.min, 6, &[]).region(), whole);
}
