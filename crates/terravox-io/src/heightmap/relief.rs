//! A heightmap whose chunk columns are generated on demand, on any thread.

use super::chunk_cells::{CHUNK_LOG2, ChunkCells};
use super::error::HeightmapError;
use super::fill::ColumnFiller;
use super::heights::Heights;
use super::limits::MAX_RELIEF_VOXELS;
use super::options::HeightmapOptions;
use super::surface::HeightSurface;
use terravox::voxel::{Kind, Region};

/// Memory of a generated uniform chunk.
const CHUNK_BYTES: u64 = size_of::<ChunkCells>() as u64;

/// A heightmap whose chunks are generated on demand. Holds the samples but no chunks, so worlds may
/// be far larger than memory.
///
/// ```
/// use terravox::voxel::{MaterialTable, DenseBox};
/// use terravox_io::heightmap::{Heights, HeightmapOptions, HeightmapRelief};
///
/// // 2 × 2 samples, 320 m apart, 500 m high.
/// let heights = Heights::new([2, 2], vec![0.0, 0.2, 0.7, 1.0]).unwrap();
/// let options = HeightmapOptions {
///     voxels_per_sample: 320.0,
///     height_voxels: 500.0,
///     ..HeightmapOptions::default()
/// };
/// let relief = HeightmapRelief::new(heights, options, MaterialTable::default().kinds()).unwrap();
/// assert_eq!(relief.chunk_columns().len(), 400);
/// let mut cells = DenseBox::default();
/// for chunk in relief.column([7, 3]) {
///     assert_eq!(chunk.cells(&mut cells).region(), chunk.position().region());
/// }
/// ```
pub struct HeightmapRelief {
    surface: HeightSurface,
    options: HeightmapOptions,
    region: Region,
}

impl HeightmapRelief {
    /// Prepares a heightmap. `kinds` are those of the world's materials.
    ///
    /// # Errors
    /// If an option is NaN or out of range, a material is of the wrong kind, or the world would be
    /// wider than [`HeightmapOptions::MAX_EXTENT_VOXELS`], beyond the limits of a grid, or more than 32,768
    /// voxels from its lowest to its highest sample.
    pub fn new(
        heights: Heights,
        options: HeightmapOptions,
        kinds: &[Kind; 256],
    ) -> Result<HeightmapRelief, HeightmapError> {
        options.check(kinds)?;
        let surface = HeightSurface::new(heights, &options)?;
        let [low, high] = surface.heights();
        if high - low > MAX_RELIEF_VOXELS as f64 {
            let voxels = (high - low).ceil();
            return Err(HeightmapError::Options(format!(
                "the land is {voxels} voxels high, at most {MAX_RELIEF_VOXELS}; use larger voxels"
            )));
        }
        let region = ColumnFiller::new(&surface, &options).region();
        if !region.within_limits() {
            return Err(HeightmapError::Options(format!(
                "the world would reach {region}, beyond the limits of a grid; change the origin or the height"
            )));
        }
        Ok(HeightmapRelief { surface, options, region })
    }

    /// Returns the bounds of the voxels that are not air.
    pub fn region(&self) -> Region {
        self.region
    }

    /// Returns the number of voxels along x and z.
    pub fn columns(&self) -> [u32; 2] {
        self.surface.columns()
    }

    /// Returns the lowest and the highest sample, in voxels.
    pub fn heights(&self) -> [f64; 2] {
        self.surface.heights()
    }

    /// Returns the positions [x, z] of all chunk columns, in chunks, x fastest.
    pub fn chunk_columns(&self) -> Vec<[i32; 2]> {
        let chunks = self.region.coarser(CHUNK_LOG2);
        (chunks.min.z..chunks.max.z)
            .flat_map(|z| (chunks.min.x..chunks.max.x).map(move |x| [x, z]))
            .collect()
    }

    /// Returns an upper bound of the number of chunks: those within the bounds of the world. Known
    /// before any is generated, as is [`HeightmapRelief::max_mixed_chunks`].
    pub fn max_chunks(&self) -> u64 {
        self.region.coarser(CHUNK_LOG2).volume()
    }

    /// Returns the number of chunks within the bounds of the world along y.
    pub fn layers(&self) -> u64 {
        self.region.coarser(CHUNK_LOG2).size()[1] as u64
    }

    /// Returns an upper bound of the number of chunks of the chunk column at [x, z] that are not
    /// uniform. Each takes up to 150 kB while it is generated and written; uniform ones take next
    /// to nothing. Takes time proportional to the samples below the column.
    pub fn max_mixed_chunks(&self, [x, z]: [i32; 2]) -> u32 {
        ColumnFiller::new(&self.surface, &self.options).max_mixed_chunks(x, z)
    }

    /// Returns an upper bound of the memory of the largest chunk column, in bytes.
    pub(super) fn column_bytes(&self) -> u64 {
        let columns = self.chunk_columns();
        let mixed = columns.into_iter().map(|column| self.max_mixed_chunks(column)).max();
        // Two bytes a cell.
        u64::from(mixed.unwrap_or(0)) * (2 << (3 * CHUNK_LOG2)) + self.layers() * CHUNK_BYTES
    }

    /// Generates the chunks of the chunk column at [x, z], upward, without those of air only.
    /// Deterministic.
    pub fn column(&self, [x, z]: [i32; 2]) -> Vec<ChunkCells> {
        ColumnFiller::new(&self.surface, &self.options).chunk_column(x, z)
    }
}
