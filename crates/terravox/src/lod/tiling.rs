//! Which blocks are shown: a partition of the world, as far as it is shown, into blocks
//! of 32³ cells of many mips.
//!
//! A forest of octrees whose roots are the blocks of one mip, kept as a table by block;
//! a leaf is shown, an inner node is not but its eight children cover it. Blocks that
//! touch, be it at a corner, differ by one mip at most ("restricted octree"; Von Herzen
//! and Barr, "Accurate Triangulations of Deformed, Intersecting Surfaces", 1987).

use crate::mesh::{MAX_MIP_STEPS, NeighbourMips, PAD, shore_reach};
use crate::voxel::{MipBlock, Region, VoxelPos};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Leaf,
    Inner,
}

/// The partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiling {
    nodes: FxHashMap<MipBlock, Node>,
    /// Mip of the roots.
    top: u8,
}

impl Tiling {
    /// Nothing is shown; roots are of mip `top`.
    pub fn new(top: u8) -> Tiling {
        Tiling { nodes: FxHashMap::default(), top }
    }

    /// Mip of the roots.
    pub fn top(&self) -> u8 {
        self.top
    }

    /// Whether the block is shown.
    pub fn is_leaf(&self, block: MipBlock) -> bool {
        self.nodes.get(&block) == Some(&Node::Leaf)
    }

    /// Whether finer blocks are shown in the place of this one.
    pub fn is_inner(&self, block: MipBlock) -> bool {
        self.nodes.get(&block) == Some(&Node::Inner)
    }

    /// Whether the block or its descendants are shown.
    pub fn has(&self, block: MipBlock) -> bool {
        self.nodes.contains_key(&block)
    }

    /// Number of leaves and inner nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All blocks that are shown, in no order.
    pub fn leaves(&self) -> impl Iterator<Item = MipBlock> {
        self.nodes.iter().filter(|(_, node)| **node == Node::Leaf).map(|(&block, _)| block)
    }

