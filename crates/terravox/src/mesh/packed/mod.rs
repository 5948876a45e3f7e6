//! Surfaces in GPU buffer formats: one interleaved vertex of 16 bytes, indices of 2 or 4 bytes,
//! and 12 more bytes per vertex where it morphs.
//!
//! Positions are lossless. All that a mesher writes lies on a lattice of 2⁻¹⁵ of a cell of its
//! block (1/4096 of the finest cell that may touch it, [`MAX_MIP_STEPS`](super::MAX_MIP_STEPS)
//! mips finer), so 22 bits per axis hold −32 to 96 cells exactly: a block, a group of 2³ blocks,
//! and the farthest targets beyond. 16 bits are not enough: over 64 cells their step is 1/1024 of
//! a cell, four times that of the lattice of one mip, and beside a finer block the two sides would
//! round one vertex to different positions, which is a crack.
//!
//! Weights are those of at most eight cells, so the numbers of cells encode them exactly, in
//! 10 bits. Normals are octahedral, 10 bits per axis, at most 0.24° off. Everything depends on
//! the vertex alone, so blocks that share one agree.
//!
//! Source: Cigolle et al., "A Survey of Efficient Representations for Independent Unit
//! Vectors" (JCGT 2014) for the normals. `docs/gpu.md` has the bytes and how to draw them.

use super::morph::MorphTargets;
use super::surface::Surface;

/// Functions in WGSL that unpack what this module packs:
/// `unpack_vertex(vec4<u32>) -> UnpackedVertex` and
/// `unpack_target(vec3<u32>) -> UnpackedTarget`. Prepend it to the source of a shader.
pub const UNPACK_WGSL: &str = include_str!("unpack.wgsl");

/// Steps of a position per cell.
const STEPS_PER_CELL: f32 = 32768.0;

/// The lowest position that can be packed, cells.
const MIN_POSITION_CELLS: f32 = -32.0;

/// Bits of a position along one axis; the rest of its word holds other fields.
const POSITION_BITS: u32 = 22;

/// The code for 0 in the 10 bits of a normal's component.
const NORMAL_ZERO: f32 = 511.0;

/// A vertex in 16 bytes. Cast to bytes with [`PackedVertex::to_bytes`] or feature `bytemuck`;
/// in a shader it is a `vec4<u32>` (`Uint32x4`) that [`UNPACK_WGSL`] unpacks.
///
/// | bytes | bits | |
/// |---|---|---|
/// | 0–3 | 0–21 | x: (x + 32) · 2¹⁵, in cells from the mesh's min corner |
/// | | 22–31 | normal, along x |
/// | 4–7 | 0–21 | y, as x |
/// | | 22–31 | normal, along z |
/// | 8–11 | 0–21 | z, as x |
/// | | 22–24 | number of cells of the first material, less 1 |
/// | | 25–27, 28–29, 30–31 | numbers of cells of the second, third and fourth |
/// | 12–15 | | material ids |
///
/// ```
/// use terravox::mesh::PackedVertex;
///
/// let vertex = PackedVertex::new([31.25, -0.5, 1.0 / 32768.0], [0.0, 1.0, 0.0], [2, 8, 0, 0], [170, 85, 0, 0]);
/// assert_eq!(vertex.position(), [31.25, -0.5, 1.0 / 32768.0]);
/// assert_eq!(vertex.normal(), [0.0, 1.0, 0.0]);
/// assert_eq!((vertex.materials, vertex.weights()), ([2, 8, 0, 0], [170, 85, 0, 0]));
/// assert_eq!(vertex.to_bytes().len(), 16);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct PackedVertex {
    /// Position, normal and numbers of cells, as in the table above.
    pub words: [u32; 3],
    /// Up to four material ids, those of the most cells first.
    pub materials: [u8; 4],
}

