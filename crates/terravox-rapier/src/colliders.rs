//! Terrain in a Rapier world: colliders near bodies, nowhere else.

use rapier3d::prelude::{
    Aabb as BodyBounds, ColliderHandle, ColliderSet, IslandManager, RigidBody, RigidBodyHandle,
    RigidBodySet, RigidBodyVelocity,
};
use rustc_hash::FxHashMap;
use terravox::collide::{Collider, CollisionBlock, Surfaces};
use terravox::math::Aabb;
use terravox::mesh::PAD;
use terravox::terrain::{Placement, Terrain};
use terravox::voxel::{ChangeCursor, Changes, Region};

use crate::blocks::{BlockTable, GroundSource, corner_m, remove};
use crate::freeing::BuriedBody;
use crate::interest::{BlockChanges, ColliderBounds, Interests, Lookahead, reachable_bounds};
use crate::options::{
    GroundHit, RapierSets, SyncReport, TerrainColliderOptions, TerrainColliderStats,
};
use crate::parry_0_31::GroundShape;
use crate::waiting::WaitingBodies;

/// Colliders of a terrain in one Rapier world, near its bodies. See the [crate](crate) for how to
/// use it.
#[derive(Default)]
pub struct TerrainColliders {
    options: TerrainColliderOptions,
    placement: Placement,
    cursor: ChangeCursor,
    blocks: BlockTable,
    interests: Interests,
    /// Boxes in which the next sync keeps ground ready, in world metres: the placement may change
    /// until then.
    requested_m: Vec<Aabb>,
    /// Blocks of the boxes of the last sync.
    requested_blocks: Vec<CollisionBlock>,
    /// Bodies whose centre is in the ground in this sync.
    buried: Vec<BuriedBody>,
    /// Consecutive syncs in which a body was in the ground.
    tries: FxHashMap<RigidBodyHandle, u32>,
    waiting: WaitingBodies,
    /// Selects the bodies that this sync checks for being in the ground.
    turn: u32,
}

/// A body is checked for being in the ground once in this many syncs, and after edits.
const BURIAL_CHECK_SYNCS: u32 = 4;

impl TerrainColliders {
    /// No colliders yet.
    pub fn new(options: TerrainColliderOptions) -> TerrainColliders {
        TerrainColliders { options, ..TerrainColliders::default() }
    }

    /// Follows edits and bodies. Call it before every step of the world.
    pub fn sync(
        &mut self,
        terrain: &Terrain,
        bodies: &mut RigidBodySet,
        colliders: &mut ColliderSet,
        islands: &mut IslandManager,
    ) -> SyncReport {
        let placement = terrain.placement();
        let sets = RapierSets { bodies, colliders, islands };
        self.sync_with(terrain.collider(), placement, sets)
    }

    /// [`TerrainColliders::sync`] with an up-to-date collider instead of a [`Terrain`].
    pub fn sync_with(
        &mut self,
        ground: &Collider,
        placement: Placement,
        mut sets: RapierSets<'_>,
    ) -> SyncReport {
        let sets = &mut sets;
        let mut report = SyncReport::default();
        let origin_moved = self.set_placement(placement, sets);
        self.waiting.follow(sets.bodies, origin_moved);
        let mut block_changes = BlockChanges::default();
        let changes = ground.changes_since(&mut self.cursor);
        let edited = !matches!(&changes, Changes::Regions(regions) if regions.is_empty());
        self.visit_bodies(ground, edited, sets, &mut block_changes);
        self.visit_requested(ground, &mut block_changes);
        self.query_changed(ground, &changes, &mut block_changes);
        let source =
            GroundSource { ground, placement, collision_groups: self.options.collision_groups };
        let changed = self.blocks.changed_by(&changes);
        for &block in &changed {
            self.blocks.rebuild(block, source, sets, &mut report);
        }
        self.blocks.apply(&block_changes, source, sets, &mut report);
        self.hold_or_release(&block_changes, sets);
        let regions = regions_of(changes, &changed);
        self.wake(&regions, ground, sets, &mut report);
        self.free(sets.bodies, &mut report);
        report.missing = self.blocks.missing_count();
        report.waiting.extend(self.waiting.handles());
        report
    }

    /// Follows the terrain's placement: if only the origin moved, colliders are moved, not rebuilt.
    /// Returns whether the origin moved.
    fn set_placement(&mut self, placement: Placement, sets: &mut RapierSets<'_>) -> bool {
        let old = std::mem::replace(&mut self.placement, placement);
        if old == placement {
            return false;
        }
        if old.voxel_size_m != placement.voxel_size_m {
            // In the first sync, too: what was requested before it is in metres.
            let requested_m = std::mem::take(&mut self.requested_m);
            self.clear(sets.colliders, sets.islands, sets.bodies);
            self.requested_m = requested_m;
            return false;
        }
        for (block, handle) in self.colliders() {
            if let Some(collider) = sets.colliders.get_mut(handle) {
                collider.set_translation(corner_m(block, placement));
                // Rapier reuses contacts of bodies that hardly moved relative to each other, with
                // points on the ground in world space. Only a new shape makes it compute them
                // again.
                collider.set_shape(collider.shared_shape().clone());
            }
        }
        true
    }

