//! A stored world that a terrain holds parts of, without any viewer.

use crate::scratch::Folder;
use terravox::generate::Hills;
use terravox::terrain::{FillRequest, Placement, TerrainOptions};
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, Region, VoxelGrid};
use terravox_store::{Overwrite, Store, WorldInfo};

#[test]
fn a_ray_hits_the_ground_of_a_complete_world_where_it_is_held() {
    let hills = Hills::new(7);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    for pos in Region::new([-2, -2, -2], [2, 3, 2]).voxels() {
        cells.reset(ChunkPos::new(pos.x, pos.y, pos.z).region());
        hills.fill(&mut cells, 0);
        grid.write(&cells).unwrap();
    }
    let folder = Folder::new("held");
    let path = folder.file("w.tvx");
    let draft = Store::create(&path, &WorldInfo::complete(Placement::default()), Overwrite::No);
    let draft = draft.unwrap();
    draft.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
    drop(draft.finish().unwrap());
    let store = Store::open_read_only(&path).unwrap();
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    let fill = |request: &mut FillRequest<'_>| store.fill(request, |_| {});
    terrain.hold([-20.0, -20.0, -20.0], [20.0, 110.0, 20.0], fill).unwrap();
    let outcome = terrain.ray([0.0, 100.0, 3.0], [0.0, -1.0, 0.0], 200.0);
    let hit = outcome.hit().unwrap_or_else(|| panic!("{outcome:?}"));
    assert!((hit.point_m[1] - hills.height(0.0, 3.0)).abs() < 1.0, "{hit:?}");
}