/// The morph target of a vertex in 12 bytes, for a second vertex buffer beside that of
/// [`PackedVertex`]; in a shader a `vec3<u32>` (`Uint32x3`) that [`UNPACK_WGSL`] unpacks.
///
/// | bytes | bits | |
/// |---|---|---|
/// | 0–3, 4–7, 8–11 | 0–21 | x, y, z as in [`PackedVertex`] |
/// | 0–3, 4–7 | 22–31 | normal, as in [`PackedVertex`] |
/// | 8–11 | 22–31 | step ([`MorphTargets::steps`]) |
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct PackedTarget {
    /// Position, normal and step, as in the table above.
    pub words: [u32; 3],
}

/// Triangles as vertex numbers of the smallest type that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackedIndices {
    /// For at most 65,535 vertices. The index 65,535, which restarts strips, does not occur.
    U16(Vec<u16>),
    /// For more vertices.
    U32(Vec<u32>),
}

/// A surface in GPU buffer formats. Reuse it for other surfaces: see [`Surface::pack`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedSurface {
    /// The vertices.
    pub vertices: Vec<PackedVertex>,
    /// One per vertex if the surface has [`targets`](Surface::targets), else empty.
    pub targets: Vec<PackedTarget>,
    /// Three per triangle, counter-clockwise seen from outside.
    pub indices: PackedIndices,
}

impl PackedVertex {
    /// Packs a vertex of a [`Surface`]. Everything a mesher writes is kept exactly, except
    /// normals. Other positions are rounded to 2⁻¹⁵ of a cell, other weights to weights of at
    /// most eight cells, each at most 32/255 off. Weights must be sorted, largest first.
    /// A zero or non-finite normal becomes +y.
    ///
    /// # Panics
    /// If the position is NaN or not from −32 to 96 cells.
    pub fn new(
        position: [f32; 3],
        normal: [f32; 3],
        materials: [u8; 4],
        weights: [u8; 4],
    ) -> PackedVertex {
        let [x, y, z] = position_words(position);
        let [u, v] = octahedral(normal);
        PackedVertex { words: [x | u, y | v, z | cell_counts(weights)], materials }
    }

    /// Returns the position, in cells from the mesh's min corner. Exact.
    pub fn position(&self) -> [f32; 3] {
        position(self.words)
    }

    /// Returns the unit normal.
    pub fn normal(&self) -> [f32; 3] {
        normal(self.words)
    }

    /// Returns the weights of the materials, largest first, summing to 255.
    pub fn weights(&self) -> [u8; 4] {
        let word = self.words[2];
        weights_of([(word >> 22 & 7) + 1, word >> 25 & 7, word >> 28 & 3, word >> 30])
    }

    /// Returns the bytes for the GPU, little-endian.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        for (out, word) in bytes.chunks_exact_mut(4).zip(self.words) {
            out.copy_from_slice(&word.to_le_bytes());
        }
        bytes[12..].copy_from_slice(&self.materials);
        bytes
    }
}

impl PackedTarget {
    /// Packs a target of [`MorphTargets`]. Rounds as [`PackedVertex::new`] does.
    ///
    /// # Panics
    /// If the position is NaN or not from −32 to 96 cells.
    pub fn new(position: [f32; 3], normal: [f32; 3], step: u8) -> PackedTarget {
        let [x, y, z] = position_words(position);
        let [u, v] = octahedral(normal);
        PackedTarget { words: [x | u, y | v, z | u32::from(step) << POSITION_BITS] }
    }

    /// Returns the position, in cells from the mesh's min corner. Exact.
    pub fn position(&self) -> [f32; 3] {
        position(self.words)
    }

    /// Returns the unit normal.
    pub fn normal(&self) -> [f32; 3] {
        normal(self.words)
    }

    /// Returns by how many steps the vertex's mip is coarser than its mesh.
    pub fn step(&self) -> u8 {
        (self.words[2] >> POSITION_BITS) as u8
    }