    /// Keeps ground ready in a box of the world, metres, from the next sync to the one after it:
    /// for rays, shape casts and characters where no body is. Call it before every sync for as long
    /// as you need it.
    pub fn keep_ready(&mut self, min_m: impl Into<[f64; 3]>, max_m: impl Into<[f64; 3]>) {
        self.requested_m.push(Aabb::new(min_m, max_m));
    }

    /// Returns the ground at a hit, from its collider and part: `subshape` of a ray hit,
    /// `subshape1` or `subshape2` of a shape cast or a contact manifold. `None` if the collider is
    /// not ground, or the voxel is no longer held. Call it before the next edit: the material is
    /// the current one.
    pub fn surface(
        &self,
        ground: &Collider,
        colliders: &ColliderSet,
        hit: ColliderHandle,
        part: u32,
    ) -> Option<GroundHit> {
        let shape = colliders.get(hit)?.shape().as_shape::<GroundShape>()?;
        let voxel = shape.ground().voxel(part)?;
        let material = ground.snapshot().cell(voxel).ok()?.material;
        Some(GroundHit { material, voxel, block: shape.ground().block() })
    }

    /// Whether a body waits for ground that is not held yet. Meanwhile Rapier counts it as
    /// sleeping, even if it is not at rest.
    pub fn is_waiting(&self, body: RigidBodyHandle) -> bool {
        self.waiting.contains(body)
    }

    /// Handles of all colliders with their blocks, unsorted.
    pub fn colliders(&self) -> impl Iterator<Item = (CollisionBlock, ColliderHandle)> {
        self.blocks.colliders()
    }

    /// Counts and memory of the current colliders.
    pub fn stats(&self, colliders: &ColliderSet) -> TerrainColliderStats {
        self.blocks.stats(colliders)
    }

    /// Removes every collider, releases waiting bodies and forgets all bodies. Call it before
    /// dropping a `TerrainColliders` whose world lives on.
    pub fn clear(
        &mut self,
        colliders: &mut ColliderSet,
        islands: &mut IslandManager,
        bodies: &mut RigidBodySet,
    ) {
        let sets = &mut RapierSets { bodies, colliders, islands };
        for (_, handle) in self.colliders().collect::<Vec<_>>() {
            remove(handle, sets);
        }
        self.waiting.release_all(sets.bodies);
        // What they rested on is gone.
        for body in self.interests.bodies().collect::<Vec<_>>() {
            if sets.bodies.contains(body) {
                sets.islands.wake_up(sets.bodies, body, true);
            }
        }
        self.blocks.clear();
        self.interests.clear();
        self.requested_blocks.clear();
        self.requested_m.clear();
        self.tries.clear();
    }

    /// Finds the blocks near bodies that moved, and bodies that are in the ground.
    fn visit_bodies(
        &mut self,
        ground: &Collider,
        edited: bool,
        sets: &RapierSets<'_>,
        changes: &mut BlockChanges,
    ) {
        let (bodies, colliders) = (&*sets.bodies, &*sets.colliders);
        let lookahead = Lookahead {
            ahead_s: self.options.ahead_s,
            around_voxels: f64::from(self.options.around_voxels),
        };
        let (placement, interests, buried) =
            (self.placement, &mut self.interests, &mut self.buried);
        let (options, tries, waiting) = (&self.options, &self.tries, &self.waiting);
        let reach = |body: &RigidBody, velocity: &RigidBodyVelocity<f32>| {
            let groups = options.collision_groups;
            reachable_bounds(body, velocity, colliders, groups, lookahead, placement)
        };
        buried.clear();
        self.turn = (self.turn + 1) % BURIAL_CHECK_SYNCS;
        let turn = self.turn;
        // All of them: those that the game just added or moved are in no island yet.
        for (handle, body) in bodies.iter() {
            if body.is_fixed() || !body.is_enabled() || waiting.contains(handle) {
                continue;
            }
            let (sleeps, pose) = (body.is_sleeping(), body.position());
            if sleeps && interests.is_unmoved(handle, pose) {
                // It may wake in the coming step, and must not fall then.
                changes.undecided.extend(interests.is_incomplete(handle).then_some(handle));
                continue;
            }
            if let Some(needed) = reach(body, body.vels()) {
                interests.visit(handle, *pose, needed, lookahead, ground, changes);
                let is_its_turn = handle.into_raw_parts().0 % BURIAL_CHECK_SYNCS == turn;
                if !sleeps && (is_its_turn || edited || tries.contains_key(&handle)) {
                    buried.extend(BuriedBody::find(
                        handle, body, colliders, ground, options, placement,
                    ));
                }
            }
        }
        // Of waiting bodies only those that the game changed.
        for &handle in &waiting.changed {
            let Some(body) = bodies.get(handle) else { continue };
            let velocity = waiting.velocity(handle, body);
            if let Some(needed) = reach(body, &velocity) {
                interests.visit(handle, *body.position(), needed, lookahead, ground, changes);
            }
        }
        self.interests.remove_dead(bodies, changes);
    }

