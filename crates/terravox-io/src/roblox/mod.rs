//! Imports and exports the terrain of Roblox places and models, byte for byte.
//!
//! The terrain of a place is one value, SmoothGrid, of the Terrain instance in its file.
//! [`import()`] finds it in `.rbxm`, `.rbxl`, `.rbxmx` or `.rbxlx`, or takes it raw, and writes it
//! into a grid. [`export()`] encodes a grid as that value, or as a model that holds it.
//! [`RobloxMetadata`] has the parts of a file that a grid does not hold.
//!
//! ```
//! use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};
//! use terravox_io::roblox::{self, Container, ImportOptions, RobloxMetadata};
//!
//! let mut grid = VoxelGrid::new(GridOptions::default());
//! let mut cells = DenseBox::new(Region::new([0, 0, 0], [40, 8, 40]));
//! cells.fill(2);
//! grid.write(&cells).unwrap();
//! let metadata = RobloxMetadata::default();
//! let model = roblox::export(grid.as_snapshot(), &metadata, Container::Binary).unwrap();
//!
//! let mut again = VoxelGrid::new(GridOptions::default());
//! let imported = roblox::import(&model, &ImportOptions::default(), &mut again).unwrap();
//! assert_eq!(imported.chunks, 4);
//! assert_eq!(again.digest(), grid.digest());
//! ```

mod binary;
mod container;
mod error;
mod export;
mod import;
mod limits;
mod metadata;
mod smooth_grid;
mod terrain_instance;
mod xml;

pub use container::{Container, detect};
pub use error::{FilePart, RobloxError};
pub use export::{ExportError, export, export_into};
pub use import::{ImportOptions, RobloxImport, import, import_with_progress};
pub use limits::MAX_CHUNK_COORDINATE;
pub use metadata::RobloxMetadata;
pub use smooth_grid::{STUDS_PER_VOXEL, SmoothGridReader, SmoothGridWriter, VOXEL_M};
pub use terrain_instance::SkippedParts;

#[cfg(test)]
mod into_tests;
#[cfg(test)]
mod tests;
