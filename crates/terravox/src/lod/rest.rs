//! Meshes that rest are drawn by fewer triangles: after all else, and never before an edit.
//!
//! 2³ blocks with one parent that all show their mip are joined and simplified as one, so that
//! fewer edges are border; other blocks by themselves. What the meshes are of stays as it was,
//! so an edit or another choice of blocks finds them unsimplified and replaces them.

use super::fills::Ticket;
use super::groups::{Groups, Shown, drawn_below};
use super::{Lod, MeshSwap, ShownMesh};
use crate::mesh::BlockMesh;
use crate::simplify::{Simplifier, SimplifyOptions, join_blocks};
use crate::voxel::MipBlock;
use std::sync::Arc;

/// Meshes of blocks with one parent, to be simplified: as one where they become one mesh, else
/// each by itself. Plain data: run it on any thread.
#[derive(Clone, Debug)]
pub struct SimplifyJob {
    parent: MipBlock,
    parts: Vec<(MipBlock, Arc<BlockMesh>)>,
    as_one: bool,
    how: SimplifyOptions,
    /// Tells that somebody works on it.
    ticket: Ticket,
}

/// The result of a [`SimplifyJob`].
#[derive(Debug)]
pub struct SimplifiedMeshes {
    parent: MipBlock,
    parts: Vec<(MipBlock, Arc<BlockMesh>)>,
    /// One mesh of all parts, or a mesh of each.
    as_one: bool,
    meshes: Vec<Arc<BlockMesh>>,
    ticket: Ticket,
}

impl SimplifyJob {
    /// Returns the parent of the blocks whose meshes are simplified.
    pub fn block(&self) -> MipBlock {
        self.parent
    }

    /// Simplifies the meshes.
    pub fn run(self, simplifier: &mut Simplifier) -> SimplifiedMeshes {
        let SimplifyJob { parent, parts, as_one, how, ticket } = self;
        let mut simplify = |mesh: &BlockMesh| Arc::new(simplifier.simplify_block(mesh, how));
        let each = parts.iter().map(|(_, mesh)| &**mesh);
        let meshes = if as_one {
            vec![simplify(&join_blocks(parent.cells().finer(1), &each.collect::<Vec<_>>()))]
        } else {
            each.map(simplify).collect()
        };
        SimplifiedMeshes { parent, parts, as_one, meshes, ticket }
    }
}

impl Lod {
    /// Returns at most `most` jobs for meshes that did not change for 60 calls, one for each
    /// group of up to eight blocks: to be called once a frame, in the place of [`Lod::join`],
    /// where [`LodOptions::simplify`](super::LodOptions::simplify) is set; else there are none.
    pub fn plan_simplified(&mut self, most: usize) -> Vec<SimplifyJob> {
        let Some(error) = self.options.simplify else { return Vec::new() };
        let how = SimplifyOptions::within(error);
        let mut jobs = Vec::new();
        for parent in self.groups.take_resting(most) {
            let mut blocks = drawn_below(parent, &self.shown);
            let as_one = blocks.len() > 1 && self.is_whole(parent);
            if !as_one {
                blocks.retain(|block| !self.groups.simplified.contains(block));
            }
            if !blocks.is_empty() {
                let part = |block: MipBlock| (block, self.shown[&block].clone());
                let parts = blocks.into_iter().map(part).collect();
                let ticket = self.groups.ask(parent);
                jobs.push(SimplifyJob { parent, parts, as_one, how, ticket });
            }
        }
        jobs
    }

    /// Draws what jobs made in the place of what they were made of, where that is still
    /// shown; what changed meanwhile comes again when it rests.
    pub fn publish_simplified(&mut self, results: Vec<SimplifiedMeshes>) -> MeshSwap {
        let mut swap = MeshSwap::default();
        for SimplifiedMeshes { parent, parts, as_one, meshes, ticket } in results {
            let asked = self.groups.asked.len();
            self.groups.asked.retain(|(_, receipt)| !receipt.is_of(&ticket));
            if self.groups.asked.len() == asked {
                continue; // it came before
            }
            let fits = !as_one || self.is_whole(parent);
            if !fits || !self.groups.is_as_it_was(parent, &parts, &self.shown) {
                let round = self.groups.round;
                self.groups.changed.entry(parent).or_insert(round);
                continue;
            }
            let blocks: Vec<MipBlock> = parts.into_iter().map(|(block, _)| block).collect();
            if as_one {
                self.groups.simplified.retain(|block| !blocks.contains(block));
                let [mesh] = &meshes[..] else { continue };
                self.groups.draw_as_one(parent, blocks, mesh.clone(), &mut swap);
            } else {
                for (block, mesh) in blocks.into_iter().zip(meshes) {
                    self.groups.simplified.insert(block);
                    swap.removed.push(block);
                    swap.added.push(ShownMesh { block, mip: block.mip, mesh });
                }
            }
        }
        swap.removed.sort_unstable();
        swap.added.sort_unstable_by_key(|shown| shown.block);
        swap
    }
}

impl Groups {
    /// Notes that somebody simplifies meshes below a parent.
    fn ask(&mut self, parent: MipBlock) -> Ticket {
        let ticket = Ticket::default();
        self.asked.push((parent, ticket.receipt()));
        ticket
    }

    /// Whether nothing below a parent changed since a job was made of `parts`.
    fn is_as_it_was(
        &self,
        parent: MipBlock,
        parts: &[(MipBlock, Arc<BlockMesh>)],
        shown: &Shown,
    ) -> bool {
        let same = |(block, mesh): &(MipBlock, Arc<BlockMesh>)| {
            shown.get(block).is_some_and(|shown| Arc::ptr_eq(shown, mesh))
        };
        !self.changed.contains_key(&parent) && parts.iter().all(same)
    }
}
