//! Builds the surfaces of a block: cells to mesh, mesh to edge angles, both to a quad tree.

use super::block::{BuildScratch, QuadBvh};
use super::edges::{EdgeScratch, edge_angles};
use super::slots::BuiltBlock;
use crate::bits::CollisionBlock;
use crate::mesh::{BlockMesh, Mesher, PAD, Shores};
use crate::voxel::{DenseBox, NotHeld, Snapshot};

/// Scratch memory for building a block.
#[derive(Default)]
pub(super) struct BlockBuilder {
    cells: DenseBox,
    shores: Shores,
    mesher: Mesher,
    mesh: BlockMesh,
    edges: EdgeScratch,
    angles: Vec<u16>,
    tree: BuildScratch,
}

impl BlockBuilder {
    /// Builds a block from the cells of a snapshot; its liquid surface only if
    /// `with_liquid`.
    pub fn build(
        &mut self,
        snapshot: &Snapshot,
        block: CollisionBlock,
        with_liquid: bool,
    ) -> BuiltBlock {
        if let Err(missing) = self.mesh(snapshot, block, with_liquid) {
            return BuiltBlock::new(None, Some(missing));
        }
        let built = BuiltBlock::new(self.tree(block, false), None);
        if with_liquid {
            built.build_liquid(|| self.tree(block, true));
        }
        built
    }

    /// Builds the liquid surface of a block.
    pub fn build_liquid(&mut self, snapshot: &Snapshot, block: CollisionBlock) -> Option<QuadBvh> {
        self.mesh(snapshot, block, true).ok()?;
        self.tree(block, true)
    }

    /// Meshes a block. Shores shape the liquid surface only.
    fn mesh(
        &mut self,
        snapshot: &Snapshot,
        block: CollisionBlock,
        with_shores: bool,
    ) -> Result<(), NotHeld> {
        snapshot.read(block.region().grow(PAD), 0, &mut self.cells)?;
        if with_shores {
            self.shores.soak(snapshot, 0, &mut self.cells);
        }
        self.mesher.mesh(&self.cells, snapshot.materials(), &mut self.mesh);
        Ok(())
    }

    /// Builds the tree of a surface of the block that was meshed.
    fn tree(&mut self, block: CollisionBlock, liquid: bool) -> Option<QuadBvh> {
        let BlockBuilder { mesh, edges, angles, tree, .. } = self;
        let surface = if liquid { &mesh.liquid } else { &mesh.solid };
        edge_angles(surface, block.region(), edges, angles);
        QuadBvh::build(surface, &surface.quad_faces, angles, tree)
    }
}
