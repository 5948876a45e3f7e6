//! The peers: fast-surface-nets and transvoxel, on the same cells as ours.
//!
//! Both contour a scalar field. They get ½ − occupancy (negative inside) as f32,
//! air and liquid having none, sampled at the cells' centres. The conversion is
//! not timed. Their surface bounds the cells that are more than half full, ours
//! every solid cell, so that ours has a few more vertices of the same cells.

use fast_surface_nets::ndshape::{ConstShape3u32, Shape};
use fast_surface_nets::{SurfaceNetsBuffer, surface_nets};
use glam::DVec3;
use terravox::voxel::{DenseBox, Kind, MaterialTable, VoxelPos};
use transvoxel::prelude::{Block, BlockStarView, GenericMeshBuilder, VoxelVecBlock, extract};

use super::surface::Surface;

/// ½ − occupancy of one cell of `cells`, ½ where it is not solid.
fn sample(cells: &DenseBox, table: &MaterialTable, at: VoxelPos) -> f32 {
    let cell = cells.cell(at);
    if table.kind(cell.material) == Kind::Solid { 0.5 - cell.fraction() } else { 0.5 }
}

/// A block for fast-surface-nets: (N + 2)³ samples, one cell of padding.
pub struct FsnBlock {
    edge: usize,
    min: VoxelPos,
    field: Vec<f32>,
}

impl FsnBlock {
    /// The block of `edge`³ cells at the middle of `padded`.
    ///
    /// # Panics
    /// Panics if the edge is not 8, 32 or 64, or the padding is not even.
    pub fn new(padded: &DenseBox, edge: usize, table: &MaterialTable) -> FsnBlock {
        assert!(matches!(edge, 8 | 32 | 64), "no shape for {edge}³");
        let min = inner_min(padded, edge);
        let n = edge as i32 + 2;
        let origin = min - VoxelPos::splat(1);
        let mut field = Vec::with_capacity((edge + 2).pow(3));
        // x fastest, then y, then z, as its shapes do.
        for z in 0..n {
            for y in 0..n {
                for x in 0..n {
                    field.push(sample(padded, table, origin + VoxelPos::new(x, y, z)));
                }
            }
        }
        FsnBlock { edge, min, field }
    }

    /// Meshes the block into `buffer`, by a shape that is known when compiling.
    pub fn mesh(&self, buffer: &mut SurfaceNetsBuffer) {
        match self.edge {
            8 => self.mesh_as(&ConstShape3u32::<10, 10, 10> {}, buffer),
            32 => self.mesh_as(&ConstShape3u32::<34, 34, 34> {}, buffer),
            _ => self.mesh_as(&ConstShape3u32::<66, 66, 66> {}, buffer),
        }
    }

    fn mesh_as<S: Shape<3, Coord = u32>>(&self, shape: &S, buffer: &mut SurfaceNetsBuffer) {
        surface_nets(&self.field, shape, [0; 3], [self.edge as u32 + 1; 3], buffer);
    }

    /// The mesh for the metrics. A sample lies at its cell's centre, and a vertex
    /// belongs to the lattice corner between eight of them.
    pub fn surface(&self) -> Surface {
        let mut buffer = SurfaceNetsBuffer::default();
        self.mesh(&mut buffer);
        let min = DVec3::from(self.min.to_array().map(f64::from)) - 0.5;
        let vector = |p: &[f32; 3]| DVec3::from(p.map(f64::from));
        let corner = |p: &[u32; 3]| {
            let [x, y, z] = std::array::from_fn(|a| p[a] as i32 + self.min.to_array()[a]);
            [2 * x, 2 * y, 2 * z, 0]
        };
        Surface {
            positions: buffer.positions.iter().map(|p| min + vector(p)).collect(),
            normals: buffer.normals.iter().map(vector).collect(),
            keys: buffer.surface_points.iter().map(corner).collect(),
            triangles: buffer.indices.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect(),
        }
    }
}

type Voxels = VoxelVecBlock<f32, f32>;

