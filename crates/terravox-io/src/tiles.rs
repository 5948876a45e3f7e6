//! What the mesh exporters share: grouping blocks into tiles, the frame of written positions, and
//! the triangles of a surface by material.

use terravox::mesh::Surface;
use terravox::voxel::{ChunkPos, Region, VoxelPos};

/// Blocks that are exported as one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Position in tiles: floor of the chunk positions by the tile's edge.
    pub position: [i32; 3],
    /// Chunks in the tile, sorted by x, y, z.
    pub chunks: Vec<ChunkPos>,
}

impl Tile {
    /// Returns a display name: `tile x y z`.
    pub fn name(&self) -> String {
        let [x, y, z] = self.position;
        format!("tile {x} {y} {z}")
    }
}

/// Groups chunks into tiles of `edge`³ chunks, sorted by x, y, z.
///
/// # Panics
/// If `edge` is 0.
pub fn group_into_tiles(chunks: &[ChunkPos], edge: u16) -> Vec<Tile> {
    assert!(edge > 0, "tiles need an edge of at least 1 chunk");
    let edge = i32::from(edge);
    let position = |chunk: &ChunkPos| [chunk.x, chunk.y, chunk.z].map(|v| v.div_euclid(edge));
    let mut sorted = chunks.to_vec();
    sorted.sort_unstable_by_key(|chunk| (position(chunk), *chunk));
    sorted.dedup();
    sorted
        .chunk_by(|a, b| position(a) == position(b))
        .map(|tile| Tile { position: position(&tile[0]), chunks: tile.to_vec() })
        .collect()
}

/// The transform from voxels to the units of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExportFrame {
    /// Metres (or other units of the file) per voxel.
    pub voxel_size_m: f64,
    /// The min corner of this voxel is the origin of the file. Objects more than 2¹⁸ voxels from it
    /// are placed in f64, since f32 would round their vertices to 1/32 of a voxel and more.
    pub origin: VoxelPos,
}

/// Farthest from the origin of a file that positions are f32, voxels.
const MAX_F32_VOXELS: i64 = 1 << 18;

/// Voxels of which the corners of far objects are multiples.
const OBJECT_CORNER_VOXELS: i32 = 32;

impl Default for ExportFrame {
    /// One metre per voxel, from the origin of the world.
    fn default() -> ExportFrame {
        ExportFrame { voxel_size_m: 1.0, origin: VoxelPos::ZERO }
    }
}

impl ExportFrame {
    /// Converts a position of the mesh of a block of cells of mip `mip` to voxels from the origin.
    /// Exact.
    pub(crate) fn voxels_at(&self, mip: u8, block: Region, p: [f32; 3]) -> [f64; 3] {
        let min = block.min.to_array();
        let origin = self.origin.to_array();
        let cell = 2_f64.powi(mip.into());
        std::array::from_fn(|axis| {
            (f64::from(min[axis]) + f64::from(p[axis])) * cell - f64::from(origin[axis])
        })
    }

    /// Converts a position of the mesh of a block of voxels, in f64.
    pub(crate) fn position(&self, block: Region, p: [f32; 3]) -> [f64; 3] {
        self.voxels_at(0, block, p).map(|voxels| voxels * self.voxel_size_m)
    }

    /// Returns the digits of a coordinate in units of the file: those of an f32 near the origin,
    /// all of them where f32 is too coarse.
    pub(crate) fn digits(&self, coordinate: f64) -> String {
        match coordinate.abs() <= MAX_F32_VOXELS as f64 * self.voxel_size_m {
            true => (coordinate as f32).to_string(),
            false => coordinate.to_string(),
        }
    }

    /// Converts a position of the mesh of a block of cells of mip `mip`. Rounds once, after the
    /// sum, so that all blocks that share a vertex write the same bits.
    pub(crate) fn position_at(&self, mip: u8, block: Region, p: [f32; 3]) -> [f32; 3] {
        self.voxels_at(mip, block, p).map(|voxels| (voxels * self.voxel_size_m) as f32)
    }

    /// Returns the frame of an object whose lowest voxel is `min`: this one, or if that is too far
    /// from its origin for f32, one whose origin is near the object.
    pub(crate) fn of_object(&self, min: VoxelPos) -> ExportFrame {
        let from_origin =
            |axis: usize| i64::from(min.to_array()[axis]) - i64::from(self.origin.to_array()[axis]);
        match (0..3).all(|axis| from_origin(axis).abs() <= MAX_F32_VOXELS) {
            true => *self,
            false => {
                let corner = min.to_array().map(|v| v & -OBJECT_CORNER_VOXELS);
                ExportFrame { origin: corner.into(), ..*self }
            }
        }
    }

