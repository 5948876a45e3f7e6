//! Terrain from and to the files of other programs.
//!
//! In: [`roblox`] places and models, [`heightmap`]s. Out: [`roblox`] models, and meshes as
//! [`gltf`] and [`obj`].
//!
//! Everything here takes and gives bytes or a [`std::io::Write`]; reading and naming files
//! is the caller's. Bytes from outside return errors, never panic, and never take more
//! memory than a stated bound.

pub mod gltf;
pub mod heightmap;
pub mod obj;
pub mod roblox;
pub mod tiles;

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
