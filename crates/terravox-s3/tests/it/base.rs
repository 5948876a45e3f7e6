//! A published world as the base of one that is edited.

use crate::all_stores::{self, Numbers};
use crate::objects::Objects;
use crate::publishing::{place, publish};
use std::time::Duration;
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::terrain::{FillRequest, Placement, Terrain, TerrainOptions};
use terravox::voxel::{ChunkPos, DenseBox, Region};
use terravox_store::{Generator, Store, WorldInfo};

/// Chunks of the base along each axis, around the origin.
const EXTENT: i32 = 3;

fn hills() -> Store {
    let store = all_stores::twin(&WorldInfo::complete(Placement::default()));
    let mut grid = all_stores::empty_grid(&store.info());
    let mut cells = DenseBox::default();
    for at in Region::new([-EXTENT; 3], [EXTENT; 3]).voxels() {
        cells.reset(ChunkPos::new(at.x, at.y, at.z).region());
        Hills::new(3).fill(&mut cells, 0);
        grid.write(&cells).unwrap();
    }
    store.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
    store
}

/// Reads a block of either world.
fn block(fill: impl Fn(&mut FillRequest<'_>), block: terravox::voxel::MipBlock) -> DenseBox {
    let mut cells = DenseBox::default();
    assert!(FillRequest::fill_block(&mut cells, block, Placement::default(), fill));
    cells
}

#[test]
fn edits_over_a_published_base_are_those_of_a_whole_world() {
    let (objects, whole) = (Objects::new(Duration::ZERO), hills());
    publish(&place(&objects), &whole);
    let base = place(&objects).open_read_only().unwrap();
    let generator = Generator { name: "worlds/hills".into(), version: 1, ..Generator::default() };
    let edits = all_stores::twin(&WorldInfo::growing(Placement::default(), generator));
    let ground = |request: &mut FillRequest<'_>| base.fill(request, |_| {});
    let fill = |request: &mut FillRequest<'_>| edits.fill(request, ground);
    let mut terrain = edits.terrain(TerrainOptions::default()).unwrap();
    let mut twin = Terrain::from_grid(whole.load().unwrap().grid, Placement::default());
    let mut numbers = Numbers(4);
    for step in 0..8 {
        let centre = [0; 3].map(|_| numbers.below(120) as f64 - 60.0);
        let digs = step % 3 > 0;
        terrain.hold(centre.map(|v| v - 14.0), centre.map(|v| v + 14.0), fill).unwrap();
        for terrain in [&mut terrain, &mut twin] {
            let operation = match digs {
                true => EditOp::dig_ball(centre, 9.0),
                false => EditOp::fill_ball(5, centre, 9.0),
            };
            terrain.edit(&operation).unwrap();
        }
        let unsaved = terrain.unsaved();
        edits.save(&unsaved, fill).unwrap();
        terrain.mark_saved(&unsaved);
    }
    let unsaved = twin.unsaved();
    whole.save(&unsaved, |_| {}).unwrap();
    // Near and far, with edits and without.
    let all = Region::new([-EXTENT * 32; 3], [EXTENT * 32; 3]);
    for mip in 0..=4u8 {
        for pos in all.coarser(u32::from(mip) + 5).voxels() {
            let at = terravox::voxel::MipBlock { mip, pos };
            let expected = block(|request| whole.fill(request, |_| {}), at);
            assert!(block(fill, at) == expected, "{at}");
        }
    }
    let (stored, chunks) = (edits.stats().unwrap().chunks, whole.stats().unwrap().chunks);
    assert!(stored > 0 && stored < chunks / 2, "{stored} of {chunks} chunks are stored");
}
