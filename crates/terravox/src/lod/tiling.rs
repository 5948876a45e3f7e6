//! Which blocks are shown: a partition of the visible world into blocks of 32³ cells of many mips.
//!
//! A forest of octrees, kept as a hash table; roots are the blocks of one mip. Leaves are shown;
//! inner nodes are covered by their eight children. Blocks that touch, even at a corner, differ by
//! at most one mip ("restricted octree"; Von Herzen and Barr, "Accurate Triangulations of
//! Deformed, Intersecting Surfaces", 1987).

use crate::mesh::{MAX_MIP_STEPS, NeighbourMips, edit_reach_voxels, shore_edit_reach_voxels};
use crate::voxel::{MipBlock, Region, VoxelPos};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TileKind {
    Leaf,
    Inner,
}

/// A changed region, and how far leaves depend on it.
#[derive(Clone, Copy)]
struct ChangeReach {
    /// In voxels.
    region: Region,
    extra_mips: u8,
    /// Returns the reach through cells of a mip.
    voxels: fn(u8) -> i32,
}

impl ChangeReach {
    /// Whether the region is within reach of a block through cells of `mip`.
    fn overlaps(&self, block: MipBlock, mip: u8) -> bool {
        !self.region.grow((self.voxels)(mip)).intersect(block.voxels()).is_empty()
    }
}

/// The partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiling {
    nodes: FxHashMap<MipBlock, TileKind>,
    /// Mip of the roots.
    top: u8,
}

impl Tiling {
    /// Creates a tiling that shows nothing, with roots of mip `top`.
    pub fn new(top: u8) -> Tiling {
        Tiling { nodes: FxHashMap::default(), top }
    }

    /// Returns the mip of the roots.
    pub fn top(&self) -> u8 {
        self.top
    }

    /// Whether the block is shown.
    pub fn is_leaf(&self, block: MipBlock) -> bool {
        self.nodes.get(&block) == Some(&TileKind::Leaf)
    }

    /// Whether finer blocks are shown in place of this one.
    pub fn is_inner(&self, block: MipBlock) -> bool {
        self.nodes.get(&block) == Some(&TileKind::Inner)
    }

    /// Whether the block or its descendants are shown.
    pub fn has(&self, block: MipBlock) -> bool {
        self.nodes.contains_key(&block)
    }

    /// Whether all eight children of a block are leaves.
    pub fn shows_children(&self, parent: MipBlock) -> bool {
        parent.children().iter().all(|&child| self.is_leaf(child))
    }

    /// Returns the number of leaves and inner nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the blocks that are shown, unsorted.
    pub fn leaves(&self) -> impl Iterator<Item = MipBlock> {
        self.nodes.iter().filter(|(_, node)| **node == TileKind::Leaf).map(|(&block, _)| block)
    }

    /// Returns leaves and inner nodes, unsorted.
    pub fn nodes(&self) -> impl Iterator<Item = MipBlock> {
        self.nodes.keys().copied()
    }

    /// Returns the roots, unsorted.
    pub fn roots(&self) -> impl Iterator<Item = MipBlock> {
        self.nodes.keys().filter(|block| block.mip == self.top).copied()
    }

    /// Returns the leaf that covers a block: the block itself or a coarser one.
    pub fn leaf_over(&self, mut block: MipBlock) -> Option<MipBlock> {
        loop {
            match self.nodes.get(&block) {
                Some(TileKind::Leaf) => return Some(block),
                Some(TileKind::Inner) => return None,
                None if block.mip >= self.top => return None,
                None => block = block.parent(),
            }
        }
    }

    /// Shows a root.
    pub fn insert(&mut self, root: MipBlock) {
        debug_assert!(root.mip == self.top && !self.has(root));
        self.nodes.insert(root, TileKind::Leaf);
    }

