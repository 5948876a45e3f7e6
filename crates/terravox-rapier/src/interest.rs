//! The blocks near each body: those in a box around it that stays until the body leaves it.

use rapier3d::parry::bounding_volume::BoundingVolume;
use rapier3d::prelude::{
    Aabb as BodyBounds, ColliderSet, InteractionGroups, Pose, RigidBody, RigidBodyHandle,
    RigidBodySet, RigidBodyVelocity, Vector,
};
use terravox::collide::{Collider, CollisionBlock, Surfaces};
use terravox::math::Aabb;
use terravox::terrain::Placement;
use terravox::voxel::Region;

/// The blocks near one body.
#[derive(Clone, Debug)]
struct Interest {
    body: RigidBodyHandle,
    /// Pose at the last visit.
    pose: Pose,
    /// Boxes in which the body may move without a new query.
    reach: Reach,
    blocks: Vec<CollisionBlock>,
    /// Whether cells in `reach.solid` are not held.
    is_unknown: bool,
    /// Whether ground in `reach.solid` was missing at the last [`Interests::decide`].
    is_incomplete: bool,
}

/// The boxes in which a body may meet ground, voxels.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Of all colliders that meet ground.
    bounds: Aabb,
    /// Of those that it stops: not of sensors.
    solid: Option<Aabb>,
}

/// The blocks near bodies, by the slot of the body in its set.
#[derive(Clone, Debug, Default)]
pub struct Interests {
    slots: Vec<Option<Interest>>,
    /// The slot that [`Interests::remove_dead`] checked last.
    next: usize,
}

/// The distance around bodies in which ground is kept ready.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookahead {
    /// Seconds of motion ahead.
    pub ahead_s: f32,
    /// Voxels to each side.
    pub around_voxels: f64,
}

/// Changes to the blocks near bodies.
#[derive(Clone, Debug, Default)]
pub struct BlockChanges {
    /// Blocks that a body came near, once per body.
    pub entered: Vec<CollisionBlock>,
    /// Blocks that a body left, once per body.
    pub left: Vec<CollisionBlock>,
    /// Bodies for which [`Interests::decide`] must check whether ground is missing.
    pub undecided: Vec<RigidBodyHandle>,
}

/// Maximum distance ahead of a body for which ground is kept ready, along each axis. A body that is
/// faster has left the world for good and must not cause all of it to be built.
const MAX_AHEAD_VOXELS: f64 = 256.0;

/// Maximum distance of the ground from a body within its colliders, along each axis. Half-spaces have
/// no end.
const MAX_SOLID_VOXELS: f64 = 256.0;

/// The same of its sensors: one that triggers hundreds of metres around a player is not for ground.
const MAX_SENSOR_VOXELS: f64 = 16.0;

/// [`Interests::remove_dead`] visits all slots in this many calls.
const REMOVAL_SYNCS: usize = 16;

impl Interests {
    /// Updates the blocks near a body. Does nothing while it stays in its box and its ground is
    /// available.
    pub fn visit(
        &mut self,
        handle: RigidBodyHandle,
        pose: Pose,
        needed: Reach,
        lookahead: Lookahead,
        ground: &Collider,
        changes: &mut BlockChanges,
    ) {
        let slot = handle.into_raw_parts().0 as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        let old = &mut self.slots[slot];
        if let Some(old) = old.as_mut().filter(|old| old.body == handle)
            && old.reach.contains(&needed)
        {
            old.pose = pose;
            if old.is_incomplete {
                changes.undecided.push(handle);
            }
            return;
        }
        let mut interest = Interest {
            body: handle,
            pose,
            reach: needed.grow(lookahead.around_voxels),
            blocks: Vec::new(),
            is_unknown: false,
            is_incomplete: false,
        };
        interest.query(ground, changes);
        if let Some(old) = old.replace(interest) {
            changes.left.extend(old.blocks);
        }
    }

    /// Queries the blocks again for all bodies whose box intersects `region`, or for all bodies.
    pub fn query_again(
        &mut self,
        region: Option<Region>,
        ground: &Collider,
        changes: &mut BlockChanges,
    ) {
        let region = region.map(Aabb::of_region);
        for interest in self.slots.iter_mut().flatten() {
            if region.is_none_or(|region| region.meets(interest.reach.bounds)) {
                changes.left.append(&mut interest.blocks);
                interest.query(ground, changes);
            }
        }
    }

