//! Which objects may touch which blocks, as objects move and the ground is edited: at most one
//! solid and one liquid contact per object and block, from the bit masks alone.
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017), "Bit broadphase: overlap test".

use rustc_hash::FxHashMap;

use crate::collide::{BlockOverlap, Broadphase, CollisionBlock, REACH, Surfaces};
use crate::math::Aabb;
use crate::mesh::PAD;
use crate::voxel::{Changes, Region};

/// An object that may touch a surface of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockContact {
    /// The caller's number of the object.
    pub object: u64,
    /// The block.
    pub block: CollisionBlock,
    /// Whether it is the block's water rather than its ground.
    pub is_liquid: bool,
}

/// The contacts that updates began and ended. Updates only append; the caller clears it when it
/// has handled them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactChanges {
    /// New contacts.
    pub began: Vec<BlockContact>,
    /// Contacts that ended.
    pub ended: Vec<BlockContact>,
}

impl ContactChanges {
    /// Removes all contacts and keeps the memory.
    pub fn clear(&mut self) {
        self.began.clear();
        self.ended.clear();
    }
}

/// A surface of a block that an object may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TouchedSurface {
    block: CollisionBlock,
    liquid: bool,
}

/// An object that is tracked.
#[derive(Clone, Debug)]
struct TrackedObject {
    aabb: Aabb,
    /// Sorted.
    touched: Vec<TouchedSurface>,
}

/// Keeps the contacts of objects with blocks.
///
/// ```
/// use terravox::collide::Collider;
/// use terravox::contacts::{ContactChanges, ContactTracker};
/// use terravox::math::Aabb;
/// use terravox::voxel::{DenseBox, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::default();
/// let mut floor = DenseBox::new(Region::new([-8, -8, -8], [8, 0, 8]));
/// floor.fill(8);
/// grid.write(&floor)?;
/// let mut collider = Collider::default();
/// collider.update(&grid);
///
/// let (mut tracker, mut changes) = (ContactTracker::new(), ContactChanges::default());
/// let ball = |y: f64| Aabb::around([4.0, y, 4.0], [0.5; 3]);
/// tracker.update(collider.broadphase(), 7, ball(9.0), &mut changes);
/// assert!(changes.began.is_empty());
/// tracker.update(collider.broadphase(), 7, ball(0.4), &mut changes);
/// assert_eq!(changes.began.len(), 1);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ContactTracker {
    objects: FxHashMap<u64, TrackedObject>,
    /// Scratch: what an object touches now.
    now: Vec<TouchedSurface>,
    /// Scratch: objects near edits.
    affected: Vec<u64>,
}

impl ContactTracker {
    /// Creates a tracker without objects.
    pub fn new() -> ContactTracker {
        ContactTracker::default()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Moves an object, or adds it: `aabb` (voxels) contains it until the next update, its
    /// motion included. Invalid boxes (NaN, infinite, inverted) touch nothing.
    pub fn update(
        &mut self,
        masks: &Broadphase,
        object: u64,
        aabb: Aabb,
        changes: &mut ContactChanges,
    ) {
        let tracked = self
            .objects
            .entry(object)
            .or_insert_with(|| TrackedObject { aabb, touched: Vec::new() });
        tracked.aabb = aabb;
        self.now.clear();
        masks.blocks_in(&aabb, Surfaces::Both, |block, BlockOverlap { solid, liquid }| {
            self.now.extend(solid.then_some(TouchedSurface { block, liquid: false }));
            self.now.extend(liquid.then_some(TouchedSurface { block, liquid: true }));
        });
        self.now.sort_unstable();
        if self.now != tracked.touched {
            difference(object, &tracked.touched, &self.now, changes);
            std::mem::swap(&mut tracked.touched, &mut self.now);
        }
    }

    /// Removes an object; its contacts end.
    pub fn remove(&mut self, object: u64, changes: &mut ContactChanges) {
        if let Some(tracked) = self.objects.remove(&object) {
            difference(object, &tracked.touched, &[], changes);
        }
    }

    /// Updates the objects near edits, once the masks are up to date. Makes `woken` their
    /// numbers, sorted: they may rest on ground that is gone, or lie in new ground.
    pub fn edited(
        &mut self,
        masks: &Broadphase,
        edits: &Changes,
        changes: &mut ContactChanges,
        woken: &mut Vec<u64>,
    ) {
        let mut affected = std::mem::take(&mut self.affected);
        affected.clear();
        match edits {
            Changes::Everything => affected.extend(self.objects.keys()),
            Changes::Regions(regions) => {
                for (&object, tracked) in &self.objects {
                    if regions.iter().any(|&region| concerns(region, &tracked.aabb)) {
                        affected.push(object);
                    }
                }
            }
        }
        affected.sort_unstable();
        for &object in &affected {
            if let Some(aabb) = self.objects.get(&object).map(|tracked| tracked.aabb) {
                self.update(masks, object, aabb, changes);
            }
        }
        woken.clear();
        woken.extend_from_slice(&affected);
        self.affected = affected;
    }

    /// The contacts of an object, sorted by block.
    pub fn contacts_of(&self, object: u64) -> impl Iterator<Item = BlockContact> + '_ {
        let touched = self.objects.get(&object).map_or(&[][..], |tracked| &tracked.touched);
        touched.iter().map(move |&TouchedSurface { block, liquid }| BlockContact {
            object,
            block,
            is_liquid: liquid,
        })
    }

    /// All contacts, objects in arbitrary order.
    pub fn contacts(&self) -> impl Iterator<Item = BlockContact> + '_ {
        self.objects.keys().flat_map(|&object| self.contacts_of(object))
    }
}

/// Whether an edit of a region may change the surface in a box.
fn concerns(region: Region, aabb: &Aabb) -> bool {
    // Cells shape the surface up to `PAD` away, and it reaches beyond its cells.
    let reach = f64::from(PAD) + f64::from(REACH);
    !region.is_empty() && Aabb::of_region(region).grow(reach).meets(*aabb)
}

/// Appends the difference of two sorted lists.
fn difference(
    object: u64,
    before: &[TouchedSurface],
    now: &[TouchedSurface],
    changes: &mut ContactChanges,
) {
    let contact = |&TouchedSurface { block, liquid }: &TouchedSurface| BlockContact {
        object,
        block,
        is_liquid: liquid,
    };
    let (mut i, mut k) = (0, 0);
    while i < before.len() || k < now.len() {
        match (before.get(i), now.get(k)) {
            (Some(old), Some(new)) if old == new => (i, k) = (i + 1, k + 1),
            (Some(old), new) if new.is_none_or(|new| old < new) => {
                changes.ended.push(contact(old));
                i += 1;
            }
            _ => {
                changes.began.extend(now.get(k).map(contact));
                k += 1;
            }
        }
    }
}
