//! What the `terravox` program shares with the benchmarks: pictures of worlds.
#![warn(missing_docs)]

pub mod render;
