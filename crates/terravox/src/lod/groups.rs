//! Eight blocks drawn as one: fewer, larger meshes for who draws them.
//!
//! 2³ blocks with one parent that all show their mip are joined into one mesh when none of
//! them changed for a while, and come apart again when one of them does. Nothing is meshed
//! for that: their meshes are written one after the other.

use super::{MeshSwap, ShownMesh};
use crate::mesh::{BlockMesh, Surface};
use crate::voxel::MipBlock;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Rounds for which none of eight blocks must have changed.
const ROUNDS: u64 = 60;

/// Groups that are joined in one round at most.
const JOINED_AT_ONCE: usize = 4;

/// What is drawn, as far as it differs from what is shown block by block.
#[derive(Default)]
pub(crate) struct Groups {
    /// Parents of groups that are drawn as one.
    joined: FxHashSet<MipBlock>,
    /// Parents of blocks that changed, and when they last did.
    changed: FxHashMap<MipBlock, u64>,
    round: u64,
}

/// The meshes that are shown, by block.
type Shown = FxHashMap<MipBlock, Arc<BlockMesh>>;

impl Groups {
    /// Turns a change of what is shown into one of what is drawn: groups that it touches
    /// come apart. `shown` is what is shown after it.
    pub fn apply(&mut self, mut swap: MeshSwap, shown: &Shown) -> MeshSwap {
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

    /// Joins a few groups of which no block changed for a while; `whole` says whether all
    /// eight blocks of a parent are shown.
    pub fn join(&mut self, shown: &Shown, whole: impl Fn(MipBlock) -> bool) -> MeshSwap {
        self.round += 1;
        let mut old: Vec<MipBlock> = self
            .changed
            .iter()
            .filter(|(_, round)| **round + ROUNDS <= self.round)
            .map(|(&parent, _)| parent)
            .collect();
        old.sort_unstable();
        old.truncate(JOINED_AT_ONCE);
        let mut swap = MeshSwap::default();
        for parent in old {
            self.changed.remove(&parent);
            let drawn = |block: &MipBlock| shown.contains_key(block);
            let blocks: Vec<_> = parent.children().into_iter().filter(drawn).collect();
            if blocks.len() < 2 || !whole(parent) {
                continue;
            }
            let meshes: Vec<_> = blocks.iter().map(|block| &*shown[block]).collect();
            let mesh = Arc::new(joined(parent, &meshes));
            self.joined.insert(parent);
            swap.removed.extend(blocks);
            swap.added.push(ShownMesh { block: parent, mip: parent.mip - 1, mesh });
        }
        swap.removed.sort_unstable();
        swap
    }
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
