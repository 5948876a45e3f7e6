//! A world to draw: hills to the horizon with a pit dug in front of the viewer.

use glam::{DVec3, Vec3};
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::lod::ShownMesh;
use terravox::terrain::{Budget, FillRequest, LodOptions, Terrain, TerrainOptions, Viewer};
use terravox::voxel::MipBlock;

/// Updates after which meshes that rest are joined.
const UPDATES: usize = 80;

/// What is drawn, and from where.
pub struct World {
    pub terrain: Terrain,
    /// All that is shown, sorted by block.
    pub shown: Vec<ShownMesh>,
    /// World metres.
    pub eye_m: DVec3,
    /// Unit.
    pub forward: Vec3,
}

impl World {
    /// Streams the world in, digs, and takes the meshes that are shown then. With `morph`
    /// they have targets.
    pub fn dug_hills(morph: bool) -> World {
        let lod = LodOptions { morph, ..LodOptions::default() };
        let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
        let mut shown = std::collections::BTreeMap::<MipBlock, ShownMesh>::new();
        let high = [0.5, 60.0, 0.5];
        let viewer = Viewer { distance_m: 3000.0, ..Viewer::at(high) };
        let forward = Vec3::new(0.97, -0.3, 0.24).normalize();
        let mut eye_m = DVec3::ZERO;
        for update in 0..UPDATES {
            terrain.update(&[viewer], Budget::Unlimited, fill);
            if update == 0 {
                let down = terrain.ray(high, [0.0, -1.0, 0.0], 200.0).hit().expect("ground below");
                eye_m = DVec3::from(down.point_m) + DVec3::Y * 24.0;
                dig(&mut terrain, eye_m, forward);
            }
            for swap in terrain.mesh_swaps() {
                swap.removed.iter().for_each(|block| drop(shown.remove(block)));
                shown.extend(swap.added.into_iter().map(|mesh| (mesh.block, mesh)));
            }
        }
        let shown = shown.into_values().collect();
        World { terrain, shown, eye_m, forward }
    }
}

fn fill(request: &mut FillRequest<'_>) {
    let mip = request.block().mip;
    Hills::new(7).fill(request.cells(), mip);
}

/// Digs a pit, and a trench beside it, where the viewer looks.
fn dig(terrain: &mut Terrain, eye: DVec3, forward: Vec3) {
    let down = Vec3::new(forward.x, -0.62, forward.z).normalize();
    let side = Vec3::new(forward.z, 0.0, -forward.x).normalize();
    for (offset, radius) in [(0.0, 9.0), (5.0, 4.0), (9.0, 4.0), (13.0, 3.5), (17.0, 3.0)] {
        let from = (eye + (side * offset).as_dvec3()).to_array();
        let hit = terrain.ray(from, down.to_array(), 300.0).hit().expect("ground ahead");
        let (low, high) = (hit.point_m.map(|v| v - 10.0), hit.point_m.map(|v| v + 10.0));
        terrain.hold(low, high, fill).expect("a small box");
        terrain.edit(&EditOp::dig_ball(hit.point_m, f64::from(radius))).expect("held at mip 0");
    }
}