    /// All leaves and inner nodes, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = MipBlock> {
        self.nodes.keys().copied()
    }

    /// All roots, in no order.
    pub fn roots(&self) -> impl Iterator<Item = MipBlock> {
        self.nodes.keys().filter(|block| block.mip == self.top).copied()
    }

    /// The leaf that covers a block: the block itself or a coarser one.
    pub fn leaf_over(&self, mut block: MipBlock) -> Option<MipBlock> {
        loop {
            match self.nodes.get(&block) {
                Some(Node::Leaf) => return Some(block),
                Some(Node::Inner) => return None,
                None if block.mip >= self.top => return None,
                None => block = block.parent(),
            }
        }
    }

    /// Shows a root.
    pub fn insert(&mut self, root: MipBlock) {
        debug_assert!(root.mip == self.top && !self.has(root));
        self.nodes.insert(root, Node::Leaf);
    }

    /// Takes a node and all below it away; calls `gone` with every leaf among them.
    pub fn remove(&mut self, block: MipBlock, gone: &mut impl FnMut(MipBlock)) {
        match self.nodes.remove(&block) {
            Some(Node::Leaf) => gone(block),
            Some(Node::Inner) => block.children().into_iter().for_each(|b| self.remove(b, gone)),
            None => {}
        }
    }

    /// Shows the eight children of a leaf in its place.
    pub fn split(&mut self, leaf: MipBlock) {
        debug_assert!(self.is_leaf(leaf) && leaf.mip > 0);
        self.nodes.insert(leaf, Node::Inner);
        self.nodes.extend(leaf.children().map(|child| (child, Node::Leaf)));
    }

    /// Shows an inner node in the place of its children, which must be leaves.
    pub fn merge(&mut self, inner: MipBlock) {
        debug_assert!(self.is_inner(inner));
        for child in inner.children() {
            let node = self.nodes.remove(&child);
            debug_assert_eq!(node, Some(Node::Leaf));
        }
        self.nodes.insert(inner, Node::Leaf);
    }

    /// Calls `visit` once with every leaf that touches `block` from outside, be it at an
    /// edge or a corner.
    pub fn touching(&self, block: MipBlock, mut visit: impl FnMut(MipBlock)) {
        let ring = block.voxels().grow(1);
        let mut coarser: [Option<MipBlock>; 26] = [None; 26];
        for (i, neighbour) in neighbours(block).enumerate() {
            match self.nodes.get(&neighbour) {
                Some(Node::Leaf) => visit(neighbour),
                Some(Node::Inner) => self.leaves_in(neighbour, ring, &mut visit),
                None => {
                    let over = self.leaf_over(neighbour);
                    if over.is_some() && !coarser.contains(&over) {
                        over.into_iter().for_each(&mut visit);
                        coarser[i] = over;
                    }
                }
            }
        }
    }

    /// Calls `visit` with every leaf at or below `node` that meets `region`, in voxels.
    pub fn leaves_in(&self, node: MipBlock, region: Region, visit: &mut impl FnMut(MipBlock)) {
        if region.intersect(node.voxels()).is_empty() {
            return;
        }
        match self.nodes.get(&node) {
            Some(Node::Leaf) => visit(node),
            Some(Node::Inner) => {
                node.children().into_iter().for_each(|child| self.leaves_in(child, region, visit));
            }
            None => {}
        }
    }

    /// Calls `visit` with every leaf whose mesh depends on a cell of `region`, in voxels: on
    /// cells up to `coarser` mips coarser than its own and than those of the blocks that it
    /// touches, less one.
    pub fn reached_by(&self, region: Region, coarser: u8, visit: &mut impl FnMut(MipBlock)) {
        self.within(region, coarser, reach_voxels, visit);
    }

    /// As [`Tiling::reached_by`], of leaves at whose shores a cell of `region` may be.
    /// `visit` is told, too, whether the leaf depends on the region without that.
    pub fn shores_at(&self, region: Region, coarser: u8, visit: &mut impl FnMut(MipBlock, bool)) {
        self.within(region, coarser, shore_reach_voxels, &mut |leaf| {
            visit(leaf, self.is_within(region, leaf, coarser, reach_voxels));
        });
    }

    fn within(
        &self,
        region: Region,
        coarser: u8,
        reach: fn(u8) -> i32,
        visit: &mut impl FnMut(MipBlock),
    ) {
        let most = reach(self.top + coarser);
        for pos in region.grow(most).coarser(5 + u32::from(self.top)).voxels() {
            self.leaves_within(MipBlock::new(self.top, pos), (region, coarser), reach, visit);
        }
    }

    fn leaves_within(
        &self,
        node: MipBlock,
        (region, coarser): (Region, u8),
        reach: fn(u8) -> i32,
        visit: &mut impl FnMut(MipBlock),
    ) {
        let most = reach((node.mip + MAX_MIP_STEPS + coarser).min(self.top + coarser));
        if region.grow(most).intersect(node.voxels()).is_empty() {
            return;
        }
        match self.nodes.get(&node) {
            Some(Node::Leaf) if self.is_within(region, node, coarser, reach) => visit(node),
            Some(Node::Inner) => {
                for child in node.children() {
                    self.leaves_within(child, (region, coarser), reach, visit);
                }
            }
            _ => {}
        }
    }

    /// Whether a region lies within the reach of a leaf, which that of a mip tells in voxels.
    fn is_within(&self, region: Region, leaf: MipBlock, coarser: u8, reach: fn(u8) -> i32) -> bool {
        let meets = |mip: u8| !region.grow(reach(mip)).intersect(leaf.voxels()).is_empty();
        let (least, most) = (leaf.mip + coarser, leaf.mip + MAX_MIP_STEPS + coarser - 1);
        meets(least) || (meets(most) && meets(self.coarsest_at(leaf) + coarser - 1))
    }

    /// The mip of the coarsest leaf that touches a leaf; the leaf's if none is coarser.
    pub fn coarsest_at(&self, leaf: MipBlock) -> u8 {
        let coarser = neighbours(leaf)
            .filter(|beside| !self.nodes.contains_key(beside))
            .filter_map(|beside| self.leaf_over(beside));
        coarser.map(|over| over.mip).max().unwrap_or(leaf.mip)
    }

    /// What the blocks around a leaf show. `beyond` is what lies where no block is shown:
    /// the leaf's own mip, if cells are known there, else [`NeighbourMips::UNKNOWN`].
    pub fn around(&self, leaf: MipBlock, beyond: u8) -> NeighbourMips {
        let mut around = NeighbourMips::uniform(leaf.mip);
        for neighbour in neighbours(leaf) {
            self.set_around(leaf, neighbour, beyond, &mut around);
        }
        around
    }

    fn set_around(&self, leaf: MipBlock, node: MipBlock, beyond: u8, around: &mut NeighbourMips) {
        let shows = match self.nodes.get(&node) {
            Some(Node::Leaf) => node.mip,
            Some(Node::Inner) => {
                let ring = leaf.voxels().grow(1);
                let near = |b: &MipBlock| !b.voxels().intersect(ring).is_empty();
                for child in node.children().iter().filter(|child| near(child)) {
                    self.set_around(leaf, *child, beyond, around);
                }
                return;
            }
            None => self.leaf_over(node).map_or(beyond, |over| over.mip),
        };
        let place = leaf.edge_voxels() / 8;
        let ring = leaf.voxels().grow(place);
        let part = node.voxels().intersect(ring);
        for at in scaled(part, leaf.voxels().min, place).voxels() {
            around.set(at.to_array(), shows);
        }
    }
}

