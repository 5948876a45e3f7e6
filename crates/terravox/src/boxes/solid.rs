//! The solid cells of a cube as few boxes.

use super::greedy::block_boxes;
use super::merge::{BoxChange, BoxMerger, LocalBox};
use super::octree::SolidOctree;
use crate::bits::BlockMask;
use crate::voxel::{Region, VoxelPos};

/// Boxes of voxels, half-open, that cover the solid cells of a cube exactly and do not overlap.
/// Boxes and order depend on the cells only.
///
/// Full blocks of 8³ are one box each; the cells of other blocks are merged to boxes within
/// their block; then all boxes are merged across blocks.
///
/// ```
/// use terravox::boxes::{SolidBoxes, SolidOctree};
/// use terravox::voxel::{DenseBox, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::default();
/// let mut floor = DenseBox::new(Region::new([0, 0, 0], [32, 17, 32]));
/// floor.fill(8);
/// grid.write(&floor)?;
/// let mut octree = SolidOctree::default();
/// octree.read(grid.as_snapshot(), Region::new([0, 0, 0], [32, 32, 32]))?;
/// let boxes = SolidBoxes::of(&octree);
/// assert_eq!(boxes.iter().next(), Some(Region::new([0, 0, 0], [32, 17, 32])));
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SolidBoxes {
    boxes: Vec<Region>,
}

impl SolidBoxes {
    /// The boxes of an octree.
    pub fn of(octree: &SolidOctree) -> SolidBoxes {
        let mut boxes = Vec::new();
        cube_boxes(octree, &mut boxes);
        BoxMerger::default().rebuild(&mut boxes);
        let min = octree.cube().min;
        SolidBoxes { boxes: boxes.into_iter().map(|b| region(min, b)).collect() }
    }

    /// The boxes.
    pub fn iter(&self) -> impl Iterator<Item = Region> + '_ {
        self.boxes.iter().copied()
    }

    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.boxes.len()
    }

    /// Whether no cell is solid.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }
}

/// A box of the cube at `min`, in the world.
#[inline]
pub(super) fn region(min: VoxelPos, b: LocalBox) -> Region {
    let at = |p: [u8; 3]| min + VoxelPos::from(p.map(i32::from));
    Region { min: at(b.min), max: at(b.max) }
}

/// A box of the block at `at` (in blocks of 8³ voxels), in the cube.
#[inline]
fn in_cube(at: [u8; 3], b: LocalBox) -> LocalBox {
    let add = |p: [u8; 3]| [p[0] + 8 * at[0], p[1] + 8 * at[1], p[2] + 8 * at[2]];
    LocalBox { min: add(b.min), max: add(b.max) }
}

/// The boxes of all blocks.
pub(super) fn cube_boxes(octree: &SolidOctree, boxes: &mut Vec<LocalBox>) {
    boxes.clear();
    let whole = LocalBox { min: [0; 3], max: [8; 3] };
    boxes.extend(octree.full_blocks().map(|at| in_cube(at, whole)));
    for (at, mask) in octree.mixed_blocks() {
        block_boxes(mask, |b| boxes.push(in_cube(at, b)));
    }
}

/// Records in `change` how the boxes of the block at `at` change when `mask` are its solid cells.
pub(super) fn change_block(
    merge: &BoxMerger,
    at: [u8; 3],
    mask: &BlockMask,
    change: &mut BoxChange,
) {
    merge.replace_block(at, |each| block_boxes(mask, |b| each(in_cube(at, b))), change);
}
