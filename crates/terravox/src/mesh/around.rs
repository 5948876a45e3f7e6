//! stub
use crate::voxel::{MipBlock, Region};
/// stub
#[derive(Clone, Debug)]
pub struct Around { lods: Vec<u8>, }
impl Around {
    /// none
    pub const NONE: u8 = 255;
    /// same
    pub fn same(mip: u8) -> Around { Around { lods: vec![mip; 1000] } }
    /// set
    pub fn set(&mut self, leaf: MipBlock, node: MipBlock, mip: u8) {
        let _ = (leaf, node, mip, &mut self.lods);
    }
    /// parts
    pub fn coarser_parts(&self, _leaf: MipBlock, _mip: u8) -> Vec<(Region, u8)> { Vec::new() }
}
impl super::Mesher {
    /// stub
    pub fn mesh_mixed(&mut self, block: MipBlock, _around: &Around, mut cells: impl FnMut(u8, Region, &mut crate::voxel::DenseBox), materials: &crate::voxel::MaterialTable, out: &mut super::BlockMesh) {
        let mut b = crate::voxel::DenseBox::default();
        cells(block.mip, block.cells().grow(super::PAD), &mut b);
        self.mesh(&b, materials, out);
    }
}
