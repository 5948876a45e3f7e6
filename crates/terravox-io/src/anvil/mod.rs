//! Imports region files of Minecraft, `.mca` (Anvil), as the versions 1.13 to 1.21 write them.
//!
//! Source: "Region file format", "Chunk format" and "NBT format" of the Minecraft Wiki; the frames of
//! lz4-java, which 1.20.5 and later write if they are told to.
//!
//! A region has 32 × 32 chunks of 16 × 16 columns, a chunk has sections of 16³ blocks, and a section a
//! palette and packed indices into it. [`import()`] writes the blocks of one file into a grid. A
//! block is a cell, at the same x, y and z: both have y up and z south. What a block becomes is
//! said by a [`BlockTable`]: a material, and how full the cell is. Their surfaces are smooth, as that of
//! all cells of these materials.
//!
//! Chunks that the game has not generated yet, up to the step that places the ground's materials, are
//! left out, and so are chunks of versions before 1.13, whose blocks have numbers instead of names.
//! Entities, block entities, biomes and light are not read.
//!
//! ```
//! use terravox::voxel::{MaterialTable, VoxelGrid};
//! use terravox_io::ImportBudget;
//! use terravox_io::anvil::{self, AnvilOptions, BlockTable};
//!
//! let table = BlockTable::parse("crimson_* Brick\n", &MaterialTable::default()).unwrap();
//! let options = AnvilOptions::new(table);
//! // A region without chunks: tables of their places and times.
//! let file = vec![0; 8192];
//! let (mut grid, mut budget) = (VoxelGrid::default(), ImportBudget::for_input(file.len()));
//! let imported = anvil::import(&file, &options, &mut budget, &mut grid, |_, _| {}).unwrap();
//! assert_eq!(imported.chunks, 0);
//! ```

mod blocks;
mod chunk;
mod columns;
mod error;
mod import;
mod nbt;
mod region;

pub use blocks::BlockTable;
pub use error::AnvilError;
pub use import::{AnvilImport, AnvilOptions, import};
pub(crate) use region::{REGION_EXTENSION, named_region};

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
