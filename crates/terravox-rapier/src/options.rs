//! Options and results of [`TerrainColliders`](crate::TerrainColliders), and options of loose
//! pieces.

use rapier3d::prelude::{
    ColliderSet, InteractionGroups, IslandManager, RigidBodyHandle, RigidBodySet,
};
use terravox::collide::CollisionBlock;
use terravox::voxel::VoxelPos;

use crate::parry_0_31::ShapeBytes;

/// Options of [`TerrainColliders`](crate::TerrainColliders).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerrainColliderOptions {
    /// Seconds of a body's motion for which ground ahead of it is kept ready; at least one step.
    pub ahead_s: f32,
    /// Voxels around a body in which ground is kept ready. Larger values mean fewer queries.
    pub around_voxels: f32,
    /// Collision groups of the ground.
    pub collision_groups: InteractionGroups,
    /// How far one sync moves a body whose centre is in the ground towards the air, voxels; 0
    /// disables that.
    pub freed_voxels: f32,
    /// Whether dynamic bodies are held in place while ground that they may touch is not held;
    /// otherwise they fall through it.
    pub wait_for_ground: bool,
}

impl Default for TerrainColliderOptions {
    /// Two steps of 1/60 s and one voxel around; collides with everything; frees by a fifth of a
    /// voxel; bodies wait for ground.
    fn default() -> TerrainColliderOptions {
        TerrainColliderOptions {
            ahead_s: 1.0 / 30.0,
            around_voxels: 1.0,
            collision_groups: InteractionGroups::all(),
            freed_voxels: 0.2,
            wait_for_ground: true,
        }
    }
}

/// Options of the collision shape of a smooth piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LooseShapeOptions {
    /// Fraction of the piece's volume by which all hulls together may exceed it.
    pub concavity: f32,
    /// Largest number of hulls.
    pub max_parts: usize,
}

impl Default for LooseShapeOptions {
    /// 5 %, 24 hulls.
    fn default() -> LooseShapeOptions {
        LooseShapeOptions { concavity: 0.05, max_parts: 24 }
    }
}

/// The result of a [`TerrainColliders::sync`](crate::TerrainColliders::sync).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Colliders added.
    pub added: usize,
    /// Colliders removed.
    pub removed: usize,
    /// Colliders whose shape an edit changed.
    pub changed: usize,
    /// Sleeping bodies woken because ground near them changed.
    pub woken: usize,
    /// Bodies whose centre was in the ground and that were moved towards the air.
    pub freed: usize,
    /// Blocks near bodies that cannot be built because their cells are not held.
    pub missing: usize,
    /// Bodies that wait until the ground near them is held, sorted.
    pub waiting: Vec<RigidBodyHandle>,
}

/// The ground that a body, ray or shape hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroundHit {
    /// Id of the material.
    pub material: u8,
    /// The voxel whose face was hit.
    pub voxel: VoxelPos,
    /// The block of that voxel.
    pub block: CollisionBlock,
}

/// Counts and memory of the current colliders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerrainColliderStats {
    /// Blocks near a body.
    pub blocks: usize,
    /// Their colliders.
    pub colliders: usize,
    /// Colliders whose parry tree was built because a body came near enough.
    pub touched: usize,
    /// Triangles of those.
    pub touched_triangles: usize,
    /// Bytes of those.
    pub touched_bytes: ShapeBytes,
}

/// The sets of a Rapier world that terrain is added to.
pub struct RapierSets<'a> {
    /// Bodies.
    pub bodies: &'a mut RigidBodySet,
    /// Colliders.
    pub colliders: &'a mut ColliderSet,
    /// Islands.
    pub islands: &'a mut IslandManager,
}
