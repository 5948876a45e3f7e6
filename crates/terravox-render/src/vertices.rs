//! What the collider does not know of its triangles: smooth normals and colours of the
//! corners, from meshing each block once more when something of it is first shaded.

use glam::Vec3;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use terravox::collide::{Block, Hit};
use terravox::mesh::{BlockMesh, Mesher, PAD, Shores, Surface};
use terravox::voxel::{ChunkPos, DenseBox, Snapshot};

/// Blocks along the edge of a chunk.
const BLOCKS: i32 = 4;

/// A corner of a triangle.
#[derive(Debug)]
pub struct Vertex {
    /// Cells from the block's lowest corner.
    pub position: Vec3,
    /// Unit, out of the ground or water.
    pub normal: Vec3,
    /// Linear.
    pub colour: Vec3,
    /// Up to four, by their weights, which sum to 255.
    pub materials: [u8; 4],
    /// Of the materials.
    pub weights: [u8; 4],
    /// The share of the sky that it sees: 0 while nobody asked, else 1 to 255.
    sky: AtomicU8,
}

impl Vertex {
    /// A vertex whose sky nobody asked for.
    pub fn new(position: Vec3, normal: Vec3, colour: Vec3) -> Vertex {
        let [materials, weights] = [[0; 4]; 2];
        Vertex { position, normal, colour, materials, weights, sky: AtomicU8::new(0) }
    }

    /// It, of some materials.
    pub fn of_materials(self, materials: [u8; 4], weights: [u8; 4]) -> Vertex {
        Vertex { materials, weights, ..self }
    }

    /// The share of the sky that it sees, 0 to 1, found by `look` the first time. Threads
    /// that ask at the same time find the same.
    pub fn sky(&self, look: impl FnOnce() -> f32) -> f32 {
        let mut sky = self.sky.load(Ordering::Relaxed);
        if sky == 0 {
            sky = 1 + (look().clamp(0.0, 1.0) * 254.0 + 0.5) as u8;
            self.sky.store(sky, Ordering::Relaxed);
        }
        f32::from(sky - 1) / 254.0
    }
}

/// The vertices of a block, numbered as the mesher numbers them.
#[derive(Debug, Default)]
struct BlockVertices {
    solid: Box<[Vertex]>,
    liquid: Box<[Vertex]>,
}

/// Blocks of a chunk, x fastest, then z, then y.
type Chunk = [OnceLock<Box<BlockVertices>>; 64];

/// Vertices of the blocks of a scene, by chunk; each block is meshed once.
pub struct Vertices {
    chunks: FxHashMap<ChunkPos, Box<Chunk>>,
}

/// Memory that meshing needs, one a thread.
#[derive(Default)]
pub struct MeshScratch {
    mesher: Mesher,
    shores: Shores,
    cells: DenseBox,
    mesh: BlockMesh,
}

impl Vertices {
    /// Room for the blocks of some chunks, none of them meshed.
    pub fn new(chunks: Vec<ChunkPos>) -> Vertices {
        let empty = || Box::new([const { OnceLock::new() }; 64]);
        Vertices { chunks: chunks.into_iter().map(|chunk| (chunk, empty())).collect() }
    }

    /// The corners of the triangle that a ray met; `None` if its block is not known here
    /// or, being edited, has another surface than the collider's.
    pub fn corners(
        &self,
        hit: &Hit,
        snapshot: &Snapshot,
        palette: &[Vec3; 256],
        scratch: &mut MeshScratch,
    ) -> Option<[&Vertex; 3]> {
        let Block { x, y, z } = hit.block;
        let chunk = self.chunks.get(&ChunkPos::new(x >> 2, y >> 2, z >> 2))?;
        let local = |v: i32| v & (BLOCKS - 1);
        let index = local(x) + BLOCKS * (local(z) + BLOCKS * local(y));
        let block = chunk[index as usize]
            .get_or_init(|| Box::new(scratch.vertices(snapshot, palette, hit.block)));
        let vertices = if hit.liquid { &block.liquid } else { &block.solid };
        let [a, b, c] = hit.triangle.vertices.map(|number| vertices.get(usize::from(number)));
        Some([a?, b?, c?])
    }
}

impl MeshScratch {
    fn vertices(
        &mut self,
        snapshot: &Snapshot,
        palette: &[Vec3; 256],
        block: Block,
    ) -> BlockVertices {
        let MeshScratch { mesher, shores, cells, mesh } = self;
        if shores.read(snapshot, block.region().grow(PAD), 0, cells).is_err() {
            return BlockVertices::default();
        }
        mesher.mesh(cells, snapshot.materials(), mesh);
        let [solid, liquid] = [&mesh.solid, &mesh.liquid].map(|surface| of(surface, palette));
        BlockVertices { solid, liquid }
    }
}

/// The vertices of a surface.
pub(crate) fn of(surface: &Surface, palette: &[Vec3; 256]) -> Box<[Vertex]> {
    let colour = |i: usize| {
        let parts = surface.materials[i].iter().zip(surface.weights[i]);
        parts.map(|(&id, w)| palette[usize::from(id)] * (f32::from(w) / 255.0)).sum()
    };
    let vertex = |i: usize| {
        let [position, normal] = [surface.positions[i], surface.normals[i]].map(Vec3::from);
        let vertex = Vertex::new(position, normal, colour(i));
        vertex.of_materials(surface.materials[i], surface.weights[i])
    };
    (0..surface.vertex_count()).map(vertex).collect()
}
