//! A terrain and a Rapier world that belong together.

use rapier3d::prelude::*;
use terravox::terrain::{Placement, Terrain, TerrainOptions};
use terravox::voxel::UnlistedChunks;
use terravox_rapier::{SyncReport, TerrainColliders};

pub const ROCK: u8 = 8;

/// A terrain, a Rapier world, and the ground of one in the other.
pub struct Scene {
    pub terrain: Terrain,
    pub ground: TerrainColliders,
    pub world: PhysicsWorld,
}

impl Scene {
    /// Ground where `inside_m` is positive, within 64 m of the origin, 24 m up and down.
    pub fn new(inside_m: impl Fn([f32; 3]) -> f32) -> Scene {
        Scene::placed(Placement::default(), inside_m)
    }

    pub fn placed(placement: Placement, inside_m: impl Fn([f32; 3]) -> f32) -> Scene {
        // Around what is filled there is air.
        let unlisted = UnlistedChunks::Air;
        let options = TerrainOptions { placement, unlisted, ..TerrainOptions::default() };
        let mut terrain = Terrain::new(options);
        let fill = |request: &mut terravox::terrain::FillRequest<'_>| {
            request.fill_sdf(ROCK, |p| f64::from(inside_m(p.map(|v| v as f32))));
        };
        terrain.fill([-64.0, -24.0, -64.0], [64.0, 24.0, 64.0], fill).unwrap();
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::new(0.0, -9.81, 0.0);
        Scene { terrain, ground: TerrainColliders::default(), world }
    }

    pub fn sync(&mut self) -> SyncReport {
        let PhysicsWorld { bodies, colliders, islands, .. } = &mut self.world;
        self.ground.sync(&self.terrain, bodies, colliders, islands)
    }

    pub fn step(&mut self) -> SyncReport {
        let report = self.sync();
        self.world.step();
        report
    }

    pub fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
        }
    }

    pub fn drop(&mut self, collider: ColliderBuilder, at: [f32; 3]) -> RigidBodyHandle {
        let body = RigidBodyBuilder::dynamic().translation(at.into());
        self.world.insert(body, collider).0
    }

    pub fn at(&self, body: RigidBodyHandle) -> Vector {
        self.world.bodies[body].translation()
    }

    pub fn sleeps(&self, body: RigidBodyHandle) -> bool {
        self.world.bodies[body].is_sleeping()
    }
}

/// The same surface as one mesh of parry with corrected inner edges.
pub fn one_mesh(terrain: &mut Terrain) -> ColliderBuilder {
    terrain.update(&[], terravox::terrain::Budget::Unlimited, |_| {});
    let (mut vertices, mut indices) = (Vec::new(), Vec::new());
    for block in terrain.meshed_blocks() {
        let mesh = terrain.mesh(block).unwrap();
        let corner = mesh.block.min.to_array().map(|v| v as f32);
        let solid = &mesh.solid;
        let base = vertices.len() as u32;
        let placement = terrain.placement();
        vertices.extend(solid.positions.iter().map(|p| {
            let at = [0, 1, 2].map(|i| f64::from(p[i] + corner[i]));
            Vector::from(placement.world_from_voxel(at).map(|v| v as f32))
        }));
        indices.extend(solid.indices.chunks_exact(3).map(|i| [0, 1, 2].map(|k| base + i[k])));
    }
    let flags = TriMeshFlags::FIX_INTERNAL_EDGES;
    ColliderBuilder::trimesh_with_flags(vertices, indices, flags).unwrap()
}

pub fn hills(p: [f32; 3]) -> f32 {
    2.5 * (p[0] * 0.21).sin() * (p[2] * 0.17).cos() - p[1]
}

pub fn flat(p: [f32; 3]) -> f32 {
    -p[1]
}

pub fn kinds() -> Vec<(&'static str, ColliderBuilder)> {
    let hull =
        [[0.6, 0.0, 0.0], [-0.5, 0.1, 0.5], [-0.4, 0.0, -0.6], [0.0, 0.7, 0.1], [0.1, -0.5, 0.0]];
    let hull = hull.map(|p: [f32; 3]| Vector::from(p));
    let parts = vec![
        (Pose::from_translation(Vector::new(0.4, 0.0, 0.0)), SharedShape::cuboid(0.4, 0.2, 0.2)),
        (Pose::from_translation(Vector::new(-0.4, 0.1, 0.0)), SharedShape::ball(0.3)),
    ];
    vec![
        ("ball", ColliderBuilder::ball(0.5)),
        ("box", ColliderBuilder::cuboid(0.5, 0.4, 0.6)),
        ("capsule", ColliderBuilder::capsule_y(0.4, 0.3)),
        ("hull", ColliderBuilder::convex_hull(&hull).unwrap()),
        ("compound", ColliderBuilder::compound(parts)),
        ("cylinder", ColliderBuilder::cylinder(0.4, 0.5)),
    ]
}