/// A region in steps of `place` voxels from `min`.
fn scaled(region: Region, min: VoxelPos, place: i32) -> Region {
    let steps = |p: VoxelPos| (p - min).to_array().map(|v| v / place);
    Region::new(steps(region.min), steps(region.max))
}

/// How far from a block, in voxels, a cell may lie on which its mesh depends by cells of `mip`:
/// the padding, and one that covers it.
fn reach_voxels(mip: u8) -> i32 {
    (PAD + 1) << mip
}

/// As [`reach_voxels`], with water that shores carry there. Finer ones may reach as far.
fn shore_reach_voxels(mip: u8) -> i32 {
    (0..=mip).map(|mip| (PAD + 1 + shore_reach(mip) + 1) << mip).max().unwrap_or(0)
}

/// The 26 blocks of the same mip around a block.
pub(crate) fn neighbours(block: MipBlock) -> impl Iterator<Item = MipBlock> {
    let around = Region::one(block.pos).grow(1);
    let middle = block.pos;
    around
        .voxels()
        .filter(move |&pos: &VoxelPos| pos != middle)
        .map(move |pos| MipBlock { pos, ..block })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn touching(tiling: &Tiling, block: MipBlock) -> BTreeSet<MipBlock> {
        let mut found = BTreeSet::new();
        tiling.touching(block, |leaf| assert!(found.insert(leaf), "{leaf} came twice"));
        found
    }

    /// The slow twin: looks at every leaf.
    fn touching_slow(tiling: &Tiling, block: MipBlock) -> BTreeSet<MipBlock> {
        let ring = block.voxels().grow(1);
        let inside = |b: MipBlock| block.voxels().contains_region(b.voxels());
        let near = |b: &MipBlock| !b.voxels().intersect(ring).is_empty() && !inside(*b);
        tiling.leaves().filter(near).collect()
    }

    fn random(choices: &[u16]) -> Tiling {
        let mut tiling = Tiling::new(3);
        let roots = Region::new([-1, -1, -1], [1, 1, 1]);
        roots.voxels().for_each(|pos| tiling.insert(MipBlock::new(3, pos)));
        for &choice in choices {
            let mut leaves: Vec<_> = tiling.leaves().filter(|leaf| leaf.mip > 0).collect();
            leaves.sort_unstable();
            if !leaves.is_empty() {
                tiling.split(leaves[usize::from(choice) % leaves.len()]);
            }
        }
        tiling
    }

    proptest! {
        #[test]
        fn touching_finds_what_a_look_at_every_leaf_finds(
            choices in prop::collection::vec(any::<u16>(), 0..40),
        ) {
            let tiling = random(&choices);
            for leaf in tiling.leaves() {
                prop_assert_eq!(touching(&tiling, leaf), touching_slow(&tiling, leaf));
            }
        }

        #[test]
        fn merging_what_was_split_leads_back(choices in prop::collection::vec(any::<u16>(), 0..20)) {
            let mut tiling = random(&choices);
            for mip in 1..=3 {
                let inner: Vec<_> = tiling.nodes.keys().copied().filter(|b| b.mip == mip).collect();
                inner.into_iter().filter(|&b| tiling.is_inner(b)).collect::<Vec<_>>().into_iter()
                    .for_each(|b| tiling.merge(b));
            }
            prop_assert_eq!(tiling.leaves().count(), 8);
            prop_assert_eq!(tiling.len(), 8);
        }

        #[test]
        fn every_leaf_that_a_cell_may_move_is_reached(
            choices in prop::collection::vec(any::<u16>(), 0..40),
            at in prop::array::uniform3(-200i32..200),
            coarser in 1..3u8,
        ) {
            let tiling = random(&choices);
            let region = Region::one(at.into());
            let mut found = BTreeSet::new();
            tiling.reached_by(region, coarser, &mut |leaf| assert!(found.insert(leaf)));
            for leaf in tiling.leaves() {
                let beside = touching_slow(&tiling, leaf).into_iter().map(|beside| beside.mip);
                let coarse = beside.fold(leaf.mip + 1, u8::max) + (coarser - 1);
                let dirty = region.coarser(coarse.into()).grow(2).finer(coarse.into());
                if !dirty.intersect(leaf.voxels()).is_empty() {
                    prop_assert!(found.contains(&leaf), "{} does not see {}", leaf, region);
                }
            }
        }
    }
}
