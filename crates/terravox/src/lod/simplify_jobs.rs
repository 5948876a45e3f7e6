//! Simplifies meshes that stopped changing, with the lowest priority.
//!
//! 2³ leaves with one parent are joined and simplified as one mesh, so that fewer edges are border;
//! other blocks are simplified alone. The shown meshes stay as they are, so an edit or a
//! split finds them unsimplified and replaces them.

use super::groups::{Groups, meshed_children};
use super::shown_mesh::{MeshSwap, ShownMesh, ShownMeshes};
use super::ticket::Ticket;
use super::tiling::Tiling;
use crate::mesh::BlockMesh;
use crate::simplify::{Simplifier, SimplifyOptions, join_blocks};
use crate::voxel::MipBlock;
use std::sync::Arc;

/// A block and the mesh shown for it when the job was made.
type SourceMesh = (MipBlock, Arc<BlockMesh>);

/// Meshes of blocks with one parent, to be simplified: as one mesh if all eight children are
/// shown, else each alone. Plain data: run it on any thread.
#[derive(Clone, Debug)]
pub struct SimplifyJob {
    parent: MipBlock,
    sources: Vec<SourceMesh>,
    as_one: bool,
    options: SimplifyOptions,
    ticket: Ticket,
}

/// The result of a [`SimplifyJob`].
#[derive(Debug)]
pub struct SimplifiedMeshes {
    parent: MipBlock,
    sources: Vec<SourceMesh>,
    output: SimplifiedOutput,
    ticket: Ticket,
}

#[derive(Debug)]
enum SimplifiedOutput {
    /// One mesh of all sources.
    Joined(Arc<BlockMesh>),
    /// A mesh of each source.
    Each(Vec<Arc<BlockMesh>>),
}

impl SimplifiedMeshes {
    /// Returns the meshes in place of those of the sources.
    pub(crate) fn meshes(&self) -> &[Arc<BlockMesh>] {
        match &self.output {
            SimplifiedOutput::Joined(mesh) => std::slice::from_ref(mesh),
            SimplifiedOutput::Each(meshes) => meshes,
        }
    }
}

impl SimplifyJob {
    /// Returns the parent of the blocks whose meshes are simplified.
    pub fn block(&self) -> MipBlock {
        self.parent
    }

    /// Simplifies the meshes.
    pub fn run(self, simplifier: &mut Simplifier) -> SimplifiedMeshes {
        let SimplifyJob { parent, sources, as_one, options, ticket } = self;
        let mut simplify = |mesh: &BlockMesh| Arc::new(simplifier.simplify_block(mesh, options));
        let meshes = sources.iter().map(|(_, mesh)| &**mesh);
        let output = if as_one {
            let joined = join_blocks(parent.cells().finer(1), &meshes.collect::<Vec<_>>());
            SimplifiedOutput::Joined(simplify(&joined))
        } else {
            SimplifiedOutput::Each(meshes.map(simplify).collect())
        };
        SimplifiedMeshes { parent, sources, output, ticket }
    }
}

impl Groups {
    /// Returns at most `most` jobs for idle meshes; see
    /// [`LodView::plan_simplified`](super::LodView::plan_simplified).
    pub fn plan_simplified(
        &mut self,
        tiling: &Tiling,
        shown: &ShownMeshes,
        options: SimplifyOptions,
        most: usize,
    ) -> Vec<SimplifyJob> {
        let mut jobs = Vec::new();
        for parent in self.take_idle(most) {
            let mut blocks = meshed_children(parent, shown);
            let as_one = blocks.len() > 1 && tiling.shows_children(parent);
            if !as_one {
                blocks.retain(|block| !self.simplified.contains(block));
            }
            if !blocks.is_empty() {
                let source = |block: MipBlock| (block, shown[&block].clone());
                let sources = blocks.into_iter().map(source).collect();
                let ticket = self.begin_simplify(parent);
                jobs.push(SimplifyJob { parent, sources, as_one, options, ticket });
            }
        }
        jobs
    }

    /// Draws simplified meshes; see
    /// [`LodView::publish_simplified`](super::LodView::publish_simplified).
    pub fn publish_simplified(
        &mut self,
        tiling: &Tiling,
        shown: &ShownMeshes,
        results: Vec<SimplifiedMeshes>,
    ) -> MeshSwap {
        let mut swap = MeshSwap::default();
        for SimplifiedMeshes { parent, sources, output, ticket } in results {
            if !self.end_simplify(&ticket) {
                continue;
            }
            let is_joined = matches!(output, SimplifiedOutput::Joined(_));
            let is_whole = !is_joined || tiling.shows_children(parent);
            if !is_whole || !self.is_unchanged(parent, &sources, shown) {
                let round = self.round;
                self.changed.entry(parent).or_insert(round);
                continue;
            }
            let blocks: Vec<MipBlock> = sources.into_iter().map(|(block, _)| block).collect();
            match output {
                SimplifiedOutput::Joined(mesh) => {
                    self.simplified.retain(|block| !blocks.contains(block));
                    self.draw_as_one(parent, blocks, mesh, &mut swap);
                }
                SimplifiedOutput::Each(meshes) => {
                    for (block, mesh) in blocks.into_iter().zip(meshes) {
                        self.simplified.insert(block);
                        swap.removed.push(block);
                        swap.added.push(ShownMesh { block, mip: block.mip, mesh });
                    }
                }
            }
        }
        swap.removed.sort_unstable();
        swap.added.sort_unstable_by_key(|shown| shown.block);
        swap
    }

    /// Whether nothing below a parent changed since a job was made of `sources`.
    fn is_unchanged(&self, parent: MipBlock, sources: &[SourceMesh], shown: &ShownMeshes) -> bool {
        let same = |(block, mesh): &SourceMesh| {
            shown.get(block).is_some_and(|shown| Arc::ptr_eq(shown, mesh))
        };
        !self.changed.contains_key(&parent) && sources.iter().all(same)
    }
}
