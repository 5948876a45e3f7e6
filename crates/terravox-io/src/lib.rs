//! Terrain from and to the files of other programs.
//!
//! Everything here takes and gives bytes; reading and writing files is the caller's.
//! Bytes from outside return errors, never panic, and never take more memory than a
//! stated bound.

pub mod gltf;
pub mod heightmap;
pub mod obj;
pub mod roblox;
pub mod tiles;
