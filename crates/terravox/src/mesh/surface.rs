//! What the mesher writes: indexed quads in caller-owned, reusable buffers.

use super::morph::MorphTargets;
use crate::voxel::{Region, VoxelPos};

/// The two surfaces of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockMesh {
    /// The cells whose faces the mesh shows, in cells of the block's mip.
    pub block: Region,
    /// Bounds the solid cells; closed when all blocks around are there.
    pub solid: Surface,
    /// Where liquid meets air; open, and its rim lies inside the ground. Reaches the waterline
    /// if the cells were read by [`Shores`](super::Shores).
    pub liquid: Surface,
}

impl BlockMesh {
    /// An empty mesh.
    pub fn new() -> BlockMesh {
        BlockMesh::default()
    }

    /// Drops both surfaces' contents and keeps their memory.
    pub fn clear(&mut self) {
        self.block = Region::default();
        self.solid.clear();
        self.liquid.clear();
    }
}

/// Vertices (one entry each in `positions`, `normals`, `materials`, `weights`) and
/// the quads between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Cells from the block's min corner, in cells of the block's mip. Multiples of
    /// 1/4096, so exact.
    pub positions: Vec<[f32; 3]>,
    /// Unit, pointing out of the ground or water.
    pub normals: Vec<[f32; 3]>,
    /// Up to four material ids; what has weight 0 is 0.
    pub materials: Vec<[u8; 4]>,
    /// Weights of `materials`, largest first, summing to 255.
    pub weights: Vec<[u8; 4]>,
    /// Six a quad: two triangles, counter-clockwise seen from outside. Then three a loose
    /// triangle.
    pub indices: Vec<u32>,
    /// One a quad: the material of the cell behind it.
    pub quad_materials: Vec<u8>,
    /// One a quad: the face it shows, as x, y, z of the cell behind it, counted from the
    /// block's min corner, and the number of the face's direction (0 to 5: −x, +x, −y,
    /// +y, −z, +z). A face that had to be split is several quads. Says which voxel a
    /// point of the surface belongs to.
    pub quad_faces: Vec<[u8; 4]>,
    /// How many quads, from the first on, are plain: each a whole face, at whose corners
    /// no other sheet of the surface passes. Vertices of plain quads are numbered by
    /// their corners, x fastest, then z, then y.
    pub plain_quads: usize,
    /// One a loose triangle: the material of the cell behind it. Only where blocks of
    /// different mips meet are there triangles that do not pair up as quads.
    pub loose_materials: Vec<u8>,
    /// One a vertex if the mesher was asked for keys, else empty.
    pub keys: Vec<VertexKey>,
    /// Where each vertex lies one level up if the mesher was asked for that, else empty.
    pub targets: MorphTargets,
    /// Of each vertex on an edge or in a face, in their order: the four vertices that it is
    /// the mean of.
    pub(crate) inner: Vec<[u32; 4]>,
}

impl Surface {
    /// Drops the contents and keeps the memory.
    pub fn clear(&mut self) {
        self.positions.clear();
        self.normals.clear();
        self.materials.clear();
        self.weights.clear();
        self.indices.clear();
        self.quad_materials.clear();
        self.quad_faces.clear();
        self.plain_quads = 0;
        self.loose_materials.clear();
        self.keys.clear();
        self.targets.clear();
        self.inner.clear();
    }

    /// Surfaces one after the other, each moved by so many cells. None of the quads counts
    /// as plain: their vertices are not in order.
    pub(crate) fn joined(parts: &[(&Surface, [u8; 3])]) -> Surface {
        let mut all = Surface::default();
        let mut loose = Vec::new();
        for (part, offset) in parts {
            let base = all.vertex_count() as u32;
            let moved = |p: &[f32; 3]| [0, 1, 2].map(|i| p[i] + f32::from(offset[i]));
            all.positions.extend(part.positions.iter().map(moved));
            all.normals.extend(&part.normals);
            all.materials.extend(&part.materials);
            all.weights.extend(&part.weights);
            let (quads, rest) = part.indices.split_at(6 * part.quad_count());
            all.indices.extend(quads.iter().map(|v| v + base));
            loose.extend(rest.iter().map(|v| v + base));
            all.quad_materials.extend(&part.quad_materials);
            let face = |&[x, y, z, direction]: &[u8; 4]| {
                [x + offset[0], y + offset[1], z + offset[2], direction]
            };
            all.quad_faces.extend(part.quad_faces.iter().map(face));
            all.loose_materials.extend(&part.loose_materials);
            all.keys.extend(&part.keys);
            all.targets.positions.extend(part.targets.positions.iter().map(moved));
            all.targets.normals.extend(&part.targets.normals);
            all.targets.steps.extend(&part.targets.steps);
        }
        all.indices.extend(loose);
        all
    }

    /// Whether there is no triangle.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Number of quads.
    pub fn quad_count(&self) -> usize {
        self.quad_materials.len()
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// The two triangles of quad `quad`, as vertex numbers.
    ///
    /// # Panics
    /// If there is no such quad.
    pub fn quad(&self, quad: usize) -> [[u32; 3]; 2] {
        let i = &self.indices[6 * quad..6 * quad + 6];
        [[i[0], i[1], i[2]], [i[3], i[4], i[5]]]
    }

    /// Number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.indices.len() / 3
    }

    /// The material behind each triangle.
    pub fn triangle_materials(&self) -> impl Iterator<Item = u8> + '_ {
        let quads = self.quad_materials.iter().flat_map(|&material| [material; 2]);
        quads.chain(self.loose_materials.iter().copied())
    }

    /// The triangles, as vertex numbers: those of the quads, then loose ones.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.indices.chunks_exact(3).map(|i| [i[0], i[1], i[2]])
    }
}

/// Which vertex of the world's surface a mesh vertex is: equal in all blocks that
/// show it, and different for different vertices of one surface (solid or liquid).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VertexKey {
    /// The cell corner it belongs to: the min corner of cell `corner`; of voxel `corner`
    /// where blocks of all mips are welded ([`Mesher::mesh_mixed`](super::Mesher::mesh_mixed)).
    /// For a vertex on an edge or in a face, the lowest corner of that.
    pub corner: VoxelPos,
    /// Bit per axis (x 1, y 2, z 4) along which the vertex lies between `corner` and
    /// the next: 0 at a corner, one bit on an edge, two in a face.
    pub between: u8,
    /// At a corner the number of the sheet; on an edge the quadrant of its cell
    /// (bits 0, 1) and whether it is the upper of the edge's two vertices (bit 2).
    pub part: u8,
}
