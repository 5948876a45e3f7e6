//! Writes meshes as binary glTF (`.glb`), for engines, modelling programs and web pages.
//!
//! The file has a node and a mesh per tile with one primitive per material, with normals and linear
//! vertex colours that blend the materials; liquids are transparent. All tiles share one frame, so
//! vertices on their borders have the same bits; the parent node moves that frame to its position
//! in the world. As glTF requires, Y is up and lengths are metres.
//!
//! Models of a game's own, such as trees, share a mesh for all their places.
//!
//! A writer keeps encoded vertices and indices, not the meshes: mesh a tile, add it, drop it.
//!
//! Source: the glTF 2.0 specification (Khronos, 2021), "GLB File Format" and "Meshes".

mod binary_chunk;
mod block;
mod colours;
mod models;
mod nodes;
mod options;
mod targets;
mod vertices;
mod writer;

pub use block::GlbBlock;
pub use models::{GlbModel, GlbPose};
pub use options::GlbOptions;
pub use writer::{GlbError, GlbStats, GlbWriter};

#[cfg(test)]
mod tests;
