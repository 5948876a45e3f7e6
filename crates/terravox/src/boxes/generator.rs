//! Box colliders of a part of the world, updated from its change log.
//!
//! Source: Hadden, "Voxels, Octrees, and Collision" (2012): the generator, which ran at
//! the physics step because bodies fell through colliders that were being made. Here an
//! update adds all new boxes before it removes any old one, so a cell that stays solid is
//! always covered. Still, call it between two steps of the physics.

use rustc_hash::FxHashMap;

use super::merge::{BoxChange, BoxMerger, LocalBox};
use super::octree::{MAX_LOG2, SolidOctree, bits};
use super::sink::{BoxSet, BoxSink};
use super::solid::{change_block, cube_boxes, region};
use crate::bits::{BLOCK_LOG2, BlockMask, block_mask};
use crate::math::{Aabb, DebugLines};
use crate::voxel::{Changes, LIMIT, Region, Snapshot, VoxelPos};

/// Colour of boxes.
const BOX: [u8; 3] = [120, 220, 160];

/// Statistics of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoxUpdate {
    /// Boxes added to the sink.
    pub added: usize,
    /// Boxes removed from it, after all were added.
    pub removed: usize,
    /// Number of cubes that were read and have cells that are not held at mip 0; those cells have
    /// no boxes.
    pub not_held: usize,
}

/// Keeps the box colliders of a world up to date in a [`BoxSink`].
///
/// ```
/// use terravox::boxes::{BoxColliders, BoxList};
/// use terravox::voxel::{ChangeCursor, DenseBox, Region, VoxelGrid};
///
/// let (mut grid, mut cursor) = (VoxelGrid::default(), ChangeCursor::default());
/// let mut floor = DenseBox::new(Region::new([0, 0, 0], [32, 8, 32]));
/// floor.fill(8);
/// grid.write(&floor)?;
///
/// let (mut colliders, mut list) = (BoxColliders::new(5), BoxList::default());
/// colliders.update(grid.as_snapshot(), &grid.changes_since(&mut cursor), &mut list);
/// assert_eq!(list.len(), 1);
///
/// // Dig a cell; between two steps of the physics:
/// grid.write(&DenseBox::new(Region::new([5, 7, 5], [6, 8, 6])))?;
/// let done = colliders.update(grid.as_snapshot(), &grid.changes_since(&mut cursor), &mut list);
/// assert_eq!(done.removed, 1);
/// assert_eq!(list.len(), done.added);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
pub struct BoxColliders<H> {
    /// Edge of a cube is `1 << log2` voxels.
    log2: u32,
    /// The regions to cover with boxes.
    cover: Vec<Region>,
    /// Whether these changed since the last update.
    cover_is_new: bool,
    /// By position in cubes; those without a box are not listed.
    cubes: FxHashMap<VoxelPos, CubeBoxes<H>>,
    scratch: UpdateScratch,
}

/// One cube.
struct CubeBoxes<H> {
    merge: BoxMerger,
    boxes: BoxSet<H>,
}

impl<H> Default for CubeBoxes<H> {
    fn default() -> Self {
        CubeBoxes { merge: BoxMerger::default(), boxes: BoxSet::default() }
    }
}

/// Memory of an update.
#[derive(Default)]
struct UpdateScratch {
    octree: SolidOctree,
    local: Vec<LocalBox>,
    regions: Vec<Region>,
    change: BoxChange,
    /// The blocks of cubes that edits reached, by position in cubes.
    dirty: Vec<(VoxelPos, BlockMask)>,
}

impl<H> BoxColliders<H> {
    /// Creates colliders without boxes; the first update adds those of the whole world. Boxes stay
    /// within aligned cubes of `1 << cube_log2` voxels: larger cubes give fewer boxes. Start with
    /// 5: one cube per chunk.
    ///
    /// # Panics
    /// If `cube_log2` is not 3 to 6.
    pub fn new(cube_log2: u32) -> BoxColliders<H> {
        let allowed = BLOCK_LOG2..=MAX_LOG2;
        assert!(allowed.contains(&cube_log2), "cubes of {} voxels", 1u64 << cube_log2.min(63));
        BoxColliders {
            log2: cube_log2,
            cover: vec![Region::new([-LIMIT; 3], [LIMIT; 3])],
            cover_is_new: true,
            cubes: FxHashMap::default(),
            scratch: UpdateScratch::default(),
        }
    }

