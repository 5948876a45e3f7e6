//! Smooth normals, colours and materials at the corners of the collider's triangles. The collider
//! does not store them, so each block is meshed again when it is first shaded.

use glam::Vec3;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use terravox::collide::{CollisionBlock, Hit};
use terravox::mesh::{BlockMesh, Mesher, PAD, Shores, Surface};
use terravox::voxel::{ChunkPos, DenseBox, Snapshot};

/// Blocks along the edge of a chunk.
const BLOCKS_PER_EDGE: i32 = 4;

const BLOCKS_PER_CHUNK: usize = 64;

/// A corner of a triangle.
#[derive(Debug)]
pub(crate) struct SurfaceVertex {
    /// Cells from the block's min corner.
    pub position: Vec3,
    /// Unit, out of the ground or water.
    pub normal: Vec3,
    /// Linear.
    pub colour: Vec3,
    /// Up to four material ids.
    pub materials: [u8; 4],
    /// Weights of the materials; they sum to 255.
    pub weights: [u8; 4],
    /// Cached sky visibility: 0 while unknown, else 1 to 255.
    sky: AtomicU8,
}

impl SurfaceVertex {
    /// Returns a vertex of unknown sky visibility, without materials.
    pub fn new(position: Vec3, normal: Vec3, colour: Vec3) -> SurfaceVertex {
        let [materials, weights] = [[0; 4]; 2];
        SurfaceVertex { position, normal, colour, materials, weights, sky: AtomicU8::new(0) }
    }

    /// Sets the materials.
    pub fn with_materials(self, materials: [u8; 4], weights: [u8; 4]) -> SurfaceVertex {
        SurfaceVertex { materials, weights, ..self }
    }

    /// Returns the share of the sky that the vertex sees, 0 to 1; `compute` is called the first
    /// time. Threads that race store the same value.
    pub fn sky_visibility(&self, compute: impl FnOnce() -> f32) -> f32 {
        let mut sky = self.sky.load(Ordering::Relaxed);
        if sky == 0 {
            sky = 1 + (compute().clamp(0.0, 1.0) * 254.0 + 0.5) as u8;
            self.sky.store(sky, Ordering::Relaxed);
        }
        f32::from(sky - 1) / 254.0
    }
}

/// The vertices of a block, in the mesher's order.
#[derive(Debug, Default)]
struct BlockVertices {
    solid: Box<[SurfaceVertex]>,
    liquid: Box<[SurfaceVertex]>,
}

/// Blocks of a chunk, x fastest, then z, then y.
type ChunkVertices = [OnceLock<Box<BlockVertices>>; BLOCKS_PER_CHUNK];

/// Caches the vertices of a scene's blocks, by chunk; each block is meshed at most once.
pub(crate) struct VertexCache {
    chunks: FxHashMap<ChunkPos, Box<ChunkVertices>>,
}

/// Scratch memory of one thread.
#[derive(Default)]
pub(crate) struct RemeshScratch {
    mesher: Mesher,
    shores: Shores,
    cells: DenseBox,
    mesh: BlockMesh,
}

impl VertexCache {
    /// Returns an empty cache for the blocks of these chunks.
    pub fn new(chunks: Vec<ChunkPos>) -> VertexCache {
        let empty = || Box::new([const { OnceLock::new() }; BLOCKS_PER_CHUNK]);
        VertexCache { chunks: chunks.into_iter().map(|chunk| (chunk, empty())).collect() }
    }

    /// Returns the corners of the triangle that a ray hit; `None` if its chunk is not covered,
    /// or the block's surface has changed since the collider was updated.
    pub fn corners(
        &self,
        hit: &Hit,
        snapshot: &Snapshot,
        palette: &[Vec3; 256],
        scratch: &mut RemeshScratch,
    ) -> Option<[&SurfaceVertex; 3]> {
        let CollisionBlock { x, y, z } = hit.block;
        let chunk = self.chunks.get(&ChunkPos::new(x >> 2, y >> 2, z >> 2))?;
        let local = |v: i32| v & (BLOCKS_PER_EDGE - 1);
        let index = local(x) + BLOCKS_PER_EDGE * (local(z) + BLOCKS_PER_EDGE * local(y));
        let block = chunk[index as usize]
            .get_or_init(|| Box::new(scratch.mesh_block(snapshot, palette, hit.block)));
        let vertices = if hit.is_liquid { &block.liquid } else { &block.solid };
        let [a, b, c] = hit.triangle.vertices.map(|number| vertices.get(usize::from(number)));
        Some([a?, b?, c?])
    }
}

impl RemeshScratch {
    fn mesh_block(
        &mut self,
        snapshot: &Snapshot,
        palette: &[Vec3; 256],
        block: CollisionBlock,
    ) -> BlockVertices {
        let RemeshScratch { mesher, shores, cells, mesh } = self;
        if shores.read(snapshot, block.region().grow(PAD), 0, cells).is_err() {
            return BlockVertices::default();
        }
        mesher.mesh(cells, snapshot.materials(), mesh);
        let [solid, liquid] =
            [&mesh.solid, &mesh.liquid].map(|surface| vertices_of(surface, palette));
        BlockVertices { solid, liquid }
    }
}

/// Returns the vertices of a surface.
pub(crate) fn vertices_of(surface: &Surface, palette: &[Vec3; 256]) -> Box<[SurfaceVertex]> {
    let colour = |i: usize| {
        let parts = surface.materials[i].iter().zip(surface.weights[i]);
        parts.map(|(&id, w)| palette[usize::from(id)] * (f32::from(w) / 255.0)).sum()
    };
    let vertex = |i: usize| {
        let [position, normal] = [surface.positions[i], surface.normals[i]].map(Vec3::from);
        let vertex = SurfaceVertex::new(position, normal, colour(i));
        vertex.with_materials(surface.materials[i], surface.weights[i])
    };
    (0..surface.vertex_count()).map(vertex).collect()
}