    /// Removes a node and all below it. Calls `removed` with every leaf among them.
    pub fn remove(&mut self, block: MipBlock, removed: &mut impl FnMut(MipBlock)) {
        match self.nodes.remove(&block) {
            Some(TileKind::Leaf) => removed(block),
            Some(TileKind::Inner) => {
                block.children().into_iter().for_each(|b| self.remove(b, removed))
            }
            None => {}
        }
    }

    /// Replaces a leaf by its eight children.
    pub fn split(&mut self, leaf: MipBlock) {
        debug_assert!(self.is_leaf(leaf) && leaf.mip > 0);
        self.nodes.insert(leaf, TileKind::Inner);
        self.nodes.extend(leaf.children().map(|child| (child, TileKind::Leaf)));
    }

    /// Splits leaves until none touches another that is finer by more than one mip, as they may
    /// around a new leaf. Returns what was split.
    pub fn balance(&mut self, changed: MipBlock) -> Vec<MipBlock> {
        let (mut splits, mut queue) = (Vec::new(), vec![changed]);
        while let Some(leaf) = queue.pop() {
            if !self.is_leaf(leaf) {
                continue;
            }
            let mut finest = leaf.mip;
            self.touching(leaf, |other| {
                finest = finest.min(other.mip);
                if other.mip > leaf.mip + 1 {
                    queue.push(other);
                }
            });
            if finest + 1 < leaf.mip {
                self.split(leaf);
                splits.push(leaf);
                queue.extend(leaf.children());
            }
        }
        splits
    }

    /// Merges nodes until no leaf touches another that is finer by more than one mip, as they may
    /// around a new leaf. Calls `removed` with every leaf that is merged. Returns the leaves that
    /// they were merged into.
    pub fn coarsen(
        &mut self,
        changed: MipBlock,
        removed: &mut impl FnMut(MipBlock),
    ) -> Vec<MipBlock> {
        let (mut merged, mut queue) = (Vec::new(), vec![changed]);
        while let Some(leaf) = queue.pop() {
            if !self.is_leaf(leaf) {
                continue;
            }
            let mut finer = Vec::new();
            self.touching(leaf, |other| {
                if other.mip + 1 < leaf.mip {
                    finer.push(other.over(leaf.mip - 1));
                }
            });
            for node in finer {
                if self.is_inner(node) {
                    self.remove(node, removed);
                    self.nodes.insert(node, TileKind::Leaf);
                    merged.push(node);
                    queue.push(node);
                }
            }
        }
        merged.retain(|&node| self.is_leaf(node));
        merged
    }

    /// Replaces the children of an inner node, which must be leaves, by the node.
    pub fn merge(&mut self, inner: MipBlock) {
        debug_assert!(self.is_inner(inner));
        for child in inner.children() {
            let node = self.nodes.remove(&child);
            debug_assert_eq!(node, Some(TileKind::Leaf));
        }
        self.nodes.insert(inner, TileKind::Leaf);
    }

