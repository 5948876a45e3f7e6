//! Loose pieces, from the cut to the ground that they come to rest on.

use super::scene::{
    EDGE, assert_equal_cells, assert_near_points, config, corner, moved, pair, point_at,
};
use proptest::prelude::*;
use terravox::bodies::{
    BodyPose, LooseBody, LooseCutter, LooseOptions, SavedBody, WriteBackMethod,
};
use terravox::edit::{EditError, EditOp, Editor};
use terravox::voxel::{DenseBox, GridOptions, LIMIT, Region, UnlistedChunks, VoxelGrid, VoxelPos};

/// Cuts what does not stand on the lowest cells: the ball and the rod of the scene, and what a
/// tunnel leaves.
fn cut(grid: &mut VoxelGrid, at: VoxelPos, dug: [f64; 3]) -> Vec<LooseBody> {
    let op = EditOp::dig_ball(point_at(dug, at), 5.0);
    Editor::default().apply(grid, &op, None).expect("within the limits");
    let mut cutter = LooseCutter::default();
    cutter.touch(Region::new([i32::MIN; 3], [i32::MAX; 3]));
    let options = LooseOptions::floor(at.y + 1);
    let cut = cutter.cut(grid, None, &options).expect("all is held");
    assert!(!cut.has_more);
    cut.bodies
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn pieces_break_off_and_are_written_back_as_at_the_origin(
        seed: u8, at in corner(EDGE), dug in prop::array::uniform3(20..44i32), is_turned: bool,
    ) {
        let [mut origin, mut far] = pair(seed, at);
        let dug = dug.map(f64::from);
        let near = cut(&mut origin, VoxelPos::ZERO, dug);
        let there = cut(&mut far, at, dug);
        assert_equal_cells(&origin, &far, at);
        prop_assert!(!near.is_empty() && near.len() == there.len());
        let rotation = match is_turned {
            true => [0.0, 0.2, 0.0, 0.979_795_897],
            false => [0.0, 1.0, 0.0, 1.0],
        };
        for (near, there) in near.iter().zip(&there) {
            prop_assert_eq!(near.origin_voxel + at, there.origin_voxel);
            prop_assert_eq!((near.cells, near.bounds, near.mass), (there.cells, there.bounds, there.mass));
            prop_assert_eq!(near.grid.digest(), there.grid.digest());
            prop_assert_eq!(&near.meshes, &there.meshes);
            let again = SavedBody::new(there, there.first_pose()).to_body().expect("all is held");
            prop_assert_eq!(again.mass, there.mass);
            // Around the middle of the scene, so that every turn stays inside.
            let centre = near.mass.centre.map(|v| (v * 64.0).round() / 64.0);
            let pose = |at: VoxelPos| {
                let middle = point_at([32.25, 34.5, 31.75], at);
                let apart = point_at([-centre[0], -centre[1], -centre[2]], VoxelPos::ZERO);
                let position_voxels = [0, 1, 2].map(|i| middle[i] + apart[i]);
                BodyPose { position_voxels, rotation }
            };
            let back = near.write_back(&mut origin, &pose(VoxelPos::ZERO), None);
            let far_back = there.write_back(&mut far, &pose(at), None);
            match (back, far_back) {
                (Ok(back), Ok(far_back)) => prop_assert_eq!(back, far_back),
                // At a limit the piece may be longer than the way to it.
                (_, Err(EditError::BeyondLimits(_))) => return Ok(()),
                (back, far_back) => prop_assert!(false, "{:?} and {:?}", back, far_back),
            }
            assert_equal_cells(&origin, &far, at);
        }
    }
}

/// A body of one cube of rock whose own grid lies at `corner`.
fn cube(corner: i32) -> LooseBody {
    let mut grid =
        VoxelGrid::new(GridOptions { unlisted: UnlistedChunks::Air, ..GridOptions::default() });
    let min = VoxelPos::splat(corner);
    let mut cells = DenseBox::new(Region { min, max: min + VoxelPos::splat(4) });
    cells.fill(8);
    grid.write(&cells).expect("within the limits");
    LooseBody::new(grid, VoxelPos::ZERO).expect("all is held")
}

#[test]
fn bodies_with_far_cells_have_the_mass_of_near_ones_and_come_back_where_they_are() {
    let near = cube(0);
    for corner in [LIMIT - 4, -LIMIT, (1 << 24) + 1] {
        let body = cube(corner);
        assert_eq!((body.cells, body.mass.mass), (near.cells, near.mass.mass));
        let middle = f64::from(corner) + 2.0;
        assert_near_points(body.mass.centre.map(f64::from), [middle; 3], 1e-6, "centre of mass");
        let mut world = VoxelGrid::new(GridOptions::default());
        let pose =
            BodyPose { position_voxels: [-f64::from(corner); 3], rotation: [0.0, 0.0, 0.0, 1.0] };
        let method = body.write_back(&mut world, &pose, None).expect("near the origin");
        assert!(matches!(method, WriteBackMethod::Turned(_)));
        let at = Region::new([0; 3], [4; 3]);
        assert_eq!(moved(world.bounds(), VoxelPos::ZERO), at.coarser(5).finer(5));
        let mut cells = DenseBox::default();
        world.read(at, 0, &mut cells).expect("held");
        assert!(cells.materials().iter().all(|&material| material == 8));
    }
}

#[test]
fn poses_beyond_the_limits_are_refused() {
    let limit = f64::from(LIMIT);
    for corner in [0, LIMIT - 4, -LIMIT] {
        let body = cube(corner);
        for value in [limit, 2.0 * limit, -2.0 * limit, 3e9, 1e30, 1e308, f64::INFINITY, f64::NAN] {
            for rotation in [[0.0, 0.0, 0.0, 1.0], [0.3, 0.1, 0.2, 0.9], [0.0, 1.0, 0.0, 1.0]] {
                let position_voxels = [value - f64::from(corner); 3];
                let mut world = VoxelGrid::new(GridOptions::default());
                let pose = BodyPose { position_voxels, rotation };
                let error = body.write_back(&mut world, &pose, None).expect_err("beyond");
                assert!(
                    matches!(error, EditError::BeyondLimits(_) | EditError::Invalid(_)),
                    "{error}"
                );
                assert!(world.is_empty());
            }
        }
    }
}
