//! Eight blocks drawn as one: fewer, larger meshes for the renderer.
//!
//! 2³ blocks with one parent that all show their mip are joined into one mesh when none of
//! them changed for a while, and come apart again when one of them does. Nothing is meshed
//! for that: their meshes are written one after the other.

use super::fills::Receipt;
use super::{MeshSwap, ShownMesh};
use crate::mesh::{BlockMesh, Surface};
use crate::voxel::MipBlock;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Rounds for which none of eight blocks must have changed.
const ROUNDS: u64 = 60;

/// Groups that are joined in one round at most.
const JOINED_AT_ONCE: usize = 1;

/// What is drawn, as far as it differs from what is shown block by block.
#[derive(Default)]
pub(crate) struct Groups {
    /// Parents of groups that are drawn as one.
    joined: FxHashSet<MipBlock>,
    /// Parents of blocks that changed, and when they last did.
    pub(super) changed: FxHashMap<MipBlock, u64>,
    pub(super) round: u64,
    /// Blocks that are drawn by themselves and simplified.
    pub(super) simplified: FxHashSet<MipBlock>,
    /// Parents of which somebody simplifies meshes.
    pub(super) asked: Vec<(MipBlock, Receipt)>,
}

/// The meshes that are shown, by block.
pub(super) type Shown = FxHashMap<MipBlock, Arc<BlockMesh>>;

impl Groups {
    /// Turns a change of what is shown into one of what is drawn: groups that it touches
    /// come apart. `shown` is what is shown after it.
    pub fn apply(&mut self, mut swap: MeshSwap, shown: &Shown) -> MeshSwap {
        for block in swap.removed.iter().chain(swap.added.iter().map(|s| &s.block)) {
            self.simplified.remove(block);
        }
        let touched = swap.removed.iter().copied().chain(swap.added.iter().map(|s| s.block));
        let mut parents: Vec<MipBlock> = touched.map(MipBlock::parent).collect();
        parents.sort_unstable();
        parents.dedup();
        for parent in parents {
            self.changed.insert(parent, self.round);
            if !self.joined.remove(&parent) {
                continue;
            }
            // None of the children was drawn: those that go were not there to be removed, and
            // those that stay have to be added.
            swap.removed.retain(|block| block.parent() != parent);
            swap.removed.push(parent);
            for child in parent.children() {
                if let Some(mesh) = shown.get(&child)
                    && swap.added.iter().all(|added| added.block != child)
                {
                    swap.added.push(ShownMesh { block: child, mip: child.mip, mesh: mesh.clone() });
                }
            }
        }
        swap.removed.sort_unstable();
        swap.added.sort_unstable_by_key(|shown| shown.block);
        swap
    }

    /// Takes all groups apart, and simplified meshes back: they rest anew.
    pub fn part_all(&mut self, shown: &Shown) {
        self.joined.clear();
        self.simplified.clear();
        let parents = shown.keys().map(|block| block.parent());
        self.changed.extend(parents.map(|parent| (parent, self.round)));
    }

    /// Joins a few groups of which no block changed for a while; `whole` says whether all
    /// eight blocks of a parent are shown.
    pub fn join(&mut self, shown: &Shown, whole: impl Fn(MipBlock) -> bool) -> MeshSwap {
        let mut swap = MeshSwap::default();
        for parent in self.take_resting(JOINED_AT_ONCE) {
            let blocks = drawn_below(parent, shown);
            if blocks.len() < 2 || !whole(parent) {
                continue;
            }
            let meshes: Vec<_> = blocks.iter().map(|block| &*shown[block]).collect();
            let mesh = Arc::new(joined(parent, &meshes));
            self.draw_as_one(parent, blocks, mesh, &mut swap);
        }
        swap.removed.sort_unstable();
        swap
    }

    /// Parents of blocks of which none changed for a while, some of them, sorted; each only
    /// once. The while is counted in calls.
    pub(super) fn take_resting(&mut self, most: usize) -> Vec<MipBlock> {
        self.round += 1;
        let rests = |round: &u64| *round + ROUNDS <= self.round;
        let mut resting: Vec<MipBlock> =
            self.changed.iter().filter(|(_, round)| rests(round)).map(|(&p, _)| p).collect();
        resting.sort_unstable();
        resting.truncate(most);
        self.changed.retain(|parent, _| resting.binary_search(parent).is_err());
        resting
    }

    /// Has groups looked at again whose simplified meshes were dropped on the way.
    pub fn begin_round(&mut self) {
        for (parent, receipt) in std::mem::take(&mut self.asked) {
            match receipt.is_lost() {
                true => drop(self.changed.entry(parent).or_insert(0)),
                false => self.asked.push((parent, receipt)),
            }
        }
    }

    /// Whether all that changed was taken.
    pub fn is_at_rest(&self) -> bool {
        self.changed.is_empty()
    }

    /// Draws one mesh in the place of those of blocks of a parent.
    pub(super) fn draw_as_one(
        &mut self,
        parent: MipBlock,
        blocks: Vec<MipBlock>,
        mesh: Arc<BlockMesh>,
        swap: &mut MeshSwap,
    ) {
        self.joined.insert(parent);
        swap.removed.extend(blocks);
        swap.added.push(ShownMesh { block: parent, mip: parent.mip - 1, mesh });
    }
}

/// Children of a block that have a mesh.
pub(super) fn drawn_below(parent: MipBlock, shown: &Shown) -> Vec<MipBlock> {
    parent.children().into_iter().filter(|block| shown.contains_key(block)).collect()
}

/// The meshes of children of a block as one; positions are cells of their mip from the
/// block's lowest corner.
fn joined(parent: MipBlock, meshes: &[&BlockMesh]) -> BlockMesh {
    let block = parent.cells().finer(1);
    let offset = |mesh: &BlockMesh| (mesh.block.min - block.min).to_array().map(|v| v as u8);
    let solid: Vec<_> = meshes.iter().map(|mesh| (&mesh.solid, offset(mesh))).collect();
    let liquid: Vec<_> = meshes.iter().map(|mesh| (&mesh.liquid, offset(mesh))).collect();
    BlockMesh { block, solid: Surface::joined(&solid), liquid: Surface::joined(&liquid) }
}
