//! Reads and writes terrain in the file formats of other programs.
//!
//! Functions take bytes, and return bytes or write to a [`std::io::Write`]. Opening files is up to
//! the caller; only [`files`] reads their first bytes, to detect their formats. Invalid input is an
//! error, never a panic. An [`ImportBudget`] limits the memory and work of an import, by default in
//! proportion to the length of the file; an [`ExportLimit`] limits exports that keep what they
//! write in memory.
//!
//! | module | reads | writes |
//! |---|---|---|
//! | [`roblox`] | `.rbxl`, `.rbxm`, `.rbxlx`, `.rbxmx`, raw SmoothGrid | `.rbxm`, `.rbxmx`, raw SmoothGrid; copies of `.rbxl` and `.rbxlx` with the terrain replaced |
//! | [`heightmap`] | PNG, GeoTIFF, raw 16-bit samples, NumPy, LAS, LAZ | PNG of 16 bits, GeoTIFF |
//! | [`anvil`] | Minecraft regions, `.mca` | |
//! | [`vox`] | MagicaVoxel scenes, `.vox` | MagicaVoxel scenes |
//! | [`triangles`] | closed meshes: `.obj`, `.stl`, `.ply`, `.glb` | |
//! | [`gltf`] | | meshes as `.glb` |
//! | [`obj`] | | meshes as `.obj` and `.mtl` |
//! | [`tiles3d`] | | 3D Tiles 1.1 |
//! | [`printing`] | | the ground as a watertight mesh, `.stl` and `.3mf` |
//!
//! [`tiles`] groups chunks for [`gltf`] and [`obj`], which write one object per tile.

pub mod anvil;
mod cell_cost;
mod export_limit;
pub mod files;
pub mod gltf;
pub mod heightmap;
mod import_budget;
mod inflate;
pub mod obj;
pub mod printing;
pub mod roblox;
pub mod tiles;
pub mod tiles3d;
pub mod triangles;
pub mod vox;
mod zstd_blocks;

pub use export_limit::{ExportLimit, ExportTooLarge};
pub use import_budget::{BudgetError, ImportBudget, ImportCost, ImportLimits, ImportResource};

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
