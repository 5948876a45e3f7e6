//! Blocks of several mips of a grid, meshed as the metrics see them.

use glam::DVec3;
use terravox::mesh::{BlockMesh, Mesher, NeighbourMips, Surface as Raw};
use terravox::voxel::{
    DenseBox, MaterialTable, MipBlock, Region, SurfaceShape, VoxelGrid, VoxelPos,
};

use crate::mesh::ours::{doubled, table_of};
use crate::mesh::surface::Surface;

/// Meshes blocks of a tiling; its memory is reused.
pub struct Shown {
    mesher: Mesher,
    mesh: BlockMesh,
    table: MaterialTable,
}

impl Shown {
    /// With materials of the default shape.
    pub fn new() -> Shown {
        let table = table_of(SurfaceShape::Default);
        Shown { mesher: Mesher::new(), mesh: BlockMesh::new(), table }
    }

    /// The solid surface of a block where `shown` says which mip is shown at a voxel.
    pub fn solid(
        &mut self,
        grid: &VoxelGrid,
        block: MipBlock,
        shown: impl FnMut(VoxelPos) -> u8,
    ) -> Surface {
        let around = NeighbourMips::from_voxels(block, shown);
        let ask = |mip: u8, region: Region, out: &mut DenseBox| read(grid, mip, region, out);
        self.mesher.mesh_mixed(block, &around, ask, &self.table, true, &mut self.mesh);
        in_voxels(&self.mesh.solid, block)
    }
}

/// A surface of a block, in voxels.
pub fn in_voxels(surface: &Raw, block: MipBlock) -> Surface {
    let vector = |v: &[f32; 3]| DVec3::from_array(v.map(f64::from));
    let min = DVec3::from_array(block.voxels().min.to_array().map(f64::from));
    let size = f64::from(1 << block.mip);
    Surface {
        positions: surface.positions.iter().map(|p| min + size * vector(p)).collect(),
        normals: surface.normals.iter().map(vector).collect(),
        keys: surface.keys.iter().map(doubled).collect(),
        triangles: surface.triangles().collect(),
    }
}

/// Cells of a mip.
///
/// # Panics
/// If the grid does not hold them: no such world is made here.
pub fn read(grid: &VoxelGrid, mip: u8, region: Region, out: &mut DenseBox) {
    if let Err(error) = grid.read(region, mip, out) {
        panic!("{error}");
    }
}