    /// Sets the cover from the next update on: all cubes that share a voxel with one of `regions`,
    /// such as those around moving bodies.
    pub fn cover(&mut self, regions: &[Region]) {
        let limits = Region::new([-LIMIT; 3], [LIMIT; 3]);
        let cover: Vec<Region> = regions.iter().map(|region| region.intersect(limits)).collect();
        self.cover_is_new |= self.cover != cover;
        self.cover = cover;
    }

    /// Updates the boxes in `sink` to `snapshot`; `changes` are those since the last update. Boxes
    /// that did not change keep their colliders, and all additions come before any removal. Call
    /// it between two steps of the physics.
    pub fn update<S: BoxSink<Handle = H>>(
        &mut self,
        snapshot: &Snapshot,
        changes: &Changes,
        sink: &mut S,
    ) -> BoxUpdate {
        let (mut done, mut gone) = (BoxUpdate::default(), Vec::new());
        let all = *changes == Changes::Everything;
        if all || self.cover_is_new {
            self.follow_cover(snapshot, all, sink, &mut gone, &mut done);
        }
        if let Changes::Regions(regions) = changes {
            regions.iter().for_each(|&region| self.mark(region));
            self.update_marked(snapshot, sink, &mut gone, &mut done);
        }
        done.removed = gone.len();
        gone.into_iter().for_each(|handle| sink.remove(handle));
        done
    }

    /// Drops cubes that are no longer covered and makes those that are new; all of them if `all`.
    fn follow_cover<S: BoxSink<Handle = H>>(
        &mut self,
        snapshot: &Snapshot,
        all: bool,
        sink: &mut S,
        gone: &mut Vec<H>,
        done: &mut BoxUpdate,
    ) {
        self.cover_is_new = false;
        let mut wanted = covered_cubes(snapshot, &self.cover, self.log2);
        self.cubes.retain(|at, cube| {
            let stays = wanted.binary_search(at).is_ok();
            if !stays {
                cube.boxes.clear(gone);
            }
            stays
        });
        wanted.retain(|at| all || !self.cubes.contains_key(at));
        for at in wanted {
            self.rebuild(snapshot, at, sink, gone, done);
        }
    }

    /// Notes the blocks of the cubes that a write of `region` touched.
    fn mark(&mut self, region: Region) {
        for cover in &self.cover {
            // A cube is covered whole.
            let part = region.intersect(cover.coarser(self.log2).finer(self.log2));
            for at in part.coarser(self.log2).voxels() {
                let cube = Region::one(at).finer(self.log2);
                let blocks = Region {
                    min: part.min.max(cube.min) - cube.min,
                    max: part.max.min(cube.max) - cube.min,
                };
                let dirty = &mut self.scratch.dirty;
                if dirty.last().is_none_or(|last| last.0 != at) {
                    dirty.push((at, [0; 8]));
                }
                let Some((_, mask)) = dirty.last_mut() else { unreachable!() };
                for VoxelPos { x, y, z } in blocks.coarser(BLOCK_LOG2).voxels() {
                    mask[y as usize] |= 1 << (x + 8 * z);
                }
            }
        }
    }