    /// Whether ground near a body is missing: cells are not held, or a block `is_missing`.
    pub fn decide(
        &mut self,
        handle: RigidBodyHandle,
        is_missing: impl Fn(&CollisionBlock) -> bool,
    ) -> bool {
        let slot = self.slots.get_mut(handle.into_raw_parts().0 as usize);
        let interest = slot.and_then(Option::as_mut).filter(|interest| interest.body == handle);
        interest.is_some_and(|interest| {
            let is_in_solid = |block: &&CollisionBlock| {
                let block = Aabb::of_region(block.region());
                interest.reach.solid.is_some_and(|solid| solid.meets(block))
            };
            let mut solid = interest.blocks.iter().filter(is_in_solid);
            interest.is_incomplete = interest.is_unknown || solid.any(is_missing);
            interest.is_incomplete
        })
    }

    /// Whether ground near a body was missing at the last [`Interests::decide`].
    pub fn is_incomplete(&self, handle: RigidBodyHandle) -> bool {
        self.get(handle).is_some_and(|interest| interest.is_incomplete)
    }

    /// Whether a body is where it was at its last visit.
    pub fn is_unmoved(&self, handle: RigidBodyHandle, pose: &Pose) -> bool {
        self.get(handle).is_some_and(|interest| interest.pose == *pose)
    }

    fn get(&self, handle: RigidBodyHandle) -> Option<&Interest> {
        let slot = self.slots.get(handle.into_raw_parts().0 as usize);
        slot.and_then(Option::as_ref).filter(|interest| interest.body == handle)
    }

    /// All known bodies.
    pub fn bodies(&self) -> impl Iterator<Item = RigidBodyHandle> {
        self.slots.iter().flatten().map(|interest| interest.body)
    }

    /// Bodies that may touch `region`.
    pub fn near(&self, region: Region) -> impl Iterator<Item = RigidBodyHandle> {
        let region = Aabb::of_region(region);
        let interests = self.slots.iter().flatten();
        interests
            .filter(move |interest| region.meets(interest.reach.bounds))
            .map(|interest| interest.body)
    }

    /// Removes bodies that no longer exist, a part of them at each call.
    pub fn remove_dead(&mut self, bodies: &RigidBodySet, changes: &mut BlockChanges) {
        for _ in 0..self.slots.len().div_ceil(REMOVAL_SYNCS) {
            self.next = if self.next + 1 < self.slots.len() { self.next + 1 } else { 0 };
            let slot = &mut self.slots[self.next];
            if slot.as_ref().is_some_and(|interest| !bodies.contains(interest.body))
                && let Some(removed) = slot.take()
            {
                changes.left.extend(removed.blocks);
            }
        }
    }

    /// Removes all bodies.
    pub fn clear(&mut self) {
        self.slots.clear();
    }
}

impl Interest {
    fn query(&mut self, ground: &Collider, changes: &mut BlockChanges) {
        let Reach { bounds, solid } = &self.reach;
        self.is_unknown = solid.is_some_and(|solid| ground.unknown_in(&solid).is_some());
        self.blocks.clear();
        ground.broadphase().blocks_in(bounds, Surfaces::Solid, |block, touch| {
            if touch.solid {
                self.blocks.push(block);
            }
        });
        changes.entered.extend_from_slice(&self.blocks);
        changes.undecided.push(self.body);
    }
}

impl Reach {
    fn grow(self, voxels: f64) -> Reach {
        let solid = self.solid.map(|solid| solid.grow(voxels));
        Reach { bounds: self.bounds.grow(voxels), solid }
    }

    fn contains(&self, inner: &Reach) -> bool {
        let has_solid = inner
            .solid
            .is_none_or(|inner| self.solid.is_some_and(|solid| contains(&solid, &inner)));
        has_solid && contains(&self.bounds, &inner.bounds)
    }
}

fn contains(outer: &Aabb, inner: &Aabb) -> bool {
    (0..3).all(|i| outer.min[i] <= inner.min[i] && inner.max[i] <= outer.max[i])
}

