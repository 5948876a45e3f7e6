//! The level of detail: what is shown around a viewer, and what rays hit of it.

use super::scene::{EDGE, assert_near, config, corner, grid, moved, point_at};
use proptest::prelude::*;
use terravox::lod::{LodOptions, LodView, LodViewer, MeshScratch, ShownSurfaces};
use terravox::voxel::{DenseBox, LIMIT, MipBlock, UnlistedChunks, VoxelGrid, VoxelPos};

/// Whole roots around the scene, so that no limit is in view.
const MARGIN: i32 = 1024;

fn options(morph: bool) -> LodOptions {
    LodOptions { max_mip: 3, near_voxels: 24.0, detail: 1.0, morph, ..LodOptions::default() }
}

/// Plans and publishes until nothing is left to do; `source` has the cells of a streamed world.
fn settle(view: &mut LodView, grid: &mut VoxelGrid, source: &VoxelGrid, viewers: &[LodViewer]) {
    let mut scratch = MeshScratch::default();
    for _ in 0..400 {
        let jobs = view.plan(grid, viewers);
        view.publish(jobs.iter().map(|job| job.run(&mut scratch)).collect());
        for block in view.take_wanted(&grid.snapshot(), 64) {
            let mut cells = DenseBox::default();
            source.read_known(block.cells(), block.mip, &mut cells);
            view.supply(block, cells);
        }
        if view.is_settled() {
            return;
        }
    }
    panic!("the view does not settle");
}

fn show(
    seed: u8,
    at: VoxelPos,
    unlisted: UnlistedChunks,
    eye: Option<[f64; 3]>,
    morph: bool,
) -> LodView {
    let source = grid(seed, at, UnlistedChunks::Air);
    let mut streamed = match unlisted {
        UnlistedChunks::Air => grid(seed, at, unlisted),
        UnlistedChunks::Unknown => {
            VoxelGrid::new(terravox::voxel::GridOptions { unlisted, ..Default::default() })
        }
    };
    let viewer =
        eye.map(|eye| LodViewer { position_voxels: point_at(eye, at), distance_voxels: 300.0 });
    let mut view = LodView::new(options(morph));
    settle(&mut view, &mut streamed, &source, viewer.as_slice());
    view
}

fn assert_same(near: &LodView, far: &LodView, at: VoxelPos) {
    let there = |block: MipBlock| MipBlock {
        pos: block.pos + at.coarser(5 + u32::from(block.mip)),
        ..block
    };
    let blocks = |view: &LodView| view.blocks();
    let mut expected: Vec<MipBlock> = blocks(near).into_iter().map(there).collect();
    expected.sort_unstable();
    assert_eq!(expected, blocks(far));
    assert_eq!(near.meshed_blocks().len(), far.meshed_blocks().len());
    for block in near.meshed_blocks() {
        let (mesh, other) = (near.mesh(block), far.mesh(there(block)));
        let (mesh, other) = (mesh.expect("meshed"), other.expect("meshed there, too"));
        assert_eq!(moved(mesh.block, at.coarser(block.mip.into())), other.block);
        assert_eq!(mesh.solid.first_difference(&other.solid), None, "{block}");
        assert_eq!(mesh.liquid.first_difference(&other.liquid), None, "{block}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..config() })]

    #[test]
    fn views_are_those_at_the_origin_slow(
        seed: u8, at in corner(2 * MARGIN),
        eye in prop::array::uniform3(0..EDGE), streamed: bool, morph: bool,
    ) {
        let at = at + VoxelPos::splat(MARGIN);
        let eye = eye.map(f64::from);
        let unlisted = if streamed { UnlistedChunks::Unknown } else { UnlistedChunks::Air };
        let [near, far] =
            [VoxelPos::ZERO, at].map(|at| show(seed, at, unlisted, Some(eye), morph));
        assert_same(&near, &far, at);
        prop_assert!(near.triangles() > 1000);
        let surfaces = ShownSurfaces { solid: true, liquid: true };
        for (x, z) in [(3.25, 5.5), (20.0, 40.75), (40.5, 30.25), (60.0, 60.0)] {
            let from = [x, 90.0, z];
            let hit = near.ray(from, [0.0, -1.0, 0.0], 200.0, surfaces);
            let other = far.ray(point_at(from, at), [0.0, -1.0, 0.0], 200.0, surfaces);
            let distance = |hit: Option<terravox::lod::ShownHit>| hit.map_or(200.0, |h| h.distance);
            assert_near(distance(hit), distance(other), 1e-5, "ray");
        }
    }
}

#[test]
fn everything_listed_is_shown_at_the_limits() {
    let near = show(7, VoxelPos::ZERO, UnlistedChunks::Air, None, false);
    for at in [-LIMIT, LIMIT - EDGE].map(VoxelPos::splat) {
        let far = show(7, at, UnlistedChunks::Air, None, false);
        assert_same(&near, &far, at);
    }
}

#[test]
fn viewers_at_the_limits_and_beyond_see_what_is_there() {
    let at = VoxelPos::splat(LIMIT - EDGE);
    let shown = |eye: [f64; 3]| show(7, at, UnlistedChunks::Air, Some(eye), false).triangles();
    assert!(shown([32.0; 3]) > 1000);
    assert!(shown([64.0, 80.0, 64.0]) > 1000);
    assert_eq!(shown([3e9; 3]), 0);
    let lowest = VoxelPos::splat(-LIMIT);
    let view = show(7, lowest, UnlistedChunks::Unknown, Some([20.0; 3]), false);
    assert!(view.triangles() > 1000);
    let mut grid = grid(7, at, UnlistedChunks::Air);
    for value in [4e9, 1e30, 1e308, f64::MAX, f64::INFINITY, f64::NAN] {
        for eye in [[value; 3], [-value; 3], [0.0, value, 0.0]] {
            let viewer = LodViewer { position_voxels: eye, distance_voxels: value.abs() };
            let mut view = LodView::new(options(false));
            for _ in 0..3 {
                assert!(view.plan(&mut grid, &[viewer]).is_empty());
                view.publish(Vec::new());
            }
            assert_eq!(view.triangles(), 0);
        }
    }
}

#[test]
fn rays_from_everywhere_hit_what_is_shown_or_nothing() {
    let view = show(7, VoxelPos::splat(-LIMIT), UnlistedChunks::Air, None, false);
    let surfaces = ShownSurfaces { solid: true, liquid: false };
    let limit = f64::from(LIMIT);
    let from = [40.0 - limit, 60.0 - limit, 30.0 - limit];
    for length in [1e-300, 1e-30, 1.0, 1e30, 1e300] {
        let hit = view.ray(from, [0.0, -length, 0.0], 100.0, surfaces);
        assert_near(hit.expect("the ball").distance, 5.0, 0.1, "distance");
    }
    for value in [1e12, 1e30, 1e308, f64::INFINITY, f64::NAN] {
        for direction in [[0.0, -1.0, 0.0], [value, 0.0, 1.0]] {
            assert!(view.ray([value; 3], direction, f64::INFINITY, surfaces).is_none());
        }
    }
}
