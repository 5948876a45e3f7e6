//! Reads and writes terrain in the file formats of other programs.
//!
//! Functions take bytes, and return bytes or write to a [`std::io::Write`]; opening files is up to
//! the caller. Invalid input is an error, never a panic, and memory stays within documented bounds.
//!
//! | module | reads | writes |
//! |---|---|---|
//! | [`roblox`] | `.rbxl`, `.rbxm`, `.rbxlx`, `.rbxmx`, raw SmoothGrid | `.rbxm`, `.rbxmx`, raw SmoothGrid |
//! | [`heightmap`] | PNG, raw 16-bit samples | |
//! | [`gltf`] | | meshes as `.glb` |
//! | [`obj`] | | meshes as `.obj` and `.mtl` |
//!
//! [`tiles`] groups chunks for [`gltf`] and [`obj`], which write one object per tile.

pub mod gltf;
pub mod heightmap;
pub mod obj;
pub mod roblox;
pub mod tiles;

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
