//! Which objects may touch which blocks, as they move and as the ground is edited: at most
//! one solid and one liquid contact per object and block, from the bit masks alone.
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017), "Bit broadphase: overlap test".

use rustc_hash::FxHashMap;

use crate::collide::{Block, Broadphase, REACH, Surfaces, Touch};
use crate::math::Aabb;
use crate::mesh::PAD;
use crate::voxel::{Changes, Region};

/// An object that may touch a surface of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockContact {
    /// The caller's number of the object.
    pub object: u64,
    /// The block.
    pub block: Block,
    /// Whether it is the block's water rather than its ground.
    pub liquid: bool,
}

/// What an update began and ended. The caller owns it, and clears it when it has done
/// what follows; updates only add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactChanges {
    /// Contacts that were not there before.
    pub began: Vec<BlockContact>,
    /// Contacts that are there no more.
    pub ended: Vec<BlockContact>,
}

impl ContactChanges {
    /// Drops the contents and keeps the memory.
    pub fn clear(&mut self) {
        self.began.clear();
        self.ended.clear();
    }
}

/// An object.
#[derive(Clone, Debug)]
struct Tracked {
    aabb: Aabb,
    /// Sorted.
    touched: Vec<(Block, bool)>,
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
    objects: FxHashMap<u64, Tracked>,
    /// What an object touches now.
    now: Vec<(Block, bool)>,
    /// Objects that are looked at again.
    again: Vec<u64>,
}

impl ContactTracker {
    /// One without objects.
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

    /// Moves an object, or adds one: `aabb` holds all that it fills until the next update,
    /// its motion included, voxels. A box that has NaN or infinity, or is inside out,
    /// touches nothing.
    pub fn update(
        &mut self,
        masks: &Broadphase,
        object: u64,
        aabb: Aabb,
        changes: &mut ContactChanges,
    ) {
        let tracked =
            self.objects.entry(object).or_insert_with(|| Tracked { aabb, touched: Vec::new() });
        tracked.aabb = aabb;
        self.now.clear();
        masks.blocks_in(&aabb, Surfaces::Both, |block, Touch { solid, liquid }| {
            self.now.extend(solid.then_some((block, false)));
            self.now.extend(liquid.then_some((block, true)));
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

    /// Looks again at the objects that an edit may concern, once the masks are up to date:
    /// those whose boxes meet what is shown otherwise now. Makes `woken` their numbers,
    /// sorted: they may rest on what is there no more, or lie in what is new.
    pub fn edited(
        &mut self,
        masks: &Broadphase,
        edits: &Changes,
        changes: &mut ContactChanges,
        woken: &mut Vec<u64>,
    ) {
        let mut again = std::mem::take(&mut self.again);
        again.clear();
        match edits {
            Changes::Everything => again.extend(self.objects.keys()),
            Changes::Regions(regions) => {
                for (&object, tracked) in &self.objects {
                    if regions.iter().any(|&region| concerns(region, &tracked.aabb)) {
                        again.push(object);
                    }
                }
            }
        }
        again.sort_unstable();
        for &object in &again {
            if let Some(aabb) = self.objects.get(&object).map(|tracked| tracked.aabb) {
                self.update(masks, object, aabb, changes);
            }
        }
        woken.clear();
        woken.extend_from_slice(&again);
        self.again = again;
    }

    /// The contacts of an object, sorted by block.
    pub fn contacts_of(&self, object: u64) -> impl Iterator<Item = BlockContact> + '_ {
        let touched = self.objects.get(&object).map_or(&[][..], |tracked| &tracked.touched);
        touched.iter().map(move |&(block, liquid)| BlockContact { object, block, liquid })
    }

    /// All contacts, in no order of objects.
    pub fn contacts(&self) -> impl Iterator<Item = BlockContact> + '_ {
        self.objects.keys().flat_map(|&object| self.contacts_of(object))
    }
}

/// Whether an edit of a region may change what is in a box.
fn concerns(region: Region, aabb: &Aabb) -> bool {
    // Cells shape the surface up to so far away, and it reaches beyond its cells.
    let reach = f64::from(PAD) + f64::from(REACH);
    !region.is_empty() && Aabb::of_region(region).grow(reach).meets(*aabb)
}

/// Adds what two sorted lists differ by.
fn difference(
    object: u64,
    before: &[(Block, bool)],
    now: &[(Block, bool)],
    changes: &mut ContactChanges,
) {
    let contact = |&(block, liquid): &(Block, bool)| BlockContact { object, block, liquid };
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
