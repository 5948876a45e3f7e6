//! Decides which touching blocks keep their mesh when a block is shown at another mip or gets other
//! cells. More than half do.
//!
//! A vertex depends on cells up to [`PAD`] cells away. A block without a vertex that near to the
//! change has no face there that could change, and gets none if the cells on both sides of the
//! shared face are of one kind.

use super::dry::is_dry;
use super::residency::uniform_kind;
use super::tiling::Tiling;
use crate::mesh::{
    BlockMesh, EDIT_REACH_CELLS, MAX_MIP_STEPS, PAD, Shores, Surface, shore_edit_reach_cells,
};
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, VoxelPos};

/// How far from the shared face vertices may lie that change with its faces alone.
const FACE_REACH_CELLS: i32 = 2;

/// How far water that a coarse block carries may be from the vertices that depend on it: the
/// padding, the cell that it is carried over, and those on both sides.
const CARRIED_REACH_CELLS: i32 = PAD + 3;

/// A change of a block, seen by the blocks that touch it.
#[derive(Clone, Copy)]
pub(super) struct NeighbourChange {
    /// The block that changed.
    pub block: MipBlock,
    /// The mip at which it is shown now.
    pub mip: u8,
    /// Whether its cells, at any mip, changed.
    pub has_new_cells: bool,
}

/// What is around the leaves that a change may reach.
pub(super) struct LeafSurroundings<'a> {
    pub tiling: &'a Tiling,
    pub grid: &'a Snapshot,
    /// Whether any mesh has a liquid surface.
    pub has_water: bool,
    pub shores: &'a mut Shores,
    pub cells: &'a mut DenseBox,
}

impl NeighbourChange {
    /// Returns the change of a block that appears, disappears or gets other cells.
    pub fn of(block: MipBlock) -> NeighbourChange {
        NeighbourChange { block, mip: block.mip, has_new_cells: true }
    }

    /// Whether `mesh`, which is up to date with the cells of `leaf`, stays the same. Conservative:
    /// may return false for a mesh that does.
    pub fn keeps_mesh(
        &self,
        leaf: MipBlock,
        mesh: Option<&BlockMesh>,
        around: &mut LeafSurroundings<'_>,
    ) -> bool {
        if self.block.mip < leaf.mip {
            return false;
        }
        let side = side_of(leaf, self.block);
        mesh.is_none_or(|mesh| self.is_beyond_reach(leaf, mesh, side, around))
            && self.is_uniform_across(leaf, side, around)
    }

    /// Whether no vertex depends on the change.
    fn is_beyond_reach(
        &self,
        leaf: MipBlock,
        mesh: &BlockMesh,
        side: [i32; 3],
        around: &mut LeafSurroundings<'_>,
    ) -> bool {
        let solid_within = |reach: i32| has_vertex_near(&mesh.solid, side, reach);
        let liquid_within = |reach: i32| has_vertex_near(&mesh.liquid, side, reach);
        // Where cells stay and no coarser mip is involved, only faces on the shared face change.
        if !self.has_new_cells && self.block.mip <= leaf.mip {
            return !solid_within(FACE_REACH_CELLS) && !liquid_within(FACE_REACH_CELLS);
        }
        // Beside a coarser block, this or another one, vertices depend on its cells, and so does
        // water carried there. Few leaves touch any that are coarser by more than one mip.
        let carried = shore_edit_reach_cells(leaf.mip);
        if solid_within(EDIT_REACH_CELLS << 1)
            || liquid_within(carried.max(CARRIED_REACH_CELLS << MAX_MIP_STEPS))
        {
            return false;
        }
        let coarsest = around.tiling.coarsest_touching(leaf).max(self.block.mip);
        let steps = coarsest - leaf.mip;
        if steps > 1 && solid_within(EDIT_REACH_CELLS << steps) {
            return false;
        }
        // A shore may appear.
        !around.has_water
            || !solid_within(carried)
            || is_dry(around.shores, around.grid, leaf, coarsest)
    }

    /// Whether all cells on both sides of the shared face are of one kind.
    fn is_uniform_across(
        &self,
        leaf: MipBlock,
        side: [i32; 3],
        around: &mut LeafSurroundings<'_>,
    ) -> bool {
        // Blocks that touch at an edge or a corner share no face.
        if side.iter().filter(|&&side| side != 0).count() != 1 {
            return true;
        }
        let LeafSurroundings { grid, cells, .. } = around;
        let mut kind = |mip: u8, layer: Region| {
            grid.read_known(layer.coarser(u32::from(mip)), mip, cells);
            uniform_kind(cells, grid.materials())
        };
        let own = kind(leaf.mip, layer(leaf.voxels(), side, 0));
        own.is_some() && own == kind(self.mip, layer(leaf.voxels(), side, 1))
    }
}

/// Returns on which side of `leaf` a block that is not finer lies: −1, 0 or 1 for each axis.
fn side_of(leaf: MipBlock, block: MipBlock) -> [i32; 3] {
    let (leaf, block) = (leaf.voxels(), block.voxels());
    let [low, high] = [(block.max, leaf.min), (leaf.max, block.min)]
        .map(|(end, start): (VoxelPos, VoxelPos)| (end.to_array(), start.to_array()));
    [0, 1, 2].map(|i| i32::from(high.0[i] <= high.1[i]) - i32::from(low.0[i] <= low.1[i]))
}

/// Whether a vertex lies less than `reach` cells from the `side` of its block.
fn has_vertex_near(surface: &Surface, side: [i32; 3], reach: i32) -> bool {
    // Morph targets depend on cells twice as wide, around corners up to one such cell away.
    let reach = if surface.targets.is_empty() { reach } else { 2 * reach + 1 } as f32;
    let near = |v: f32, side: i32| match side {
        -1 => v < reach,
        0 => true,
        _ => v > MipBlock::EDGE as f32 - reach,
    };
    surface
        .positions
        .iter()
        .any(|&[x, y, z]| near(x, side[0]) && near(y, side[1]) && near(z, side[2]))
}

/// Returns the layer of voxels at the `side` of a block: the last inside it (0) or the first
/// outside (1).
fn layer(block: Region, side: [i32; 3], beyond: i32) -> Region {
    let (mut min, mut max) = (block.min.to_array(), block.max.to_array());
    for i in 0..3 {
        match side[i] {
            -1 => (min[i], max[i]) = (min[i] - beyond, min[i] - beyond + 1),
            1 => (min[i], max[i]) = (max[i] + beyond - 1, max[i] + beyond),
            _ => {}
        }
    }
    Region::new(min, max)
}
