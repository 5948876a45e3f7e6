//! Follows bodies and edits, before every step.
//!
//! Every body has a box in which it may move without a new query; see `docs/rapier.md`, whose
//! steps these are.

use std::collections::HashMap;

use avian3d::dynamics::solver::islands::WakeBody;
use avian3d::prelude::*;
use bevy::prelude::*;
use terravox::collide::{Collider as GroundCollider, CollisionBlock, Surfaces};
use terravox::math::Aabb;
use terravox::mesh::PAD;
use terravox::voxel::{ChangeCursor, Changes, Region};

use super::blocks::{BlockTable, Source};
use super::bodies::{BodyQuery, BodyQueryItem, ColliderQuery, TerrainSpace};
use super::freeing::{self, Freed};
use super::{TerrainColliderSettings, TerrainPhysicsStats};
use crate::Terrain;
use crate::plugin::timed;

/// A body is checked for being in the ground once in this many steps, and after edits.
const BURIAL_CHECK_STEPS: u32 = 4;

/// Bodies that are gone are looked for once in this many steps.
const REMOVAL_STEPS: u32 = 16;

/// The blocks near one body.
struct Interest {
    /// Box in which the body may move without a new query, voxels.
    bounds: Aabb,
    blocks: Vec<CollisionBlock>,
    /// Whether cells in `bounds` are not held.
    is_unknown: bool,
    /// Consecutive checks in which the body was in the ground.
    tries: u32,
}

/// The colliders of a terrain, near bodies.
#[derive(Component, Default)]
pub struct TerrainColliders {
    cursor: ChangeCursor,
    blocks: BlockTable,
    interests: HashMap<Entity, Interest>,
    space: Option<TerrainSpace>,
    step: u32,
    /// Blocks that bodies left in this step.
    left: Vec<CollisionBlock>,
}

impl TerrainColliders {
    /// Number of blocks near bodies.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Whether ground that a body may touch is not held.
    pub fn is_incomplete(&self, body: Entity) -> bool {
        self.interests.get(&body).is_some_and(|interest| {
            interest.is_unknown || interest.blocks.iter().any(|block| self.blocks.is_missing(block))
        })
    }
}

/// All bodies but those of ground.
type Bodies<'w, 's> = Query<'w, 's, BodyQuery, Without<super::GroundCollider>>;

/// What a step of one terrain needs.
struct Step<'a, 'cw, 'cs> {
    source: Source<'a>,
    settings: &'a TerrainColliderSettings,
    commands: &'a mut Commands<'cw, 'cs>,
    stats: &'a mut TerrainPhysicsStats,
    freed: &'a mut Vec<Freed>,
}

/// Follows bodies and edits.
pub fn sync(
    mut terrains: Query<(
        Entity,
        &Terrain,
        &mut TerrainColliders,
        &TerrainColliderSettings,
        &GlobalTransform,
    )>,
    mut bodies: ParamSet<(Bodies, Query<(&mut Position, &mut LinearVelocity)>)>,
    colliders: ColliderQuery,
    mut stats: ResMut<TerrainPhysicsStats>,
    mut commands: Commands,
    mut freed: Local<Vec<Freed>>,
) {
    *stats = TerrainPhysicsStats::default();
    let mut sync_ms = 0.0;
    timed(&mut sync_ms, || {
        let all = bodies.p0();
        for (entity, terrain, mut ground, settings, transform) in &mut terrains {
            let space = TerrainSpace::new(transform, terrain.placement());
            let ground = ground.bypass_change_detection();
            let source = Source {
                terrain: entity,
                voxels: &terrain.voxels,
                space: &space,
                layers: settings.layers,
            };
            let mut step = Step {
                source,
                settings,
                commands: &mut commands,
                stats: &mut stats,
                freed: &mut freed,
            };
            step.run(ground, &all, &colliders);
        }
        freeing::apply(&mut freed, &mut bodies.p1());
    });
    stats.sync_ms = sync_ms;
}

