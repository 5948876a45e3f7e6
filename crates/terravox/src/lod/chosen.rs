//! The viewers for which the tiling is complete. After an edit it still is, apart from the blocks
//! that the edit touches: only those are checked again.

use super::selection::Selector;
use crate::mesh::PAD;
use crate::voxel::{MipBlock, Region};

/// Edits after which all blocks are looked at.
const MAX_REGIONS: usize = 32;

/// The viewers for whom the tiling was last complete.
#[derive(Clone, Debug, Default)]
pub(super) enum ChosenFor {
    /// There is more to choose.
    #[default]
    Unfinished,
    /// Nothing is left to choose.
    Viewers(Selector),
    /// Nothing but what these regions touch, which were written since.
    AllBut(Selector, Vec<Region>),
}

impl ChosenFor {
    /// Whether nothing is left to choose.
    pub fn is_complete(&self) -> bool {
        matches!(self, ChosenFor::Viewers(_))
    }

    /// Whether nothing is left to choose for viewers, who may have moved a little.
    pub fn is_complete_for(&self, selector: &Selector) -> bool {
        matches!(self, ChosenFor::Viewers(last) if last.is_near(selector))
    }

    /// Returns the regions to look at for viewers; `None` for all.
    pub fn regions_for(&self, selector: &Selector) -> Option<&[Region]> {
        match self {
            ChosenFor::AllBut(last, regions) if last.is_near(selector) => Some(regions),
            _ => None,
        }
    }

    /// Records that regions were written.
    pub fn add_written(&mut self, written: &[Region]) {
        *self = match std::mem::take(self) {
            ChosenFor::Unfinished => ChosenFor::Unfinished,
            ChosenFor::Viewers(last) => ChosenFor::AllBut(last, written.to_vec()),
            ChosenFor::AllBut(last, mut regions) => {
                regions.extend(written);
                ChosenFor::AllBut(last, regions)
            }
        };
        if matches!(self, ChosenFor::AllBut(_, regions) if regions.len() > MAX_REGIONS) {
            *self = ChosenFor::Unfinished;
        }
    }

    /// Records that nothing is left to choose in regions, either.
    pub fn complete(&mut self, looked_at: &[Region]) {
        let ChosenFor::AllBut(last, regions) = self else { return };
        regions.retain(|region| !looked_at.contains(region));
        if regions.is_empty() {
            // The viewers may have moved a little since: the positions for which everything was
            // checked count.
            *self = ChosenFor::Viewers(last.clone());
        }
    }
}

/// Whether what a block or one within it needs may depend on the cells of regions: it has a surface
/// or not by the cells up to [`PAD`] beside it.
pub(super) fn is_touched(block: MipBlock, regions: &[Region]) -> bool {
    let near = block.voxels().grow(PAD << block.mip);
    regions.iter().any(|region| !region.intersect(near).is_empty())
}