/// The bounds of a body's enabled colliders that meet ground of some groups, metres.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColliderBounds {
    /// Of those that ground stops.
    pub solid: Option<BodyBounds>,
    /// Of sensors.
    pub sensors: Option<BodyBounds>,
}

impl ColliderBounds {
    /// The bounds of a body at its position.
    pub fn of(
        body: &RigidBody,
        colliders: &ColliderSet,
        ground_groups: InteractionGroups,
    ) -> ColliderBounds {
        let mut bounds = ColliderBounds::default();
        for &handle in body.colliders() {
            let meets = |collider: &&rapier3d::prelude::Collider| {
                collider.is_enabled() && collider.collision_groups().test(ground_groups)
            };
            let Some(collider) = colliders.get(handle).filter(meets) else { continue };
            // A collider's own position is updated only in the next step.
            let position = match collider.position_wrt_parent() {
                Some(local) => *body.position() * *local,
                None => *body.position(),
            };
            let aabb = collider.shape().compute_aabb(&position);
            let of_kind =
                if collider.is_sensor() { &mut bounds.sensors } else { &mut bounds.solid };
            *of_kind = Some(of_kind.map_or(aabb, |bounds| bounds.merged(&aabb)));
        }
        bounds
    }
}

/// The boxes that a body may reach at `velocity`; `None` if it has no collider that meets ground of
/// some groups, or its position is non-finite.
pub fn reachable_bounds(
    body: &RigidBody,
    velocity: &RigidBodyVelocity<f32>,
    colliders: &ColliderSet,
    ground_groups: InteractionGroups,
    lookahead: Lookahead,
    placement: Placement,
) -> Option<Reach> {
    let ColliderBounds { solid, sensors } = ColliderBounds::of(body, colliders, ground_groups);
    let box_of = |bounds: Option<BodyBounds>, max_voxels: f64| {
        let max_m = (max_voxels * placement.voxel_size_m) as f32;
        let is_finite = |bounds: &BodyBounds| bounds.mins.is_finite() && bounds.maxs.is_finite();
        let bounds = within(bounds.filter(is_finite)?, body.translation(), max_m);
        swept_bounds(bounds, velocity, lookahead, placement)
    };
    let solid = box_of(solid, MAX_SOLID_VOXELS);
    let bounds = match (solid, box_of(sensors, MAX_SENSOR_VOXELS)) {
        (Some(solid), Some(sensors)) => solid.union(sensors),
        (solid, sensors) => solid.or(sensors)?,
    };
    Some(Reach { bounds, solid })
}

/// The part of a box within `max_m` of its point nearest to `position`, along each axis.
fn within(bounds: BodyBounds, position: Vector, max_m: f32) -> BodyBounds {
    let BodyBounds { mins, maxs } = bounds;
    let nearest = position.max(mins).min(maxs);
    let far = Vector::splat(max_m);
    BodyBounds { mins: mins.max(nearest - far), maxs: maxs.min(nearest + far) }
}

/// The box that the part of a body in `bounds` may reach at `velocity`, voxels; `None` if it is
/// non-finite.
fn swept_bounds(
    bounds: BodyBounds,
    velocity: &RigidBodyVelocity<f32>,
    lookahead: Lookahead,
    placement: Placement,
) -> Option<Aabb> {
    let BodyBounds { mins: low, maxs: high } = bounds;
    let max_m = (MAX_AHEAD_VOXELS * placement.voxel_size_m) as f32;
    let ahead = velocity.linvel * lookahead.ahead_s;
    let ahead = ahead.clamp(Vector::splat(-max_m), Vector::splat(max_m));
    // While it rotates it stays within the bounding sphere of its box.
    let half = (high - low) * 0.5;
    let swept = (half.length() - half.min_element()).max(0.0);
    let swept = swept * (velocity.angvel.length() * lookahead.ahead_s).min(1.0);
    let low = low + ahead.min(Vector::ZERO) - Vector::splat(swept);
    let high = high + ahead.max(Vector::ZERO) + Vector::splat(swept);
    let [min, max] = [low, high].map(|v| placement.voxel_from_world(v.to_array().map(f64::from)));
    let aabb = Aabb { min, max };
    aabb.is_valid().then_some(aabb)
}
