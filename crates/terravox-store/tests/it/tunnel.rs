//! A tunnel that was dug, saved and left far behind is there when one comes back, and shows
//! from afar meanwhile.

use crate::scratch::{Folder, growing_world};
use terravox::generate::Hills;
use terravox::terrain::{Budget, FillRequest, LodOptions, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{Cell, ChunkPos, ChunkState, VoxelPos};
use terravox_store::Store;

const HILLS: u64 = 11;

/// The store's cells, else the generator's.
fn fill(store: &Store, request: &mut FillRequest<'_>) {
    store.fill(request, |request| {
        let mip = request.block().mip;
        Hills::new(HILLS).fill(request.cells(), mip);
    });
}

fn at(x: f64) -> [Viewer; 1] {
    [Viewer { position_m: [x, 30.0, 0.0], distance_m: 90.0 }]
}

#[test]
fn ones_own_tunnel_is_there_after_a_long_way_slow() {
    let folder = Folder::new("tunnel");
    let store = growing_world(&folder.file("tunnel.tvx"), HILLS);
    let lod = LodOptions {
        detail: 1.0,
        max_mip: 2,
        max_bytes: 0,
        near_voxels: 40.0,
        ..LodOptions::default()
    };
    let mut terrain = store.terrain(TerrainOptions { lod, ..TerrainOptions::default() }).unwrap();
    let update = |terrain: &mut Terrain, x: f64| {
        terrain.update(&at(x), Budget::Unlimited, |request| fill(&store, request));
    };
    update(&mut terrain, 0.0);
    let tunnel = [[-20.0, 2.0, -3.0], [20.0, 8.0, 3.0]];
    terrain.edit_cells(tunnel[0], tunnel[1], |_, _| Cell::AIR).unwrap();
    update(&mut terrain, 0.0);
    let shown = |terrain: &Terrain| {
        let chunks = [ChunkPos::new(-1, 0, 0), ChunkPos::new(0, 0, 0), ChunkPos::new(0, 0, -1)];
        chunks.map(|chunk| terrain.mesh(chunk).map(|mesh| (**mesh).clone()))
    };
    let before = shown(&terrain);

    // Not saved, it stays in memory, whatever the budget.
    let edited = terrain.unsaved_chunks();
    assert!(!edited.is_empty());
    update(&mut terrain, 400.0);
    assert!(edited.iter().all(|&chunk| terrain.grid().held(chunk) == ChunkState::Mip(0)));

    let unsaved = terrain.unsaved();
    store.save(&unsaved, |request| fill(&store, request)).unwrap();
    terrain.mark_saved(&unsaved);
    assert!(terrain.is_saved());
    update(&mut terrain, 800.0);
    assert!(edited.iter().any(|&chunk| terrain.grid().held(chunk) == ChunkState::Unknown));

    update(&mut terrain, 400.0);
    update(&mut terrain, 0.0);
    assert_eq!(terrain.grid().cell(VoxelPos::new(3, 4, 0)), Ok(Cell::AIR));
    assert!(shown(&terrain) == before, "the tunnel looks as it did");
    assert!(terrain.is_saved(), "what came from the store is not an edit");
}
