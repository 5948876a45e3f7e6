//! What the mesher writes: indexed quads in caller-owned, reusable buffers.

use crate::voxel::{Region, VoxelPos};

use super::morph::{MorphTargets, morphed, morphed_normal, rounded_move};
use super::rules::place::unit_normal;

/// The two surfaces of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockMesh {
    /// The cells whose faces the mesh has, in cells of the block's mip.
    pub block: Region,
    /// The boundary of the solid cells; closed together with the blocks around.
    pub solid: Surface,
    /// Where liquid meets air. Open: its rim lies inside the ground, at the waterline if the
    /// cells were read by [`Shores`](super::Shores).
    pub liquid: Surface,
}

impl BlockMesh {
    /// An empty mesh.
    pub fn new() -> BlockMesh {
        BlockMesh::default()
    }

    /// Clears both surfaces and keeps their memory.
    pub fn clear(&mut self) {
        self.block = Region::default();
        self.solid.clear();
        self.liquid.clear();
    }

    /// Returns the bytes of memory that both surfaces hold, their spare room included.
    ///
    /// ```
    /// assert_eq!(terravox::mesh::BlockMesh::new().heap_bytes(), 0);
    /// ```
    pub fn heap_bytes(&self) -> usize {
        self.solid.heap_bytes() + self.liquid.heap_bytes()
    }
}

/// Vertices as parallel arrays (`positions`, `normals`, `materials`, `weights`), and triangles,
/// most of them in pairs as quads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Positions in cells of the block's mip, from the block's min corner: exact multiples of
    /// 1/4096 of the finest cell that may touch the block (1/32768 of a cell of the block beside
    /// finer mips).
    pub positions: Vec<[f32; 3]>,
    /// Unit, pointing out of the ground or water.
    pub normals: Vec<[f32; 3]>,
    /// Up to four material ids; 0 where the weight is 0.
    pub materials: Vec<[u8; 4]>,
    /// Weights of `materials`, largest first, summing to 255.
    pub weights: Vec<[u8; 4]>,
    /// Six per quad: two triangles, counter-clockwise seen from outside. Then three per loose
    /// triangle.
    pub indices: Vec<u32>,
    /// One per quad: the material of the cell behind it.
    pub quad_materials: Vec<u8>,
    /// One per quad: its face, as x, y, z of the cell behind it, counted from the block's
    /// min corner, and the number of the face's direction (0 to 5: −x, +x, −y, +y, −z,
    /// +z). A face that had to be split is several quads. This tells to which voxel a point
    /// of the surface belongs.
    pub quad_faces: Vec<[u8; 4]>,
    /// Number of plain quads, which come first: each is a whole face, and no other sheet of
    /// the surface passes its corners. Vertices of plain quads are numbered by their corners,
    /// x fastest, then z, then y.
    pub plain_quads: usize,
    /// One per loose triangle: the material of the cell behind it. Only where blocks of
    /// different mips meet do some triangles not pair up as quads.
    pub loose_materials: Vec<u8>,
    /// One per vertex if the mesher was asked for keys, else empty.
    pub keys: Vec<VertexKey>,
    /// Where each vertex lies one mip up if the mesher was asked for targets, else empty.
    pub targets: MorphTargets,
    /// One per vertex on an edge or in a face, in their order: the four vertices whose mean it
    /// is.
    pub(crate) inner: Vec<[u32; 4]>,
}

impl Surface {
    /// Removes all vertices and triangles and keeps the memory.
    pub fn clear(&mut self) {
        self.positions.clear();
        self.normals.clear();
        self.materials.clear();
        self.weights.clear();
        self.clear_faces();
        self.loose_materials.clear();
        self.keys.clear();
        self.targets.clear();
        self.inner.clear();
    }

    /// Removes all triangles.
    pub(super) fn clear_faces(&mut self) {
        self.indices.clear();
        self.quad_materials.clear();
        self.quad_faces.clear();
        self.plain_quads = 0;
    }

    fn heap_bytes(&self) -> usize {
        fn of<T>(all: &Vec<T>) -> usize {
            all.capacity() * size_of::<T>()
        }
        // Without `..`, so that no field is forgotten.
        let Surface {
            positions,
            normals,
            materials,
            weights,
            indices,
            quad_materials,
            quad_faces,
            plain_quads: _,
            loose_materials,
            keys,
            targets,
            inner,
        } = self;
        let MorphTargets { positions: moved, normals: turned, steps } = targets;
        of(positions)
            + of(normals)
            + of(materials)
            + of(weights)
            + of(indices)
            + of(quad_materials)
            + of(quad_faces)
            + of(loose_materials)
            + of(keys)
            + of(inner)
            + of(moved)
            + of(turned)
            + of(steps)
    }

    /// Joins surfaces, each moved by an offset in cells. No quad of the result counts as plain:
    /// the vertices are not in order.
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

    /// Returns the two triangles of quad `quad`, as vertex numbers.
    ///
    /// # Panics
    /// If `quad` is not below [`Surface::quad_count`].
    pub fn quad(&self, quad: usize) -> [[u32; 3]; 2] {
        let i = &self.indices[6 * quad..6 * quad + 6];
        [[i[0], i[1], i[2]], [i[3], i[4], i[5]]]
    }

