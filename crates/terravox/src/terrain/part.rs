//! What a generator or a store is asked for: the cells of one block.

use super::Placement;
use crate::generate::fill_sdf;
use crate::voxel::{DenseBox, MipBlock};

/// A part of the world that a generator fills: 32³ cells, those of mip n 2ⁿ voxels wide.
pub struct Part<'a> {
    pub(super) cells: &'a mut DenseBox,
    pub(super) block: MipBlock,
    pub(super) placement: Placement,
    pub(super) missing: bool,
}

impl Part<'_> {
    /// Runs `fill` on one block, on any thread, and returns its cells; `None` if it says that
    /// they cannot be had now ([`Part::set_missing`]).
    ///
    /// # Panics
    /// If `fill` replaces the cells by those of another region.
    pub fn fill(
        block: MipBlock,
        placement: Placement,
        fill: impl Fn(&mut Part<'_>),
    ) -> Option<DenseBox> {
        let mut cells = DenseBox::new(block.cells());
        let mut part = Part { cells: &mut cells, block, placement, missing: false };
        fill(&mut part);
        let missing = part.missing;
        // A fill may have made the box anew; its place is the block's all the same.
        assert_eq!(cells.region(), block.cells(), "a fill keeps the region of its part");
        (!missing).then_some(cells)
    }

    /// Which block it is, and of which mip its cells are.
    pub fn block(&self) -> MipBlock {
        self.block
    }

    /// The cells to fill, air at first, in cells of the block's mip.
    pub fn cells(&mut self) -> &mut DenseBox {
        self.cells
    }

    /// Says that the cells cannot be had now (a store failed, a server has not answered).
    /// They are asked for again later; what is shown stays as it is.
    pub fn set_missing(&mut self) {
        self.missing = true;
    }

    /// Fills the part with one material where `distance_m(p)`, in metres for a point in
    /// world metres, is positive. Only values near the surface need be true distances.
    pub fn fill_sdf(&mut self, material: u8, distance_m: impl Fn([f32; 3]) -> f32) {
        self.fill_sdf_with(distance_m, |_| material);
    }

    /// As [`Part::fill_sdf`], with a material for every point in world metres.
    pub fn fill_sdf_with(
        &mut self,
        distance_m: impl Fn([f32; 3]) -> f32,
        material: impl Fn([f32; 3]) -> u8,
    ) {
        let placement = self.placement;
        let distance = |p| distance_m(placement.world_from_voxel(p)) / placement.voxel_size_m;
        let material = |p| material(placement.world_from_voxel(p));
        fill_sdf(self.cells, self.block.mip, distance, material);
    }
}