    /// Calls `visit` once with every leaf that touches `block` from outside, at a face, an edge or
    /// a corner.
    pub fn touching(&self, block: MipBlock, mut visit: impl FnMut(MipBlock)) {
        let ring = block.voxels().grow(1);
        let mut coarser: [Option<MipBlock>; 26] = [None; 26];
        for (i, neighbour) in neighbours(block).enumerate() {
            match self.nodes.get(&neighbour) {
                Some(TileKind::Leaf) => visit(neighbour),
                Some(TileKind::Inner) => self.leaves_in(neighbour, ring, &mut visit),
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

    /// Calls `visit` with every leaf at or below `node` that overlaps `region`, in voxels.
    fn leaves_in(&self, node: MipBlock, region: Region, visit: &mut impl FnMut(MipBlock)) {
        if region.intersect(node.voxels()).is_empty() {
            return;
        }
        match self.nodes.get(&node) {
            Some(TileKind::Leaf) => visit(node),
            Some(TileKind::Inner) => {
                node.children().into_iter().for_each(|child| self.leaves_in(child, region, visit));
            }
            None => {}
        }
    }

    /// Calls `visit` with every leaf whose mesh depends on a cell of `region`, in voxels. A mesh
    /// depends on cells up to `extra_mips` coarser than its own, and up to `extra_mips - 1` coarser
    /// than those of touching blocks.
    pub fn reached_by(&self, region: Region, extra_mips: u8, visit: &mut impl FnMut(MipBlock)) {
        self.leaves_within(ChangeReach { region, extra_mips, voxels: edit_reach_voxels }, visit);
    }

    /// As [`Tiling::reached_by`], including leaves that may depend on `region` through a shore.
    /// `visit` also gets whether the leaf depends on it without one.
    pub fn reached_by_shores(
        &self,
        region: Region,
        extra_mips: u8,
        visit: &mut impl FnMut(MipBlock, bool),
    ) {
        let without_shores = ChangeReach { region, extra_mips, voxels: edit_reach_voxels };
        let reach = ChangeReach { voxels: shore_edit_reach_voxels, ..without_shores };
        self.leaves_within(reach, &mut |leaf| visit(leaf, self.is_reached(leaf, without_shores)));
    }

    fn leaves_within(&self, reach: ChangeReach, visit: &mut impl FnMut(MipBlock)) {
        let most = (reach.voxels)(self.top + reach.extra_mips);
        for pos in reach.region.grow(most).coarser(5 + u32::from(self.top)).voxels() {
            self.leaves_within_node(MipBlock::new(self.top, pos), reach, visit);
        }
    }

    fn leaves_within_node(
        &self,
        node: MipBlock,
        reach: ChangeReach,
        visit: &mut impl FnMut(MipBlock),
    ) {
        let ChangeReach { extra_mips, .. } = reach;
        let coarsest = (node.mip + MAX_MIP_STEPS + extra_mips).min(self.top + extra_mips);
        if !reach.overlaps(node, coarsest) {
            return;
        }
        match self.nodes.get(&node) {
            Some(TileKind::Leaf) if self.is_reached(node, reach) => visit(node),
            Some(TileKind::Inner) => {
                for child in node.children() {
                    self.leaves_within_node(child, reach, visit);
                }
            }
            _ => {}
        }
    }

    fn is_reached(&self, leaf: MipBlock, reach: ChangeReach) -> bool {
        let ChangeReach { extra_mips, .. } = reach;
        let (least, most) = (leaf.mip + extra_mips, leaf.mip + MAX_MIP_STEPS + extra_mips - 1);
        reach.overlaps(leaf, least)
            || (reach.overlaps(leaf, most)
                && reach.overlaps(leaf, self.coarsest_touching(leaf) + extra_mips - 1))
    }

    /// Whether the mesh of a block, whatever is shown around it, may depend on a cell of `region`,
    /// in voxels, through a shore or without one. Conservative.
    pub fn may_reach(region: Region, block: MipBlock, extra_mips: u8) -> bool {
        let reach = ChangeReach { region, extra_mips, voxels: shore_edit_reach_voxels };
        reach.overlaps(block, block.mip + MAX_MIP_STEPS + extra_mips)
    }

    /// Returns the mip of the coarsest leaf that touches a leaf; the leaf's own if none is coarser.
    pub fn coarsest_touching(&self, leaf: MipBlock) -> u8 {
        let coarser = neighbours(leaf)
            .filter(|beside| !self.nodes.contains_key(beside))
            .filter_map(|beside| self.leaf_over(beside));
        coarser.map(|over| over.mip).max().unwrap_or(leaf.mip)
    }

    /// Returns the mips shown around a leaf. `beyond` stands where no block is shown: the leaf's
    /// own mip if cells are known there, else [`NeighbourMips::UNKNOWN`].
    pub fn around(&self, leaf: MipBlock, beyond: u8) -> NeighbourMips {
        let mut around = NeighbourMips::uniform(leaf.mip);
        for neighbour in neighbours(leaf) {
            self.set_around(leaf, neighbour, beyond, &mut around);
        }
        around
    }

    fn set_around(&self, leaf: MipBlock, node: MipBlock, beyond: u8, around: &mut NeighbourMips) {
        let shows = match self.nodes.get(&node) {
            Some(TileKind::Leaf) => node.mip,
            Some(TileKind::Inner) => {
                let ring = leaf.voxels().grow(1);
                let near = |b: &MipBlock| !b.voxels().intersect(ring).is_empty();
                for child in node.children().iter().filter(|child| near(child)) {
                    self.set_around(leaf, *child, beyond, around);
                }
                return;
            }
            None => self.leaf_over(node).map_or(beyond, |over| over.mip),
        };
        let step = leaf.edge_voxels() / 8;
        let ring = leaf.voxels().grow(step);
        let part = node.voxels().intersect(ring);
        for at in scaled(part, leaf.voxels().min, step).voxels() {
            around.set(at.to_array(), shows);
        }
    }
}

/// Returns a region in steps of `step` voxels from `min`.
fn scaled(region: Region, min: VoxelPos, step: i32) -> Region {
    let steps = |p: VoxelPos| (p - min).to_array().map(|v| v / step);
    Region::new(steps(region.min), steps(region.max))
}

/// Returns the 26 blocks of the same mip around a block.
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
        tiling.touching(block, |leaf| assert!(found.insert(leaf), "{leaf} was visited twice"));
        found
    }

    /// The slow twin: tests every leaf.
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
        fn touching_finds_the_same_leaves_as_brute_force(
            choices in prop::collection::vec(any::<u16>(), 0..40),
        ) {
            let tiling = random(&choices);
            for leaf in tiling.leaves() {
                prop_assert_eq!(touching(&tiling, leaf), touching_slow(&tiling, leaf));
            }
        }

        #[test]
        fn a_new_root_is_balanced_by_merges(
            choices in prop::collection::vec(any::<u16>(), 0..40),
        ) {
            let root = MipBlock::new(3, VoxelPos::ZERO);
            let mut before = Tiling::new(3);
            let roots = Region::new([-1, -1, -1], [1, 1, 1]);
            let beside = roots.voxels().filter(|&pos| pos != VoxelPos::ZERO);
            beside.for_each(|pos| before.insert(MipBlock::new(3, pos)));
            for &choice in &choices {
                let mut leaves: Vec<_> = before.leaves().filter(|leaf| leaf.mip > 0).collect();
                leaves.sort_unstable();
                let leaf = leaves[usize::from(choice) % leaves.len()];
                before.split(leaf);
                leaf.children().into_iter().for_each(|child| drop(before.balance(child)));
            }
            let is_balanced = |tiling: &Tiling| {
                tiling.leaves().all(|leaf| {
                    touching_slow(tiling, leaf).iter().all(|other| other.mip.abs_diff(leaf.mip) <= 1)
                })
            };
            prop_assert!(is_balanced(&before));
            let mut tiling = before.clone();
            tiling.insert(root);
            let mut removed = BTreeSet::new();
            let merged = tiling.coarsen(root, &mut |leaf| removed.extend([leaf]));
            prop_assert!(is_balanced(&tiling) && tiling.is_leaf(root) && merged.iter().all(|&node| tiling.is_leaf(node)));
            // Leaves are those before, without the removed ones and with the merged ones.
            let mut expected: BTreeSet<MipBlock> =
                before.leaves().filter(|leaf| !removed.contains(leaf)).collect();
            expected.extend(merged.into_iter().chain([root]));
            prop_assert_eq!(tiling.leaves().collect::<BTreeSet<_>>(), expected);
        }

        #[test]
        fn merging_undoes_splitting(choices in prop::collection::vec(any::<u16>(), 0..20)) {
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
        fn every_leaf_that_depends_on_a_cell_is_reached(
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
                    prop_assert!(found.contains(&leaf), "{} is not reached by {}", leaf, region);
                }
            }
        }
    }
}