    fn update_marked<S: BoxSink<Handle = H>>(
        &mut self,
        snapshot: &Snapshot,
        sink: &mut S,
        gone: &mut Vec<H>,
        done: &mut BoxUpdate,
    ) {
        let mut dirty = std::mem::take(&mut self.scratch.dirty);
        dirty.sort_unstable_by_key(|(at, _)| *at);
        dirty.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                (0..8).for_each(|y| first.1[y] |= next.1[y]);
            }
            same
        });
        for (at, blocks) in dirty.drain(..) {
            let count: u32 = blocks.iter().map(|word| word.count_ones()).sum();
            let few = count * 4 < 1 << (3 * (self.log2 - BLOCK_LOG2));
            match self.cubes.get_mut(&at) {
                Some(cube) if few => {
                    let scratch = &mut self.scratch;
                    cube.edit(snapshot, Region::one(at).finer(self.log2), &blocks, scratch, done);
                    cube.publish(Region::one(at).finer(self.log2).min, scratch, sink, gone, done);
                    if cube.boxes.is_empty() {
                        self.cubes.remove(&at);
                    }
                }
                _ => self.rebuild(snapshot, at, sink, gone, done),
            }
        }
        self.scratch.dirty = dirty;
    }

    /// Rebuilds the boxes of a cube from all of its cells.
    fn rebuild<S: BoxSink<Handle = H>>(
        &mut self,
        snapshot: &Snapshot,
        at: VoxelPos,
        sink: &mut S,
        gone: &mut Vec<H>,
        done: &mut BoxUpdate,
    ) {
        let bounds = Region::one(at).finer(self.log2);
        let UpdateScratch { octree, local, regions, .. } = &mut self.scratch;
        done.not_held += usize::from(octree.read(snapshot, bounds).is_err());
        cube_boxes(octree, local);
        if local.is_empty() && !self.cubes.contains_key(&at) {
            return;
        }
        let cube = self.cubes.entry(at).or_default();
        cube.merge.rebuild(local);
        regions.clear();
        regions.extend(local.iter().map(|&b| region(bounds.min, b)));
        done.added += cube.boxes.replace_sorted(regions, sink, gone);
        if cube.boxes.is_empty() {
            self.cubes.remove(&at);
        }
    }

    /// Removes all boxes. The next update adds them again.
    pub fn clear<S: BoxSink<Handle = H>>(&mut self, sink: &mut S) {
        let mut gone = Vec::new();
        self.cubes.values_mut().for_each(|cube| cube.boxes.clear(&mut gone));
        self.cubes.clear();
        self.cover_is_new = true;
        gone.into_iter().for_each(|handle| sink.remove(handle));
    }

    /// The boxes and their handles in the sink, cube by cube in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = (Region, &H)> {
        self.cubes.values().flat_map(|cube| cube.boxes.iter())
    }

    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.cubes.values().map(|cube| cube.boxes.len()).sum()
    }

    /// Whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.cubes.is_empty()
    }

    /// Total bytes, without what handles point to.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(VoxelPos, CubeBoxes<H>)>() + 1;
        let cubes = self.cubes.values();
        let inner = cubes.map(|cube| cube.merge.bytes() + cube.boxes.bytes());
        self.cubes.capacity() * 8 / 7 * entry + inner.sum::<usize>()
    }

    /// Adds all boxes that meet `within`.
    pub fn box_lines(&self, within: &Aabb, lines: &mut DebugLines) {
        let boxes = self.iter().map(|(region, _)| Aabb::of_region(region));
        boxes.filter(|aabb| aabb.meets(*within)).for_each(|aabb| lines.aabb(aabb, BOX));
    }
}

impl<H> CubeBoxes<H> {
    /// Rereads some blocks (bits) of the cube at `bounds`, and puts the change of its boxes in
    /// `scratch`.
    fn edit(
        &mut self,
        snapshot: &Snapshot,
        bounds: Region,
        blocks: &BlockMask,
        scratch: &mut UpdateScratch,
        done: &mut BoxUpdate,
    ) {
        let change = &mut scratch.change;
        change.clear();
        let mut not_held = false;
        for at in bits(*blocks) {
            let voxel = bounds.min + VoxelPos::from(at.map(|v| 8 * i32::from(v)));
            let mask = block_mask(snapshot, voxel.block());
            not_held |= mask.is_err();
            change_block(&self.merge, at, &mask.unwrap_or_default(), change);
        }
        done.not_held += usize::from(not_held);
        self.merge.apply(change);
    }

    /// Applies the change in `scratch` to the boxes of the cube at `min`.
    fn publish<S: BoxSink<Handle = H>>(
        &mut self,
        min: VoxelPos,
        scratch: &UpdateScratch,
        sink: &mut S,
        gone: &mut Vec<H>,
        done: &mut BoxUpdate,
    ) {
        let BoxChange { added, removed, .. } = &scratch.change;
        done.added += added.len();
        let world = |&b: &LocalBox| region(min, b);
        self.boxes.change(added.iter().map(world), removed.iter().map(world), sink, gone);
    }
}

/// The cubes of edge `1 << log2` that a region of `cover` meets and that hold a listed
/// chunk, sorted. Costs the lesser of the chunks and the cubes covered.
fn covered_cubes(snapshot: &Snapshot, cover: &[Region], log2: u32) -> Vec<VoxelPos> {
    let bounds = snapshot.bounds().coarser(log2);
    let listed = snapshot.chunks();
    let mut cubes = Vec::new();
    for wanted in cover.iter().map(|region| region.coarser(log2).intersect(bounds)) {
        if wanted.volume() <= listed.len() as u64 {
            let is_listed = |at: &VoxelPos| {
                Region::one(*at).finer(log2).blocks::<5>().any(|chunk| snapshot.is_listed(chunk))
            };
            cubes.extend(wanted.voxels().filter(is_listed));
        } else {
            let wanted = wanted.finer(log2);
            let parts = listed.iter().map(|chunk| chunk.region().intersect(wanted));
            cubes.extend(parts.flat_map(|part| part.coarser(log2).voxels()));
        }
    }
    cubes.sort_unstable();
    cubes.dedup();
    cubes
}
