//! What the benchmarks run on: a generated world, real places, shapes whose true
//! surface is known, and random grids.

pub mod random;
pub mod shapes;
