//! Importing a heightmap into a grid.

use super::chunk_cells::CHUNK_LOG2;
use super::error::HeightmapError;
use super::heights::Heights;
use super::limits::MAX_IMPORT_CHUNKS;
use super::options::HeightmapOptions;
use super::relief::HeightmapRelief;
use rayon::prelude::*;
use terravox::voxel::{DenseBox, VoxelGrid};

/// Chunk columns generated before they are written; bounds memory.
const BATCH_CHUNK_COLUMNS: usize = 16;

/// The result of [`import()`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeightmapImport {
    /// Voxels along x and z.
    pub columns: [u32; 2],
    /// The lowest and the highest sample, in voxels.
    pub heights: [f64; 2],
    /// Chunks written.
    pub chunks: u64,
}

impl HeightmapImport {
    /// Most chunks that [`import()`] writes into a grid.
    /// [`HeightmapRelief`] has no such limit.
    pub const MAX_CHUNKS: u64 = MAX_IMPORT_CHUNKS;
}

/// Writes the world of `heights` into `grid`. Calls `progress(done, total)`, in chunk columns,
/// after every batch of them. The result does not depend on the number of threads.
///
/// # Errors
/// If an option is NaN or out of range, a material is of the wrong kind, or the world would be too
/// large. Nothing is written then.
pub fn import(
    heights: &Heights,
    options: &HeightmapOptions,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<HeightmapImport, HeightmapError> {
    let relief = HeightmapRelief::new(heights.clone(), options.clone(), grid.materials().kinds())?;
    let chunks = relief.region().coarser(CHUNK_LOG2).volume();
    if chunks > MAX_IMPORT_CHUNKS {
        return Err(HeightmapError::TooManyChunks { chunks });
    }
    let columns = relief.chunk_columns();
    let mut written = 0;
    let mut uniform = DenseBox::default();
    for (i, batch) in columns.chunks(BATCH_CHUNK_COLUMNS).enumerate() {
        let generated: Vec<_> = batch.par_iter().map(|&column| relief.column(column)).collect();
        for chunk in generated.iter().flatten() {
            let result = grid.write(chunk.cells(&mut uniform));
            assert!(result.is_ok(), "a whole chunk can always be written");
            written += 1;
        }
        progress(i * BATCH_CHUNK_COLUMNS + batch.len(), columns.len());
    }
    Ok(HeightmapImport { columns: relief.columns(), heights: relief.heights(), chunks: written })
}
