//! The terrain, in metres: voxels far out, a far origin, and both so that they cancel.

use super::scene::{
    EDGE, assert_equal_cells, assert_near, assert_near_points, cell, config, corner, inner_point,
};
use proptest::prelude::*;
use proptest::sample::select;
use std::panic::catch_unwind;
use terravox::edit::{EditError, EditOp};
use terravox::terrain::{
    Budget, FillRequest, LodOptions, Placement, RayHit, Terrain, TerrainOptions, Viewer,
};
use terravox::voxel::{Cell, LIMIT, UnlistedChunks, VoxelPos};

/// Fills a block with the scene whose corner is at `at`, by voxel, so that nothing rounds.
fn fill(seed: u8, at: VoxelPos) -> impl Fn(&mut FillRequest<'_>) + Sync {
    move |request| {
        let shift = u32::from(request.mip());
        let cells = request.cells();
        for pos in cells.region().voxels() {
            let local = pos.finer(shift) - at;
            let is_inside = local.to_array().iter().all(|v| (0..EDGE).contains(v));
            cells.set(pos, if is_inside { cell(seed, local) } else { Cell::AIR });
        }
    }
}

/// A terrain with the scene at a voxel and at metres, and a ball dug out of it.
fn terrain(seed: u8, at: VoxelPos, placement: Placement, dug: [f64; 3]) -> Terrain {
    let lod = LodOptions { max_mip: 2, detail: 1.0, ..LodOptions::default() };
    let options = TerrainOptions { placement, lod, ..TerrainOptions::default() };
    let mut terrain = Terrain::new(TerrainOptions { unlisted: UnlistedChunks::Air, ..options });
    let end = at + VoxelPos::splat(EDGE);
    let [min, max] = [at, end].map(|v| placement.world_from_voxel(v.to_array().map(f64::from)));
    terrain.fill(min, max, fill(seed, at)).expect("within the limits");
    let centre = metres(&placement, at, dug);
    terrain.edit(&EditOp::dig_ball(centre, 6.0 * placement.voxel_size_m)).expect("inside");
    terrain.update(&[], Budget::Unlimited, |_| {});
    terrain
}

/// A point of the scene in world metres.
fn metres(placement: &Placement, at: VoxelPos, point: [f64; 3]) -> [f64; 3] {
    let at = at.to_array();
    placement.world_from_voxel([0, 1, 2].map(|i| point[i] + f64::from(at[i])))
}

/// Sizes whose products with voxels are exact or nearly so.
fn size() -> impl Strategy<Value = f64> {
    select(vec![0.25, 1.0, 1.12, 4.0])
}

fn down(terrain: &Terrain, from_m: [f64; 3]) -> Option<RayHit> {
    terrain.ray(from_m, [0.0, -1.0, 0.0], 200.0 * terrain.placement().voxel_size_m).hit()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..config() })]

    #[test]
    fn edits_rays_and_meshes_are_those_at_the_origin(
        seed: u8, at in corner(EDGE), size in size(), is_near_zero: bool, dug in inner_point(),
    ) {
        let origin = Placement { voxel_size_m: size, origin_m: [0.0; 3] };
        // A world that lies such that the scene is at the zero of the game's space.
        let back = at.to_array().map(|v| f64::from(v) * -size);
        let placement = Placement { origin_m: if is_near_zero { back } else { [0.0; 3] }, ..origin };
        let mut near = terrain(seed, VoxelPos::ZERO, origin, dug);
        let mut far = terrain(seed, at, placement, dug);
        if size != 1.12 {
            assert_equal_cells(near.grid(), far.grid(), at);
        }
        // f64 rounds metres at the limits to 2⁻²⁰.
        for (x, z) in [(3.25, 5.5), (20.0, 40.75), (40.5, 30.25), (60.5, 60.0)] {
            let hit = down(&near, metres(&origin, VoxelPos::ZERO, [x, 63.0, z]));
            let other = down(&far, metres(&placement, at, [x, 63.0, z]));
            prop_assert_eq!(hit.is_some(), other.is_some());
            let (Some(hit), Some(other)) = (hit, other) else { continue };
            assert_near(hit.distance_m, other.distance_m, 0.01 * size, "distance");
            prop_assert_eq!(hit.voxel + at, other.voxel);
        }
        let camera = metres(&placement, at, [0.0; 3]);
        let mut frames = [Vec::new(), Vec::new()];
        for (frame, (terrain, origin_m)) in
            frames.iter_mut().zip([(&mut near, [0.0; 3]), (&mut far, camera)])
        {
            let placement = terrain.placement();
            for shown in terrain.mesh_swaps().flat_map(|swap| swap.added) {
                let transform = shown.transform_from(&placement, origin_m);
                let bounds = shown.bounds(&placement);
                let low = [0, 1, 2].map(|i| bounds.min[i] - origin_m[i]);
                frame.push((transform, low, shown.mesh.solid.triangle_count()));
            }
        }
        prop_assert_eq!(frames[0].len(), frames[1].len());
        for ((near, low, count), (far, far_low, far_count)) in frames[0].iter().zip(&frames[1]) {
            prop_assert_eq!(near.scale, far.scale);
            assert_near_points(near.translation.map(f64::from), far.translation.map(f64::from), 1e-4, "mesh");
            assert_near_points(*low, *far_low, 0.01 * size, "bounds");
            prop_assert!(size == 1.12 || count == far_count);
        }
    }

    #[test]
    fn a_moved_origin_leaves_the_ground_where_it_is(
        seed: u8, at in corner(EDGE), size in size(), dug in inner_point(),
    ) {
        let origin = Placement { voxel_size_m: size, origin_m: [0.0; 3] };
        let mut far = terrain(seed, at, origin, dug);
        let before = down(&far, metres(&origin, at, [40.5, 63.0, 30.25])).expect("the ball");
        let shift = metres(&origin, at, [0.0; 3]).map(|v| -v);
        far.set_origin(shift);
        let placement = far.placement();
        let after = down(&far, metres(&placement, at, [40.5, 63.0, 30.25])).expect("the ball");
        prop_assert_eq!(before.voxel, after.voxel);
        assert_near(before.distance_m, after.distance_m, 1e-3 * size, "distance");
        prop_assert!(after.point_m.iter().all(|v| v.abs() < 100.0 * size));
        far.undo().expect("all is held");
    }
}

