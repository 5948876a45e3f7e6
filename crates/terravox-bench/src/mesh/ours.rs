//! Our mesher for the metrics: blocks of a world or of a box, with keys.

use glam::DVec3;
use terravox::mesh::{BlockMesh, Mesher, PAD, VertexKey};
use terravox::voxel::{DenseBox, Kind, MaterialTable, Region, SurfaceShape, VoxelPos};

use super::surface::{Surface, VertexId};
use crate::worlds::World;

/// The default materials, all of one shape.
pub fn table_of(shape: SurfaceShape) -> MaterialTable {
    let mut materials = MaterialTable::default().materials().to_vec();
    materials.iter_mut().for_each(|material| material.shape = shape);
    MaterialTable::new(materials)
}

/// Meshes with the fast path of this machine, keyed.
pub struct Keyed {
    mesher: Mesher,
    block: BlockMesh,
    table: MaterialTable,
}

impl Keyed {
    /// A mesher of materials that are all of `shape`.
    pub fn new(shape: SurfaceShape) -> Keyed {
        Keyed { mesher: Mesher::new(), block: BlockMesh::new(), table: table_of(shape) }
    }

    /// The solid surface of the block that `padded` holds with its padding.
    pub fn mesh(&mut self, padded: &DenseBox) -> Surface {
        self.mesher.mesh_keyed(padded, &self.table, &mut self.block);
        let solid = &self.block.solid;
        let min = DVec3::from(self.block.block.min.to_array().map(f64::from));
        Surface {
            positions: solid.positions.iter().map(|p| min + vector(*p)).collect(),
            normals: solid.normals.iter().map(|n| vector(*n)).collect(),
            keys: solid.keys.iter().map(doubled).collect(),
            triangles: solid.triangles().collect(),
        }
    }

    /// Meshes every block of `edge`³ cells within the bounds of `world` that has solid cells, and
    /// calls `visit` with its surface.
    pub fn mesh_world(&mut self, world: &World, edge: i32, mut visit: impl FnMut(Surface)) {
        let mut cells = DenseBox::default();
        for block in blocks_of(world.grid.bounds(), edge) {
            world.read(block.grow(PAD), &mut cells);
            let kinds = self.table.kinds();
            if cells.materials().iter().any(|&m| kinds[usize::from(m)] == Kind::Solid) {
                visit(self.mesh(&cells));
            }
        }
    }
}

/// The aligned blocks of `edge`³ cells that cover `region`.
pub fn blocks_of(region: Region, edge: i32) -> Vec<Region> {
    let floor = |v: i32| v.div_euclid(edge);
    let low = region.min.to_array().map(floor);
    let high = (region.max - VoxelPos::splat(1)).to_array().map(|v| floor(v) + 1);
    let block = |p: VoxelPos| {
        let min = VoxelPos::new(p.x * edge, p.y * edge, p.z * edge);
        Region { min, max: min + VoxelPos::splat(edge) }
    };
    Region::new(low, high).voxels().map(block).collect()
}

/// Copies `region` out of `cells`; what `cells` does not hold is air.
pub fn cut(cells: &DenseBox, region: Region) -> DenseBox {
    let mut part = DenseBox::new(region);
    for p in region.intersect(cells.region()).voxels() {
        part.set(p, cells.cell(p));
        if let Some(water) = cells.water_at(p) {
            part.set_water(p, Some(water));
        }
    }
    part
}

/// The exact id of a vertex.
pub fn doubled(key: &VertexKey) -> VertexId {
    let between = |axis: u8| i32::from(key.between >> axis & 1);
    let VoxelPos { x, y, z } = key.corner;
    [2 * x + between(0), 2 * y + between(1), 2 * z + between(2), i32::from(key.part)]
}

fn vector(v: [f32; 3]) -> DVec3 {
    DVec3::from(v.map(f64::from))
}

#[cfg(test)]
mod tests {
    use terravox::voxel::Cell;

    use super::*;

    #[test]
    fn blocks_cover_a_region_with_negative_corners() {
        let region = Region::new([-9, 0, 7], [1, 8, 9]);
        let blocks = blocks_of(region, 8);
        assert_eq!(blocks.len(), 3 * 2);
        assert_eq!(blocks[0].min, VoxelPos::new(-16, 0, 0));
        assert!(region.voxels().all(|p| blocks.iter().any(|block| block.contains(p))));
    }

    #[test]
    fn a_lattice_position_is_that_of_the_cell_corner() {
        let mut cells = DenseBox::new(Region::new([-2; 3], [10; 3]));
        cells.set(VoxelPos::new(3, 4, 5), Cell::full(2));
        let surface = Keyed::new(SurfaceShape::Blocky).mesh(&cells);
        assert_eq!(surface.triangles.len(), 12);
        for (position, &[x, y, z, _]) in surface.positions.iter().zip(&surface.keys) {
            assert_eq!(*position * 2.0, DVec3::new(x.into(), y.into(), z.into()));
        }
        assert!((surface.volume() - 1.0).abs() < 1e-12);
    }
}
