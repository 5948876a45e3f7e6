//! The blocks on which indexes are measured, and their queries: the solid surfaces of 8³ blocks,
//! segments that cross them, boxes near them. All in voxels relative to the block's min
//! corner.

use terravox::mesh::{BlockMesh, Mesher, PAD, Surface};
use terravox::voxel::{DenseBox, Kind, Region, SurfaceShape, VoxelPos};

use crate::mesh::ours::table_of;
use crate::mesh::peers::FsnBlock;
use crate::mesh::speed::blocks_of_8;
use crate::worlds::World;
use crate::worlds::random::Lcg;

/// Segments, and boxes, of a block.
pub const QUERIES: usize = 96;

/// Edge of a block, voxels.
const EDGE: f32 = 8.0;

/// Distance from the block's sides at which segments begin and end, voxels: surfaces of full cells
/// lie on the sides themselves, and rounding decides whether a segment that ends there hits them.
const MARGIN_VOXELS: f32 = 0.123;

/// A block: its cells, its surface, its queries.
pub struct SurfaceBlock {
    /// The cells, with padding.
    pub cells: DenseBox,
    /// The solid surface.
    pub surface: Surface,
    /// Payload of each quad in the k-d tree.
    pub payloads: Vec<u32>,
    /// Cell and direction of each quad's face: zeros, since their values do not change the time.
    pub faces: Vec<[u8; 4]>,
    /// Four angles of 4 bits a quad, zeros likewise.
    pub angles: Vec<u16>,
    /// The peer mesher's input.
    pub fsn: FsnBlock,
    /// From one point to another.
    pub segments: Vec<[[f32; 3]; 2]>,
    /// Min and max corner.
    pub boxes: Vec<[[f32; 3]; 2]>,
}

/// The blocks of a world.
pub fn of(world: &World) -> Vec<SurfaceBlock> {
    let table = table_of(SurfaceShape::Default);
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    let mut random = Lcg(0x5eed);
    let block = |cells: DenseBox| {
        mesher.mesh(&cells, &table, &mut mesh);
        let surface = mesh.solid.clone();
        let payloads = surface.quad_materials.iter().map(|&m| u32::from(m) << 16).collect();
        let faces = vec![[0; 4]; surface.quad_count()];
        let angles = vec![0; surface.quad_count()];
        let fsn = FsnBlock::new(&cells, EDGE as usize, &table);
        let segments = (0..QUERIES).map(|_| segment(&mut random)).collect();
        let boxes = (0..QUERIES).map(|_| box_near(&surface, &mut random)).collect();
        SurfaceBlock { cells, surface, payloads, faces, angles, fsn, segments, boxes }
    };
    blocks_of_8(world).into_iter().map(block).collect()
}

impl SurfaceBlock {
    /// Its triangles, as vertex numbers.
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        self.surface.triangles().collect()
    }

    /// Its solid cells, from its min corner.
    pub fn solid_cells(&self) -> Vec<[i32; 3]> {
        let table = table_of(SurfaceShape::Default);
        let region: Region = self.cells.region().grow(-PAD);
        let solid = |p: &VoxelPos| table.kind(self.cells.cell(*p).material) == Kind::Solid;
        region.voxels().filter(solid).map(|p| (p - region.min).to_array()).collect()
    }
}

/// A segment through the block, from a point beyond one side to one beyond another.
fn segment(random: &mut Lcg) -> [[f32; 3]; 2] {
    let from = random.below(6);
    let to = (from + 1 + random.below(5)) % 6;
    [from, to].map(|side| {
        let mut point = [0; 3].map(|_| random.unit() * EDGE);
        point[side / 2] = if side % 2 == 0 { -MARGIN_VOXELS } else { EDGE + MARGIN_VOXELS };
        point
    })
}

/// A box of 0.6 to 2 voxels, with its centre within a voxel of a vertex along each axis.
fn box_near(surface: &Surface, random: &mut Lcg) -> [[f32; 3]; 2] {
    let vertex = surface.positions[random.below(surface.positions.len())];
    let centre = vertex.map(|v| v + random.unit() * 2.0 - 1.0);
    let half = [0; 3].map(|_| 0.3 + 0.7 * random.unit());
    [-1.0, 1.0].map(|sign| [0, 1, 2].map(|i| centre[i] + sign * half[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cross_the_block_from_side_to_side() {
        let mut random = Lcg(1);
        for _ in 0..200 {
            let ends = segment(&mut random);
            let bounds = -MARGIN_VOXELS..=EDGE + MARGIN_VOXELS;
            let on_it = |v: &f32| *v == *bounds.start() || *v == *bounds.end();
            assert!(ends.iter().all(|p| p.iter().any(on_it)));
            assert!(ends.iter().flatten().all(|v| bounds.contains(v)));
            assert_ne!(ends[0], ends[1]);
        }
    }
}
