//! What the `terravox` program shares with the benchmarks: the surfaces of worlds as
//! triangles.
#![warn(missing_docs)]

pub mod meshing;
