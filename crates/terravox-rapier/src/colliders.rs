//! Terrain in a Rapier world: colliders where bodies are, nowhere else.

use std::sync::Arc;

use rapier3d::prelude::{
    ColliderBuilder, ColliderHandle, ColliderSet, InteractionGroups, IslandManager, RigidBody,
    RigidBodyHandle, RigidBodySet, SoftBodySet, Vector,
};
use rustc_hash::FxHashMap;
use terravox::collide::{BuildPolicy, Collider, CollisionBlock, Surfaces};
use terravox::math::Aabb;
use terravox::mesh::PAD;
use terravox::terrain::{Placement, Terrain};
use terravox::voxel::{ChangeCursor, Changes, Region, VoxelPos};

use crate::freeing::Buried;
use crate::ground::{BlockGround, Coefficients, GroundScratch, grounds};
use crate::interest::{Interests, Moves, Reach, bounds_m, needed};
use crate::parry_0_31::{GroundShape, ShapeBytes};
use crate::waiting::Waiting;

/// How [`TerrainColliders`] are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Seconds of a body's motion for which ground ahead of it is kept ready: at least one
    /// step.
    pub ahead_s: f32,
    /// Voxels around a body in which ground is kept ready. More means fewer looks.
    pub around_voxels: f32,
    /// What the ground collides with.
    pub collision_groups: InteractionGroups,
    /// How far a sync moves a body whose middle is in the ground towards the air, voxels; 0
    /// leaves bodies where they are.
    pub freed_voxels: f32,
    /// Whether dynamic bodies stay where they are while ground that they may touch is not
    /// held; else they fall through it.
    pub wait_for_ground: bool,
}

impl Default for Options {
    /// Two steps of 1/60 s and one voxel around; collides with all; frees by a fifth of a
    /// voxel; bodies wait for ground.
    fn default() -> Options {
        Options {
            ahead_s: 1.0 / 30.0,
            around_voxels: 1.0,
            collision_groups: InteractionGroups::all(),
            freed_voxels: 0.2,
            wait_for_ground: true,
        }
    }
}

/// What a [`TerrainColliders::sync`] did.
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
    /// Bodies whose middle was in the ground and that were moved towards the air.
    pub freed: usize,
    /// Blocks near bodies that cannot be built: their cells are not held.
    pub missing: usize,
    /// Bodies that wait until the ground near them is held, sorted.
    pub waiting: Vec<RigidBodyHandle>,
}

/// Where a body, ray or shape met the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroundHit {
    /// Id of the material.
    pub material: u8,
    /// The voxel whose face was met.
    pub voxel: VoxelPos,
    /// The block that holds it.
    pub block: CollisionBlock,
}

/// What the colliders take at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Blocks that a body is near.
    pub blocks: usize,
    /// Their colliders.
    pub colliders: usize,
    /// Colliders of which a body has come so near that parry's tree was built.
    pub touched: usize,
    /// Triangles of those.
    pub touched_triangles: usize,
    /// Bytes of those.
    pub touched_bytes: ShapeBytes,
}

/// The ground of one block in the world.
#[derive(Clone, Debug, Default)]
struct Present {
    /// Bodies that are near.
    users: u32,
    colliders: Vec<(Coefficients, Arc<BlockGround>, ColliderHandle)>,
    /// Whether its cells were not held.
    missing: bool,
}

/// The sets of a Rapier world that terrain is put into.
pub struct Sets<'a> {
    /// Bodies.
    pub bodies: &'a mut RigidBodySet,
    /// Colliders.
    pub colliders: &'a mut ColliderSet,
    /// Islands.
    pub islands: &'a mut IslandManager,
}

/// Colliders of a terrain in one Rapier world, near its bodies. See the
/// [crate](crate) for how to use it.
#[derive(Default)]
pub struct TerrainColliders {
    options: Options,
    placement: Placement,
    cursor: ChangeCursor,
    blocks: FxHashMap<CollisionBlock, Present>,
    interests: Interests,
    /// Boxes that the next sync keeps ground ready in, voxels.
    /// In world metres: where voxels lie is known at the next sync.
    wanted: Vec<[[f64; 3]; 2]>,
    /// Blocks of the boxes that the last one did.
    kept: Vec<CollisionBlock>,
    /// Bodies at the last sync.
    body_count: usize,
    scratch: GroundScratch,
    /// Bodies in the ground, of this sync.
    buried: Vec<Buried>,
    /// How many syncs in a row they were.
    tries: FxHashMap<RigidBodyHandle, u32>,
    waiting: Waiting,
    /// Whether a block began or ceased to be missing in this sync.
    missing_changed: bool,
    /// Which bodies this sync asks whether they are in the ground.
    turn: u32,
}

