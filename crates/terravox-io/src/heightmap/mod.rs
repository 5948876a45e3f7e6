//! Worlds from heightmaps: smooth ground through a grid of heights, with water up to a sea level
//! and materials by height and slope.
//!
//! [`read_png`], [`read_raw_u16`], [`read_geotiff`], [`read_grid`] and [`read_point_cloud`] decode [`Heights`]. [`import()`] writes them
//! into a grid; [`HeightmapRelief`] generates single chunk columns, for worlds larger than memory.
//! [`GroundHeights`] are the heights of a world, and go out as a PNG or a GeoTIFF.
//!
//! A sample is an area, like a pixel, and its height is that of its centre. Sample (column i, row
//! j) covers `voxels_per_sample` voxels from x = i × `voxels_per_sample` and z = j ×
//! `voxels_per_sample`, counted from [`HeightmapOptions::origin`].
//!
//! ```
//! use terravox::voxel::{GridOptions, VoxelGrid, VoxelPos};
//! use terravox_io::ImportBudget;
//! use terravox_io::heightmap::{self, Heights, HeightmapOptions};
//!
//! let heights = Heights::new([2, 2], vec![0.0, 0.0, 1.0, 1.0]).unwrap();
//! let options = HeightmapOptions {
//!     voxels_per_sample: 16.0,
//!     base_voxels: 2.0,
//!     height_voxels: 20.0,
//!     ..HeightmapOptions::default()
//! };
//! let mut grid = VoxelGrid::new(GridOptions::default());
//! // The samples are ours, so the budget is that of an empty file.
//! let mut budget = ImportBudget::for_input(0);
//! let imported = heightmap::import(&heights, &options, &mut budget, &mut grid, |_, _| {}).unwrap();
//! assert_eq!(imported.columns, [32, 32]);
//! assert!(grid.cell(VoxelPos::new(5, 1, 2)).unwrap().material != 0);
//! assert!(grid.cell(VoxelPos::new(5, 9, 2)).unwrap().is_air());
//! ```

mod chunk_cells;
mod cloud;
mod error;
mod export;
mod fill;
mod geotiff;
mod grid;
mod grid_heights;
mod heights;
mod import;
mod limits;
#[cfg(test)]
mod naive;
mod numpy;
mod options;
mod patches;
mod pieces;
mod read;
mod relief;
mod samples;
mod surface;

pub use chunk_cells::ChunkCells;
pub use cloud::{CloudHeights, is_point_cloud, read_point_cloud};
pub use error::HeightmapError;
pub use export::{GroundHeights, GroundHeightsError};
pub use geotiff::{GeoHeights, GeoReference, WorldReference, is_tiff, read_geotiff};
pub use grid::{is_npy, read_grid};
pub use grid_heights::GridHeights;
pub use heights::Heights;
pub use import::{HeightmapImport, import};
pub use options::{HeightmapOptions, MaterialRule, Turf};
pub use read::{ColourPolicy, read_png, read_raw_u16};
pub use relief::HeightmapRelief;
pub use samples::{HeightmapFormat, HeightmapSamples};

#[cfg(test)]
mod tests;
