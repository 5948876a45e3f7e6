//! Generators: the same cells wherever a box lies, and noise at all f64.

use super::scene::{EDGE, config, corner, ground, local};
use proptest::prelude::*;
use terravox::generate::{Fractal, Hills, Noise2, Noise3, fill_height, fill_sdf, fill_sdf_bounded};
use terravox::voxel::{DenseBox, LIMIT, MipBlock, Region, VoxelPos};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn boxes_are_filled_as_at_the_origin(seed: u8, at in corner(EDGE * 4), mip in 0u8..3) {
        let fill = |at: VoxelPos| {
            let by = at.coarser(mip.into());
            let corner = by.finer(mip.into());
            let mut boxes = Vec::new();
            for kind in 0..3 {
                let mut cells = DenseBox::new(Region { min: by, max: by + VoxelPos::splat(24) });
                let depth = |p: [f64; 3]| ground(seed, local(p, corner));
                let low = f64::from(corner.y);
                match kind {
                    0 => fill_sdf(&mut cells, mip, depth, |_| 8),
                    1 => fill_sdf_bounded(&mut cells, mip, 8, 1.0, |p| {
                        9.0 - (0..3).map(|i| (local(p, corner)[i] - 12.0).powi(2)).sum::<f64>().sqrt()
                    }),
                    _ => fill_height(&mut cells, mip, 8, low..=low + 40.0, |x, z| {
                        let [x, _, z] = local([x, 0.0, z], corner);
                        low + 20.0 + 9.0 * (0.13 * x).sin() + 7.0 * (0.11 * z).cos()
                    }),
                }
                cells.move_to(VoxelPos::ZERO);
                boxes.push(cells);
            }
            boxes
        };
        prop_assert!(fill(VoxelPos::ZERO) == fill(at));
    }

    #[test]
    fn hills_at_the_limits_are_ground_and_air_that_fit_their_neighbours(
        seed: u64, x in prop::sample::select(vec![-LIMIT, LIMIT - 64, 1 << 24]), mip in 0u8..=8,
    ) {
        let hills = Hills::new(seed);
        let block = MipBlock::holding(VoxelPos::new(x, 0, x), mip);
        prop_assert!(block.within_limits());
        let mut whole = DenseBox::new(block.cells());
        hills.fill(&mut whole, mip);
        let part = Region { max: block.cells().min + VoxelPos::splat(9), ..block.cells() };
        let mut cells = DenseBox::new(part);
        hills.fill(&mut cells, mip);
        let same = part.voxels().all(|p| cells.cell(p) == whole.cell(p));
        prop_assert!(same, "a part of a block differs from the block");
        let height = hills.height(f64::from(x), f64::from(x));
        let heights = f64::from(Hills::HEIGHTS.start)..=f64::from(Hills::HEIGHTS.end);
        prop_assert!(heights.contains(&height), "{}", height);
    }
}

#[test]
fn noise_is_bounded_at_all_finite_points() {
    let limit = f64::from(LIMIT);
    for value in [limit, -limit, 9e15, 1e18, 1e19, -1e19, 1e30, -1e30, 1e308, -f64::MAX, f64::MAX] {
        for other in [0.0, 0.25, value] {
            let flat = Noise2::new(5).at(value, other);
            assert!(flat.abs() <= Noise2::MAX, "{value}: {flat}");
            let deep = Noise3::new(5).at([value, other, -value]);
            assert!(deep.abs() <= Noise3::MAX, "{value}: {deep}");
            let sum = Fractal::new(5, 64.0, 8.0);
            assert!(sum.at_2d(value, other).abs() <= sum.max_2d());
            assert!(sum.at_3d([value, other, value]).abs() <= sum.max_3d());
        }
    }
}
