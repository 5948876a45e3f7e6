//! Terrain in Avian: colliders near bodies, woken bodies after edits, bodies that wait for ground,
//! pieces that fall.
//!
//! Add [`TerravoxAvianPlugin`] beside Avian's `PhysicsPlugins`; terrains and bodies need nothing
//! more. Everything happens in Avian's own schedule, between `PhysicsSystems::Prepare` and
//! `PhysicsSystems::StepSimulation`: the step after an edit sees the new ground, and bodies that
//! slept on the old one are awake.

mod blocks;
mod bodies;
mod freeing;
mod pieces;
mod sync;
mod waiting;

use avian3d::prelude::*;
use bevy::ecs::intern::Interned;
use bevy::ecs::schedule::ScheduleLabel;
use bevy::prelude::*;
use terravox::collide::CollisionBlock;

use crate::Terrain;

pub use sync::TerrainColliders;
pub use waiting::WaitingForGround;

/// Adds terrain to Avian. Terrains get [`TerrainColliders`] and [`TerrainColliderSettings`].
pub struct TerravoxAvianPlugin {
    schedule: Interned<dyn ScheduleLabel>,
}

impl TerravoxAvianPlugin {
    /// For physics in another schedule than `FixedPostUpdate`: the one that `PhysicsPlugins` got.
    pub fn new(schedule: impl ScheduleLabel) -> TerravoxAvianPlugin {
        TerravoxAvianPlugin { schedule: schedule.intern() }
    }
}

impl Default for TerravoxAvianPlugin {
    fn default() -> TerravoxAvianPlugin {
        TerravoxAvianPlugin::new(FixedPostUpdate)
    }
}

/// How ground behaves. On the entity of a terrain.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct TerrainColliderSettings {
    /// Seconds of a body's motion for which ground ahead of it is kept ready. Less than a step counts
    /// as one.
    pub ahead_s: f32,
    /// Voxels around a body in which ground is kept ready. Larger values mean fewer queries.
    pub around_voxels: f32,
    /// Collision layers of the ground, when it is made.
    pub layers: CollisionLayers,
    /// How far a step moves a body whose centre is in the ground towards the air, voxels; 0
    /// disables that.
    pub freed_voxels: f32,
    /// Whether dynamic bodies stay in place while ground that they may touch is not held;
    /// otherwise they fall through it.
    pub wait_for_ground: bool,
}

impl Default for TerrainColliderSettings {
    /// Two steps of 1/60 s, one voxel around, Avian's default layers, a fifth of a voxel; bodies
    /// wait.
    fn default() -> TerrainColliderSettings {
        TerrainColliderSettings {
            ahead_s: 1.0 / 30.0,
            around_voxels: 1.0,
            layers: CollisionLayers::default(),
            freed_voxels: 0.2,
            wait_for_ground: true,
        }
    }
}

/// A static body of ground, child of its terrain.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroundCollider {
    /// The terrain.
    pub terrain: Entity,
    /// The block of 8³ voxels.
    pub block: CollisionBlock,
}

/// What the last step did.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct TerrainPhysicsStats {
    /// Milliseconds on the main thread.
    pub sync_ms: f64,
    /// Colliders of ground that were added.
    pub added: usize,
    /// Colliders of ground whose shape an edit changed.
    pub changed: usize,
    /// Colliders of ground that were removed.
    pub removed: usize,
    /// Sleeping bodies that were woken because the ground near them changed.
    pub woken: usize,
    /// Bodies whose centre was in the ground and that were moved towards the air.
    pub freed: usize,
    /// Bodies that wait for ground.
    pub waiting: usize,
}

/// Where terrain follows bodies and edits, in the schedule of physics.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TerrainPhysicsSystems;

impl Plugin for TerravoxAvianPlugin {
    fn build(&self, app: &mut App) {
        app.register_required_components::<Terrain, TerrainColliders>()
            .register_required_components::<Terrain, TerrainColliderSettings>()
            .init_resource::<TerrainPhysicsStats>()
            .add_observer(pieces::on_piece)
            .add_observer(sync::on_discard)
            .configure_sets(
                self.schedule,
                TerrainPhysicsSystems
                    .after(PhysicsSystems::Prepare)
                    .before(PhysicsSystems::StepSimulation),
            )
            .add_systems(
                self.schedule,
                (sync::sync, waiting::hold_or_release).chain().in_set(TerrainPhysicsSystems),
            );
    }
}
