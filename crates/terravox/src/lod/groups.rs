//! Groups of eight blocks drawn as one mesh: fewer draw calls.
//!
//! 2³ leaves with one parent are joined into one mesh when none of them changed for a while, and
//! come apart when one does. Nothing is meshed again: their meshes are concatenated.

use super::shown_mesh::{MeshSwap, ShownMesh, ShownMeshes};
use super::ticket::{Receipt, Ticket};
use crate::mesh::{BlockMesh, Surface};
use crate::voxel::MipBlock;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Rounds without a change after which a group is idle.
const IDLE_ROUNDS: u64 = 60;

/// The most groups joined in one round.
const MAX_JOINED_PER_ROUND: usize = 1;

/// Where drawn meshes differ from the shown ones: groups that are joined, blocks that are
/// simplified.
#[derive(Default)]
pub(crate) struct Groups {
    /// Parents of groups drawn as one mesh.
    joined: FxHashSet<MipBlock>,
    /// Parents of blocks that changed, and the round of the last change.
    pub(super) changed: FxHashMap<MipBlock, u64>,
    pub(super) round: u64,
    /// Blocks that are drawn alone and simplified.
    pub(super) simplified: FxHashSet<MipBlock>,
    /// Parents with a simplify job in progress.
    pub(super) pending: Vec<(MipBlock, Receipt)>,
}

impl Groups {
    /// Converts a change of the shown meshes into one of the drawn meshes: groups that it touches
    /// come apart. `shown` is the state after it.
    pub fn apply(&mut self, mut swap: MeshSwap, shown: &ShownMeshes) -> MeshSwap {
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
            // None of the children was drawn: removed ones were not there to be removed, and the
            // others have to be added.
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

    /// Takes all groups apart and discards simplified meshes. Idle times start over.
    pub fn part_all(&mut self, shown: &ShownMeshes) {
        self.joined.clear();
        self.simplified.clear();
        let parents = shown.keys().map(|block| block.parent());
        self.changed.extend(parents.map(|parent| (parent, self.round)));
    }

    /// Joins a few idle groups. `is_whole` returns whether all eight children of a parent are
    /// shown.
    pub fn join(&mut self, shown: &ShownMeshes, is_whole: impl Fn(MipBlock) -> bool) -> MeshSwap {
        let mut swap = MeshSwap::default();
        for parent in self.take_idle(MAX_JOINED_PER_ROUND) {
            let blocks = meshed_children(parent, shown);
            if blocks.len() < 2 || !is_whole(parent) {
                continue;
            }
            let meshes: Vec<_> = blocks.iter().map(|block| &*shown[block]).collect();
            let mesh = Arc::new(joined(parent, &meshes));
            self.draw_as_one(parent, blocks, mesh, &mut swap);
        }
        swap.removed.sort_unstable();
        swap
    }

    /// Takes at most `most` parents whose blocks did not change for [`IDLE_ROUNDS`] calls, sorted;
    /// each only once per change.
    pub(super) fn take_idle(&mut self, most: usize) -> Vec<MipBlock> {
        self.round += 1;
        let is_idle = |round: &u64| *round + IDLE_ROUNDS <= self.round;
        let mut idle: Vec<MipBlock> =
            self.changed.iter().filter(|(_, round)| is_idle(round)).map(|(&p, _)| p).collect();
        idle.sort_unstable();
        idle.truncate(most);
        self.changed.retain(|parent, _| idle.binary_search(parent).is_err());
        idle
    }

    /// Makes groups whose simplify job was dropped idle again.
    pub fn begin_round(&mut self) {
        for (parent, receipt) in std::mem::take(&mut self.pending) {
            match receipt.is_lost() {
                true => drop(self.changed.entry(parent).or_insert(0)),
                false => self.pending.push((parent, receipt)),
            }
        }
    }

    /// Whether all changed groups were taken.
    pub fn is_at_rest(&self) -> bool {
        self.changed.is_empty()
    }

    /// Records that a simplify job for a parent is handed out.
    pub(super) fn begin_simplify(&mut self, parent: MipBlock) -> Ticket {
        let ticket = Ticket::default();
        self.pending.push((parent, ticket.receipt()));
        ticket
    }

    /// Records that a simplify job is back. Returns whether it was expected.
    pub(super) fn end_simplify(&mut self, ticket: &Ticket) -> bool {
        let pending = self.pending.len();
        self.pending.retain(|(_, receipt)| !receipt.is_of(ticket));
        self.pending.len() < pending
    }

    /// Draws one mesh in place of those of a parent's `blocks`.
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

/// Returns the children of a block that have a mesh.
pub(super) fn meshed_children(parent: MipBlock, shown: &ShownMeshes) -> Vec<MipBlock> {
    parent.children().into_iter().filter(|block| shown.contains_key(block)).collect()
}

/// Concatenates meshes of children of a block. Positions are in cells of their mip from the block's
/// min corner.
fn joined(parent: MipBlock, meshes: &[&BlockMesh]) -> BlockMesh {
    let block = parent.cells().finer(1);
    let offset = |mesh: &BlockMesh| (mesh.block.min - block.min).to_array().map(|v| v as u8);
    let solid: Vec<_> = meshes.iter().map(|mesh| (&mesh.solid, offset(mesh))).collect();
    let liquid: Vec<_> = meshes.iter().map(|mesh| (&mesh.liquid, offset(mesh))).collect();
    BlockMesh { block, solid: Surface::joined(&solid), liquid: Surface::joined(&liquid) }
}