/// A block for transvoxel: its own cache of samples, no transition sides.
pub struct TransvoxelBlock {
    voxels: Voxels,
}

impl TransvoxelBlock {
    /// The block of `edge`³ cells at the middle of `padded`.
    ///
    /// # Panics
    /// If the padding is not even, or thinner than two cells.
    pub fn new(padded: &DenseBox, edge: usize, table: &MaterialTable) -> TransvoxelBlock {
        let min = inner_min(padded, edge);
        // Its samples 0..=edge are the centres of the cells from the block's first on;
        // it asks one sample further on each side for gradients. Inside is positive.
        let density = |x: f32, y: f32, z: f32| {
            let at = VoxelPos::new(x.round() as i32, y.round() as i32, z.round() as i32);
            -sample(padded, table, min + at)
        };
        let block = Block::new([0.0, 0.0, 0.0], edge as f32, edge);
        TransvoxelBlock { voxels: VoxelVecBlock::cache(&density, block) }
    }

    /// Meshes the block; returns its numbers of vertices and triangles.
    pub fn mesh(&self) -> (usize, usize) {
        let view: BlockStarView<f32, f32, &Voxels, &Voxels> =
            BlockStarView::new_simple(&self.voxels);
        let mesh = extract(&view, 0.0, GenericMeshBuilder::new()).build();
        (mesh.positions.len() / 3, mesh.num_tris())
    }
}

/// Lowest cell of the block of `edge`³ cells that `padded` surrounds evenly.
fn inner_min(padded: &DenseBox, edge: usize) -> VoxelPos {
    let [x, y, z] = padded.region().size();
    assert!(x == y && y == z && x > edge && (x - edge).is_multiple_of(2), "uneven padding");
    padded.region().min + VoxelPos::splat((x - edge) as i32 / 2)
}

#[cfg(test)]
mod tests {
    use terravox::voxel::Region;

    use super::super::topology::Weld;
    use super::*;
    use crate::worlds::shapes::{ball, filled};

    fn ball_in(edge: i32, centre: f64, radius: f64) -> DenseBox {
        let region = Region::new([-2; 3], [edge + 2; 3]);
        filled(region, 2, ball(DVec3::splat(centre), radius))
    }

    #[test]
    fn surface_nets_make_a_ball_where_it_is() {
        let cells = ball_in(32, 16.3, 11.0);
        let surface = FsnBlock::new(&cells, 32, &MaterialTable::default()).surface();
        let spread = surface.rms(|p| p.distance(DVec3::splat(16.3)) - 11.0);
        assert!(spread.rms < 0.06 && spread.max < 0.25, "{spread:?}");
        let volume = 4.0 / 3.0 * std::f64::consts::PI * 11f64.powi(3);
        assert!((surface.volume() / volume - 1.0).abs() < 0.02, "{}", surface.volume());
        let mut weld = Weld::default();
        weld.add(&surface);
        assert_eq!(weld.count_defects().open_edges, 0);
    }

    #[test]
    fn transvoxel_sees_the_same_ball() {
        let cells = ball_in(32, 16.3, 11.0);
        let table = MaterialTable::default();
        let (vertices, triangles) = TransvoxelBlock::new(&cells, 32, &table).mesh();
        let fsn = FsnBlock::new(&cells, 32, &table).surface();
        // Marching cubes have about as many vertices as surface nets have quads.
        let ratio = vertices as f64 / (fsn.triangles.len() as f64 / 2.0);
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        assert!(triangles > fsn.triangles.len() * 9 / 10);
    }

    #[test]
    fn water_is_no_part_of_the_peers_surface() {
        let mut cells = ball_in(8, 4.0, 2.5);
        let (material, _) = cells.arrays_mut();
        material.iter_mut().filter(|m| **m != 0).for_each(|m| *m = 1);
        let surface = FsnBlock::new(&cells, 8, &MaterialTable::default()).surface();
        assert!(surface.triangles.is_empty());
    }
}
