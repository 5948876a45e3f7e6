//! What the `terravox` program shares with the benchmarks: pictures of worlds, and their
//! surfaces as triangles.
#![warn(missing_docs)]

pub mod meshing;
pub mod render;
