//! The grid: cells, mips, bounds and digests of chunks.

use super::scene::{EDGE, config, corner, moved, pair};
use proptest::prelude::*;
use terravox::voxel::{
    Cell, ChunkState, DenseBox, GridOptions, Knowledge, LIMIT, MipBlock, Region, UnlistedChunks,
    VoxelGrid, VoxelPos,
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn cells_of_all_mips_are_those_at_the_origin(seed: u8, at in corner(EDGE * 4)) {
        let [origin, far] = pair(seed, at);
        prop_assert_eq!(moved(origin.bounds(), at), far.bounds());
        let (mut a, mut b) = (DenseBox::default(), DenseBox::default());
        for mip in 0..=6u8 {
            let shift = u32::from(mip);
            let (near, around) = (Region::new([0; 3], [EDGE; 3]), 3);
            let region = near.coarser(shift).grow(around);
            origin.read(region, mip, &mut a).expect("air around");
            far.read(moved(region, at.coarser(shift)), mip, &mut b).expect("air around");
            b.move_to(region.min);
            prop_assert!(a == b, "mip {}", mip);
            let known = far.read_known(moved(region, at.coarser(shift)), mip, &mut b);
            b.move_to(region.min);
            prop_assert!(a == b && known == Knowledge::AtMip, "mip {} as known", mip);
        }
    }
}

#[test]
fn beyond_the_limits_there_is_air() {
    let corners = [i32::MIN, -LIMIT - 40, LIMIT, i32::MAX - 20];
    for unlisted in [UnlistedChunks::Air, UnlistedChunks::Unknown] {
        let grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
        for at in corners.map(VoxelPos::splat) {
            let region = Region { min: at, max: at + VoxelPos::splat(20) };
            let mut cells = DenseBox::default();
            for mip in [0, 1, 3, 4, 8] {
                grid.read(region, mip, &mut cells).expect("air");
                assert!(cells.materials().iter().all(|&material| material == 0));
                let known = grid.read_known(region, mip, &mut cells);
                assert_eq!(known, Knowledge::AtMip);
                assert!(cells.materials().iter().all(|&material| material == 0));
            }
            assert_eq!(grid.held(at.chunk()), ChunkState::Air);
            assert_eq!(grid.cell(at), Ok(Cell::AIR));
        }
        let edge = Region::new([LIMIT - 8; 3], [LIMIT + 8; 3]);
        let is_held = grid.read(edge, 0, &mut DenseBox::default()).is_ok();
        assert_eq!(is_held, unlisted == UnlistedChunks::Air);
    }
}

#[test]
fn far_blocks_end_at_the_limits() {
    for (x, z) in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
        for mip in [1u8, 8, 12] {
            let limit = LIMIT >> (5 + mip);
            let side = |sign: i32| if sign > 0 { limit - 1 } else { -limit };
            let block = MipBlock::new(mip, [side(x), 0, side(z)]);
            let mut grid = VoxelGrid::new(GridOptions {
                unlisted: UnlistedChunks::Unknown,
                ..GridOptions::default()
            });
            let mut cells = DenseBox::new(block.cells());
            cells.fill(8);
            grid.write_far(block, &cells);
            let mut read = DenseBox::default();
            let around = block.cells().grow(2);
            grid.read_known(around, mip, &mut read);
            let solid = read.materials().iter().filter(|&&material| material == 8).count();
            assert_eq!(solid, 32 * 32 * 32, "{block}");
        }
    }
}
