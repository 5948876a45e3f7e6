//! Which blocks look the same though a block that touches them is shown by another mip, and
//! need no new mesh: more than half of all that touch.
//!
//! A vertex depends on cells up to [`PAD`] cells away. A block without a vertex that near
//! to what changed has no face there that could change; it gets none either where the
//! cells on both sides of the common wall are of one kind.

use super::residency::kind_of_all;
use crate::mesh::{BlockMesh, MAX_MIP_STEPS, PAD, Surface, shore_reach};
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, VoxelPos};

/// What changed beside a block.
#[derive(Clone, Copy)]
pub(super) struct Change {
    /// The block that is shown by other cells than it was.
    pub block: MipBlock,
    /// The mip by which it is shown now.
    pub mip: u8,
    /// Whether its cells, of whatever mip, are others than they were.
    pub cells: bool,
}

impl Change {
    /// Whether the mesh that is shown of `leaf`, of what its own cells are now, stays as it
    /// is. May say no though it does.
    pub fn leaves_alone(
        &self,
        leaf: MipBlock,
        mesh: Option<&BlockMesh>,
        has_water: bool,
        grid: &Snapshot,
        cells: &mut DenseBox,
    ) -> bool {
        if self.block.mip < leaf.mip {
            return false;
        }
        let side = side_of(leaf, self.block);
        // No vertex is moved by a cell of its block or more. Where cells stay and none of a
        // coarser mip comes or goes, only faces on the wall between change.
        let carried = PAD + 1 + shore_reach(leaf.mip) + 1;
        let (mut reach, shore) = match self.cells || self.block.mip > leaf.mip {
            // Beside a coarser block they lie on its cells, and so does the water carried there.
            true => (PAD + 1, carried.max((PAD + 3) << MAX_MIP_STEPS)),
            false => (1, 1),
        };
        // Around an edge or a corner a shore may come to where there was none.
        if has_water && self.cells && side.iter().filter(|&&side| side != 0).count() > 1 {
            reach = carried;
        }
        let far = |mesh: &BlockMesh| {
            !any_near(&mesh.solid, side, reach) && !any_near(&mesh.liquid, side, shore)
        };
        mesh.is_none_or(far) && self.is_plain_between(leaf, side, grid, cells)
    }

    /// Whether all cells on both sides of the wall between are of one kind.
    fn is_plain_between(
        &self,
        leaf: MipBlock,
        side: [i32; 3],
        grid: &Snapshot,
        cells: &mut DenseBox,
    ) -> bool {
        // Blocks that touch at an edge or a corner have no wall between them.
        if side.iter().filter(|&&side| side != 0).count() != 1 {
            return true;
        }
        let mut kind = |mip: u8, layer: Region| {
            grid.read_known(layer.coarser(u32::from(mip)), mip, cells);
            kind_of_all(cells, grid.materials())
        };
        let own = kind(leaf.mip, layer(leaf.voxels(), side, 0));
        own.is_some() && own == kind(self.mip, layer(leaf.voxels(), side, 1))
    }
}

/// On which side of `leaf` a block that is no finer lies: −1, 0 or 1 for each axis.
fn side_of(leaf: MipBlock, block: MipBlock) -> [i32; 3] {
    let (leaf, block) = (leaf.voxels(), block.voxels());
    let [low, high] = [(block.max, leaf.min), (leaf.max, block.min)]
        .map(|(end, start): (VoxelPos, VoxelPos)| (end.to_array(), start.to_array()));
    [0, 1, 2].map(|i| i32::from(high.0[i] <= high.1[i]) - i32::from(low.0[i] <= low.1[i]))
}

/// Whether a vertex lies less than `reach` cells from the `side` of its block.
fn any_near(surface: &Surface, side: [i32; 3], reach: i32) -> bool {
    // Where a vertex lies one level up depends on cells four times as wide, beside corners
    // that are one such cell away.
    let reach = if surface.targets.is_empty() { reach } else { 4 * reach + 1 } as f32;
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

/// The layer of voxels at the `side` of a block, `beyond` it or the last within.
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
