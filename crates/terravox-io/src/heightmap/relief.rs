//! A heightmap as chunks: any column at any time, on any thread.

use super::fill::ColumnFiller;
use super::surface::HeightSurface;
use super::{HeightmapError, HeightmapOptions, Heights, check};
use terravox::voxel::{ChunkPos, DenseBox, Kind, Region};

/// A heightmap whose chunks are made on demand. Holds the samples but no chunks, so worlds may be far
/// larger than memory.
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

impl HeightmapRelief {
    /// Prepares heights; `kinds` are those of the world's materials.
    ///
    /// # Errors
    /// If an option is non-finite or out of range, a material is of the wrong kind, or the world would
    /// be too wide or beyond the limits of a grid.
    pub fn new(
        heights: Heights,
        options: HeightmapOptions,
        kinds: &[Kind; 256],
    ) -> Result<HeightmapRelief, HeightmapError> {
        check(&options, kinds)?;
        let surface = HeightSurface::new(heights, &options)?;
        let region = ColumnFiller::new(&surface, &options).region();
        if !region.within_limits() {
            return Err(HeightmapError::Options(format!(
                "the world would reach {region}, beyond what a grid holds; change origin or height"
            )));
        }
        Ok(HeightmapRelief { surface, options, region })
    }

    /// Bounds of the voxels that are not air.
    pub fn region(&self) -> Region {
        self.region
    }

    /// Voxels along x and z.
    pub fn columns(&self) -> [u32; 2] {
        self.surface.columns()
    }

    /// Lowest and highest point of the surface, in voxels.
    pub fn heights(&self) -> [f64; 2] {
        self.surface.heights()
    }

    /// Positions (x, z), in chunks, of all columns, x fastest.
    pub fn chunk_columns(&self) -> Vec<[i32; 2]> {
        let chunks = self.region.coarser(5);
        (chunks.min.z..chunks.max.z)
            .flat_map(|z| (chunks.min.x..chunks.max.x).map(move |x| [x, z]))
            .collect()
    }

    /// All chunks of the column (x, z) that are not air, upward. Deterministic.
    pub fn column(&self, [x, z]: [i32; 2]) -> Vec<ChunkCells> {
        ColumnFiller::new(&self.surface, &self.options).column(x, z)
    }
}

impl ChunkCells {
    /// The position of the chunk.
    pub fn position(&self) -> ChunkPos {
        match self {
            ChunkCells::Uniform { chunk, .. } => *chunk,
            ChunkCells::Mixed(cells) => cells.region().min.chunk(),
        }
    }

    /// The cells, for [`VoxelGrid::write`](terravox::voxel::VoxelGrid::write). `uniform` is a buffer
    /// for chunks of one material: if it already has that material, it is only moved.
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
