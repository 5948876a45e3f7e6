//! Imports and exports scenes of MagicaVoxel, `.vox`.
//!
//! Source: ephtracy, "MagicaVoxel .vox File Format" and its extension (`voxel-model` on GitHub).
//!
//! [`import()`] writes all models of a scene into a grid, each where its scene graph has it:
//! translations, rotations and mirrors, groups, shapes. Of animations it takes the first frame;
//! hidden nodes, and what is in hidden layers, it leaves out. A scene without a graph, as old
//! versions wrote it, is its first model, standing on the ground. Z points up in MagicaVoxel, so
//! its (x, y, z) becomes (x, z, −y). A model turns about floor(size / 2), as it does there. Of
//! models that overlap, the later one counts.
//!
//! A voxel becomes a full cell, or a cube of [`VoxOptions::cells_per_voxel`]³. A colour becomes the
//! solid material of the grid that has exactly this colour, else a new material named after it
//! (`#98832e`), whose surface is [`VoxOptions::shape`]: exact cubes unless you say otherwise.
//! Glass, metal and light are solid like everything else, except glass in exactly the colour of a
//! liquid: that is how [`export()`] writes water. The order of the palette in the editor and its
//! notes, which name rows and not colours, are not read.
//!
//! ```
//! use terravox::voxel::{Cell, DenseBox, GridOptions, Region, VoxelGrid, VoxelPos};
//! use terravox_io::ImportBudget;
//! use terravox_io::vox::{self, VoxOptions};
//!
//! let mut grid = VoxelGrid::new(GridOptions::default());
//! let mut cells = DenseBox::new(Region::new([-3, 0, 9], [40, 2, 12]));
//! cells.fill(8);
//! grid.write(&cells).unwrap();
//! let file = vox::export(grid.as_snapshot()).unwrap();
//!
//! let mut again = VoxelGrid::new(GridOptions::default());
//! let mut budget = ImportBudget::for_input(file.len());
//! let options = VoxOptions::default();
//! let imported = vox::import(&file, &options, &mut budget, &mut again, |_, _| {}).unwrap();
//! assert_eq!(imported.voxels, 43 * 2 * 3);
//! assert_eq!(again.digest(), grid.digest());
//! ```

mod cells;
mod chunks;
mod error;
mod export;
mod import;
mod materials;
mod palette;
mod pose;
mod scene;

pub use error::{VoxError, VoxExportError};
pub use export::{export, write};
pub use import::{VoxImport, VoxOptions, import, is_vox};

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