/// A body is asked whether it is in the ground at one sync in so many, and at those of edits.
const FREE_TURNS: u32 = 4;

/// Up to this many bodies all are looked at, beyond only those that are awake, but for
/// syncs at which their number changed.
const ALL_BODIES: usize = 1024;

impl TerrainColliders {
    /// None so far.
    pub fn new(options: Options) -> TerrainColliders {
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
        let sets = Sets { bodies, colliders, islands };
        self.sync_with(terrain.collider(), placement, sets)
    }

    /// As [`TerrainColliders::sync`], from a collider that was brought up to date.
    pub fn sync_with(
        &mut self,
        ground: &Collider,
        placement: Placement,
        sets: Sets<'_>,
    ) -> SyncReport {
        let Sets { bodies, colliders, islands } = sets;
        let mut report = SyncReport::default();
        let origin_moved = self.place(placement, bodies, colliders, islands);
        self.waiting.follow(bodies, origin_moved);
        let mut moves = Moves::default();
        let changes = ground.changes_since(&mut self.cursor);
        let edited = !matches!(&changes, Changes::Regions(regions) if regions.is_empty());
        self.look_at_bodies(ground, edited, bodies, colliders, islands, &mut moves);
        self.look_at_wanted(ground, &mut moves);
        self.ask_again(ground, &changes, &mut moves);
        let changed = self.changed_blocks(&changes);
        for &block in &changed {
            self.refresh(block, ground, colliders, islands, bodies, &mut report);
        }
        self.apply(&moves, ground, colliders, islands, bodies, &mut report);
        self.decide_who_waits(&moves, bodies, colliders);
        let regions = regions_of(changes, &changed);
        self.wake(&regions, ground, bodies, colliders, islands, &mut report);
        self.free(bodies, &mut report);
        report.missing = self.blocks.values().filter(|present| present.missing).count();
        report.waiting.extend(self.waiting.handles());
        report
    }

    /// Follows the terrain's placement: where only the origin moved, colliders are moved as
    /// they are. Returns whether it did.
    fn place(
        &mut self,
        placement: Placement,
        bodies: &mut RigidBodySet,
        colliders: &mut ColliderSet,
        islands: &mut IslandManager,
    ) -> bool {
        let old = std::mem::replace(&mut self.placement, placement);
        if old == placement {
            return false;
        }
        if old.voxel_size_m != placement.voxel_size_m {
            self.clear(colliders, islands, bodies);
            return false;
        }
        for (block, handle) in self.colliders() {
            if let Some(collider) = colliders.get_mut(handle) {
                collider.set_translation(corner_m(block, placement));
                // Rapier recycles contacts whose bodies hardly moved against each other, with
                // points on the ground in world space. Only a new shape makes it look again.
                collider.set_shape(collider.shared_shape().clone());
            }
        }
        true
    }

    /// Has ground ready in a box of the world, metres, from the next sync to the one after it: for
    /// rays, shape casts and characters where no body is. Call it before every sync for as long
    /// as you need it.
    pub fn want(&mut self, min_m: impl Into<[f64; 3]>, max_m: impl Into<[f64; 3]>) {
        self.wanted.push([min_m.into(), max_m.into()]);
    }

    /// Returns what was hit, from the collider of a hit and its part: `subshape` of a ray hit,
    /// `subshape1` or `subshape2` of a shape cast or a contact manifold. `None` if the collider is
    /// not ground, or the voxel is no longer held. Call it before the next edit: the material is
    /// that of the cells now.
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

    /// Whether a body waits for ground that has not come. Rapier counts it as sleeping meanwhile,
    /// which says nothing about whether it rests.
    pub fn is_waiting(&self, body: RigidBodyHandle) -> bool {
        self.waiting.contains(body)
    }

    /// Handles of all colliders, with their blocks, in no order.
    pub fn colliders(&self) -> impl Iterator<Item = (CollisionBlock, ColliderHandle)> {
        self.blocks.iter().flat_map(|(&block, present)| {
            present.colliders.iter().map(move |&(_, _, handle)| (block, handle))
        })
    }