impl Step<'_, '_, '_> {
    fn run(&mut self, ground: &mut TerrainColliders, bodies: &Bodies, colliders: &ColliderQuery) {
        ground.step = ground.step.wrapping_add(1);
        self.follow_space(ground);
        let voxels = self.source.voxels.collider();
        let changes = voxels.changes_since(&mut ground.cursor);
        let is_edited = !matches!(&changes, Changes::Regions(regions) if regions.is_empty());
        for body in bodies {
            self.visit(ground, &body, colliders, is_edited);
        }
        self.remove_dead(ground, bodies);
        self.query_again(ground, &changes);
        let changed = ground.blocks.changed_by(&changes);
        for &block in &changed {
            ground.blocks.rebuild(block, &self.source, self.commands, self.stats);
        }
        let regions = match changes {
            Changes::Everything => changed.iter().map(|block| block.region()).collect(),
            Changes::Regions(regions) => regions,
        };
        self.wake(ground, &regions, bodies, colliders);
        let left = std::mem::take(&mut ground.left);
        ground.blocks.remove_unused(&left, self.commands, self.stats);
        ground.left = left;
        ground.left.clear();
    }

    /// Follows a terrain that moved, or whose origin did.
    fn follow_space(&mut self, ground: &mut TerrainColliders) {
        let space = *self.source.space;
        if ground.space.replace(space).is_some_and(|old| old != space) {
            ground.blocks.move_all(&space, self.commands);
            // Bodies that sleep would not come with it.
            for (body, interest) in ground.interests.drain() {
                interest.blocks.iter().for_each(|&block| ground.blocks.leave(block));
                ground.left.extend(interest.blocks);
                self.commands.queue_silenced(WakeBody(body));
            }
        }
    }

    /// Finds the blocks near a body, if it left its box, and whether it is in the ground.
    fn visit(
        &mut self,
        ground: &mut TerrainColliders,
        body: &BodyQueryItem,
        colliders: &ColliderQuery,
        is_edited: bool,
    ) {
        let is_known = ground.interests.contains_key(&body.entity);
        let rests = body.is_sleeping && is_known;
        if rests || body.is_disabled || matches!(body.body, RigidBody::Static) {
            return;
        }
        let space = self.source.space;
        let Some(needed) = body.reachable(colliders, space, self.settings.ahead_s) else { return };
        let old = ground.interests.get(&body.entity);
        if !old.is_some_and(|old| contains(&old.bounds, &needed)) {
            let tries = old.map_or(0, |old| old.tries);
            let mut interest = Interest {
                bounds: needed.grow(self.settings.around_voxels.into()),
                blocks: Vec::new(),
                is_unknown: false,
                tries,
            };
            self.query(&mut interest);
            for &block in &interest.blocks {
                ground.blocks.enter(block, &self.source, self.commands, self.stats);
            }
            if let Some(old) = ground.interests.insert(body.entity, interest) {
                old.blocks.iter().for_each(|&block| ground.blocks.leave(block));
                ground.left.extend(old.blocks);
            }
        }
        let Some(interest) = ground.interests.get_mut(&body.entity) else { return };
        let turn =
            body.entity.index_u32().wrapping_add(ground.step).is_multiple_of(BURIAL_CHECK_STEPS);
        if (turn || is_edited || interest.tries > 0)
            && !body.is_waiting
            && self.settings.freed_voxels > 0.0
        {
            let freed = freeing::find(body, colliders, &self.source, self.settings, interest.tries);
            interest.tries = if freed.is_some() { interest.tries + 1 } else { 0 };
            self.stats.freed += usize::from(freed.is_some());
            self.freed.extend(freed);
        }
    }

    /// Finds the blocks in the box of a body.
    fn query(&self, interest: &mut Interest) {
        let voxels: &GroundCollider = self.source.voxels.collider();
        interest.is_unknown = voxels.unknown_in(&interest.bounds).is_some();
        interest.blocks.clear();
        voxels.broadphase().blocks_in(&interest.bounds, Surfaces::Solid, |block, touch| {
            if touch.solid {
                interest.blocks.push(block);
            }
        });
    }

    /// Finds the blocks near bodies again where ground changed.
    fn query_again(&mut self, ground: &mut TerrainColliders, changes: &Changes) {
        let is_reached = |bounds: &Aabb| match changes {
            Changes::Everything => true,
            Changes::Regions(regions) => {
                regions.iter().any(|region| Aabb::of_region(region.grow(PAD)).meets(*bounds))
            }
        };
        let TerrainColliders { interests, blocks, left, .. } = ground;
        for interest in interests.values_mut() {
            if !is_reached(&interest.bounds) {
                continue;
            }
            let old = std::mem::take(&mut interest.blocks);
            self.query(interest);
            for &block in &interest.blocks {
                blocks.enter(block, &self.source, self.commands, self.stats);
            }
            old.iter().for_each(|&block| blocks.leave(block));
            left.extend(old);
        }
    }

    /// Wakes bodies that sleep where ground changed. Avian does not: its islands know of static
    /// bodies only by contacts that exist.
    fn wake(
        &mut self,
        ground: &TerrainColliders,
        regions: &[Region],
        bodies: &Bodies,
        colliders: &ColliderQuery,
    ) {
        let space = self.source.space;
        for region in regions {
            let reached = Aabb::of_region(region.grow(PAD));
            for (&entity, interest) in &ground.interests {
                if !reached.meets(interest.bounds) {
                    continue;
                }
                let Ok(body) = bodies.get(entity) else { continue };
                let touches = |(min, max)| space.voxel_bounds(min, max).meets(reached);
                if body.is_sleeping && body.bounds(colliders).is_some_and(touches) {
                    self.commands.queue_silenced(WakeBody(entity));
                    self.stats.woken += 1;
                    if !body.is_waiting && self.settings.freed_voxels > 0.0 {
                        let freed = freeing::find(&body, colliders, &self.source, self.settings, 0);
                        self.freed.extend(freed);
                    }
                }
            }
        }
    }

    /// Forgets bodies that are gone.
    fn remove_dead(&mut self, ground: &mut TerrainColliders, bodies: &Bodies) {
        if !ground.step.is_multiple_of(REMOVAL_STEPS) {
            return;
        }
        let TerrainColliders { interests, blocks, left, .. } = ground;
        interests.retain(|&entity, interest| {
            let lives = bodies.contains(entity);
            if !lives {
                interest.blocks.iter().for_each(|&block| blocks.leave(block));
                left.append(&mut interest.blocks);
            }
            lives
        });
    }
}

fn contains(outer: &Aabb, inner: &Aabb) -> bool {
    (0..3).all(|i| outer.min[i] <= inner.min[i] && inner.max[i] <= outer.max[i])
}
