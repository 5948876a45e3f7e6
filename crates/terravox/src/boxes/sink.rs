//! Boxes become colliders here, and a list remembers which box has which collider.
//!
//! Source: Hadden, "Voxels, Octrees, and Collision" (2012), the generator, which writes
//! the new boxes over the old colliders by their number in the list. Here a collider
//! stays if its box does, so an engine that keeps contacts keeps those.

use crate::voxel::Region;

/// Adds and removes the colliders of boxes: an adapter to a physics engine, or a list.
pub trait BoxSink {
    /// Identifies a collider of the sink.
    type Handle;

    /// Adds a collider over the voxels of `region`, half-open.
    fn add(&mut self, region: Region) -> Self::Handle;

    /// Removes a collider.
    fn remove(&mut self, handle: Self::Handle);
}

/// A sink that only keeps the boxes.
#[derive(Clone, Debug, Default)]
pub struct BoxList {
    /// By handle; empty regions are free.
    slots: Vec<Region>,
    free: Vec<u32>,
}

impl BoxList {
    /// The boxes, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = Region> + '_ {
        self.slots.iter().copied().filter(|region| !region.is_empty())
    }

    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl BoxSink for BoxList {
    type Handle = u32;

    fn add(&mut self, region: Region) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = region;
            return slot;
        }
        self.slots.push(region);
        self.slots.len() as u32 - 1
    }

    fn remove(&mut self, handle: u32) {
        self.slots[handle as usize] = Region::default();
        self.free.push(handle);
    }
}

/// The boxes of one source, such as the volumes of an octree or a user's own, and their
/// colliders.
#[derive(Clone, Debug)]
pub struct BoxSet<H> {
    /// Sorted by [`order`].
    boxes: Vec<(Region, H)>,
}

impl<H> Default for BoxSet<H> {
    fn default() -> Self {
        BoxSet { boxes: Vec::new() }
    }
}

/// The sort key of boxes.
#[inline(always)]
fn order(region: Region) -> [i32; 6] {
    let Region { min, max } = region;
    [min.y, min.z, min.x, max.y, max.z, max.x]
}

impl<H> BoxSet<H> {
    /// Makes the colliders those of `regions`: colliders whose box is among them stay, missing
    /// ones are added, and then the others are removed. Returns the numbers of added and removed
    /// colliders.
    pub fn replace<S: BoxSink<Handle = H>>(
        &mut self,
        regions: impl IntoIterator<Item = Region>,
        sink: &mut S,
    ) -> [usize; 2] {
        let mut gone = Vec::new();
        let mut sorted: Vec<Region> = regions.into_iter().collect();
        let added = self.replace_sorted(&mut sorted, sink, &mut gone);
        let removed = gone.len();
        gone.into_iter().for_each(|handle| sink.remove(handle));
        [added, removed]
    }

    /// As [`BoxSet::replace`], but the handles to remove are appended to `gone`.
    pub(super) fn replace_sorted<S: BoxSink<Handle = H>>(
        &mut self,
        regions: &mut [Region],
        sink: &mut S,
        gone: &mut Vec<H>,
    ) -> usize {
        regions.sort_unstable_by_key(|&region| order(region));
        let mut old = std::mem::take(&mut self.boxes).into_iter().peekable();
        self.boxes.reserve_exact(regions.len());
        let mut added = 0;
        for &region in &*regions {
            while let Some((_, handle)) = old.next_if(|(b, _)| order(*b) < order(region)) {
                gone.push(handle);
            }
            let kept = old.next_if(|(b, _)| *b == region);
            added += usize::from(kept.is_none());
            self.boxes.push(kept.unwrap_or_else(|| (region, sink.add(region))));
        }
        gone.extend(old.map(|(_, handle)| handle));
        added
    }

    /// Adds and removes single boxes; the handles of the removed ones are appended to `gone`.
    pub(super) fn change<S: BoxSink<Handle = H>>(
        &mut self,
        added: impl Iterator<Item = Region>,
        removed: impl Iterator<Item = Region>,
        sink: &mut S,
        gone: &mut Vec<H>,
    ) {
        for region in removed {
            if let Ok(at) = self.find(region) {
                gone.push(self.boxes.remove(at).1);
            }
        }
        for region in added {
            let (Ok(at) | Err(at)) = self.find(region);
            self.boxes.insert(at, (region, sink.add(region)));
        }
    }

    fn find(&self, region: Region) -> Result<usize, usize> {
        self.boxes.binary_search_by_key(&order(region), |(b, _)| order(*b))
    }

    /// Removes all boxes and appends their handles to `gone`.
    pub(super) fn clear(&mut self, gone: &mut Vec<H>) {
        gone.extend(self.boxes.drain(..).map(|(_, handle)| handle));
    }

    /// The boxes and their colliders, sorted by the y, z, x of their lowest voxels.
    pub fn iter(&self) -> impl Iterator<Item = (Region, &H)> {
        self.boxes.iter().map(|(region, handle)| (*region, handle))
    }

    /// Bytes of the list, without what handles point to.
    pub(super) fn bytes(&self) -> usize {
        self.boxes.capacity() * size_of::<(Region, H)>()
    }

    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.boxes.len()
    }

    /// Whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }
}