    /// What the colliders take now.
    pub fn holdings(&self, colliders: &ColliderSet) -> Holdings {
        let mut all = Holdings { blocks: self.blocks.len(), ..Holdings::default() };
        for (_, handle) in self.colliders() {
            let shape = colliders.get(handle).and_then(|c| c.shape().as_shape::<GroundShape>());
            let Some(shape) = shape else { continue };
            all.colliders += 1;
            let bytes = shape.bytes();
            if bytes.bvh + bytes.mesh > 0 {
                all.touched += 1;
                all.touched_triangles += shape.ground().triangle_count();
                all.touched_bytes.ground += bytes.ground;
                all.touched_bytes.bvh += bytes.bvh;
                all.touched_bytes.mesh += bytes.mesh;
            }
        }
        all
    }

    /// Removes every collider, lets waiting bodies go and forgets all bodies. Call it before
    /// a `TerrainColliders` is dropped whose world lives on.
    pub fn clear(
        &mut self,
        colliders: &mut ColliderSet,
        islands: &mut IslandManager,
        bodies: &mut RigidBodySet,
    ) {
        for (_, handle) in self.colliders().collect::<Vec<_>>() {
            remove(handle, colliders, islands, bodies);
        }
        self.waiting.release_all(bodies);
        // What sleeps is not looked at, and would be left without ground at the next sync.
        for body in self.interests.bodies().collect::<Vec<_>>() {
            if bodies.contains(body) {
                islands.wake_up(bodies, body, true);
            }
        }
        self.blocks.clear();
        self.interests.clear();
        self.kept.clear();
        self.wanted.clear();
        self.tries.clear();
        self.body_count = usize::MAX;
    }

    fn look_at_bodies(
        &mut self,
        ground: &Collider,
        edited: bool,
        bodies: &RigidBodySet,
        colliders: &ColliderSet,
        islands: &IslandManager,
        moves: &mut Moves,
    ) {
        let reach = Reach {
            ahead_s: self.options.ahead_s,
            around_voxels: f64::from(self.options.around_voxels),
        };
        let (placement, interests, buried) =
            (self.placement, &mut self.interests, &mut self.buried);
        let (options, tries, waiting) = (&self.options, &self.tries, &self.waiting);
        buried.clear();
        self.turn = (self.turn + 1) % FREE_TURNS;
        let turn = self.turn;
        let mut look = |handle, body: &RigidBody| {
            if body.is_fixed() || !body.is_enabled() || waiting.contains(handle) {
                return;
            }
            if body.is_sleeping() {
                // What wakes it in the step to come must not drop it.
                moves.asked.extend(interests.is_incomplete(handle).then_some(handle));
                return;
            }
            let velocities = [body.linvel(), body.angvel()];
            if let Some(needed) = needed(body, velocities, colliders, reach, placement) {
                interests.look(handle, needed, reach, ground, moves);
                let its_turn = handle.into_raw_parts().0 % FREE_TURNS == turn;
                if its_turn || edited || tries.contains_key(&handle) {
                    let look = Buried::look(handle, body, colliders, ground, options, placement);
                    buried.extend(look);
                }
            }
        };
        if bodies.len() <= ALL_BODIES || bodies.len() != self.body_count {
            bodies.iter().for_each(|(handle, body)| look(handle, body));
        } else {
            for handle in islands.active_bodies() {
                if let Some(body) = bodies.get(handle) {
                    look(handle, body);
                }
            }
        }
        self.body_count = bodies.len();
        // Of bodies that wait only those with which the game did something.
        for &handle in &waiting.changed {
            let Some(body) = bodies.get(handle) else { continue };
            let velocities = waiting.velocities(handle, body);
            if let Some(needed) = needed(body, velocities, colliders, reach, placement) {
                interests.look(handle, needed, reach, ground, moves);
            }
        }
        self.interests.drop_gone(bodies, moves);
    }

