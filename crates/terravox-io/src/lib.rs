//! Reads and writes terrain in the file formats of other programs.
//!
//! In: [`roblox`] places and models, [`heightmap`]s. Out: [`roblox`] models, and meshes as
//! [`gltf`] and [`obj`].
//!
//! Everything here takes and returns bytes or takes a [`std::io::Write`]; opening files is up to the
//! caller. Untrusted bytes return errors, never panic, and never take more memory than a documented
//! bound.

pub mod gltf;
pub mod heightmap;
pub mod obj;
pub mod roblox;
pub mod tiles;

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
