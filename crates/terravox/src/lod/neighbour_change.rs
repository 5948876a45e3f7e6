//! Decides which touching blocks keep their mesh when a block is shown at another mip or gets other
//! cells. More than half do.
//!
//! A vertex depends on cells up to [`PAD`] cells away. A block without a vertex that near to the
//! change has no face there that could change, and gets none if the cells on both sides of the
//! shared face are of one kind.

use super::residency::uniform_kind;
use crate::mesh::{
    BlockMesh, EDIT_REACH_CELLS, MAX_MIP_STEPS, PAD, Surface, shore_edit_reach_cells,
};
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, VoxelPos};

/// How far from the shared face vertices may lie that change with its faces alone.
const FACE_REACH_CELLS: i32 = 2;

/// How far water that a coarse block carries may be from the vertices that depend on it: the padding,
/// the cell that it is carried over, and those on both sides.
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

impl NeighbourChange {
    /// Returns the change of a block that appears, disappears or gets other cells.
    pub fn of(block: MipBlock) -> NeighbourChange {
        NeighbourChange { block, mip: block.mip, has_new_cells: true }
    }

    /// Whether `mesh`, which is up to date with the cells of `leaf`, stays the same.
    /// `has_water`: whether any mesh has a liquid surface. `coarsest_touching` returns the mip of the
    /// coarsest leaf that touches it. Conservative: may return false for a mesh that does.
    pub fn keeps_mesh(
        &self,
        leaf: MipBlock,
        mesh: Option<&BlockMesh>,
        has_water: bool,
        coarsest_touching: impl FnOnce() -> u8,
        grid: &Snapshot,
        cells: &mut DenseBox,
    ) -> bool {
        if self.block.mip < leaf.mip {
            return false;
        }
        let side = side_of(leaf, self.block);
        if let Some(mesh) = mesh {
            let depends_on_cells = self.has_new_cells || self.block.mip > leaf.mip;
            // The fewest steps first: few leaves touch any that are coarser by more.
            let mut reach = self.reach(leaf, has_water, 1);
            if depends_on_cells && !reach.meets(mesh, side) {
                let steps = coarsest_touching().max(self.block.mip) - leaf.mip;
                reach = self.reach(leaf, has_water, steps.max(1));
            }
            if reach.meets(mesh, side) {
                return false;
            }
        }
        self.is_uniform_across(leaf, side, grid, cells)
    }

    /// Returns how far from the side of `leaf` vertices may depend on the change, if blocks up to
    /// `steps` mips coarser touch it.
    fn reach(&self, leaf: MipBlock, has_water: bool, steps: u8) -> VertexReach {
        // Vertices lie less than a cell off their corners. Where cells stay and no coarser mip is
        // involved, only faces on the shared face change.
        if !self.has_new_cells && self.block.mip <= leaf.mip {
            return VertexReach { solid: FACE_REACH_CELLS, liquid: FACE_REACH_CELLS };
        }
        // Beside a coarser block, this or another one, vertices depend on its cells, and so does
        // water carried there.
        let carried = shore_edit_reach_cells(leaf.mip);
        let mut solid = EDIT_REACH_CELLS << steps;
        // A shore may appear.
        if has_water {
            solid = solid.max(carried);
        }
        VertexReach { solid, liquid: carried.max(CARRIED_REACH_CELLS << MAX_MIP_STEPS) }
    }

    /// Whether all cells on both sides of the shared face are of one kind.
    fn is_uniform_across(
        &self,
        leaf: MipBlock,
        side: [i32; 3],
        grid: &Snapshot,
        cells: &mut DenseBox,
    ) -> bool {
        // Blocks that touch at an edge or a corner share no face.
        if side.iter().filter(|&&side| side != 0).count() != 1 {
            return true;
        }
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

/// How far from the shared face vertices may depend on a change, in cells.
struct VertexReach {
    solid: i32,
    liquid: i32,
}

impl VertexReach {
    /// Whether any vertex is within reach of the `side` of its block.
    fn meets(&self, mesh: &BlockMesh, side: [i32; 3]) -> bool {
        has_vertex_near(&mesh.solid, side, self.solid)
            || has_vertex_near(&mesh.liquid, side, self.liquid)
    }
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
