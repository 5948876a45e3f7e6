//! Meshes that rest are drawn by fewer triangles: after all else, and never before an edit.
//!
//! 2³ blocks with one parent that all show their mip are joined and simplified as one, so that
//! fewer edges are border; other blocks by themselves. What the meshes are of stays as it was,
//! so an edit or another choice of blocks finds them unsimplified and replaces them.

use super::fills::Ticket;
use super::groups::{Groups, Shown, drawn_below};
use super::simplify::{Simplifier, Simplify, joined};
use super::{Lod, MeshSwap, ShownMesh};
use crate::mesh::BlockMesh;
use crate::voxel::MipBlock;
use std::sync::Arc;

/// Meshes to be simplified, as one if there are several. Plain data: run it on any thread.
#[derive(Clone, Debug)]
pub struct SimplifyJob {
    /// What the result is drawn as: a block, or the parent of those that are joined.
    block: MipBlock,
    parts: Vec<(MipBlock, Arc<BlockMesh>)>,
    how: Simplify,
    /// Tells that somebody works on it.
    ticket: Ticket,
}

/// What a [`SimplifyJob`] made.
#[derive(Debug)]
pub struct SimplifiedMesh {
    block: MipBlock,
    parts: Vec<(MipBlock, Arc<BlockMesh>)>,
    mesh: Arc<BlockMesh>,
    ticket: Ticket,
}

impl SimplifyJob {
    /// What the result is drawn as: a block, or the parent of blocks that become one mesh.
    pub fn block(&self) -> MipBlock {
        self.block
    }

    /// Simplifies the meshes.
    pub fn run(self, simplifier: &mut Simplifier) -> SimplifiedMesh {
        let SimplifyJob { block, parts, how, ticket } = self;
        let mesh = match parts.as_slice() {
            [(own, mesh)] if *own == block => simplifier.simplify_block(mesh, how),
            _ => {
                let meshes: Vec<&BlockMesh> = parts.iter().map(|(_, mesh)| &**mesh).collect();
                simplifier.simplify_block(&joined(block.cells().finer(1), &meshes), how)
            }
        };
        SimplifiedMesh { block, parts, mesh: Arc::new(mesh), ticket }
    }
}

impl Lod {
    /// Jobs for meshes that did not change for 60 calls, of `most` groups of eight blocks at
    /// most: to be called once a frame, in the place of [`Lod::join`], where
    /// [`LodOptions::simplify`](super::LodOptions::simplify) is set; else there are none.
    pub fn plan_simplified(&mut self, most: usize) -> Vec<SimplifyJob> {
        let Some(error) = self.options.simplify else { return Vec::new() };
        let how = Simplify::within(error);
        let mut jobs = Vec::new();
        for parent in self.groups.take_resting(most) {
            let blocks = drawn_below(parent, &self.shown);
            let parts = |block: MipBlock| (block, self.shown[&block].clone());
            if blocks.len() > 1 && self.is_whole(parent) {
                let parts = blocks.into_iter().map(parts).collect();
                let ticket = self.groups.ask(parent);
                jobs.push(SimplifyJob { block: parent, parts, how, ticket });
            } else {
                for block in blocks {
                    if !self.groups.simplified.contains(&block) {
                        let (parts, ticket) = (vec![parts(block)], self.groups.ask(parent));
                        jobs.push(SimplifyJob { block, parts, how, ticket });
                    }
                }
            }
        }
        jobs
    }

    /// Draws what jobs made in the place of what they were made of, where that is still
    /// shown; what changed meanwhile comes again when it rests.
    pub fn publish_simplified(&mut self, results: Vec<SimplifiedMesh>) -> MeshSwap {
        let mut swap = MeshSwap::default();
        for SimplifiedMesh { block, parts, mesh, ticket } in results {
            let asked = self.groups.asked.len();
            self.groups.asked.retain(|(_, receipt)| !receipt.is_of(&ticket));
            if self.groups.asked.len() == asked {
                continue; // it came before
            }
            let alone = parts.len() == 1 && parts[0].0 == block;
            let parent = if alone { block.parent() } else { block };
            let whole = alone || self.is_whole(parent);
            if !whole || !self.groups.is_as_it_was(parent, &parts, &self.shown) {
                let round = self.groups.round;
                self.groups.changed.entry(parent).or_insert(round);
                continue;
            }
            if alone {
                self.groups.simplified.insert(block);
                swap.removed.push(block);
                swap.added.push(ShownMesh { block, mip: block.mip, mesh });
            } else {
                let blocks: Vec<MipBlock> = parts.into_iter().map(|(block, _)| block).collect();
                self.groups.simplified.retain(|block| !blocks.contains(block));
                self.groups.draw_as_one(parent, blocks, mesh, &mut swap);
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