#[test]
fn streamed_worlds_are_shown_at_the_limits() {
    for at in [-LIMIT, LIMIT - EDGE].map(VoxelPos::splat) {
        let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
        let lod =
            LodOptions { max_mip: 3, detail: 1.0, near_voxels: 30.0, ..LodOptions::default() };
        let mut terrain =
            Terrain::new(TerrainOptions { placement, lod, ..TerrainOptions::default() });
        let viewer = Viewer { position_m: metres(&placement, at, [32.0; 3]), distance_m: 100.0 };
        for _ in 0..100 {
            terrain.update(&[viewer], Budget::Unlimited, fill(3, at));
        }
        assert!(terrain.is_settled());
        assert!(terrain.lod().triangles() > 1000);
        assert!(down(&terrain, metres(&placement, at, [40.5, 58.0, 30.25])).is_some());
    }
}

const BEYOND: [f64; 9] = [2e9, -2e9, 1e12, 1e30, -1e30, 1e308, -f64::MAX, f64::INFINITY, f64::NAN];

#[test]
fn edits_beyond_the_limits_are_refused_and_rays_miss() {
    let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
    let options = TerrainOptions { unlisted: UnlistedChunks::Air, ..placement.into() };
    let mut terrain = Terrain::new(options);
    for value in BEYOND {
        for point in [[value; 3], [0.0, value, 0.0]] {
            let error = terrain.edit(&EditOp::dig_ball(point, 3.0)).expect_err("beyond");
            let message = error.to_string();
            assert!(message.contains(" m"), "{message}");
            let to = point.map(|v| v + 4.0);
            let error = terrain.fill(point, to, |request| request.fill(8)).expect_err("beyond");
            let is_named = |reason| matches!(reason, EditError::BeyondLimits(_));
            assert!(is_named(error.reason), "{error}");
            let error = terrain.edit_cells(point, to, |_, cell| cell).expect_err("beyond");
            assert!(is_named(error.reason), "{error}");
            let error = terrain.hold(point, to, |request| request.fill(8)).expect_err("beyond");
            assert!(is_named(error.reason), "{error}");
            assert!(terrain.ray(point, [1.0, -1.0, 0.0], 1e300).hit().is_none());
            terrain.update(&[Viewer::at(point)], Budget::Unlimited, |request| request.fill(8));
            terrain.ray_shown(point, [1.0, 0.0, 0.0], 1e9, &terravox::collide::Filter::BOTH);
            terrain.placement().voxel_at(point);
        }
    }
    assert!(terrain.grid().is_empty());
}

fn message(panicked: Result<Terrain, Box<dyn std::any::Any + Send>>) -> String {
    let message = panicked.expect_err("refused");
    message.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn placements_that_f64_cannot_resolve_are_refused_by_name() {
    let placed = |voxel_size_m: f64, origin_m: f64| {
        let placement = Placement { voxel_size_m, origin_m: [0.0, origin_m, 0.0] };
        assert_eq!(
            placement.check().is_ok(),
            catch_unwind(|| Terrain::new(placement.into())).is_ok()
        );
        catch_unwind(|| Terrain::new(placement.into()))
    };
    for size in [0.0, -1.0, 1e-9, 1e-300, 1e10, 1e308, f64::INFINITY, f64::NAN] {
        let text = message(placed(size, 0.0));
        assert!(text.contains("voxel size") && text.contains("1e-6 to 1e9"), "{text}");
    }
    for origin in [1e14, -1e30, 1e308, f64::INFINITY, f64::NAN] {
        let text = message(placed(1.0, origin));
        assert!(text.contains("origin") && text.contains("8796093022208"), "{text}");
    }
    for (size, origin) in [(1e-6, 0.0), (1e9, 1e21), (1.0, 8e12), (0.25, -2e12)] {
        assert!(placed(size, origin).is_ok(), "{size} at {origin}");
    }
    let moved = catch_unwind(|| {
        let mut terrain = Terrain::default();
        terrain.set_origin([1e300, 0.0, 0.0]);
        terrain
    });
    assert!(message(moved).contains("origin"));
}
