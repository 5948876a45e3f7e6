//! What is shown is what a rebuild from the same cells shows.

use super::*;

/// A vertex beside a coarser block depends on cells twice as far away.
#[test]
fn a_settled_view_is_that_of_a_rebuild_from_its_cells() {
    let fill = |request: &mut FillRequest<'_>| {
        request.fill_height(8, -14.0..=14.0, |x, z| 10.0 * (x * 0.06).sin() * (z * 0.05).cos());
    };
    for position_m in [[47.0, 12.0, 42.0], [40.0, 12.0, 33.0], [0.0, 12.0, 0.0]] {
        let lod =
            LodOptions { near_voxels: 24.0, detail: 1.5, max_mip: 5, ..LodOptions::default() };
        let options = TerrainOptions { lod, ..TerrainOptions::default() };
        let viewer = Viewer { position_m, distance_m: 500.0 };
        let mut terrain = Terrain::new(options.clone());
        terrain.update(&[viewer], Budget::Unlimited, fill);
        let blocks = terrain.lod().blocks();
        let meshes: Vec<_> = blocks.iter().map(|&block| terrain.mesh(block).cloned()).collect();
        let mut rebuilt = Terrain::from_grid(terrain.into_grid(), options);
        rebuilt.update(&[viewer], Budget::Unlimited, fill);
        assert_eq!(rebuilt.lod().blocks(), blocks);
        for (block, mesh) in blocks.into_iter().zip(meshes) {
            assert!(rebuilt.mesh(block) == mesh.as_ref(), "{block} differs at {position_m:?}");
        }
    }
}