    /// Number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.indices.len() / 3
    }

    /// Returns the material behind each triangle.
    pub fn triangle_materials(&self) -> impl Iterator<Item = u8> + '_ {
        let quads = self.quad_materials.iter().flat_map(|&material| [material; 2]);
        quads.chain(self.loose_materials.iter().copied())
    }

    /// Returns the triangles, as vertex numbers: those of the quads, then loose ones.
    pub fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + '_ {
        self.indices.chunks_exact(3).map(|i| [i[0], i[1], i[2]])
    }
}

impl Surface {
    /// Moves all vertices toward their targets; `factor` returns 0 to 1 from the number of a
    /// vertex, its position and its step ([`MorphTargets::steps`]). Without targets nothing
    /// moves.
    pub fn morph(&mut self, mut factor: impl FnMut(usize, [f32; 3], u8) -> f32) {
        for i in 0..self.targets.positions.len() {
            let (position, step) = (self.positions[i], self.targets.steps[i]);
            let factor = factor(i, position, step);
            self.positions[i] = morphed(position, self.targets.positions[i], step, factor);
            self.normals[i] = morphed_normal(self.normals[i], self.targets.normals[i], factor);
        }
    }

    /// Appends the target of a vertex that is the mean of four others: it moves by the mean of
    /// their moves, in whole 1/4096 of a cell of the coarsest of their mips.
    pub(super) fn push_inner_target(&mut self, vertex: usize, of: [u32; 4]) {
        let of = of.map(|v| v as usize);
        let step = of.iter().map(|&v| self.targets.steps[v]).max().unwrap_or(0);
        let position = [0, 1, 2].map(|axis| {
            let moves = of.map(|v| self.targets.positions[v][axis] - self.positions[v][axis]);
            let mean = 0.25 * ((moves[0] + moves[1]) + (moves[2] + moves[3]));
            self.positions[vertex][axis] + rounded_move(mean, step)
        });
        let n = of.map(|v| self.targets.normals[v]);
        let sum = [0, 1, 2].map(|axis| (n[0][axis] + n[1][axis]) + (n[2][axis] + n[3][axis]));
        self.targets.push(position, unit_normal(sum, self.normals[vertex]), step);
    }

    /// Returns the corners of a quad rotated so that the diagonal from the first is the shorter.
    #[inline]
    pub(super) fn shorter_diagonal_first(&self, v: [u32; 4]) -> [u32; 4] {
        let p = v.map(|v| self.positions[v as usize]);
        let square = |a: usize, b: usize| {
            let d = [0, 1, 2].map(|axis| p[a][axis] - p[b][axis]);
            (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]
        };
        if square(0, 2) <= square(1, 3) { v } else { [v[1], v[2], v[3], v[0]] }
    }

    /// Compares two surfaces bit by bit and describes the first difference.
    #[doc(hidden)]
    pub fn first_difference(&self, other: &Surface) -> Option<String> {
        fn floats(name: &str, a: &[[f32; 3]], b: &[[f32; 3]]) -> Option<String> {
            let same = |(a, b): (&[f32; 3], &[f32; 3])| a.map(f32::to_bits) == b.map(f32::to_bits);
            if a.len() != b.len() {
                return Some(format!("{name}: {} and {} vertices", a.len(), b.len()));
            }
            let at = a.iter().zip(b).position(|pair| !same(pair))?;
            Some(format!("{name} {at}: {:?} and {:?}", a[at], b[at]))
        }
        fn values<T: PartialEq + std::fmt::Debug>(name: &str, a: &[T], b: &[T]) -> Option<String> {
            if a.len() != b.len() {
                return Some(format!("{name}: {} and {}", a.len(), b.len()));
            }
            let at = a.iter().zip(b).position(|(a, b)| a != b)?;
            Some(format!("{name} {at}: {:?} and {:?}", a[at], b[at]))
        }
        floats("position", &self.positions, &other.positions)
            .or_else(|| floats("normal", &self.normals, &other.normals))
            .or_else(|| values("materials", &self.materials, &other.materials))
            .or_else(|| values("weights", &self.weights, &other.weights))
            .or_else(|| values("index", &self.indices, &other.indices))
            .or_else(|| values("quad material", &self.quad_materials, &other.quad_materials))
            .or_else(|| values("quad face", &self.quad_faces, &other.quad_faces))
            .or_else(|| values("plain quads", &[self.plain_quads], &[other.plain_quads]))
            .or_else(|| values("loose", &self.loose_materials, &other.loose_materials))
            .or_else(|| values("key", &self.keys, &other.keys))
            .or_else(|| values("inner", &self.inner, &other.inner))
    }
}

/// Identifies a vertex of the world's surface: equal in all blocks that have the vertex, and
/// different for different vertices of one surface (solid or liquid).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VertexKey {
    /// The cell corner it belongs to: the min corner of cell `corner`; of voxel `corner`
    /// where blocks of all mips are welded ([`Mesher::mesh_mixed`](super::Mesher::mesh_mixed)).
    /// For a vertex on an edge or in a face, its min corner.
    pub corner: VoxelPos,
    /// Bit per axis (x 1, y 2, z 4) along which the vertex lies between `corner` and
    /// the next: 0 at a corner, one bit on an edge, two in a face.
    pub between: u8,
    /// At a corner the number of the sheet; on an edge the quadrant of its cell
    /// (bits 0, 1) and whether it is the upper of the edge's two vertices (bit 2).
    pub part: u8,
}
