//! Importing a heightmap into a grid.

use super::chunk_cells::{CHUNK_LOG2, ChunkCells};
use super::error::HeightmapError;
use super::heights::Heights;
use super::limits::MAX_IMPORT_CHUNKS;
use super::options::HeightmapOptions;
use super::relief::HeightmapRelief;
use crate::cell_cost;
use crate::import_budget::ImportBudget;
use rayon::prelude::*;
use terravox::voxel::{DenseBox, VoxelGrid};

/// Chunk columns generated before they are written; bounds memory.
const BATCH_CHUNK_COLUMNS: usize = 16;

/// Memory of a chunk, with its share of its page.
const CHUNK_BYTES: u64 = 128;

/// Units of work for the surface of a chunk column.
const COLUMN_WORK: u64 = 1 << 16;

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
    /// Maximum number of chunks that [`import()`] writes into a grid.
    /// [`HeightmapRelief`] has no such limit.
    pub const MAX_CHUNKS: u64 = MAX_IMPORT_CHUNKS;
}

/// Writes the world of `heights` into `grid`. Calls `progress(done, total)`, in chunk columns,
/// after every batch of them. The result does not depend on the number of threads. Spends the
/// memory of the grid: a rough world takes more of it than a flat one, about 80 bytes for each row
/// of 32 cells that the surface crosses. Also spends what coarse blocks cost in a world file.
///
/// # Errors
/// If an option is NaN or out of range, a material is of the wrong kind, or the world would be too
/// large. Nothing is written then. If the budget is exceeded; the grid then holds a part of the
/// world: discard it.
pub fn import(
    heights: &Heights,
    options: &HeightmapOptions,
    budget: &mut ImportBudget,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<HeightmapImport, HeightmapError> {
    budget.spend_memory("a copy of its samples", 4 * heights.values.len() as u64)?;
    let relief = HeightmapRelief::new(heights.clone(), options.clone(), grid.materials().kinds())?;
    let all = relief.region().coarser(CHUNK_LOG2);
    let chunks = all.volume();
    if chunks > MAX_IMPORT_CHUNKS {
        return Err(HeightmapError::TooManyChunks { chunks });
    }
    let batch_bytes = BATCH_CHUNK_COLUMNS as u64 * relief.column_bytes();
    budget.spend_memory("its chunks", CHUNK_BYTES * chunks + batch_bytes)?;
    cell_cost::spend_coarse_blocks(cell_cost::coarse_blocks_over(all), budget)?;
    let columns = relief.chunk_columns();
    let mut written = 0;
    let mut uniform = DenseBox::default();
    for (i, batch) in columns.chunks(BATCH_CHUNK_COLUMNS).enumerate() {
        budget.spend_work("its columns", COLUMN_WORK * batch.len() as u64)?;
        let generated: Vec<_> = batch.par_iter().map(|&column| relief.column(column)).collect();
        for chunk in generated.iter().flatten() {
            budget.spend_work("its chunks", cell_cost::CHUNK_WORK)?;
            if let ChunkCells::Mixed(cells) = chunk {
                cell_cost::spend_cells(cells, 0, budget)?;
            }
            let result = grid.write(chunk.cells(&mut uniform));
            assert!(result.is_ok(), "a whole chunk can always be written");
            written += 1;
        }
        progress(i * BATCH_CHUNK_COLUMNS + batch.len(), columns.len());
    }
    Ok(HeightmapImport { columns: relief.columns(), heights: relief.heights(), chunks: written })
}
