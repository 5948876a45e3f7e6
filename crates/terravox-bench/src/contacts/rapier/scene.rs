//! A Rapier world with terrain in it, either as ours or as one mesh of parry.

use rapier3d::prelude::*;
use terravox::collide::{BuildPolicy, Collider, CollisionBlock};
use terravox::terrain::{Budget, FillRequest, Terrain, TerrainOptions};
use terravox::voxel::UnlistedChunks;
use terravox_rapier::{SyncReport, TerrainColliders};

const ROCK: u8 = 8;

/// Bodies do not collide with each other, only with ground.
const BODIES: InteractionGroups =
    InteractionGroups::new(Group::GROUP_2, Group::GROUP_1, InteractionTestMode::And);

/// Returns the depth of a point inside the ground, metres.
pub type InsideTest = fn([f32; 3]) -> f32;

/// What bodies collide with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroundKind {
    /// Our colliders.
    Terrain,
    /// One mesh of all of it, with corrected inner edges.
    OneMesh,
}

impl GroundKind {
    /// Ours, then the peer's.
    pub const BOTH: [GroundKind; 2] = [GroundKind::Terrain, GroundKind::OneMesh];
}

/// A terrain in a world.
pub struct PhysicsScene {
    pub terrain: Terrain,
    /// `None` if the ground is one mesh.
    pub ground: Option<TerrainColliders>,
    pub world: PhysicsWorld,
}

impl PhysicsScene {
    /// Ground where `inside_m` is positive, in a box of metres.
    pub fn new(
        ground: GroundKind,
        min: [f32; 3],
        max: [f32; 3],
        inside_m: impl Fn([f32; 3]) -> f32,
    ) -> PhysicsScene {
        let mut scene = PhysicsScene::ours(min, max, inside_m);
        if ground == GroundKind::OneMesh {
            scene.replace_ground_by_mesh();
        }
        scene
    }

    /// As [`PhysicsScene::new`], with our colliders.
    pub fn ours(min: [f32; 3], max: [f32; 3], inside_m: impl Fn([f32; 3]) -> f32) -> PhysicsScene {
        // Air around the filled region.
        let unlisted = UnlistedChunks::Air;
        let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
        let fill = |request: &mut FillRequest<'_>| {
            request.fill_sdf(ROCK, |p| inside_m(p.map(|v| v as f32)).into())
        };
        let Ok(()) = terrain.fill(min.map(f64::from), max.map(f64::from), fill) else {
            unreachable!("within the limits")
        };
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::new(0.0, -9.81, 0.0);
        PhysicsScene { terrain, ground: Some(TerrainColliders::default()), world }
    }

    fn replace_ground_by_mesh(&mut self) {
        self.ground = None;
        let mesh = merged(&mut self.terrain);
        let material = self.terrain.grid().materials().get(ROCK);
        let (friction, restitution) = material.map_or((0.5, 0.0), |m| (m.friction, m.restitution));
        self.world.insert_collider(mesh.friction(friction).restitution(restitution), None);
    }

    /// Follows edits and bodies, if the ground is ours.
    pub fn sync(&mut self) -> SyncReport {
        let PhysicsWorld { bodies, colliders, islands, .. } = &mut self.world;
        match &mut self.ground {
            Some(ground) => ground.sync(&self.terrain, bodies, colliders, islands),
            None => SyncReport::default(),
        }
    }

    pub fn step(&mut self) {
        self.sync();
        self.world.step();
    }

    pub fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step());
    }

    /// Adds a body that collides with the ground only.
    pub fn add(&mut self, body: RigidBodyBuilder, collider: ColliderBuilder) -> RigidBodyHandle {
        self.world.insert(body, collider.collision_groups(BODIES)).0
    }

    pub fn body(&self, handle: RigidBodyHandle) -> &RigidBody {
        &self.world.bodies[handle]
    }

    pub fn collider(&mut self) -> &Collider {
        self.terrain.collider()
    }
}

/// The surface of a terrain as one mesh; equal vertices become one.
fn merged(terrain: &mut Terrain) -> ColliderBuilder {
    terrain.update(&[], Budget::Unlimited, |_| {});
    let (mut vertices, mut indices) = (Vec::new(), Vec::new());
    for block in terrain.meshed_blocks() {
        let Some(mesh) = terrain.mesh(block) else { continue };
        let corner = Vector::from(mesh.block.min.to_array().map(|v| v as f32));
        let base = vertices.len() as u32;
        vertices.extend(mesh.solid.positions.iter().map(|p| Vector::from(*p) + corner));
        indices.extend(mesh.solid.indices.chunks_exact(3).map(|i| [0, 1, 2].map(|k| base + i[k])));
    }
    let flags = TriMeshFlags::FIX_INTERNAL_EDGES;
    let Ok(mesh) = ColliderBuilder::trimesh_with_flags(vertices, indices, flags) else {
        unreachable!("the mesh has triangles")
    };
    mesh
}

/// The middle of a convex edge.
#[derive(Clone, Copy)]
pub struct EdgePoint {
    pub position_m: [f32; 3],
    /// Whether the edge lies along a block's border.
    pub is_at_border: bool,
}

/// Middles of all convex edges of blocks.
pub fn convex_edges(collider: &Collider, blocks: &[CollisionBlock]) -> Vec<EdgePoint> {
    let mut points = Vec::new();
    for &block in blocks {
        let Ok(Some(surfaces)) = collider.block(block, BuildPolicy::Build) else { continue };
        let Some(tree) = surfaces.solid else { continue };
        let corner = block.min_voxel().to_array().map(|v| v as f32);
        for quad in 0..tree.quad_count() as u16 {
            let info = tree.quad(quad);
            let [a, b, c] = tree.triangle(quad, false).corners;
            let corners = [a, b, c, tree.triangle(quad, true).corners[2]];
            for side in 0..4 {
                if info.angles >> (4 * side) & 15 == 0 {
                    continue;
                }
                let ends = [corners[side], corners[(side + 1) % 4]];
                let is_at_border = (0..3).any(|i| {
                    ends.iter().all(|end| end[i] < 0.8) || ends.iter().all(|end| end[i] > 7.2)
                });
                let position_m = [0, 1, 2].map(|i| corner[i] + (ends[0][i] + ends[1][i]) / 2.0);
                points.push(EdgePoint { position_m, is_at_border });
            }
        }
    }
    points
}

/// Soft hills.
pub fn sine(p: [f32; 3]) -> f32 {
    (p[0] * 0.2618).sin() - p[1]
}

/// Steep, rough hills: five octaves.
pub fn rough(p: [f32; 3]) -> f32 {
    let mut height = 0.0;
    let (mut wide, mut high) = (0.07, 4.0);
    for octave in 0..5 {
        let turn = octave as f32 * 1.9;
        height += high * (p[0] * wide + turn).sin() * (p[2] * wide * 1.13 - turn).cos();
        (wide, high) = (wide * 2.03, high * 0.52);
    }
    height - p[1]
}

/// A level floor.
pub fn flat(p: [f32; 3]) -> f32 {
    -p[1]
}
