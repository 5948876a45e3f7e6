//! The cells of a generated chunk.

use terravox::voxel::{ChunkPos, DenseBox};

/// Edge of a chunk in voxels.
pub(super) const CHUNK_EDGE: usize = 1 << CHUNK_LOG2;

/// Log2 of [`CHUNK_EDGE`].
pub(super) const CHUNK_LOG2: u32 = 5;

/// The cells of a chunk.
pub enum ChunkCells {
    /// Full cells of one material.
    Uniform {
        /// Position of the chunk.
        chunk: ChunkPos,
        /// The material; not air.
        material: u8,
    },
    /// Cells of a whole chunk.
    Mixed(DenseBox),
}

impl ChunkCells {
    /// Returns the position of the chunk.
    pub fn position(&self) -> ChunkPos {
        match self {
            ChunkCells::Uniform { chunk, .. } => *chunk,
            ChunkCells::Mixed(cells) => cells.region().min.chunk(),
        }
    }

    /// Returns the cells, for [`VoxelGrid::write`](terravox::voxel::VoxelGrid::write). `uniform` is
    /// a reusable buffer for chunks of one material; it is only moved if it already holds that
    /// material.
    pub fn cells<'a>(&'a self, uniform: &'a mut DenseBox) -> &'a DenseBox {
        match self {
            ChunkCells::Mixed(cells) => cells,
            ChunkCells::Uniform { chunk, material } => {
                let region = chunk.region();
                let is_filled = uniform.region().size() == region.size()
                    && uniform.water().is_empty()
                    && uniform.materials()[0] == *material;
                if is_filled {
                    uniform.move_to(region.min);
                } else {
                    uniform.reset(region);
                    uniform.fill(*material);
                }
                uniform
            }
        }
    }
}
