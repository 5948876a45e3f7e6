//! Which blocks each body is near: a box around it, kept until the body leaves it.

use rapier3d::prelude::{ColliderSet, RigidBody, RigidBodyHandle, RigidBodySet, Vector};
use terravox::collide::{Collider, CollisionBlock, Surfaces};
use terravox::math::Aabb;
use terravox::terrain::Placement;
use terravox::voxel::Region;

/// The blocks that one body is near.
#[derive(Clone, Debug)]
struct Interest {
    body: RigidBodyHandle,
    /// Where the body may go before it is looked at again, voxels.
    bounds: Aabb,
    blocks: Vec<CollisionBlock>,
    /// Whether cells in `bounds` are not held.
    unknown: bool,
    /// Whether ground in `bounds` was missing when last decided.
    incomplete: bool,
}

/// The blocks that bodies are near, by the slot of the body in its set.
#[derive(Clone, Debug, Default)]
pub struct Interests {
    slots: Vec<Option<Interest>>,
    /// The next slot to be asked whether its body still lives.
    next: usize,
}

/// How far around bodies ground is kept ready.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Seconds of motion ahead.
    pub ahead_s: f32,
    /// Voxels to each side.
    pub around_voxels: f64,
}

/// Changes of which bodies are near which blocks.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// Blocks that a body came near, once for every body.
    pub near: Vec<CollisionBlock>,
    /// Blocks that a body left.
    pub left: Vec<CollisionBlock>,
    /// Bodies of which it is to be decided whether ground near them is missing.
    pub asked: Vec<RigidBodyHandle>,
}

/// Ground is kept ready so far ahead of a body at most, along each axis: one that is faster has
/// left the world for good, and must not have all of it built.
const MAX_AHEAD_VOXELS: f64 = 256.0;

/// Slots asked in turn whether their bodies live: one in so many at each look.
const TURNS: usize = 16;

impl Interests {
    /// Looks at a body. Nothing happens while it stays in its box and its ground is there.
    pub fn look(
        &mut self,
        handle: RigidBodyHandle,
        needed: Aabb,
        reach: Reach,
        ground: &Collider,
        moves: &mut Moves,
    ) {
        let slot = handle.into_raw_parts().0 as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        let old = &mut self.slots[slot];
        if let Some(old) = old.as_ref().filter(|old| old.body == handle)
            && holds(&old.bounds, &needed)
        {
            if old.incomplete {
                moves.asked.push(handle);
            }
            return;
        }
        let bounds = needed.grow(reach.around_voxels);
        let mut interest = Interest {
            body: handle,
            bounds,
            blocks: Vec::new(),
            unknown: false,
            incomplete: false,
        };
        interest.ask(ground, moves);
        if let Some(old) = old.replace(interest) {
            moves.left.extend(old.blocks);
        }
    }

    /// Asks again for all whose box a region meets, or for all.
    pub fn ask_again(&mut self, region: Option<Region>, ground: &Collider, moves: &mut Moves) {
        let region = region.map(Aabb::of_region);
        for interest in self.slots.iter_mut().flatten() {
            if region.is_none_or(|region| region.meets(interest.bounds)) {
                moves.left.append(&mut interest.blocks);
                interest.ask(ground, moves);
            }
        }
    }

    /// Whether ground near a body is missing: cells are not held, or a block of it is
    /// `missing`.
    pub fn decide(
        &mut self,
        handle: RigidBodyHandle,
        missing: impl Fn(&CollisionBlock) -> bool,
    ) -> bool {
        let slot = self.slots.get_mut(handle.into_raw_parts().0 as usize);
        let interest = slot.and_then(Option::as_mut).filter(|interest| interest.body == handle);
        interest.is_some_and(|interest| {
            interest.incomplete = interest.unknown || interest.blocks.iter().any(missing);
            interest.incomplete
        })
    }

