//! Whether blocks and regions are near water, whose shores reach farther than other cells.

use super::tiling::Tiling;
use crate::mesh::{PAD, Shores};
use crate::voxel::{MipBlock, Region, Snapshot};
use rustc_hash::FxHashMap;

/// Whether no cell that a block's mesh is made of is near water. `coarsest` is the coarsest mip
/// that touches the block: vertices there lie on its cells, of which the padding is read.
pub(super) fn is_dry(
    shores: &mut Shores,
    snapshot: &Snapshot,
    block: MipBlock,
    coarsest: u8,
) -> bool {
    (block.mip..=coarsest.max(block.mip)).all(|mip| {
        let cells = block.cells().coarser(u32::from(mip - block.mip)).grow(PAD);
        shores.is_dry(snapshot, mip, Shores::depends_on(cells, mip))
    })
}

/// Whether there is water near one of these regions of voxels.
pub(super) fn is_any_wet(grid: &Snapshot, regions: &[Region]) -> bool {
    let mut shores = Shores::default();
    regions.iter().any(|&region| !shores.is_dry(grid, 0, Shores::depends_on(region, 0)))
}

/// Caches which leaves of a tiling are dry in one snapshot.
#[derive(Default)]
pub(super) struct DryLeaves {
    shores: Shores,
    known: FxHashMap<MipBlock, bool>,
}

impl DryLeaves {
    pub fn contains(&mut self, grid: &Snapshot, tiling: &Tiling, leaf: MipBlock) -> bool {
        let shores = &mut self.shores;
        let find = || is_dry(shores, grid, leaf, tiling.coarsest_touching(leaf));
        *self.known.entry(leaf).or_insert_with(find)
    }
}
