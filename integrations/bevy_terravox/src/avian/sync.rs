//! Follows bodies and edits, before every step.
//!
//! Every body has a box in which it may move without a new query; see `docs/rapier.md`, whose
//! steps these are.

use std::collections::HashMap;

use avian3d::dynamics::solver::islands::WakeBody;
use avian3d::prelude::*;
use bevy::ecs::system::SystemParam;
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

/// A kinematic body that moves by more in a step has jumped: no ground is made ready ahead of it.
const MAX_STEP_VOXELS: f32 = 16.0;

/// The blocks near one body.
struct Interest {
    /// Where the body was in the last step, world space.
    position: Vec3,
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

/// Removes the colliders of a terrain that is replaced or removed, and wakes what slept on them.
pub fn on_discard(
    terrain: On<Discard, Terrain>,
    mut grounds: Query<&mut TerrainColliders>,
    mut commands: Commands,
) {
    let Ok(mut ground) = grounds.get_mut(terrain.entity) else { return };
    let old = std::mem::take(&mut *ground);
    old.blocks.despawn_all(&mut commands);
    old.interests.into_keys().for_each(|body| commands.queue_silenced(WakeBody(body)));
}

/// All bodies but those of ground.
type Bodies<'w, 's> = Query<'w, 's, BodyQuery, Without<super::GroundCollider>>;

/// What a step of one terrain needs.
struct Step<'a, 'cw, 'cs> {
    source: Source<'a>,
    settings: &'a TerrainColliderSettings,
    /// Seconds of the step.
    step_s: f32,
    commands: &'a mut Commands<'cw, 'cs>,
    stats: &'a mut TerrainPhysicsStats,
    freed: &'a mut Vec<Freed>,
}

/// The clocks of a step: that of the schedule, and that of physics.
#[derive(SystemParam)]
pub struct Clocks<'w> {
    time: Res<'w, Time>,
    physics: Res<'w, Time<Physics>>,
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
    clocks: Clocks,
    mut stats: ResMut<TerrainPhysicsStats>,
    mut commands: Commands,
    mut freed: Local<Vec<Freed>>,
) {
    *stats = TerrainPhysicsStats::default();
    let step_s = clocks.time.delta_secs() * clocks.physics.relative_speed();
    let mut sync_ms = 0.0;
    timed(&mut sync_ms, || {
        let all = bodies.p0();
        for (entity, terrain, mut ground, settings, transform) in &mut terrains {
            let space = TerrainSpace::new(transform, terrain.placement());
            let ground = ground.bypass_change_detection();
            let mut settings = *settings;
            if clocks.physics.is_paused() {
                settings.freed_voxels = 0.0;
            }
            let source = Source {
                terrain: entity,
                voxels: &terrain.voxels,
                space: &space,
                layers: settings.layers,
            };
            let mut step = Step {
                source,
                settings: &settings,
                step_s,
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
        let old = ground.interests.get(&body.entity);
        let max_step_m = MAX_STEP_VOXELS * space.placement.voxel_size_m as f32;
        let velocity = body.velocity(old.map(|old| old.position), self.step_s, max_step_m);
        let ahead_s = self.settings.ahead_s.max(self.step_s);
        let Some(needed) = body.reachable(colliders, space, velocity, ahead_s) else { return };
        if !old.is_some_and(|old| contains(&old.bounds, &needed)) {
            let tries = old.map_or(0, |old| old.tries);
            let mut interest = Interest {
                position: body.position.0,
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
        interest.position = body.position.0;
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