    /// Whether ground near a body was missing when last decided.
    pub fn is_incomplete(&self, handle: RigidBodyHandle) -> bool {
        let slot = self.slots.get(handle.into_raw_parts().0 as usize);
        let interest = slot.and_then(Option::as_ref).filter(|interest| interest.body == handle);
        interest.is_some_and(|interest| interest.incomplete)
    }

    /// All bodies that were looked at.
    pub fn bodies(&self) -> impl Iterator<Item = RigidBodyHandle> {
        self.slots.iter().flatten().map(|interest| interest.body)
    }

    /// Bodies that may touch a region.
    pub fn near(&self, region: Region) -> impl Iterator<Item = RigidBodyHandle> {
        let region = Aabb::of_region(region);
        let interests = self.slots.iter().flatten();
        interests.filter(move |interest| region.meets(interest.bounds)).map(|near| near.body)
    }

    /// Drops bodies that are gone, some at each call.
    pub fn drop_gone(&mut self, bodies: &RigidBodySet, moves: &mut Moves) {
        for _ in 0..self.slots.len().div_ceil(TURNS) {
            self.next = if self.next + 1 < self.slots.len() { self.next + 1 } else { 0 };
            let slot = &mut self.slots[self.next];
            if slot.as_ref().is_some_and(|interest| !bodies.contains(interest.body))
                && let Some(gone) = slot.take()
            {
                moves.left.extend(gone.blocks);
            }
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.slots.clear();
    }
}

impl Interest {
    fn ask(&mut self, ground: &Collider, moves: &mut Moves) {
        self.unknown = ground.unknown_in(&self.bounds).is_some();
        self.blocks.clear();
        ground.broadphase().blocks_in(&self.bounds, Surfaces::Solid, |block, touch| {
            if touch.solid {
                self.blocks.push(block);
            }
        });
        moves.near.extend_from_slice(&self.blocks);
        moves.asked.push(self.body);
    }
}

fn holds(outer: &Aabb, inner: &Aabb) -> bool {
    (0..3).all(|i| outer.min[i] <= inner.min[i] && inner.max[i] <= outer.max[i])
}

/// The box of a body where it is, metres; none if it has no collider that counts.
pub fn bounds_m(body: &RigidBody, colliders: &ColliderSet) -> Option<[Vector; 2]> {
    let mut bounds: Option<[Vector; 2]> = None;
    for &handle in body.colliders() {
        let Some(collider) = colliders.get(handle).filter(|c| c.is_enabled()) else { continue };
        // A collider follows its body only in the next step.
        let position = match collider.position_wrt_parent() {
            Some(local) => *body.position() * *local,
            None => *body.position(),
        };
        let aabb = collider.shape().compute_aabb(&position);
        bounds = Some(match bounds {
            Some([low, high]) => [low.min(aabb.mins), high.max(aabb.maxs)],
            None => [aabb.mins, aabb.maxs],
        });
    }
    bounds
}

/// The box that a body may reach at its velocities, linear and angular, voxels; none if it
/// has no collider or a non-finite position.
pub fn needed(
    body: &RigidBody,
    [linvel, angvel]: [Vector; 2],
    colliders: &ColliderSet,
    reach: Reach,
    placement: Placement,
) -> Option<Aabb> {
    let [low, high] = bounds_m(body, colliders)?;
    let most = (MAX_AHEAD_VOXELS * placement.voxel_size_m) as f32;
    let way = (linvel * reach.ahead_s).clamp(Vector::splat(-most), Vector::splat(most));
    // Turning, it stays within the ball around its box.
    let half = (high - low) * 0.5;
    let turned = (half.length() - half.min_element()).max(0.0);
    let turned = turned * (angvel.length() * reach.ahead_s).min(1.0);
    let low = low + way.min(Vector::ZERO) - Vector::splat(turned);
    let high = high + way.max(Vector::ZERO) + Vector::splat(turned);
    let [min, max] = [low, high].map(|v| placement.voxel_from_world(v.to_array().map(f64::from)));
    let aabb = Aabb { min, max };
    aabb.is_valid().then_some(aabb)
}
