//! The part of the `terravox` program that the benchmarks measure too: meshing a world tile by
//! tile.
#![warn(missing_docs)]

pub mod meshing;