    /// Holds bodies whose ground is missing in place, and releases those whose ground is available.
    fn hold_or_release(&mut self, changes: &BlockChanges, sets: &mut RapierSets<'_>) {
        if !self.options.wait_for_ground {
            return;
        }
        let all: Vec<_> = match self.blocks.take_missing_changed() {
            true => self.interests.bodies().collect(),
            false => Vec::new(),
        };
        for &handle in changes.undecided.iter().chain(&all) {
            let waits = self.interests.decide(handle, |block| self.blocks.is_missing(block));
            let Some(body) = sets.bodies.get(handle) else { continue };
            let can_wait = body.is_dynamic() && body.is_enabled();
            if waits && can_wait && collides_with_ground(body, sets.colliders, &self.options) {
                self.waiting.hold(handle, sets.bodies);
            } else {
                self.waiting.release(handle, sets.bodies);
            }
        }
    }

    /// Moves bodies that are in the ground towards the air.
    fn free(&mut self, bodies: &mut RigidBodySet, report: &mut SyncReport) {
        let step_m = self.options.freed_voxels * self.placement.voxel_size_m as f32;
        let mut tries = FxHashMap::default();
        let waiting = &self.waiting;
        self.buried.retain(|buried| !waiting.contains(buried.body));
        for buried in &self.buried {
            let before = self.tries.get(&buried.body).copied().unwrap_or(0);
            buried.move_out(bodies, step_m, before);
            tries.insert(buried.body, before + 1);
        }
        self.tries = tries;
        report.freed = self.buried.len();
    }

    /// Finds the blocks in the boxes of [`TerrainColliders::keep_ready`].
    fn visit_requested(&mut self, ground: &Collider, changes: &mut BlockChanges) {
        changes.left.append(&mut self.requested_blocks);
        for requested in self.requested_m.drain(..) {
            let [min, max] = [requested.min, requested.max]
                .map(|corner| self.placement.voxel_from_world(corner));
            let aabb = Aabb { min, max };
            ground.broadphase().blocks_in(&aabb, Surfaces::Solid, |block, touch| {
                if touch.solid {
                    self.requested_blocks.push(block);
                }
            });
        }
        changes.entered.extend_from_slice(&self.requested_blocks);
    }

    /// Finds the blocks near bodies again where ground changed.
    fn query_changed(
        &mut self,
        ground: &Collider,
        changes: &Changes,
        block_changes: &mut BlockChanges,
    ) {
        match changes {
            Changes::Everything => self.interests.query_again(None, ground, block_changes),
            Changes::Regions(regions) => {
                for region in regions {
                    let region = Some(region.grow(PAD));
                    self.interests.query_again(region, ground, block_changes);
                }
            }
        }
    }

    /// Wakes bodies that sleep where ground changed.
    fn wake(
        &mut self,
        regions: &[Region],
        ground: &Collider,
        sets: &mut RapierSets<'_>,
        report: &mut SyncReport,
    ) {
        let RapierSets { bodies, colliders, islands } = sets;
        for region in regions {
            let reached = region.grow(PAD);
            for handle in self.interests.near(reached).collect::<Vec<_>>() {
                let Some(body) = bodies.get(handle) else { continue };
                let is_reached = |bounds: BodyBounds| {
                    let [min, max] = [bounds.mins, bounds.maxs]
                        .map(|v| self.placement.voxel_from_world(v.to_array().map(f64::from)));
                    Aabb { min, max }.meets(Aabb::of_region(reached))
                };
                let rests = body.is_sleeping() && !self.waiting.contains(handle);
                let groups = self.options.collision_groups;
                let bounds = || ColliderBounds::of(body, colliders, groups).solid;
                if rests && bounds().is_some_and(is_reached) {
                    let buried = BuriedBody::find(
                        handle,
                        body,
                        colliders,
                        ground,
                        &self.options,
                        self.placement,
                    );
                    self.buried.extend(buried);
                    islands.wake_up(bodies, handle, true);
                    report.woken += 1;
                }
            }
        }
    }
}

/// The changed regions; the blocks of the table if everything changed.
fn regions_of(changes: Changes, blocks: &[CollisionBlock]) -> Vec<Region> {
    match changes {
        Changes::Everything => blocks.iter().map(|block| block.region()).collect(),
        Changes::Regions(regions) => regions,
    }
}

/// Whether a body has a collider that collides with ground.
fn collides_with_ground(
    body: &RigidBody,
    colliders: &ColliderSet,
    options: &TerrainColliderOptions,
) -> bool {
    body.colliders().iter().filter_map(|&handle| colliders.get(handle)).any(|collider| {
        let collides = collider.collision_groups().test(options.collision_groups);
        collides && collider.is_enabled() && !collider.is_sensor()
    })
}