    /// Lets bodies wait whose ground is missing, and lets those go whose ground is there.
    fn decide_who_waits(
        &mut self,
        moves: &Moves,
        bodies: &mut RigidBodySet,
        colliders: &ColliderSet,
    ) {
        if !self.options.wait_for_ground {
            return;
        }
        let all: Vec<_> = match std::mem::take(&mut self.missing_changed) {
            true => self.interests.bodies().collect(),
            false => Vec::new(),
        };
        for &handle in moves.asked.iter().chain(&all) {
            let missing =
                |block: &CollisionBlock| self.blocks.get(block).is_some_and(|p| p.missing);
            let waits = self.interests.decide(handle, missing);
            let Some(body) = bodies.get(handle) else { continue };
            let can = body.is_dynamic() && body.is_enabled();
            if waits && can && touches_ground(body, colliders, &self.options) {
                self.waiting.hold(handle, bodies);
            } else {
                self.waiting.release(handle, bodies);
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

    fn look_at_wanted(&mut self, ground: &Collider, moves: &mut Moves) {
        moves.left.append(&mut self.kept);
        for corners in self.wanted.drain(..) {
            let [min, max] = corners.map(|corner| self.placement.voxel_from_world(corner));
            let aabb = Aabb { min, max };
            ground.broadphase().blocks_in(&aabb, Surfaces::Solid, |block, touch| {
                if touch.solid {
                    self.kept.push(block);
                }
            });
        }
        moves.near.extend_from_slice(&self.kept);
    }

    /// Asks again what bodies are near where ground changed.
    fn ask_again(&mut self, ground: &Collider, changes: &Changes, moves: &mut Moves) {
        match changes {
            Changes::Everything => self.interests.ask_again(None, ground, moves),
            Changes::Regions(regions) => {
                for region in regions {
                    let region = Some(region.grow(PAD));
                    self.interests.ask_again(region, ground, moves);
                }
            }
        }
    }

    /// Blocks here that an edit may have changed, sorted.
    fn changed_blocks(&self, changes: &Changes) -> Vec<CollisionBlock> {
        let mut blocks: Vec<CollisionBlock> = match changes {
            Changes::Everything => self.blocks.keys().copied().collect(),
            Changes::Regions(regions) => {
                let changed = |block: &&CollisionBlock| {
                    let reached = block.region().grow(PAD);
                    regions.iter().any(|&region| !region.intersect(reached).is_empty())
                };
                match regions.is_empty() {
                    true => Vec::new(),
                    false => self.blocks.keys().filter(changed).copied().collect(),
                }
            }
        };
        blocks.sort_unstable();
        blocks
    }

    /// Makes the colliders of a block those of its ground now.
    fn refresh(
        &mut self,
        block: CollisionBlock,
        ground: &Collider,
        colliders: &mut ColliderSet,
        islands: &mut IslandManager,
        bodies: &mut RigidBodySet,
        report: &mut SyncReport,
    ) {
        let Some(present) = self.blocks.get_mut(&block) else { return };
        let (new, missing) = grounds_of(block, ground, self.placement, &mut self.scratch);
        self.missing_changed |= present.missing != missing;
        present.missing = missing;
        for (_, _, handle) in present.colliders.drain(new.len().min(present.colliders.len())..) {
            remove(handle, colliders, islands, bodies);
            report.removed += 1;
        }
        for (at, (coefficients, ground)) in new.into_iter().enumerate() {
            let Some(old) = present.colliders.get_mut(at) else {
                let new = insert(coefficients, ground, &self.options, self.placement, colliders);
                present.colliders.extend(new);
                report.added += 1;
                continue;
            };
            if *old.1 == ground && old.0 == coefficients {
                continue;
            }
            let ground = Arc::new(ground);
            let shape = GroundShape::new(ground.clone());
            if let (Some(collider), Some(shape)) = (colliders.get_mut(old.2), shape) {
                collider.set_shape(shape.shared());
                collider.set_friction(coefficients.friction);
                collider.set_restitution(coefficients.restitution);
                report.changed += 1;
            }
            (old.0, old.1) = (coefficients, ground);
        }
    }

    /// Wakes bodies that sleep where ground changed.
    fn wake(
        &mut self,
        regions: &[Region],
        ground: &Collider,
        bodies: &mut RigidBodySet,
        colliders: &ColliderSet,
        islands: &mut IslandManager,
        report: &mut SyncReport,
    ) {
        for region in regions {
            let reached = region.grow(PAD);
            for handle in self.interests.near(reached).collect::<Vec<_>>() {
                let Some(body) = bodies.get(handle) else { continue };
                let touches = |[low, high]: [Vector; 2]| {
                    let [min, max] = [low, high]
                        .map(|v| self.placement.voxel_from_world(v.to_array().map(f64::from)));
                    Aabb { min, max }.meets(Aabb::of_region(reached))
                };
                let rests = body.is_sleeping() && !self.waiting.contains(handle);
                if rests && bounds_m(body, colliders).is_some_and(touches) {
                    let look = Buried::look(
                        handle,
                        body,
                        colliders,
                        ground,
                        &self.options,
                        self.placement,
                    );
                    self.buried.extend(look);
                    islands.wake_up(bodies, handle, true);
                    report.woken += 1;
                }
            }
        }
    }

    /// Adds what bodies came near and removes what none is near any more.
    fn apply(
        &mut self,
        moves: &Moves,
        ground: &Collider,
        colliders: &mut ColliderSet,
        islands: &mut IslandManager,
        bodies: &mut RigidBodySet,
        report: &mut SyncReport,
    ) {
        for &block in &moves.near {
            let present = self.blocks.entry(block).or_default();
            present.users += 1;
            if present.users == 1 && present.colliders.is_empty() {
                self.refresh(block, ground, colliders, islands, bodies, report);
            }
        }
        let mut idle = Vec::new();
        for &block in &moves.left {
            if let Some(present) = self.blocks.get_mut(&block) {
                present.users -= 1;
                if present.users == 0 {
                    idle.push(block);
                }
            }
        }
        for block in idle {
            if self.blocks.get(&block).is_some_and(|present| present.users == 0)
                && let Some(present) = self.blocks.remove(&block)
            {
                for (_, _, handle) in present.colliders {
                    remove(handle, colliders, islands, bodies);
                    report.removed += 1;
                }
            }
        }
    }
}

/// What changed: of all, the blocks that are here.
fn regions_of(changes: Changes, blocks: &[CollisionBlock]) -> Vec<Region> {
    match changes {
        Changes::Everything => blocks.iter().map(|block| block.region()).collect(),
        Changes::Regions(regions) => regions,
    }
}

/// The grounds of a block, and whether its cells are not held.
fn grounds_of(
    block: CollisionBlock,
    ground: &Collider,
    placement: Placement,
    scratch: &mut GroundScratch,
) -> (Vec<(Coefficients, BlockGround)>, bool) {
    match ground.block(block, BuildPolicy::Build) {
        Err(_) => (Vec::new(), true),
        Ok(surfaces) => {
            let solid = surfaces.and_then(|surfaces| surfaces.solid);
            let made = solid.map(|tree| {
                grounds(tree, block, ground.snapshot(), placement.voxel_size_m as f32, scratch)
            });
            let mut made = made.unwrap_or_default();
            // There is no shape of nothing.
            made.retain(|(_, ground)| ground.part_count() > 0);
            (made, false)
        }
    }
}

fn insert(
    coefficients: Coefficients,
    ground: BlockGround,
    options: &Options,
    placement: Placement,
    colliders: &mut ColliderSet,
) -> Option<(Coefficients, Arc<BlockGround>, ColliderHandle)> {
    let corner = corner_m(ground.block(), placement);
    let ground = Arc::new(ground);
    let collider = ColliderBuilder::new(GroundShape::new(ground.clone())?.shared())
        .translation(corner)
        .friction(coefficients.friction)
        .restitution(coefficients.restitution)
        .collision_groups(options.collision_groups);
    Some((coefficients, ground, colliders.insert(collider)))
}

/// The lowest corner of a block, where its colliders are, metres.
fn corner_m(block: CollisionBlock, placement: Placement) -> Vector {
    let corner = block.min_voxel().to_array().map(f64::from);
    placement.world_from_voxel(corner).map(|v| v as f32).into()
}

/// Whether a body has a collider that ground stops.
pub fn touches_ground(body: &RigidBody, colliders: &ColliderSet, options: &Options) -> bool {
    body.colliders().iter().filter_map(|&handle| colliders.get(handle)).any(|collider| {
        let meets = collider.collision_groups().test(options.collision_groups);
        meets && collider.is_enabled() && !collider.is_sensor()
    })
}

/// Removes ground.
fn remove(
    handle: ColliderHandle,
    colliders: &mut ColliderSet,
    islands: &mut IslandManager,
    bodies: &mut RigidBodySet,
) {
    // Ground is part of no soft body, and of no body that could wake.
    colliders.remove(handle, islands, bodies, &mut SoftBodySet::new(), false);
}
