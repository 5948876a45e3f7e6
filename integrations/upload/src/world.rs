//! A world to draw: hills to the horizon with a pit dug in front of the viewer.

use glam::{DVec3, Vec3};
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::lod::ShownMesh;
use terravox::terrain::{Budget, LodOptions, Terrain, TerrainOptions, Viewer};
use terravox::voxel::MipBlock;

/// How far the viewer sees, metres.
const DISTANCE_M: f32 = 3000.0;

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
        let viewer = Viewer { distance_m: DISTANCE_M, ..Viewer::at(high) };
        let forward = Vec3::new(0.62, -0.3, -0.72).normalize();
        let mut eye = None;
        for update in 0..UPDATES + 2 {
            let hills = Hills::new(7);
            terrain.update(&[viewer], Budget::Unlimited, |part| {
                let mip = part.block().mip;
                hills.fill(part.cells(), mip);
            });
            if update == 0 {
                let ground = terrain.ray(high, [0.0, -1.0, 0.0], 200.0).expect("ground below");
                let from = ground.point.map(|v| v as f32);
                eye = Some(DVec3::new(from[0].into(), f64::from(from[1]) + 26.0, from[2].into()));
                dig(&mut terrain, eye.expect("set above").as_vec3(), forward);
            }
            for swap in terrain.mesh_swaps() {
                swap.removed.iter().for_each(|block| drop(shown.remove(block)));
                shown.extend(swap.added.into_iter().map(|mesh| (mesh.block, mesh)));
            }
        }
        let shown = shown.into_values().collect();
        World { terrain, shown, eye_m: eye.expect("set in the first update"), forward }
    }
}

/// Digs a pit, and a trench that leads to it, where the viewer looks.
fn dig(terrain: &mut Terrain, eye: Vec3, forward: Vec3) {
    let down = Vec3::new(forward.x, -0.62, forward.z).normalize();
    let hit = terrain.ray(eye.to_array(), down.to_array(), 300.0).expect("ground ahead");
    terrain.edit(&EditOp::dig_ball(hit.point, 9.0)).expect("held at mip 0");
    let side = Vec3::new(-forward.z, 0.0, forward.x).normalize();
    for step in 1..6 {
        let from = eye + side * (4.0 * step as f32);
        if let Some(hit) = terrain.ray(from.to_array(), down.to_array(), 300.0) {
            terrain.edit(&EditOp::dig_ball(hit.point, 3.5)).expect("held at mip 0");
        }
    }
}
