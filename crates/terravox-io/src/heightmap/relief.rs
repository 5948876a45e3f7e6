//! A heightmap whose chunk columns are generated on demand, on any thread.

use super::chunk_cells::{CHUNK_LOG2, ChunkCells};
use super::error::HeightmapError;
use super::fill::ColumnFiller;
use super::heights::Heights;
use super::options::HeightmapOptions;
use super::surface::HeightSurface;
use terravox::voxel::{Kind, Region};

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
    /// wider than [`HeightmapOptions::MAX_EXTENT_VOXELS`] or beyond the limits of a grid.
    pub fn new(
        heights: Heights,
        options: HeightmapOptions,
        kinds: &[Kind; 256],
    ) -> Result<HeightmapRelief, HeightmapError> {
        options.check(kinds)?;
        let surface = HeightSurface::new(heights, &options)?;
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

    /// Generates the chunks of the chunk column at [x, z], upward, without those of air only.
    /// Deterministic.
    pub fn column(&self, [x, z]: [i32; 2]) -> Vec<ChunkCells> {
        ColumnFiller::new(&self.surface, &self.options).chunk_column(x, z)
    }
}