    /// Returns the distance from the origin of this frame to that of another, in units of the file.
    pub(crate) fn way_to(&self, other: &ExportFrame) -> [f64; 3] {
        let (from, to) = (self.origin.to_array(), other.origin.to_array());
        [0, 1, 2].map(|axis| (f64::from(to[axis]) - f64::from(from[axis])) * self.voxel_size_m)
    }
}

/// Vertex indices of triangles, by the material behind them. Reusable.
#[derive(Debug)]
pub(crate) struct TrianglesByMaterial {
    lists: Vec<Vec<u32>>,
}

impl Default for TrianglesByMaterial {
    fn default() -> TrianglesByMaterial {
        TrianglesByMaterial { lists: vec![Vec::new(); 256] }
    }
}

impl TrianglesByMaterial {
    pub(crate) fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
    }

    /// Adds the triangles of a surface whose first vertex has index `first`.
    pub(crate) fn add(&mut self, surface: &Surface, first: u32) {
        for (triangle, material) in surface.triangles().zip(surface.triangle_materials()) {
            self.lists[usize::from(material)].extend(triangle.map(|index| index + first));
        }
    }

    /// Returns the materials that have triangles, ascending, with their vertex indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, &[u32])> {
        let lists = self.lists.iter().enumerate();
        lists.filter(|(_, list)| !list.is_empty()).map(|(id, list)| (id as u8, &list[..]))
    }
}

/// Normalizes a normal; zero and non-finite normals become +Y, since the formats need unit vectors.
pub(crate) fn unit(normal: [f32; 3]) -> [f32; 3] {
    let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt();
    if (length - 1.0).abs() < 1e-5 {
        return normal;
    }
    // False for zero and NaN.
    if length > 1e-20 && length.is_finite() { normal.map(|v| v / length) } else { [0.0, 1.0, 0.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_grouped_by_floor_division() {
        let chunks = [[3, 0, 0], [-1, 0, 0], [4, 0, 0], [0, -1, 3], [0, 0, 0], [0, 0, 0]];
        let tiles = group_into_tiles(&chunks.map(|[x, y, z]| ChunkPos::new(x, y, z)), 4);
        let summary: Vec<_> = tiles.iter().map(|tile| (tile.position, tile.chunks.len())).collect();
        assert_eq!(summary, [([-1, 0, 0], 1), ([0, -1, 0], 1), ([0, 0, 0], 2), ([1, 0, 0], 1)]);
        assert_eq!(tiles[0].name(), "tile -1 0 0");
    }

    #[test]
    fn the_frame_translates_then_scales() {
        let frame = ExportFrame { voxel_size_m: 0.5, origin: VoxelPos::new(1 << 29, 0, -4) };
        let block = Region::new([(1 << 29) + 32, 0, -32], [(1 << 29) + 64, 32, 0]);
        assert_eq!(frame.position(block, [0.25, 1.0, 2.0]), [16.125, 0.5, -13.0]);
        let far = ExportFrame { voxel_size_m: 1.12, origin: VoxelPos::ZERO };
        let corner = f64::from((1 << 29) + 32);
        assert_eq!(far.position(block, [0.25, 0.0, 0.0])[0], (corner + 0.25) * 1.12);
        let digits = [0.1, 16.125, 1_073_741_824.0, 1_073_741_824.1].map(|v| far.digits(v));
        assert_eq!(digits, ["0.1", "16.125", "1073741824", "1073741824.1"]);
        // The same points in cells of mip 2.
        let coarse = Region::new([(1 << 27) + 8, 0, -8], [(1 << 27) + 40, 32, 24]);
        let point = frame.position_at(2, coarse, [0.0625, 0.25, 0.5]);
        assert_eq!(point, [16.125, 0.5, -13.0]);
    }

    #[test]
    fn far_objects_have_origins_of_their_own() {
        let frame = ExportFrame { voxel_size_m: 0.5, origin: VoxelPos::new(7, 0, 0) };
        assert_eq!(frame.of_object(VoxelPos::new(7 + (1 << 18), 0, -9)), frame);
        for far in [-(1 << 30), (1 << 30) - 64, 1 << 19] {
            let object = frame.of_object(VoxelPos::new(far + 3, 5, 0));
            assert_eq!(object.origin, VoxelPos::new(far, 0, 0));
            assert_eq!(frame.way_to(&object), [(f64::from(far) - 7.0) * 0.5, 0.0, 0.0]);
        }
    }

    #[test]
    fn normals_are_unit_vectors() {
        assert_eq!(unit([0.0, 0.0, -1.0]), [0.0, 0.0, -1.0]);
        assert_eq!(unit([0.0, 3.0, 4.0]), [0.0, 0.6, 0.8]);
        assert_eq!(unit([0.0; 3]), [0.0, 1.0, 0.0]);
        assert_eq!(unit([f32::NAN, 0.0, 0.0]), [0.0, 1.0, 0.0]);
    }
}