    /// Returns the bytes for the GPU, little-endian.
    pub fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        for (out, word) in bytes.chunks_exact_mut(4).zip(self.words) {
            out.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

impl Default for PackedIndices {
    fn default() -> PackedIndices {
        PackedIndices::U16(Vec::new())
    }
}

impl PackedIndices {
    /// Returns the number of indices.
    pub fn len(&self) -> usize {
        match self {
            PackedIndices::U16(indices) => indices.len(),
            PackedIndices::U32(indices) => indices.len(),
        }
    }

    /// Whether there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns index number `at`.
    ///
    /// # Panics
    /// If `at` is not below [`PackedIndices::len`].
    pub fn get(&self, at: usize) -> u32 {
        match self {
            PackedIndices::U16(indices) => indices[at].into(),
            PackedIndices::U32(indices) => indices[at],
        }
    }

    /// Appends the bytes for the GPU, little-endian. Two zero bytes follow an odd number of 2-byte
    /// indices, since GPU copies must be multiples of four bytes.
    pub fn append_bytes(&self, out: &mut Vec<u8>) {
        match self {
            PackedIndices::U16(indices) => {
                out.extend(indices.iter().flat_map(|index| index.to_le_bytes()));
                if indices.len() % 2 == 1 {
                    out.extend([0; 2]);
                }
            }
            PackedIndices::U32(indices) => {
                out.extend(indices.iter().flat_map(|index| index.to_le_bytes()));
            }
        }
    }

    /// Replaces the indices, reusing the memory if the type stays the same.
    fn set(&mut self, indices: &[u32], vertex_count: usize) {
        if vertex_count <= usize::from(u16::MAX) {
            let mut narrow = match std::mem::take(self) {
                PackedIndices::U16(narrow) => narrow,
                PackedIndices::U32(_) => Vec::new(),
            };
            narrow.clear();
            narrow.extend(indices.iter().map(|&index| index as u16));
            *self = PackedIndices::U16(narrow);
        } else {
            let mut wide = match std::mem::take(self) {
                PackedIndices::U32(wide) => wide,
                PackedIndices::U16(_) => Vec::new(),
            };
            wide.clear();
            wide.extend_from_slice(indices);
            *self = PackedIndices::U32(wide);
        }
    }
}

impl PackedSurface {
    /// Returns the bytes per vertex, including its target if there are targets.
    pub fn bytes_per_vertex(&self) -> usize {
        let target = if self.targets.is_empty() { 0 } else { size_of::<PackedTarget>() };
        size_of::<PackedVertex>() + target
    }
}

impl Surface {
    /// Packs the surface for the GPU. Replaces the content of `out` and reuses its memory.
    ///
    /// # Panics
    /// If a position is NaN or not from −32 to 96 cells. Meshes of blocks of at most
    /// [`MAX_EDGE`](super::MAX_EDGE) cells, and joined groups of 2³ blocks as a
    /// [`LodView`](crate::lod) shows them, are always within.
    ///
    /// ```
    /// use terravox::generate::fill_sdf;
    /// use terravox::mesh::{BlockMesh, Mesher, PAD, PackedIndices, PackedSurface};
    /// use terravox::voxel::{DenseBox, MaterialTable, Region};
    ///
    /// let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]).grow(PAD));
    /// fill_sdf(&mut cells, 0, |[x, y, _]| 6.0 + 0.02 * x * x - y, |_| 2);
    /// let mut mesh = BlockMesh::new();
    /// Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
    ///
    /// let mut packed = PackedSurface::default(); // keep it and reuse it
    /// mesh.solid.pack(&mut packed);
    /// assert_eq!(packed.vertices[7].position(), mesh.solid.positions[7]);
    /// assert!(matches!(packed.indices, PackedIndices::U16(_)));
    /// ```
    pub fn pack(&self, out: &mut PackedSurface) {
        let count = self.vertex_count();
        let shares = self.materials.iter().zip(&self.weights);
        let vertices = self.positions.iter().zip(&self.normals).zip(shares);
        out.vertices.clear();
        out.vertices.extend(vertices.map(|((&position, &normal), (&materials, &weights))| {
            PackedVertex::new(position, normal, materials, weights)
        }));
        assert_eq!(out.vertices.len(), count, "normals, materials or weights are missing");
        let MorphTargets { positions, normals, steps } = &self.targets;
        let targets = positions.iter().zip(normals).zip(steps);
        out.targets.clear();
        out.targets.extend(targets.map(|((&p, &n), &step)| PackedTarget::new(p, n, step)));
        out.indices.set(&self.indices, count);
    }
}

/// Encodes a position in the low bits of three words.
#[inline]
fn position_words(position: [f32; 3]) -> [u32; 3] {
    // Whole numbers below 2²³ and their halves are exact in f32.
    let steps = position.map(|p| (p - MIN_POSITION_CELLS) * STEPS_PER_CELL + 0.5);
    let most = (1u32 << POSITION_BITS) as f32;
    let fits = steps.iter().all(|&q| q >= 0.0 && q < most);
    assert!(fits, "position {position:?} is not from -32 to 96 cells");
    steps.map(|q| q as u32)
}

fn position(words: [u32; 3]) -> [f32; 3] {
    words.map(|word| {
        (word & ((1 << POSITION_BITS) - 1)) as f32 * (1.0 / STEPS_PER_CELL) + MIN_POSITION_CELLS
    })
}

/// Encodes a direction octahedrally, unfolded across y, in the high bits of two words.
#[inline]
fn octahedral([x, y, z]: [f32; 3]) -> [u32; 2] {
    let length = (x.abs() + y.abs()) + z.abs();
    let is_direction = length > 0.0 && length < f32::INFINITY;
    let (x, y, z) = if is_direction { (x / length, y, z / length) } else { (0.0, 1.0, 0.0) };
    let signed = |size: f32, like: f32| if like < 0.0 { -size } else { size };
    let flat = match y < 0.0 {
        true => [signed(1.0 - z.abs(), x), signed(1.0 - x.abs(), z)],
        false => [x, z],
    };
    flat.map(|v| ((v * NORMAL_ZERO + (NORMAL_ZERO + 0.5)) as u32) << POSITION_BITS)
}

fn normal([x, z, _]: [u32; 3]) -> [f32; 3] {
    let [x, z] = [x, z].map(|word| (word >> POSITION_BITS) as f32 - NORMAL_ZERO);
    let y = NORMAL_ZERO - x.abs() - z.abs();
    let fold = (-y).max(0.0);
    let folded = |v: f32| if v >= 0.0 { v - fold } else { v + fold };
    super::rules::place::unit_normal([folded(x), y, folded(z)], [0.0, 1.0, 0.0])
}

/// Returns the weights for numbers of cells, as the mesher computes them.
fn weights_of(counts: [u32; 4]) -> [u8; 4] {
    let total: u32 = counts.iter().sum();
    let mut weights = counts.map(|count| (255 * count / total) as u8);
    weights[0] = 255 - weights[1] - weights[2] - weights[3];
    weights
}

/// Encodes weights as numbers of cells in the high bits of a word.
#[inline]
fn cell_counts(weights: [u8; 4]) -> u32 {
    if weights[1] == 0 {
        return 0;
    }
    let counts = nearest_counts(weights);
    let [a, b, c, d] = counts;
    (a - 1) << 22 | b << 25 | c << 28 | d << 30
}

/// Returns the fewest cells that have these weights; if no eight or fewer do, the nearest.
fn nearest_counts(weights: [u8; 4]) -> [u32; 4] {
    for total in 2..=8 {
        // Weights are rounded down, by less than 1/255.
        let [_, b, c, d] = weights.map(|w| (u32::from(w) * total + 127 + total / 2) / 255);
        let counts = [total.saturating_sub(b + c + d), b, c, d];
        if counts[0] > 0 && c <= 2 && d <= 2 && weights_of(counts) == weights {
            return counts;
        }
    }
    let mut nearest = (u32::MAX, [1, 0, 0, 0]);
    for code in 0..8 * 5 * 3 * 3 {
        let counts = [code / 45 + 1, code / 9 % 5, code / 3 % 3, code % 3];
        let off = |(a, b): (u8, u8)| u32::from(a.abs_diff(b)).pow(2);
        let off = weights_of(counts).into_iter().zip(weights).map(off).sum();
        if counts.iter().sum::<u32>() <= 8 && off < nearest.0 {
            nearest = (off, counts);
        }
    }
    nearest.1
}

#[cfg(test)]
mod tests;
