//! The colliders of the blocks near bodies: spawned, replaced and despawned.

use std::collections::HashMap;
use std::sync::Arc;

use avian3d::prelude::*;
use bevy::prelude::*;
use terravox::collide::{BuildPolicy, CollisionBlock};
use terravox::mesh::PAD;
use terravox::voxel::Changes;
use terravox_rapier::parry_0_27::GroundShape;
use terravox_rapier::{BlockGround, Coefficients, GroundScratch, grounds};

use super::bodies::TerrainSpace;
use super::{GroundCollider, TerrainPhysicsStats};

/// A collider of ground.
struct Ground {
    coefficients: Coefficients,
    ground: Arc<BlockGround>,
    entity: Entity,
}

/// The colliders of one block.
#[derive(Default)]
struct Block {
    /// Number of bodies near it.
    users: u32,
    grounds: Vec<Ground>,
    /// Whether its cells are not held.
    is_missing: bool,
}

/// What colliders are made from.
pub struct Source<'a> {
    pub terrain: Entity,
    pub voxels: &'a terravox::Terrain,
    pub space: &'a TerrainSpace,
    pub layers: CollisionLayers,
}

/// The colliders of all blocks near bodies.
#[derive(Default)]
pub struct BlockTable {
    blocks: HashMap<CollisionBlock, Block>,
    scratch: GroundScratch,
}

impl BlockTable {
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether a block cannot be built because its cells are not held.
    pub fn is_missing(&self, block: &CollisionBlock) -> bool {
        self.blocks.get(block).is_some_and(|entry| entry.is_missing)
    }

    /// Blocks of the table that an edit may have changed, sorted.
    pub fn changed_by(&self, changes: &Changes) -> Vec<CollisionBlock> {
        let mut blocks: Vec<CollisionBlock> = match changes {
            Changes::Everything => self.blocks.keys().copied().collect(),
            Changes::Regions(regions) if regions.is_empty() => Vec::new(),
            Changes::Regions(regions) => {
                let is_changed = |block: &&CollisionBlock| {
                    // Depths are probed up to three voxels beyond a block.
                    let reached = block.region().grow(PAD + 1);
                    regions.iter().any(|&region| !region.intersect(reached).is_empty())
                };
                self.blocks.keys().filter(is_changed).copied().collect()
            }
        };
        blocks.sort_unstable();
        blocks
    }

    /// Moves all colliders to a terrain that moved.
    pub fn move_all(&self, space: &TerrainSpace, commands: &mut Commands) {
        for (block, entry) in &self.blocks {
            for ground in &entry.grounds {
                commands.entity(ground.entity).try_insert(place(*block, space));
            }
        }
    }

    /// Removes all colliders.
    pub fn despawn_all(self, commands: &mut Commands) {
        for ground in self.blocks.into_values().flat_map(|entry| entry.grounds) {
            commands.entity(ground.entity).try_despawn();
        }
    }

    /// Rebuilds the colliders of a block; keeps those that did not change.
    pub fn rebuild(
        &mut self,
        block: CollisionBlock,
        source: &Source<'_>,
        commands: &mut Commands,
        stats: &mut TerrainPhysicsStats,
    ) {
        let Some(entry) = self.blocks.get_mut(&block) else { return };
        let collider = source.voxels.collider();
        let voxel_size_m = source.space.placement.voxel_size_m as f32;
        let new = match collider.block(block, BuildPolicy::Build) {
            Ok(surfaces) => Some(match surfaces.and_then(|surfaces| surfaces.solid) {
                Some(tree) => {
                    grounds(tree, block, collider.snapshot(), voxel_size_m, &mut self.scratch)
                }
                None => Vec::new(),
            }),
            Err(_) => None,
        };
        entry.is_missing = new.is_none();
        let new = new.unwrap_or_default();
        for ground in entry.grounds.drain(new.len().min(entry.grounds.len())..) {
            commands.entity(ground.entity).try_despawn();
            stats.removed += 1;
        }
        for (at, (coefficients, ground)) in new.into_iter().enumerate() {
            let ground = Arc::new(ground);
            let shape = || GroundShape::new(ground.clone()).map(|s| Collider::from(s.shared()));
            let surface =
                (Friction::new(coefficients.friction), Restitution::new(coefficients.restitution));
            if let Some(old) = entry.grounds.get_mut(at) {
                if *old.ground == *ground && old.coefficients == coefficients {
                    continue;
                }
                if let Some(shape) = shape() {
                    commands.entity(old.entity).try_insert((shape, surface));
                    stats.changed += 1;
                }
                (old.coefficients, old.ground) = (coefficients, ground);
                continue;
            }
            let Some(shape) = shape() else { continue };
            let body = (RigidBody::Static, shape, source.layers, surface);
            let marker = GroundCollider { terrain: source.terrain, block };
            let parent = ChildOf(source.terrain);
            let entity = commands.spawn((body, place(block, source.space), marker, parent)).id();
            entry.grounds.push(Ground { coefficients, ground, entity });
            stats.added += 1;
        }
    }

    /// Builds a block that a body came near.
    pub fn enter(
        &mut self,
        block: CollisionBlock,
        source: &Source<'_>,
        commands: &mut Commands,
        stats: &mut TerrainPhysicsStats,
    ) {
        let entry = self.blocks.entry(block).or_default();
        entry.users += 1;
        if entry.users == 1 && entry.grounds.is_empty() {
            self.rebuild(block, source, commands, stats);
        }
    }

    /// Counts a body that left a block.
    pub fn leave(&mut self, block: CollisionBlock) {
        if let Some(entry) = self.blocks.get_mut(&block) {
            entry.users = entry.users.saturating_sub(1);
        }
    }

    /// Removes the blocks that no body is near any more, of those that bodies left.
    pub fn remove_unused(
        &mut self,
        left: &[CollisionBlock],
        commands: &mut Commands,
        stats: &mut TerrainPhysicsStats,
    ) {
        for block in left {
            if self.blocks.get(block).is_none_or(|entry| entry.users > 0) {
                continue;
            }
            for ground in self.blocks.remove(block).into_iter().flat_map(|entry| entry.grounds) {
                commands.entity(ground.entity).try_despawn();
                stats.removed += 1;
            }
        }
    }
}

/// Where the colliders of a block are.
fn place(block: CollisionBlock, space: &TerrainSpace) -> (Transform, Position, Rotation) {
    let corner = block.min_voxel().to_array().map(f64::from);
    let corner_m = space.placement.world_from_voxel(corner);
    (
        Transform::from_translation(Vec3::from(corner_m.map(|v| v as f32))),
        Position(space.world_from_terrain(corner_m)),
        Rotation(space.rotation.as_quat()),
    )
}
